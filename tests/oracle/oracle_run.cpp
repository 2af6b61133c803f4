// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle_run.hpp"

#include <algorithm>
#include <cstdio>

namespace purview::test {

namespace {

constexpr std::uint32_t more_ticks_of_some = 100;  ///< long enough for reuse of freed blocks
constexpr float chance_of_more_ticks = 0.05F;
constexpr std::uint32_t worlds_between_words = 200;

/// Runs a world. Returns the first difference, or an empty text.
std::string run(RandomWorld& world, std::uint32_t ticks, std::uint32_t explain_pairs,
                std::uint32_t& done) {
    for (done = 1; done <= ticks; ++done) {
        if (std::string wrong = world.step(); !wrong.empty()) return wrong;
        if (explain_pairs == 0) continue;
        if (std::string wrong = world.check_explain(explain_pairs); !wrong.empty()) return wrong;
    }
    return {};
}

template <class Key>
void add(std::map<Key, std::uint64_t>& sum, const std::map<Key, std::uint64_t>& more) {
    for (const auto& [key, count] : more) sum[key] += count;
}

/// Returns whether some operation was done fewer than `min` times.
bool is_some_rare(const RunResult& result, std::uint64_t min) {
    return std::any_of(result.operations.begin(), result.operations.end(),
                       [&](const auto& done) { return done.second < min; });
}

/// Tries smaller worlds and keeps those that still fail.
class Reducer {
  public:
    Reducer(RandomWorldDef def, std::uint32_t ticks, std::uint32_t explain_pairs)
        : def_(std::move(def)), ticks_(ticks), explain_pairs_(explain_pairs) {}

    Reduced run() {
        RandomWorldDef same = def_;
        if (!keeps(same)) return {};
        bool smaller = true;
        for (int round = 0; round < 4 && smaller; ++round) {
            smaller = false;
            smaller |= fewer_things();
            smaller |= simpler_rules();
            smaller |= fewer_operations();
            smaller |= fewer_edits();
            smaller |= fewer_individuals();
        }
        def_.keeps_log = true;
        RandomWorld world(def_);
        std::uint32_t done = 0;
        Reduced out;
        out.failure = purview::test::run(world, ticks_, explain_pairs_, done);
        out.log = world.log;
        out.rules = text_of(def_.rules);
        return out;
    }

  private:
    /// Keeps the definition if its world fails, and returns whether it does.
    bool keeps(const RandomWorldDef& def) {
        RandomWorld world(def);
        std::uint32_t done = 0;
        const std::string failure = purview::test::run(world, ticks_, explain_pairs_, done);
        const std::string check = failure.substr(0, failure.find(':'));
        if (failure.empty() || (!check_.empty() && check != check_)) return false;
        check_ = check;
        def_ = def;
        ticks_ = done;
        return true;
    }
    template <class WhatIf>
    bool try_it(WhatIf&& change) {
        RandomWorldDef def = def_;
        change(def);
        return keeps(def);
    }
    bool fewer_things() {
        bool any = false;
        for (std::uint32_t divisor : {8U, 4U, 2U}) {
            while (def_.entities >= divisor && def_.entities > 1 && try_it([&](RandomWorldDef& d) {
                       d.entities -= std::max(1U, d.entities / divisor);
                   }))
                any = true;
            while (def_.observers > 1 && try_it([&](RandomWorldDef& d) {
                       d.observers -= std::max(1U, d.observers / divisor);
                   }))
                any = true;
        }
        any |= !def_.kinds.empty() && try_it([](RandomWorldDef& d) { d.kinds.clear(); });
        any |= def_.shuffle_cells > 0 && try_it([](RandomWorldDef& d) { d.shuffle_cells = 0; });
        any |=
            def_.measures_changed && try_it([](RandomWorldDef& d) { d.measures_changed = false; });
        any |= def_.window_update != WindowUpdate::pull &&
               try_it([](RandomWorldDef& d) { d.window_update = WindowUpdate::pull; });
        any |= def_.rules.minimum_relevance_ticks > 0 &&
               try_it([](RandomWorldDef& d) { d.rules.minimum_relevance_ticks = 0; });
        any |= def_.left_out.count("move") == 0 &&
               try_it([](RandomWorldDef& d) { d.left_out.insert("move"); });
        return any;
    }
    /// Leaves out ever smaller ranges.
    bool fewer_in(std::set<std::uint32_t> RandomWorldDef::*left_out) {
        bool any = false;
        for (std::uint32_t some = 64; some > 0; some /= 2) {
            for (std::uint32_t i = 0; i < def_.entities + 30; i += some) {
                if ((def_.*left_out).count(i) != 0) continue;
                any |= try_it([&](RandomWorldDef& d) {
                    for (std::uint32_t j = i; j < i + some; ++j) (d.*left_out).insert(j);
                });
            }
        }
        return any;
    }
    /// Leaves out observers and entities one by one. Other entities keep their index.
    bool fewer_individuals() {
        bool any = false;
        for (std::uint32_t i = 0; i < def_.observers; ++i) {
            if (def_.left_out_observers.count(i) == 0)
                any |= try_it([&](RandomWorldDef& d) { d.left_out_observers.insert(i); });
        }
        any |= fewer_in(&RandomWorldDef::left_out_entities);
        any |= def_.left_out.count("move") == 0 && fewer_in(&RandomWorldDef::left_out_movers);
        return any;
    }
    static void erase_node(RandomWorldDef& def, std::ptrdiff_t at) {
        def.rules.nodes.erase(def.rules.nodes.begin() + at);
        for (KindRules& kind : def.kinds) {
            std::erase_if(kind.nodes,
                          [&](NodeId node) { return index_of(node) >= def.rules.nodes.size(); });
        }
    }
    bool simpler_rules() {
        bool any = false;
        for (std::size_t n = 0; n < def_.rules.nodes.size();) {
            const auto at = static_cast<std::ptrdiff_t>(n);
            if (try_it([&](RandomWorldDef& d) { erase_node(d, at); })) {
                any = true;
                continue;
            }
            for (std::size_t s = 0; s < def_.rules.nodes[n].steps.size();) {
                const auto step = static_cast<std::ptrdiff_t>(s);
                if (try_it([&](RandomWorldDef& d) {
                        auto& steps = d.rules.nodes[n].steps;
                        steps.erase(steps.begin() + step);
                        if (!steps.empty() && !d.space.features.has(Feature::no_adds))
                            steps.front().combine = Combine::add;
                    })) {
                    any = true;
                } else {
                    ++s;
                }
            }
            ++n;
        }
        return any;
    }
    bool fewer_operations() {
        RandomWorld world(def_);
        std::uint32_t done = 0;
        (void)purview::test::run(world, ticks_, explain_pairs_, done);
        bool any = false;
        for (const auto& [name, count] : world.operations) {
            if (def_.left_out.count(name) != 0) continue;
            const std::string left_out = name == "allow" || name == "deny" ? "allow or deny" : name;
            any |= try_it([&](RandomWorldDef& d) { d.left_out.insert(left_out); });
        }
        return any;
    }
    bool fewer_edits() {
        bool any = false;
        for (Tick tick = 1; tick <= ticks_; ++tick) {
            const auto leave_out = [&](std::uint32_t from, std::uint32_t to) {
                return try_it([&](RandomWorldDef& d) {
                    for (std::uint32_t i = from; i < to; ++i) d.left_out_edits.insert({tick, i});
                });
            };
            if (def_.left_out_edits.count({tick, def_.edits_max}) != 0)
                continue;  // the whole tick is left out
            if (leave_out(0, def_.edits_max + 1)) {
                any = true;
                continue;
            }
            for (std::uint32_t i = 0; i < def_.edits_max; ++i) {
                if (def_.left_out_edits.count({tick, i}) == 0 && leave_out(i, i + 1)) any = true;
            }
        }
        return any;
    }

