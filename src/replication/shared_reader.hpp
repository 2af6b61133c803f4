// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One observer who reads shared sections. For each group that he reads he has a slot, and his
// client a roster: the local ids of the group's members, in the order of their ranks. It goes along
// with the section until a packet with it is known to have arrived. Whoever of the group is not a
// ghost of his is in none of it: what he is sent depends on what he sees alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/bit_writer.hpp"
#include "replication/ghost_table.hpp"
#include "replication/replication_input.hpp"
#include "replication/shared_cells.hpp"

namespace purview {

class SharedReader {
  public:
    static constexpr unsigned slot_bits = 6;
    static constexpr std::size_t slots_max = std::size_t{1} << slot_bits;
    static constexpr unsigned width_bits = 5;  ///< of the ids of a roster

    /// Decides which sections of this tick he is sent, as many as `bits_max` hold: their lanes are
    /// covered() and need not wait on their own. `main`: who stands for him, or none.
    void plan(const ReplicationInput& input, const GhostTable& ghosts, EntityId main,
              std::uint64_t bits_max);
    /// Of the plan, until it is written.
    bool has_sections() const noexcept { return !copies_.empty(); }
    std::uint64_t bits() const noexcept { return copies_.empty() ? 0 : bits_; }
    /// Lanes of which the plan's sections tell all that changed in this tick.
    std::span<const std::uint64_t> covered() const noexcept {
        return copies_.empty() ? std::span<const std::uint64_t>() : covered_;
    }

    /// Writes the planned sections and what PROTOCOL.md has around them, in exactly bits().
    void write(const ReplicationInput& input, const GhostTable& ghosts, std::uint32_t sequence,
               BitWriter& out);
    /// The plan is over: nothing is written any more.
    void give_up() noexcept { copies_.clear(); }
    /// The fate of a packet.
    void resolve(std::uint32_t sequence, bool delivered) noexcept;
    /// Of the sections written last, for whoever checks: visit(lane, entity).
    template <class Visit>
    void for_each_told(const SharedCells& cells, Visit&& visit) const {
        for (const std::uint32_t s : written_) {
            for (const Member& member : slots_[s].members) {
                if (cells.is_replicated(index_of(member.entity))) visit(member.lane, member.entity);
            }
        }
    }
    std::size_t memory_bytes() const noexcept;

  private:
    static constexpr std::uint32_t none = 0xffffffffU;
    struct Member {
        EntityId entity = EntityId::none;
        LocalId lane = no_local_id;
        bool operator==(const Member&) const noexcept = default;
    };
    struct Slot {
        std::uint32_t node = none;  ///< none: free
        std::uint32_t cell = 0;
        /// Of the group and of his ghosts, as of which `members` are.
        ChangeLog::Version group_known = ChangeLog::unknown;
        ChangeLog::Version ghosts_known = ChangeLog::unknown;
        bool is_whole = false;             ///< all of the group are ghosts of his
        std::vector<Member> members;       ///< those that are
        std::vector<std::uint64_t> words;  ///< their lanes, a bit each
        std::vector<Member> roster;        ///< as of the last section that told of one of them
        bool is_roster = false;            ///< `members` are the same
        bool is_known = false;             ///< the client has it
        std::uint32_t told_first = 0;      ///< the first packet with it whose fate is not known
        std::uint64_t told_in = 0;  ///< bit i: packet told_first + i has it, with no fate yet
    };
    struct Copy {
        std::uint32_t slot;
        Section section;
    };
    void choose_slots(const ReplicationInput& input, EntityId main);
    void read(std::uint32_t node, std::uint32_t cell);
    bool is_wanted(const Slot& slot, const SharedCells& cells) const;
    static bool is_as_looked_up(const ReplicationInput& input, const GhostTable& ghosts,
                                std::uint32_t group, const Slot& slot);
    void refresh(const ReplicationInput& input, const GhostTable& ghosts, std::uint32_t group,
                 Slot& slot);
    static void take_roster(Slot& slot);
    static std::uint64_t roster_bits(const ReplicationInput& input, const GhostTable& ghosts,
                                     const Slot& slot);
    static void write_roster(const ReplicationInput& input, const GhostTable& ghosts,
                             const Slot& slot, BitWriter& out);
    static unsigned width_of(const GhostTable& ghosts) noexcept {
        return bits_for(ghosts.lane_end() | 1U);
    }

    std::vector<Slot> slots_;
    std::vector<std::uint32_t> home_;  ///< [nodes] the cell around which he reads
    std::uint32_t cells_revision_ = 0;
    std::vector<Copy> copies_;
    std::vector<std::uint32_t> written_;  ///< slots
    std::uint64_t bits_ = 0;
    std::vector<std::uint64_t> covered_;
    std::vector<std::uint32_t> wanted_;  ///< scratch: cells
    std::vector<std::uint32_t> some_;    ///< scratch: entity indices
    std::uint64_t unheard_ = 0;          ///< slots with a roster under way, a bit each
};

}  // namespace purview
