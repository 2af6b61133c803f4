// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the edits of the world mean for interest: first what structural edits amount to, then flags,
// keys and values, then moves. For observers all of it is one step (N42).
//
// The only writer of entities in interest. Between ticks `track_facts` may run early, so that the
// game can name new entities to interest; what it has read it does not read again.
//
// Must not know: packets, the game, what interest makes of it.
#pragma once

#include <array>

#include "interest/interest_data.hpp"
#include "purview/world.hpp"
#include "server/audience_filter.hpp"
#include "server/server_time.hpp"
#include "server/session_table.hpp"

namespace purview {

class InterestFeed {
  public:
    InterestFeed(const ServerDef& def, const ServerTime& time, World& world, InterestData& interest,
                 const SessionTable& sessions, AudienceFilter& audiences)
        : def_(def),
          time_(time),
          world_(world),
          interest_(interest),
          sessions_(sessions),
          audiences_(audiences) {}

    /// Facts of the edits made so far. `fresh`: of those since the last call; the others follow in
    /// `track`.
    void track_facts(bool fresh);
    /// As track_facts(true), where something was edited since the last call.
    void track_fresh_facts();
    /// The stage of the tick: facts, then moves.
    void track();

  private:
    EntityDef def_of(std::uint32_t index);
    void track_op(const WorldOp& op);

    const ServerDef& def_;
    const ServerTime& time_;
    World& world_;
    InterestData& interest_;
    const SessionTable& sessions_;
    AudienceFilter& audiences_;
    std::array<Key, Schema::keys_max> keys_{};  ///< of the entity that def_of returned last
    std::array<float, Schema::values_max> values_{};
};

}  // namespace purview
