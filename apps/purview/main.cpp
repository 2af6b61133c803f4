// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The command line: purview serve | bots | demo | explain | rules | replay. Reports go to standard
// output, messages to standard error. Exit codes: 0 ok, 1 run-time error, 2 usage error, 3 a check
// failed.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "demo.hpp"
#include "explain_command.hpp"
#include "fault_injection.hpp"
#include "net/huge_pages.hpp"
#include "net/udp_socket.hpp"
#include "net/web_server.hpp"
#include "purview/version.h"
#include "replay_command.hpp"
#include "rules_command.hpp"

namespace {

using namespace purview::app;

constexpr const char* examples = R"(
Examples:
  purview demo                                a world, 200 bots and a web page
  purview demo --check --seconds 20           the same, with all checks; exit code 3 if one fails
  purview serve --world worlds/vale/vale.toml
  purview serve --sessions-per-host-max 500   for many bots on one machine, such as these:
  purview bots --server 127.0.0.1:7780 --clients 500 --seconds 30 --loss 0.02 --report -
  purview rules --url ADDRESS > rules.toml    rules of a running server, as a file
  purview rules --url ADDRESS --try rules.toml
  purview demo --seconds 10 --record demo.pvrec && purview replay demo.pvrec
)";

struct WorldChoice {
    std::string toml;
    std::string map;
    std::string trace;
};

void add_world(CLI::App& command, WorldChoice& choice) {
    auto* toml =
        command.add_option("--world", choice.toml, "world file (TOML); default: the built-in vale");
    auto* map = command.add_option("--map", choice.map, "Tiled map without a world file (JSON)");
    auto* trace = command.add_option("--trace", choice.trace, "recorded positions (CSV)");
    toml->excludes(map)->excludes(trace);
    map->excludes(trace);
}

void use_world(const WorldChoice& choice, ServeOptions& options) {
    options.source = !choice.map.empty()     ? WorldSource::map
                     : !choice.trace.empty() ? WorldSource::trace
                                             : WorldSource::toml;
    options.world_path = choice.toml + choice.map + choice.trace;
}

/// Like CLI::Range, but also rejects NaN.
CLI::Validator number_between(double least, double most) {
    return CLI::Validator(
        [least, most](std::string& text) -> std::string {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most)
                return {};
            return "'" + text + "' is not in " + fmt::format("[{} - {}]", least, most);
        },
        fmt::format("FLOAT in [{} - {}]", least, most));
}

/// Accepts "127.0.0.1:7780", "[::1]:7780" or "localhost:7780". Other host names are not resolved.
bool split_address(const std::string& text, std::string& host, std::uint16_t& port) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon + 1 == text.size()) return false;
    host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    char* end = nullptr;
    const long number = std::strtol(text.c_str() + colon + 1, &end, 10);
    if (*end != '\0' || number < 1 || number > 65535) return false;
    port = static_cast<std::uint16_t>(number);
    return true;
}

constexpr const char* server_help = "numeric address, or localhost, and port";

/// The address of a running server's operator channel, given in one of several ways.
struct OperatorChoice {
    std::string url;
    std::string server = "127.0.0.1:7780";
    std::uint16_t port = 0;
    std::string token;
};

void add_operator(CLI::App& command, OperatorChoice& choice) {
    auto* url = command.add_option(
        "--url", choice.url, "operator URL that the server printed; numeric address or localhost");
    auto* server = command.add_option("--server", choice.server, server_help)
                       ->capture_default_str()
                       ->excludes(url);
    command.add_option("--port", choice.port, "port of a server on this machine")
        ->excludes(url)
        ->excludes(server);
    command.add_option("--operator-token", choice.token, "operator token of the server");
}

/// Returns an error text, or an empty string.
std::string use_operator(OperatorChoice choice, OperatorAddress& out) {
    constexpr std::string_view scheme = "http://";
    constexpr std::string_view parameter = "operator=";
    if (choice.port != 0) choice.server = "127.0.0.1:" + std::to_string(choice.port);
    if (!choice.url.empty()) {
        if (choice.url.rfind(scheme, 0) != 0) return "--url must begin with http://";
        choice.server = choice.url.substr(scheme.size());
        const std::size_t end = choice.server.find_first_of("/?#");
        const std::string rest =
            end == std::string::npos ? std::string() : choice.server.substr(end);
        choice.server.resize(std::min(end, choice.server.size()));
        if (const std::size_t at = rest.find(parameter); at != std::string::npos) {
            const std::size_t begin = at + parameter.size();
            const std::size_t end_of_it = std::min(rest.find_first_of("&#", begin), rest.size());
            if (choice.token.empty())
                choice.token = purview::net::url_decoded(rest.substr(begin, end_of_it - begin));
        }
    }
    if (!split_address(choice.server, out.host, out.port)) {
        return choice.url.empty() ? "--server must be ADDRESS:PORT, such as 127.0.0.1:7780"
                                  : "--url must be http://ADDRESS:PORT/?operator=TOKEN";
    }
    if (choice.token.empty()) return "--operator-token is required, or --url with a token";
    out.token = choice.token;
    return {};
}

