// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A client's ghosts by local id, a page of them at a time: what is set aside grows with the ghosts
// that a server tells of, not with the ids that it names. Pages stay where they are until the end.
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

/// Where a ghost was, at a tick.
struct PositionSample {
    Tick tick = 0;
    Vec3 position;
};

struct ClientGhost {
    /// As far behind as a view may be (RewindSettings::behind_ticks_max), told with every tick.
    static constexpr std::size_t samples_max = 16;

    bool held = false;
    std::uint32_t packet = 0;  ///< the last that told of it, by our own count
    bool owned = false;
    Reason reason = Reason::entered;      ///< of its enter, or its return
    Retention kept = Retention::despawn;  ///< not held any more
    KindId kind{};
    bool waits = false;          ///< for the rest of its group
    bool reframed = false;       ///< its place is told as seen from another parent
    bool known = false;          ///< to the game: it was shown, and its copy has not ended since
    bool has_left = false;       ///< it was known, and the game has not read that it has gone
    std::uint32_t shown_in = 0;  ///< the packet in which it came or came back, by our own count
    static constexpr std::uint32_t no_change = ~std::uint32_t{0};
    std::uint32_t change = no_change;  ///< where it stands in the list of changes
    LocalId parent = no_local_id;
    std::uint32_t link = 0;             ///< number of its link to the parent, ascending with time
    LocalId told_parent = no_local_id;  ///< as of the last relation event
    LocalId told_root = no_local_id;
    Tick entered = 0;
    std::uint32_t told = told_all;
    Tick updated = 0;
    ClientMotions::Slot motions = ClientMotions::no_slot;
    std::uint8_t samples = 0;
    PositionSample sample[samples_max];  ///< newest first
};

class GhostPages {
  public:
    /// 10 to 55 KB a page, and a table of 256 KB for all ids.
    static constexpr std::size_t page_ghosts = 32;

    /// Of every ghost; before the first comes.
    void set_sizes(std::size_t words, bool has_turns) noexcept {
        PURVIEW_ASSERT(made_ == 0);  // no page has these sizes yet
        stride_ = words;
        has_turns_ = has_turns;
    }
    bool has_turns() const noexcept { return has_turns_; }
    /// No ghost has room at or above this.
    LocalId end() const noexcept { return static_cast<LocalId>(pages_.size() * page_ghosts); }
    /// Its page is there, and what follows may be asked for; whether it ever came, `held` and
    /// `kept` say.
    bool has_room(LocalId ghost) const noexcept {
        return ghost < end() && pages_[ghost / page_ghosts] != nullptr;
    }
    void make_room(LocalId ghost);
    static constexpr std::size_t page_of(LocalId ghost) noexcept { return ghost / page_ghosts; }
    std::size_t page_bytes() const noexcept {
        return sizeof(Page) + page_ghosts * stride_ * sizeof(std::uint32_t) +
               (has_turns_ ? page_ghosts * ClientGhost::samples_max * sizeof(Rotation) : 0);
    }
    /// Of all pages that are there.
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
    /// [samples_max]: how it was turned in each of its samples. Only with has_turns.
    Rotation* turns(LocalId ghost) noexcept {
        PURVIEW_ASSERT(has_turns_);
        return page(ghost).turns.data() + row(ghost) * ClientGhost::samples_max;
    }
    const Rotation* turns(LocalId ghost) const noexcept {
        PURVIEW_ASSERT(has_turns_);
        return page(ghost).turns.data() + row(ghost) * ClientGhost::samples_max;
    }
    /// Calls visit(ghost) for all that have room, ascending.
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
    std::size_t made_ = 0;  ///< of the pages
    std::vector<std::unique_ptr<Page>> pages_;
};

inline void GhostPages::make_room(LocalId ghost) {
    PURVIEW_ASSERT(ghost < local_ids_max);  // what decides how long the table is
    const std::size_t p = page_of(ghost);
    if (p >= pages_.size()) pages_.resize(p + 1);
    if (pages_[p] != nullptr) return;
    pages_[p] = std::make_unique<Page>();
    ++made_;
    pages_[p]->words.resize(page_ghosts * stride_);
    if (has_turns_) pages_[p]->turns.resize(page_ghosts * ClientGhost::samples_max);
}

}  // namespace purview
