// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "oracle_run.hpp"
#include "support/sanitized.hpp"

namespace purview::test {

namespace {

// Sanitizers are about thirty times slower: such a build compares fewer worlds. `./dev test --long`
// compares more.
constexpr std::uint32_t part = unless_sanitized(1U, 30U);

constexpr std::uint32_t worlds = 500;
constexpr std::uint64_t compared_min = 50'000'000;
constexpr std::uint64_t each_operation_min = 500;
constexpr std::size_t rule_trees_min = 150;

void report_failure(const RunResult& result) {
    REQUIRE_MESSAGE(result.failure.empty(), result.failure,
                    "\nto repeat and reduce it: ", "purview_property --seed ", result.failed_seed,
                    " --reduce");
}

}  // namespace

TEST_CASE(
    "interest: random worlds equal the oracle (N14 N15 N16 N17 N39 N40 N41 N46 N48 N50 N51 N54 F4 "
    "F12 P21 M11 M34)") {
    RunDef def;
    def.worlds = worlds / part;
    def.compared_min = compared_min / part;
    def.each_operation_min = each_operation_min / part;
    const RunResult result = run_worlds(def);
    report_failure(result);
    MESSAGE(result.text());
    REQUIRE(result.worlds >= worlds / part);
    REQUIRE(result.compared >= compared_min / part);
    REQUIRE(result.shapes.size() >= rule_trees_min / part);
    REQUIRE(result.relevant_percent() >= 10);
    REQUIRE(result.relevant_percent() <= 90);
    for (const auto& done : result.operations)
        REQUIRE_MESSAGE(done.second >= each_operation_min / part, "too few of ", done.first);
}

TEST_CASE("interest: explain equals the set, and each suggested change flips the result") {
    RunDef def;
    def.first_seed = 500'001;
    def.worlds = 130 / part + 1;
    def.ticks = 30;
    def.explain_pairs = 3;
    def.turned_types_min = 10;
    const RunResult result = run_worlds(def);
    report_failure(result);
    MESSAGE(result.explained << " explained, " << result.turned_by_pair
                             << " flipped by a pair of changes, " << result.explained_without_change
                             << " without a change; " << result.turned_split_group
                             << " in partly split groups, " << result.turned_split_group_by_pair
                             << " of them by a pair");
    CHECK(result.turned_by.size() >= 10);  // every type of change flipped some result
    for (const auto& [type, count] : result.turned_by) CHECK(count >= 10 / part);
    CHECK(result.turned_by_pair >= 10 / part);
    CHECK(result.turned_split_group >= 100 / part);
    CHECK(result.turned_split_group_by_pair >= 3 / part);
}

}  // namespace purview::test
