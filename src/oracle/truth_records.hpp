// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Plain records of a world, as the truth check reads them: what is true of an entity and of an
// observer, and nothing that follows from it. Whoever keeps the world fills them in.
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

/// A group beside the one of the key column; as often in a list as it was added.
struct TruthKey {
    KeyId domain = KeyId::none;
    Key key = Key::none;
    friend bool operator==(const TruthKey&, const TruthKey&) = default;
};

struct TruthEntity {
    EntityId id = EntityId::none;    ///< none: nobody lives under this index
    EntityId root = EntityId::none;  ///< of its unit: itself, or whom it is judged with
    /// In its group. Of a member of a unit, none: the unit's root. Of a unit: whom it is below, as
    /// a split member; none: nobody.
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
    float range = 0;           ///< in force, as the mode; 0: the rule's
    float group_radius_m = 0;  ///< of its group, as far as they count
    Vec3 position;
    std::array<float, values_max> values{};
    std::vector<TruthKey> more_keys;
    std::vector<NodeId> nodes;            ///< bound to these
    bool orphaned = false;                ///< bound to none, and not the default node's either
    EntityId stands_at = EntityId::none;  ///< its place override
    Vec3 velocity;                        ///< metres a second
    /// Its own place as dormant nodes know it: where it stood when it was not dormant last, or
    /// appeared, left a group, was updated or ceased to stand elsewhere since. Without it the
    /// oracle goes by the places that it was given, and knows of no updates.
    std::optional<Vec3> heard_position;
};

/// An area of interest, with what the record's keeper needs to know of it.
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
    std::uint32_t times_ready = 0;  ///< how often it became ready: kernels forget in between
    bool sees_everything = false;
    EntityId main = EntityId::none;
    std::vector<TruthArea> areas;
    std::array<Key, Schema::keys_max> own_keys{};
    std::vector<TruthKey> more_keys;
    std::vector<EntityId> allowed;
    std::vector<EntityId> denied;
    float range = 0;        ///< 0: the rule's
    float lookahead_s = 0;  ///< of predictive line of sight
};

/// What is the same for the whole world and all rules.
struct TruthDef {
    std::vector<KindRules> kinds;  ///< by KindId
    bool ready_requires_viewpoint = false;
    InterestLevel level = InterestLevel::full;
    bool owner_sees = true;  ///< false: owning shows nothing, whatever the kind says
};

// -- bindings: the words of the manager's calls, on a record (N3 N8 N40 N42)
// ------------------------

/// As an entity is bound when it appears: kind and place in `kinds` must be set before.
void bind_new(TruthEntity& entity, const std::vector<KindRules>& kinds, std::span<const NodeId> own,
              bool replaces_kind_nodes);
void bind(TruthEntity& entity, NodeId node);
/// False: it was not bound to it. Without its last node it is orphaned.
bool unbind(TruthEntity& entity, NodeId node);
void bind_exactly(TruthEntity& entity, std::span<const NodeId> nodes);
void bind_default(TruthEntity& entity);

// -- bounds of groups (O22) -----------------------------------------------------------------------

/// Of every root of a kind that counts by its bounds: the largest distance of a member's place from
/// its own, along all axes, and `max_m` at most; of anybody else 0. [entities] by index, with all
/// but the bounds set.
void measure_bounds(std::vector<TruthEntity>& entities, const std::vector<KindRules>& kinds,
                    float max_m);

}  // namespace purview::check
