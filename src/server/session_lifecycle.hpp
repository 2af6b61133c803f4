// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Sessions from tick to tick: joins, messages and commands for the game, timeouts, and the end of
// those that are closed. All of it is the stage `receive`; whatever the game is called with may
// close any session, this one included.
//
// Must not know: packets, ghosts beyond their number.
#pragma once

#include <span>
#include <vector>

#include "interest/interest_data.hpp"
#include "server/relevance_events.hpp"
#include "server/rpc_router.hpp"
#include "server/server_time.hpp"
#include "server/session_closer.hpp"
#include "server/session_table.hpp"
#include "server/shared_sections.hpp"
#include "server/tap.hpp"

namespace purview {

class SessionLifecycle {
  public:
    SessionLifecycle(const ServerDef& def, const ServerTime& time, Game& game,
                     InterestData& interest, SessionTable& sessions, SessionCloser& closer,
                     const SharedSections& sections, RelevanceEvents& events, RpcRouter& calls,
                     ReplicationTap* const& tap)
        : def_(def),
          time_(time),
          game_(game),
          interest_(interest),
          sessions_(sessions),
          closer_(closer),
          sections_(sections),
          events_(events),
          calls_(calls),
          tap_(tap) {}

    void begin_tick() noexcept;
    /// Its join, if the limit of this tick allows it, or its end where it has timed out.
    void update(Server& server, Session& session, Micros now);
    // It has joined.
    void run_messages(Server& server, Session& session);
    void run_commands(Server& server, Session& session);
    /// Reports the closed sessions to the game, and removes them.
    void end_closed(Server& server);

    /// The longest that an update of it has waited, or waits.
    Tick longest_wait_ticks(const Session& session) const;
    /// The same, of sessions that have ended.
    Tick backlog_age_ticks_max() const noexcept { return backlog_age_ticks_max_; }

  private:
    void run_join(Server& server, Session& session);
    void end_session(Server& server, Session& session);

    const ServerDef& def_;
    const ServerTime& time_;
    Game& game_;
    InterestData& interest_;
    SessionTable& sessions_;
    SessionCloser& closer_;
    const SharedSections& sections_;
    RelevanceEvents& events_;
    RpcRouter& calls_;
    ReplicationTap* const& tap_;    ///< null: none listens
    std::uint32_t joins_left_ = 0;  ///< in this tick
    std::vector<ObserverId> gone_;  ///< of the sessions that are ending
    Tick backlog_age_ticks_max_ = 0;
};

}  // namespace purview
