// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/shared_reader.hpp"

#include <algorithm>
#include <bit>

#include "core/mutate.hpp"
#include "protocol/cells.hpp"
#include "protocol/snapshot_format.hpp"
#include "replication/spawn_order.hpp"

namespace purview {

namespace {

constexpr unsigned count_bits_max = 12;  ///< of the number of payloads

}  // namespace

// -- which groups -------------------------------------------------------------------------------

bool SharedReader::is_wanted(const Slot& slot, const SharedCells& cells) const {
    const SharedCells::Node& node = cells.nodes()[slot.node];
    const std::uint32_t home = home_[slot.node];
    if (home == CellGrid::no_cell) return false;
    return node.payload == Payload::update_many
               ? slot.cell == home
               : are_adjacent(node.grid, slot.cell, home, node.rings);
}

/// Assigns the lowest free slot to the group, unless it has one.
void SharedReader::read(std::uint32_t node, std::uint32_t cell) {
    std::size_t free = slots_.size();
    for (std::size_t s = 0; s < slots_.size(); ++s) {
        if (slots_[s].node == node && slots_[s].cell == cell) return;
        if (slots_[s].node == none) free = std::min(free, s);
    }
    if (free == slots_max) return;  // no free slot: the changes are sent individually
    if (free == slots_.size()) slots_.emplace_back();
    PURVIEW_ASSERT(slots_.size() <= slots_max);
    Slot& slot = slots_[free];
    slot.node = node;
    slot.cell = cell;
    slot.group_known = ChangeLog::unknown;
    slot.member_map.clear();
    slot.is_known = false;
    slot.reported_in = 0;
}

/// After a move to another cell, only cells outside the old neighborhood are new (P12).
void SharedReader::choose_slots(const ReplicationInput& input, EntityId main) {
    const SharedCells& cells = *input.shared;
    if (cells_revision_ != cells.revision()) {
        cells_revision_ = cells.revision();
        for (Slot& slot : slots_) slot.node = none;
        home_.assign(cells.nodes().size(), CellGrid::no_cell);
    }
    for (std::uint32_t n = 0; n < home_.size(); ++n) {
        const std::uint32_t home = cells.cell_of(n, input.world, input.fields, main);
        if (home == home_[n]) continue;
        home_[n] = home;
        for (Slot& slot : slots_)
            if (slot.node == n && !is_wanted(slot, cells)) slot.node = none;
        if (home == CellGrid::no_cell) continue;
        const SharedCells::Node& node = cells.nodes()[n];
        wanted_.clear();
        node.grid.neighborhood(home, node.payload == Payload::update_many ? 0 : node.rings,
                               wanted_);
        for (const std::uint32_t cell : wanted_) read(n, cell);
    }
}

// -- member maps --------------------------------------------------------------------------------

namespace {

/// Calls visit(Member) for each member of the group that is a ghost of the observer.
template <class Member, class Visit>
void for_each_ghost_of(const ReplicationInput& input, const GhostTable& ghosts, std::uint32_t group,
                       Visit&& visit) {
    for (const std::uint32_t index : input.shared->members(group)) {
        const LocalId ghost = ghosts.slots().find_at(index);
        if (ghost != no_local_id) visit(Member{input.world.entities.at_index(index), ghost});
    }
}

}  // namespace

/// Updates the members after enters and leaves, in the group or among the observer's ghosts.
void SharedReader::refresh(const ReplicationInput& input, const GhostTable& ghosts,
                           std::uint32_t group, Slot& slot) {
    const ChangeLog& of_group = input.shared->refresh(group, input.world);
    const ChangeLog& of_ghosts = ghosts.slots().enter_leave_log();
    if (slot.group_known == of_group.version() && slot.ghosts_known == of_ghosts.version()) return;
    if (of_group.remembers(slot.group_known) && of_ghosts.remembers(slot.ghosts_known)) {
        some_.clear();
        of_group.for_each_since(slot.group_known,
                                [&](std::uint32_t index) { add_once(some_, index); });
        // Former members are in the log of the group already.
        of_ghosts.for_each_since(slot.ghosts_known, [&](std::uint32_t index) {
            if (input.shared->is_member(group, index)) add_once(some_, index);
        });
        const auto make = [&](std::uint32_t index, Member& member) {
            member = {input.world.entities.at_index(index), ghosts.slots().find_at(index)};
            return member.ghost != no_local_id && input.shared->is_member(group, index);
        };
        const auto index = [](const Member& member) { return index_of(member.entity); };
        if (update_members(slot.members, some_, input.world, index, make))
            slot.is_member_map = false;
    } else {
        slot.members.clear();
        for_each_ghost_of<Member>(input, ghosts, group,
                                  [&](const Member& one) { slot.members.push_back(one); });
        slot.is_member_map = false;
    }
    if (!slot.is_member_map) {
        slot.words.assign(words_for(ghosts.slots().end()), 0);
        for (const Member& member : slot.members)
            slot.words[member.ghost / bits_per_word] |= std::uint64_t{1}
                                                        << (member.ghost % bits_per_word);
    }
    slot.group_known = of_group.version();
    slot.ghosts_known = of_ghosts.version();
    slot.is_whole = PURVIEW_GUARD(section_relevance,
                                  slot.members.size() == input.shared->members(group).size());
    PURVIEW_ASSERT(matches_full_lookup(input, ghosts, group, slot));
}

/// For assertions: compares the slot with a full look-up.
bool SharedReader::matches_full_lookup(const ReplicationInput& input, const GhostTable& ghosts,
                                       std::uint32_t group, const Slot& slot) {
    std::vector<Member> members;
    for_each_ghost_of<Member>(input, ghosts, group,
                              [&](const Member& one) { members.push_back(one); });
    std::size_t slots = 0;
    for (const std::uint64_t word : slot.words) slots += std::size_t(std::popcount(word));
    const bool has_all_slots = std::all_of(members.begin(), members.end(), [&](const Member& one) {
        const std::size_t word = one.ghost / bits_per_word;
        return word < slot.words.size() &&
               (slot.words[word] >> (one.ghost % bits_per_word) & 1U) != 0;
    });
    return members == slot.members && has_all_slots && slots == members.size();
}

/// A changed member map must be sent again. It is replaced only for a payload with an entry for a
/// visible member, so that hidden members do not even affect when a map is sent.
void SharedReader::take_member_map(Slot& slot) {
    if (slot.is_member_map) return;
    slot.is_member_map = true;
    if (slot.member_map == slot.members) return;
    slot.member_map = slot.members;
    slot.is_known = false;
    slot.reported_in = 0;
}

std::uint64_t SharedReader::member_map_bits(const ReplicationInput& input, const GhostTable& ghosts,
                                            const Slot& slot) {
    return BitWriter::varint_bits(slot.members.size()) + width_bits +
           slot.members.size() * (width_of(ghosts) + kind_bits(input.schema));
}

void SharedReader::write_member_map(const ReplicationInput& input, const GhostTable& ghosts,
                                    const Slot& slot, BitWriter& out) {
    const unsigned width = width_of(ghosts);
    out.varint(slot.members.size());
    out.bits(width, width_bits);
    for (const Member& member : slot.members) {
        out.bits(member.ghost, width);
        out.bits(index_of(ghosts.slots().kind(member.ghost)), kind_bits(input.schema));
    }
}

// -- a tick -------------------------------------------------------------------------------------

void SharedReader::plan(const ReplicationInput& input, const GhostTable& ghosts, EntityId main,
                        std::uint64_t bits_max) {
    copies_.clear();
    covered_.assign(words_for(ghosts.slots().end()), 0);
    choose_slots(input, main);
    bits_ = count_bits_max;
    for (std::uint32_t s = 0; s < slots_.size(); ++s) {
        Slot& slot = slots_[s];
        if (slot.node == none) continue;
        const std::uint32_t group = input.shared->group_at(slot.node, slot.cell, input.tick);
        if (!input.shared->is_dirty(group, input.tick)) continue;
        refresh(input, ghosts, group, slot);
        if (slot.members.empty()) continue;
        // An entity that entered in this tick is sent with all fields, so its changes are left out.
        bool is_newly_relevant = false;
        for (std::size_t w = 0; w < slot.words.size() && !is_newly_relevant; ++w)
            is_newly_relevant =
                (slot.words[w] &
                 PURVIEW_GUARD_OR(section_news, ghosts.sends().newly_relevant(w), 0)) != 0;
        some_.clear();
        if (is_newly_relevant || !slot.is_whole) {
            for (const Member& member : slot.members) {
                const bool is_new =
                    is_newly_relevant && ghosts.sends().is_newly_relevant(member.ghost, input.tick);
                some_.push_back(is_new ? SharedCells::left_out : index_of(member.entity));
            }
        }
        const Section section = slot.is_whole
                                    ? input.shared->section(group, some_, input.cache, input.tick)
                                    : input.shared->section_of(some_, input.cache, input.tick);
        if (section.entries == 0) continue;
        take_member_map(slot);
        const std::uint64_t bits = slot_bits + 1 + section.bits +
                                   (slot.is_known ? 0 : member_map_bits(input, ghosts, slot));
        if (!PURVIEW_GUARD(section_room, bits_ + bits <= bits_max)) {
            ++input.shared->counters.left_out;
            continue;
        }
        bits_ += bits;
        copies_.push_back({s, section});
        ++(slot.is_whole ? input.shared->counters.copies : input.shared->counters.stripped);
        for (std::size_t w = 0; w < slot.words.size(); ++w) covered_[w] |= slot.words[w];
    }
    PURVIEW_ASSERT(copies_.empty() || bits_ <= bits_max);
    if (!copies_.empty()) bits_ -= count_bits_max - BitWriter::varint_bits(copies_.size());
}

void SharedReader::write(const ReplicationInput& input, const GhostTable& ghosts,
                         std::uint32_t sequence, BitWriter& out) {
    const std::size_t begun = out.bits_written();
    written_.clear();
    out.varint(copies_.size());
    for (const Copy& copy : copies_) {
        Slot& slot = slots_[copy.slot];
        PURVIEW_ASSERT(slot.node != none && slot.is_member_map);  // unchanged since plan()
        out.bits(copy.slot, slot_bits);
        out.boolean(!slot.is_known);
        if (!slot.is_known) {
            write_member_map(input, ghosts, slot, out);
            if (slot.reported_in == 0) slot.reported_first = sequence;
            if (sequence - slot.reported_first < 64) {
                slot.reported_in |= std::uint64_t{1} << (sequence - slot.reported_first);
                unacked_ |= std::uint64_t{1} << copy.slot;
            }
        }
        out.copy_bits(input.shared->bytes(copy.section), copy.section.bits);
        written_.push_back(copy.slot);
    }
    PURVIEW_ASSERT(out.bits_written() - begun == bits_);
    copies_.clear();
}

void SharedReader::resolve(std::uint32_t sequence, bool delivered) noexcept {
    for_each_bit(unacked_, 0, [&](std::size_t s) {
        Slot& slot = slots_[s];
        const std::uint32_t after = sequence - slot.reported_first;
        if (after < 64 && (slot.reported_in >> after & 1U) != 0) {
            slot.is_known |= delivered;
            slot.reported_in &= ~(std::uint64_t{1} << after);  // 0: all lost, sent again
        }
        if (slot.reported_in == 0) unacked_ &= ~(std::uint64_t{1} << s);
    });
}

std::size_t SharedReader::memory_bytes() const noexcept {
    std::size_t bytes = slots_.capacity() * sizeof(Slot);
    for (const Slot& slot : slots_) {
        bytes += (slot.members.capacity() + slot.member_map.capacity()) * sizeof(Member) +
                 slot.words.capacity() * sizeof(std::uint64_t);
    }
    return bytes;
}

}  // namespace purview
