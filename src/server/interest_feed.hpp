// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Converts the edits of the world for interest: structural edits first, then flags, keys and
// values, then moves. Observers see all of it as one step (N42).
//
// The only writer of entities in interest. `track_facts` may run early, between ticks, so that the
// game can refer to new entities in interest. Edits that it has read are not read again.
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

    /// Processes the edits made so far. With `fresh`, only those since the last call; `track`
    /// processes the others.
    void track_facts(bool fresh);
    /// As track_facts(true), but only if entities were spawned, were despawned or changed groups
    /// since the last call.
    void track_fresh_facts();
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
