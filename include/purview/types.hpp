// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Ids, passed by value, and the small types that all parts share. Every id type has `none` = 0,
/// and a value-initialized id is `none`. Ids of a schema or of rules count from 1; index_of()
/// returns their index, counted from 0. An id with a generation is never reused. Storage behind it
/// may move or be reused; a stale id returns Status::stale_id.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace purview {

/// @addtogroup api_common
/// @{

/// The id of a replicated entity. Low 32 bits: index into the entity table. High 32 bits:
/// generation, from 1.
enum class EntityId : std::uint64_t { none = 0 /**< no entity */ };

/// The id of an observer, which receives state: a client, a spectator, a recorder. Low 20 bits:
/// index. High 12 bits: generation, from 1.
enum class ObserverId : std::uint32_t { none = 0 /**< no observer */ };

/// The id of a kind of entity (a prefab): its components, and how it is replicated.
enum class KindId : std::uint16_t { none = 0 /**< no kind */ };

/// The id of a component of the schema.
enum class ComponentId : std::uint16_t { none = 0 /**< no component */ };

/// The id of an input type of the schema.
enum class InputId : std::uint8_t { none = 0 /**< no input type */ };

/// The id of an RPC type of the schema.
enum class RpcId : std::uint16_t { none = 0 /**< no RPC type */ };

/// The id of a yes/no attribute that interest may read, for example cloaked. At most 16.
enum class FlagId : std::uint8_t { none = 0 /**< no flag */ };

/// The id of a key attribute that interest may read, for example team, match or room. At most 8.
enum class KeyId : std::uint8_t { none = 0 /**< no key attribute */ };

/// The value of a key attribute, for example the number of a team.
enum class Key : std::uint16_t { none = 0 /**< matches nothing, not even another `none` */ };

/// The id of a number attribute that interest may read, for example level or height. At most 8.
enum class ValueId : std::uint8_t { none = 0 /**< no value */ };

/// The id of a node of the rules.
enum class NodeId : std::uint16_t { none = 0 /**< no node */ };

/// The number of a simulation step. 32 bits last for more than a year at 128 Hz.
using Tick = std::uint32_t;

/// A time in microseconds since any fixed moment. The caller passes it; the library has no clock.
/// The clock must be monotonic (std::chrono::steady_clock): after a step back no timeout fires
/// until it has caught up.
using Micros = std::uint64_t;

/// A position or vector in world units (meters in all examples). Calls refuse values that are not
/// finite.
struct Vec3 {
    float x = 0;  ///< first coordinate
    float y = 0;  ///< second coordinate; ignored by rules with Axes::xz
    float z = 0;  ///< third coordinate; ignored by rules with Axes::xy
    /// Compares coordinate by coordinate.
    friend constexpr bool operator==(const Vec3&, const Vec3&) = default;
};

/// A rotation as a unit quaternion; the default is no rotation. Replication normalizes it. If its
/// length is not finite or at most 1e-6, it is replicated as no rotation.
struct Rotation {
    float x = 0;  ///< axis.x * sin(angle / 2)
    float y = 0;  ///< axis.y * sin(angle / 2)
    float z = 0;  ///< axis.z * sin(angle / 2)
    float w = 1;  ///< cos(angle / 2)
    /// Compares part by part: a quaternion and its negative differ, although they turn alike.
    friend constexpr bool operator==(const Rotation&, const Rotation&) = default;
};

/// One per-observer override, for Visibility::allow and Visibility::deny.
struct PairEdit {
    ObserverId observer;  ///< the observer of the pair
    EntityId entity;      ///< the entity of the pair
    bool value;           ///< true: set the override; false: remove it
};

/// Returns the id of an entity with this index and generation. A live entity has a generation of 1
/// or more.
constexpr EntityId make_entity_id(std::uint32_t index, std::uint32_t generation) noexcept {
    return EntityId{(std::uint64_t{generation} << 32) | index};
}
/// The number of bits of an ObserverId that hold the index.
inline constexpr std::uint32_t observer_index_bits = 20;

