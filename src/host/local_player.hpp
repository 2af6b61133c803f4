// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A player in the server's own process as the server keeps him (HostView): an observer to whom
// nothing is sent, and who gets the events and the calls of a remote one.
#pragma once

#include <map>
#include <vector>

#include "host/server_calls.hpp"
#include "purview/ids.hpp"
#include "purview/schema.hpp"

namespace purview {

struct LocalPlayer {
    ObserverId observer = ObserverId::none;
    std::map<EntityId, KindId> relevant;  ///< as of the last tick; the kind outlives the entity
    /// Until HostView::update hands them out; rpc_waiting_max at most. `target`: none where a
    /// remote client would be told no ghost.
    std::vector<WantedCall> calls;
};

}  // namespace purview
