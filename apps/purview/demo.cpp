// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "demo.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "assets.hpp"
#include "core/internal_access.hpp"
#include "fault_injection.hpp"
#include "net/child_process.hpp"
#include "net/system.hpp"
#include "net/thread_pool.hpp"
#include "net/udp_socket.hpp"
#include "net/web_server.hpp"
#include "output.hpp"
#include "proof.hpp"
#include "replay_command.hpp"
#include "server/server_data.hpp"

namespace purview::app {

using nlohmann::json;

namespace {

volatile bool stop_requested = false;

/// If the server waits for a processor for more than this fraction of the time, it shares its
/// machine with other processes, and late ticks are not a failure. On two processors, its own bots
/// and checks account for half of this fraction. The same limit applies to the fraction of ticks
/// that wait for the check.
constexpr double waited_share_max = 0.2;

double percentile(std::vector<float> values, double share) {
    if (values.empty()) return 0;
    const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at),
                     values.end());
    return values[at];
}

bool write_report(const json& report, const std::string& path) {
    if (path.empty()) return true;
    // Names and arguments may contain any bytes.
    return write_out(report.dump(2, ' ', false, json::error_handler_t::replace) + "\n", path);
}

/// Prints the bots' table to standard output, or to standard error if the JSON report goes to
/// standard output.
bool report_bots(const BotReport& bots, const json& report, const std::string& path) {
    bool good = true;
    if (bots.clients > 0 && path == "-") fmt::print(stderr, "{}", table_of(bots));
    if (bots.clients > 0 && path != "-") good = write_out(table_of(bots));
    return write_report(report, path) && good;
}

bool is_met(const std::vector<FailCondition>& conditions, const BotReport& bots) {
    const std::string met = first_met(conditions, bots);
    if (!met.empty()) spdlog::error("{}", met);
    return !met.empty();
}

/// Slightly more often than once per second.
std::uint32_t truth_every_ticks(std::uint32_t tick_hz) {
    return std::max(1U, tick_hz * 3 / 4);
}

check::TruthObserver describe(const vale::Vale& game, ObserverId observer) {
    check::TruthObserver truth;
    truth.id = observer;
    if (const auto view = game.view_of(observer)) {
        truth.ready = true;
        truth.times_ready = 1;
        truth.main = view->main;
        truth.areas.assign(view->areas.begin(), view->areas.end());
    }
    return truth;
}

/// Counters at one moment. The figures of an interval are the differences between two marks.
struct Mark {
    double seconds = 0;
    std::uint64_t ticks = 0;
    std::uint64_t enters = 0;
    std::uint64_t leaves = 0;
    std::uint64_t client_bytes = 0;
    std::uint64_t reference_bytes = 0;
};

/// Evaluates a demo run. Samples once per second, after the time in which all bots join.
class Verdicts {
  public:
    Verdicts(ServerApp& app, const DemoOptions& options, std::uint32_t clients)
        : app_(app),
          options_(options),
          clients_(clients),
          settle_seconds_(settle_seconds(options)),
          next_sample_(settle_seconds_) {}

    void begin() { start_ = net::now(); }

    double seconds() const { return static_cast<double>(net::now() - start_) / 1e6; }
    void after_tick() {
        const double seconds = this->seconds();
        if (seconds < settle_seconds_) return;
        if (!settled_) {
            first_ = mark(seconds);
            settled_ = true;
        }
        last_ = mark(seconds);
        if (seconds < next_sample_) return;
        next_sample_ = std::max(next_sample_ + 1, seconds);
        sample();
    }

    /// Takes the final figures before the server disconnects all clients.
    void end() {
        seconds_ = seconds();
        stats_ = app_.server->stats();
        dropped_ = internal(*app_.server).drops.total();
    }
    bool has_measured() const { return seconds_ >= settle_seconds_ + measured_seconds_min; }
    json finish(const Proof& proof, const BotReport& bots, int node_exit, const json& node_report);
    bool holds() const noexcept { return holds_; }

