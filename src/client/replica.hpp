// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A client's copy of its relevant set: the parts, and the order in which a snapshot is applied to
// them. Parents enter before their children and leave after them, whatever their order in the
// packet. The constructor of each part takes references to the parts that it may use, so the
// members are declared in dependency order.
//
// Invariants: see HeldGhosts in replica.cpp; they hold between two snapshots.
//
// Must not know: connections, packets around the snapshot.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/ghost_events.hpp"
#include "client/ghost_groups.hpp"
#include "client/ghost_motions.hpp"
#include "client/ghost_poses.hpp"
#include "client/ghosts.hpp"
#include "client/snapshot_decoder.hpp"
#include "core/bitset.hpp"

namespace purview {

class Replica {
  public:
    explicit Replica(Schema schema);

    ClientGhosts ghosts;
    GhostPoses poses;
    GhostEvents events;
    GhostMotions motions;
    GhostGroups groups;
    SnapshotDecoder decoder;

    /// Longest interpolated move, in ticks. If the last update of the ghost is older, the ghost
    /// counts as idle until the newest tick that was complete before this snapshot, and the move
    /// starts there. Equal to the interpolation delay, so that the end of a move is known when its
    /// start is drawn.
    float way_ticks_max = 1;
    std::size_t bytes() const noexcept { return ghosts.bytes() + motions.bytes(); }

    /// Applies the snapshot that the decoder read last. `newest`: the newest known tick, which
    /// completes the 16-bit tick of the packet; it is updated. `is_next`: no packet was lost since
    /// the last snapshot, so all changes happened in the last tick.
    void accept(Tick& newest, bool is_next = false);

    /// Local ids with a leave in the last snapshot that had no ghost on this client, or one that
    /// was still waiting for its group. They will not enter.
    std::span<const LocalId> ignored_leaves() const noexcept { return ignored_leaves_; }
    /// Changes whenever a ghost enters, leaves, or changes its parent or owner.
    std::uint32_t revision() const noexcept { return revision_; }

    struct Counters {
        std::uint64_t snapshots = 0;
        std::uint64_t ignored_items = 0;     ///< for unknown ghosts, because their enter was lost
        std::uint64_t order_violations = 0;  ///< a child without its parent: a server error
    };
    const Counters& counters() const noexcept { return counters_; }

  private:
    void apply(Tick tick);
    void apply_leaves(std::span<GhostEdit> leaves, Tick tick);
    void apply_enters(std::span<const GhostEdit> enters, Tick tick);
    void apply_updates(std::span<const GhostEdit> updates, Tick tick);
    void remove(const GhostEdit& edit, Tick tick);
    void resume(const GhostEdit& edit, Tick tick);
    void enter(const GhostEdit& edit, Tick tick);
    void apply_values(const GhostEdit& edit, Tick tick);
    void change_allowed(const GhostEdit& edit);
    bool is_leaving(LocalId ghost) const noexcept {
        return ghost < leaving_.size() && leaving_.test(ghost);
    }
    void forget_references();

    Tick before_ = 0;  ///< newest tick whose changes were completely known before this snapshot
    std::vector<LocalId> ignored_leaves_;
    Bitset leaving_;  ///< scratch of apply
    Counters counters_;
    std::uint32_t revision_ = 0;
};

}  // namespace purview
