// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "spatial/simd_lanes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/prefetch.hpp"
#include "purview/status.hpp"

#ifdef PURVIEW_HIGHWAY
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "spatial/simd_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace purview::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::CappedTag<float, lanes_per_block>;
using Vec = hn::Vec<Lanes>;

/// Converts a vector mask to bits.
template <class D>
std::uint32_t bits_of_mask(D d, hn::Mask<D> mask) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, mask, bytes);
    if constexpr (std::endian::native == std::endian::little) {
        std::uint16_t some = 0;  // one instruction on targets with mask registers
        std::memcpy(&some, bytes, sizeof some);
        return some;
    }
    return bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8;
}

/// Converts bits to a vector mask, for the lanes from `first` on.
template <class D>
hn::Mask<D> mask_of(D d, Mask mask, std::size_t first) {
    std::uint8_t bytes[8] = {};
    bytes[0] = static_cast<std::uint8_t>(mask >> first);
    bytes[1] = static_cast<std::uint8_t>(mask >> first >> 8);
    return hn::LoadMaskBits(d, bytes);
}

/// Vector arithmetic for the loops below.
struct Ops {
    using Number = Vec;
    using Yes = hn::Mask<Lanes>;
    static Number set(float v) { return hn::Set(Lanes(), v); }
    static Number add(Number a, Number b) { return hn::Add(a, b); }
    static Number sub(Number a, Number b) { return hn::Sub(a, b); }
    static Number mul(Number a, Number b) { return hn::Mul(a, b); }
    static Number abs(Number a) { return hn::Abs(a); }
    static Number sqrt(Number a) { return hn::Sqrt(a); }
    static Number min(Number a, Number b) { return hn::Min(a, b); }
    static Number max(Number a, Number b) { return hn::Max(a, b); }
    static Yes at_most(Number a, Number b) { return hn::Le(a, b); }
    static Yes both(Yes a, Yes b) { return hn::And(a, b); }
    static Number choose(Yes yes, Number a, Number b) { return hn::IfThenElse(yes, a, b); }
};

