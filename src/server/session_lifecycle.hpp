// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The state changes of sessions in the stage `receive`: joins, messages and commands to the game,
// timeouts, and the end of closed sessions. Every call of the game may close any session, including
// the current one.
//
// Must not know: packets, ghosts beyond their number.
#pragma once

#include <span>
#include <vector>

#include "interest/engine.hpp"
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
                     InterestEngine& interest, SessionTable& sessions, SessionCloser& closer,
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
    /// Runs the join of a joining session if the limit of this tick allows it. Closes the session
    /// if it has timed out.
    void update(Server& server, Session& session, Micros now);
    // For joined sessions:
    void run_messages(Server& server, Session& session);
    void run_commands(Server& server, Session& session);
    /// Reports the closed sessions to the game, and removes them.
    void end_closed(Server& server);

    /// Returns the longest wait of any update of the session so far, in ticks.
    Tick longest_wait_ticks(const Session& session) const;
    /// Returns the longest wait in sessions that have ended.
    Tick backlog_age_ticks_max() const noexcept { return backlog_age_ticks_max_; }

  private:
    void run_join(Server& server, Session& session);
    void end_session(Server& server, Session& session);

    const ServerDef& def_;
    const ServerTime& time_;
    Game& game_;
    InterestEngine& interest_;
    SessionTable& sessions_;
    SessionCloser& closer_;
    const SharedSections& sections_;
    RelevanceEvents& events_;
    RpcRouter& calls_;
    ReplicationTap* const& tap_;    ///< null: no replication observer is set
    std::uint32_t joins_left_ = 0;  ///< in this tick
    std::vector<ObserverId> gone_;  ///< observers of the sessions that are ending
    Tick backlog_age_ticks_max_ = 0;
};

}  // namespace purview
