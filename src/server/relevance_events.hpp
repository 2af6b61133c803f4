// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Applies the enters and leaves of a tick: adds and removes ghosts, and makes the ServerEvents that
// the game reads.
//
// Owns the events of the last tick and the total counts. Leaves of sessions and local players that
// have ended since are the first events of the next tick. After `apply`, the live ghosts of a
// session are the relevant set of its observer.
//
// Must not know: packets, how relevance was decided, other sessions.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "interest/engine.hpp"
#include "purview/world.hpp"
#include "replication/field_store.hpp"
#include "server/audience_filter.hpp"
#include "server/fault_injection.hpp"
#include "server/local_player.hpp"
#include "server/send_intervals.hpp"
#include "server/server_time.hpp"
#include "server/session_table.hpp"

namespace purview {

class RelevanceEvents {
  public:
    RelevanceEvents(const ServerDef& def, const ServerTime& time, const World& world,
                    const InterestEngine& interest, const FieldStore& fields,
                    const SendIntervals& intervals, const AudienceFilter& audiences,
                    const InjectedFault& injected_fault)
        : def_(def),
          time_(time),
          world_(world),
          interest_(interest),
          fields_(fields),
          intervals_(intervals),
          audiences_(audiences),
          injected_(injected_fault) {}

    /// Drops the events of the last tick.
    void begin_tick();
    /// Prefetches what `apply` reads for the two sessions after session i.
    void prefetch(const SessionTable& sessions, std::size_t i) const noexcept;
    void apply(Session& session);
    /// The events have the same order as those of a session.
    void apply(LocalPlayer& player);
    /// Notifies the client once, when all entities that were relevant when its observer became
    /// ready have arrived. Starts again if the observer ceases to be ready before that.
    void watch_first_view(Session& session) const;

    /// Adds a leave for each entity that was relevant to the session or player.
    void note_disconnected(const Session& session);
    void note_disconnected(const LocalPlayer& player);

    /// Events of the last tick.
    std::span<const ServerEvent> events() const noexcept { return events_; }
    std::uint64_t enters() const noexcept { return enters_; }
    std::uint64_t leaves() const noexcept { return leaves_; }

  private:
    std::size_t count_retained(const Session& session) const;
    void list_enter(const InterestEvent& event);
    ServerEvent event_of(ObserverId observer, EntityId entity, KindId kind, Reason reason,
                         Change change) const;
    void set_layout(GhostTable& ghosts, LocalId slot) const;
    void inject_leak(Session& session) const;

    const ServerDef& def_;
    const ServerTime& time_;
    const World& world_;
    const InterestEngine& interest_;
    const FieldStore& fields_;
    const SendIntervals& intervals_;
    const AudienceFilter& audiences_;
    [[maybe_unused]] const InjectedFault& injected_;  ///< read in builds with PURVIEW_BREAKABLE
    std::vector<ServerEvent> events_;
    /// Of sessions and players that ended since the last tick.
    std::vector<ServerEvent> events_of_gone_;
    std::vector<std::pair<std::uint64_t, const InterestEvent*>> enter_order_;  ///< scratch of apply
    std::uint64_t enters_ = 0;
    std::uint64_t leaves_ = 0;
};

}  // namespace purview
