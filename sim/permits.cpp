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

constexpr std::size_t ticks_kept = 100;  ///< later arrivals are not checked

using Named = SnapshotDecoder::Named;

struct Way {
    const char* text;
    std::uint64_t Permits::Counts::*count;
};
constexpr Way ways[] = {
    // [Named]
    {"received a forbidden leave of ghost ", &Permits::Counts::leaves},
    {"received a forbidden body of ghost ", &Permits::Counts::bodies},
    {"received a forbidden parent: ghost ", &Permits::Counts::parents},
    {"received a forbidden reference to ghost ", &Permits::Counts::references},
    {"received a forbidden member map entry: ghost ", &Permits::Counts::member_maps},
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
        Permitted now{server.current_tick(), std::vector<bool>(ghosts.slots().end()),
                      std::vector<std::uint32_t>(ghosts.slots().end())};
        for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
            now.allowed[slot] = ghosts.audience().allowed(slot);
            now.slots[slot] =
                ghosts.slots().is_live(slot) && internal(server).interest.answers.is_relevant(
                                                    session->observer, ghosts.slots().entity(slot));
        }
        Line& line = lines_[session->nonce];
        if (line.ever.size() < now.slots.size()) line.ever.resize(now.slots.size());
        for (std::size_t slot = 0; slot < now.slots.size(); ++slot)
            line.ever[slot] = line.ever[slot] || now.slots[slot];
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
    // A leave may name an entity that was relevant earlier.
    const auto is_in = [](const std::vector<bool>& slots, LocalId ghost) {
        return ghost < slots.size() && slots[ghost];
    };
    internal(client).replica->decoder.for_each_named([&](Named named, LocalId ghost) {
        const Way& way = ways[static_cast<std::size_t>(named)];
        ++(named_.*way.count);
        const std::vector<bool>& slots = named == Named::leave ? line->second.ever : then->slots;
        if (is_in(slots, ghost) || !trouble_.empty()) return;
        trouble_ = std::string("a client ") + way.text + std::to_string(ghost) + " in tick " +
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
