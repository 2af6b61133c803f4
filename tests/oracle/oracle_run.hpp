// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Many random worlds, one after the other, and what there was to see in them. Used by the tests and
// by the program for long runs (property_main.cpp).
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
    std::uint64_t compared_min = 0;  ///< further worlds until so many pairs were compared
    /// Further worlds until each operation was done this often; at most twice as many worlds.
    std::uint64_t each_operation_min = 0;
    /// Further worlds until so many types of suggested changes turned an answer; at most four times
    /// as many worlds.
    std::size_t turned_types_min = 0;
    std::uint32_t ticks = 50;  ///< of most worlds; some live longer
    Features features = engine_features();
    std::uint32_t explain_pairs = 0;  ///< suggestions carried out after each tick
    bool threads = false;             ///< executors have threads
    bool says_progress = false;
};

struct RunResult {
    std::string failure;  ///< empty: none
    std::uint64_t failed_seed = 0;
    std::uint32_t failed_ticks = 0;  ///< how many it took
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
    std::uint64_t turned_mixed = 0;  ///< in groups with split members
    std::uint64_t turned_mixed_by_pair = 0;
    std::map<WhatIfType, std::uint64_t> turned_by;

    double relevant_percent() const {
        return 100.0 * static_cast<double>(relevant) / static_cast<double>(compared);
    }
    /// A table for people.
    std::string text() const;
};

/// Stops at the first difference.
RunResult run_worlds(const RunDef& def);

struct Reduced {
    std::string failure;  ///< of the smallest world that was found; empty: it does not fail
    std::string log;      ///< all that was done in it
    std::string rules;
};
/// Leaves out of a failing world what it can fail without: nodes, steps, entities, observers,
/// operations.
Reduced reduce(RandomWorldDef def, std::uint32_t ticks, std::uint32_t explain_pairs = 0);

}  // namespace purview::test
