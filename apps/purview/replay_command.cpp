// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replay_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/internal_access.hpp"
#include "core/read_number.hpp"
#include "output.hpp"
#include "purview/version.h"
#include "record/replay.hpp"
#include "scene/rule_text.hpp"

namespace purview::app {

namespace {

constexpr std::string_view state_prefix = "state ";
constexpr std::string_view operator_prefix = "operator ";
constexpr std::string_view operator_closed_prefix = "operator_closed ";

const char* name_of(WorldSource source) {
    return source == WorldSource::map ? "map" : source == WorldSource::trace ? "trace" : "toml";
}

/// Returns an error text, or an empty string.
std::string use_options(const std::map<std::string, std::string>& recorded, ServeOptions& out) {
    const auto text = [&](const char* key) -> std::string_view {
        const auto found = recorded.find(key);
        return found == recorded.end() ? std::string_view() : std::string_view(found->second);
    };
    for (const auto source : {WorldSource::toml, WorldSource::map, WorldSource::trace}) {
        if (text("source") == name_of(source)) out.source = source;
    }
    out.world_path = text("world");
    out.rules_read_only = text("rules_read_only") == "1";
    out.players_jump = text("players_jump") == "1";
    if (!read_number(text("budget"), out.budget_bytes_per_tick) ||
        !read_number(text("sessions_max"), out.sessions_max) ||
        !read_number(text("sessions_per_host_max"), out.sessions_per_host_max) ||
        out.sessions_max > 65'000 || out.sessions_per_host_max > 65'000)
        return "the options are malformed";
    return {};
}

/// A recording is untrusted input: it must not choose files outside of the working directory.
bool can_replay_here(const std::string& path) {
    const std::filesystem::path steps(path);
    return !steps.has_root_path() &&
           std::none_of(steps.begin(), steps.end(), [](const auto& step) { return step == ".."; });
}

std::string do_note(ServerApp& app, std::string_view note) {
    if (note.substr(0, state_prefix.size()) == state_prefix) {
        std::uint32_t observer = 0;
        if (!read_number(note.substr(state_prefix.size()), observer)) return "a malformed note";
        (void)internal(*app.server).request_state(ObserverId{observer});
        return {};
    }
    if (note.substr(0, operator_closed_prefix.size()) == operator_closed_prefix) {
        std::uint32_t connection = 0;
        if (!read_number(note.substr(operator_closed_prefix.size()), connection))
            return "a malformed note";
        app.operators->closed(connection);
        return {};
    }
    if (note.substr(0, operator_prefix.size()) != operator_prefix) return "an unknown note";
    note.remove_prefix(operator_prefix.size());
    const std::size_t space = note.find(' ');
    std::uint32_t connection = 0;
    if (space == std::string_view::npos || !read_number(note.substr(0, space), connection))
        return "a malformed note";
    app.operators->message(connection, note.substr(space + 1));
    return {};
}

}  // namespace

std::map<std::string, std::string> options_of(const ServeOptions& options,
                                              const WorldSetup& world) {
    return {{"build", PURVIEW_VERSION_TEXT},
            {"source", name_of(options.source)},
            {"world", options.world_path},
            {"world_hash", fmt::format("{:016x}", world.file.text_hash)},
            {"budget", std::to_string(options.budget_bytes_per_tick)},
            {"sessions_max", std::to_string(options.sessions_max)},
            {"sessions_per_host_max", std::to_string(options.sessions_per_host_max)},
            {"players_jump", options.players_jump ? "1" : "0"},
            {"rules_read_only", options.rules_read_only ? "1" : "0"}};
}

std::string state_note(ObserverId observer) {
    return fmt::format("{}{}", state_prefix, static_cast<std::uint32_t>(observer));
}

std::string operator_note(std::uint32_t connection, std::string_view text) {
    return fmt::format("{}{} {}", operator_prefix, connection, text);
}

std::string operator_closed_note(std::uint32_t connection) {
    return fmt::format("{}{}", operator_closed_prefix, connection);
}

int run_replay(const ReplayOptions& options) {
    constexpr int bad_file = 2;
    constexpr int differs = 3;
    const auto refuse = [&](const std::string& why) {
        spdlog::error("{}: {}", options.path, scene::plain_text(why));
        return bad_file;
    };
    std::ifstream file(options.path, std::ios::binary);
    if (!file) return refuse("cannot be read");
    record::Reader reader(file);
    const auto beginning = reader.begin();
    if (!beginning) return refuse(reader.problem());
    if (beginning->program != "purview")
        return refuse(fmt::format("a recording of another program ({})", beginning->program));
    ServeOptions serve;
    if (const auto wrong = use_options(beginning->options, serve); !wrong.empty())
        return refuse(wrong);
    if (!options.world_path.empty()) {
        serve.world_path = options.world_path;
    } else if (!can_replay_here(serve.world_path)) {
        return refuse(
            fmt::format("its world '{}' is not below this directory: confirm it with "
                        "--world, --map or --trace",
                        serve.world_path));
    }
    serve.threads = options.threads;
    std::string problem;
    const auto app = ServerApp::without_carriers(serve, beginning->secret, problem);
    if (app == nullptr) return refuse(problem);
    const auto recorded_hash = beginning->options.find("world_hash");
    if (recorded_hash == beginning->options.end() ||
        recorded_hash->second != fmt::format("{:016x}", app->world->file.text_hash)) {
        return refuse(fmt::format(
            "{} is not the world that was recorded; choose with --world, --map or --trace",
            serve.world_path.empty() ? "the built-in world" : serve.world_path));
    }
    if (beginning->schema_hash != app->world->schema->schema.hash())
        return refuse("recorded with another schema");

    const auto result = record::replay(
        reader, *app->server, [&](std::string_view note) { return do_note(*app, note); },
        [&] { app->operators->tick_done(); });
    if (result.outcome == record::ReplayResult::Outcome::bad_file) return refuse(result.text);
    if (!write_out(fmt::format(
            "{} ticks, {} datagrams received, {} sent and {} states compared, state {:016x}\n",
            result.ticks, result.received, result.sent, result.states, result.last_state)))
        return 1;
    if (result.outcome == record::ReplayResult::Outcome::same) return 0;
    const auto build = beginning->options.find("build");
    const bool is_another =
        build != beginning->options.end() && build->second != PURVIEW_VERSION_TEXT;
    spdlog::error("{}: {}{}", options.path, result.text,
                  is_another ? fmt::format("; recorded by {}, this is {}",
                                           scene::plain_text(build->second), PURVIEW_VERSION_TEXT)
                             : std::string());
    return differs;
}

}  // namespace purview::app
