// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// ./dev sim: a whole server, many clients and a bad network in one process, on a virtual clock and
// one seed. Checked in every tick: what clients hold against what they acknowledged, relevant sets
// against the oracle, the byte budget, the pairing of enters and leaves; at the end, in a quiet
// world, that everybody holds everything. Exit code 3: something did not hold, and its seed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <thread>

#include "link/handshake.hpp"
#include "replay_sim.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t tick_hz = 20;
constexpr std::uint32_t blackout_ticks = 2 * tick_hz;
constexpr std::uint32_t quiet_ticks_max = 30 * tick_hz;
constexpr std::uint32_t strangers_every = 5 * tick_hz;
/// At rest: half a step of 1 cm along either axis, for each of three generations.
constexpr double place_error_m = 0.03;
constexpr std::uint32_t truth_every_ticks = 5;

struct SimDef {
    std::uint64_t seed = 1;
    std::uint32_t ticks = 0;
    std::uint32_t clients = 40;
    std::string record_path;  ///< empty: nothing is recorded
};

struct SimCounts {
    std::uint64_t client_ticks = 0;  ///< ticks of joined clients
    std::uint64_t digests = 0;
    std::uint64_t sets = 0;
    std::uint64_t ghosts = 0;  ///< compared with the world as it is
    std::uint64_t places = 0;  ///< of ghosts, compared with the world at rest
    std::uint64_t shared = 0;  ///< updates told in shared sections
    /// Ticks in which a client knew a train whose root was out of reach, by its bounds alone.
    std::uint64_t by_bounds = 0;
    std::uint64_t enters = 0;
    std::uint64_t leaves = 0;
    std::uint64_t resumed = 0;  ///< enters whose copy was still there
    std::uint64_t blackouts = 0;
    std::uint64_t rejoins = 0;
    std::uint64_t address_changes = 0;
    LedgerCounts calls;
    std::uint64_t budget_bound = 0;  ///< seeds in which something waited longer than any curve says
    Tick oldest_ticks = 0;           ///< that anything waited
    std::uint64_t rule_changes = 0;
    FaultCounts faults;

    SimCounts& operator+=(const SimCounts& more) noexcept {
        client_ticks += more.client_ticks;
        digests += more.digests;
        sets += more.sets;
        ghosts += more.ghosts;
        places += more.places;
        shared += more.shared;
        by_bounds += more.by_bounds;
        enters += more.enters;
        leaves += more.leaves;
        resumed += more.resumed;
        blackouts += more.blackouts;
        rejoins += more.rejoins;
        address_changes += more.address_changes;
        calls += more.calls;
        budget_bound += more.budget_bound;
        oldest_ticks = std::max(oldest_ticks, more.oldest_ticks);
        rule_changes += more.rule_changes;
        faults += more.faults;
        return *this;
    }
};

/// One seed: everything about it is drawn from the seed.
class Simulation {
  public:
    explicit Simulation(const SimDef& def)
        : def_(def),
          random_(mix64(def.seed)),
          budget_bytes_(budget_of(def.seed)),
          world_(def.seed, draw_faults(), budget_bytes_, sim_scale, truth_every_ticks) {
        for (std::uint32_t i = 0; i < def_.clients; ++i) add_client();
        world_.make_calls(sim_calls_per_tick);
        world_.game.ticks_between_rules = sim_ticks_between_rules;
        if (!def_.record_path.empty()) start_recording();
    }

    void run() {
        for (tick_ = 0; tick_ < def_.ticks && trouble.empty(); ++tick_) {
            disturb();
            step();
        }
        settle();
        if (writer_ != nullptr && !writer_->finish()) fail("the recording could not be written");
        counts.digests += world_.proof->counters().digests_checked;
        counts.sets += world_.proof->counters().truth_checked;
        counts.ghosts += world_.proof->counters().ghosts_checked;
        counts.shared += world_.proof->counters().shared_items;
        counts.budget_bound += world_.server->stats().backlog_age_ticks_max > 4 ? 1 : 0;
        for (auto& client : world_.clients) count_client(*client);
        counts.calls += world_.ledger->counts();
        counts.rule_changes += world_.game.rule_changes;
    }

    std::string trouble;  ///< empty: all held
    SimCounts counts;
    std::uint64_t hash = 0;  ///< of everything that every client held in every tick

