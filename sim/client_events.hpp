// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The ghosts of a client, including retained ghosts, and its events by type.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "purview/client.hpp"

namespace purview::test {

/// Calls visit(GhostId) for every id that may have a ghost, held or retained.
template <class Visit>
void for_each_id(const Client& client, Visit&& visit) {
    const auto& replica = internal(client).replica;
    const LocalId end = replica ? replica->ghosts.slot_end() : 0;
    for (LocalId id = 0; id < end; ++id) visit(ghost_id_of(id));
}

constexpr bool is_lifetime(const ClientEvent& event) noexcept {
    return event.change != Change::updated && event.change != Change::regrouped;
}

/// Returns the events of enters, leaves, and ends of retained ghosts.
inline std::vector<ClientEvent> lifetimes_of(const Client& client) {
    std::vector<ClientEvent> out;
    for (const ClientEvent& event : client.events())
        if (is_lifetime(event)) out.push_back(event);
    return out;
}

/// Returns the events of changed parents and roots.
inline std::vector<ClientEvent> regroupings_of(const Client& client) {
    std::vector<ClientEvent> out;
    for (const ClientEvent& event : client.events())
        if (event.change == Change::regrouped) out.push_back(event);
    return out;
}

/// Returns the newest event of each ghost that is still held and has changes.
inline std::map<GhostId, ClientEvent> changes_of(const Client& client) {
    std::map<GhostId, ClientEvent> out;
    std::set<GhostId> seen;
    for (auto event = client.events().rbegin(); event != client.events().rend(); ++event) {
        if (event->change == Change::regrouped || !seen.insert(event->ghost).second) continue;
        if (event->components != 0 || event->owner_changed) out.emplace(event->ghost, *event);
    }
    return out;
}

}  // namespace purview::test
