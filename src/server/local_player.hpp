// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A player in the server's own process (HostView): an observer without packets that receives the
// same events and calls as a remote client.
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
    /// As of the last tick; the kind stays readable after a despawn.
    std::map<EntityId, KindId> relevant;
    /// Calls that wait for HostView::update, at most limits::rpc_pending_per_observer. `target` is
    /// none where a remote client would receive no ghost.
    std::vector<WantedCall> calls;
};

/// All local players, in order of creation. Owned by their HostViews, which remove them on
/// destruction.
class LocalPlayers {
  public:
    void add(LocalPlayer& player) {
        PURVIEW_ASSERT(find(player.observer) == nullptr);
        players_.push_back(&player);
    }
    void remove(const LocalPlayer& player) { std::erase(players_, &player); }
    /// Null if no local player has this observer.
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
