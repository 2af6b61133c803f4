// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "rules_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "admin/rule_json.hpp"
#include "output.hpp"
#include "scene/interest_file.hpp"

namespace purview::app {

namespace {

using nlohmann::json;

/// Cursor position after the last character of the longest step. The server accepts no larger
/// column.
constexpr int column_max = static_cast<int>(scene::step_bytes_max) + 1;

/// An error of the server, with the position in the file that it refers to.
std::string describe(const json& error, const scene::InterestEntry* file) {
    scene::Problem problem;
    problem.text = error.value("text", "no reply");
    if (file == nullptr || !error.contains("about")) return problem.text;
    problem.node = error.value("node", -1);
    problem.step = error.value("step", -1);
    problem.key = error.value("key", "");
    problem.column = std::clamp(error.value("column", 0), 0, column_max);
    return problem.node < 0 ? file->path + ": " + problem.text : file->describe(problem);
}

/// One comment line per warning, because the output can be a rule file.
std::string warnings_of(const json& reply) {
    std::string out;
    for (const json& warning : reply.value("warnings", json::array()))
        out += "# warning: " + scene::plain_text(warning.get<std::string>()) + "\n";
    return out;
}

std::string trial_of(const json& reply) {
    const auto count = [](const json& from, const char* key) {
        return from.at(key).get<std::uint64_t>();
    };
    std::string out =
        fmt::format("gains: {}, losses: {}\n", count(reply, "gains"), count(reply, "losses"));
    if (const auto skipped = reply.value("skipped", std::uint64_t{0}); skipped > 0)
        out += fmt::format("of {} observers; {} more were not evaluated\n",
                           count(reply, "evaluated"), skipped);
    const json& observers = reply.at("observers");
    if (!observers.empty())
        out += fmt::format("{:>12} {:>10} {:>10}\n", "observer", "gains", "losses");
    for (const json& one : observers) {
        out += fmt::format("{:>12} {:>10} {:>10}\n", count(one, "observer"), count(one, "gains"),
                           count(one, "losses"));
    }
    return out + warnings_of(reply);
}

int not_understood(const std::string& why) {
    spdlog::error("invalid reply from the server: {}", scene::plain_text(why));
    return 1;
}

/// Throws if the reply does not have the format of a Purview server.
int print_answer(const json& reply, const scene::InterestEntry* file, bool as_json) {
    const std::string op = reply.value("op", "error");
    if (op == "error") {
        spdlog::error("{}", scene::plain_text(describe(reply, file)));
        return 1;
    }
    std::string out;
    if (as_json) {
        out = reply.dump(2) + "\n";
    } else if (op == "rules") {
        const auto nodes = admin::nodes_of(reply);
        if (!nodes) return not_understood(nodes.problem());
        out = fmt::format("# revision {}\n", reply.value("revision", 0U)) + warnings_of(reply) +
              scene::print_toml(*nodes);
    } else {
        out = trial_of(reply);
    }
    return write_out(out) ? 0 : 1;
}

}  // namespace

int run_rules(const RulesOptions& options) {
    const std::string& path = options.apply_path.empty() ? options.try_path : options.apply_path;
    json request = {{"op", "rules"}};
    std::optional<scene::InterestEntry> file;
    if (!path.empty()) {
        auto interest = scene::load_interest(path);
        if (!interest) {
            spdlog::error("{}", scene::plain_text(interest.problem()));
            return 1;
        }
        file = std::move(*interest);
        for (const std::string& key : file->keys) {
            spdlog::warn(
                "{}: 'interest.{}' is not sent: it takes effect only when the server starts", path,
                key);
        }
        request["op"] = options.apply_path.empty() ? "try_rules" : "set_rules";
        if (options.force) request["force"] = true;
        request["nodes"] = json::array();
        // A file is complete: an omitted key has its default value, not the current one.
        for (const scene::NodeText& node : file->texts())
            request["nodes"].push_back(admin::to_json(scene::with_defaults(node)));
    }
    const json reply = send_request(options.at, request);
    try {
        return print_answer(reply, file ? &*file : nullptr, options.json);
    } catch (const json::exception& error) {
        return not_understood(error.what());
    }
}

}  // namespace purview::app
