// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/shared_reader.hpp"

#include <algorithm>

#include "core/mutate.hpp"

namespace purview {

namespace {

constexpr unsigned count_bits_max = 12;  ///< of the number of sections
/// Of those who were in a group: as many may have left it in a row before somebody is looked for.
constexpr std::size_t looked_ahead = 3;

}  // namespace

// -- which groups -------------------------------------------------------------------------------

bool SharedReader::is_wanted(const Slot& slot, const SharedCells& cells) const {
    const SharedCells::Node& node = cells.nodes()[slot.node];
    const std::uint32_t home = home_[slot.node];
    if (home == CellGrid::no_cell) return false;
    return node.mode == NodeMode::update_many ? slot.cell == home
                                              : node.grid.are_adjacent(slot.cell, home, node.rings);
}

/// A slot for the group, unless he has one; the lowest that is free.
void SharedReader::read(std::uint32_t node, std::uint32_t cell) {
    std::size_t free = slots_.size();
    for (std::size_t s = 0; s < slots_.size(); ++s) {
        if (slots_[s].node == node && slots_[s].cell == cell) return;
        if (slots_[s].node == none) free = std::min(free, s);
    }
    if (free == slots_max) return;  // he is told one by one
    if (free == slots_.size()) slots_.emplace_back();
    Slot& slot = slots_[free];
    slot.node = node;
    slot.cell = cell;
    slot.version = 0;
    slot.roster.clear();
    slot.roster_lanes.clear();
    slot.is_known = false;
    slot.told_in = 0;
}

/// Around another cell: of the new neighbourhood only what was not in the old one is new (P12).
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
        node.grid.neighbourhood(home, node.mode == NodeMode::update_many ? 0 : node.rings, wanted_);
        for (const std::uint32_t cell : wanted_) read(n, cell);
    }
}

// -- rosters ------------------------------------------------------------------------------------

/// Who of the group is a ghost of his.
void SharedReader::refresh(const ReplicationInput& input, const GhostTable& ghosts,
                           std::uint32_t group, Slot& slot) {
    const std::uint64_t version = input.shared->refresh(group, input.world);
    if (slot.version == version) return;
    slot.version = version;
    slot.is_roster = false;
    std::swap(slot.entities, entities_before_);
    std::swap(slot.lanes, lanes_before_);
    slot.entities.clear();
    slot.lanes.clear();
    slot.words.assign(words_for(ghosts.lane_end()), 0);
    const auto members = input.shared->members(group);
    std::size_t before = 0;  // most are who they were, in the same order, and where they were
    for (const std::uint32_t index : members) {
        const EntityId entity = input.world.at_index(index);
        LocalId lane = no_local_id;
        const std::size_t near = std::min(before + looked_ahead, entities_before_.size());
        for (std::size_t i = before; i < near && lane == no_local_id; ++i) {
            if (entities_before_[i] != entity) continue;
            before = i + 1;
            if (ghosts.is_live_as(lanes_before_[i], index)) lane = lanes_before_[i];
        }
        if (lane == no_local_id) lane = ghosts.find_at(index);
        if (lane == no_local_id) continue;
        slot.entities.push_back(entity);
        slot.lanes.push_back(lane);
        slot.words[lane / bits_per_word] |= std::uint64_t{1} << (lane % bits_per_word);
    }
    slot.is_whole = PURVIEW_GUARD(section_relevance, slot.lanes.size() == members.size());
}

/// Another roster than before has to be told. Only what tells of somebody in it makes it so: what
/// the others of the group do must not even show by when this happens.
void SharedReader::take_roster(Slot& slot) {
    if (slot.is_roster) return;
    slot.is_roster = true;
    if (slot.roster == slot.entities && slot.roster_lanes == slot.lanes) return;
    slot.roster = slot.entities;
    slot.roster_lanes = slot.lanes;
    slot.is_known = false;
    slot.told_in = 0;
}

std::uint64_t SharedReader::roster_bits(const ReplicationInput& input, const GhostTable& ghosts,
                                        const Slot& slot) {
    return BitWriter::varint_bits(slot.lanes.size()) + width_bits +
           slot.lanes.size() * (width_of(ghosts) + kind_bits(input.schema));
}

