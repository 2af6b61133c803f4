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

#include "purview/ids.hpp"

namespace purview {

class InterestManager;

/// An inner node, by any number of the dispatcher's choice.
using CellId = std::uint64_t;

/// An entity as a dispatcher sees it.
struct DispatchedEntity {
    EntityId entity;
    Vec3 place;
    bool placed;
    std::uint16_t flags;
    std::span<const Key> keys;
};

/// An observer as a dispatcher sees it.
struct DispatchedObserver {
    ObserverId observer;
    EntityId main;
    std::span<const Vec3> places;  ///< main entity and areas without a shape; empty: nowhere
    std::span<const Key> keys;
};

/// Called while the manager works, and must not call it; where a later step of the node judges
/// pairs, on any thread of the executor. The answer may depend on nothing else, or recheck and
/// rescan must be called.
class InterestDispatcher {
  public:
    virtual ~InterestDispatcher() = default;
    /// Appends the inner nodes that hold the entity; several are counted (N24), the same twice is
    /// once.
    virtual void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const = 0;
    /// Appends the inner nodes that the observer looks into.
    virtual void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const = 0;
    /// False: places do not matter, so nobody is asked about moves.
    virtual bool reads_places() const noexcept { return true; }
};

/// Asked in the tick, on its thread, as often as NodeDesc::refresh says (dormant: only after
/// recheck, rescan or rescan_node). It may read the manager (places, keys, flags of entities) as
/// it is; it must not edit it. Its own order of entities does not matter, and naming one twice is
/// once. Steps of such a node are not used.
class InterestNode {
  public:
    virtual ~InterestNode() = default;
    /// The RFC's form: appends what the observer may know. Groups are judged by their roots: who
    /// is named but is a member of one (and not split) counts for nothing.
    virtual void query_for(const InterestManager&, ObserverId, std::vector<EntityId>&) {}
    /// Mirror's form: appends who may know the entity.
    virtual void observers_for(const InterestManager&, EntityId, std::vector<ObserverId>&) {}
    /// Which of the two is asked.
    virtual bool is_entity_centric() const noexcept { return false; }
};

}  // namespace purview
