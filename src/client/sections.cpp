// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/sections.hpp"

#include "core/bitset.hpp"
#include "core/mutate.hpp"

namespace purview {

void ClientSections::begin() noexcept {
    seen_ = is_new_ = 0;
}

std::span<const ClientSections::Member> ClientSections::read_member_map(BitReader& in,
                                                                        LocalId ids_max,
                                                                        std::size_t kinds,
                                                                        unsigned kind_bits) {
    const auto slot = static_cast<std::size_t>(in.bits(slot_bits));
    const std::uint64_t bit = std::uint64_t{1} << slot;
    if ((seen_ & bit) != 0) in.fail();
    seen_ |= bit;
    if (!in.boolean()) {
        if (!PURVIEW_GUARD(client_member_map, (known_ & bit) != 0)) in.fail();
        return in.ok() ? std::span<const Member>(member_maps_[slot]) : std::span<const Member>();
    }
    // A member takes at least one bit, which bounds the count.
    const auto count = static_cast<std::size_t>(in.varint_max(in.bits_left()));
    const auto width = static_cast<unsigned>(in.bits(width_bits));
    if (width == 0) in.fail();
    std::vector<Member>& member_map = staged_[slot];
    member_map.clear();
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        const std::uint64_t ghost = in.bits(width);
        const std::uint64_t kind = in.bits(kind_bits);
        if (ghost >= ids_max || kind >= kinds) in.fail();
        member_map.push_back({static_cast<LocalId>(ghost), id_at<KindId>(kind)});
    }
    is_new_ |= bit;
    return in.ok() ? std::span<const Member>(member_map) : std::span<const Member>();
}

void ClientSections::accept() {
    PURVIEW_ASSERT((is_new_ & ~seen_) == 0);
    for_each_bit(is_new_, 0, [&](std::size_t slot) { member_maps_[slot].swap(staged_[slot]); });
    known_ |= is_new_;
}

}  // namespace purview
