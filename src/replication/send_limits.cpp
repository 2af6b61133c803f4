// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/send_limits.hpp"

#include <algorithm>

namespace purview {

namespace {

/// What is left for one kind, of one observer's ghosts.
class Limit {
  public:
    Limit(const GhostTable& ghosts, KindId kind, std::span<std::uint64_t> due)
        : ghosts_(ghosts), kind_(kind), due_(due) {}

    /// Those that count: of the kind, and not his own.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t w = 0; w < due_.size(); ++w) {
            for_each_bit(ghosts_.live()[w], w * bits_per_word, [&](std::size_t l) {
                const auto lane = static_cast<LocalId>(l);
                if (ghosts_.kind(lane) == kind_ && !ghosts_.owned(lane)) visit(lane);
            });
        }
    }
    bool is_due(LocalId lane) const noexcept {
        return (due_[lane / bits_per_word] >> (lane % bits_per_word) & 1U) != 0;
    }
    void put_off(LocalId lane) noexcept {
        due_[lane / bits_per_word] &= ~(std::uint64_t{1} << (lane % bits_per_word));
    }

    /// All but the `most` that have waited longest.
    std::size_t fill(std::size_t most, std::vector<std::uint64_t>& room) {
        room.clear();
        for_each([&](LocalId lane) {
            if (is_due(lane))
                room.push_back(std::uint64_t{ghosts_.waiting_since(lane)} << 32 | lane);
        });
        if (room.size() <= most) return 0;
        const auto rest = room.begin() + static_cast<std::ptrdiff_t>(most);
        std::nth_element(room.begin(), rest, room.end());
        std::for_each(rest, room.end(),
                      [&](std::uint64_t key) { put_off(static_cast<LocalId>(key)); });
        return room.size() - most;
    }

    /// All but the next `most`, whether they wait or not, from the lane `turn` on.
    std::size_t take_turns(std::size_t most, std::size_t count, LocalId& turn) {
        std::size_t before = 0;  // of the kind, before the turn
        for_each([&](LocalId lane) { before += lane < turn ? 1 : 0; });
        const std::size_t first = before == count ? 0 : before;
        std::size_t position = 0, waiting = 0;
        LocalId next = 0;
        for_each([&](LocalId lane) {
            const std::size_t after = (position++ + count - first) % count;
            if (after == most - 1) next = lane + 1;
            if (after < most || !is_due(lane)) return;
            put_off(lane);
            ++waiting;
        });
        turn = next;
        return waiting;
    }

  private:
    const GhostTable& ghosts_;
    KindId kind_;
    std::span<std::uint64_t> due_;
};

}  // namespace

std::size_t keep_limits(const Schema& schema, const GhostTable& ghosts, std::vector<LocalId>& turns,
                        std::span<std::uint64_t> due, std::vector<std::uint64_t>& room) {
    const auto kinds = schema.kinds();
    turns.resize(kinds.size());
    std::size_t waiting = 0;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        const SendLimit& def = kinds[k].limit;
        if (def.is_none()) continue;
        Limit limit(ghosts, KindId{static_cast<std::uint16_t>(k)}, due);
        std::uint32_t count = 0;
        limit.for_each([&](LocalId) { ++count; });
        const std::uint32_t most = sends_at_most(def, count);
        if (most >= count) continue;
        waiting += def.order == LimitOrder::fill ? limit.fill(most, room)
                                                 : limit.take_turns(most, count, turns[k]);
    }
    return waiting;
}

}  // namespace purview
