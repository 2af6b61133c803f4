// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The server's past: the history of marked components, and for each observer what it knew of.
#pragma once

#include <vector>

#include "prediction/history.hpp"
#include "prediction/relevance_log.hpp"
#include "purview/rewind.hpp"

namespace purview {

class ServerData;
struct Session;

class RewindData {
  public:
    explicit RewindData(ServerData& server);

    /// The world after this tick's edits.
    void record();
    /// Enters and leaves of this tick.
    void note_events(const Session& session);
    Result<RewoundView> view(ObserverId observer, double tick);

    bool is_own(ObserverId observer, EntityId entity) const noexcept;
    bool sees(ObserverId observer, EntityId entity, double tick) const noexcept;
    double tick_seen(ObserverId observer, EntityId entity, double tick) const noexcept;
    const void* read(ObserverId observer, EntityId entity, ComponentId component,
                     double tick) const noexcept;
    Vec3 place_of(ObserverId observer, EntityId entity, double tick) const noexcept;
    Status find(ObserverId observer, const History::Volume& volume, double tick,
                std::vector<RewoundHit>& out);

    RewindCounters counters;

  private:
    struct Log {
        ObserverId observer = ObserverId::none;
        RelevanceLog log;
    };
    const RelevanceLog* log_of(ObserverId observer) const noexcept;

    ServerData* server_;
    History history_;
    std::uint32_t ticks_;
    std::vector<Log> logs_;  ///< by index of the observer
};

}  // namespace purview