#else
#include <cmath>
namespace purview {
namespace {

/// Scalar arithmetic for the loops below.
struct Ops {
    using Number = float;
    using Yes = bool;
    static Number set(float v) { return v; }
    static Number add(Number a, Number b) { return a + b; }
    static Number sub(Number a, Number b) { return a - b; }
    static Number mul(Number a, Number b) { return a * b; }
    static Number abs(Number a) { return std::fabs(a); }
    static Number sqrt(Number a) { return std::sqrt(a); }
    static Number min(Number a, Number b) { return b < a ? b : a; }
    static Number max(Number a, Number b) { return a < b ? b : a; }
    static Yes at_most(Number a, Number b) { return a <= b; }
    static Yes both(Yes a, Yes b) { return a && b; }
    static Number choose(Yes yes, Number a, Number b) { return yes ? a : b; }
};
#endif

using Number = Ops::Number;

/// Positions of some lanes of one block.
struct Positions {
    Number x, y, z;
};

template <unsigned axes>
Positions positions_of(const float* block, std::size_t lane) {
#ifdef PURVIEW_HIGHWAY
    const Lanes d;
    return {hn::Load(d, block + lane), hn::Load(d, block + lanes_per_block + lane),
            axes == 3 ? hn::Load(d, block + (axes - 1) * lanes_per_block + lane) : hn::Zero(d)};
#else
    return {block[lane], block[lanes_per_block + lane],
            axes == 3 ? block[(axes - 1) * lanes_per_block + lane] : 0};
#endif
}

/// Returns one bit per lane of a block. `test(positions, first lane)` evaluates some lanes at a
/// time.
template <unsigned axes, class Test>
std::uint32_t bits_of(const float* block, const Test& test) {
    std::uint32_t bits = 0;
#ifdef PURVIEW_HIGHWAY
    const Lanes d;
    for (std::size_t i = 0; i < lanes_per_block; i += hn::Lanes(d)) {
        const Positions at = positions_of<axes>(block, i);
        bits |= bits_of_mask(d, test(at, i)) << i;
    }
#else
    for (std::size_t i = 0; i < lanes_per_block; ++i) {
        const Positions at = positions_of<axes>(block, i);
        bits |= static_cast<std::uint32_t>(test(at, i)) << i;
    }
#endif
    return bits;
}

template <unsigned axes>
Number squared(const Positions& at, const Positions& from) {
    const Number dx = Ops::sub(at.x, from.x), dy = Ops::sub(at.y, from.y);
    Number sum = Ops::add(Ops::mul(dx, dx), Ops::mul(dy, dy));
    if constexpr (axes == 3) {
        const Number dz = Ops::sub(at.z, from.z);
        sum = Ops::add(sum, Ops::mul(dz, dz));
    }
    return sum;
}

Positions all(Vec3 v) {
    return {Ops::set(v.x), Ops::set(v.y), Ops::set(v.z)};
}

template <unsigned axes>
void within_loop(const float* coordinates, const BlockIndex* blocks, std::size_t n, Vec3 center,
                 float radius_squared, Mask* out) {
    const Positions from = all(center);
    const Number r2 = Ops::set(radius_squared);
    for (std::size_t i = 0; i < n; ++i) {
        const float* block = coordinates + std::size_t{blocks[i]} * axes * lanes_per_block;
        out[i] =
            static_cast<Mask>(out[i] | bits_of<axes>(block, [&](const Positions& at, std::size_t) {
                                  return Ops::at_most(squared<axes>(at, from), r2);
                              }));
    }
}

template <unsigned axes>
void crossed_loop(const float* coordinates, const BlockIndex* blocks, std::size_t n, Vec3 a, Vec3 b,
                  float radius_squared, Mask* out) {
    const Positions from = all(a), to = all(b);
    const Number r2 = Ops::set(radius_squared);
    for (std::size_t i = 0; i < n; ++i) {
        const float* block = coordinates + std::size_t{blocks[i]} * axes * lanes_per_block;
        const auto within = [&](const Positions& center) {
            return bits_of<axes>(block, [&](const Positions& at, std::size_t) {
                return Ops::at_most(squared<axes>(at, center), r2);
            });
        };
        out[i] = static_cast<Mask>(out[i] | (within(from) ^ within(to)));
    }
}

template <unsigned axes>
void within_own_loop(const float* coordinates, const BlockIndex* blocks, std::size_t n, Vec3 center,
                     const float* radii, float otherwise_m, float margin_m, Mask* out) {
    const Positions from = all(center);
    const Number otherwise = Ops::set(otherwise_m), margin = Ops::set(margin_m), zero = Ops::set(0);
    for (std::size_t i = 0; i < n; ++i) {
        const float* block = coordinates + std::size_t{blocks[i]} * axes * lanes_per_block;
        const float* own = radii + std::size_t{blocks[i]} * lanes_per_block;
        out[i] = static_cast<Mask>(
            out[i] | bits_of<axes>(block, [&](const Positions& at, std::size_t lane) {
#ifdef PURVIEW_HIGHWAY
                const Number mine = hn::Load(Lanes(), own + lane);
#else
                const Number mine = own[lane];
#endif
                const Number radius =
                    Ops::add(Ops::choose(Ops::at_most(mine, zero), otherwise, mine), margin);
                return Ops::at_most(squared<axes>(at, from), Ops::mul(radius, radius));
            }));
    }
}

template <unsigned axes>
void box_loop(const float* coordinates, const BlockIndex* blocks, std::size_t n, Vec3 low,
              Vec3 high, Mask* out) {
    const Positions from = all(low), to = all(high);
    for (std::size_t i = 0; i < n; ++i) {
        const float* block = coordinates + std::size_t{blocks[i]} * axes * lanes_per_block;
        out[i] = static_cast<Mask>(
            out[i] | bits_of<axes>(block, [&](const Positions& at, std::size_t) {
                auto yes =
                    Ops::both(Ops::both(Ops::at_most(from.x, at.x), Ops::at_most(at.x, to.x)),
                              Ops::both(Ops::at_most(from.y, at.y), Ops::at_most(at.y, to.y)));
                if constexpr (axes == 3) {
                    yes = Ops::both(
                        yes, Ops::both(Ops::at_most(from.z, at.z), Ops::at_most(at.z, to.z)));
                }
                return yes;
            }));
    }
}

template <unsigned axes>
void around_loop(const float* coordinates, const BlockIndex* blocks, std::size_t n, Vec3 center,
                 Vec3 half_size, Mask* out) {
    const Positions from = all(center), half = all(half_size);
    for (std::size_t i = 0; i < n; ++i) {
        const float* block = coordinates + std::size_t{blocks[i]} * axes * lanes_per_block;
        out[i] = static_cast<Mask>(
            out[i] | bits_of<axes>(block, [&](const Positions& at, std::size_t) {
                auto yes = Ops::both(Ops::at_most(Ops::abs(Ops::sub(at.x, from.x)), half.x),
                                     Ops::at_most(Ops::abs(Ops::sub(at.y, from.y)), half.y));
                if constexpr (axes == 3) {
                    yes = Ops::both(yes, Ops::at_most(Ops::abs(Ops::sub(at.z, from.z)), half.z));
                }
                return yes;
            }));
    }
}

/// `grown`: widened by a margin.
template <unsigned axes, bool grown>
void cone_loop(const float* coordinates, const BlockIndex* blocks, std::size_t n,
               const LaneCone& cone, Mask* out) {
    const Positions tip = all(cone.tip), axis = all(cone.direction);
    const float around = cone.radius + cone.margin_m;
    const Number r2 = Ops::set(around * around), margin2 = Ops::set(cone.margin_m * cone.margin_m),
                 radius = Ops::set(cone.radius), cosine = Ops::set(cone.cosine),
                 sine = Ops::set(cone.sine), zero = Ops::set(0);
    for (std::size_t i = 0; i < n; ++i) {
        const float* block = coordinates + std::size_t{blocks[i]} * axes * lanes_per_block;
        out[i] = static_cast<Mask>(
            out[i] | bits_of<axes>(block, [&](const Positions& at, std::size_t) {
                const Number dx = Ops::sub(at.x, tip.x), dy = Ops::sub(at.y, tip.y);
                Number along = Ops::add(Ops::mul(dx, axis.x), Ops::mul(dy, axis.y));
                Number q = Ops::add(Ops::mul(dx, dx), Ops::mul(dy, dy));
                if constexpr (axes == 3) {
                    const Number dz = Ops::sub(at.z, tip.z);
                    along = Ops::add(along, Ops::mul(dz, axis.z));
                    q = Ops::add(q, Ops::mul(dz, dz));
                }
                const Number aside = Ops::sqrt(Ops::max(Ops::sub(q, Ops::mul(along, along)), zero));
                // Signed distance to the side, negative inside.
                const Number out_of = Ops::sub(Ops::mul(aside, cosine), Ops::mul(along, sine));
                if constexpr (!grown)
                    return Ops::both(Ops::at_most(q, r2), Ops::at_most(out_of, zero));
                // The side extends from the tip to the rim. Behind the tip the tip is nearest;
                // beyond the rim the rim is nearest.
                const Number along_side = Ops::add(Ops::mul(along, cosine), Ops::mul(aside, sine));
                const Number off = Ops::choose(Ops::at_most(along_side, zero), along_side,
                                               Ops::max(Ops::sub(along_side, radius), zero));
                const Number apart = Ops::add(Ops::mul(out_of, out_of), Ops::mul(off, off));
                const Number away = Ops::choose(Ops::at_most(out_of, zero), zero, apart);
                return Ops::both(Ops::at_most(q, r2), Ops::at_most(away, margin2));
            }));
    }
}

// -- lanes one after another ----------------------------------------------------------------------

/// Writes `values(first lane)` for the lanes of a mask, without gaps.
template <class T, class Values>
std::size_t put_lanes(Mask mask, T* out, const Values& values) {
    std::size_t count = 0;
#ifdef PURVIEW_HIGHWAY
    const hn::Rebind<T, Lanes> d;
    for (std::size_t i = 0; i < lanes_per_block; i += hn::Lanes(d)) {
        const auto yes = mask_of(d, mask, i);
        hn::StoreU(hn::Compress(values(i), yes), d, out + count);
        count += hn::CountTrue(d, yes);
    }
#else
    for (std::size_t i = 0; i < lanes_per_block; ++i) {
        out[count] = values(i);
        count += mask >> i & 1U;
    }
#endif
    return count;
}

std::size_t slots_any(std::span<const BlockIndex> blocks, const Mask* masks, Slot* out) {
    std::size_t count = 0;
#ifdef PURVIEW_HIGHWAY
    const hn::Rebind<Slot, Lanes> d;
    const auto lanes = hn::Iota(d, 0);
#endif
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const Slot first = slot_at(blocks[i], 0);
        count += put_lanes(masks[i], out + count, [&](std::size_t lane) {
#ifdef PURVIEW_HIGHWAY
            return hn::Add(lanes, hn::Set(d, first + static_cast<Slot>(lane)));
#else
            return first + static_cast<Slot>(lane);
#endif
        });
    }
    return count;
}

/// Bit k of `bits` moves to the k-th lane of the mask.
std::uint32_t spread(std::uint32_t bits, Mask mask) {
#if defined(PURVIEW_HIGHWAY) && HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return _pdep_u32(bits, mask);
#else
    std::uint32_t out = 0;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1, bits >>= 1)
        out |= (bits & 1U) * (rest & (0U - rest));
    return out;
#endif
}

