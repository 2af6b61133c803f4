// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How relevant entities are that changed, observer after observer. Lanes are named for many
// observers at once, as their names lie where no cache has them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "interest/window.hpp"
#include "purview/interest.hpp"
#include "spatial/block_table.hpp"

namespace purview {

class StrengthList {
  public:
    /// Of one observer, in the list.
    struct Part {
        std::uint32_t begin = 0;
        std::uint32_t count = 0;
    };
    /// Lanes of a window, until the next pick().
    struct Picked {
        std::span<const BlockIndex> blocks;
        std::span<Mask> lanes;  ///< [blocks] at least one of each
        std::size_t count = 0;  ///< of lanes
    };

    void clear() noexcept;
    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(size_); }
    /// The lanes of the window that have the flag. [block_end()]: `flags`.
    Picked pick(const Window& window, std::span<const Mask> flags);
    /// Appends what was picked, and returns where the strengths of its lanes go: [count], with room
    /// for lanes_per_block more. Lanes may have been taken out since, with their count.
    std::span<float> add(const Picked& picked);
    /// Appends an entity by its index.
    void add(std::uint32_t entity, float strength);
    /// Every entity of the list has its index from now on.
    void name(const BlockTable& table);
    /// Once they are named.
    Strengths of(Part part) const noexcept {
        return {std::span(entities_).subspan(part.begin, part.count),
                std::span(strength_).subspan(part.begin, part.count)};
    }

  private:
    /// Lanes that follow each other in the list: of the blocks before `block_end`.
    struct Run {
        std::size_t begin;
        std::size_t end;
        std::size_t block_end;
    };
    void make_room(std::size_t n);

    std::vector<std::uint32_t> entities_;  ///< longer than the list, as strength_ is
    std::vector<float> strength_;
    std::size_t size_ = 0;
    // Not named yet.
    std::vector<BlockIndex> blocks_;
    std::vector<Mask> lanes_;
    std::size_t picked_ = 0;
    std::vector<Run> runs_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> named_;  ///< where, and the entity
};

}  // namespace purview
