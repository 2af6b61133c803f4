// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server_app.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "assets.hpp"
#include "core/internal_access.hpp"
#include "net/child_process.hpp"
#include "net/system.hpp"
#include "replay_command.hpp"
#include "scene/kind_bindings.hpp"

namespace purview::app {

namespace {

volatile bool reload_requested = false;

/// A state hash covers the whole world, so it is recorded only in every 20th tick. Sent packets are
/// compared in every tick.
constexpr std::uint32_t state_every_ticks = 20;

/// Content security policy of the page: only its own scripts and module, inline styles for
/// dygraphs, no framing.
constexpr const char* page_policy =
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

/// The built-in world is unpacked and read from files, like any other world.
scene::Loaded<std::unique_ptr<WorldSetup>> load_built_in() {
    const std::string directory = net::make_temporary_directory();
    scene::Loaded<std::unique_ptr<WorldSetup>> world =
        scene::Problem{"the built-in world cannot be unpacked: no room for temporary files?"};
    if (!directory.empty() && net::write_file(directory + "/vale.toml", asset("vale.toml")) &&
        net::write_file(directory + "/vale.json", asset("vale.json"))) {
        world = load_world(WorldSource::toml, directory + "/vale.toml");
    }
    net::remove_directory(directory);
    return world;
}

}  // namespace

std::string ServerApp::make_server(const ServeOptions& options,
                                   const std::array<std::byte, 32>& secret) {
    auto loaded = options.world_path.empty() ? load_built_in()
                                             : load_world(options.source, options.world_path);
    if (!loaded) return loaded.problem();
    world = std::move(*loaded);
    world->setup.players_jump = options.players_jump;
    game = std::make_unique<vale::Vale>(world->setup, *world->schema);

    ServerDef def;
    def.schema = &world->schema->schema;
    def.rules = world->rules;
    def.rules.kinds = world->kinds;
    def.rules.level = world->file.interest.level;
    def.world_name = world->file.name;
    def.tick_hz = world->file.tick_hz;
    def.budget_bytes_per_tick = options.budget_bytes_per_tick != 0
                                    ? options.budget_bytes_per_tick
                                    : world->file.budget_bytes_per_tick;
    def.sessions_max = options.sessions_max;
    def.sessions_per_host_max = options.sessions_per_host_max;
    def.plain = {.udp = true, .web_socket = true};
    def.secret = secret;
    def.mac = &net::mac;
    def.clock = &net::now;
    def.log = {[](void*, LogLevel level, const char* text) {
                   // make_server() returns the reason of a refusal.
                   if (level == LogLevel::warning) spdlog::warn("{}", text);
               },
               nullptr};
    auto made = Server::create(def, *game);
    if (!made) return "invalid server configuration: " + problem_of(def);
    server = std::make_unique<Server>(std::move(made).value());
    if (options.threads > 1) {
        threads = std::make_unique<ThreadPool>(options.threads);
        server->set_executor(threads->executor());
    }
    game->populate(server->world());
    (void)server->visibility();  // loads all entities now: dormant nodes keep the initial position
    recorder = std::make_unique<record::IoRecorder>(*server);
    return {};
}

/// Binds TCP and UDP to the same port number. With port 0, retries, because another program may use
/// one of the two.
std::string ServerApp::open_port(net::WebDef web_def, std::uint16_t port) {
    constexpr int attempts = 16;
    std::string problem;
    for (int attempt = 0; attempt < (port == 0 ? attempts : 1); ++attempt) {
        web_def.port = port;
        web = std::make_unique<net::WebServer>(web_def);
        if (problem = web->open(); !problem.empty()) return problem;
        udp = std::make_unique<net::UdpSocket>();
        if (problem = udp->bind(web_def.host, web->port()); problem.empty()) break;
    }
    return problem;
}

std::string ServerApp::open_carriers(const ServeOptions& options) {
    host = options.host;
    token = options.no_operator ? std::string() : options.operator_token;
    if (token.empty() && !options.no_operator) token = net::random_token();
    net::WebDef web_def;
    web_def.host = options.host;
    // Room for pages and operators besides the sessions of browsers.
    web_def.connections_max = options.sessions_max + 256;
    web_def.connections_per_host_max = options.sessions_per_host_max + 48;
    web_def.origins = options.origins;
    web_def.content_policy = page_policy;
    // Without an operator channel, no client knows the token.
    web_def.operator_token = options.no_operator ? net::random_token() : token;
    if (auto problem = open_port(web_def, options.port); !problem.empty()) return problem;

    unsigned count = 0;
    const Asset* list = assets(count);
    for (unsigned i = 0; i < count; ++i) {
        web->serve("/" + std::string(list[i].name),
                   {std::string(list[i].content_type), list[i].bytes});
    }
    web->serve("/", {"text/html; charset=utf-8", asset("index.html")});
    web->serve("/world.json", {"application/json", world->page_json});
    loop = std::make_unique<net::TickLoop>(*recorder, *udp, *web, world->file.tick_hz);
    return {};
}

void ServerApp::make_operators(const ServeOptions& options, admin::OperatorChannel::Send send) {
    admin::OperatorDef def;
    def.names = world->names;
    def.rules_read_only = options.rules_read_only;
    def.main_of = [its = game.get()](ObserverId observer) {
        const auto view = its->view_of(observer);
        return view ? view->main : EntityId::none;
    };
    def.note = [](const std::string& text) { spdlog::info("{}", text); };
    operators = std::make_unique<admin::OperatorChannel>(*server, std::move(send), std::move(def));
}

std::string ServerApp::start_recording(const ServeOptions& options) {
    if (options.record_path.empty()) return {};
    std::error_code error;
    if (record::keep_old(options.record_path, error))
        spdlog::info("{0}: the existing file was moved to {0}.1", options.record_path);
    if (error)
        return fmt::format("{}: cannot back up the existing file: {}", options.record_path,
                           error.message());
    if (!record::open_private(options.record_path, recording_))
        return options.record_path + ": cannot be written";
    const ServerDef& def = internal(*server).def;
    record::Beginning beginning;
    beginning.program = "purview";
    beginning.schema_hash = def.schema->hash();
    beginning.tick_hz = static_cast<std::uint16_t>(def.tick_hz);
    beginning.state_every_ticks = state_every_ticks;
    beginning.secret = def.secret;
    beginning.world_name = def.world_name;
    beginning.options = options_of(options, *world);
    writer_ = std::make_unique<record::Writer>(recording_, beginning);
    recorder->on_lost = [this, path = options.record_path] {
        spdlog::error(
            "{}: writing failed, detected in tick {}: `purview replay` reports "
            "where the recording ends",
            path, server->current_tick());
    };
    recorder->record_to(writer_.get(), state_every_ticks);
    return {};
}

bool ServerApp::finish_recording() {
    if (writer_ == nullptr) return true;
    recorder->record_to(nullptr, 1);
    const bool is_whole = writer_->finish();
    writer_.reset();
    recording_.close();
    if (!is_whole) spdlog::error("the recording is incomplete: writing its end failed");
    return is_whole;
}

std::unique_ptr<ServerApp> ServerApp::open(const ServeOptions& options, std::string& problem) {
    auto app = std::make_unique<ServerApp>();
    if (problem = app->make_server(options, net::random_secret()); !problem.empty()) return nullptr;
    if (problem = app->open_carriers(options); !problem.empty()) return nullptr;
    if (problem = app->start_recording(options); !problem.empty()) return nullptr;
    app->make_operators(options, [its = app->web.get()](std::uint32_t connection,
                                                        std::string_view message, bool binary) {
        its->send_operator(connection, message, binary);
    });
    if (options.source == WorldSource::toml) app->reload_path_ = options.world_path;
    app->web->on_operator_message = [its = app.get()](std::uint32_t connection,
                                                      std::string_view text) {
        its->recorder->note(operator_note(connection, text));
        its->operators->message(connection, text);
    };
    app->web->on_operator_closed = [its = app.get()](std::uint32_t connection) {
        its->recorder->note(operator_closed_note(connection));
        its->operators->closed(connection);
    };
    return app;
}

std::unique_ptr<ServerApp> ServerApp::without_carriers(const ServeOptions& options,
                                                       const std::array<std::byte, 32>& secret,
                                                       std::string& problem) {
    auto app = std::make_unique<ServerApp>();
    if (problem = app->make_server(options, secret); !problem.empty()) return nullptr;
    app->make_operators(options, [](std::uint32_t, std::string_view, bool) {});
    return app;
}

ServerApp::~ServerApp() {
    if (web != nullptr) web->close();
}

void ServerApp::watch_reload() {
    net::reload_on_signal(&reload_requested);
}

void ServerApp::tick_done() {
    if (reload_requested) {
        reload_requested = false;
        reload_rules();
    }
    operators->tick_done();
    for (const std::string& line :
         losses_.check(loop->stats().udp, web->counters(), udp->buffer_bytes()))
        spdlog::warn("{}", line);
    log_lateness();
}

/// Logs late ticks, because otherwise only a slower page would show them.
void ServerApp::log_lateness() {
    const auto late = lateness_.check(loop->stats(), net::now());
    if (!late) return;
    spdlog::warn(
        "ticks are late: of the last {}, {} took longer than their {:.1f} ms, and {} were "
        "skipped; the world is {:.1f} s behind the clock since the start",
        late->ticks, late->overruns, static_cast<double>(loop->stats().period_us) / 1000,
        late->skipped, static_cast<double>(late->behind_us) / 1e6);
}

void ServerApp::reload_rules() {
    constexpr const char* stays = "the rules are unchanged";
    if (recorder->is_recording()) {
        spdlog::warn("SIGHUP: a recording is in progress; {}", stays);
        return;
    }
    if (reload_path_.empty()) {
        spdlog::warn("SIGHUP: this world has no world file; {}", stays);
        return;
    }
    const auto interest = scene::load_interest(reload_path_);
    if (!interest) {
        spdlog::error("{}; {}", scene::plain_text(interest.problem()), stays);
        return;
    }
    const Rules& running = server->rules();
    const auto rules = scene::compile_rules(*interest, operators->rules().names(), running);
    if (!rules) {
        spdlog::error("{}; {}", scene::plain_text(rules.problem()), stays);
        return;
    }
    if (const auto moved = scene::problem_of_bindings(running, *rules, world->kinds)) {
        spdlog::error("{}; {}", scene::plain_text(interest->describe(*moved)), stays);
        return;
    }
    const scene::InterestEntry& before = world->file.interest;
    if (interest->cell_size != before.cell_size || interest->axes != before.axes ||
        interest->range_classes != before.range_classes ||
        interest->observer_range_max != before.observer_range_max ||
        interest->group_radius_max != before.group_radius_max) {
        spdlog::warn(
            "{}: cell_m, axes, range_classes_m, observer_range_max_m and group_bounds_max_m take "
            "effect "
            "only when the server starts; they are unchanged",
            reload_path_);
    }
    Rules next = server->rules();
    next.nodes = rules->nodes;
    next.minimum_relevance_ticks = rules->minimum_relevance_ticks;
    next.level = rules->level;
    if (const std::string wrong = server->set_rules(next); !wrong.empty()) {
        spdlog::error("{}: the server refuses these rules: {}; {}", reload_path_, wrong, stays);
        return;
    }
    server->set_interest_level(interest->level);
    operators->rules().set_sight_def(interest->sight);
    spdlog::info("{}: rules reloaded: revision {}, nodes: {}", reload_path_,
                 server->rules_revision(), server->rules().nodes.size());
}

std::string ServerApp::page_address() const {
    const bool ipv6 = host.find(':') != std::string::npos;
    std::string address =
        fmt::format("http://{}{}{}:{}/", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port());
    if (!token.empty()) address += "?operator=" + net::url_encoded(token);
    return address;
}

std::string ServerApp::summary() const {
    const auto& setup = world->setup;
    return fmt::format("world={} size={:.0f}x{:.0f}m entities={} tick={}Hz budget={}B/tick",
                       scene::plain_text(world->file.name), setup.max.x - setup.min.x,
                       setup.max.y - setup.min.y, server->world().entity_count(),
                       world->file.tick_hz, internal(*server).def.budget_bytes_per_tick);
}

}  // namespace purview::app
