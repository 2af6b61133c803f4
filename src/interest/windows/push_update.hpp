// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Push: a moving entity wakes the observers that its move may affect. Pull: every observer scans
// what changed. Push is used while it is cheaper (docs/adr/0006-pull-or-push.md).
//
// Invariant: while push is on, each ready observer's positions are in the region grid as of its
// last scan, and an observer is woken if a change may affect its window. Must not depend on rows,
// pairs or events.
#pragma once

#include <cstdint>
#include <span>

#include "interest/observers/observer_store.hpp"
#include "interest/rules/program.hpp"
#include "purview/status.hpp"
#include "spatial/block_table.hpp"
#include "spatial/region_grid.hpp"

namespace purview {

class PushUpdate {
  public:
    /// What wake() reads besides the block table and the program.
    struct Layout {
        std::uint32_t watched_column = 0;  ///< the flag of entities that observers view from
        std::uint32_t abstract_layer = 0;
        std::uint32_t bounds_layer = 0;
        float bounds_max_m = 0;  ///< the largest group radius
    };
    /// The inputs of choose().
    struct Choice {
        bool is_possible = false;
        bool is_wanted = false;  ///< even if it costs more
        std::size_t observers = 0;
        std::uint64_t rules_revision = 0;
    };

    /// Bounds of the world, horizontal axes first.
    PushUpdate(bool three_d, Vec3 min, Vec3 max)
        : regions_(three_d, min, max, 1, 1), three_d_(three_d), min_(min), max_(max) {}

    bool is_on() const noexcept { return is_on_; }
    /// Returns whether the last wake() found a change that may affect every observer.
    bool wakes_all() const noexcept { return wakes_all_; }
    /// Wakes every observer that this tick's changes may affect. O(changed cells + moves).
    void wake(BlockTable& table, const Program& program, const Layout& layout,
              ObserverStore& observers);
    /// Counts observers that were scanned in full in this tick.
    void note_scanned(std::size_t observers) noexcept { scanned_ += observers; }
    /// Sets the positions at which moving entities find the observer. An empty list removes it.
    void set_region(std::uint32_t observer, std::span<const Vec3> positions) {
        PURVIEW_ASSERT(is_on_);
        regions_.set(observer, positions);
    }
    /// Decides whether the next tick pushes. Returns true if the grid is new. The caller must then
    /// set the region of every observer.
    bool choose(BlockTable& table, const Program& program, const Choice& choice);
    /// Pulls until the next choose(), because the rules changed.
    void stop(BlockTable& table);
    void end_tick() { regions_.end_tick(); }

  private:
    void wake_cell(const BlockTable& table, const Program& program, const Layout& layout,
                   BlockIndex cell, ObserverStore& observers);

    RegionGrid regions_;
    bool three_d_;
    Vec3 min_, max_;
    std::uint64_t regions_rules_ = 0;  ///< the revision of the rules that the grid is made for
    bool is_on_ = false;               ///< moves within a cell are recorded (`CellMove`)
    bool wakes_all_ = false;
    std::size_t scanned_ = 0;  ///< observers, since the last choice
};

}  // namespace purview
