// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Data for lag compensation: the history of the components that the schema marks, and the
// enter/leave log of each observer.
//
// Must not know: packets, the game.
#pragma once

#include <vector>

#include "interest/engine.hpp"
#include "purview/rewind.hpp"
#include "purview/world.hpp"
#include "server/history.hpp"
#include "server/relevance_log.hpp"
#include "server/server_counters.hpp"
#include "server/server_time.hpp"
#include "server/session_table.hpp"

namespace purview {

struct Session;

class RewindData {
  public:
    RewindData(const ServerDef& def, const ServerTime& time, const World& world,
               const InterestEngine& interest, const SessionTable& sessions);

    /// Stores the world after the edits of this tick.
    void record();
    /// Stores the enters and leaves of this tick.
    void note_events(const Session& session);
    Result<PastView> view(ObserverId observer, double tick);

    bool is_own(ObserverId observer, EntityId entity) const noexcept;
    bool sees(ObserverId observer, EntityId entity, double tick) const noexcept;
    double tick_seen(ObserverId observer, EntityId entity, double tick) const noexcept;
    const void* read(ObserverId observer, EntityId entity, ComponentId component,
                     double tick) const noexcept;
    Vec3 position_of(ObserverId observer, EntityId entity, double tick) const noexcept;
    Status find(ObserverId observer, const History::Volume& volume, double tick,
                std::vector<PastHit>& out);

    RewindCounters counters;

  private:
    struct Log {
        ObserverId observer = ObserverId::none;
        RelevanceLog log;
    };
    const RelevanceLog* log_of(ObserverId observer) const noexcept;

    const ServerTime& time_;
    const World& world_;
    const InterestEngine& interest_;
    const SessionTable& sessions_;
    History history_;
    std::uint32_t ticks_;
    std::vector<Log> logs_;  ///< by index of the observer
};

}  // namespace purview
