// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Priority weight and send interval of each ghost, from relevance scores, settings of nodes, and
// the curves of kinds; and what becomes of the copy of one that leaves. Owns only what the schema
// and the rules say in general.
//
// Sessions are independent: `update` is called for different sessions by different threads.
//
// Must not know: packets, other sessions.
#pragma once

#include "interest/interest_data.hpp"
#include "purview/world.hpp"
#include "server/server_time.hpp"
#include "server/session.hpp"
#include "server/tick_worker.hpp"

namespace purview {

class SendIntervals {
  public:
    SendIntervals(const ServerDef& def, const ServerTime& time, const World& world,
                  const InterestData& interest);

    /// The rules changed: everything is evaluated again in the next tick.
    void note_rules();
    /// Counts calls of note_rules; 1 before the first one.
    std::uint32_t rules_revision() const noexcept { return rules_revision_; }

    /// An eighth of the ghosts in each tick, those that are new or have other nodes, and all of
    /// them when the rules are new; none where nothing depends on it.
    void update(PaceScratch& scratch, Session& session) const;
    /// What becomes of the copy of a ghost that leaves: as its kind says, or as the nodes that
    /// wanted the pair say if they retain more. A despawned entity is not retained.
    Keeping keeping_of(const Session& session, LocalId lane, Reason reason) const;

  private:
    const ServerDef& def_;
    const ServerTime& time_;
    const World& world_;
    const InterestData& interest_;
    bool has_rates_ = false;     ///< some kind has a curve
    bool has_settings_ = false;  ///< some node has settings of its own
    std::uint32_t rules_revision_ = 0;
};

}  // namespace purview
