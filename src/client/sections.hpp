// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The rosters of a client: whom the ranks of a shared section mean (PROTOCOL.md, "Shared
// sections"). Read first, kept when the packet is applied.
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

    /// Before the sections of a packet are read.
    void begin() noexcept;
    /// Slot and roster of the next section: its members by rank. Fails where the packet names no
    /// roster and none is known, a slot twice, or a local id or kind that there is not.
    std::span<const Member> read_roster(BitReader& in, LocalId ids_max, std::size_t kinds,
                                        unsigned kind_bits);
    /// What was read last holds from now on.
    void accept();
    /// Calls visit(member) for all of the rosters that came with the packet accepted last.
    template <class Visit>
    void for_each_new(Visit&& visit) const {
        for_each_bit(is_new_, 0, [&](std::size_t slot) {
            for (const Member& member : rosters_[slot]) visit(member);
        });
    }

  private:
    static constexpr std::size_t slots_max = std::size_t{1} << slot_bits;
    std::array<std::vector<Member>, slots_max> rosters_;
    std::array<std::vector<Member>, slots_max> staged_;
    std::uint64_t known_ = 0;   ///< slots, a bit each
    std::uint64_t seen_ = 0;    ///< in this packet
    std::uint64_t is_new_ = 0;  ///< with a roster in this packet
};

}  // namespace purview