void yes_any(std::span<const Mask> masks, const std::uint8_t* yes, Mask* out) {
    for (std::size_t i = 0; i < masks.size(); ++i) {
        std::uint32_t bits = 0;
#ifdef PURVIEW_HIGHWAY
        const hn::CappedTag<std::uint8_t, lanes_per_block> d;
        for (std::size_t k = 0; k < lanes_per_block; k += hn::Lanes(d))
            bits |= bits_of_mask(d, hn::Ne(hn::LoadU(d, yes + k), hn::Zero(d))) << k;
#else
        for (std::size_t k = 0; k < lanes_per_block; ++k) bits |= (yes[k] != 0 ? 1U : 0U) << k;
#endif
        out[i] = static_cast<Mask>(spread(bits, masks[i]));
        yes += count_lanes(masks[i]);
    }
}

/// Appends the blocks of one visible block set that have a lane with the flag.
std::uint32_t pick_of(const LaneWindow& window, const Mask* flags, BlockIndex* out_blocks,
                      Mask* out_masks) {
    const std::size_t n = window.size;
    std::size_t i = 0;
    std::uint32_t picked = 0;
#ifdef PURVIEW_HIGHWAY
    if constexpr (std::endian::native == std::endian::little) {
        const hn::RebindToUnsigned<Lanes> d;
        const hn::RebindToSigned<Lanes> d_index;
        const hn::Rebind<Mask, Lanes> d_mask;
        const std::size_t width = hn::Lanes(d);
        for (; n >= width && i < n; i += width) {
            // The last vector starts earlier and skips blocks that were processed before.
            const std::size_t at = std::min(i, n - width);
            const auto block = hn::LoadU(d, window.blocks + at);
            const auto mask = hn::PromoteTo(d, hn::LoadU(d_mask, window.masks + at));
            // Two flag masks per word.
            const auto word = hn::GatherIndex(d, reinterpret_cast<const std::uint32_t*>(flags),
                                              hn::BitCast(d_index, hn::ShiftRight<1>(block)));
            const auto half = hn::ShiftLeft<4>(hn::And(block, hn::Set(d, 1)));
            const auto both =
                hn::IfThenZeroElse(hn::FirstN(d, i - at), hn::And(hn::Shr(word, half), mask));
            const auto any = hn::Ne(both, hn::Zero(d));
            hn::StoreU(hn::Compress(block, any), d, out_blocks + picked);
            hn::StoreU(hn::TruncateTo(d_mask, hn::Compress(both, any)), d_mask, out_masks + picked);
            picked += static_cast<std::uint32_t>(hn::CountTrue(d, any));
        }
    }
#endif
    for (; i < n; ++i) {
        const auto both = static_cast<Mask>(window.masks[i] & flags[window.blocks[i]]);
        out_blocks[picked] = window.blocks[i];
        out_masks[picked] = both;
        picked += both != 0 ? 1U : 0U;
    }
    return picked;
}

