// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Plain records of a world for the oracle: the attributes of each entity and observer, without
// anything derived from them. The owner of the world fills them in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "purview/area.hpp"
#include "purview/interest.hpp"
#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace purview::check {

inline constexpr std::size_t values_max = 8;

/// A key besides the one in the key column, listed as often as it was added.
struct TruthKey {
    KeyId domain = KeyId::none;
    Key key = Key::none;
    friend bool operator==(const TruthKey&, const TruthKey&) = default;
};

struct TruthEntity {
    EntityId id = EntityId::none;    ///< none: no entity has this index
    EntityId root = EntityId::none;  ///< its cull group: itself, or the root it is evaluated with
    /// The parent in its group. For a member without a slot, none means the root. For a cull group,
    /// it is the entity that it is below as an independently culled member, or none.
    EntityId parent = EntityId::none;
    ObserverId owner = ObserverId::none;
    bool has_position = true;
    bool force_hidden = false;
    bool shown_to_all = false;
    EntityMode mode = EntityMode::nodes;  ///< in force: its own, its kind's, or set since
    std::uint16_t flags = 0;
    KindId kind = KindId::none;
    std::array<Key, Schema::keys_max> keys{};
    std::uint32_t joins = 0;   ///< how often it became a member of a group
    float range = 0;           ///< in force, like `mode`; 0: that of the rule
    float group_radius_m = 0;  ///< of its group, with KindRules::uses_group_radius
    Vec3 position;
    std::array<float, values_max> values{};
    std::vector<TruthKey> more_keys;
    std::vector<NodeId> nodes;            ///< bound to these
    bool orphaned = false;                ///< bound to no node, and default nodes do not apply
    EntityId stands_at = EntityId::none;  ///< the entity that it takes its position from
    Vec3 velocity;                        ///< meters per second
    /// Its own position as dormant nodes use it: that of the last tick in which it was not dormant,
    /// spawned, left a group, was updated, or stopped following another entity. Without this value,
    /// the oracle uses the recorded positions and ignores updates.
    std::optional<Vec3> received_position;
};

/// An area of interest, with data for the owner of the record.
struct TruthArea {
    TruthArea() = default;
    TruthArea(Vec3 position) : area(Area::at(position)) {}  // NOLINT: implicit on purpose
    TruthArea(const Area& what, std::uint32_t under, Tick first)
        : area(what), key(under), first_tick(first) {}

    Area area;
    std::uint32_t key = 0;
    Tick first_tick = 0;  ///< the first tick in which it counts
};

struct TruthObserver {
    ObserverId id = ObserverId::none;
    bool ready = false;
    std::uint32_t times_ready = 0;  ///< how often it became ready; this resets kernel memory
    bool sees_everything = false;
    EntityId main = EntityId::none;
    std::vector<TruthArea> areas;
    std::array<Key, Schema::keys_max> own_keys{};
    std::vector<TruthKey> more_keys;
    std::vector<EntityId> allowed;
    std::vector<EntityId> denied;
    float range = 0;        ///< 0: the rule's
    float lookahead_s = 0;  ///< for predictive line of sight
};

/// Settings for the whole world and all rules.
struct TruthDef {
    std::vector<KindRules> kinds;  ///< by KindId
    bool ready_requires_viewpoint = false;
    InterestLevel level = InterestLevel::full;
    bool owner_sees = true;  ///< false: owned entities are not relevant, for any kind
};

// -- bindings: the calls of InterestManager, applied to a record ----------------------------------

/// Binds a new entity. `kind` must be set before. `own`: its nodes besides those of its kind, or
/// instead of them if `replaces_kind_nodes`.
void bind_new(TruthEntity& entity, const std::vector<KindRules>& kinds, std::span<const NodeId> own,
              bool replaces_kind_nodes);
void bind(TruthEntity& entity, NodeId node);
/// Returns false if it was not bound to the node. Without its last node it is orphaned.
bool unbind(TruthEntity& entity, NodeId node);
void bind_exactly(TruthEntity& entity, std::span<const NodeId> nodes);
void bind_default(TruthEntity& entity);

// -- bounds of groups -----------------------------------------------------------------------------

/// Sets the bounds of every root of a kind with KindRules::uses_group_radius: the largest distance
/// of a member's position from its own, along all axes, at most `max_m`. Any other entity gets 0.
/// [entities] by index, with all but the bounds set.
void measure_bounds(std::vector<TruthEntity>& entities, const std::vector<KindRules>& kinds,
                    float max_m);

}  // namespace purview::check
