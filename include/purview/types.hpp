// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Names of things, passed by value. `none` is nobody; KindId and NodeId have none, and begin as the
// first. An id with a generation never comes back: storage behind it may move or be reused, and a
// stale id is answered with Status::stale_id.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace purview {

/// A replicated thing. Low 32 bits: index into the entity table; high 32 bits: generation, from 1
/// on.
enum class EntityId : std::uint64_t { none = 0 };

/// A receiver of state: a client, a spectator, a recorder. Low 20 bits: index; high 12 bits:
/// generation.
enum class ObserverId : std::uint32_t { none = 0 };

/// A kind of entity (a prefab): which components it has and how it is replicated. Index into the
/// schema.
enum class KindId : std::uint16_t { none = 0xffff };

/// A component of the schema, by index.
enum class ComponentId : std::uint16_t { none = 0xffff };

/// A yes/no attribute that interest may read (cloaked), by index into the schema. At most 16.
enum class FlagId : std::uint8_t { none = 0xff };

/// A grouping attribute that interest may read (team, match, room), by index into the schema. At
/// most 8.
enum class KeyId : std::uint8_t { none = 0xff };

/// A value of a key domain. Zero is "no group" and matches nobody, not even another zero.
enum class Key : std::uint16_t { none = 0 };

/// A number that interest may read (level, height), by index. At most 8.
enum class ValueId : std::uint8_t { none = 0xff };

/// A node of the rules, by index.
enum class NodeId : std::uint16_t { none = 0xffff };

/// A step of the simulation. 32 bits last more than a year at 128 Hz.
using Tick = std::uint32_t;

/// Time as the caller tells it, in microseconds since any fixed moment, of a clock that does not go
/// back (std::chrono::steady_clock): after a step back nobody times out before it has caught up.
/// The library owns no clock.
using Micros = std::uint64_t;

/// A place in world units (metres in all examples). Not finite = refused where it comes in.
struct Vec3 {
    float x = 0;
    float y = 0;
    float z = 0;
    friend constexpr bool operator==(const Vec3&, const Vec3&) = default;
};

/// A unit quaternion.
struct Rotation {
    float x = 0;
    float y = 0;
    float z = 0;
    float w = 1;
    friend constexpr bool operator==(const Rotation&, const Rotation&) = default;
};

/// An explicit pair between an observer and an entity: made (true), or taken back.
struct PairEdit {
    ObserverId observer;
    EntityId entity;
    bool value;
};

constexpr EntityId make_entity_id(std::uint32_t index, std::uint32_t generation) noexcept {
    return EntityId{(std::uint64_t{generation} << 32) | index};
}
inline constexpr std::uint32_t observer_index_bits = 20;
constexpr ObserverId make_observer_id(std::uint32_t index, std::uint32_t generation) noexcept {
    return ObserverId{(generation << observer_index_bits) | index};
}

/// Returns the index of any id: those of one type are small and dense.
template <class Id>
requires requires {
    Id::none;
}
constexpr std::uint32_t index_of(Id id) noexcept {
    const auto index = static_cast<std::uint32_t>(id);
    if constexpr (std::is_same_v<Id, ObserverId>) return index & ((1U << observer_index_bits) - 1);
    return index;
}
/// Returns the generation of an entity or observer.
constexpr std::uint32_t generation_of(EntityId id) noexcept {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) >> 32);
}
constexpr std::uint32_t generation_of(ObserverId id) noexcept {
    return static_cast<std::uint32_t>(id) >> observer_index_bits;
}

/// What happens to a client's copy when its entity stops being relevant (not when it is despawned).
/// A copy that is kept has its last values. When the entity returns in time, the copy continues
/// with them, and only what changed since is sent.
enum class Retention : std::uint8_t {
    despawn = 0,
    freeze = 1,      ///< kept and shown as it is
    stale = 2,       ///< kept and marked
    deactivate = 3,  ///< kept hidden, until others need its room (placed in the scene)
};
std::string_view to_string(Retention) noexcept;

/// Why a pair became relevant, or stopped being so: what is true of it when the tick is done.
enum class Reason : std::uint8_t {
    entered = 0,  ///< nodes say yes now, or the observer sees everything
    spawned = 1,  ///< and the entity is new this tick
    owned = 2,    ///< the observer owns it or a member of its group
    forced = 3,   ///< allowed by hand, or shown to all
    left = 4,     ///< no node says yes any more
    /// Denied, force hidden, explicit only, the observer is not ready any more, or a step subtracts
    /// what the entity says of itself.
    hidden = 5,
    despawned = 6,     ///< the entity is gone
    disconnected = 7,  ///< the observer is gone
    promoted = 8,      ///< no node shows it, but one below it (KindRules::keeps_ancestors)
};
std::string_view to_string(Reason) noexcept;

/// What became of the copy that an observer holds of an entity.
enum class Change : std::uint8_t {
    entered = 0,   ///< it entered, and there was none
    left = 1,      ///< it left
    retained = 2,  ///< it left, and its copy stays (Retention)
    resumed = 3,   ///< it entered, and its copy was still there
    dropped = 4,   ///< it has been away for too long: the copy that was kept ends
};

/// Which changes are enters and leaves (F16).
enum class EventMode : std::uint8_t {
    paired,  ///< every enter and every leave, strictly in turn
    fusion,  ///< those of copies that were there before and are after; making one is its spawn
};

constexpr bool is_enter(Change copy, EventMode mode) noexcept {
    return copy == Change::resumed || (copy == Change::entered && mode == EventMode::paired);
}
constexpr bool is_leave(Change copy, EventMode mode) noexcept {
    return copy == Change::retained || (copy == Change::left && mode == EventMode::paired);
}

}  // namespace purview
