// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "runner.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>

namespace purview::bench {

namespace {

struct Runner {
    const Entry* entry;
    std::unique_ptr<Engine> engine;
    std::uint32_t observers;
    std::vector<double> ticks, updates, queries, rounds;
    std::vector<std::uint64_t> event_hash;  ///< by prefix: see `prefixes`
    std::size_t events = 0, allocations = 0, timed_ticks = 0, counted_ticks = 0;
    double lanes_before = 0;
    double bytes_loaded = 0, bytes_entities = 0, bytes_all = 0;
};

/// Prefixes of the observers with separate hashes, so that sampled engines are compared on their
/// observers only.
constexpr std::uint32_t prefixes[] = {20, 200, 0xffffffffU};

std::uint64_t set_hash(const Engine& engine, std::uint32_t observers) {
    std::uint64_t hash = 0;
    for (std::uint32_t o = 0; o < observers; ++o) {
        engine.for_each_relevant(o, [&](std::uint32_t e) { hash += pair_hash(o, e); });
    }
    return hash;
}

/// The state of a running plan.
class PlanRun {
  public:
    explicit PlanRun(const Plan& plan) : plan_(plan), workload_(plan.scene) {}

    void load() {
        for (const Entry& entry : plan_.entries) {
            std::fprintf(stderr, "%-10s %-14s loading\r", plan_.name.c_str(), entry.name.c_str());
            Runner r{&entry, entry.make(), 0, {}, {}, {}, {}, {0, 0, 0}};
            r.observers = entry.sample == 0 ? plan_.scene.observers
                                            : std::min(entry.sample, plan_.scene.observers);
            const std::size_t before = heap_bytes();
            r.engine->load(workload_, r.observers);
            r.bytes_loaded = static_cast<double>(heap_bytes() - before);
            r.bytes_entities =
                r.engine->entity_bytes() > 0 ? r.engine->entity_bytes() : r.bytes_loaded;
            runners_.push_back(std::move(r));
        }
        generate(plan_.warm_up);
        for (Runner& r : runners_) {
            r.bytes_all = r.bytes_loaded;
            turn(r, false);
            r.events = 0;
            r.lanes_before = r.engine->lanes_tested();
        }
    }
    void round(std::uint32_t number, std::uint32_t of, std::uint32_t ticks) {
        generate(ticks);
        for (const auto& batch : moves_) moved_ += static_cast<double>(batch.size());
        for (Runner& r : runners_) {
            std::fprintf(stderr, "%-10s %-14s round %u of %u\r", plan_.name.c_str(),
                         r.entry->name.c_str(), number, of);
            turn(r, true, number == of);
        }
    }
    std::vector<Row> rows() const {
        std::vector<Row> rows;
        for (const Runner& r : runners_) rows.push_back(row(r));
        return rows;
    }

  private:
    void generate(std::uint32_t count) {
        moves_.clear();
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto step = workload_.step(++tick_);
            moves_.emplace_back(step.begin(), step.end());
        }
    }
    void turn(Runner& r, bool timed, bool is_last = false) {
        std::vector<double> turn_ms;
        // Not counted as memory of the engine.
        for (auto* list : {&turn_ms, &r.updates, &r.queries})
            list->reserve(list->size() + moves_.size());
        const std::size_t bytes_before = heap_bytes();
        for (const auto& batch : moves_) {
            const std::size_t allocations = heap_allocations();
            const Stopwatch whole;
            r.engine->update(batch);
            const double update = whole.ms();
            const Stopwatch query_clock;
            r.engine->query();
            double query = query_clock.ms();
            std::size_t allocated = heap_allocations() - allocations;
            r.engine->gather();
            const std::size_t gathered = heap_allocations();
            const Stopwatch finishing;
            r.engine->finish();
            query += finishing.ms();
            allocated += heap_allocations() - gathered;
            r.engine->for_each_event([&](std::uint32_t o, std::uint32_t e, bool enter) {
                ++r.events;
                for (std::size_t p = 0; p < 3; ++p) {
                    if (o < prefixes[p]) r.event_hash[p] += event_hash(o, e, enter);
                }
            });
            if (!timed) continue;
            const double scale = static_cast<double>(plan_.scene.observers) / r.observers;
            turn_ms.push_back(update + query * scale);
            r.updates.push_back(update);
            r.queries.push_back(query * scale);
            // Allocations count in the last round only; earlier rounds are warm-up.
            if (is_last) r.allocations += allocated;
            r.counted_ticks += is_last ? 1 : 0;
            ++r.timed_ticks;
        }
        r.bytes_all += static_cast<double>(heap_bytes()) - static_cast<double>(bytes_before);
        if (timed) {
            r.rounds.push_back(median(turn_ms));
            r.ticks.insert(r.ticks.end(), turn_ms.begin(), turn_ms.end());
        }
    }
    Row row(const Runner& r) const;