  private:
    double waited_share(double seconds) const {
        return static_cast<double>(app_.loop->stats().waited_us) / 1e6 / seconds;
    }
    void require_driving(const BotReport& bots, bool checks_hits);
    Mark mark(double seconds) const {
        const ServerStats stats = app_.server->stats();
        Mark mark;
        mark.seconds = seconds;
        mark.ticks = app_.server->current_tick();
        mark.enters = stats.enters;
        mark.leaves = stats.leaves;
        for (const auto& session : internal(*app_.server).sessions) {
            (session->state == Session::State::probe ? mark.reference_bytes : mark.client_bytes) +=
                session->bytes_sent;
        }
        return mark;
    }

    void sample() {
        std::vector<SessionStats> sessions;
        app_.server->sessions(sessions);
        clients_min_ = std::min(clients_min_, static_cast<std::uint32_t>(sessions.size()));
        for (const auto& session : sessions) relevant_sum_ += session.relevant;
        relevant_samples_ += sessions.size();
        present_sum_ += app_.game->people_present();
        ++samples_;
        if (options_.check) {
            spdlog::info("{:4.0f} s: {} clients, {:.0f} relevant each, {} ticks", last_.seconds,
                         sessions.size(),
                         sessions.empty() ? 0.0
                                          : static_cast<double>(relevant_sum_) /
                                                static_cast<double>(relevant_samples_),
                         app_.loop->stats().ticks);
        }
    }

    void require(const std::string& name, double value, const std::string& relation, double bound) {
        const bool holds = relation == ">="   ? value >= bound
                           : relation == "<=" ? value <= bound
                                              : value == bound;
        checks_.push_back({{"name", name},
                           {"value", value},
                           {"must_be", relation},
                           {"bound", bound},
                           {"holds", holds}});
        if (!holds) {
            holds_ = false;
            spdlog::error("check failed: {} is {:.6g}, must be {} {:.6g}", name, value, relation,
                          bound);
        }
    }

    ServerApp& app_;
    const DemoOptions& options_;
    std::uint32_t clients_;
    Micros start_ = 0;
    double seconds_ = 0;
    ServerStats stats_;
    std::uint64_t dropped_ = 0;
    bool settled_ = false;
    double settle_seconds_;
    double next_sample_;
    Mark first_;
    Mark last_;
    std::uint32_t clients_min_ = ~0U;
    std::uint64_t relevant_sum_ = 0;
    std::uint64_t relevant_samples_ = 0;
    std::uint64_t present_sum_ = 0;
    std::uint64_t samples_ = 0;
    json checks_ = json::array();
    bool holds_ = true;
};

/// A driver's prediction must agree with the server, and its shots must hit the targets that it
/// aims at in its own view.
void Verdicts::require_driving(const BotReport& bots, bool checks_hits) {
    const DriverCounts& driven = bots.driven;
    const auto share = [](std::uint64_t part, std::uint64_t whole) {
        return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, whole));
    };
    if (checks_hits) {
        require("share of shots that hit the target", share(driven.hits, driven.shots), ">=", 0.8);
        require("share of shots that hit without lag compensation",
                share(driven.hits_present, driven.shots), "<=", share(driven.hits, driven.shots));
    }
    require("visible corrections per input",
            share(driven.corrections - driven.invisible, driven.commands), "<=", 0.02);
}

