// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The state of an observer that reads shared payloads. It has a slot for each cell group that it
// reads, and its client has a member map for each slot: the local ids of the members, in the order
// of their member indices. The map is sent with the payload until a packet with it is known to have
// arrived. Map and payload contain only members that are ghosts of the observer, so their content
// depends only on its relevant set.
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
    static constexpr unsigned width_bits = 5;  ///< of the local ids in a member map

    /// Selects the payloads of this tick for the observer, at most `bits_max` bits. Their ghost
    /// slots are in covered() and need no individual updates. `main`: the observer's viewpoint
    /// entity, or none.
    void plan(const ReplicationInput& input, const GhostTable& ghosts, EntityId main,
              std::uint64_t bits_max);
    /// Returns whether the plan has payloads that are not written yet.
    bool has_sections() const noexcept { return !copies_.empty(); }
    std::uint64_t bits() const noexcept { return copies_.empty() ? 0 : bits_; }
    /// Returns the ghost slots, a bit each, that have all their changes of this tick in the planned
    /// payloads.
    std::span<const std::uint64_t> covered() const noexcept {
        return copies_.empty() ? std::span<const std::uint64_t>() : covered_;
    }

    /// Writes the planned payloads and their headers (PROTOCOL.md), in exactly bits() bits.
    void write(const ReplicationInput& input, const GhostTable& ghosts, std::uint32_t sequence,
               BitWriter& out);
    /// Drops the plan: no payload is written in this tick.
    void give_up() noexcept { copies_.clear(); }
    /// Reports the delivery status of a packet.
    void resolve(std::uint32_t sequence, bool delivered) noexcept;
    /// For checks: calls visit(ghost, entity) for each entity in the payloads written last.
    template <class Visit>
    void for_each_replicated(const SharedCells& cells, Visit&& visit) const {
        for (const std::uint32_t s : written_) {
            for (const Member& member : slots_[s].members) {
                if (cells.is_replicated(index_of(member.entity)))
                    visit(member.ghost, member.entity);
            }
        }
    }
    std::size_t memory_bytes() const noexcept;

  private:
    static constexpr std::uint32_t none = 0xffffffffU;
    struct Member {
        EntityId entity = EntityId::none;
        LocalId ghost = no_local_id;
        bool operator==(const Member&) const noexcept = default;
    };
    struct Slot {
        std::uint32_t node = none;  ///< none: free
        std::uint32_t cell = 0;
        /// Versions of the group and of the observer's ghosts for which `members` is valid.
        ChangeLog::Version group_known = ChangeLog::unknown;
        ChangeLog::Version ghosts_known = ChangeLog::unknown;
        bool is_whole = false;             ///< all members are ghosts of the observer
        std::vector<Member> members;       ///< the members that are ghosts of the observer
        std::vector<std::uint64_t> words;  ///< their ghost slots, a bit each
        std::vector<Member> member_map;    ///< the map for the payload sent last
        bool is_member_map = false;        ///< `member_map` is equal to `members`
        bool is_known = false;             ///< the client has `member_map`
        std::uint32_t reported_first = 0;  ///< first packet with the map and an unknown status
        std::uint64_t reported_in = 0;     ///< bit i: map in flight in packet reported_first + i
    };
    struct Copy {
        std::uint32_t slot;
        Section section;
    };
    void choose_slots(const ReplicationInput& input, EntityId main);
    void read(std::uint32_t node, std::uint32_t cell);
    bool is_wanted(const Slot& slot, const SharedCells& cells) const;
    static bool matches_full_lookup(const ReplicationInput& input, const GhostTable& ghosts,
                                    std::uint32_t group, const Slot& slot);
    void refresh(const ReplicationInput& input, const GhostTable& ghosts, std::uint32_t group,
                 Slot& slot);
    static void take_member_map(Slot& slot);
    static std::uint64_t member_map_bits(const ReplicationInput& input, const GhostTable& ghosts,
                                         const Slot& slot);
    static void write_member_map(const ReplicationInput& input, const GhostTable& ghosts,
                                 const Slot& slot, BitWriter& out);
    static unsigned width_of(const GhostTable& ghosts) noexcept {
        return bits_for(ghosts.slots().end() | 1U);
    }

    std::vector<Slot> slots_;
    std::vector<std::uint32_t> home_;  ///< [nodes] cell of the viewpoint
    std::uint32_t cells_revision_ = 0;
    std::vector<Copy> copies_;
    std::vector<std::uint32_t> written_;  ///< slots
    std::uint64_t bits_ = 0;
    std::vector<std::uint64_t> covered_;
    std::vector<std::uint32_t> wanted_;  ///< scratch: cells
    std::vector<std::uint32_t> some_;    ///< scratch: entity indices
    std::uint64_t unacked_ = 0;          ///< slots with a map in flight, a bit each
};

}  // namespace purview
