// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "permits.hpp"

#include <algorithm>
#include <bit>

#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "server/server_data.hpp"

namespace purview::test {

namespace {

constexpr std::size_t ticks_kept = 100;  ///< a packet of an older tick is not checked

using Named = SnapshotDecoder::Named;

struct IdUse {
    const char* text;
    std::uint64_t Permits::Counts::*count;
};
constexpr IdUse id_uses[] = {
    // [Named]
    {"received a forbidden leave of ghost ", &Permits::Counts::leaves},
    {"received a forbidden body of ghost ", &Permits::Counts::bodies},
    {"received a forbidden parent: ghost ", &Permits::Counts::parents},
    {"received a forbidden reference to ghost ", &Permits::Counts::references},
    {"received a forbidden member map entry: ghost ", &Permits::Counts::member_maps},
};

}  // namespace

void Permits::note_tick(const Server& server) {
    std::erase_if(connections_, [&](const auto& connection) {
        const auto& sessions = internal(server).sessions;
        return std::none_of(sessions.begin(), sessions.end(), [&](const auto& session) {
            return session->nonce == connection.first;
        });
    });
    for (const auto& session : internal(server).sessions) {
        if (session->state != Session::State::joined) continue;
        const GhostTable& ghosts = session->ghosts;
        Permitted now{server.current_tick(), std::vector<bool>(ghosts.slots().end()),
                      std::vector<std::uint32_t>(ghosts.slots().end())};
        for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
            now.allowed[slot] = ghosts.audience().allowed(slot);
            now.slots[slot] =
                ghosts.slots().is_live(slot) && internal(server).interest.answers.is_relevant(
                                                    session->observer, ghosts.slots().entity(slot));
        }
        Connection& connection = connections_[session->nonce];
        if (connection.ever.size() < now.slots.size()) connection.ever.resize(now.slots.size());
        for (std::size_t slot = 0; slot < now.slots.size(); ++slot)
            connection.ever[slot] = connection.ever[slot] || now.slots[slot];
        std::deque<Permitted>& ticks = connection.ticks;
        ticks.push_back(std::move(now));
        if (ticks.size() > ticks_kept) ticks.pop_front();
    }
}

void Permits::arrived(Client& client, std::uint64_t nonce) {
    const auto connection = connections_.find(nonce);
    if (connection == connections_.end() || client.newest_packet() == connection->second.packet)
        return;
    connection->second.packet = client.newest_packet();
    const Tick tick = client.newest_tick();
    const std::deque<Permitted>& ticks = connection->second.ticks;
    const auto then = std::find_if(ticks.begin(), ticks.end(),
                                   [&](const Permitted& one) { return one.tick == tick; });
    if (then == ticks.end()) return;
    // A leave may refer to an entity that was relevant earlier.
    const auto is_in = [](const std::vector<bool>& slots, LocalId ghost) {
        return ghost < slots.size() && slots[ghost];
    };
    internal(client).replica->decoder.for_each_named([&](Named named, LocalId ghost) {
        const IdUse& use = id_uses[static_cast<std::size_t>(named)];
        ++(named_.*use.count);
        const std::vector<bool>& slots =
            named == Named::leave ? connection->second.ever : then->slots;
        if (is_in(slots, ghost) || !trouble_.empty()) return;
        trouble_ = std::string("a client ") + use.text + std::to_string(ghost) + " in tick " +
                   std::to_string(tick) + ", which is not relevant to it";
    });
    internal(client).replica->decoder.for_each_body([&](LocalId ghost, std::uint32_t parts) {
        if (!is_in(then->slots, ghost)) return;  // reported by the check above
        const std::uint32_t allowed = then->allowed[ghost];
        named_.partial += allowed != all_allowed ? 1 : 0;
        if ((parts & ~allowed) == 0 || !trouble_.empty()) return;
        trouble_ = "a client received part " + std::to_string(std::countr_zero(parts & ~allowed)) +
                   " of ghost " + std::to_string(ghost) + " in tick " + std::to_string(tick) +
                   ", which is not in its allowed components";
    });
}

}  // namespace purview::test