  private:
    Faults draw_faults() {
        Faults faults;
        faults.loss = random_.between(0, 0.1F);
        faults.duplicate = random_.between(0, 0.05F);
        faults.corrupt = random_.between(0, 0.02F);
        faults.burst = random_.between(0, 0.005F);
        faults.delay_us = 10'000 + random_.below(90'000);
        faults.jitter_us = random_.below(80'000);
        return faults;
    }
    void add_client() { world_.add_client(random_.chance(0.8F) ? Role::player : Role::spectator); }
    void count_client(const SmallClient& client) {
        counts.calls.waited += client.client.stats().calls_waited;
        counts.faults += client.up->counts;
        counts.faults += client.down->counts;
    }

    void start_recording() {
        recording_.open(def_.record_path, std::ios::binary | std::ios::trunc);
        if (!recording_) fail(def_.record_path + " cannot be written");
        writer_ = std::make_unique<record::Writer>(recording_, beginning_of(world_, def_.seed));
        world_.border->record_to(writer_.get(), 1);
    }

    /// Lines that are cut for two seconds, new addresses, clients that go and others that come.
    void disturb() {
        for (auto& [client, until] : dark_) {
            if (until != tick_) continue;
            client->up->blackout = client->down->blackout = false;
        }
        std::erase_if(dark_, [&](const auto& entry) { return entry.second <= tick_; });
        if (random_.chance(0.02F)) {
            SmallClient& client = any_client();
            client.up->blackout = client.down->blackout = true;
            dark_.emplace_back(&client, tick_ + blackout_ticks);
            ++counts.blackouts;
        }
        if (random_.chance(0.02F)) {
            world_.change_address(any_client());
            ++counts.address_changes;
        }
        if (random_.chance(0.02F)) {
            const std::size_t at = random_.below(static_cast<std::uint32_t>(world_.clients.size()));
            SmallClient* gone = world_.clients[at].get();
            std::erase_if(dark_, [&](const auto& entry) { return entry.first == gone; });
            held_.erase(gone);
            count_client(*gone);
            world_.clients.erase(world_.clients.begin() + static_cast<std::ptrdiff_t>(at));
            add_client();
            ++counts.rejoins;
        }
    }
    SmallClient& any_client() {
        return *world_.clients[random_.below(static_cast<std::uint32_t>(world_.clients.size()))];
    }