json Verdicts::finish(const Proof& proof, const BotReport& bots, int node_exit,
                      const json& node_report) {
    const double seconds = seconds_;
    const net::LoopStats& loop = app_.loop->stats();
    const ProofCounters counted = proof.counters();
    const double check_share = static_cast<double>(counted.truth_waits) /
                               static_cast<double>(std::max<std::uint64_t>(1, loop.ticks));
    const bool checks_pace = options_.check_pace_enabled &&
                             waited_share(seconds) <= waited_share_max &&
                             check_share <= waited_share_max;
    if (options_.check_pace_enabled && !checks_pace) {
        spdlog::warn(
            "the server waited for a processor for {:.0f} % of the time, and for the check in "
            "{:.0f} % of its ticks: tick times and overruns are not checked; everything else is",
            100 * waited_share(seconds), 100 * check_share);
    }
    // Players move per tick. Without pace checks, rates refer to world time, not wall-clock time.
    const double tick_hz = app_.world->file.tick_hz;
    const double world_seconds =
        checks_pace ? seconds : static_cast<double>(app_.loop->stats().ticks) / tick_hz;
    const ServerStats& stats = stats_;
    const double ticks_in_window =
        std::max<double>(1, static_cast<double>(last_.ticks - first_.ticks));
    const double window =
        checks_pace ? std::max(0.001, last_.seconds - first_.seconds) : ticks_in_window / tick_hz;
    const double clients = std::max(1U, clients_);
    const double relevant_mean =
        relevant_samples_ == 0
            ? 0
            : static_cast<double>(relevant_sum_) / static_cast<double>(relevant_samples_);
    const double present_mean =
        samples_ == 0 ? 0 : static_cast<double>(present_sum_) / static_cast<double>(samples_);
    const double enters_rate = static_cast<double>(last_.enters - first_.enters) / window;
    const double leaves_rate = static_cast<double>(last_.leaves - first_.leaves) / window;
    const double changes_per_tick = (enters_rate + leaves_rate) * window / ticks_in_window;
    const double client_bytes =
        static_cast<double>(last_.client_bytes - first_.client_bytes) / window / clients;
    const double reference_bytes =
        static_cast<double>(last_.reference_bytes - first_.reference_bytes) / window;
    // A user's own world may have little activity, so minimum activity is checked only in the
    // built-in world. Correctness is checked in every world.
    const bool is_vale =
        options_.serve.source == WorldSource::toml && options_.serve.world_path.empty();
    // A client sends a digest with every fifth packet it receives, so few ticks mean few digests.
    const double checks_least = clients * world_seconds * std::min(1.0, tick_hz / 10);

    require("minimum number of connected clients", clients_min_ == ~0U ? 0 : clients_min_,
            ">=", clients_);
    if (checks_pace)
        require("ticks", static_cast<double>(loop.ticks), ">=", 0.98 * tick_hz * seconds);
    if (is_vale) {
        const double moving = std::max(1U, options_.bots.clients);
        require("entities", stats.entities, ">=", 20'000);
        require("relevant_mean", relevant_mean, ">=", 50);
        require("relevant_mean", relevant_mean, "<=", 2000);
        require("enters per moving client and second", enters_rate / moving, ">=", 1);
        require("leaves per moving client and second", leaves_rate / moving, ">=", 1);
        require("broadcast_ratio", reference_bytes / std::max(1.0, client_bytes), ">=", 20);
        require("carts driven at the end", bots.driven.driving, ">=", 0.5 * bots.drivers);
        require("shots", static_cast<double>(bots.driven.shots),
                ">=", 0.2 * bots.drivers * world_seconds);
    }
    require("digests_checked", static_cast<double>(counted.digests_checked), ">=", checks_least);
    if (proof.unchecked().empty())
        require("truth_checked", static_cast<double>(counted.truth_checked), ">=", checks_least);
    require("digest_mismatches", static_cast<double>(counted.digest_mismatches), "<=", 0);
    require("truth_mismatches", static_cast<double>(counted.truth_mismatches), "<=", 0);
    if (checks_pace)
        require("tick_overruns", static_cast<double>(loop.overruns),
                "<=", 0.005 * static_cast<double>(loop.ticks));
    // In a slow build, bots that get no processor time aim at outdated positions; hits are then not
    // checked.
    const bool keeps_up = static_cast<double>(loop.ticks) >= 0.5 * tick_hz * seconds;
    if (bots.drivers > 0) require_driving(bots, bots.driven.shots > 0 && (checks_pace || keeps_up));
    if (options_.with_node) {
        const std::uint64_t nonce =
            std::strtoull(node_report.value("nonce", std::string()).c_str(), nullptr, 16);
        require("exit code of the WebAssembly client", node_exit, "==", 0);
        require("digests of the WebAssembly client",
                static_cast<double>(proof.digests_checked_of(nonce)), ">=", world_seconds / 2);
        require("malformed packets at the WebAssembly client", node_report.value("malformed", 1.0),
                "<=", 0);
    }
    for (const std::string& text : proof.mismatches()) spdlog::error("{}", text);

    return {{"machine", net::machine_description()},
            {"command", options_.command},
            {"world", app_.world->file.name},
            {"seconds", seconds},
            {"bots", options_.bots.clients},
            {"clients_min", clients_min_ == ~0U ? 0 : clients_min_},
            {"entities", stats.entities},
            {"people_present_mean", present_mean},
            {"ticks", loop.ticks},
            {"tick_ms_p50", percentile(loop.tick_ms, 0.5)},
            {"tick_ms_p99", percentile(loop.tick_ms, 0.99)},
            {"tick_cpu_ms_p50", percentile(loop.tick_cpu_ms, 0.5)},
            {"tick_cpu_ms_p99", percentile(loop.tick_cpu_ms, 0.99)},
            {"tick_overruns", loop.overruns},
            {"ticks_skipped", loop.skipped},
            {"waited_share", waited_share(seconds)},
            {"pace_judged", checks_pace},
            {"enters", stats.enters},
            {"leaves", stats.leaves},
            {"enters_per_s", enters_rate},
            {"leaves_per_s", leaves_rate},
            {"relevant_changes_per_tick", changes_per_tick},
            {"relevant_mean", relevant_mean},
            {"bytes_per_client_per_s_mean", client_bytes},
            {"broadcast_bytes_per_s", reference_bytes},
            {"broadcast_ratio", reference_bytes / std::max(1.0, client_bytes)},
            {"encodings", stats.encodings},
            {"encoding_uses", stats.encoding_uses},
            {"backlog_age_ticks_max", stats.backlog_age_ticks_max},
            {"digests_checked", counted.digests_checked},
            {"digest_mismatches", counted.digest_mismatches},
            {"truth_checked", counted.truth_checked},
            {"truth_unchecked", proof.unchecked()},
            {"truth_mismatches", counted.truth_mismatches},
            {"truth_pairs_evaluated", counted.truth_pairs},
            {"truth_waits", counted.truth_waits},
            {"ghosts_compared", counted.ghosts_checked},
            {"datagrams_dropped", dropped_},
            {"node", node_report},
            {"mismatches", proof.mismatches()},
            {"checks", checks_},
            {"holds", holds_}};
}

/// The numeric address at which clients on this machine reach a server that is bound to `host`.
std::string reached_at(const std::string& host) {
    if (host == "0.0.0.0") return "127.0.0.1";
    return host == "::" ? "::1" : host;
}

/// "127.0.0.1:7780" or "[::1]:7780"
std::string address_of(const ServerApp& app) {
    const std::string host = reached_at(app.host);
    return host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, app.port())
                                               : fmt::format("{}:{}", host, app.port());
}

