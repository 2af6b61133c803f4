// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// ./dev sim: a whole server, many clients and a faulty network in one process, on a virtual clock
// and one seed. Checked in every tick: client state against acknowledged packets, the byte budget,
// RPCs, messages and commands, and the pairing of enters and leaves on both sides. Relevant sets
// and ghosts are compared with the oracle in every tick for one seed in eight, and in every fifth
// tick for the others, because this is expensive. At the end, in an idle world, every client must
// hold the complete state. A run also counts what occurred in its world (sim_counts.cpp) and fails
// if something occurred too rarely. Lines of sight, timed conditions, predicted positions and lag
// compensation are not covered. Exit code 3: a check failed (prints the seed), or the run covered
// too little.
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
    std::uint64_t seed = 0;  ///< the seed that failed
    std::uint64_t hash = 0;
    std::string trouble;  ///< error text of the first failing seed; empty if all passed
};

/// Runs seeds independently of each other. After a failing seed, no later seed is started.
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
    CLI::App app{"Simulates a server, its clients and a faulty network on a virtual clock"};
    app.add_option("--seed", def.seed, "the first seed");
    app.add_option("--seeds", seeds, "number of seeds, starting at --seed")
        ->check(CLI::Range(1, 100'000));
    app.add_option("--jobs", jobs, "number of seeds run in parallel; does not change the result")
        ->check(CLI::PositiveNumber);
    app.add_option("--minutes", minutes, "simulated minutes per seed")->check(CLI::PositiveNumber);
    app.add_option("--clients", def.clients, "number of clients")->check(CLI::Range(1, 1000));
    app.add_flag(
        "--small", is_small,
        "allow a run below the minimum size: fewer than 32 clients or less than a minute in total");
    auto* record =
        app.add_option("--record", def.record_path,
                       "record the server's input and output (docs/recording.md); one seed only");
    std::string replay_path;
    auto* replay =
        app.add_option("--replay", replay_path, "replay a recording; exit code 3 if it differs");
    replay->excludes(record);
    unsigned threads = 1;
    app.add_option("--threads", threads,
                   "number of threads that encode packets in a replay; does not change the packets")
        ->check(CLI::Range(1, 64))
        ->needs(replay);
    CLI11_PARSE(app, argc, argv);
    if (!replay_path.empty()) return replay_sim(replay_path, threads);
    if (seeds > 1 && !def.record_path.empty()) {
        std::cerr << "--record needs exactly one seed\n";
        return 2;
    }
    def.ticks = static_cast<std::uint32_t>(minutes * 60 * sim_tick_hz);
    const std::uint64_t ticks = std::uint64_t{def.ticks} * seeds;
    if (!is_small && (def.clients < clients_min || ticks < ticks_min)) {
        std::printf("%u clients, %g minutes in total: the minimum is %u and %u; see --small\n",
                    def.clients, minutes * static_cast<double>(seeds), clients_min,
                    ticks_min / (60 * sim_tick_hz));
        return 3;
    }
    const auto began = std::chrono::steady_clock::now();
    const SimResult all = run_seeds(def, seeds, jobs);
    if (!all.trouble.empty()) {
        std::printf("%s\nto reproduce it: ./dev sim --seed %llu --minutes %g --clients %u%s\n",
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
        std::printf("all checks passed; the run is below the minimum size (--small)\n");
        return 0;
    }
    if (all.counts.entities < entities_min) {
        std::printf("%u entities: the minimum is %u; see --small\n", all.counts.entities,
                    entities_min);
        return 3;
    }
    const std::string missing = too_little(all.counts, ticks, def.clients);
    if (!missing.empty()) {
        std::printf("insufficient coverage: too few %s\n", missing.c_str());
        return 3;
    }
    std::printf("all checks passed\n");
    return 0;
}

}  // namespace

}  // namespace purview::test

int main(int argc, char** argv) {
    return purview::test::run(argc, argv);
}
