// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/send_limits.hpp"

#include <algorithm>

namespace purview {

namespace {

std::uint64_t bit_of(std::uint64_t lane) noexcept {
    return std::uint64_t{1} << (lane % bits_per_word);
}

/// It waits, but cannot go: it is to be under somebody who has not arrived, and is not sent now.
bool is_blocked(const ReplicationInput& input, const GhostTable& ghosts, LocalId lane) {
    if (!ghosts.needs_enter(lane) && !has_new_link(input, ghosts, lane)) return false;
    const EntityId parent = input.world.group_parent_at(ghosts.entity_index(lane));
    const LocalId above = parent == EntityId::none ? no_local_id : ghosts.find(parent);
    return !is_present(ghosts, above) && (!ghosts.is_pending(above) || ghosts.is_awaited(above));
}

/// All but the `most` of these lanes that have waited longest.
std::size_t fill(const ReplicationInput& input, const GhostTable& ghosts, std::size_t most,
                 std::vector<std::uint64_t>& lanes, std::span<std::uint64_t> due) {
    PURVIEW_ASSERT(most < lanes.size());
    std::erase_if(lanes, [&](std::uint64_t its) {
        const auto lane = static_cast<LocalId>(its);
        return (due[lane / bits_per_word] & bit_of(lane)) == 0 || is_blocked(input, ghosts, lane);
    });
    if (lanes.size() <= most) return 0;
    for (std::uint64_t& lane : lanes)
        lane |= std::uint64_t{ghosts.waiting_since(static_cast<LocalId>(lane))} << 32;
    const auto rest = lanes.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(lanes.begin(), rest, lanes.end());
    std::for_each(rest, lanes.end(), [&](std::uint64_t key) {
        const auto lane = static_cast<LocalId>(key);
        due[lane / bits_per_word] &= ~bit_of(lane);
    });
    return lanes.size() - most;
}

/// All but the next `most` of these lanes, whether they wait or not, from `turn` on.
std::size_t take_turns(std::size_t most, std::span<const std::uint64_t> lanes, LocalId& turn,
                       std::span<std::uint64_t> due) {
    PURVIEW_ASSERT(most < lanes.size());
    const auto first = static_cast<std::size_t>(std::lower_bound(lanes.begin(), lanes.end(), turn) -
                                                lanes.begin());
    std::size_t waiting = 0;
    for (std::size_t i = most; i < lanes.size(); ++i) {
        const auto lane = static_cast<LocalId>(lanes[(first + i) % lanes.size()]);
        std::uint64_t& word = due[lane / bits_per_word];
        waiting += (word & bit_of(lane)) != 0 ? 1 : 0;
        word &= ~bit_of(lane);
    }
    turn = static_cast<LocalId>(lanes[(first + most) % lanes.size()]);
    return waiting;
}

}  // namespace

std::uint32_t sends_at_most(const SendLimit& limit, std::uint32_t ghosts) noexcept {
    std::uint32_t parts = 1;
    for (const SendBuckets& step : limit.buckets) {
        if (ghosts >= step.ghosts) parts = step.parts;
    }
    const std::uint32_t part = ghosts / parts + (ghosts % parts != 0 ? 1 : 0);
    return limit.per_tick != 0 && limit.per_tick < part ? limit.per_tick : part;
}

std::size_t keep_limits(const ReplicationInput& input, const GhostTable& ghosts,
                        std::vector<LocalId>& turns, std::span<std::uint64_t> due,
                        std::vector<std::uint64_t>& room) {
    PURVIEW_ASSERT(due.size() == ghosts.live().size());
    const auto kinds = input.schema.kinds();
    turns.resize(kinds.size());
    std::size_t waiting = 0;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        const SendLimit& limit = kinds[k].limit;
        if (limit.is_none()) continue;
        room.clear();
        for (std::size_t w = 0; w < due.size(); ++w) {
            for_each_bit(ghosts.live()[w], w * bits_per_word, [&](std::size_t l) {
                const auto lane = static_cast<LocalId>(l);
                if (index_of(ghosts.kind(lane)) == k && !ghosts.owned(lane)) room.push_back(lane);
            });
        }
        const std::uint32_t most = sends_at_most(limit, static_cast<std::uint32_t>(room.size()));
        if (most >= room.size()) continue;
        waiting += limit.order == LimitOrder::fill ? fill(input, ghosts, most, room, due)
                                                   : take_turns(most, room, turns[k], due);
    }
    return waiting;
}

}  // namespace purview
