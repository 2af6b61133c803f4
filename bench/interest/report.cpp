// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "report.hpp"

#include <algorithm>
#include <cstdio>

namespace purview::bench {

using nlohmann::json;

Entry ours(const std::string& name, OurRules rules, bool exact) {
    return {name, [rules] { return make_purview(rules); }, 0, exact};
}

namespace {

const char* verdict_of(const Row& row) {
    return !row.hash_agrees ? " -" : *row.hash_agrees ? "" : " DIFFERS";
}

void print_table(const std::vector<Row>& rows) {
    std::printf("\n%-15s %-15s %10s %10s %9s %9s %8s %8s %9s %8s %s\n", "scene", "engine", "ms p50",
                "ms p99", "update", "query", "x ours", "ns/pair", "events", "allocs", "hash");
    for (const Row& row : rows) {
        std::printf("%-15s %-15s %10.3f %10.3f %9.3f %9.3f %8.1f %8.2f %9.0f %8.1f %s%s%s\n",
                    row.scene.c_str(), row.engine.c_str(), row.ms_p50, row.ms_p99, row.update_ms,
                    row.query_ms, ratio(row, rows.front()), row.ns_per_pair, row.events_per_tick,
                    row.allocations_per_tick, row.hash.c_str(), verdict_of(row),
                    row.sampled ? " sampled" : "");
    }
    std::fflush(stdout);
    if (rows.front().relevant_mean <= 0) return;  // rows made by row_of
    std::printf(
        "          %.0f relevant, %.0f moves per tick; Purview: %.1f B per entity, %.0f B per "
        "observer\n",
        rows.front().relevant_mean, rows.front().moves_per_tick, rows.front().bytes_entities,
        rows.front().bytes_observers);
    std::fflush(stdout);
}

}  // namespace

std::uint32_t ticks_of(const Options& options, std::uint32_t ticks) {
    if (options.ticks > 0) return options.ticks;
    return options.quick ? std::max(2U, ticks / 4) : ticks;
}

Plan plan_of(const std::string& name, const Options& options, std::uint32_t ticks) {
    Plan plan;
    plan.name = name;
    plan.scene = scene_named(name);
    plan.ticks = ticks_of(options, ticks);
    plan.rounds = options.quick ? 2 : 5;
    return plan;
}

void add_rows(Report& report, const std::vector<Row>& rows) {
    print_table(rows);
    report.rows.insert(report.rows.end(), rows.begin(), rows.end());
}

void run_plan(Report& report, const Plan& plan) {
    add_rows(report, run(plan));
}

json to_json(const Report& report, const std::string& command) {
    json rows = json::array();
    for (const Row& r : report.rows) {
        rows.push_back({{"scene", r.scene},
                        {"engine", r.engine},
                        {"threads", r.threads},
                        {"isa", r.isa},
                        {"sampled", r.sampled},
                        {"ms_p50", r.ms_p50},
                        {"ms_p99", r.ms_p99},
                        {"ms_max", r.ms_max},
                        {"ms_mean", r.ms_mean},
                        {"update_ms", r.update_ms},
                        {"query_ms", r.query_ms},
                        {"round_ms", r.round_ms},
                        {"ns_per_pair", r.ns_per_pair},
                        {"relevant_mean", r.relevant_mean},
                        {"events_per_tick", r.events_per_tick},
                        {"moves_per_tick", r.moves_per_tick},
                        {"bytes_per_entity", r.bytes_entities},
                        {"bytes_per_observer", r.bytes_observers},
                        {"allocations_per_tick", r.allocations_per_tick},
                        {"hash", r.hash},
                        {"hash_agrees", r.hash_agrees ? json(*r.hash_agrees) : json()}});
    }
    return report_json(report, rows, json(report.limits), command);
}

}  // namespace purview::bench