/// Checks an origin in the form that browsers send: a scheme and a host, an optional port, nothing
/// after it.
std::string problem_of_origin(const std::string& origin) {
    if (origin == "*") return {};
    const std::size_t host = origin.find("://");
    const bool is_web = origin.starts_with("http://") || origin.starts_with("https://");
    if (is_web && host + 3 < origin.size() &&
        origin.find_first_of("/?#@ ", host + 3) == std::string::npos)
        return {};
    return "'" + origin + "' is not an origin such as https://game.example, or *";
}

void add_origins(CLI::App& command, ServeOptions& options) {
    command
        .add_option("--origin", options.origins,
                    "additional origin with pages that may connect, such as https://game.example; "
                    "*: any origin; repeatable")
        ->expected(1)
        ->take_all()
        ->check(CLI::Validator(problem_of_origin, "ORIGIN"));
}

/// Behavior of the bots, and conditions that fail the run.
struct BotChoice {
    std::vector<std::string> fail_if;
};

void add_bots(CLI::App& command, BotOptions& bots, BotChoice& choice) {
    const std::map<std::string, Movement> movements{{"roam", Movement::roam},
                                                    {"flock", Movement::flock},
                                                    {"hotspot", Movement::hotspot},
                                                    {"teleport", Movement::teleport}};
    command
        .add_option_function<std::string>(
            "--movement",
            [movements, &bots](const std::string& name) { bots.movement = movements.at(name); },
            "movement of the bots; default: roam")
        ->check(CLI::IsMember(movements));
    command.add_option("--slow-readers", bots.slow_readers,
                       "number of bots that rarely read their sockets");
    command.add_option("--drivers", bots.drivers,
                       "number of bots that board carts, drive and shoot");
    command
        .add_option("--fail-if", choice.fail_if,
                    "exit with code 3 if the condition holds at the end, such as 'bytes_p99 > "
                    "15000'; repeatable")
        ->expected(1)
        ->take_all();
}

/// Returns false after logging a usage error.
bool use_bots(const BotOptions& bots, const BotChoice& choice, std::vector<FailCondition>& out) {
    std::string wrong;
    if (bots.drivers > bots.clients) wrong = "--drivers: more than the number of bots";
    if (bots.slow_readers > bots.clients) wrong = "--slow-readers: more than the number of bots";
    for (const std::string& text : choice.fail_if) {
        if (wrong.empty()) wrong = parse(text, out.emplace_back());
    }
    if (!wrong.empty()) spdlog::error("{}", wrong);
    return wrong.empty();
}

/// The command line as typed, without the value of --operator-token.
std::string command_line(int argc, char** argv) {
    constexpr std::string_view secret = "--operator-token";
    std::string out = "purview";
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        out += " ";
        out += argv[i - 1] == secret                     ? "..."
               : word.substr(0, secret.size()) == secret ? secret
                                                         : word;
    }
    return out;
}

constexpr int usage_error = 2;
constexpr const char* host_help = "numeric address to bind";
constexpr const char* record_help =
    "record all input and output of the server to this file, for replay (docs/recording.md)";
constexpr std::size_t token_size_min = 16;

