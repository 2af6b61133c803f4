// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Runs many random worlds one after another and counts what they covered. The tests and the program
// for long runs use it (property_main.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "random_world.hpp"

namespace purview::test {

struct RunDef {
    std::uint64_t first_seed = 1;
    std::uint32_t worlds = 1;
    std::uint64_t compared_min = 0;  ///< adds worlds until this number of pairs was compared
    /// Adds worlds until each operation was done at least this many times, up to twice `worlds`.
    std::uint64_t each_operation_min = 0;
    /// Adds worlds until this number of types of suggested changes flipped a result, up to four
    /// times `worlds`.
    std::size_t turned_types_min = 0;
    std::uint32_t ticks = 50;  ///< per world; some run longer
    Features features = engine_features();
    std::uint32_t explain_pairs = 0;  ///< suggested changes to apply after each tick
    bool threads = false;             ///< executors use threads
    bool reports_progress = false;
};

struct RunResult {
    std::string failure;  ///< empty if there is none
    std::uint64_t failed_seed = 0;
    std::uint32_t failed_ticks = 0;  ///< the number of ticks until the failure
    std::uint32_t worlds = 0;
    std::uint64_t compared = 0;
    std::uint64_t relevant = 0;
    std::uint64_t events = 0;
    std::map<std::string, std::uint64_t> operations;
    std::map<std::string, std::uint64_t> stages;
    std::set<std::string> shapes;
    std::uint64_t explained = 0;
    std::uint64_t explained_without_change = 0;
    std::uint64_t turned_by_pair = 0;
    std::uint64_t turned_split_group = 0;  ///< in partly split groups
    std::uint64_t turned_split_group_by_pair = 0;
    std::map<WhatIfType, std::uint64_t> turned_by;

    double relevant_percent() const {
        return 100.0 * static_cast<double>(relevant) / static_cast<double>(compared);
    }
    /// Returns a readable table.
    std::string text() const;
};

/// Runs the worlds. Stops at the first difference.
RunResult run_worlds(const RunDef& def);

struct Reduced {
    std::string failure;  ///< of the smallest failing world; empty if none fails
    std::string log;      ///< all its operations
    std::string rules;
};
/// Removes nodes, steps, entities, observers and operations from a failing world as long as it
/// fails.
Reduced reduce(RandomWorldDef def, std::uint32_t ticks, std::uint32_t explain_pairs = 0);

}  // namespace purview::test