    RandomWorldDef def_;
    std::uint32_t ticks_;
    std::uint32_t explain_pairs_;
    std::string check_;  ///< name of the check that failed
};

}  // namespace

RunResult run_worlds(const RunDef& def) {
    RunResult result;
    for (std::uint64_t seed = def.first_seed;
         result.worlds < def.worlds || result.compared < def.compared_min ||
         (result.worlds < 2 * def.worlds && is_some_rare(result, def.each_operation_min)) ||
         (result.worlds < 4 * def.worlds && result.turned_by.size() < def.turned_types_min);
         ++seed) {
        RandomWorldDef world_def = random_def(seed, def.features);
        world_def.threads = def.threads;
        RandomWorld world(world_def);
        SplitMix random(seed);
        const std::uint32_t ticks =
            def.ticks + (random.chance(chance_of_more_ticks) ? more_ticks_of_some : 0);
        std::uint32_t done = 0;
        result.failure = run(world, ticks, def.explain_pairs, done);
        if (!result.failure.empty()) {
            result.failed_seed = seed;
            result.failed_ticks = done;
            return result;
        }
        ++result.worlds;
        result.compared += world.pairs_compared;
        result.relevant += world.pairs_relevant;
        result.events += world.events_seen;
        result.explained += world.explained;
        result.explained_without_change += world.explained_without_change;
        result.turned_by_pair += world.turned_by_pair;
        result.turned_split_group += world.turned_split_group;
        result.turned_split_group_by_pair += world.turned_split_group_by_pair;
        add(result.turned_by, world.turned_by);
        add(result.operations, world.operations);
        add(result.stages, world.stages);
        result.shapes.insert(world.shapes.begin(), world.shapes.end());
        if (def.reports_progress && result.worlds % worlds_between_words == 0) {
            std::printf("%u worlds, %llu pairs\n", result.worlds,
                        static_cast<unsigned long long>(result.compared));
            (void)std::fflush(stdout);
        }
    }
    return result;
}

std::string RunResult::text() const {
    std::string text = std::to_string(worlds) + " worlds, " + std::to_string(compared) +
                       " pairs compared, " + std::to_string(relevant_percent()) + " % relevant, " +
                       std::to_string(events) + " events, " + std::to_string(shapes.size()) +
                       " rule trees of depth 3 and more\noperations:";
    for (const auto& [name, count] : operations)
        text += " " + name + " " + std::to_string(count) + ",";
    text += "\ndeciding stages:";
    for (const auto& [name, count] : stages) text += " " + name + " " + std::to_string(count) + ",";
    text.pop_back();
    return text;
}

Reduced reduce(RandomWorldDef def, std::uint32_t ticks, std::uint32_t explain_pairs) {
    return Reducer(std::move(def), ticks, explain_pairs).run();
}

}  // namespace purview::test