/// Prefetch distance for long lists that were last written a tick ago. A store that waits for its
/// cache line delays all later stores.
constexpr std::size_t written_ahead = 64;

void pick_any(std::span<const LaneWindow> windows, const Mask* flags, PickedLanes& out,
              LaneEnd* out_end) {
    for (const LaneWindow& window : windows) {
        prefetch_line_to_write(out.blocks.data() + out.size + written_ahead);
        prefetch_line_to_write(out.masks.data() + out.size + written_ahead);
        out.size +=
            pick_of(window, flags, out.blocks.data() + out.size, out.masks.data() + out.size);
        (out_end++)->blocks = out.size;
    }
}

/// Prefetch distance: the values are usually in no cache.
constexpr std::size_t values_ahead = std::size_t{2} * lanes_per_block;

std::size_t gather_any(const std::uint32_t* values, const PickedLanes& picked, std::uint32_t* out) {
    const BlockIndex* const blocks = picked.blocks.data();
    std::size_t count = 0;
    for (std::size_t i = 0; i < picked.size; ++i) {
        prefetch_line(values + std::size_t{blocks[i + values_ahead]} * lanes_per_block);
        const std::uint32_t* block = values + std::size_t{blocks[i]} * lanes_per_block;
        count += put_lanes(picked.masks[i], out + count, [&](std::size_t lane) {
#ifdef PURVIEW_HIGHWAY
            return hn::Load(hn::Rebind<std::uint32_t, Lanes>(), block + lane);
#else
            return block[lane];
#endif
        });
    }
    return count;
}

