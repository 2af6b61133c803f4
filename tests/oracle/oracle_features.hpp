// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The features of a random world. Each can be disabled, to narrow down a failure or to leave out a
// feature under development.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace purview::test {

enum class Feature : std::uint8_t {
    groups,        ///< join_unit, leave_unit
    own_kernels,   ///< custom kernels, recheck, rescan
    binding,       ///< node bindings of kinds and entities
    kinds,         ///< kinds with modes, ranges, owner_sees
    combine,       ///< nodes that combine in order, disabled nodes
    dispatchers,   ///< nodes with inner nodes
    custom_nodes,  ///< custom nodes, set_node_pair, rescan_node
    shapes,        ///< areas with a shape, and their kernel
    areas,         ///< areas that follow or end, set_areas, single_area
    viewpoints,    ///< Viewpoints other than the default
    ranges,        ///< ranges of entities and observers
    axes,          ///< xz and xyz
    values,        ///< numbers of entities, and their kernel
    owner_kernel,  ///< KernelType::owner
    cells,         ///< neighborhoods of cells
    hexagons,
    sight,              ///< line of sight, lookahead, velocities
    more_keys,          ///< extra keys
    modes,              ///< global, explicit only
    level,              ///< set_level
    minimum_relevance,  ///< minimum_relevance_ticks
    position_sources,   ///< set_position_source
    dormant,            ///< Refresh::dormant, update
    new_rules,          ///< set_rules
    trials,             ///< try_rules
    counts,             ///< observer_count, edges
    score,              ///< relevance scores
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
    abstract_sources,   ///< position sources of and to abstract entities
    moved_steps,        ///< set_rules with steps at other positions of their node
    custom_trials,      ///< try_rules with custom nodes
    chains,             ///< chains of position sources
    other_kind,         ///< leave_unit with another kind
    fewer_nodes,        ///< set_rules with fewer nodes
    single_area,        ///< Rules::single_area
    statuses,           ///< statuses of calls with invalid numbers
    nested,             ///< join_unit of entities that have members
    reasons,            ///< reasons of events
    no_adds,            ///< nodes with another first step than add, or no add
    splits,             ///< kinds that are culled independently
    bounds,             ///< kinds that use the bounds of their group
    many_nodes,         ///< more bound nodes than columns, some with equal steps
    count               ///< the number of features
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

/// The features that the engine supports.
Features engine_features();

/// Parses "all" or names separated by commas. A minus before a name removes it from all. Returns
/// false for an unknown name.
bool parse_features(std::string_view text, Features& out);

}  // namespace purview::test
