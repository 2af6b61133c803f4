// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Enters and leaves of a tick: ghosts begin and end with them, and the game reads them as
// ServerEvents.
//
// Owns the events of the last tick, those of sessions and local players that have ended since (they
// come first in the next tick), and the counts of all. After `apply` the live ghosts of a session
// are the relevant set of its observer.
//
// Must not know: packets, how relevance was decided, other sessions.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "interest/interest_data.hpp"
#include "purview/world.hpp"
#include "replication/field_store.hpp"
#include "server/audience_filter.hpp"
#include "server/local_player.hpp"
#include "server/send_intervals.hpp"
#include "server/server_time.hpp"
#include "server/session_table.hpp"
#include "server/spoil.hpp"

namespace purview {

class RelevanceEvents {
  public:
    RelevanceEvents(const ServerDef& def, const ServerTime& time, const World& world,
                    const InterestData& interest, const FieldStore& fields,
                    const SendIntervals& intervals, const AudienceFilter& audiences,
                    const Spoil& spoil)
        : def_(def),
          time_(time),
          world_(world),
          interest_(interest),
          fields_(fields),
          intervals_(intervals),
          audiences_(audiences),
          spoil_(spoil) {}

    /// Drops the events of the last tick.
    void begin_tick();
    /// What `apply` will read for the sessions behind this one.
    void prefetch(const SessionTable& sessions, std::size_t i) const noexcept;
    void apply(Session& session);
    /// In the order in which a session's are sent.
    void apply(LocalPlayer& player);
    /// Notifies the client once when all that was relevant when it was first ready has arrived. One
    /// that ceases to be ready before starts again.
    void watch_first_view(Session& session) const;

    /// Everything that it had ends with it.
    void note_disconnected(const Session& session);
    void note_disconnected(const LocalPlayer& player);

    /// Of the last tick.
    std::span<const ServerEvent> events() const noexcept { return events_; }
    std::uint64_t enters() const noexcept { return enters_; }
    std::uint64_t leaves() const noexcept { return leaves_; }

  private:
    std::size_t count_keeping(const Session& session) const;
    void list_enter(const InterestEvent& event);
    void set_layout(GhostTable& ghosts, LocalId lane) const;
    void spoil_leak(Session& session) const;

    const ServerDef& def_;
    const ServerTime& time_;
    const World& world_;
    const InterestData& interest_;
    const FieldStore& fields_;
    const SendIntervals& intervals_;
    const AudienceFilter& audiences_;
    [[maybe_unused]] const Spoil& spoil_;  ///< read in builds with PURVIEW_BREAKABLE
    std::vector<ServerEvent> events_;
    std::vector<ServerEvent> events_of_gone_;  ///< of those that ended since the last tick
    std::vector<std::pair<std::uint64_t, const InterestEvent*>> enter_order_;  ///< scratch of apply
    std::uint64_t enters_ = 0;
    std::uint64_t leaves_ = 0;
};

}  // namespace purview