void SharedReader::write_roster(const ReplicationInput& input, const GhostTable& ghosts,
                                const Slot& slot, BitWriter& out) {
    const unsigned width = width_of(ghosts);
    out.varint(slot.lanes.size());
    out.bits(width, width_bits);
    for (const LocalId lane : slot.lanes) {
        out.bits(lane, width);
        out.bits(index_of(ghosts.kind(lane)), kind_bits(input.schema));
    }
}

// -- a tick -------------------------------------------------------------------------------------

void SharedReader::plan(const ReplicationInput& input, const GhostTable& ghosts, EntityId main,
                        std::uint64_t bits_max) {
    copies_.clear();
    covered_.assign(words_for(ghosts.lane_end()), 0);
    choose_slots(input, main);
    if (ghosts_revision_ != ghosts.revision()) {  // somebody came or went: perhaps one of them
        ghosts_revision_ = ghosts.revision();
        for (Slot& slot : slots_) slot.version = 0;
    }
    bits_ = count_bits_max;
    for (std::uint32_t s = 0; s < slots_.size(); ++s) {
        Slot& slot = slots_[s];
        if (slot.node == none) continue;
        const std::uint32_t group = input.shared->group_at(slot.node, slot.cell, input.tick);
        if (!input.shared->is_dirty(group, input.tick)) continue;
        refresh(input, ghosts, group, slot);
        if (slot.lanes.empty()) continue;
        Section section;
        if (slot.is_whole) {
            section = input.shared->section(group, input.cache, input.tick);
        } else {
            some_.clear();
            for (const EntityId entity : slot.entities) some_.push_back(index_of(entity));
            section = input.shared->section_of(some_, input.cache, input.tick);
        }
        if (section.entries == 0) continue;
        take_roster(slot);
        const std::uint64_t bits =
            slot_bits + 1 + section.bits + (slot.is_known ? 0 : roster_bits(input, ghosts, slot));
        if (!PURVIEW_GUARD(section_room, bits_ + bits <= bits_max)) {
            ++input.shared->counters.left_out;
            continue;
        }
        bits_ += bits;
        copies_.push_back({s, section});
        ++(slot.is_whole ? input.shared->counters.copies : input.shared->counters.stripped);
        for (std::size_t w = 0; w < slot.words.size(); ++w) covered_[w] |= slot.words[w];
    }
    if (!copies_.empty()) bits_ -= count_bits_max - BitWriter::varint_bits(copies_.size());
}

void SharedReader::write(const ReplicationInput& input, const GhostTable& ghosts,
                         std::uint32_t sequence, BitWriter& out) {
    const std::size_t begun = out.bits_written();
    written_.clear();
    out.varint(copies_.size());
    for (const Copy& copy : copies_) {
        Slot& slot = slots_[copy.slot];
        out.bits(copy.slot, slot_bits);
        out.boolean(!slot.is_known);
        if (!slot.is_known) {
            write_roster(input, ghosts, slot, out);
            if (slot.told_in == 0) slot.told_first = sequence;
            if (sequence - slot.told_first < 64)
                slot.told_in |= std::uint64_t{1} << (sequence - slot.told_first);
        }
        out.copy_bits(input.shared->bytes(copy.section), copy.section.bits);
        written_.push_back(copy.slot);
    }
    PURVIEW_ASSERT(out.bits_written() - begun == bits_);
    copies_.clear();
}

void SharedReader::resolve(std::uint32_t sequence, bool delivered) noexcept {
    for (Slot& slot : slots_) {
        const std::uint32_t after = sequence - slot.told_first;
        if (after >= 64 || (slot.told_in >> after & 1U) == 0) continue;
        slot.is_known |= delivered;
        slot.told_in &= ~(std::uint64_t{1} << after);  // the last one in vain: from anew
    }
}

std::size_t SharedReader::memory_bytes() const noexcept {
    std::size_t bytes = slots_.capacity() * sizeof(Slot);
    for (const Slot& slot : slots_) {
        bytes += slot.entities.capacity() * sizeof(EntityId) +
                 slot.lanes.capacity() * sizeof(LocalId) +
                 slot.words.capacity() * sizeof(std::uint64_t);
    }
    return bytes;
}

}  // namespace purview