    void step() {
        if (tick_ % strangers_every == 0) ask_as_stranger();
        world_.step();
        if (!world_.proof->mismatches().empty()) fail(world_.proof->mismatches().front());
        if (!world_.ledger->trouble().empty()) fail(world_.ledger->trouble());
        const RpcCounters& calls = world_.server->rpc_counters();
        if (calls.refused_ghost + calls.refused_caller > 0)
            fail("a call of an honest client was refused");
        if (world_.largest_tick_bytes > budget_bytes_) {
            fail("a client was sent " + std::to_string(world_.largest_tick_bytes) + " of " +
                 std::to_string(budget_bytes_) + " bytes in one tick");
        }
        for (auto& client : world_.clients) check_client(*client);
        check_waiting();
        count_by_bounds();
    }
    /// Nothing else shows a wagon to somebody who is not near: it has no owner and no team.
    void count_by_bounds() {
        Server& server = *world_.server;
        float reach_m = 0;
        for (const NodeDesc& node : server.rules().nodes) {
            for (const StepDesc& step : node.steps) {
                if (step.kernel.type == KernelType::distance)
                    reach_m = std::max(reach_m, step.kernel.leave_m);
            }
        }
        for (const SessionStats& session : sessions_) {
            const check::TruthObserver observer = world_.game.describe(session.observer);
            for (const EntityId wagon : world_.game.wagons()) {
                if (!server.interest().is_relevant(session.observer, wagon)) continue;
                const Vec3 root = server.world().place_of(wagon);
                const auto is_near = [&](Vec3 from) {
                    return std::hypot(root.x - from.x, root.y - from.y) <= reach_m;
                };
                const bool is_by_place =
                    (observer.main != EntityId::none &&
                     is_near(server.world().place_of(observer.main))) ||
                    std::any_of(observer.areas.begin(), observer.areas.end(),
                                [&](const auto& one) { return is_near(one.area.centre); });
                counts.by_bounds += is_by_place ? 0 : 1;
            }
        }
    }
    /// docs/budget.md: nothing waits longer than what is derived there.
    void check_waiting() {
        constexpr double urgencies = 4, strengths = 4, rest = 2;  // largest to smallest weight
        constexpr double item_bits = 510;                         // an animal with all there is
        constexpr double slowest_rate = 4;
        sessions_.clear();
        world_.server->sessions(sessions_);
        for (const SessionStats& session : sessions_) {
            // Whoever has gone without a word answers nothing: more than so much is not sent to
            // him.
            const bool is_there =
                std::any_of(world_.clients.begin(), world_.clients.end(),
                            [&](const auto& client) { return client->address == session.address; });
            if (!is_there) continue;
            counts.oldest_ticks = std::max(counts.oldest_ticks, session.oldest_ticks);
            std::uint32_t& most = most_relevant_[session.observer];
            most = std::max(most, session.relevant);
            // The room of a tick that items can count on: less headers, and one item at the end.
            // Shared sections take a third of the budget at most, and of one datagram.
            const double sections = std::min(budget_bytes_ * 8 / 3.0, 1'200 * 6.0);
            const double room = (budget_bytes_ - 64.0 - 30) * 8 - item_bits - sections;
            const double round = std::ceil(2.0 * most * item_bits / room);  // as many may leave
            const double bound = round * (1 + urgencies * strengths * rest) + slowest_rate;
            if (session.oldest_ticks > bound)
                fail("something has waited for " + std::to_string(session.oldest_ticks) + " ticks");
        }
    }
    void check_client(SmallClient& c) {
        std::set<GhostId>& held = held_[&c];
        for (const ClientEvent& event : c.client.events()) {
            if (event.copy == CopyChange::resumed) ++counts.resumed;
            if (event.copy == CopyChange::dropped) continue;
            const bool is_new =
                event.is_enter() ? held.insert(event.ghost).second : held.erase(event.ghost) != 0;
            if (!is_new) fail("a ghost entered or left twice");
            (event.is_enter() ? counts.enters : counts.leaves) += 1;
        }
        c.client.clear_events();
        if (held.size() != c.client.ghost_count()) fail("events and ghosts of a client differ");
        if (c.client.stats().order_violations != 0) fail("a child came before its parent");
        if (c.client.state() != ClientState::joined) return;
        ++counts.client_ticks;
        hash = mix64(hash ^ c.client.digest());
    }

    /// Somebody of another version: he is told so.
    void ask_as_stranger() {
        Address from;
        from.carrier = Address::Carrier::memory;
        from.host[0] = 200;
        from.port = 1;
        std::array<std::byte, hello_bytes> hello{};
        (void)write(Hello{protocol_version + 1, 0, 1 + tick_}, hello);
        world_.border->receive(hello, from, world_.now);
    }

    /// The world rests on a good network: everything that waits must arrive.
    void settle() {
        world_.border->note(freeze_note);
        world_.game.frozen = true;
        for (auto& client : world_.clients) {
            for (FaultyNetwork* network : {client->up.get(), client->down.get()}) {
                network->blackout = false;
                network->faults = {};
            }
        }
        std::string missing = "nobody was asked";
        for (std::uint32_t i = 0; i < quiet_ticks_max && trouble.empty() && !missing.empty(); ++i) {
            step();
            missing = what_is_missing();
        }
        if (trouble.empty() && !missing.empty()) fail("at rest: " + missing);
    }
    std::string what_is_missing() {
        std::vector<SessionStats> sessions;
        world_.server->sessions(sessions);
        for (auto& client : world_.clients) {
            const auto its = std::find_if(sessions.begin(), sessions.end(), [&](const auto& one) {
                return one.address == client->address;
            });
            if (client->client.state() == ClientState::closed) continue;  // timed out in the dark
            if (client->client.state() != ClientState::joined || its == sessions.end())
                return "a client has not joined";
            if (its->backlog > 0 || client->client.ghost_count() != its->relevant) {
                return std::to_string(client->client.ghost_count()) + " ghosts of " +
                       std::to_string(its->relevant) + " relevant entities";
            }
            if (const double off = largest_error(*client, its->observer); off > place_error_m)
                return "a place is off by " + std::to_string(off) + " m";
            if (const std::uint64_t missing = world_.missing_calls(*client); missing > 0)
                return std::to_string(missing) + " reliable calls have not arrived";
        }
        return "";
    }

    /// Of the places of its ghosts, however they are told: as seen from a parent that turns, too.
    double largest_error(const SmallClient& client, ObserverId observer) {
        const Session* session = world_.server->data().find_session(observer);
        const World& all = world_.server->world();
        double largest = 0;
        all.for_each([&](EntityId entity) {
            const LocalId ghost = session->ghosts.find(entity);
            if (ghost == no_local_id || !client.client.is_held(ghost)) return;
            const Vec3 is = client.client.place_of(ghost, client.client.newest_tick());
            const Vec3 should = all.place_of(entity);
            largest = std::max<double>(largest, std::hypot(is.x - should.x, is.y - should.y));
            ++counts.places;
        });
        return largest;
    }

    void fail(const std::string& what) {
        if (trouble.empty()) {
            trouble = "seed " + std::to_string(def_.seed) + ", tick " + std::to_string(tick_) +
                      ": " + what;
        }
    }

    SimDef def_;
    SplitMix random_;
    std::uint32_t budget_bytes_;
    SmallWorld world_;
    std::ofstream recording_;
    std::unique_ptr<record::Writer> writer_;
    std::uint32_t tick_ = 0;
    std::vector<std::pair<SmallClient*, std::uint32_t>> dark_;  ///< lines that are cut, until when
    std::map<SmallClient*, std::set<GhostId>> held_;            ///< by events
    std::vector<SessionStats> sessions_;                        ///< scratch
    std::map<ObserverId, std::uint32_t> most_relevant_;
};

void print(const SimCounts& counts) {
    std::printf(
        "  %llu client-ticks, %llu enters (%llu of them to a copy that was kept), %llu leaves\n",
        static_cast<unsigned long long>(counts.client_ticks),
        static_cast<unsigned long long>(counts.enters),
        static_cast<unsigned long long>(counts.resumed),
        static_cast<unsigned long long>(counts.leaves));
    std::printf(
        "  checked: %llu digests, %llu relevant sets, %llu ghosts against the world, %llu places "
        "at rest; %llu updates in shared sections, %llu times a train that a client knew by its "
        "bounds alone\n",
        static_cast<unsigned long long>(counts.digests),
        static_cast<unsigned long long>(counts.sets),
        static_cast<unsigned long long>(counts.ghosts),
        static_cast<unsigned long long>(counts.places),
        static_cast<unsigned long long>(counts.shared),
        static_cast<unsigned long long>(counts.by_bounds));
    const LedgerCounts& c = counts.calls;
    std::printf(
        "  %llu calls, %llu promised to observers (%llu of them held), %llu culled, %llu given up; "
        "%llu arrived, %llu sent again, %llu before their ghosts; %llu to the server\n",
        static_cast<unsigned long long>(c.made), static_cast<unsigned long long>(c.promised),
        static_cast<unsigned long long>(c.held), static_cast<unsigned long long>(c.culled),
        static_cast<unsigned long long>(c.late), static_cast<unsigned long long>(c.delivered),
        static_cast<unsigned long long>(c.repeated), static_cast<unsigned long long>(c.waited),
        static_cast<unsigned long long>(c.to_server));
    const FaultCounts& f = counts.faults;
    std::printf(
        "  of %llu datagrams %llu lost, %llu doubled, %llu out of order, %llu damaged, "
        "%llu cut short\n",
        static_cast<unsigned long long>(f.sent), static_cast<unsigned long long>(f.lost),
        static_cast<unsigned long long>(f.doubled), static_cast<unsigned long long>(f.reordered),
        static_cast<unsigned long long>(f.damaged), static_cast<unsigned long long>(f.cut_short));
    std::printf(
        "  %llu lines cut for 2 s, %llu new addresses, %llu clients replaced, other rules %llu "
        "times; the budget bound in %llu seeds, nothing waited longer than %u ticks\n",
        static_cast<unsigned long long>(counts.blackouts),
        static_cast<unsigned long long>(counts.address_changes),
        static_cast<unsigned long long>(counts.rejoins),
        static_cast<unsigned long long>(counts.rule_changes),
        static_cast<unsigned long long>(counts.budget_bound), counts.oldest_ticks);
}

/// What a run must have seen to count, for so many ticks in all.
std::string too_little(const SimCounts& counts, std::uint64_t ticks, std::uint32_t clients) {
    if (clients < 32) return "";  // somebody looks for something
    if (counts.client_ticks < ticks * clients * 6 / 10) return "client-ticks";
    if (counts.digests < ticks * clients / 4) return "digests";
    if (counts.sets < ticks * clients / (2 * truth_every_ticks)) return "relevant sets";
    if (counts.shared < ticks * clients / 4) return "updates in shared sections";
    if (counts.by_bounds < 10 * ticks) return "trains that are known by their bounds alone";
    if (counts.enters < ticks || counts.leaves < ticks) return "enters and leaves";
    const LedgerCounts& c = counts.calls;
    if (c.promised < ticks || c.delivered < ticks || c.culled < ticks || c.to_server < ticks)
        return "calls";
    if (ticks < 60 * tick_hz) return "";
    if (c.held * c.late * c.repeated * c.waited == 0) return "calls that waited";
    const FaultCounts& f = counts.faults;
    if (f.lost * f.doubled * f.reordered * f.damaged * f.cut_short == 0) return "faults";
    if (counts.blackouts * counts.address_changes * counts.rejoins == 0) return "disturbances";
    if (counts.rule_changes == 0) return "changes of rules";
    return "";
}

struct SimResult {
    SimCounts counts;
    std::uint64_t seed = 0;  ///< of the trouble
    std::uint64_t hash = 0;
    std::string trouble;  ///< of the first seed that has any; empty: all held
};

/// Seeds know nothing of one another. Behind one with trouble none is begun any more.
SimResult run_seeds(const SimDef& first, std::uint64_t seeds, unsigned jobs) {
    std::vector<SimResult> results(seeds);
    std::atomic<std::uint64_t> next{0}, done{0};
    std::atomic<std::uint64_t> first_trouble{seeds};
    const auto work = [&] {
        for (std::uint64_t i = next++; i < first_trouble; i = next++) {
            SimDef def = first;
            def.seed += i;
            Simulation simulation(def);
            simulation.run();
            std::uint64_t first_yet = first_trouble;
            while (!simulation.trouble.empty() && i < first_yet &&
                   !first_trouble.compare_exchange_weak(first_yet, i))
                continue;
            results[i] = {simulation.counts, def.seed, simulation.hash, simulation.trouble};
            const std::uint64_t so_far = ++done;
            if (so_far % 10 == 0) {
                std::fprintf(stderr, "%llu of %llu seeds\n",
                             static_cast<unsigned long long>(so_far),
                             static_cast<unsigned long long>(seeds));
            }
        }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t job = 1; job < std::min<std::uint64_t>(jobs, seeds); ++job)
        threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    SimResult all;
    for (const SimResult& one : results) {
        if (!one.trouble.empty()) return one;
        all.counts += one.counts;
        all.hash = mix64(all.hash ^ one.hash);
    }
    return all;
}

int run(int argc, char** argv) {
    SimDef def;
    std::uint64_t seeds = 1;
    unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
    double minutes = 1;
    CLI::App app{"A server, its clients and a bad network on a virtual clock"};
    app.add_option("--seed", def.seed, "the first seed");
    app.add_option("--seeds", seeds, "so many from that on")->check(CLI::Range(1, 100'000));
    app.add_option("--jobs", jobs, "so many at once; what comes out is the same")
        ->check(CLI::PositiveNumber);
    app.add_option("--minutes", minutes, "simulated, of each seed")->check(CLI::PositiveNumber);
    app.add_option("--clients", def.clients, "at once")->check(CLI::Range(1, 1000));
    auto* record =
        app.add_option("--record", def.record_path,
                       "what reaches and leaves the server (docs/recording.md); one seed");
    std::string replay_path;
    app.add_option("--replay", replay_path, "live a recording again; exit code 3 if it differs")
        ->excludes(record);
    CLI11_PARSE(app, argc, argv);
    if (!replay_path.empty()) return replay_sim(replay_path);
    if (seeds > 1 && !def.record_path.empty()) {
        std::cerr << "--record writes down one seed\n";
        return 2;
    }
    def.ticks = static_cast<std::uint32_t>(minutes * 60 * tick_hz);
    const auto began = std::chrono::steady_clock::now();
    const SimResult all = run_seeds(def, seeds, jobs);
    if (!all.trouble.empty()) {
        std::printf("%s\nto see it again: ./dev sim --seed %llu --minutes %g --clients %u\n",
                    all.trouble.c_str(), static_cast<unsigned long long>(all.seed), minutes,
                    def.clients);
        return 3;
    }
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::printf(
        "%llu seeds of %g simulated minutes, %u clients, %u entities, in %.0f s; state "
        "hash %016llx\n",
        static_cast<unsigned long long>(seeds), minutes, def.clients,
        sim_scale.trees + sim_scale.animals + 4 * sim_scale.wagons, took,
        static_cast<unsigned long long>(all.hash));
    print(all.counts);
    const std::string missing =
        too_little(all.counts, std::uint64_t{def.ticks} * seeds, def.clients);
    if (!missing.empty()) {
        std::printf("too few %s for a run that counts\n", missing.c_str());
        return 3;
    }
    std::printf("everything held\n");
    return 0;
}

}  // namespace

}  // namespace purview::test

int main(int argc, char** argv) {
    return purview::test::run(argc, argv);
}
