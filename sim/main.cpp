// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// ./dev sim: a whole server, many clients and a bad network in one process, on a virtual clock and
// one seed. Checked in every tick: what clients hold against what they acknowledged, the byte
// budget, calls, messages and commands, the pairing of enters and leaves on both sides. Relevant
// sets and ghosts are held against the oracle in every tick of one seed of eight, and in every
// fifth of the others: that is what costs. At the end, in a quiet world, everybody must hold
// everything. The run judges itself: it counts what it saw of what there is in its world
// (sim_counts.cpp), and one that saw too little of something has failed. Lines of sight, timed
// conditions, predicted places and rewinding are not in it. Exit code 3: something did not hold,
// and its seed; or the run does not count.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <thread>

#include "core/hash.hpp"
#include "replay_sim.hpp"
#include "simulation.hpp"

namespace purview::test {

namespace {

using Count = unsigned long long;

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
    bool is_small = false;
    CLI::App app{"A server, its clients and a bad network on a virtual clock"};
    app.add_option("--seed", def.seed, "the first seed");
    app.add_option("--seeds", seeds, "so many from that on")->check(CLI::Range(1, 100'000));
    app.add_option("--jobs", jobs, "so many at once; what comes out is the same")
        ->check(CLI::PositiveNumber);
    app.add_option("--minutes", minutes, "simulated, of each seed")->check(CLI::PositiveNumber);
    app.add_option("--clients", def.clients, "at once")->check(CLI::Range(1, 1000));
    app.add_flag("--small", is_small,
                 "a run that does not count: fewer than 32 clients, less than a minute in all");
    auto* record =
        app.add_option("--record", def.record_path,
                       "what reaches and leaves the server (docs/recording.md); one seed");
    std::string replay_path;
    auto* replay = app.add_option("--replay", replay_path,
                                  "live a recording again; exit code 3 if it differs");
    replay->excludes(record);
    unsigned threads = 1;
    app.add_option("--threads", threads, "that make packets in a replay; they are the same")
        ->check(CLI::Range(1, 64))
        ->needs(replay);
    CLI11_PARSE(app, argc, argv);
    if (!replay_path.empty()) return replay_sim(replay_path, threads);
    if (seeds > 1 && !def.record_path.empty()) {
        std::cerr << "--record writes down one seed\n";
        return 2;
    }
    def.ticks = static_cast<std::uint32_t>(minutes * 60 * sim_tick_hz);
    const std::uint64_t ticks = std::uint64_t{def.ticks} * seeds;
    if (!is_small && (def.clients < clients_min || ticks < ticks_min)) {
        std::printf("%u clients, %g minutes in all: a run that counts has %u and %u; see --small\n",
                    def.clients, minutes * static_cast<double>(seeds), clients_min,
                    ticks_min / (60 * sim_tick_hz));
        return 3;
    }
    const auto began = std::chrono::steady_clock::now();
    const SimResult all = run_seeds(def, seeds, jobs);
    if (!all.trouble.empty()) {
        std::printf("%s\nto see it again: ./dev sim --seed %llu --minutes %g --clients %u%s\n",
                    all.trouble.c_str(), Count{all.seed}, minutes, def.clients,
                    is_small || minutes < 1 ? " --small" : "");
        return 3;
    }
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::printf(
        "%llu seeds of %g simulated minutes, %u clients, %u entities at least, in %.0f s; state "
        "hash %016llx\n",
        Count{seeds}, minutes, def.clients, all.counts.entities, took, Count{all.hash});
    print(all.counts, seeds);
    if (is_small) {
        std::printf("everything held; small: the run does not count\n");
        return 0;
    }
    if (all.counts.entities < entities_min) {
        std::printf("%u entities: a run that counts has %u; see --small\n", all.counts.entities,
                    entities_min);
        return 3;
    }
    const std::string missing = too_little(all.counts, ticks, def.clients);
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
