// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The results that a random world reads from the engine after a tick and compares with the oracle.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "random_world.hpp"

namespace purview::test {

namespace {

constexpr std::size_t entities_queried_backwards = 6;

bool generous(const Replication& actual, const Replication& expected) {
    return actual.every_ticks == expected.every_ticks && actual.priority == expected.priority &&
           actual.leave == expected.leave;
}

/// Takes the most generous settings of both (N43).
void take(Replication& best, const Replication& other) {
    best.every_ticks = std::min(best.every_ticks, other.every_ticks);
    best.priority = std::max(best.priority, other.priority);
    best.leave = std::max(best.leave, other.leave);
}

const char* name_of(check::TruthStage stage) {
    static constexpr std::array<const char*, 12> names{
        "not ready", "denied",   "owned", "force hidden",      "shown to all", "allowed",
        "explicit",  "unculled", "node",  "minimum relevance", "promoted",     "no node"};
    return names[static_cast<std::size_t>(stage)];
}

}  // namespace

struct RandomWorld::ObserverResults {
    ObserverId id = ObserverId::none;
    std::vector<EntityId> relevant;
    std::vector<EntityId> visited;
    std::size_t count = 0;
    std::vector<std::uint8_t> is_relevant;  ///< [alive entities]
    std::vector<float> scores;              ///< [alive entities]
    std::vector<EntityId> changed;
    std::vector<float> changed_scores;  ///< [changed]
    std::vector<float> queried_scores;  ///< [changed] the same, queried one by one
};

struct RandomWorld::QueryResults {
    std::vector<EntityId> alive;
    std::vector<InterestEvent> events;
    std::vector<ObserverResults> observers;
    std::vector<std::uint32_t> counts;  ///< [alive entities]
    std::vector<ObserverEdge> edges;
    std::vector<std::pair<EntityId, std::vector<ObserverId>>> inverse;
    Vec3 box_min;
    Vec3 box_max;
    KindId box_kind = KindId::none;
    std::vector<EntityId> box;
    std::vector<Vec3> positions;  ///< [alive entities]
};

const check::Verdict& RandomWorld::verdict(ObserverId observer, EntityId entity) {
    static const check::Verdict none;
    const std::vector<check::Verdict>& verdicts = oracle_.verdicts(observer);
    return index_of(entity) < verdicts.size() ? verdicts[index_of(entity)] : none;
}

// -- queries ------------------------------------------------------------------------------------

void RandomWorld::query(QueryResults& results) {
    for (const auto& entity : entities_) {
        if (entity.id != EntityId::none) results.alive.push_back(entity.id);
    }
    const std::span<const InterestEvent> events = manager_.events();
    results.events.assign(events.begin(), events.end());
    for (const auto& observer : observers_) {
        ObserverResults& one = results.observers.emplace_back();
        one.id = observer.id;
        if (random_.chance(0.5F)) {
            manager_.relevant(observer.id, one.relevant);
            ++operations["query_for"];
        } else {
            manager_.relevant(observer.id, one.relevant);
            ++operations["relevant"];
        }
        if (has(Feature::visits)) {
            manager_.for_each_relevant(observer.id,
                                       [&](EntityId entity) { one.visited.push_back(entity); });
            ++operations["for_each_relevant"];
        }
        one.count = relevant_count(internal(manager_), observer.id);
        ++operations["relevant_count"];
        for (const EntityId entity : results.alive)
            one.is_relevant.push_back(manager_.is_relevant(observer.id, entity) ? 1 : 0);
        operations["is_relevant"] += results.alive.size();
        if (has(Feature::score) && random_.chance(0.2F)) {
            one.scores.resize(results.alive.size(), -1);
            manager_.scores(observer.id, results.alive, one.scores);
            ++operations["scores"];
        }
    }
    for (std::size_t o = 0; def_.measures_changed && o < observers_.size(); ++o) {
        ObserverResults& one = results.observers[o];
        const Scores changed = manager_.changed_scores(one.id);
        for (const std::uint32_t index : changed.entities)
            one.changed.push_back(index < entities_.size() ? entities_[index].id : EntityId::none);
        one.changed_scores.assign(changed.score.begin(), changed.score.end());
        one.queried_scores.resize(one.changed.size());
        manager_.scores(one.id, one.changed, one.queried_scores);
        ++operations["changed_scores"];
    }
    if (has(Feature::counts)) {
        for (const EntityId entity : results.alive)
            results.counts.push_back(manager_.observer_count(entity));
        for (const EntityId entity : manager_.newly_observed())
            results.edges.push_back({entity, true});
        for (const EntityId entity : manager_.no_longer_observed())
            results.edges.push_back({entity, false});
        operations["observer_count"] += results.alive.size();
        ++operations["observer edges"];
    }
    if (has(Feature::inverse)) {
        for (std::size_t i = 0; i < entities_queried_backwards && !results.alive.empty(); ++i) {
            const auto at = random_.below(static_cast<std::uint32_t>(results.alive.size()));
            auto& [entity, observers] = results.inverse.emplace_back();
            entity = results.alive[at];
            manager_.observers_of(entity, observers);
            ++operations["observers_of"];
        }
    }
    if (has(Feature::boxes)) {
        results.box_min = random_position();
        if (const auto* entity = random_entity(); entity != nullptr && random_.chance(0.5F))
            results.box_min =
                oracle_.unit_view(entity->id).position;  // a border at the position of an entity
        results.box_max = {results.box_min.x + length(0, 60), results.box_min.y + length(0, 60),
                           results.box_min.z + length(0, 60)};
        if (!def_.kinds.empty() && random_.chance(0.3F)) results.box_kind = id_at<KindId>(0);
        manager_.entities_in(results.box_min, results.box_max, results.box, results.box_kind);
        ++operations["entities_in"];
    }
    if (has(Feature::positions)) {
        for (const EntityId entity : results.alive)
            results.positions.push_back(manager_.entity(entity).position());
        operations["position_of"] += results.alive.size();
    }
}

// -- fault injection ----------------------------------------------------------------------------

bool RandomWorld::faulty_observer(ObserverResults& results) {
    switch (def_.injected_fault) {
        case InjectedFault::lose_entity:
            if (results.relevant.empty()) return false;
            results.relevant.pop_back();
            return true;
        case InjectedFault::double_entity:
            if (results.relevant.empty()) return false;
            results.relevant.push_back(results.relevant.front());
            return true;
        case InjectedFault::add_entity:
            for (const auto& entity : entities_) {
                if (entity.id == EntityId::none || verdict(results.id, entity.id).relevant)
                    continue;
                results.relevant.push_back(entity.id);
                return true;
            }
            return false;
        case InjectedFault::flip_pair:
            if (results.is_relevant.empty()) return false;
            results.is_relevant.front() ^= 1U;
            return true;
        case InjectedFault::score:
            for (float& score : results.scores) {
                if (!(score > 0.2F)) continue;
                score -= 0.001F;
                return true;
            }
            return false;
        case InjectedFault::changed:
            for (std::size_t i = 0; i < results.changed.size(); ++i) {
                if (!has_moved(results.changed[i])) continue;
                for (auto* list : {&results.changed_scores, &results.queried_scores})
                    list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
                results.changed.erase(results.changed.begin() + static_cast<std::ptrdiff_t>(i));
                return true;
            }
            return false;
        case InjectedFault::range:
        case InjectedFault::flicker: {
            // Entities that nodes match by radius alone: inside the radius, or within the margin.
            const bool is_margin = def_.injected_fault == InjectedFault::flicker;
            const check::ObserverView* view = oracle_.observer_view(results.id);
            if (view == nullptr || rules_.nodes.empty() || rules_.nodes[0].steps.empty())
                return false;
            const Kernel& kernel = rules_.nodes[0].steps[0];
            for (const EntityId entity : results.relevant) {
                if (verdict(results.id, entity).stage != check::TruthStage::node) continue;
                const auto& positions = view->from(kernel.view_from);
                const bool is_in =
                    std::any_of(positions.begin(), positions.end(), [&](Vec3 position) {
                        return check::squared(oracle_.unit_view(entity).position, position) <=
                               kernel.enter * kernel.enter;
                    });
                if (is_in == is_margin) continue;
                std::erase(results.relevant, entity);
                return true;
            }
            return false;
        }
        default:
            return false;
    }
}

void RandomWorld::injected_fault(QueryResults& results) {
    if (injected_count_ || def_.injected_fault == InjectedFault::none || tick_ < 3) return;
    for (ObserverResults& one : results.observers) {
        if (!injected_count_) injected_count_ = faulty_observer(one);
    }
    const auto inject_event_fault = [&](auto&& change) {
        if (results.events.empty()) return;
        change();
        injected_count_ = true;
    };
    switch (def_.injected_fault) {
        case InjectedFault::lose_event:
            inject_event_fault([&] { results.events.pop_back(); });
            break;
        case InjectedFault::double_event:
            inject_event_fault([&] { results.events.push_back(results.events.back()); });
            break;
        case InjectedFault::turn_event:
            inject_event_fault([&] { results.events[0].enter = !results.events[0].enter; });
            break;
        case InjectedFault::lie_reason:
            inject_event_fault([&] {
                results.events[0].reason = results.events[0].reason == Reason::disconnected
                                               ? Reason::entered
                                               : Reason::disconnected;
            });
            break;
        case InjectedFault::count:
            if (!results.counts.empty()) ++results.counts.back();
            injected_count_ = !results.counts.empty();
            break;
        case InjectedFault::lose_edge:
            for (std::size_t i = 0; i < results.edges.size() && !injected_count_; ++i) {
                if (alive(results.edges[i].entity) == nullptr) continue;
                results.edges.erase(results.edges.begin() + static_cast<std::ptrdiff_t>(i));
                injected_count_ = true;
            }
            break;
        case InjectedFault::inverse:
            for (auto& [entity, observers] : results.inverse) {
                if (observers.empty() || injected_count_) continue;
                observers.pop_back();
                injected_count_ = true;
            }
            break;
        case InjectedFault::box:
            if (!results.box.empty()) results.box.pop_back();
            injected_count_ = true;
            break;
        case InjectedFault::position:
            if (results.positions.empty()) break;
            results.positions.front().x += 0.5F;
            injected_count_ = true;
            break;
        default:
            break;
    }
}

// -- checks -------------------------------------------------------------------------------------

void RandomWorld::check_events(const QueryResults& results, std::vector<Difference>& wrong) {
    events_seen += results.events.size();
    if (Difference found = replay_.take(results.events)) wrong.push_back(std::move(found));
    for (const ObserverId id : removed_) {
        if (Difference found = replay_.matches(id, {})) wrong.push_back(std::move(found));
    }
    if (!has(Feature::reasons)) return;
    for (const InterestEvent& event : results.events) {
        EventFacts facts;
        facts.entity_is_gone = alive(event.entity) == nullptr;
        facts.entity_is_new = born_.count(event.entity) != 0;
        facts.observer_is_gone =
            std::none_of(observers_.begin(), observers_.end(),
                         [&](const check::TruthObserver& o) { return o.id == event.observer; });
        facts.observer_is_ready = oracle_.observer_view(event.observer) != nullptr;
        if (!facts.entity_is_gone && !facts.observer_is_gone)
            facts.now = verdict(event.observer, event.entity);
        if (Difference found = compare_reason(event, facts)) wrong.push_back(std::move(found));
    }
}

void RandomWorld::check_sets(const QueryResults& results, std::vector<Difference>& wrong) {
    for (const ObserverResults& one : results.observers) {
        const std::vector<EntityId> expected = oracle_.relevant(one.id);
        if (Difference found = compare_sets(one.id, expected, one.relevant))
            wrong.push_back(std::move(found));
        if (has(Feature::visits)) {
            if (Difference found = compare_sets(one.id, expected, one.visited))
                wrong.push_back(std::move(found));
        }
        if (one.count != expected.size())
            wrong.push_back({"sets", "relevant_count is wrong", one.id, EntityId::none});
        if (Difference found = replay_.matches(one.id, expected)) wrong.push_back(std::move(found));
        std::vector<EntityId> one_by_one;
        for (std::size_t i = 0; i < results.alive.size(); ++i) {
            if (one.is_relevant[i] != 0) one_by_one.push_back(results.alive[i]);
        }
        if (Difference found = compare_sets(one.id, expected, std::move(one_by_one))) {
            found.check = "is_relevant";
            wrong.push_back(std::move(found));
        }
        if (!one.scores.empty()) {
            // Line of sight is not tested for entities that other steps match: it adds no score.
            const bool is_exact = !has_kernel(rules_, KernelType::line_of_sight);
            if (Difference found = compare_scores(one.id, oracle_.verdicts(one.id), results.alive,
                                                  one.scores, is_exact))
                wrong.push_back(std::move(found));
        }
        if (!did_something_) continue;
        pairs_compared += results.alive.size();
        pairs_relevant += expected.size();
        for (const check::Verdict& verdict : oracle_.verdicts(one.id)) {
            if (verdict.entity != EntityId::none) ++stages[name_of(verdict.stage)];
        }
    }
}

/// Returns whether the position of its cull group changed since the previous tick.
bool RandomWorld::has_moved(EntityId entity) const {
    const check::EntityView& now = oracle_.unit_view(entity);
    const auto before = stood_.find(now.id);
    if (!now.has_position || before == stood_.end())
        return now.has_position == (before == stood_.end());
    return before->second != now.position;
}

void RandomWorld::check_changed(const QueryResults& results, std::vector<Difference>& wrong) {
    const auto was_touched = [&](EntityId entity) {
        if (trace.find("set_rules") != std::string::npos) return true;  // ends dormancy
        const check::TruthEntity& record = entities_[index_of(entity)];
        if (touched_.count(entity) != 0 || touched_.count(record.root) != 0) return true;
        if (born_.count(entity) != 0) return true;
        const std::vector<EntityId> members = members_of(record.root);
        return std::any_of(members.begin(), members.end(),
                           [&](EntityId one) { return touched_.count(one) != 0; });
    };
    for (const ObserverResults& one : results.observers) {
        if (!def_.measures_changed) break;
        const auto complain = [&](const char* what, EntityId entity) {
            wrong.push_back({"changed", what + (" " + name_of(entity)), one.id, entity});
        };
        std::set<EntityId> listed;
        for (std::size_t i = 0; i < one.changed.size(); ++i) {
            const EntityId entity = one.changed[i];
            if (entity == EntityId::none || alive(entity) == nullptr) {
                complain("unknown entity", entity);
                break;
            }
            if (!listed.insert(entity).second) complain("listed twice:", entity);
            if (one.changed_scores[i] != one.queried_scores[i])
                complain("another score when queried:", entity);
            if (!verdict(one.id, entity).relevant) complain("not relevant:", entity);
            if (!has_moved(entity) && !was_touched(entity))
                complain("no operation changed", entity);
        }
        for (const EntityId entity : oracle_.relevant(one.id)) {
            if (has_moved(entity) && listed.count(entity) == 0) complain("missing:", entity);
        }
    }
    stood_.clear();
    for (const EntityId entity : results.alive) {
        const check::EntityView& view = oracle_.unit_view(entity);
        if (view.has_position) stood_[view.id] = view.position;
    }
}

void RandomWorld::check_counts(const QueryResults& results, std::vector<Difference>& wrong) {
    if (!has(Feature::counts)) return;
    std::vector<std::uint32_t> now(entities_.size(), 0);
    for (const auto& observer : observers_) {
        for (const EntityId entity : oracle_.relevant(observer.id)) ++now[index_of(entity)];
    }
    counted_.resize(entities_.size(), 0);
    counted_clients_.resize(entities_.size(), EntityId::none);
    std::vector<EntityCount> counts;
    for (std::size_t i = 0; i < results.alive.size(); ++i) {
        const EntityId entity = results.alive[i];
        const std::uint32_t index = index_of(entity);
        const std::uint32_t before = counted_clients_[index] == entity ? counted_[index] : 0;
        counts.push_back({entity, before, now[index], results.counts[i]});
        counted_[index] = now[index];
        counted_clients_[index] = entity;
    }
    if (Difference found = compare_counts(counts, results.edges)) wrong.push_back(std::move(found));
}

void RandomWorld::check_inverse(const QueryResults& results, std::vector<Difference>& wrong) {
    for (const auto& [entity, observers] : results.inverse) {
        std::vector<ObserverId> expected;
        for (const auto& observer : observers_) {
            if (verdict(observer.id, entity).relevant) expected.push_back(observer.id);
        }
        if (Difference found = compare_inverse(entity, std::move(expected), observers))
            wrong.push_back(std::move(found));
    }
}

bool RandomWorld::is_hidden(const check::TruthObserver& observer,
                            const check::TruthEntity& unit) const {
    const auto& denied = observer.denied;
    if (std::find(denied.begin(), denied.end(), unit.id) != denied.end()) return true;
    if (unit.parent != EntityId::none) return true;  // never relevant without its ancestors
    return unit.force_hidden || unit.mode == EntityMode::explicit_only;
}

void RandomWorld::check_promises(const QueryResults& results, std::vector<Difference>& wrong) {
    if (promise_.is_empty()) return;
    std::vector<std::vector<bool>> members(entities_.size());
    for (const auto& unit : entities_) {
        if (unit.id == EntityId::none || unit.root != unit.id) continue;
        for (std::size_t n = 0; n < rules_.nodes.size(); ++n)
            members[index_of(unit.id)].push_back(oracle_.is_member(rules_.nodes[n], n, unit));
    }
    for (std::size_t o = 0; o < results.observers.size(); ++o) {
        const ObserverResults& one = results.observers[o];
        const check::ObserverView* observer = oracle_.observer_view(one.id);
        if (observer == nullptr) {
            promise_.forget(one.id);
            continue;
        }
        std::vector<bool> is_relevant(entities_.size(), false);
        for (const EntityId entity : one.relevant) is_relevant[index_of(entity)] = true;
        for (const auto& unit : entities_) {
            if (unit.id == EntityId::none || unit.root != unit.id) continue;
            const Promise::Pair pair{*observer, oracle_.unit_view(unit.id),
                                     is_hidden(observers_[o], unit),
                                     is_relevant[index_of(unit.id)]};
            if (Difference found = promise_.check(pair, members[index_of(unit.id)]))
                wrong.push_back(std::move(found));
        }
    }
}

void RandomWorld::check_positions(const QueryResults& results, std::vector<Difference>& wrong) {
    const check::Frame& frame = oracle_.frame();
    for (std::size_t i = 0; i < results.positions.size(); ++i) {
        const check::EntityView& unit = oracle_.unit_view(results.alive[i]);
        if (unit.has_position && frame.flat(results.positions[i]) != unit.position)
            wrong.push_back({"positions",
                             "position_of " + purview::test::name_of(unit.id) + " returns " +
                                 text_of(results.positions[i]) + ", expected " +
                                 text_of(unit.position),
                             ObserverId::none, unit.id});
    }
    if (!has(Feature::boxes)) return;
    const Vec3 min = frame.flat(results.box_min);
    const Vec3 max = frame.flat(results.box_max);
    std::vector<EntityId> expected;
    for (const auto& entity : entities_) {
        if (entity.id == EntityId::none || entity.root != entity.id) continue;
        const check::EntityView& unit = oracle_.unit_view(entity.id);
        const Vec3 at = unit.position;
        if (!unit.has_position || at.x < min.x || at.y < min.y || at.z < min.z) continue;
        if (at.x > max.x || at.y > max.y || at.z > max.z) continue;
        if (results.box_kind != KindId::none && entity.kind != results.box_kind) continue;
        expected.push_back(entity.id);
    }
    std::sort(expected.begin(), expected.end());
    if (Difference found = compare_sets(ObserverId::none, expected, results.box)) {
        found.check = "boxes";
        found.text = "entities_in " + text_of(results.box_min) + " to " + text_of(results.box_max) +
                     ": " + found.text;
        wrong.push_back(std::move(found));
    }
}

/// Checks rules with circles of the rule's radius. Positions within the margin may be covered.
void RandomWorld::check_covering(std::vector<Difference>& wrong) {
    if (!has(Feature::covering)) return;
    const Vec3 raw = random_position();
    const Vec3 position = oracle_.frame().flat(raw);
    std::vector<ObserverId> covering;
    manager_.observers_covering(raw, covering);
    ++operations["observers_covering"];
    if (def_.injected_fault == InjectedFault::covering) covering.clear();
    for (const auto& observer : observers_) {
        const check::ObserverView* view = oracle_.observer_view(observer.id);
        const bool is_reported =
            std::find(covering.begin(), covering.end(), observer.id) != covering.end();
        bool must = false;
        bool may = false;
        for (const NodeDef& node : rules_.nodes) {
            if (!node.enabled || view == nullptr || node.combine == Combine::subtract) continue;
            bool is_within = false;  // within a circle of the rule
            bool may_be_within = false;
            bool has_circle = false;
            bool has_else = node.dispatcher != nullptr || node.custom != nullptr;
            for (const Kernel& step : node.steps) {
                if (step.combine != Combine::add) continue;
                const Kernel& kernel = step;
                if (kernel.type != KernelType::distance || kernel.range != RangeFrom::kernel) {
                    has_else = true;
                    continue;
                }
                has_circle = true;
                for (const Vec3 from : view->from(kernel.view_from)) {
                    const float d = check::squared(position, from);
                    is_within = is_within || d <= kernel.enter * kernel.enter;
                    may_be_within = may_be_within || d <= kernel.leave * kernel.leave;
                }
            }
            if (node.combine == Combine::add) {
                must = must || is_within;
                may = may || may_be_within || has_else;
            } else if (has_circle || has_else) {
                must = must && is_within;
                may = may && (may_be_within || has_else);
            }
        }
        if (is_reported ? !(may || must) : must)
            wrong.push_back(
                {"covering",
                 std::string("observers_covering ") +
                     (is_reported ? "returns one observer too many" : "misses an observer"),
                 observer.id, EntityId::none});
    }
}

/// Queries for many entities equal single ones. If all nodes add, they also equal the oracle.
void RandomWorld::check_settings(std::vector<Difference>& wrong) {
    if (!has(Feature::settings)) return;
    if (const auto* observer = random_observer(); observer != nullptr) {
        std::vector<EntityId> queried;
        for (int i = 0; i < 6; ++i) {
            if (const auto* entity = random_entity(); entity != nullptr)
                queried.push_back(entity->id);
        }
        std::vector<float> score(queried.size());
        std::vector<Replication> settings(queried.size());
        internal(manager_).answers.score(observer->id, queried, score, settings);
        for (std::size_t i = 0; i < queried.size(); ++i) {
            ++operations["settings (list)"];
            if (!generous(settings[i],
                          internal(manager_).explainer.settings(observer->id, queried[i]))) {
                wrong.push_back({"settings", "settings of a list differ from single ones",
                                 observer->id, queried[i]});
            }
        }
    }
    if (level_ != InterestLevel::full) return;
    for (const NodeDef& node : rules_.nodes) {
        if (node.combine != Combine::add) return;
    }
    for (int i = 0; i < 6; ++i) {
        const auto* observer = random_observer();
        const auto* entity = random_entity();
        if (observer == nullptr || entity == nullptr) continue;
        const check::Verdict& now = verdict(observer->id, entity->id);
        if (now.stage == check::TruthStage::stay) continue;
        Replication should;
        bool any = false;
        for (std::size_t n = 0; n < rules_.nodes.size(); ++n) {
            if (now.stage != check::TruthStage::node || ((now.nodes >> n) & 1U) == 0) continue;
            if (any) {
                take(should, rules_.nodes[n].replication);
            } else {
                should = rules_.nodes[n].replication;
            }
            any = true;
        }
        Replication settings = internal(manager_).explainer.settings(observer->id, entity->id);
        if (def_.injected_fault == InjectedFault::settings) ++settings.every_ticks;
        ++operations["settings"];
        if (!generous(settings, should))
            wrong.push_back({"settings", "settings differ from the most generous ones",
                             observer->id, entity->id});
    }
}

void RandomWorld::check_trial(const QueryResults& results, std::vector<Difference>& wrong) {
    if (!in_trial_) return;
    if (def_.injected_fault == InjectedFault::trial && !trial_.gains.empty())
        trial_.gains.pop_back();
    // A minimum relevance time does not depend on rules. Trials may or may not include its end.
    std::map<std::uint32_t, std::set<EntityId>> kept = stays_at_;
    for (const ObserverResults& one : results.observers) {
        for (const EntityId entity : kept_by_time(oracle_.verdicts(one.id)))
            kept[static_cast<std::uint32_t>(one.id)].insert(entity);
    }
    const auto is_left_out = [&](ObserverId observer, EntityId entity) {
        return kept[static_cast<std::uint32_t>(observer)].count(entity) != 0;
    };
    std::map<std::uint32_t, std::set<EntityId>> after = relevant_before_;
    const auto change = [&](const RuleTrial::Pair& pair, bool gains) {
        std::set<EntityId>& set = after[static_cast<std::uint32_t>(pair.observer)];
        const bool is_new = gains ? set.insert(pair.entity).second : set.erase(pair.entity) != 0;
        if (is_new || is_left_out(pair.observer, pair.entity)) return;
        wrong.push_back(
            {"trial", gains ? "gains a relevant entity" : "loses an entity that was not relevant",
             pair.observer, pair.entity});
    };
    for (const RuleTrial::Pair& pair : trial_.losses) change(pair, false);
    for (const RuleTrial::Pair& pair : trial_.gains) change(pair, true);
    for (const ObserverResults& one : results.observers) {
        const std::set<EntityId>& set = after[static_cast<std::uint32_t>(one.id)];
        std::vector<EntityId> expected(set.begin(), set.end());
        std::vector<EntityId> now = one.relevant;
        const auto leave_out = [&](EntityId entity) { return is_left_out(one.id, entity); };
        std::erase_if(expected, leave_out);
        std::erase_if(now, leave_out);
        if (Difference found = compare_sets(one.id, expected, std::move(now))) {
            found.check = "trial";
            found.text = "try_rules: " + found.text;
            wrong.push_back(std::move(found));
        }
    }
    ++operations["try_rules (applied)"];
}

void RandomWorld::check_one_explanation(std::vector<Difference>& wrong) {
    const auto* entity = random_entity();
    const auto* observer = random_observer();
    if (entity == nullptr || observer == nullptr) return;
    Explanation why = manager_.explain(observer->id, entity->id);
    if (def_.injected_fault == InjectedFault::explain) why.relevant = !why.relevant;
    ++operations["explain"];
    if (why.relevant != manager_.is_relevant(observer->id, entity->id))
        wrong.push_back({"explain", "explain differs from the relevant set:\n" + why.text(),
                         observer->id, entity->id});
    bool any_node = false;
    for (const ExplainedNode& node : why.nodes) {
        any_node = any_node || node.result;
        if (!node.steps.empty() && (node.steps.back().so_far && node.is_member) != node.result)
            wrong.push_back({"explain",
                             "the result of a node differs from its last step:\n" + why.text(),
                             observer->id, entity->id});
    }
    if (why.stage == Stage::node && !any_node && !why.held)
        wrong.push_back({"explain", "no node decided:\n" + why.text(), observer->id, entity->id});
}

std::string RandomWorld::report(const Difference& difference) {
    std::string text = difference.check + ": " + difference.text + "\nseed " +
                       std::to_string(def_.seed) + ", tick " + std::to_string(tick_);
    if (difference.observer != ObserverId::none)
        text += ", observer " + purview::test::name_of(difference.observer);
    if (difference.entity != EntityId::none)
        text += ", entity " + purview::test::name_of(difference.entity);
    text += "\nrules " + purview::test::text_of(rules_);
    if (difference.observer != ObserverId::none && difference.entity != EntityId::none) {
        const check::Verdict& should = verdict(difference.observer, difference.entity);
        text += std::string("\noracle: ") + name_of(should.stage) +
                (should.relevant ? ", relevant" : ", not relevant");
        text += "\nengine: " + manager_.explain(difference.observer, difference.entity).text();
    }
    return text + "\noperations of this tick:" + trace;
}

std::string RandomWorld::compare() {
    if (!trouble_.empty()) {
        complaints.insert("status");
        return report({"status", std::exchange(trouble_, {}), ObserverId::none, EntityId::none});
    }
    if (depth_of(rules_) >= 3) shapes.insert(shape_of(rules_));
    reseed(7'000'000);
    QueryResults results;
    query(results);
    injected_fault(results);
    std::vector<Difference> wrong;
    check_events(results, wrong);
    check_sets(results, wrong);
    check_changed(results, wrong);
    check_counts(results, wrong);
    check_inverse(results, wrong);
    check_promises(results, wrong);
    check_positions(results, wrong);
    check_covering(wrong);
    check_settings(wrong);
    check_trial(results, wrong);
    check_one_explanation(wrong);
    if (wrong.empty()) return {};
    for (const Difference& one : wrong) complaints.insert(one.check);
    return report(wrong.front());
}

// -- suggested changes of explanations ----------------------------------------------------------

void RandomWorld::apply(const WhatIf& change, check::TruthObserver& observer,
                        check::TruthEntity& entity) {
    const auto edit_list = [&](std::vector<EntityId>& list) {
        if (change.value) {
            list.push_back(entity.id);
        } else {
            std::erase(list, entity.id);
        }
    };
    if (def_.injected_fault == InjectedFault::suggestion) return;
    switch (change.type) {
        case WhatIfType::ready:
            observer.ready = change.value;
            observer.times_ready += change.value ? 1 : 0;
            return expect(manager_.set_ready(observer.id, change.value), "set_ready");
        case WhatIfType::deny:
            edit_list(observer.denied);
            return expect(manager_.deny(observer.id, entity.id, change.value), "deny");
        case WhatIfType::allow:
            edit_list(observer.allowed);
            return expect(manager_.allow(observer.id, entity.id, change.value), "allow");
        case WhatIfType::owner:
            entity.owner = change.value ? observer.id : ObserverId::none;
            return expect(manager_.set_owner(entity.id, entity.owner), "set_owner");
        case WhatIfType::force_hide:
            entity.force_hidden = change.value;
            return expect(manager_.set_hidden(entity.id, change.value), "set_hidden");
        case WhatIfType::show_to_all:
            entity.shown_to_all = change.value;
            return expect(manager_.show_to_all(entity.id, change.value), "show_to_all");
        case WhatIfType::sees_everything:
            observer.sees_everything = change.value;
            return expect(manager_.set_unculled(observer.id, change.value), "set_unculled");
        case WhatIfType::flag:
            entity.flags ^= static_cast<std::uint16_t>(1U << index_of(change.flag));
            return expect(manager_.set_flag(entity.id, change.flag, change.value), "set_flag");
        case WhatIfType::key:
            entity.keys[index_of(change.domain)] = change.key;
            return expect(manager_.set_key(entity.id, change.domain, change.key), "set_key");
        case WhatIfType::move:
            entity.position = change.position;
            note_entity(entity);
            return expect(manager_.move(entity.id, change.position), "move");
        case WhatIfType::explicit_only:
            entity.mode = change.value ? EntityMode::explicit_only : EntityMode::nodes;
            return expect(manager_.set_mode(entity.id, entity.mode), "set_mode");
        case WhatIfType::number:
            entity.values[index_of(change.number)] = change.to;
            return expect(manager_.set_value(entity.id, change.number, change.to), "set_value");
    }
}

std::string RandomWorld::check_explain(std::uint32_t pairs) {
    for (std::uint32_t i = 0; i < pairs; ++i) {
        reseed(8'000'000 + i);
        auto* entity = random_entity();
        auto* observer = random_observer();
        if (entity == nullptr || observer == nullptr) return {};
        const EntityId entity_id = entity->id;
        const ObserverId observer_id = observer->id;
        const Explanation why = manager_.explain(observer_id, entity_id);
        const bool was_relevant = manager_.is_relevant(observer_id, entity_id);
        ++explained;
        if (why.relevant != was_relevant)
            return report({"explain", "differs from the relevant set", observer_id, entity_id});
        if (why.single.empty() && why.pair.empty()) {
            ++explained_without_change;
            continue;
        }
        // Applies one suggested change and nothing else: the result must flip.
        trace = " explain";
        born_.clear();
        removed_.clear();
        in_trial_ = false;
        auto* unit = &entities_[index_of(why.unit)];
        const bool is_split = unit->root == unit->id && unit->parent != EntityId::none;
        const bool is_split_group = is_split || !splits_below(unit->id).empty();
        turned_split_group += is_split_group ? 1 : 0;
        turned_split_group_by_pair += is_split_group && why.single.empty() ? 1 : 0;
        const auto carry_out = [&](const WhatIf& change) {
            trace += " " + change.what + ";";
            apply(change, *observer, *unit);
        };
        if (why.single.empty()) {
            for (const WhatIf& change : why.pair) carry_out(change);
            ++turned_by_pair;
        } else {
            const auto at = random_.below(static_cast<std::uint32_t>(why.single.size()));
            carry_out(why.single[at]);
            ++turned_by[why.single[at].type];
        }
        ++tick_;
        decide();
        if (std::string wrong = compare(); !wrong.empty()) return wrong;
        if (manager_.is_relevant(observer_id, entity_id) == was_relevant) {
            complaints.insert("suggestion");
            return report(
                {"suggestion", "does not flip the result:\n" + why.text(), observer_id, entity_id});
        }
    }
    return {};
}

}  // namespace purview::test
