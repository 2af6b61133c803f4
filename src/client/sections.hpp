// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A client's member maps: for each shared cell payload (section), the ghost of each member index
// (PROTOCOL.md, "Shared sections"). They are staged while a packet is read, and stored when it is
// applied.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "protocol/bit_reader.hpp"
#include "protocol/local_id.hpp"
#include "purview/types.hpp"

namespace purview {

class ClientSections {
  public:
    struct Member {
        LocalId ghost;
        KindId kind;
    };
    static constexpr unsigned slot_bits = 6;
    static constexpr unsigned width_bits = 5;

    /// Call before the sections of a packet are read.
    void begin() noexcept;
    /// Reads the slot of the next section and returns its members by index. Fails if the packet
    /// contains no map and none is stored, if a slot occurs twice, or if a local id or kind is
    /// invalid.
    std::span<const Member> read_member_map(BitReader& in, LocalId ids_max, std::size_t kinds,
                                            unsigned kind_bits);
    /// Stores what was read last.
    void accept();
    /// Calls visit(member) for all members of the maps in the packet accepted last.
    template <class Visit>
    void for_each_new(Visit&& visit) const {
        for_each_bit(is_new_, 0, [&](std::size_t slot) {
            for (const Member& member : member_maps_[slot]) visit(member);
        });
    }

  private:
    static constexpr std::size_t slots_max = std::size_t{1} << slot_bits;
    std::array<std::vector<Member>, slots_max> member_maps_;
    std::array<std::vector<Member>, slots_max> staged_;
    std::uint64_t known_ = 0;   ///< slots with a stored map, one bit each
    std::uint64_t seen_ = 0;    ///< in this packet
    std::uint64_t is_new_ = 0;  ///< with a map in this packet
};

}  // namespace purview
