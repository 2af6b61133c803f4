// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "spatial/lane_test.hpp"

#ifdef PURVIEW_HIGHWAY
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "spatial/lane_test.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace purview::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The bits of one block, `lanes` of the vector at a time.
template <unsigned axes>
std::uint32_t bits_within(const float* HWY_RESTRICT block, const Vec3& centre,
                          float radius_squared) {
    const hn::CappedTag<float, lanes_per_block> d;
    const auto cx = hn::Set(d, centre.x), cy = hn::Set(d, centre.y), cz = hn::Set(d, centre.z);
    const auto r2 = hn::Set(d, radius_squared);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < lanes_per_block; i += hn::Lanes(d)) {
        const auto dx = hn::Sub(hn::Load(d, block + i), cx);
        const auto dy = hn::Sub(hn::Load(d, block + lanes_per_block + i), cy);
        auto sum = hn::Add(hn::Mul(dx, dx), hn::Mul(dy, dy));
        if constexpr (axes == 3) {
            const auto dz = hn::Sub(hn::Load(d, block + std::size_t{2} * lanes_per_block + i), cz);
            sum = hn::Add(sum, hn::Mul(dz, dz));
        }
        std::uint8_t bytes[8] = {};
        hn::StoreMaskBits(d, hn::Le(sum, r2), bytes);
        bits |= (bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8) << i;
    }
    return bits;
}

template <unsigned axes>
void add_within(const float* coordinates, const BlockIndex* blocks, std::size_t n, Vec3 centre,
                float radius_squared, Mask* out) {
    for (std::size_t i = 0; i < n; ++i) {
        const float* block = coordinates + std::size_t{blocks[i]} * axes * lanes_per_block;
        out[i] = static_cast<Mask>(out[i] | bits_within<axes>(block, centre, radius_squared));
    }
}

void add_within_any(const float* coordinates, unsigned axes, const BlockIndex* blocks,
                    std::size_t n, Vec3 centre, float radius_squared, Mask* out) {
    if (axes == 2) {
        add_within<2>(coordinates, blocks, n, centre, radius_squared, out);
    } else {
        add_within<3>(coordinates, blocks, n, centre, radius_squared, out);
    }
}

void add_crossed_any(const float* coordinates, unsigned axes, const BlockIndex* blocks,
                     std::size_t n, Vec3 a, Vec3 b, float radius_squared, Mask* out) {
    for (std::size_t i = 0; i < n; ++i) {
        const float* block = coordinates + std::size_t{blocks[i]} * axes * lanes_per_block;
        const std::uint32_t bits = axes == 2 ? bits_within<2>(block, a, radius_squared) ^
                                                   bits_within<2>(block, b, radius_squared)
                                             : bits_within<3>(block, a, radius_squared) ^
                                                   bits_within<3>(block, b, radius_squared);
        out[i] = static_cast<Mask>(out[i] | bits);
    }
}

}  // namespace purview::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if !defined(PURVIEW_HIGHWAY) || HWY_ONCE
namespace purview {

namespace {

#ifdef PURVIEW_HIGHWAY
HWY_EXPORT(add_within_any);
HWY_EXPORT(add_crossed_any);
#else
/// Loops that any compiler understands.
std::uint32_t bits_within_plain(const float* block, unsigned axes, Vec3 centre,
                                float radius_squared) noexcept {
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < lanes_per_block; ++i) {
        const float dx = block[i] - centre.x;
        const float dy = block[lanes_per_block + i] - centre.y;
        float sum = dx * dx + dy * dy;
        if (axes == 3) {
            const float dz = block[2 * lanes_per_block + i] - centre.z;
            sum = sum + dz * dz;
        }
        bits |= static_cast<std::uint32_t>(sum <= radius_squared) << i;
    }
    return bits;
}

void add_within_plain(const float* coordinates, unsigned axes, const BlockIndex* blocks,
                      std::size_t n, Vec3 centre, float radius_squared, Mask* out) noexcept {
    for (std::size_t b = 0; b < n; ++b) {
        const float* block = coordinates + std::size_t{blocks[b]} * axes * lanes_per_block;
        out[b] = static_cast<Mask>(out[b] | bits_within_plain(block, axes, centre, radius_squared));
    }
}
#endif

}  // namespace

void add_lanes_within(const BlockTable& table, std::span<const BlockIndex> blocks, Vec3 centre,
                      float radius_squared, std::span<Mask> out) noexcept {
    const unsigned axes = table.is_three_d() ? 3 : 2;
#ifdef PURVIEW_HIGHWAY
    HWY_DYNAMIC_DISPATCH(add_within_any)
    (table.coordinates(0), axes, blocks.data(), blocks.size(), centre, radius_squared, out.data());
#else
    add_within_plain(table.coordinates(0), axes, blocks.data(), blocks.size(), centre,
                     radius_squared, out.data());
#endif
}

void add_lanes_crossed(const BlockTable& table, std::span<const BlockIndex> blocks, Vec3 a, Vec3 b,
                       float radius_squared, std::span<Mask> out) noexcept {
    const unsigned axes = table.is_three_d() ? 3 : 2;
#ifdef PURVIEW_HIGHWAY
    HWY_DYNAMIC_DISPATCH(add_crossed_any)
    (table.coordinates(0), axes, blocks.data(), blocks.size(), a, b, radius_squared, out.data());
#else
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const float* block = table.coordinates(blocks[i]);
        const std::uint32_t bits = bits_within_plain(block, axes, a, radius_squared) ^
                                   bits_within_plain(block, axes, b, radius_squared);
        out[i] = static_cast<Mask>(out[i] | bits);
    }
#endif
}

std::string_view instruction_set() noexcept {
#ifdef PURVIEW_HIGHWAY
    const auto best = hwy::SupportedTargets() & -hwy::SupportedTargets();  // lower bit: better
    return hwy::TargetName(static_cast<decltype(HWY_TARGET)>(best));
#else
    return "scalar";
#endif
}

}  // namespace purview
#endif
