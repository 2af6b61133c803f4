// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle_compare.hpp"

#include <algorithm>
#include <cmath>

namespace purview::test {

namespace {

constexpr float score_tolerance = 1e-4F;

std::uint32_t number(ObserverId observer) {
    return static_cast<std::uint32_t>(observer);
}

Difference nothing() {
    return {};
}

}  // namespace

std::string name_of(EntityId entity) {
    return "e" + std::to_string(index_of(entity)) + "#" + std::to_string(generation_of(entity));
}

std::string name_of(ObserverId observer) {
    return "o" + std::to_string(index_of(observer)) + "#" + std::to_string(generation_of(observer));
}

// -- sets ---------------------------------------------------------------------------------------

Difference compare_sets(ObserverId observer, const std::vector<EntityId>& expected,
                        std::vector<EntityId> reported) {
    std::sort(reported.begin(), reported.end());
    if (reported == expected) return nothing();
    std::vector<EntityId> wrong;
    std::set_symmetric_difference(reported.begin(), reported.end(), expected.begin(),
                                  expected.end(), std::back_inserter(wrong));
    const bool is_extra = std::binary_search(reported.begin(), reported.end(), wrong[0]);
    const bool is_expected = std::binary_search(expected.begin(), expected.end(), wrong[0]);
    const char* what = is_extra ? "unexpected: " : "missing: ";
    if (is_extra && is_expected) what = "listed twice: ";
    return {"sets", what + name_of(wrong[0]), observer, wrong[0]};
}

// -- events -------------------------------------------------------------------------------------

Difference EventReplay::take(std::span<const InterestEvent> events) {
    std::set<std::pair<std::uint32_t, EntityId>> pairs;
    std::set<std::uint32_t> groups;
    std::uint32_t group = 0;
    for (const InterestEvent& event : events) {
        const auto complain = [&](const std::string& what) {
            return Difference{"events",
                              what + ", " + name_of(event.entity) + " reason " +
                                  std::string(to_string(event.reason)),
                              event.observer, event.entity};
        };
        const std::uint32_t observer = number(event.observer);
        if (groups.empty() || observer != group) {
            if (!groups.insert(observer).second) return complain("not grouped by observer");
            group = observer;
        }
        if (!pairs.insert({observer, event.entity}).second)
            return complain("two events of one pair");
        std::set<EntityId>& set = sets_[observer];
        if (event.enter && !set.insert(event.entity).second) return complain("entered twice");
        if (!event.enter && set.erase(event.entity) == 0) return complain("left without entering");
    }
    return nothing();
}

Difference EventReplay::matches(ObserverId observer, const std::vector<EntityId>& expected) const {
    static const std::set<EntityId> none;
    const auto found = sets_.find(number(observer));
    const std::set<EntityId>& set = found == sets_.end() ? none : found->second;
    if (std::equal(set.begin(), set.end(), expected.begin(), expected.end())) return nothing();
    std::vector<EntityId> wrong;
    std::set_symmetric_difference(set.begin(), set.end(), expected.begin(), expected.end(),
                                  std::back_inserter(wrong));
    return {"events", "do not add up to the relevant set, " + name_of(wrong[0]), observer,
            wrong[0]};
}

namespace {

/// Reasons for an enter, by the stage that decided.
std::vector<Reason> reasons_to_enter(const EventFacts& facts) {
    using check::TruthStage;
    const Reason by_nodes = facts.entity_is_new ? Reason::spawned : Reason::entered;
    switch (facts.now.stage) {
        case TruthStage::owned:
            return {Reason::owned};
        case TruthStage::shown_to_all:
        case TruthStage::allowed:
            return {Reason::forced};
        case TruthStage::promoted:
            return {Reason::promoted};
        case TruthStage::sees_everything:  // has no own reason
            return {by_nodes, Reason::forced};
        default:
            return {by_nodes};
    }
}

/// Reasons for a leave. Several may hold at once.
std::vector<Reason> reasons_to_leave(const EventFacts& facts) {
    using check::TruthStage;
    std::vector<Reason> right;
    if (facts.entity_is_gone) right.push_back(Reason::despawned);
    if (facts.observer_is_gone) right.push_back(Reason::disconnected);
    if (!right.empty()) return right;
    if (!facts.observer_is_ready) return {Reason::hidden};
    const TruthStage stage = facts.now.stage;
    const bool is_denied = stage == TruthStage::denied || stage == TruthStage::force_hidden;
    if (is_denied || facts.now.hides) right.push_back(Reason::hidden);
    const bool no_node_matches = facts.now.nodes == 0;
    if (!is_denied || no_node_matches) right.push_back(Reason::left);
    return right;
}

}  // namespace

Difference compare_reason(const InterestEvent& event, const EventFacts& facts) {
    const std::vector<Reason> right =
        event.enter ? reasons_to_enter(facts) : reasons_to_leave(facts);
    if (std::find(right.begin(), right.end(), event.reason) != right.end()) return nothing();
    return {"reasons",
            std::string(event.enter ? "enter of " : "leave of ") + name_of(event.entity) +
                " has reason " + std::string(to_string(event.reason)) + ", expected " +
                std::string(to_string(right[0])),
            event.observer, event.entity};
}

// -- counts, scores, inverse --------------------------------------------------------------------

Difference compare_counts(std::span<const EntityCount> counts,
                          std::span<const ObserverEdge> edges) {
    std::map<EntityId, bool> reported;
    for (const ObserverEdge& edge : edges) {
        if (!reported.emplace(edge.entity, edge.first).second)
            return {"counts", "two edges of " + name_of(edge.entity), ObserverId::none,
                    edge.entity};
    }
    for (const EntityCount& count : counts) {
        const auto complain = [&](const std::string& what) {
            return Difference{"counts",
                              what + " of " + name_of(count.entity) + ": " +
                                  std::to_string(count.before) + " before, " +
                                  std::to_string(count.now) + " now, reported " +
                                  std::to_string(count.reported),
                              ObserverId::none, count.entity};
        };
        if (count.reported != count.now) return complain("observers");
        const auto edge = reported.find(count.entity);
        const bool should = (count.before == 0) != (count.now == 0);
        if (should != (edge != reported.end())) return complain(should ? "no edge" : "an edge");
        if (should && edge->second != (count.now > 0)) return complain("the wrong edge");
    }
    return nothing();
}

Difference compare_scores(ObserverId observer, const std::vector<check::Verdict>& verdicts,
                          std::span<const EntityId> entities, std::span<const float> reported,
                          bool is_exact) {
    for (std::size_t i = 0; i < entities.size(); ++i) {
        const std::uint32_t index = index_of(entities[i]);
        const check::Verdict verdict = index < verdicts.size() ? verdicts[index] : check::Verdict{};
        const bool is_in_bounds =
            verdict.relevant ? reported[i] > 0 && reported[i] <= 1 : reported[i] == 0;
        const bool any = !is_exact || verdict.stage == check::TruthStage::stay;
        const bool is_near = std::fabs(reported[i] - verdict.score) <= score_tolerance;
        if (is_in_bounds && (any || is_near)) continue;
        return {"scores",
                "of " + name_of(entities[i]) + " is " + std::to_string(reported[i]) +
                    ", expected " + std::to_string(verdict.score),
                observer, entities[i]};
    }
    return nothing();
}

Difference compare_inverse(EntityId entity, std::vector<ObserverId> expected,
                           std::vector<ObserverId> reported) {
    std::sort(expected.begin(), expected.end());
    std::sort(reported.begin(), reported.end());
    if (expected == reported) return nothing();
    std::vector<ObserverId> wrong;
    std::set_symmetric_difference(reported.begin(), reported.end(), expected.begin(),
                                  expected.end(), std::back_inserter(wrong));
    return {"inverse", "observers_of " + name_of(entity) + " is wrong about " + name_of(wrong[0]),
            wrong[0], entity};
}

// -- guarantees ---------------------------------------------------------------------------------

void Promise::set_rules(const Rules& rules) {
    plain_.clear();
    for (std::size_t n = 0; n < rules.nodes.size(); ++n) {
        const NodeDef& node = rules.nodes[n];
        if (!node.enabled) continue;
        if (node.combine != Combine::add) {
            plain_.clear();
            continue;
        }
        std::vector<Plain> of_node;
        for (const Kernel& step : node.steps) {
            if (step.combine != Combine::add) {
                of_node.clear();
            } else if (step.type == KernelType::distance && step.range == RangeFrom::kernel) {
                of_node.push_back({n, step, {}});
            }
        }
        // A dispatcher matches nothing outside of its bucket.
        if (node.custom != nullptr || node.dispatcher != nullptr) of_node.clear();
        plain_.insert(plain_.end(), of_node.begin(), of_node.end());
    }
}

void Promise::forget(ObserverId observer) {
    for (Plain& plain : plain_) {
        const std::uint32_t gone = number(observer);
        plain.inside.erase(plain.inside.lower_bound({gone, EntityId::none}),
                           plain.inside.lower_bound({gone + 1, EntityId::none}));
    }
}

Difference Promise::check(const Pair& pair, const std::vector<bool>& is_member) {
    const ObserverId observer = pair.observer.id;
    if (Known& known = observers_[number(observer)];
        known.times_ready != pair.observer.times_ready) {
        known.times_ready = pair.observer.times_ready;
        forget(observer);
    }
    const std::pair key{number(observer), pair.unit.id};
    if (std::uint32_t& joins = joins_[pair.unit.id]; joins != pair.unit.joins) {
        joins = pair.unit.joins;
        for (Plain& plain : plain_) {
            std::erase_if(plain.inside,
                          [&](const auto& one) { return one.second == pair.unit.id; });
        }
    }
    for (Plain& plain : plain_) {
        const float enter = plain.kernel.enter * plain.kernel.enter;
        const float leave = plain.kernel.leave * plain.kernel.leave;
        bool is_in = false;
        bool is_near = false;
        if (pair.unit.has_position) {
            for (const Vec3 position : pair.observer.from(plain.kernel.view_from)) {
                const float distance = check::squared(pair.unit.position, position);
                is_in = is_in || distance <= enter;
                is_near = is_near || distance <= leave;
            }
        }
        if (is_in) plain.inside.insert(key);
        if (!is_near) plain.inside.erase(key);
        if (pair.is_hidden || pair.is_relevant || !is_member[plain.node]) continue;
        if (is_in)
            return {"range", "within the radius and not relevant: " + name_of(pair.unit.id),
                    observer, pair.unit.id};
        if (plain.inside.count(key) != 0)
            return {"flicker", "left within the margin: " + name_of(pair.unit.id), observer,
                    pair.unit.id};
    }
    return nothing();
}

}  // namespace purview::test
