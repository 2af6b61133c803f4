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

constexpr std::size_t ticks_kept = 100;  ///< what arrives later than that is not looked at

using Named = ClientGhosts::Named;

struct Way {
    const char* text;
    std::uint64_t Permits::Counts::*count;
};
constexpr Way ways[] = {
    // [Named]
    {"was told that it leaves of ghost ", &Permits::Counts::leaves},
    {"was told of ghost ", &Permits::Counts::bodies},
    {"was told as a parent of ghost ", &Permits::Counts::parents},
    {"was told in a reference of ghost ", &Permits::Counts::references},
    {"was told in a roster of ghost ", &Permits::Counts::rosters},
};

}  // namespace

void Permits::note_tick(const Server& server) {
    std::erase_if(lines_, [&](const auto& line) {
        const auto& sessions = internal(server).sessions;
        return std::none_of(sessions.begin(), sessions.end(),
                            [&](const auto& session) { return session->nonce == line.first; });
    });
    for (const auto& session : internal(server).sessions) {
        if (session->state != Session::State::joined) continue;
        const GhostTable& ghosts = session->ghosts;
        Permitted now{server.current_tick(), std::vector<bool>(ghosts.lane_end()),
                      std::vector<std::uint32_t>(ghosts.lane_end())};
        for (LocalId lane = 0; lane < ghosts.lane_end(); ++lane) {
            now.told[lane] = ghosts.told(lane);
            now.lanes[lane] = ghosts.is_live(lane) && internal(server).interest.is_relevant(
                                                          session->observer, ghosts.entity(lane));
        }
        Line& line = lines_[session->nonce];
        if (line.ever.size() < now.lanes.size()) line.ever.resize(now.lanes.size());
        for (std::size_t lane = 0; lane < now.lanes.size(); ++lane)
            line.ever[lane] = line.ever[lane] || now.lanes[lane];
        std::deque<Permitted>& ticks = line.ticks;
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
    // Whoever leaves is not to be known any more, but was.
    const auto is_in = [](const std::vector<bool>& lanes, LocalId ghost) {
        return ghost < lanes.size() && lanes[ghost];
    };
    internal(client).ghosts->for_each_named([&](Named named, LocalId ghost) {
        const Way& way = ways[static_cast<std::size_t>(named)];
        ++(named_.*way.count);
        const std::vector<bool>& lanes = named == Named::leave ? line->second.ever : then->lanes;
        if (is_in(lanes, ghost) || !trouble_.empty()) return;
        trouble_ = std::string("a client ") + way.text + std::to_string(ghost) + " in tick " +
                   std::to_string(tick) + " and may not know of it";
    });
    internal(client).ghosts->for_each_body([&](LocalId ghost, std::uint32_t parts) {
        if (!is_in(then->lanes, ghost)) return;  // found above
        const std::uint32_t told = then->told[ghost];
        named_.partial += told != told_all ? 1 : 0;
        if ((parts & ~told) == 0 || !trouble_.empty()) return;
        trouble_ = "a client was told part " + std::to_string(std::countr_zero(parts & ~told)) +
                   " of ghost " + std::to_string(ghost) + " in tick " + std::to_string(tick) +
                   ", which is for others";
    });
}

}  // namespace purview::test