/// to[i] = map(from[i]).
template <class Map>
void map_all(const float* from, std::size_t n, float* to, const Map& map) {
#ifdef PURVIEW_HIGHWAY
    const Lanes d;
    for (std::size_t i = 0; i < n; i += hn::Lanes(d))
        hn::StoreU(map(hn::LoadU(d, from + i)), d, to + i);
#else
    for (std::size_t i = 0; i < n; ++i) to[i] = map(from[i]);
#endif
}

/// Converts squared distances to nearness.
void map_nearness(const float* squares, std::size_t n, float reach, float least, float* out) {
    const Number one = Ops::set(1), per_meter = Ops::set(1 / reach), floor = Ops::set(least);
    map_all(squares, n, out, [&](Number squared) {
        return Ops::max(Ops::sub(one, Ops::mul(Ops::sqrt(squared), per_meter)), floor);
    });
}

template <unsigned axes>
std::size_t nearness_loop(const float* coordinates, std::span<const BlockIndex> blocks,
                          const Mask* masks, std::span<const Vec3> positions, float reach,
                          float least, float* out) {
    // Squared distances go to a small array that stays in the caches until they are converted.
    constexpr std::size_t batch = 32;
    alignas(64) float squares[(batch + 1) * lanes_per_block];
    float* const begin = out;
    for (std::size_t first = 0; first < blocks.size(); first += batch) {
        std::size_t count = 0;
        for (std::size_t i = first; i < blocks.size() && i < first + batch; ++i) {
            const float* block = coordinates + std::size_t{blocks[i]} * axes * lanes_per_block;
            count += put_lanes(masks[i], squares + count, [&](std::size_t lane) {
                const Positions at = positions_of<axes>(block, lane);
                Number nearest = squared<axes>(at, all(positions.front()));
                for (const Vec3 position : positions.subspan(1))
                    nearest = Ops::min(nearest, squared<axes>(at, all(position)));
                return nearest;
            });
        }
        map_nearness(squares, count, reach, least, out);
        out += count;
    }
    return static_cast<std::size_t>(out - begin);
}

template <unsigned axes>
std::size_t picked_loop(const float* coordinates, std::span<const LaneWindow> windows,
                        const PickedLanes& picked, std::uint32_t first, float reach, float least,
                        LaneEnd* ends, float* out) {
    const BlockIndex* const blocks = picked.blocks.data();
    const Mask* const masks = picked.masks.data();
    std::size_t count = 0;
    std::uint32_t i = first;
    for (const LaneWindow& window : windows) {
        const Positions from = all(window.from);
        float* const ahead = out + count + written_ahead;
        for (std::size_t k = 0; k < 2; ++k) prefetch_line_to_write(ahead + k * lanes_per_block);
        for (const std::uint32_t end = ends->blocks; i < end; ++i) {
            const float* block = coordinates + std::size_t{blocks[i]} * axes * lanes_per_block;
            count += put_lanes(masks[i], out + count, [&](std::size_t lane) {
                return squared<axes>(positions_of<axes>(block, lane), from);
            });
        }
        (ends++)->lanes = static_cast<std::uint32_t>(count);
    }
    map_nearness(out, count, reach, least, out);
    return count;
}

// -- by number of axes ----------------------------------------------------------------------------

