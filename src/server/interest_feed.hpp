// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Passes the edits of the world to the interest engine: first spawns, despawns, groups and owners,
// then flags, keys and values, then moves. Observers receive all edits of a tick as one step.
//
// The only writer of entities in the interest engine. `track_edits` may run early, between ticks,
// so that the game can use new entities in calls to interest. Edits are processed once.
//
// Must not know: packets, the game, how interest evaluates the edits.
#pragma once

#include <array>

#include "interest/engine.hpp"
#include "purview/world.hpp"
#include "server/audience_filter.hpp"
#include "server/server_time.hpp"
#include "server/session_table.hpp"

namespace purview {

class InterestFeed {
  public:
    InterestFeed(const ServerDef& def, const ServerTime& time, World& world,
                 InterestEngine& interest, const SessionTable& sessions, AudienceFilter& audiences)
        : def_(def),
          time_(time),
          world_(world),
          interest_(interest),
          sessions_(sessions),
          audiences_(audiences) {}

    /// Processes the edits except moves. With `only_new`, processes only edits since the last call;
    /// `track` processes the others.
    void track_edits(bool only_new);
    /// As track_edits(true), but only if entities were spawned, were despawned or changed groups
    /// since the last call.
    void track_new_edits();
    /// The stage of the tick: all edits, then moves.
    void track();

  private:
    EntityDef def_of(std::uint32_t index);
    void track_op(const WorldOp& op);
    void track_user_data();

    const ServerDef& def_;
    const ServerTime& time_;
    World& world_;
    InterestEngine& interest_;
    const SessionTable& sessions_;
    AudienceFilter& audiences_;
    std::array<Key, Schema::keys_max> keys_{};  ///< of the entity that def_of returned last
    std::array<float, Schema::values_max> values_{};
};

}  // namespace purview
