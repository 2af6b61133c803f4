// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One program: purview serve | bots | demo | explain | rules | replay. Reports go to standard
// output, messages to standard error. Exit codes: 0 ok, 1 run time, 2 usage, 3 check failed.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "demo.hpp"
#include "explain_command.hpp"
#include "net/huge_pages.hpp"
#include "net/udp_socket.hpp"
#include "net/web_server.hpp"
#include "replay_command.hpp"
#include "rules_command.hpp"
#include "spoil.hpp"

namespace {

using namespace purview::app;

constexpr const char* examples = R"(
Examples:
  purview demo                                a world, 200 bots and a page to look at
  purview demo --check --seconds 20           the same, proving itself; exit code 3 if it cannot
  purview serve --world worlds/vale/vale.toml
  purview serve --sessions-per-host-max 500   for many bots of one machine, such as these:
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
    auto* map = command.add_option("--map", choice.map, "a bare Tiled map (JSON)");
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

/// As CLI::Range, which takes what is no number.
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

/// "127.0.0.1:7780", "[::1]:7780" or "localhost:7780"; no other name is looked up.
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

/// Where a running server's operator channel is, as given in one of several ways.
struct OperatorChoice {
    std::string url;
    std::string server = "127.0.0.1:7780";
    std::uint16_t port = 0;
    std::string token;
};

void add_operator(CLI::App& command, OperatorChoice& choice) {
    auto* url = command.add_option("--url", choice.url,
                                   "the address as the server printed it: numeric, or localhost");
    auto* server = command.add_option("--server", choice.server, server_help)
                       ->capture_default_str()
                       ->excludes(url);
    command.add_option("--port", choice.port, "of a server on this machine")
        ->excludes(url)
        ->excludes(server);
    command.add_option("--operator-token", choice.token, "the server's own");
}

/// Empty, or what is wrong with it.
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

/// As browsers say it: a scheme and a host, perhaps a port, and nothing behind.
std::string problem_of_origin(const std::string& origin) {
    if (origin == "*") return {};
    const std::size_t host = origin.find("://");
    const bool is_web = origin.starts_with("http://") || origin.starts_with("https://");
    if (is_web && host + 3 < origin.size() &&
        origin.find_first_of("/?#@ ", host + 3) == std::string::npos)
        return {};
    return "'" + origin + "' is no origin, such as https://game.example, or *";
}

void add_origins(CLI::App& command, ServeOptions& options) {
    command
        .add_option("--origin", options.origins,
                    "whose pages may play, besides the server's own, such as https://game.example; "
                    "*: anybody's; repeatable")
        ->expected(1)
        ->take_all()
        ->check(CLI::Validator(problem_of_origin, "ORIGIN"));
}

/// How the bots behave, and what must not come of it.
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
            "how they move; default: roam")
        ->check(CLI::IsMember(movements));
    command.add_option("--slow-readers", bots.slow_readers,
                       "so many read their sockets only now and then");
    command.add_option("--drivers", bots.drivers, "so many get on carts, drive and shoot");
    command
        .add_option("--fail-if", choice.fail_if,
                    "exit code 3 if it is so at the end, such as 'bytes_p99 > 15000'; repeatable")
        ->expected(1)
        ->take_all();
}

/// False, and an error was logged: a usage error.
bool use_bots(const BotOptions& bots, const BotChoice& choice, std::vector<FailCondition>& out) {
    std::string wrong;
    if (bots.drivers > bots.clients) wrong = "--drivers: there are not so many bots";
    if (bots.slow_readers > bots.clients) wrong = "--slow-readers: there are not so many bots";
    for (const std::string& text : choice.fail_if) {
        if (wrong.empty()) wrong = parse(text, out.emplace_back());
    }
    if (!wrong.empty()) spdlog::error("{}", wrong);
    return wrong.empty();
}

/// As typed, but for secrets.
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
    "everything that reaches and leaves the server, for replay (docs/recording.md)";
constexpr std::size_t token_size_min = 16;

