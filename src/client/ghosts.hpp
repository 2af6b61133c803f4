// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The ghosts that a client holds, by local id: their last received values, their group links, and
// their state. All parts of the client read them through this class.
//
// Invariants: a ghost is held, retained, or neither; only a held ghost waits for its group; count()
// is the number of shown ghosts; values have the layout of the ghost's kind.
//
// Must not know: packets, ticks except stored ones, which events the game has read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/ghost_pages.hpp"
#include "core/rotation.hpp"
#include "protocol/local_id.hpp"
#include "protocol/schema_codec.hpp"
#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace purview {

struct FoundField {
    const FieldDef* def = nullptr;
    const std::uint32_t* words = nullptr;  ///< null: no such ghost or field
};

class ClientGhosts {
  public:
    explicit ClientGhosts(Schema schema);
    ClientGhosts(const ClientGhosts&) = delete;  // layouts point into the schema
    ClientGhosts& operator=(const ClientGhosts&) = delete;

    // -- the schema -----------------------------------------------------------------------------
    const Schema& schema() const noexcept { return schema_; }
    const KindLayout& layout(KindId kind) const noexcept { return layouts_[index_of(kind)]; }
    std::size_t kind_count() const noexcept { return layouts_.size(); }
    const OrientationDef& orientation(KindId kind) const noexcept {
        return schema_.kinds()[index_of(kind)].orientation;
    }
    /// The words of a kind if all fields are zero.
    std::span<const std::uint32_t> defaults(KindId kind) const noexcept {
        return defaults_[index_of(kind)];
    }
    bool has_references() const noexcept { return has_references_; }
    /// The largest number of dead-reckoned fields of any kind.
    std::size_t extrapolated_fields_max() const noexcept { return extrapolated_fields_max_; }

    // -- memory ---------------------------------------------------------------------------------
    std::size_t bytes() const noexcept { return pages_.bytes(); }
    std::size_t page_bytes() const noexcept { return pages_.page_bytes(); }
    /// No ghost at or above this id has storage.
    LocalId slot_end() const noexcept { return pages_.end(); }
    bool has_room(LocalId ghost) const noexcept { return pages_.has_room(ghost); }

    // -- existence ------------------------------------------------------------------------------
    /// Number of shown ghosts.
    std::uint32_t count() const noexcept { return count_; }
    bool is_held(LocalId ghost) const noexcept {
        return pages_.has_room(ghost) && pages_[ghost].held;
    }
    /// Whether the ghost and its whole group are held, so that it is visible to the game.
    bool is_shown(LocalId ghost) const noexcept { return is_held(ghost) && !pages_[ghost].waits; }
    /// The retention of the ghost; despawn if it is not retained or was never shown.
    Retention retention(LocalId ghost) const noexcept {
        return pages_.has_room(ghost) && pages_[ghost].known ? pages_[ghost].kept
                                                             : Retention::despawn;
    }
    /// Whether it is held or retained and therefore has values, shown or not.
    bool has_copy(LocalId ghost) const noexcept {
        return is_held(ghost) ||
               (pages_.has_room(ghost) && pages_[ghost].kept != Retention::despawn);
    }
    /// Whether it was shown and the game has not read its leave yet, so that its last values are
    /// readable.
    bool has_left(LocalId ghost) const noexcept {
        return pages_.has_room(ghost) && pages_[ghost].has_left;
    }
    /// Whether the game may read its values: it is shown, retained, or its leave was not read yet.
    bool has_values(LocalId ghost) const noexcept {
        return is_shown(ghost) || retention(ghost) != Retention::despawn || has_left(ghost);
    }
    /// Calls visit(ghost) for all held ghosts, ascending.
    template <class Visit>
    void for_each_held(Visit&& visit) const {
        pages_.for_each([&](LocalId ghost) {
            if (pages_[ghost].held) visit(ghost);
        });
    }
    /// Calls visit(ghost) for all ids with storage, ascending.
    template <class Visit>
    void for_each_room(Visit&& visit) const {
        pages_.for_each(visit);
    }