void within_any(LaneCoordinates at, const BlockIndex* blocks, std::size_t n, Vec3 center,
                float radius_squared, Mask* out) {
    at.axes == 2 ? within_loop<2>(at.data, blocks, n, center, radius_squared, out)
                 : within_loop<3>(at.data, blocks, n, center, radius_squared, out);
}
void crossed_any(LaneCoordinates at, const BlockIndex* blocks, std::size_t n, Vec3 a, Vec3 b,
                 float radius_squared, Mask* out) {
    at.axes == 2 ? crossed_loop<2>(at.data, blocks, n, a, b, radius_squared, out)
                 : crossed_loop<3>(at.data, blocks, n, a, b, radius_squared, out);
}
void within_own_any(LaneCoordinates at, const BlockIndex* blocks, std::size_t n, Vec3 center,
                    const float* radii, float otherwise_m, float margin_m, Mask* out) {
    at.axes == 2
        ? within_own_loop<2>(at.data, blocks, n, center, radii, otherwise_m, margin_m, out)
        : within_own_loop<3>(at.data, blocks, n, center, radii, otherwise_m, margin_m, out);
}
void box_any(LaneCoordinates at, const BlockIndex* blocks, std::size_t n, Vec3 low, Vec3 high,
             Mask* out) {
    at.axes == 2 ? box_loop<2>(at.data, blocks, n, low, high, out)
                 : box_loop<3>(at.data, blocks, n, low, high, out);
}
void around_any(LaneCoordinates at, const BlockIndex* blocks, std::size_t n, Vec3 center,
                Vec3 half_size, Mask* out) {
    at.axes == 2 ? around_loop<2>(at.data, blocks, n, center, half_size, out)
                 : around_loop<3>(at.data, blocks, n, center, half_size, out);
}
void cone_any(LaneCoordinates at, const BlockIndex* blocks, std::size_t n, const LaneCone& cone,
              Mask* out) {
    if (cone.margin_m > 0) {
        at.axes == 2 ? cone_loop<2, true>(at.data, blocks, n, cone, out)
                     : cone_loop<3, true>(at.data, blocks, n, cone, out);
    } else {
        at.axes == 2 ? cone_loop<2, false>(at.data, blocks, n, cone, out)
                     : cone_loop<3, false>(at.data, blocks, n, cone, out);
    }
}

std::size_t nearness_any(LaneCoordinates at, std::span<const BlockIndex> blocks, const Mask* masks,
                         std::span<const Vec3> positions, float reach, float least, float* out) {
    return at.axes == 2 ? nearness_loop<2>(at.data, blocks, masks, positions, reach, least, out)
                        : nearness_loop<3>(at.data, blocks, masks, positions, reach, least, out);
}

std::size_t picked_any(LaneCoordinates at, std::span<const LaneWindow> windows,
                       const PickedLanes& picked, std::uint32_t first, float reach, float least,
                       LaneEnd* ends, float* out) {
    const auto loop = at.axes == 2 ? picked_loop<2> : picked_loop<3>;
    return loop(at.data, windows, picked, first, reach, least, ends, out);
}

#ifdef PURVIEW_HIGHWAY
const char* name_of_target() {
    return hwy::TargetName(HWY_TARGET);
}
}  // namespace purview::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else
}  // namespace
}  // namespace purview
#endif

