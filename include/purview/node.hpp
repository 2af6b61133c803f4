// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Nodes of your own. A dispatcher spreads entities over inner nodes and says into which of them an
// observer looks (the RFC's odd and even, a grid of static nodes, overlapping cells, dungeon
// rooms). A custom node says everything itself, in the RFC's form (what does this observer see?) or
// in Mirror's (who sees this entity?). The engine finds out what changed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "purview/types.hpp"

namespace purview {

class Visibility;

/// An inner node, by any number of the dispatcher's choice.
using CellId = std::uint64_t;

/// An entity as a dispatcher sees it.
struct DispatchedEntity {
    EntityId entity;
    Vec3 position;
    bool has_position;
    std::uint16_t flags;
    std::span<const Key> keys;
};

/// An observer as a dispatcher sees it.
struct DispatchedObserver {
    ObserverId observer;
    EntityId main;
    std::span<const Vec3> positions;  ///< main entity and areas without a shape; empty: nowhere
    std::span<const Key> keys;
};

/// Called while the manager works, and must not call it; where a later step of the node judges
/// pairs, on any thread of the executor. The answer may depend on nothing else, or recheck must
/// be called.
class Dispatcher {
  public:
    virtual ~Dispatcher() = default;
    /// Appends the inner nodes that hold the entity; several are counted (N24), the same twice is
    /// once.
    virtual void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const = 0;
    /// Appends the inner nodes that the observer looks into.
    virtual void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const = 0;
    /// False: places do not matter, so nobody is asked about moves.
    virtual bool reads_positions() const noexcept { return true; }
    /// Which steps an inner node has: an index into NodeDef::inner, or no_steps: all of its
    /// entities match. The same answer for the same inner node, always.
    virtual std::size_t steps_of(CellId) const noexcept { return no_steps; }
    static constexpr std::size_t no_steps = ~std::size_t{0};
};

/// A node of the game's own, in the form of the RFC or of Mirror. All of it is called within the
/// manager's tick, on its thread. It may read the manager, and must not edit it.
///
/// query_for or observers_for are called as often as NodeDef::every_ticks says (dormant: only after
/// recheck), and for everything in the tick of a spawn. The order of what
/// they append does not matter, and the same entity twice counts once. Steps of such a node are not
/// used.
///
/// added, removed and updated tell the node which entities it is about, so that it may keep a store
/// of its own. They come before the queries of the same tick, in the order of the edits. Groups are
/// judged by their roots: a member of a group (unless it is split) is not in any node.
class CustomNode {
  public:
    virtual ~CustomNode() = default;
    /// The RFC's form: appends the entities that the observer may know. A member of a group that is
    /// appended counts for nothing, unless it is split.
    virtual void query_for(const Visibility&, ObserverId, std::vector<EntityId>&) {}
    /// Mirror's form: appends the observers that may know the entity.
    virtual void observers_for(const Visibility&, EntityId, std::vector<ObserverId>&) {}
    /// Which of the two is asked.
    virtual bool is_entity_centric() const noexcept { return false; }
    /// The node is about this entity from now on: it was spawned, was bound to the node, left its
    /// group, or the node itself has come into force. Each entity once until it is removed.
    virtual void added(const Visibility&, EntityId) {}
    /// The node is not about this entity any more: it was despawned (then the manager knows it no
    /// longer), was bound to other nodes, joined a group, or the node is not in force any more.
    virtual void removed(const Visibility&, EntityId) {}
    /// The game called update or recheck for this entity (the RFC's UpdateObject).
    virtual void updated(const Visibility&, EntityId) {}
};

}  // namespace purview