/// False, and an error was logged: a usage error. Outside of loopback, operators need a token.
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

    CLI::App app{"Purview decides, for every client of a shared world, what that client may know."};
    app.footer(examples);
    app.require_subcommand(1);
    app.set_version_flag("--version", PURVIEW_VERSION);

    ServeOptions serve;
    WorldChoice serve_world;
    std::string serve_json;
    auto* serve_command = app.add_subcommand("serve", "Run a server");
    add_world(*serve_command, serve_world);
    serve_command->add_option("--host", serve.host, host_help)->capture_default_str();
    serve_command->add_option("--port", serve.port, "UDP, HTTP and WebSocket; 0: any")
        ->capture_default_str();
    auto* token = serve_command->add_option("--operator-token", serve.operator_token,
                                            "for the operator channel; random on loopback");
    serve_command->add_flag("--no-operator", serve.no_operator, "no operator channel")
        ->excludes(token);
    serve_command->add_flag("--read-only-rules", serve.rules_read_only,
                            "operators may read and try rules, but not set them");
    add_origins(*serve_command, serve);
    serve_command
        ->add_option("--sessions-max", serve.sessions_max, "clients that may be in at once")
        ->check(CLI::Range(1, 65'000))
        ->capture_default_str();
    serve_command
        ->add_option(
            "--sessions-per-host-max", serve.sessions_per_host_max,
            "of them from one address, this machine's included: as many as its bots; 4 times "
            "as many from an IPv6 /56, 16 times from a /48 or an IPv4 /24")
        ->check(CLI::Range(1, 65'000))
        ->capture_default_str();
    serve_command
        ->add_option("--budget", serve.budget_bytes_per_tick,
                     "bytes per client and tick; default: as the world says")
        ->check(CLI::Range(128, 1 << 20));
    constexpr const char* threads_help =
        "that work on windows and packets; the datagrams are the same";
    serve_command->add_option("--threads", serve.threads, threads_help)
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    serve_command->add_option("--seconds", serve.seconds, "stop by itself; 0: never")
        ->check(number_between(0, 1e7));
    serve_command->add_flag("--allow-jumps", serve.players_jump,
                            "players may be anywhere at once, as bots with a --movement want");
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
    bots_command->add_option("--loss", bots.loss, "share of datagrams lost, each way")
        ->check(number_between(0, 1))
        ->capture_default_str();
    bots_command->add_option("--jitter", bots.jitter_ms, "added delay, 0 to this many ms")
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
        "explain", "Ask a running server why an observer knows of an entity, or not");
    add_operator(*explain_command, explain_operator);
    explain_command->add_option("--observer", explain.observer, "id or index")->required();
    explain_command->add_option("--entity", explain.entity, "id or index")->required();
    explain_command->add_flag("--json", explain.json, "the whole answer as JSON");

    RulesOptions rules;
    OperatorChoice rules_operator;
    auto* rules_command =
        app.add_subcommand("rules", "Show, try or change the rules of a running server");
    add_operator(*rules_command, rules_operator);
    auto* rules_try = rules_command->add_option(
        "--try", rules.try_path, "who would gain and lose by the [interest] of this file");
    auto* rules_apply =
        rules_command
            ->add_option("--apply", rules.apply_path, "use the nodes of this file from now on")
            ->excludes(rules_try);
    rules_command
        ->add_flag("--force", rules.force,
                   "with --apply: also where they make more relevant than the server's bound")
        ->needs(rules_apply);
    rules_command->add_flag("--json", rules.json, "the whole answer as JSON");

    ReplayOptions replay;
    WorldChoice replay_world;
    auto* replay_command = app.add_subcommand(
        "replay", "Live a recording again: exit code 3 if a byte or a state differs");
    replay_command->add_option("file", replay.path, "of --record")->required();
    replay_command->add_option("--threads", replay.threads, threads_help)
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    add_world(*replay_command, replay_world);

    DemoOptions demo;
    WorldChoice demo_world;
    demo.bots.clients = 200;
    auto* demo_command = app.add_subcommand("demo", "Server, bots and page in one process");
    add_world(*demo_command, demo_world);
    demo_command->add_option("--host", demo.serve.host, host_help)->capture_default_str();
    demo_command->add_option("--port", demo.serve.port, "0: any")->capture_default_str();
    demo_command->add_option("--bots", demo.bots.clients)
        ->check(CLI::Range(0, 20'000))
        ->capture_default_str();
    demo_command
        ->add_option("--loss", demo.bots.loss,
                     "share of the bots' datagrams lost, each way; with --check 0.02")
        ->check(number_between(0, 1));
    demo_command->add_option("--jitter", demo.bots.jitter_ms, "ms")
        ->check(CLI::Range(0, 10'000))
        ->capture_default_str();
    demo_command->add_option("--operator-token", demo.serve.operator_token,
                             "for the operator channel; default: random");
    add_origins(*demo_command, demo.serve);
    demo_command->add_flag("--read-only-rules", demo.serve.rules_read_only,
                           "operators may read and try rules, but not set them");
    demo_command->add_flag("--no-operator", demo.serve.no_operator, "no operator channel")
        ->excludes(demo_command->get_option("--operator-token"));
    demo_command->add_option("--seed", demo.bots.seed)->capture_default_str();
    demo_command->add_option("--seconds", demo.serve.seconds, "stop by itself; with --check 20")
        ->check(number_between(0, 1e7));
    demo_command->add_flag("--check", demo.check,
                           "prove what every client holds; exit code 3 if something does not hold");
    demo_command->add_flag("!--no-pace", demo.judge_pace,
                           "With --check: do not judge ticks and overruns, as on a busy machine or "
                           "in a build with sanitizers");
    demo_command->add_flag("--with-node", demo.with_node,
                           "one more client: the WebAssembly core under Node");
    demo_command->add_option("--record", demo.serve.record_path, record_help);
    demo_command->add_option(
        "--json", demo.json_path,
        "report of the bots and of --check, to a file or - for standard output");
    BotChoice demo_choice;
    add_bots(*demo_command, demo.bots, demo_choice);
    if (const auto modes = spoil_modes(); !modes.empty()) {
        demo_command
            ->add_option("--break", demo.break_mode, "spoil the server: the check must notice")
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
    const double least = settle_seconds(demo) + judged_seconds_least;
    if (demo.check && demo.serve.seconds == 0) demo.serve.seconds = std::max(20.0, least);
    if (demo.check && demo.serve.seconds < least) {
        spdlog::error("--check: {} bots join first: --seconds must be at least {}",
                      demo.bots.clients, least);
        return usage_error;
    }
    demo.serve.players_jump = demo.bots.movement != Movement::roam;
    return run_demo(demo);
}
