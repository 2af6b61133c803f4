// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/send_limits.hpp"

#include <algorithm>

namespace purview {

namespace {

/// Returns whether the slot cannot be sent now because its parent has not arrived and is not sent
/// now.
bool is_blocked(const ReplicationInput& input, const GhostTable& ghosts, LocalId slot) {
    if (!ghosts.slots().needs_enter(slot) && !has_new_link(input, ghosts, slot)) return false;
    const EntityId parent = input.world.groups.group_parent_at(ghosts.slots().entity_index(slot));
    const LocalId above = parent == EntityId::none ? no_local_id : ghosts.slots().find(parent);
    return !is_present(ghosts, above) &&
           (!ghosts.sends().is_pending(above) || ghosts.sends().is_blocked(above));
}

/// Removes all but the `most` slots that have waited longest from `due`. Returns the number of
/// removed slots.
std::size_t fill(const ReplicationInput& input, const GhostTable& ghosts, std::size_t most,
                 std::vector<std::uint64_t>& slots, std::span<std::uint64_t> due) {
    PURVIEW_ASSERT(most < slots.size());
    std::erase_if(slots, [&](std::uint64_t its) {
        const auto slot = static_cast<LocalId>(its);
        return (due[slot_word(slot)] & slot_bit(slot)) == 0 || is_blocked(input, ghosts, slot);
    });
    if (slots.size() <= most) return 0;
    for (std::uint64_t& slot : slots)
        slot |= std::uint64_t{ghosts.sends().waiting_since(static_cast<LocalId>(slot))} << 32;
    const auto rest = slots.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(slots.begin(), rest, slots.end());
    std::for_each(rest, slots.end(), [&](std::uint64_t key) {
        const auto slot = static_cast<LocalId>(key);
        due[slot_word(slot)] &= ~slot_bit(slot);
    });
    return slots.size() - most;
}

/// Removes all but the next `most` of `slots`, pending or not, from the cursor `turn` on. Advances
/// the cursor. Returns the number of pending slots that were removed.
std::size_t take_turns(std::size_t most, std::span<const std::uint64_t> slots, LocalId& turn,
                       std::span<std::uint64_t> due) {
    PURVIEW_ASSERT(most < slots.size());
    const auto first = static_cast<std::size_t>(std::lower_bound(slots.begin(), slots.end(), turn) -
                                                slots.begin());
    std::size_t waiting = 0;
    for (std::size_t i = most; i < slots.size(); ++i) {
        const auto slot = static_cast<LocalId>(slots[(first + i) % slots.size()]);
        std::uint64_t& word = due[slot_word(slot)];
        waiting += (word & slot_bit(slot)) != 0 ? 1 : 0;
        word &= ~slot_bit(slot);
    }
    turn = static_cast<LocalId>(slots[(first + most) % slots.size()]);
    return waiting;
}

}  // namespace

std::size_t apply_limits(const ReplicationInput& input, const GhostTable& ghosts,
                         std::vector<LocalId>& turns, std::span<std::uint64_t> due,
                         std::vector<std::uint64_t>& room) {
    PURVIEW_ASSERT(due.size() == ghosts.slots().live().size());
    const auto kinds = input.schema.kinds();
    turns.resize(kinds.size());
    std::size_t waiting = 0;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        const std::size_t most = kinds[k].limit_per_tick;
        if (most == 0) continue;
        room.clear();
        for (std::size_t w = 0; w < due.size(); ++w) {
            for_each_bit(ghosts.slots().live()[w], w * bits_per_word, [&](std::size_t l) {
                const auto slot = static_cast<LocalId>(l);
                if (index_of(ghosts.slots().kind(slot)) == k && !ghosts.marks().is_owned(slot))
                    room.push_back(slot);
            });
        }
        if (most >= room.size()) continue;
        waiting += kinds[k].limit_order == LimitOrder::fill ? fill(input, ghosts, most, room, due)
                                                            : take_turns(most, room, turns[k], due);
    }
    return waiting;
}

}  // namespace purview
