// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "permits.hpp"

#include <algorithm>

#include "host/client_data.hpp"
#include "host/server_data.hpp"

namespace purview::test {

namespace {

constexpr std::size_t ticks_kept = 100;  ///< what arrives later than that is not looked at

}  // namespace

void Permits::note_tick(const Server& server) {
    std::erase_if(lines_, [&](const auto& line) {
        const auto& sessions = server.data().sessions;
        return std::none_of(sessions.begin(), sessions.end(),
                            [&](const auto& session) { return session->nonce == line.first; });
    });
    for (const auto& session : server.data().sessions) {
        if (session->state != Session::State::joined) continue;
        const GhostTable& ghosts = session->ghosts;
        Permitted now{server.current_tick(), std::vector<bool>(ghosts.lane_end())};
        for (LocalId lane = 0; lane < ghosts.lane_end(); ++lane) {
            now.lanes[lane] = ghosts.is_live(lane) && server.data().interest.is_relevant(
                                                          session->observer, ghosts.entity(lane));
        }
        std::deque<Permitted>& ticks = lines_[session->nonce].ticks;
        ticks.push_back(std::move(now));
        if (ticks.size() > ticks_kept) ticks.pop_front();
    }
}

void Permits::arrived(Client& client, std::uint64_t nonce) {
    const auto line = lines_.find(nonce);
    if (line == lines_.end() || client.newest_packet() == line->second.packet) return;
    line->second.packet = client.newest_packet();
    const Tick tick = client.newest_tick();
    const std::deque<Permitted>& ticks = line->second.ticks;
    const auto then = std::find_if(ticks.begin(), ticks.end(),
                                   [&](const Permitted& one) { return one.tick == tick; });
    if (then == ticks.end()) return;
    const ClientGhosts& ghosts = *client.data().ghosts;
    ghosts.for_each_held([&](LocalId ghost) {
        if (ghosts.updated(ghost) != tick) return;
        ++named_;
        const bool is_permitted = ghost < then->lanes.size() && then->lanes[ghost];
        if (is_permitted || !trouble_.empty()) return;
        trouble_ = "a client was told of ghost " + std::to_string(ghost) + " in tick " +
                   std::to_string(tick) + " and may not know of it";
    });
}

}  // namespace purview::test
