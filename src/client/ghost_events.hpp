// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The events that the game has not read yet, in order: enters, leaves, changes of parent or root,
// and one event with the changed components for each changed ghost. No changes are recorded for
// ghosts that wait for their group or are retained.
//
// Invariants: ClientGhost::change is the index of the event with the ghost's changes, its enter or
// an update, and belongs to no other ghost; such an event has a component or a new owner; at most
// untaken_max events are not updates.
//
// Must not know: packets beyond their count, how a value is encoded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/ghosts.hpp"
#include "purview/client.hpp"

namespace purview {

/// Bit in ClientEvent::components.
constexpr std::uint32_t component_bit(ComponentId component) noexcept {
    return 1U << index_of(component);
}

class GhostEvents {
  public:
    static constexpr std::size_t untaken_max = 65'536;

    explicit GhostEvents(ClientGhosts& ghosts) noexcept : ghosts_(ghosts) {}

    // -- read -----------------------------------------------------------------------------------
    std::span<const ClientEvent> all() const noexcept { return events_; }
    /// Events of the snapshot that was applied last.
    std::span<const ClientEvent> of_packet() const noexcept {
        return std::span(events_).subspan(packet_at_);
    }
    /// Whether the event at an index contains changes of its ghost that the game has not read.
    bool has_changes(std::size_t index) const noexcept {
        PURVIEW_ASSERT(index < events_.size());
        const LocalId ghost = local_id_of(events_[index].ghost);
        return ghosts_.has_room(ghost) && ghosts_[ghost].change == index;
    }
    void clear();
    /// Marks all events as read. The values of ghosts that left stay readable.
    void note_taken() noexcept;
    /// Drops the events that were read, and ends access to the values of ghosts that left.
    void drop_taken() { drop(taken_); }
    /// If there are too many events, drops the oldest ones. Returns how many unread events other
    /// than updates were lost.
    std::size_t drop_untaken();

    // -- write ----------------------------------------------------------------------------------
    /// Number of applied snapshots, including the current one.
    std::uint32_t packet() const noexcept { return packet_; }
    void begin_packet() noexcept {
        ++packet_;
        packet_at_ = events_.size();
    }
    /// Call when the ghost is shown.
    void note_shown(LocalId ghost, bool resumed);
    /// Call when the ghost is no longer shown or no longer retained.
    void note_left(LocalId ghost, Reason reason, Change change);
    /// Call when the shown parent or root of the ghost changed.
    void note_regrouped(LocalId ghost, LocalId root, LocalId parent);
    void note_change(LocalId ghost, std::uint32_t components, bool owner = false);
    /// Call when a ghost with references is held again: their targets may not be shown.
    void note_references() noexcept { has_hidden_target_ = true; }
    /// Adds changes for existing references to ghosts that this packet shows.
    void note_new_references();
    /// Returns whether the game can detect the difference between two values of a field. For a
    /// reference, only targets that were shown before this packet count; note_new_references
    /// handles targets that this packet shows.
    bool differ(const KindField& field, const std::uint32_t* before, const std::uint32_t* now);

  private:
    /// Drops the first `count` events.
    void drop(std::size_t count);
    /// Number of events among the first `count` that are not updates.
    std::size_t bounded_in(std::size_t count) const noexcept;

    ClientGhosts& ghosts_;
    std::uint32_t packet_ = 0;
    bool has_hidden_target_ = false;  ///< a reference may point to a ghost that is not shown
    std::vector<ClientEvent> events_;
    std::size_t bounded_ = 0;    ///< events that are not updates
    std::size_t packet_at_ = 0;  ///< first event of the current packet
    std::size_t taken_ = 0;      ///< number of events that were read
};

}  // namespace purview
