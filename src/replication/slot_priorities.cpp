// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/slot_priorities.hpp"

#ifdef PURVIEW_HIGHWAY
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "replication/slot_priorities.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace purview::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Integers = hn::RebindToSigned<Floats>;

std::uint64_t weigh(Tick now, const Tick* waiting_since, const float* weight,
                    std::uint64_t idle_slots, float least, float* priority) {
    constexpr Floats floats;
    constexpr Integers integers;
    const std::size_t slots = hn::Lanes(floats);
    const auto next = hn::Set(integers, static_cast<std::int32_t>(now + 1));
    const auto idle_factor = hn::Set(floats, idle_priority), enough = hn::Set(floats, least);
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < 64; i += slots) {
        const auto since =
            hn::LoadU(integers, reinterpret_cast<const std::int32_t*>(waiting_since + i));
        const auto age = hn::ConvertTo(floats, hn::Sub(next, since));
        const auto moving = hn::Mul(age, hn::LoadU(floats, weight + i));
        const std::uint64_t idle_bits = idle_slots >> i;
        const std::uint8_t idle_bytes[8] = {static_cast<std::uint8_t>(idle_bits),
                                            static_cast<std::uint8_t>(idle_bits >> 8)};
        const auto is_idle = hn::LoadMaskBits(floats, idle_bytes);
        const auto weighed = hn::IfThenElse(is_idle, hn::Mul(moving, idle_factor), moving);
        hn::StoreU(weighed, floats, priority + i);
        std::uint8_t bytes[8] = {};
        hn::StoreMaskBits(floats, hn::Ge(weighed, enough), bytes);
        found |= (std::uint64_t{bytes[0]} | std::uint64_t{bytes[1]} << 8) << i;
    }
    return found;
}

}  // namespace purview::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace purview {

namespace {
HWY_EXPORT(weigh);
}  // namespace

std::uint64_t slot_priorities(Tick now, std::span<const Tick, 64> waiting_since,
                              std::span<const float, 64> weight, std::uint64_t idle_slots,
                              float least, std::span<float, 64> priority) noexcept {
    return HWY_DYNAMIC_DISPATCH(weigh)(now, waiting_since.data(), weight.data(), idle_slots, least,
                                       priority.data());
}

}  // namespace purview
#endif

#else

namespace purview {

std::uint64_t slot_priorities(Tick now, std::span<const Tick, 64> waiting_since,
                              std::span<const float, 64> weight, std::uint64_t idle_slots,
                              float least, std::span<float, 64> priority) noexcept {
    std::uint64_t found = 0;
    for (unsigned i = 0; i < 64; ++i) {
        priority[i] = slot_priority(now, waiting_since[i], weight[i], (idle_slots >> i & 1U) != 0);
        found |= std::uint64_t{priority[i] >= least} << i;
    }
    return found;
}

}  // namespace purview

#endif
