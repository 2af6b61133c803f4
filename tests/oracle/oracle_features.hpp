// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a random world may contain, each part by itself: so that a finding can be narrowed down, and
// a part that is being built can be left out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace purview::test {

enum class Feature : std::uint8_t {
    groups,        ///< join_unit, leave_unit
    own_kernels,   ///< custom kernels, recheck, rescan
    binding,       ///< members of nodes, kinds' and own
    kinds,         ///< kinds with modes, ranges, owner_sees
    combine,       ///< nodes that count in order, nodes switched off
    dispatchers,   ///< nodes of nodes
    custom_nodes,  ///< nodes of our own, set_node_pair, rescan_node
    shapes,        ///< areas with a shape, and their kernel
    areas,         ///< areas that follow or end, set_areas, single_area
    look_from,     ///< Viewpoints other than the default
    ranges,        ///< ranges of entities and observers
    axes,          ///< xz and xyz
    values,        ///< numbers of entities, and their kernel
    owner_kernel,  ///< KernelType::owner
    neighborhood,  ///< cells
    hexagons,
    sight,              ///< line of sight, lookahead, velocities
    more_keys,          ///< overlapping groups
    modes,              ///< global, explicit only
    level,              ///< set_level
    min_stay,           ///< minimum_relevance_ticks
    overrides,          ///< set_position_source
    dormant,            ///< Refresh::dormant, update
    new_rules,          ///< set_rules
    trials,             ///< try_rules
    counts,             ///< observer_count, edges
    score,              ///< strength
    changed,            ///< measure_scores, changed_scores
    inverse,            ///< observers_of
    visits,             ///< for_each_relevant
    settings,           ///< settings of nodes
    boxes,              ///< entities_in
    covering,           ///< observers_covering
    columns,            ///< move(PositionColumns)
    positions,          ///< position_of
    executors,          ///< set_executor
    needs_entity,       ///< ready_requires_viewpoint
    no_place_to_stand,  ///< overrides of and to what has no place
    moved_steps,        ///< set_rules with steps at other positions of their node
    custom_trials,      ///< try_rules with nodes of our own
    chains,             ///< overrides of overrides
    other_kind,         ///< leave_unit with another kind than it had
    fewer_nodes,        ///< set_rules with fewer nodes
    single_area,        ///< Rules::single_area
    statuses,           ///< of bad calls with numbers
    nested,             ///< join_unit of what has members
    reasons,            ///< of events
    no_adds,            ///< nodes that do not begin with an add, or have none
    splits,             ///< kinds of split members
    bounds,             ///< kinds whose groups count by their bounds
    many_nodes,         ///< more bound nodes than have a column each, some with equal steps
    count               ///< how many there are
};

std::string_view to_string(Feature feature);

class Features {
  public:
    constexpr Features() = default;
    constexpr Features(std::initializer_list<Feature> list) {
        for (const Feature feature : list) bits_ |= bit(feature);
    }
    static constexpr Features all() {
        Features features;
        features.bits_ = bit(Feature::count) - 1;
        return features;
    }
    constexpr bool has(Feature feature) const { return (bits_ & bit(feature)) != 0; }
    constexpr Features with(Feature feature) const {
        Features features = *this;
        features.bits_ |= bit(feature);
        return features;
    }
    constexpr Features without(Feature feature) const {
        Features features = *this;
        features.bits_ &= ~bit(feature);
        return features;
    }
    constexpr Features both(Features other) const {
        other.bits_ &= bits_;
        return other;
    }
    constexpr bool operator==(const Features&) const = default;

  private:
    static constexpr std::uint64_t bit(Feature feature) {
        return std::uint64_t{1} << static_cast<unsigned>(feature);
    }
    std::uint64_t bits_ = 0;
};

/// All that the engine is asked to do.
Features engine_features();

/// "all", or names with commas in between, each with a minus before it to leave it out of all.
/// False: there is no such name.
bool parse_features(std::string_view text, Features& out);

}  // namespace purview::test