    Plan plan_;
    Workload workload_;
    std::vector<Runner> runners_;
    std::vector<std::vector<Move>> moves_;
    std::uint32_t tick_ = 0;
    double moved_ = 0;
};

Row PlanRun::row(const Runner& r) const {
    const Runner& ours = runners_.front();
    Row row = row_of(plan_.name, r.entry->name, r.ticks);
    row.isa = r.engine->isa();
    row.threads = r.engine->threads();
    row.sampled = r.observers != plan_.scene.observers;
    row.update_ms = median(r.updates);
    row.query_ms = median(r.queries);
    row.round_ms = r.rounds;
    std::size_t pairs = 0;
    std::vector<bool> seen(plan_.scene.entities);
    for (std::uint32_t o = 0; o < r.observers; ++o) {
        r.engine->for_each_relevant(o, [&](std::uint32_t e) {
            ++pairs;
            if (!seen[e]) {
                seen[e] = true;
                ++row.distinct_relevant;
            }
        });
    }
    const auto ticks = static_cast<double>(r.timed_ticks);
    row.relevant_mean = static_cast<double>(pairs) / r.observers;
    row.events_per_tick = static_cast<double>(r.events) / ticks;
    row.moves_per_tick = moved_ / ticks;
    row.ns_per_pair = row.ms_p50 * 1e6 / (row.relevant_mean * plan_.scene.observers);
    row.bytes_entities = r.bytes_entities / plan_.scene.entities;
    row.bytes_observers = (r.bytes_all - r.bytes_entities) / r.observers;
    row.lanes_tested_per_tick = (r.engine->lanes_tested() - r.lanes_before) / ticks;
    row.allocations_per_tick = static_cast<double>(r.allocations) /
                               static_cast<double>(std::max<std::size_t>(1, r.counted_ticks));
    std::size_t prefix = 2;
    for (std::size_t p = 0; p < 3; ++p) {
        if (r.observers == prefixes[p]) prefix = p;
    }
    const std::uint64_t hash = mix(set_hash(*r.engine, r.observers)) + r.event_hash[prefix];
    char text[20];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    row.hash = text;
    const auto exact = std::count_if(runners_.begin(), runners_.end(),
                                     [](const Runner& one) { return one.entry->exact; });
    if (r.entry->exact && exact > 1) {
        const std::uint64_t reference =
            mix(set_hash(*ours.engine, r.observers)) + ours.event_hash[prefix];
        row.hash_agrees = hash == reference;
    }
    return row;
}

}  // namespace

std::vector<Row> run(const Plan& plan) {
    return run_together({plan}).front();
}

std::vector<std::vector<Row>> run_together(const std::vector<Plan>& plans) {
    std::deque<PlanRun> runs;
    for (const Plan& plan : plans) runs.emplace_back(plan).load();
    const Plan& first = plans.front();
    for (std::uint32_t round = 0; round < first.rounds; ++round) {
        for (PlanRun& r : runs) r.round(round + 1, first.rounds, first.ticks);
    }
    std::fprintf(stderr, "%60s\r", "");
    std::vector<std::vector<Row>> rows;
    for (const PlanRun& r : runs) rows.push_back(r.rows());
    return rows;
}

Row row_of(const std::string& scene, const std::string& engine, const std::vector<double>& ms) {
    Row row;
    row.scene = scene;
    row.engine = engine;
    row.ms_p50 = median(ms);
    row.ms_p99 = percentile(ms, 0.99);
    row.ms_max = percentile(ms, 1);
    for (const double one : ms) row.ms_mean += one / static_cast<double>(ms.size());
    row.round_ms = {row.ms_p50};
    return row;
}

double ratio(const Row& peer, const Row& ours) {
    return ratio_of_rounds(peer.round_ms, ours.round_ms);
}

}  // namespace purview::bench