/// Prints the page's addresses, for this machine and for others.
void print_addresses(const ServerApp& app) {
    const std::string query = app.token.empty() ? "" : "?operator=" + net::url_encoded(app.token);
    fmt::print(stderr, "\n  Open  http://{}/{}\n", address_of(app), query);
    std::array<char, 256> name{};
    const bool has_name = gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0';
    const std::string_view machine = has_name ? name.data() : "this-machine";
    if (net::is_loopback(app.host)) {
        fmt::print(
            stderr,
            "  From another machine: ssh -L {0}:{1} user@{2}, then the same address there.\n",
            app.port(), address_of(app), machine);
    } else if (app.host != reached_at(app.host)) {
        fmt::print(stderr, "  From another machine: http://{}:{}/{}\n", machine, app.port(), query);
    }
    fmt::print(stderr, "  Ctrl-C stops.\n\n");
}

/// The WebAssembly client in Node.js: one additional client, over WebSocket.
class NodeClient {
  public:
    ~NodeClient() { net::remove_directory(directory_); }
    std::string start(const ServerApp& app, double seconds) {
        directory_ = net::make_temporary_directory();
        if (directory_.empty()) return "no room for temporary files";
        for (const char* name : {"node_client.mjs", "client.mjs", "purview_client.wasm"}) {
            if (!net::write_file(directory_ + "/" + name, asset(name)))
                return "no room for temporary files";
        }
        output_ = directory_ + "/report.json";
        return process_.start(
            {"node", directory_ + "/node_client.mjs", fmt::format("ws://{}/play", address_of(app)),
             std::to_string(seconds)},
            output_);
    }
    int finish(json& report) {
        const int code = process_.wait(3000);
        std::ifstream in(output_);
        report = json::parse(in, nullptr, false);
        if (report.is_discarded()) report = json::object();
        return code;
    }

