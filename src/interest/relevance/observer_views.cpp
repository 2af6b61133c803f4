// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relevance/observer_views.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/finite.hpp"
#include "core/prefetch.hpp"
#include "core/run_chunks.hpp"
#include "core/trim.hpp"
#include "core/validate.hpp"
#include "purview/status.hpp"
#include "spatial/move.hpp"

namespace purview {

void ObserverViews::collect_owned(std::uint32_t o, std::vector<EntityId>& out) const {
    out.clear();
    pairs_.for_each_of_observer(o, [&](EntityId unit, const PairEntry& pair) {
        if (pair.owned > 0 || pair.owned_blind > 0) out.push_back(unit);
    });
    std::sort(out.begin(), out.end(),
              [](EntityId a, EntityId b) { return index_of(a) < index_of(b); });
}

/// Collects where the observer views from in `tick`, without areas that have ended by then.
void ObserverViews::collect(std::uint32_t o, Sight& sight, Tick tick) const {
    const Observer& observer = observers_[o];
    sight.positions.clear();
    sight.areas.clear();
    sight.owned.clear();
    const EntityId main_unit =
        observer.main == EntityId::none ? EntityId::none : lookup_.unit_of(observer.main);
    const auto put = [&](EntityId unit) {
        const Slot slot = table_.slot_of(unit);
        if (slot == no_slot || !table_.will_be_positioned(slot)) return false;
        sight.positions.push_back(table_.position(slot));
        return true;
    };
    if (program_.needs_owned) {
        collect_owned(o, sight.owned);
        for (const EntityId unit : sight.owned) {
            if (program_.looks_from_owned && unit != main_unit) put(unit);
        }
    }
    sight.owned_positions = sight.positions.size();
    sight.main_positions = main_unit != EntityId::none && put(main_unit) ? 1 : 0;
    for (const KeyedArea& one : observer.areas) {
        if (one.ends != 0 && one.ends < tick) continue;
        Vec3 center = one.area.center;
        if (one.area.follow != EntityId::none) {
            const Slot slot = table_.slot_of(lookup_.unit_of(one.area.follow));
            if (slot == no_slot || !table_.will_be_positioned(slot)) continue;
            const Vec3 at = table_.position(slot);
            center = {center.x + at.x, center.y + at.y, center.z + at.z};
            if (!is_finite(center)) continue;  // each is finite, but their sum is not
        }
        if (one.area.shape == AreaShape::position) {
            sight.positions.push_back(center);
        } else {
            sight.areas.push_back(one.area);
            sight.areas.back().center = center;
        }
    }
    if (facts_table_.axes != Axes::xz) return;
    sight.outer.clear();
    for (std::size_t i = sight.owned_positions; i < sight.positions.size(); ++i)
        sight.outer.push_back(exchanged(Axes::xz, sight.positions[i]));
    sight.outer_areas = sight.areas;
    for (Area& area : sight.outer_areas) {
        for (Vec3* one : {&area.center, &area.half_size, &area.direction})
            *one = exchanged(Axes::xz, *one);
    }
}

ScanInput ObserverViews::input_of(std::uint32_t o, const Sight& sight) const noexcept {
    const Observer& observer = observers_[o];
    PURVIEW_ASSERT(sight.main_positions <= 1);
    PURVIEW_ASSERT(sight.owned_positions + sight.main_positions <= sight.positions.size());
    ScanInput input{.table = table_, .facts = facts_table_, .program = program_};
    input.observer_index = o;
    input.observer = observers_.id_of(o);
    input.views = {sight.positions, sight.owned_positions, sight.main_positions};
    input.keys = std::span(observer.keys).first(rules_.key_names.size());
    input.context.outer_positions = facts_table_.axes == Axes::xz
                                        ? std::span<const Vec3>(sight.outer)
                                        : input.views.of(Viewpoints::entity_and_points);
    input.context.areas = sight.areas;
    input.context.outer_areas = facts_table_.axes == Axes::xz ? sight.outer_areas : sight.areas;
    if (facts_table_.more_keys.any() || observers_.any_more_keys())
        input.context.more_keys = observer.more_keys;
    input.context.main = observer.main;
    input.context.range = observer.range;
    input.context.lookahead_s = observer.lookahead_s;
    if (observer.main != EntityId::none && !facts_table_.velocities.empty())
        input.context.velocity = facts_table_.velocity(lookup_.unit_of(observer.main));
    input.context.tick = tick_;
    input.context.owned = sight.owned;
    input.is_forced = observer.needs_scan || has_custom_queries_;
    input.nodes = program_.nodes;
    input.classes = program_.classes;
    input.skips_empty = program_.skips_empty;
    input.any_cut = counts_.no_window > 0;
    input.pairs = pairs_.size() > 0 ? &pairs_ : nullptr;
    input.range_classes = rules_.range_classes;
    input.bounds_layer = layers_.bounds;
    input.bounds_max_m = rules_.group_radius_max;
    input.rules_revision = rules_revision_;
    input.new_lanes = new_units_.lanes();
    return input;
}

}  // namespace purview