#if !defined(PURVIEW_HIGHWAY) || HWY_ONCE
namespace purview {

#ifdef PURVIEW_HIGHWAY
namespace {
HWY_EXPORT(within_any);
HWY_EXPORT(crossed_any);
HWY_EXPORT(within_own_any);
HWY_EXPORT(box_any);
HWY_EXPORT(around_any);
HWY_EXPORT(cone_any);
HWY_EXPORT(slots_any);
HWY_EXPORT(yes_any);
HWY_EXPORT(pick_any);
HWY_EXPORT(gather_any);
HWY_EXPORT(nearness_any);
HWY_EXPORT(picked_any);
HWY_EXPORT(name_of_target);
}  // namespace
#define PURVIEW_BEST(function) HWY_DYNAMIC_DISPATCH(function)
#else
#define PURVIEW_BEST(function) function
#endif

void add_lanes_within(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 center,
                      float radius_squared, std::span<Mask> out) noexcept {
    PURVIEW_ASSERT(out.size() == blocks.size());
    PURVIEW_BEST(within_any)(at, blocks.data(), blocks.size(), center, radius_squared, out.data());
}
void add_lanes_crossed(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 a, Vec3 b,
                       float radius_squared, std::span<Mask> out) noexcept {
    PURVIEW_ASSERT(out.size() == blocks.size());
    PURVIEW_BEST(crossed_any)
    (at, blocks.data(), blocks.size(), a, b, radius_squared, out.data());
}
void add_lanes_within_own(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 center,
                          const float* radii, float otherwise_m, float margin_m,
                          std::span<Mask> out) noexcept {
    PURVIEW_ASSERT(out.size() == blocks.size());
    PURVIEW_BEST(within_own_any)
    (at, blocks.data(), blocks.size(), center, radii, otherwise_m, margin_m, out.data());
}
void add_lanes_in_box(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 low, Vec3 high,
                      std::span<Mask> out) noexcept {
    PURVIEW_ASSERT(out.size() == blocks.size());
    PURVIEW_BEST(box_any)(at, blocks.data(), blocks.size(), low, high, out.data());
}
void add_lanes_around(LaneCoordinates at, std::span<const BlockIndex> blocks, Vec3 center,
                      Vec3 half_size, std::span<Mask> out) noexcept {
    PURVIEW_ASSERT(out.size() == blocks.size());
    PURVIEW_BEST(around_any)(at, blocks.data(), blocks.size(), center, half_size, out.data());
}
void add_lanes_in_cone(LaneCoordinates at, std::span<const BlockIndex> blocks, const LaneCone& cone,
                       std::span<Mask> out) noexcept {
    PURVIEW_ASSERT(out.size() == blocks.size());
    PURVIEW_BEST(cone_any)(at, blocks.data(), blocks.size(), cone, out.data());
}

std::size_t list_slots(std::span<const BlockIndex> blocks, std::span<const Mask> masks,
                       Slot* out) noexcept {
    PURVIEW_ASSERT(masks.size() >= blocks.size());
    return PURVIEW_BEST(slots_any)(blocks, masks.data(), out);
}
void pick_yes(std::span<const Mask> masks, const std::uint8_t* yes, Mask* out) noexcept {
    PURVIEW_BEST(yes_any)(masks, yes, out);
}
void pick_lanes(std::span<const LaneWindow> windows, const Mask* flags, PickedLanes& out,
                LaneEnd* out_end) {
    std::size_t room = out.size;
    for (const LaneWindow& window : windows) room += window.size;
    room += std::size_t{2} * lanes_per_block;  // loops write whole vectors and read ahead
    if (out.blocks.size() < room) {
        out.blocks.resize(room + room / 2);
        out.masks.resize(room + room / 2);
    }
    PURVIEW_BEST(pick_any)(windows, flags, out, out_end);
    PURVIEW_ASSERT(out.size + std::size_t{2} * lanes_per_block <= room);
}
std::size_t gather_lanes(const std::uint32_t* values, const PickedLanes& picked,
                         std::uint32_t* out) noexcept {
    PURVIEW_ASSERT(picked.size == 0 ||  // blocks are read ahead
                   picked.size + std::size_t{2} * lanes_per_block <= picked.blocks.size());
    return picked.size == 0 ? 0 : PURVIEW_BEST(gather_any)(values, picked, out);
}
std::size_t gather_nearness(LaneCoordinates at, std::span<const BlockIndex> blocks,
                            std::span<const Mask> masks, std::span<const Vec3> positions,
                            float reach, float least, float* out) noexcept {
    PURVIEW_ASSERT(masks.size() >= blocks.size() && !positions.empty());
    return PURVIEW_BEST(nearness_any)(at, blocks, masks.data(), positions, reach, least, out);
}
std::size_t gather_nearness(LaneCoordinates at, std::span<const LaneWindow> windows,
                            const PickedLanes& picked, std::uint32_t first, float reach,
                            float least, LaneEnd* ends, float* out) noexcept {
    return PURVIEW_BEST(picked_any)(at, windows, picked, first, reach, least, ends, out);
}

std::string_view instruction_set() noexcept {
#ifdef PURVIEW_HIGHWAY
    return PURVIEW_BEST(name_of_target)();
#else
    return "scalar";
#endif
}

#undef PURVIEW_BEST

}  // namespace purview
#endif