/// Returns the index of an id, from 0. Indices of one type are small and dense. For `none` the
/// index is larger than any other, so that it fails every bounds check. Exceptions: it is 0 for
/// EntityId::none and ObserverId::none, and the index of a Key is its number.
template <class Id>
requires requires {
    Id::none;
}
constexpr std::uint32_t index_of(Id id) noexcept {
    const auto number = static_cast<std::uint32_t>(id);
    if constexpr (std::is_same_v<Id, EntityId> || std::is_same_v<Id, Key>) {
        return number;
    } else if constexpr (std::is_same_v<Id, ObserverId>) {
        return number & ((1U << observer_index_bits) - 1);
    } else {
        return number - 1;
    }
}
/// Returns the id with this index; `none` if the type cannot hold it.
template <class Id, class Index>
constexpr Id id_at(Index index) noexcept {
    static_assert(
        !std::is_same_v<Id, EntityId> && !std::is_same_v<Id, ObserverId> &&
            !std::is_same_v<Id, Key> && requires { Id::none; },
        "an id that is an index");
    const std::uint64_t number = static_cast<std::uint64_t>(index) + 1;
    constexpr std::uint64_t largest = static_cast<std::underlying_type_t<Id>>(~std::uint64_t{0});
    return number > largest ? Id::none : static_cast<Id>(number);
}
/// Returns the generation of an entity id; 0 for `none`.
constexpr std::uint32_t generation_of(EntityId id) noexcept {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) >> 32);
}
/// Returns the generation of an observer id; 0 for `none`.
constexpr std::uint32_t generation_of(ObserverId id) noexcept {
    return static_cast<std::uint32_t>(id) >> observer_index_bits;
}

/// What a client does with a ghost when its entity stops being relevant without being despawned. A
/// retained ghost keeps its last values. If the entity returns in time, the ghost resumes with
/// them, and only what changed since is sent.
enum class Retention : std::uint8_t {
    despawn = 0,     ///< the ghost is removed
    freeze = 1,      ///< retained, shown as it is
    stale = 2,       ///< retained, shown, and marked
    deactivate = 3,  ///< retained, hidden, until the room is needed (scene objects)
};
/// Returns a short lower-case text. Static storage.
std::string_view to_string(Retention) noexcept;

/// Why an entity became relevant to an observer, or stopped being relevant. Describes the state at
/// the end of the tick.
enum class Reason : std::uint8_t {
    entered = 0,  ///< a node matches now, or the observer is unculled
    spawned = 1,  ///< as `entered`, and the entity is new this tick
    owned = 2,    ///< the observer owns the entity or a member of its group
    forced = 3,   ///< allowed for this observer, shown to all, or global
    left = 4,     ///< no node matches any more
    /// Denied, hidden, explicit only, subtracted by its own attributes (flags, keys, values), or
    /// the observer is not ready any more.
    hidden = 5,
    despawned = 6,     ///< the entity is gone
    disconnected = 7,  ///< the observer is gone
    promoted = 8,      ///< an independently culled member below it keeps it relevant
};
/// Returns a short lower-case text. Static storage.
std::string_view to_string(Reason) noexcept;

/// The id of a ghost on one connection of a client. Small and dense; reused after its leave is
/// acknowledged.
enum class GhostId : std::uint32_t { none = 0 /**< no ghost */ };
/// Returns the number of the ghost in packets and in the C interface, from 0; 0xffffffff for
/// `none`.
constexpr std::uint32_t index_of(GhostId ghost) noexcept {
    return static_cast<std::uint32_t>(ghost) - 1;
}

/// What happened to the ghost that an observer has of an entity.
enum class Change : std::uint8_t {
    entered = 0,    ///< entered; a new ghost
    left = 1,       ///< left; the ghost is removed
    retained = 2,   ///< left; the ghost is retained (Retention)
    resumed = 3,    ///< entered; the retained ghost continues
    dropped = 4,    ///< the retained ghost is removed; its entity did not return in time
    updated = 5,    ///< clients only: components or the owner changed
    regrouped = 6,  ///< clients only: the parent or the root changed
};

/// Which changes count as enters and leaves.
enum class EventMode : std::uint8_t {
    paired,  ///< every enter and every leave, strictly alternating
    fusion,  ///< only those of retained ghosts: `resumed` and `retained`
};

/// Returns whether a change counts as an enter.
constexpr bool is_enter(Change change, EventMode mode) noexcept {
    return change == Change::resumed || (change == Change::entered && mode == EventMode::paired);
}
/// Returns whether a change counts as a leave.
constexpr bool is_leave(Change change, EventMode mode) noexcept {
    return change == Change::retained || (change == Change::left && mode == EventMode::paired);
}

/// @}

}  // namespace purview
