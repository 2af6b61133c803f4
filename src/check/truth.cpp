// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "check/truth.hpp"

#include <algorithm>

namespace purview::check {

namespace {

std::uint32_t number(ObserverId id) {
    return static_cast<std::uint32_t>(id);
}

/// The definition of distance that every part of the library keeps: float arithmetic on the plane.
float squared(Vec3 a, Vec3 b) {
    const float dx = a.x - b.x;
    const float dy = a.y - b.y;
    return dx * dx + dy * dy;
}

bool contains(const std::vector<EntityId>& list, EntityId entity) {
    return std::find(list.begin(), list.end(), entity) != list.end();
}

}  // namespace

TruthOracle::TruthOracle(InterestRules rules, std::uint32_t ticks_between_max)
    : rules_(std::move(rules)), ticks_between_max_(ticks_between_max) {}

std::vector<Vec3> TruthOracle::places_of(const TruthObserver& observer,
                                         const std::vector<TruthEntity>& entities) {
    std::vector<Vec3> places;
    const std::uint32_t main = index_of(observer.main);
    if (observer.main != EntityId::none && main < entities.size() &&
        entities[main].id == observer.main) {
        const TruthEntity& unit = entities[index_of(entities[main].root)];
        if (unit.placed) places.push_back(unit.place);
    }
    places.insert(places.end(), observer.areas.begin(), observer.areas.end());
    return places;
}

void TruthOracle::record(Tick tick, const std::vector<TruthEntity>& entities,
                         const std::vector<TruthObserver>& observers) {
    entities_ = entities;
    observers_ = observers;
    Snapshot snapshot;
    snapshot.tick = tick;
    snapshot.entities.reserve(entities.size());
    for (const TruthEntity& entity : entities) {
        snapshot.entities.push_back(
            {entity.id, entity.place, entity.placed && entity.root == entity.id, entity.joins});
    }
    for (const TruthObserver& observer : observers) {
        if (observer.ready) {
            snapshot.observers[number(observer.id)] = {places_of(observer, entities),
                                                       observer.times_ready};
        }
    }
    history_.push_back(std::move(snapshot));
    while (history_.size() > ticks_between_max_ + 1U) history_.pop_front();
}

/// Between enter and leave the past decides: the last moment when it was not between.
bool TruthOracle::was_near(ObserverId observer, const KernelDesc& kernel, std::size_t distance_step,
                           std::uint32_t index) const {
    const float enter = kernel.enter_m * kernel.enter_m;
    const float leave = kernel.leave_m * kernel.leave_m;
    const PlaceRecord& now = history_.back().entities[index];
    const auto memory = memories_.find(number(observer));
    const std::uint32_t times_ready = history_.back().observers.at(number(observer)).times_ready;
    for (std::size_t back = 1; back < history_.size(); ++back) {
        const Snapshot& then = history_[history_.size() - 1 - back];
        const auto places = then.observers.find(number(observer));
        if (places == then.observers.end() || places->second.times_ready != times_ready)
            return false;
        if (index >= then.entities.size()) return false;
        const PlaceRecord& entity = then.entities[index];
        if (entity.id != now.id || entity.joins != now.joins || !entity.is_placed_unit)
            return false;
        if (memory != memories_.end() && memory->second.tick == then.tick) {
            const auto& yes = memory->second.yes[distance_step];
            return index < yes.size() && yes[index];
        }
        bool inside_leave = false;
        for (const Vec3 place : places->second.places) {
            const float distance = squared(entity.place, place);
            if (distance <= enter) return true;
            inside_leave |= distance <= leave;
        }
        if (!inside_leave) return false;
    }
    return false;  // not known before the records begin: it was not there
}

bool TruthOracle::is_near(const TruthObserver& observer, const std::vector<Vec3>& places,
                          const KernelDesc& kernel, std::size_t distance_step,
                          const TruthEntity& unit) const {
    bool inside_leave = false;
    for (const Vec3 place : places) {
        const float distance = squared(unit.place, place);
        if (distance <= kernel.enter_m * kernel.enter_m) return true;
        inside_leave |= distance <= kernel.leave_m * kernel.leave_m;
    }
    return inside_leave && was_near(observer.id, kernel, distance_step, index_of(unit.id));
}

bool TruthOracle::nodes_say(const TruthObserver& observer, const std::vector<Vec3>& places,
                            const std::array<Key, Schema::keys_max>& keys, const TruthEntity& unit,
                            Memory& memory) const {
    bool any = rules_.nodes.empty() || observer.sees_everything;
    std::size_t distance_step = 0;
    for (const NodeDesc& node : rules_.nodes) {
        bool result = node.steps.empty();
        for (const StepDesc& step : node.steps) {
            bool yes = false;
            bool unknown = false;
            switch (step.kernel.type) {
                case KernelType::distance:
                    unknown = places.empty() || !unit.placed;
                    yes = !unknown && is_near(observer, places, step.kernel, distance_step, unit);
                    memory.yes[distance_step][index_of(unit.id)] = yes;
                    ++distance_step;
                    break;
                case KernelType::same_group: {
                    const Key key = unit.keys[index_of(step.kernel.domain)];
                    yes = key != Key::none && key == keys[index_of(step.kernel.domain)];
                    break;
                }
                case KernelType::flag:
                    yes = ((unit.flags >> index_of(step.kernel.flag)) & 1U) != 0;
                    break;
                case KernelType::custom: {
                    const CustomAnswer said = custom_(step.kernel, observer, places, unit);
                    yes = said == CustomAnswer::yes;
                    unknown = said == CustomAnswer::unknown;
                    break;
                }
                default:
                    break;
            }
            switch (step.op) {
                case StepOp::add:
                    result = result || (yes && !unknown);
                    break;
                case StepOp::require:
                    result = result && yes && !unknown;
                    break;
                case StepOp::subtract:
                    result = result && !yes && !unknown;
                    break;
            }
        }
        any = any || result;
    }
    return any;
}

std::vector<EntityId> TruthOracle::relevant(ObserverId id) {
    std::vector<EntityId> out;
    const auto found = std::find_if(observers_.begin(), observers_.end(),
                                    [&](const TruthObserver& o) { return o.id == id; });
    if (found == observers_.end() || !found->ready) {
        memories_.erase(number(id));
        return out;
    }
    const TruthObserver& observer = *found;
    std::size_t distance_steps = 0;
    for (const NodeDesc& node : rules_.nodes) {
        for (const StepDesc& step : node.steps) {
            if (step.kernel.type == KernelType::distance) ++distance_steps;
        }
    }
    Memory memory;
    memory.tick = history_.back().tick;
    memory.yes.assign(distance_steps, std::vector<bool>(entities_.size(), false));
    const std::vector<Vec3>& places = history_.back().observers.at(number(id)).places;
    std::array<Key, Schema::keys_max> keys = observer.own_keys;
    if (observer.main != EntityId::none && index_of(observer.main) < entities_.size() &&
        entities_[index_of(observer.main)].id == observer.main) {
        keys = entities_[index_of(entities_[index_of(observer.main)].root)].keys;
    }
    std::vector<bool> owned(entities_.size(), false);  // units with a member that the observer owns
    for (const TruthEntity& entity : entities_) {
        if (entity.id != EntityId::none && entity.owner == id) owned[index_of(entity.root)] = true;
    }
    std::vector<bool> shown(entities_.size(), false);
    for (const TruthEntity& unit : entities_) {
        if (unit.id == EntityId::none || unit.root != unit.id) continue;
        ++pairs_evaluated_;
        const bool by_nodes = nodes_say(observer, places, keys, unit, memory);
        bool relevant = false;
        if (contains(observer.denied, unit.id)) {
            relevant = false;
        } else if (owned[index_of(unit.id)]) {
            relevant = true;
        } else if (!unit.force_hidden) {
            relevant = unit.shown_to_all || contains(observer.allowed, unit.id) ||
                       (by_nodes && !unit.explicit_only);
        }
        shown[index_of(unit.id)] = relevant;
    }
    for (const TruthEntity& entity : entities_) {
        if (entity.id != EntityId::none && shown[index_of(entity.root)]) out.push_back(entity.id);
    }
    std::sort(out.begin(), out.end());
    memories_[number(id)] = std::move(memory);
    return out;
}

}  // namespace purview::check
