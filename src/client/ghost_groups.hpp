// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups on a client: held ghosts wait until their whole group has arrived, and are then shown
// together. A change of parent or root is reported once.
//
// Invariants: `waiting_` contains each waiting ghost once, in order of arrival; links ascend with
// time.
//
// Must not know: bytes, values.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "client/ghost_edit.hpp"
#include "client/ghost_events.hpp"
#include "client/ghost_poses.hpp"
#include "client/ghosts.hpp"
#include "core/bitset.hpp"

namespace purview {

class GhostGroups {
  public:
    /// Maximum ticks that a ghost waits for the rest of its group, from its enter on.
    static constexpr Tick wait_ticks_max = 300;

    GhostGroups(ClientGhosts& ghosts, GhostPoses& poses, GhostEvents& events) noexcept
        : ghosts_(ghosts), poses_(poses), events_(events) {}

    bool is_any_waiting() const noexcept { return !waiting_.empty(); }
    /// Number of ghosts that were shown without their whole group.
    std::uint64_t waits_ended() const noexcept { return waits_ended_; }
    /// Replaces `out` by the group of a shown ghost: root first, depth first, children in the order
    /// in which they were linked on this client.
    void members_of(LocalId ghost, std::vector<LocalId>& out) const;

    /// Adds a held ghost. It is shown with the rest of its group, or at once if the group is whole
    /// and no ghost waits.
    void arrive(LocalId ghost, bool whole, Tick tick);
    /// Sets the parent with which a ghost enters.
    void begin_link(LocalId ghost, LocalId parent) noexcept;
    /// Changes the parent of a ghost.
    void set_parent(LocalId ghost, LocalId parent, Tick tick);
    /// Makes a ghost a root. Its relations and those of its descendants are reported.
    void unlink(LocalId ghost, Tick tick);
    /// Ends an older link above `parent` that would form a cycle with the link of `ghost`.
    void end_link_back(LocalId ghost, LocalId parent, Tick tick);
    /// Whether the parent in the edit is held.
    bool is_ready(const GhostEdit& edit) const noexcept {
        return edit.parent == no_local_id || ghosts_.is_held(edit.parent);
    }

    /// Finds the children of all leaving ghosts in one pass.
    void find_orphans(const Bitset& leaving);
    /// Makes the children of a leaving ghost roots.
    void unlink_children(LocalId ghost, Tick tick);
    void stop_waiting(const Bitset& leaving);

    /// Shows groups that are whole according to this packet, or have waited too long.
    void show_waiting(std::span<const GhostEdit> edits, Tick tick);
    /// Reports each ghost with a parent or root that differs from the last report.
    void report_relations();

  private:
    void show(LocalId ghost);

    ClientGhosts& ghosts_;
    GhostPoses& poses_;
    GhostEvents& events_;
    std::uint32_t links_ = 0;  ///< number of links made since the connection began
    bool are_links_new_ = false;
    std::uint64_t waits_ended_ = 0;
    std::vector<LocalId> waiting_;
    /// Scratch: {leaving parent, child}, ascending.
    std::vector<std::pair<LocalId, LocalId>> orphans_;
};

}  // namespace purview