  private:
    net::ChildProcess process_;
    std::string directory_;
    std::string output_;
};

void announce(const ServerApp& app) {
    for (const std::string& warning : app.warnings())
        spdlog::warn("{}", scene::plain_text(warning));
    spdlog::info("{}", app.summary());
    if (app.world->file.map && app.world->file.area_width_tiles > 0) {
        const auto grid = scene::area_grid(*app.world->file.map, app.world->file.area_width_tiles,
                                           app.world->file.area_height_tiles);
        spdlog::info("areas of {} x {} tiles: {} (ids 0 to {})", app.world->file.area_width_tiles,
                     app.world->file.area_height_tiles, grid.count(), grid.count() - 1);
    }
}

}  // namespace

double settle_seconds(const DemoOptions& options) {
    return std::max(5.0, 2.0 + static_cast<double>(options.bots.clients) / bots_joining_per_second);
}

int run_serve(const ServeOptions& options, const std::string& json_path) {
    if (!can_write_out(json_path)) return 1;
    net::stop_on_signals(&stop_requested);  // also while the world loads
    ServerApp::watch_reload();
    std::string problem;
    auto app = ServerApp::open(options, problem);
    if (app == nullptr) {
        spdlog::error("{}", scene::plain_text(problem));
        return 1;
    }
    announce(*app);
    fmt::print("{}\n", app->page_address());
    std::fflush(stdout);
    ServerStats stats;
    app->loop->set_ending([&] { stats = app->server->stats(); });
    app->loop->run(&stop_requested, options.seconds, [&] { app->tick_done(); });
    const net::LoopStats& loop = app->loop->stats();
    json report{{"ticks", loop.ticks},
                {"tick_overruns", loop.overruns},
                {"ticks_skipped", loop.skipped},
                {"entities", stats.entities},
                {"bytes_sent", stats.bytes_sent},
                {"bytes_received", stats.bytes_received},
                {"enters", stats.enters},
                {"leaves", stats.leaves}};
    report.update(json_of(loop.udp, app->web->counters()));
    const bool is_recorded = app->finish_recording();
    return write_report(report, json_path) && is_recorded ? 0 : 1;
}

int run_bots(const BotOptions& options, double seconds, const std::string& report_path,
             const std::vector<FailCondition>& fail_if) {
    if (!can_write_out(report_path)) return 1;
    net::stop_on_signals(&stop_requested);
    BotCrew crew(options);
    if (crew.size() == 0) {
        spdlog::error("{}", crew.trouble());
        return 1;
    }
    crew.start();
    const Micros begin = net::now();
    const Micros end = begin + static_cast<Micros>(seconds * 1e6);
    BotReport report;
    for (Micros reported_at = begin; !stop_requested && net::now() < end;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (net::now() - reported_at < 1'000'000) continue;
        reported_at = net::now();
        report = crew.report();
        spdlog::info("{}/{} joined, {:.0f} ghosts each, {:.1f} kB/s in, rtt p50 {:.1f} ms",
                     report.joined, report.clients, report.ghosts_mean,
                     static_cast<double>(report.bytes_received) * 1000 /
                         static_cast<double>(reported_at - begin),
                     report.of(Sampled::rtt_ms).p50);
    }
    report = crew.report();
    crew.stop();
    if (!report.trouble.empty()) spdlog::warn("{}", report.trouble);
    if (!report_bots(report, json_of(report), report_path)) return 1;
    if (is_met(fail_if, report)) return 3;
    return report.joined == options.clients ? 0 : 1;
}

