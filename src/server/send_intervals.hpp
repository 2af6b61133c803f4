// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Computes the priority weight and send interval of each ghost from relevance scores, node settings
// and the curves of kinds. Also computes the retention of a ghost that leaves. Stores only data
// that follows from schema and rules, for all sessions.
//
// Sessions are independent: `update` is called for different sessions by different threads.
//
// Must not know: packets, other sessions.
#pragma once

#include "interest/engine.hpp"
#include "purview/world.hpp"
#include "server/server_time.hpp"
#include "server/session.hpp"
#include "server/tick_worker.hpp"

namespace purview {

class SendIntervals {
  public:
    SendIntervals(const ServerDef& def, const ServerTime& time, const World& world,
                  const InterestEngine& interest);

    /// Call when the rules have changed: everything is evaluated again in the next tick.
    void note_rules();
    /// Counts the calls of note_rules, starting at 1 for the initial rules.
    std::uint32_t rules_revision() const noexcept { return rules_revision_; }

    /// In each tick, updates an eighth of the ghosts, ghosts that entered, and ghosts with changed
    /// nodes; after a change of rules, all of them. Does nothing if the results cannot differ.
    void update(SendIntervalScratch& scratch, Session& session) const;
    /// Returns the retention of a ghost that leaves: the stronger policy of its kind and its nodes,
    /// for the time of its kind. The ghost of a despawned entity is not retained.
    RetentionPeriod retention_period_of(const Session& session, LocalId slot, Reason reason) const;

  private:
    const ServerDef& def_;
    const ServerTime& time_;
    const World& world_;
    const InterestEngine& interest_;
    bool has_rates_ = false;     ///< some kind has a curve of send intervals
    bool has_settings_ = false;  ///< some node has settings of its own
    std::uint32_t rules_revision_ = 0;
};

}  // namespace purview
