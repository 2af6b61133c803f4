// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A client's ghosts by local id, in pages. Memory grows with the ghosts that the server sends, not
// with the range of their ids. Pages never move.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/motions.hpp"
#include "core/rotation.hpp"
#include "protocol/local_id.hpp"
#include "protocol/schema_codec.hpp"
#include "purview/types.hpp"

namespace purview {

/// The position of a ghost at a tick.
struct PositionSample {
    Tick tick = 0;
    Vec3 position;
};

struct ClientGhost {
    /// Covers the default maximum rewind (RewindSettings::rewind_ticks_max) with one sample per
    /// tick.
    static constexpr std::size_t samples_max = 16;

    bool held = false;
    std::uint32_t packet = 0;  ///< the last packet with an update of it, counted locally
    bool owned = false;
    Reason reason = Reason::entered;      ///< of its last enter or resume
    Retention kept = Retention::despawn;  ///< retention after its leave
    KindId kind = id_at<KindId>(0);  ///< always a kind of the schema, because it indexes layouts
    bool waits = false;              ///< waits for the rest of its group
    bool reframed = false;  ///< its parent changed; the next position is relative to the new parent
    bool known = false;     ///< was shown to the game, and has been held or retained since
    bool has_left = false;  ///< was known, and the game has not read its leave
    std::uint32_t shown_in = 0;  ///< the packet in which it entered or resumed, counted locally
    static constexpr std::uint32_t no_change = ~std::uint32_t{0};
    std::uint32_t change = no_change;  ///< index of its event in GhostEvents
    LocalId parent = no_local_id;
    std::uint32_t link = 0;                 ///< number of its link to the parent; ascends with time
    LocalId received_parent = no_local_id;  ///< as of the last relation event
    LocalId received_root = no_local_id;
    Tick entered = 0;
    std::uint32_t allowed = all_allowed;
    Tick updated = 0;
    ClientMotions::Slot motions = ClientMotions::no_slot;
    std::uint8_t samples = 0;
    PositionSample sample[samples_max];  ///< newest first
};

class GhostPages {
  public:
    /// A page takes 10 to 55 KB, the table for all ids 256 KB.
    static constexpr std::size_t page_ghosts = 32;

    /// Sets the sizes for every ghost. Call before the first ghost is added.
    void set_sizes(std::size_t words, bool has_turns) noexcept {
        PURVIEW_ASSERT(made_ == 0);  // no page has these sizes yet
        stride_ = words;
        has_turns_ = has_turns;
    }
    bool has_turns() const noexcept { return has_turns_; }
    /// No ghost at or above this id has storage.
    LocalId end() const noexcept { return static_cast<LocalId>(pages_.size() * page_ghosts); }
    /// Whether the page of the ghost exists, so that the following members may be called. `held`
    /// and `kept` show whether the ghost itself exists.
    bool has_room(LocalId ghost) const noexcept {
        return ghost < end() && pages_[ghost / page_ghosts] != nullptr;
    }
    void make_room(LocalId ghost);
    static constexpr std::size_t page_of(LocalId ghost) noexcept { return ghost / page_ghosts; }
    std::size_t page_bytes() const noexcept {
        return sizeof(Page) + page_ghosts * stride_ * sizeof(std::uint32_t) +
               (has_turns_ ? page_ghosts * ClientGhost::samples_max * sizeof(Rotation) : 0);
    }
    /// Memory of all existing pages.
    std::size_t bytes() const noexcept { return made_ * page_bytes(); }
    ClientGhost& operator[](LocalId ghost) noexcept { return page(ghost).ghosts[row(ghost)]; }
    const ClientGhost& operator[](LocalId ghost) const noexcept {
        return page(ghost).ghosts[row(ghost)];
    }
    /// [words of set_sizes]
    std::uint32_t* words(LocalId ghost) noexcept {
        return page(ghost).words.data() + row(ghost) * stride_;
    }
    const std::uint32_t* words(LocalId ghost) const noexcept {
        return page(ghost).words.data() + row(ghost) * stride_;
    }
    /// [samples_max] The orientation of each sample. Requires has_turns.
    Rotation* turns(LocalId ghost) noexcept {
        PURVIEW_ASSERT(has_turns_);
        return page(ghost).turns.data() + row(ghost) * ClientGhost::samples_max;
    }
    const Rotation* turns(LocalId ghost) const noexcept {
        PURVIEW_ASSERT(has_turns_);
        return page(ghost).turns.data() + row(ghost) * ClientGhost::samples_max;
    }
    /// Calls visit(ghost) for all ids with storage, ascending.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t p = 0; p < pages_.size(); ++p) {
            if (pages_[p] == nullptr) continue;
            for (std::size_t i = 0; i < page_ghosts; ++i)
                visit(static_cast<LocalId>(p * page_ghosts + i));
        }
    }

  private:
    struct Page {
        std::array<ClientGhost, page_ghosts> ghosts;
        std::vector<std::uint32_t> words;
        std::vector<Rotation> turns;
    };

    static constexpr std::size_t row(LocalId ghost) noexcept { return ghost % page_ghosts; }
    Page& page(LocalId ghost) const noexcept {
        PURVIEW_ASSERT(has_room(ghost));
        return *pages_[ghost / page_ghosts];
    }

    std::size_t stride_ = 1;
    bool has_turns_ = false;
    std::size_t made_ = 0;  ///< number of existing pages
    std::vector<std::unique_ptr<Page>> pages_;
};

inline void GhostPages::make_room(LocalId ghost) {
    PURVIEW_ASSERT(ghost < local_ids_max);  // limits the size of the table
    const std::size_t p = page_of(ghost);
    if (p >= pages_.size()) pages_.resize(p + 1);
    if (pages_[p] != nullptr) return;
    pages_[p] = std::make_unique<Page>();
    ++made_;
    pages_[p]->words.resize(page_ghosts * stride_);
    if (has_turns_) pages_[p]->turns.resize(page_ghosts * ClientGhost::samples_max);
}

}  // namespace purview