int run_demo(DemoOptions options) {
    if (!can_write_out(options.json_path)) return 1;
    net::stop_on_signals(&stop_requested);  // also while the world loads
    ServerApp::watch_reload();
    options.serve.sessions_max = options.bots.clients + 256;
    options.serve.sessions_per_host_max = options.bots.clients + 64;
    std::string problem;
    auto app = ServerApp::open(options.serve, problem);
    if (app == nullptr) {
        spdlog::error("{}", scene::plain_text(problem));
        return 1;
    }
    announce(*app);
    if (options.chooses_drivers && app->world->file.carts == 0) options.bots.drivers = 0;
    inject_fault(*app->server, options.break_mode);
    print_addresses(*app);

    // In a world that replays a recorded crowd, a player can join only while people are present.
    options.bots.host = reached_at(options.serve.host);
    options.bots.port = app->port();
    options.bots.ground = &app->world->setup.ground;
    const std::uint32_t clients = options.bots.clients + (options.with_node ? 1 : 0);
    // The check uses half of the processors; the server and its clients use the other half.
    ThreadPool threads(options.check ? std::max(1U, std::thread::hardware_concurrency() / 2) : 1);
    std::unique_ptr<Proof> proof;
    if (options.check) {
        const auto* game = app->game.get();
        proof = std::make_unique<Proof>(
            *app->server, [game](ObserverId o) { return describe(*game, o); },
            truth_every_ticks(app->world->file.tick_hz),
            [&world = app->server->world(), game](check::TruthEntity& entity) {
                entity.force_hidden = game->is_hidden(world.kind_of(entity.id));
            });
        proof->check_truth_apart(threads.executor());
        proof->set_clock(net::thread_cpu_now);
        proof->set_on_state_request([&app](ObserverId o) { app->recorder->note(state_note(o)); });
        app->loop->set_watching([&proof] { return proof->spent_us(); });
        if (!app->recorder->add_reference_client())
            spdlog::warn("cannot add the reference client: the broadcast cost is not measured");
        proof->check_tick();  // initial positions; dormant nodes receive no others
    }
    BotCrew crew(options.bots);
    NodeClient node;
    if (options.with_node) {
        constexpr double for_ever = 1e7;
        const double seconds = options.serve.seconds > 0 ? options.serve.seconds : for_ever;
        if (problem = node.start(*app, seconds); !problem.empty()) {
            spdlog::error("{}", problem);
            return 1;
        }
    }
    crew.start();
    Verdicts verdicts(*app, options, clients);
    if (options.check) {  // world and reference client exist before the clock starts
        app->recorder->tick(net::now());
        proof->check_tick();
    }
    BotReport bots;
    app->loop->set_ending([&] {  // the state before the server disconnects clients
        bots = crew.report();
        verdicts.end();
    });
    verdicts.begin();
    app->loop->run(&stop_requested, options.serve.seconds, [&] {
        if (options.check) {
            proof->check_tick();
            verdicts.after_tick();
        }
        app->tick_done();
    });
    json node_report = json::object();
    const int node_exit = options.with_node ? node.finish(node_report) : 0;
    crew.stop();
    const bool is_recorded = app->finish_recording();
    if (!bots.trouble.empty()) spdlog::warn("bots: {}", bots.trouble);
    if (!options.check) {
        if (!report_bots(bots, json_of(bots), options.json_path) || !is_recorded) return 1;
        if (is_met(options.fail_if, bots)) return 3;
        return bots.trouble.empty() ? 0 : 1;
    }
    if (!verdicts.has_measured()) {
        spdlog::error("stopped before any check was possible; run it longer");
        return 1;
    }
    json report = verdicts.finish(*proof, bots, node_exit, node_report);
    report.update(json_of(app->loop->stats().udp, app->web->counters()));
    const json counted = json_of(bots);
    for (const auto& [name, value] : counted.items()) report["bots_" + name] = value;
    if (!report_bots(bots, report, options.json_path) || !is_recorded) return 1;
    const bool holds = verdicts.holds() && bots.trouble.empty();
    const bool is_all = proof->unchecked().empty();
    if (!is_all) spdlog::warn("RELEVANT SETS ARE NOT CHECKED: {}", proof->unchecked());
    spdlog::info("{} digests and {} relevant sets checked, {} and {} wrong; {}",
                 proof->counters().digests_checked, proof->counters().truth_checked,
                 proof->counters().digest_mismatches, proof->counters().truth_mismatches,
                 !holds   ? "some checks FAILED"
                 : is_all ? "all checks passed"
                          : "the other checks passed; relevant sets were not checked");
    return holds && !is_met(options.fail_if, bots) ? 0 : 3;
}

}  // namespace purview::app
