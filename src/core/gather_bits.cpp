// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "core/gather_bits.hpp"

#include "core/bitset.hpp"

#ifdef PURVIEW_HIGHWAY
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/gather_bits.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace purview::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 32-bit halves of the words, so that a vector holds twice as many. The low half comes first,
// because every target is little-endian.
using Halves = hn::CappedTag<std::uint32_t, 16>;
using Positions = hn::RebindToSigned<Halves>;
constexpr std::size_t bits_per_half = 32;

std::uint64_t gather_any(const std::uint64_t* row, const std::uint32_t* indices) {
    constexpr Halves halves;
    constexpr Positions positions;
    const auto* const from = reinterpret_cast<const std::uint32_t*>(row);
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < bits_per_word; i += hn::Lanes(halves)) {
        const auto index = hn::LoadU(halves, indices + i);
        const auto at = hn::BitCast(positions, hn::ShiftRight<5>(index));
        const auto bit =
            hn::Shl(hn::Set(halves, 1), hn::And(index, hn::Set(halves, bits_per_half - 1)));
        const auto is_set = hn::TestBit(hn::GatherIndex(halves, from, at), bit);
        std::uint8_t bits[8] = {};
        hn::StoreMaskBits(halves, is_set, bits);
        found |= (std::uint64_t{bits[0]} | std::uint64_t{bits[1]} << 8) << i;
    }
    return found;
}

}  // namespace purview::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace purview {

namespace {
HWY_EXPORT(gather_any);
}  // namespace

std::uint64_t gather_bits(std::span<const std::uint64_t> row,
                          std::span<const std::uint32_t, 64> indices) noexcept {
    return HWY_DYNAMIC_DISPATCH(gather_any)(row.data(), indices.data());
}

}  // namespace purview
#endif

#else

namespace purview {

std::uint64_t gather_bits(std::span<const std::uint64_t> row,
                          std::span<const std::uint32_t, 64> indices) noexcept {
    std::uint64_t found = 0;
    for (unsigned i = 0; i < bits_per_word; ++i) {  // no early exit: a branch costs more
        found |= (row[indices[i] / bits_per_word] >> (indices[i] % bits_per_word) & 1U) << i;
    }
    return found;
}

}  // namespace purview

#endif