/// Returns false after logging a usage error. Operators outside of loopback need a token.
bool use_host(const ServeOptions& options) {
    if (!purview::net::is_numeric_address(options.host)) {
        spdlog::error("--host: '{}' is not a numeric address", options.host);
        return false;
    }
    if (!purview::net::is_loopback(options.host) && !options.no_operator &&
        options.operator_token.size() < token_size_min) {
        spdlog::error(
            "{} is not loopback: choose an --operator-token of at least {} characters, or "
            "--no-operator",
            options.host, token_size_min);
        return false;
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    purview::set_memory_hooks(purview::net::huge_page_hooks());
    spdlog::set_default_logger(spdlog::stderr_color_mt("purview"));
    spdlog::set_pattern("%^%l%$: %v");

    CLI::App app{"Interest management and replication for multiplayer games."};
    app.footer(examples);
    app.require_subcommand(1);
    app.set_version_flag("--version", PURVIEW_VERSION_TEXT);

    ServeOptions serve;
    WorldChoice serve_world;
    std::string serve_json;
    auto* serve_command = app.add_subcommand("serve", "Run a server");
    add_world(*serve_command, serve_world);
    serve_command->add_option("--host", serve.host, host_help)->capture_default_str();
    serve_command
        ->add_option("--port", serve.port, "port for UDP, HTTP and WebSocket; 0: any free port")
        ->capture_default_str();
    auto* token =
        serve_command->add_option("--operator-token", serve.operator_token,
                                  "token of the operator channel; default on loopback: random");
    serve_command->add_flag("--no-operator", serve.no_operator, "no operator channel")
        ->excludes(token);
    serve_command->add_flag("--read-only-rules", serve.rules_read_only,
                            "operators can read and try rules, but not change them");
    add_origins(*serve_command, serve);
    serve_command->add_option("--sessions-max", serve.sessions_max, "maximum number of clients")
        ->check(CLI::Range(1, 65'000))
        ->capture_default_str();
    serve_command
        ->add_option("--sessions-per-host-max", serve.sessions_per_host_max,
                     "maximum number of clients per address, this machine included (allow for its "
                     "bots); 4 times as many from an IPv6 /56, 16 times from a /48 or an IPv4 /24")
        ->check(CLI::Range(1, 65'000))
        ->capture_default_str();
    serve_command
        ->add_option("--budget", serve.budget_bytes_per_tick,
                     "byte budget per client and tick; default: the value in the world file")
        ->check(CLI::Range(128, 1 << 20));
    constexpr const char* threads_help =
        "number of threads for visibility and packet encoding; does not change the datagrams";
    serve_command->add_option("--threads", serve.threads, threads_help)
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    serve_command->add_option("--seconds", serve.seconds, "stop after this many seconds; 0: never")
        ->check(number_between(0, 1e7));
    serve_command->add_flag(
        "--allow-jumps", serve.players_jump,
        "allow players to jump to any position; needed by bots with --movement");
    serve_command->add_option("--record", serve.record_path, record_help);
    serve_command->add_option("--json", serve_json,
                              "report at the end, to a file or - for standard output");

    BotOptions bots;
    std::string bots_server = "127.0.0.1:7780";
    std::string bots_report;
    double bots_seconds = 30;
    bool bots_spectate = false;
    auto* bots_command = app.add_subcommand("bots", "Connect many clients to a server");
    bots_command->add_option("--server", bots_server, server_help)->capture_default_str();
    bots_command->add_option("--clients", bots.clients)
        ->check(CLI::Range(1, 60'000))
        ->capture_default_str();
    bots_command->add_option("--seconds", bots_seconds)
        ->check(number_between(0.1, 1e6))
        ->capture_default_str();
    bots_command->add_option("--seed", bots.seed)->capture_default_str();
    bots_command->add_option("--loss", bots.loss, "fraction of datagrams lost in each direction")
        ->check(number_between(0, 1))
        ->capture_default_str();
    bots_command
        ->add_option("--jitter", bots.jitter_ms, "random additional delay, 0 to this many ms")
        ->check(CLI::Range(0, 10'000))
        ->capture_default_str();
    bots_command->add_option("--threads", bots.threads)
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    bots_command->add_flag("--spectate", bots_spectate, "join as spectators");
    bots_command->add_option("--json,--report", bots_report,
                             "JSON report, to a file or - for standard output");
    BotChoice bots_choice;
    add_bots(*bots_command, bots, bots_choice);

    ExplainOptions explain;
    OperatorChoice explain_operator;
    auto* explain_command = app.add_subcommand(
        "explain",
        "Explain why an entity is or is not relevant for an observer of a running server");
    add_operator(*explain_command, explain_operator);
    explain_command->add_option("--observer", explain.observer, "id or index")->required();
    explain_command->add_option("--entity", explain.entity, "id or index")->required();
    explain_command->add_flag("--json", explain.json, "print the complete reply as JSON");

    RulesOptions rules;
    OperatorChoice rules_operator;
    auto* rules_command =
        app.add_subcommand("rules", "Show, try or change the rules of a running server");
    add_operator(*rules_command, rules_operator);
    auto* rules_try = rules_command->add_option("--try", rules.try_path,
                                                "report which observers would gain or lose "
                                                "entities with the [interest] rules of this file");
    auto* rules_apply = rules_command
                            ->add_option("--apply", rules.apply_path,
                                         "replace the current nodes with those of this file")
                            ->excludes(rules_try);
    rules_command
        ->add_flag("--force", rules.force,
                   "with --apply: accept rules that exceed the server's limit of relevant entities")
        ->needs(rules_apply);
    rules_command->add_flag("--json", rules.json, "print the complete reply as JSON");

    ReplayOptions replay;
    WorldChoice replay_world;
    auto* replay_command = app.add_subcommand(
        "replay", "Replay a recording; exit code 3 if a byte or a state differs");
    replay_command->add_option("file", replay.path, "file written by --record")->required();
    replay_command->add_option("--threads", replay.threads, threads_help)
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    add_world(*replay_command, replay_world);

    DemoOptions demo;
    WorldChoice demo_world;
    demo.bots.clients = 200;
    auto* demo_command =
        app.add_subcommand("demo", "Run a server, bots and a web page in one process");
    add_world(*demo_command, demo_world);
    demo_command->add_option("--host", demo.serve.host, host_help)->capture_default_str();
    demo_command->add_option("--port", demo.serve.port, "0: any free port")->capture_default_str();
    demo_command->add_option("--bots", demo.bots.clients)
        ->check(CLI::Range(0, 20'000))
        ->capture_default_str();
    demo_command
        ->add_option(
            "--loss", demo.bots.loss,
            "fraction of the bots' datagrams lost in each direction; default: 0, with --check 0.02")
        ->check(number_between(0, 1));
    demo_command
        ->add_option("--jitter", demo.bots.jitter_ms, "random additional delay, 0 to this many ms")
        ->check(CLI::Range(0, 10'000))
        ->capture_default_str();
    demo_command->add_option("--operator-token", demo.serve.operator_token,
                             "token of the operator channel; default: random");
    add_origins(*demo_command, demo.serve);
    demo_command->add_flag("--read-only-rules", demo.serve.rules_read_only,
                           "operators can read and try rules, but not change them");
    demo_command->add_flag("--no-operator", demo.serve.no_operator, "no operator channel")
        ->excludes(demo_command->get_option("--operator-token"));
    demo_command->add_option("--seed", demo.bots.seed)->capture_default_str();
    demo_command
        ->add_option("--seconds", demo.serve.seconds,
                     "stop after this many seconds; default: never, with --check at least 20")
        ->check(number_between(0, 1e7));
    demo_command->add_flag("--check", demo.check,
                           "verify the state of every client; exit code 3 if a check fails");
    demo_command->add_flag(
        "!--no-pace", demo.check_pace_enabled,
        "with --check: do not check tick times and overruns; for a busy machine or "
        "a build with sanitizers");
    demo_command->add_flag("--with-node", demo.with_node,
                           "add a client: the WebAssembly core in Node.js");
    demo_command->add_option("--record", demo.serve.record_path, record_help);
    demo_command->add_option(
        "--json", demo.json_path,
        "report of the bots and of --check, to a file or - for standard output");
    BotChoice demo_choice;
    add_bots(*demo_command, demo.bots, demo_choice);
    if (const auto modes = injected_fault_names(); !modes.empty()) {
        demo_command
            ->add_option("--break", demo.break_mode,
                         "inject a fault into the server; the check must detect it")
            ->check(CLI::IsMember(modes));
    }

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : usage_error;
    }

    if (*serve_command) {
        use_world(serve_world, serve);
        if (!use_host(serve)) return usage_error;
        return run_serve(serve, serve_json);
    }
    if (*bots_command) {
        if (!split_address(bots_server, bots.host, bots.port)) {
            spdlog::error("--server must be ADDRESS:PORT, such as 127.0.0.1:7780");
            return usage_error;
        }
        bots.role = bots_spectate ? purview::Role::spectator : purview::Role::player;
        std::vector<FailCondition> fail_if;
        if (!use_bots(bots, bots_choice, fail_if)) return usage_error;
        return run_bots(bots, bots_seconds, bots_report, fail_if);
    }
    if (*explain_command) {
        if (const auto wrong = use_operator(explain_operator, explain.at); !wrong.empty()) {
            spdlog::error("{}", wrong);
            return usage_error;
        }
        return run_explain(explain);
    }
    if (*rules_command) {
        if (const auto wrong = use_operator(rules_operator, rules.at); !wrong.empty()) {
            spdlog::error("{}", wrong);
            return usage_error;
        }
        return run_rules(rules);
    }
    if (*replay_command) {
        ServeOptions instead;
        use_world(replay_world, instead);
        replay.world_path = instead.world_path;
        return run_replay(replay);
    }
    use_world(demo_world, demo.serve);
    if (!use_host(demo.serve)) return usage_error;
    demo.command = command_line(argc, argv);
    if (demo.check) {
        if (demo_command->count("--loss") == 0) demo.bots.loss = 0.02;
    }
    demo.chooses_drivers = demo_command->count("--drivers") == 0;
    if (demo.chooses_drivers) demo.bots.drivers = std::min(8U, demo.bots.clients / 10);
    if (!use_bots(demo.bots, demo_choice, demo.fail_if)) return usage_error;
    demo.bots.threads = 1;
    const double least = settle_seconds(demo) + measured_seconds_min;
    if (demo.check && demo.serve.seconds == 0) demo.serve.seconds = std::max(20.0, least);
    if (demo.check && demo.serve.seconds < least) {
        spdlog::error("--check: {} bots join first: --seconds must be at least {}",
                      demo.bots.clients, least);
        return usage_error;
    }
    demo.serve.players_jump = demo.bots.movement != Movement::roam;
    return run_demo(demo);
}
