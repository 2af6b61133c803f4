// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Runs engines alternately over one workload (A B A B) and stores the results.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/machine.hpp"
#include "tested_engine.hpp"

namespace purview::bench {

struct Entry {
    std::string name;
    std::function<std::unique_ptr<Engine>()> make;
    std::uint32_t sample = 0;  ///< 0: all observers; otherwise the first N, with the time scaled
    bool exact = true;  ///< evaluates the same rule as the others, so its hashes must be equal
};

struct Plan {
    std::string name;
    Scene scene;
    std::vector<Entry> entries;  ///< the first one is Purview
    std::uint32_t ticks = 8;     ///< per turn of one engine
    std::uint32_t rounds = 3;
    std::uint32_t warm_up = 4;
};

struct Row {
    std::string scene, engine, isa;
    std::uint32_t threads = 1;
    bool sampled = false;
    double ms_p50 = 0, ms_p99 = 0, ms_max = 0, ms_mean = 0;
    double update_ms = 0, query_ms = 0;
    std::vector<double> round_ms;  ///< median of each turn
    double ns_per_pair = 0;
    double relevant_mean = 0, events_per_tick = 0, moves_per_tick = 0;
    double bytes_entities = 0, bytes_observers = 0;  ///< heap growth, per entity and per observer
    double allocations_per_tick = 0;                 ///< after warm-up
    double distinct_relevant = 0;
    double lanes_tested_per_tick = 0;  ///< if counted
    std::string hash;
    std::optional<bool> hash_agrees;  ///< empty: no other engine evaluated the same rule
};

/// Returns rows in the order of the plan's entries.
std::vector<Row> run(const Plan& plan);
/// Runs several plans alternately, turn by turn, with the rounds and ticks of the first one.
/// Returns the rows of each plan.
std::vector<std::vector<Row>> run_together(const std::vector<Plan>& plans);

/// Makes a row from measured tick times.
Row row_of(const std::string& scene, const std::string& engine, const std::vector<double>& ms);

/// Median over all rounds of the peer's time divided by Purview's time.
double ratio(const Row& peer, const Row& ours);
}  // namespace purview::bench
