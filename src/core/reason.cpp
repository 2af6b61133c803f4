// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Names of reasons, for the server and for clients, which do not contain interest management.
#include "purview/types.hpp"

namespace purview {

std::string_view to_string(Reason reason) noexcept {
    switch (reason) {
        case Reason::entered:
            return "entered";
        case Reason::spawned:
            return "spawned";
        case Reason::owned:
            return "owned";
        case Reason::forced:
            return "forced";
        case Reason::left:
            return "left";
        case Reason::hidden:
            return "hidden";
        case Reason::despawned:
            return "despawned";
        case Reason::disconnected:
            return "disconnected";
        case Reason::promoted:
            return "promoted";
    }
    return "unknown";
}

std::string_view to_string(Retention retention) noexcept {
    switch (retention) {
        case Retention::despawn:
            return "despawn";
        case Retention::freeze:
            return "freeze";
        case Retention::stale:
            return "stale";
        case Retention::deactivate:
            return "deactivate";
    }
    return "?";
}

}  // namespace purview
