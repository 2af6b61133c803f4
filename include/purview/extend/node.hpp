// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Nodes of your own. A dispatcher assigns entities to inner nodes, and returns which of them an
/// observer covers: a grid of static nodes, overlapping cells, dungeon rooms. A custom node decides
/// everything itself, per observer (as in Unity's RFC 0015) or per entity (as in Mirror). The
/// engine computes the changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_extend
/// @{

class Visibility;

/// The number of an inner node; the dispatcher chooses it.
using CellId = std::uint64_t;

/// An entity, as a dispatcher receives it. Valid during the call.
struct DispatchedEntity {
    EntityId entity;            ///< the entity
    Vec3 position;              ///< in the axes of the caller; 0 along an axis that does not count
    bool has_position;          ///< false: `position` has no meaning
    std::uint16_t flags;        ///< bit index_of(FlagId)
    std::span<const Key> keys;  ///< by index_of(KeyId), without additional ones
};

/// An observer, as a dispatcher receives it. Valid during the call.
struct DispatchedObserver {
    ObserverId observer;              ///< the observer
    EntityId main;                    ///< its viewpoint entity, or none
    std::span<const Vec3> positions;  ///< of the viewpoint entity and of areas without a volume
    std::span<const Key> keys;        ///< by index_of(KeyId), without additional ones
};

/// Assigns entities to inner nodes. It must not call the engine. If a later step of the node
/// evaluates pairs, it is called on any thread of the executor. The results must depend on the
/// arguments only; otherwise call Visibility::recheck when they change.
class Dispatcher {
  public:
    virtual ~Dispatcher() = default;
    /// Appends the inner nodes that contain the entity. Duplicates count once.
    virtual void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const = 0;
    /// Appends the inner nodes that the observer covers.
    virtual void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const = 0;
    /// Returns whether positions matter. False: moves do not cause calls.
    virtual bool reads_positions() const noexcept { return true; }
    /// Returns the steps of an inner node: an index into NodeDef::inner, or no_steps: all of its
    /// entities match. The result for an inner node must never change.
    virtual std::size_t steps_of(CellId) const noexcept { return no_steps; }
    /// Result of steps_of for an inner node without steps.
    static constexpr std::size_t no_steps = ~std::size_t{0};
};

/// A node of your own. All functions are called within a tick, on its thread. They may read the
/// engine, and must not edit it.
///
/// query_for or observers_for is called every NodeDef::every_ticks ticks (dormant: only after
/// recheck), and for everything in the tick of a spawn. The order of the result does not matter,
/// and duplicates count once. The node must have no steps.
///
/// added, removed and updated report the entities that the node evaluates, so that it can keep data
/// of its own. They are called before the queries of the same tick, in the order of the edits.
/// Groups are evaluated by their roots: a member is in no node, unless it is culled independently.
class CustomNode {
  public:
    virtual ~CustomNode() = default;
    /// Appends the entities that the observer may see. Group members have no effect, unless they
    /// are culled independently.
    virtual void query_for(const Visibility&, ObserverId, std::vector<EntityId>&) {}
    /// Appends the observers that may see the entity.
    virtual void observers_for(const Visibility&, EntityId, std::vector<ObserverId>&) {}
    /// Returns true if observers_for is called, false if query_for is called.
    virtual bool is_entity_centric() const noexcept { return false; }
    /// Called when the node starts to evaluate an entity: it was spawned, bound to the node, or
    /// left its group, or the node was added or enabled. Once per entity until it is removed.
    virtual void added(const Visibility&, EntityId) {}
    /// Called when the node stops evaluating an entity: it was despawned, was bound to other nodes,
    /// or joined a group, or the node was removed or disabled. The engine does not know a despawned
    /// entity any more.
    virtual void removed(const Visibility&, EntityId) {}
    /// Called when the game calls update or recheck for the entity (UpdateObject in RFC 0015).
    virtual void updated(const Visibility&, EntityId) {}
};

/// @}

}  // namespace purview
