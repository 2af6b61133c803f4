// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A player in the server's own process (HostView): an observer to which nothing is sent, and which
// gets the events and the calls of a remote one.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "purview/schema.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"
#include "server/wanted_call.hpp"

namespace purview {

struct LocalPlayer {
    ObserverId observer = ObserverId::none;
    std::map<EntityId, KindId> relevant;  ///< as of the last tick; the kind outlives the entity
    /// Until HostView::update hands them out; limits::rpc_pending_per_observer at most. `target`:
    /// none where a remote client would be sent no ghost.
    std::vector<WantedCall> calls;
};

/// All of them, in order of arrival. They belong to their HostViews, which remove them before they
/// end.
class LocalPlayers {
  public:
    void add(LocalPlayer& player) {
        PURVIEW_ASSERT(find(player.observer) == nullptr);
        players_.push_back(&player);
    }
    void remove(const LocalPlayer& player) { std::erase(players_, &player); }
    /// Null: no local player has this observer.
    LocalPlayer* find(ObserverId observer) const noexcept {
        const auto its =
            std::find_if(players_.begin(), players_.end(),
                         [&](const LocalPlayer* player) { return player->observer == observer; });
        return its == players_.end() ? nullptr : *its;
    }
    std::vector<LocalPlayer*>::const_iterator begin() const noexcept { return players_.begin(); }
    std::vector<LocalPlayer*>::const_iterator end() const noexcept { return players_.end(); }

  private:
    std::vector<LocalPlayer*> players_;
};

}  // namespace purview
