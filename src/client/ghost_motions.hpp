// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Dead-reckoned fields of ghosts. Between updates they follow the last received predictor states
// (Motion; "motions" below).
//
// Invariants: exactly the held ghosts of kinds with dead-reckoned fields have a slot; the bit of a
// ghost in `moving_` is set only while it has a slot and one of its motions has a speed.
//
// Must not know: packets.
#pragma once

#include <cstdint>
#include <vector>

#include "client/ghost_events.hpp"
#include "client/ghost_poses.hpp"
#include "client/ghosts.hpp"
#include "client/motions.hpp"
#include "core/bitset.hpp"

namespace purview {

class GhostMotions {
  public:
    GhostMotions(ClientGhosts& ghosts, GhostPoses& poses, GhostEvents& events);

    std::size_t bytes() const noexcept { return motions_.bytes(); }
    /// Memory that this number of additional slots would take.
    std::size_t bytes_of(std::size_t slots) const noexcept { return motions_.bytes_of(slots); }
    bool is_moving(LocalId ghost) const noexcept {
        return ghost / bits_per_word < moving_.size() &&
               (moving_[ghost / bits_per_word] >> (ghost % bits_per_word) & 1U) != 0;
    }
    /// The newest motions at or before this tick, and their tick; null if there are none.
    const Motion* find(LocalId ghost, Tick tick, Tick& of) const noexcept {
        return motions_.find(ghosts_[ghost].motions, tick, of);
    }

    /// Call when the ghost is held.
    void begin(LocalId ghost);
    /// Call when the ghost is no longer held.
    void end(LocalId ghost);
    /// Applies the motions of an update. Null: the values were absolute and are already applied.
    void apply(LocalId ghost, const Motion* received, Tick tick);
    /// Sets the fields of ghosts without an update in this tick to their predicted values.
    void go_on(Tick tick);

  private:
    void set_moving(LocalId ghost, bool moves);

    ClientGhosts& ghosts_;
    GhostPoses& poses_;
    GhostEvents& events_;
    ClientMotions motions_;
    std::vector<std::uint64_t> moving_;  ///< ghosts with a motion that has a speed, one bit each
};

}  // namespace purview