    // -- one ghost with storage -------------------------------------------------------------------
    const ClientGhost& operator[](LocalId ghost) const noexcept { return pages_[ghost]; }
    KindId kind(LocalId ghost) const noexcept { return pages_[ghost].kind; }
    bool owned(LocalId ghost) const noexcept { return pages_[ghost].owned; }
    /// The tick in which it entered or resumed.
    Tick since(LocalId ghost) const noexcept { return pages_[ghost].entered; }
    Tick updated(LocalId ghost) const noexcept { return pages_[ghost].updated; }
    /// The parts of its kind that this client receives, one bit each (KindLayout).
    std::uint32_t allowed(LocalId ghost) const noexcept { return pages_[ghost].allowed; }
    LocalId parent(LocalId ghost) const noexcept { return pages_[ghost].parent; }
    /// The parent if it is shown, else none.
    LocalId shown_parent(LocalId ghost) const noexcept {
        const LocalId above = pages_[ghost].parent;
        return above != no_local_id && is_shown(above) ? above : no_local_id;
    }
    LocalId shown_root(LocalId ghost) const noexcept { return pages_[ghost].received_root; }
    /// The root of its group among the held ghosts.
    LocalId root_of(LocalId ghost) const noexcept;
    /// Number of held ancestors.
    unsigned depth_of(LocalId ghost) const noexcept;
    /// The parent if its position is relative to it, else no_local_id.
    LocalId frame_of(LocalId ghost) const noexcept;
    bool has_position(LocalId ghost) const noexcept;
    bool has_orientation(LocalId ghost) const noexcept {
        return orientation(kind(ghost)).component != ComponentId::none;
    }
    /// Whether any kind of the schema has an orientation.
    bool has_turns() const noexcept { return pages_.has_turns(); }
    /// [samples_max] The orientation of each sample. Requires has_turns.
    const Rotation* turns(LocalId ghost) const noexcept { return pages_.turns(ghost); }

    // -- values ---------------------------------------------------------------------------------
    /// Words of all fields, in the order of layout(kind). A reference is the local id + 1, whether
    /// that ghost is held or not, or 0 for none. It becomes 0 when its target leaves.
    std::span<const std::uint32_t> words(LocalId ghost) const noexcept {
        return {pages_.words(ghost), layout(kind(ghost)).words};
    }
    /// The words of one field of its kind.
    const std::uint32_t* words_of(LocalId ghost, std::size_t field) const noexcept {
        PURVIEW_ASSERT(field < word_at_[index_of(kind(ghost))].size());
        return pages_.words(ghost) + word_at_[index_of(kind(ghost))][field];
    }
    /// The first word of a field, or null if the ghost's kind has no such field.
    const std::uint32_t* find_words(LocalId ghost, ComponentId component,
                                    std::size_t field) const noexcept;
    /// PROTOCOL.md, "Digest": the sum of a hash of every ghost.
    std::uint64_t digest() const noexcept;

    // -- modification, by the other parts of a replica ------------------------------------------
    ClientGhost& operator[](LocalId ghost) noexcept { return pages_[ghost]; }
    std::uint32_t* words_of(LocalId ghost, std::size_t field) noexcept {
        PURVIEW_ASSERT(field < word_at_[index_of(kind(ghost))].size());
        return pages_.words(ghost) + word_at_[index_of(kind(ghost))][field];
    }
    Rotation* turns(LocalId ghost) noexcept { return pages_.turns(ghost); }
    /// Resets `count` words from `at` on to their zero values.
    void reset_words(LocalId ghost, std::size_t at, std::size_t count) noexcept;
    /// Allocates storage for a ghost that is not held.
    void make_room(LocalId ghost) { pages_.make_room(ghost); }
    /// Holds the ghost, with zero values and without waiting.
    ClientGhost& hold(LocalId ghost, KindId kind) noexcept;
    /// Shows a held ghost that waits.
    void show(LocalId ghost) noexcept;
    /// The ghost is no longer held.
    void release(LocalId ghost) noexcept;
    /// Call when the game has read the leave.
    void forget_left(LocalId ghost) noexcept {
        if (pages_.has_room(ghost)) pages_[ghost].has_left = false;
    }

  private:
    Schema schema_;
    std::vector<KindLayout> layouts_;
    /// By kind: the words if all fields are zero.
    std::vector<std::vector<std::uint32_t>> defaults_;
    /// By kind and field: index of its first word.
    std::vector<std::vector<std::uint16_t>> word_at_;
    bool has_references_ = false;
    std::size_t extrapolated_fields_max_ = 0;
    GhostPages pages_;
    std::uint32_t count_ = 0;
};

}  // namespace purview
