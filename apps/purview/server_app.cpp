// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server_app.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "assets.hpp"
#include "net/child_process.hpp"
#include "net/system.hpp"

namespace purview::app {

namespace {

volatile bool reload_requested = false;

/// The built-in world is read like any other: from files.
scene::Loaded<std::unique_ptr<WorldSetup>> load_built_in() {
    const std::string directory = net::make_temporary_directory();
    if (directory.empty() || !net::write_file(directory + "/vale.toml", asset("vale.toml")) ||
        !net::write_file(directory + "/vale.json", asset("vale.json"))) {
        return scene::Problem{
            "the built-in world cannot be unpacked: no room for temporary files?"};
    }
    auto world = load_world(WorldSource::toml, directory + "/vale.toml");
    net::remove_directory(directory);
    return world;
}

}  // namespace

std::unique_ptr<ServerApp> ServerApp::open(const ServeOptions& options, std::string& problem) {
    auto world = options.world_path.empty() ? load_built_in()
                                            : load_world(options.source, options.world_path);
    if (!world) {
        problem = world.problem();
        return nullptr;
    }
    auto app = std::make_unique<ServerApp>();
    app->world = std::move(*world);
    app->host = options.host;
    app->game = std::make_unique<vale::Vale>(app->world->setup, *app->world->schema);

    ServerDef def;
    def.schema = &app->world->schema->schema;
    def.rules = app->world->rules;
    def.kinds = app->world->kinds;
    def.level = app->world->file.interest.level;
    def.world_name = app->world->file.name;
    def.tick_hz = app->world->file.tick_hz;
    def.budget_bytes_per_tick = options.budget_bytes_per_tick != 0
                                    ? options.budget_bytes_per_tick
                                    : app->world->file.budget_bytes_per_tick;
    def.sessions_max = options.sessions_max;
    def.sessions_per_host_max = options.sessions_per_host_max;
    def.secret = net::random_secret();
    def.mac = &net::mac;
    def.clock = &net::now;
    auto server = Server::create(def, *app->game);
    if (!server) {
        problem = "the server refuses its configuration: " + std::string(to_string(server.error()));
        return nullptr;
    }
    app->server = std::make_unique<Server>(std::move(server).value());
    app->game->populate(app->server->world());

    app->token = options.no_operator ? std::string() : options.operator_token;
    if (app->token.empty() && !options.no_operator) app->token = net::random_token();
    net::WebDef web;
    web.host = options.host;
    web.port = options.port;
    web.operator_token = options.no_operator ? net::random_token() : app->token;  // known to nobody
    app->web = std::make_unique<net::WebServer>(web);
    if (problem = app->web->open(); !problem.empty()) return nullptr;
    app->udp = std::make_unique<net::UdpSocket>();
    if (problem = app->udp->bind(options.host, app->web->port()); !problem.empty()) return nullptr;

    unsigned count = 0;
    const Asset* list = assets(count);
    for (unsigned i = 0; i < count; ++i) {
        app->web->serve("/" + std::string(list[i].name),
                        {std::string(list[i].content_type), list[i].bytes});
    }
    app->web->serve("/", {"text/html; charset=utf-8", asset("index.html")});
    app->web->serve("/world.json", {"application/json", app->world->page_json});

    auto* app_web = app->web.get();
    const auto* game = app->game.get();
    admin::OperatorDef operators_def;
    operators_def.names = app->world->names;
    operators_def.rules_read_only = options.rules_read_only;
    operators_def.main_of = [game](ObserverId observer) {
        const auto view = game->view_of(observer);
        return view ? view->main : EntityId::none;
    };
    operators_def.note = [](const std::string& text) { spdlog::info("{}", text); };
    app->operators = std::make_unique<admin::OperatorChannel>(
        *app->server,
        [app_web](std::uint32_t connection, std::string_view message, bool binary) {
            app_web->send_operator(connection, message, binary);
        },
        std::move(operators_def));
    if (options.source == WorldSource::toml) app->reload_path_ = options.world_path;
    auto* operators = app->operators.get();
    app->web->on_operator_message = [operators](std::uint32_t connection, std::string_view text) {
        operators->message(connection, text);
    };
    app->web->on_operator_closed = [operators](std::uint32_t connection) {
        operators->closed(connection);
    };
    app->loop = std::make_unique<net::ServerLoop>(*app->server, *app->udp, *app->web, def.tick_hz);
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
}

void ServerApp::reload_rules() {
    constexpr const char* stays = "the rules stay as they are";
    if (reload_path_.empty()) {
        spdlog::warn("SIGHUP: this world has no world file; {}", stays);
        return;
    }
    const auto interest = scene::load_interest(reload_path_);
    if (!interest) {
        spdlog::error("{}; {}", interest.problem(), stays);
        return;
    }
    const InterestRules& running = server->rules();
    const auto rules = scene::compile_rules(*interest, operators->rules().names(), running);
    if (!rules) {
        spdlog::error("{}; {}", rules.problem(), stays);
        return;
    }
    if (const auto moved = scene::problem_of_bindings(running, *rules, world->kinds)) {
        spdlog::error("{}; {}", interest->describe(*moved), stays);
        return;
    }
    const scene::InterestEntry& before = world->file.interest;
    if (interest->cell_m != before.cell_m || interest->axes != before.axes ||
        interest->range_classes_m != before.range_classes_m ||
        interest->observer_range_max_m != before.observer_range_max_m) {
        spdlog::warn(
            "{}: cell_m, axes, range_classes_m and observer_range_max_m count when the "
            "server starts; they stay as they are",
            reload_path_);
    }
    if (const Status status = server->set_rules(*rules); status != Status::ok) {
        spdlog::error("{}: the server refuses these rules: {}; {}", reload_path_, to_string(status),
                      stays);
        return;
    }
    server->set_interest_level(interest->level);
    operators->rules().set_sight_def(interest->sight);
    spdlog::info("{}: rules read again: revision {}, nodes: {}", reload_path_,
                 server->rules_revision(), server->rules().nodes.size());
    for (const std::string& warning : server->interest().warnings())
        spdlog::warn("rules: {}", warning);
}

std::string ServerApp::page_address() const {
    const bool ipv6 = host.find(':') != std::string::npos;
    std::string address =
        fmt::format("http://{}{}{}:{}/", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port());
    if (!token.empty()) address += "?operator=" + token;
    return address;
}

std::string ServerApp::summary() const {
    const auto& setup = world->setup;
    return fmt::format("world={} size={:.0f}x{:.0f}m entities={} tick={}Hz budget={}B/tick",
                       world->file.name, setup.max.x - setup.min.x, setup.max.y - setup.min.y,
                       server->world().entity_count(), world->file.tick_hz,
                       server->data().def.budget_bytes_per_tick);
}

}  // namespace purview::app
