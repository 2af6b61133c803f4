// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/sections.hpp"

#include "core/bitset.hpp"
#include "core/mutate.hpp"

namespace purview {

void ClientSections::begin() noexcept {
    seen_ = is_new_ = 0;
}

std::span<const ClientSections::Member> ClientSections::read_roster(BitReader& in, LocalId ids_max,
                                                                    std::size_t kinds,
                                                                    unsigned kind_bits) {
    const auto slot = static_cast<std::size_t>(in.bits(slot_bits));
    const std::uint64_t bit = std::uint64_t{1} << slot;
    if ((seen_ & bit) != 0) in.fail();
    seen_ |= bit;
    if (!in.boolean()) {
        if (!PURVIEW_GUARD(client_roster, (known_ & bit) != 0)) in.fail();
        return in.ok() ? std::span<const Member>(rosters_[slot]) : std::span<const Member>();
    }
    // A member has one bit at least: no count can be larger than what is left.
    const auto count = static_cast<std::size_t>(in.varint_max(in.bits_left()));
    const auto width = static_cast<unsigned>(in.bits(width_bits));
    if (width == 0) in.fail();
    std::vector<Member>& roster = staged_[slot];
    roster.clear();
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        const std::uint64_t ghost = in.bits(width);
        const std::uint64_t kind = in.bits(kind_bits);
        if (ghost >= ids_max || kind >= kinds) in.fail();
        roster.push_back({static_cast<LocalId>(ghost), KindId{static_cast<std::uint16_t>(kind)}});
    }
    is_new_ |= bit;
    return in.ok() ? std::span<const Member>(roster) : std::span<const Member>();
}

void ClientSections::accept() {
    PURVIEW_ASSERT((is_new_ & ~seen_) == 0);
    for_each_bit(is_new_, 0, [&](std::size_t slot) { rosters_[slot].swap(staged_[slot]); });
    known_ |= is_new_;
}

}  // namespace purview
