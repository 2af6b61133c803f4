// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Kernels of your own. Start with make_pair_kernel(), which takes a predicate of one observer and
/// one entity. Derive from CustomKernel to test 16 entities at a time, or from RayTest for line of
/// sight.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "purview/area.hpp"
#include "purview/rules.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_extend
/// @{

class CustomAdapter;   // src/interest
class InterestKernel;  // src/interest
class Slots;           // src/interest

/// Entities in blocks of 16 lanes. Valid during the call. Positions have the axes of the caller,
/// whatever Rules::axes is; the coordinate of an axis that does not count is 0.
class EntityBlocks {
  public:
    /// Entities per block.
    static constexpr unsigned lanes = 16;

    /// Returns 16 x coordinates. A lane without an entity has an infinite x.
    const float* x(std::uint32_t block) const noexcept {
        return coordinates_ + std::size_t{block} * axes_ * lanes;
    }
    /// Returns 16 y coordinates.
    const float* y(std::uint32_t block) const noexcept {
        return is_y_up_ ? third(block) : x(block) + lanes;
    }
    /// Returns 16 z coordinates.
    const float* z(std::uint32_t block) const noexcept {
        return is_y_up_ ? x(block) + lanes : third(block);
    }
    /// Returns which lanes have an entity: bit i is lane i.
    std::uint16_t occupied(std::uint32_t block) const noexcept { return occupied_[block]; }
    /// Returns which entities have the flag: bit i is lane i.
    std::uint16_t with_flag(std::uint32_t block, FlagId flag) const noexcept;
    /// Returns 16 keys of a declared key attribute. An entity may have additional ones
    /// (Visibility::add_key).
    const Key* keys(std::uint32_t block, KeyId key) const noexcept;
    /// Returns 16 values; 0 for a value that is not declared.
    const float* values(std::uint32_t block, ValueId value) const noexcept;
    /// Returns the entity of an occupied lane.
    EntityId entity(std::uint32_t block, unsigned lane) const noexcept;
    /// Returns the position of an occupied lane.
    Vec3 position(std::uint32_t block, unsigned lane) const noexcept {
        return {x(block)[lane], y(block)[lane], z(block)[lane]};
    }
    /// Returns whether any entity, such as a viewpoint, has a flag; false for none and for group
    /// members.
    bool has_flag(EntityId entity, FlagId flag) const noexcept;
    /// Returns a value of any entity, such as a viewpoint; 0 for none and for group members.
    float value(EntityId entity, ValueId value) const noexcept;

  private:
    friend class CustomAdapter;
    explicit EntityBlocks(const Slots& slots) noexcept;
    const float* third(std::uint32_t block) const noexcept {
        return axes_ == 3 ? x(block) + std::size_t{2} * lanes : zeros.data();
    }
    static constexpr std::array<float, lanes> zeros{};

    const Slots* slots_;
    const float* coordinates_;
    const std::uint16_t* occupied_;
    unsigned axes_;
    bool is_y_up_;
};

/// One observer and the blocks to test. Valid during the call.
struct BlockQuery {
    ObserverId observer;               ///< the observer
    EntityId viewpoint;                ///< its viewpoint entity, or none
    std::span<const Vec3> viewpoints;  ///< of that entity and areas without a volume; may be empty
    std::span<const Key> keys;         ///< by index_of(KeyId)
    /// Areas with a volume, moved with the entity that they follow; 0 along an axis that does not
    /// count.
    std::span<const Area> areas;
    float range = 0;                          ///< the observer's range, or 0
    Tick tick = 0;                            ///< number of the engine's tick
    std::span<const std::uint32_t> blocks;    ///< [n] blocks to test
    std::span<const std::uint16_t> lanes;     ///< [n] lanes to test; empty: all with an entity
    std::span<const std::uint16_t> previous;  ///< [n] result of the last tick, if remembered
    const EntityBlocks& entities;             ///< the entities of the blocks

    /// Returns the lanes of blocks[i] to test.
    std::uint16_t lanes_of(std::size_t i) const noexcept {
        const unsigned occupied = entities.occupied(blocks[i]);
        return static_cast<std::uint16_t>(lanes.empty() ? occupied : occupied & lanes[i]);
    }
};

/// The properties of a kernel.
struct KernelTraits {
    std::string name = "predicate";  ///< for explanations
    /// Maximum distance of a match from a viewpoint; entities without a position are unknown then.
    /// 0: not spatial; as an `add` step it is evaluated for every entity of the node.
    float reach = 0;
    /// Receives the result of the last tick. Ignored for a kernel with a relevance score.
    bool remembers = false;
    bool reads_positions = true;  ///< false: a move never changes the result
    /// True: evaluated every tick for every candidate. False: a pair is evaluated when its entity
    /// or observer moves, when a flag, key or value of the entity changes, and after recheck. For a
    /// kernel that reads other data of the game, set it to true, or call recheck when that data
    /// changes.
    bool every_tick = false;
    bool returns_unknown = false;  ///< CustomKernel::test writes `unknown`
};

/// The base of CustomKernel and of the library's own kernels.
class KernelBase {
  public:
    virtual ~KernelBase() = default;
    /// Returns whether it receives the result of the last tick.
    virtual bool remembers() const noexcept = 0;
    /// Returns whether the result depends only on flags, keys and values of the entity.
    virtual bool is_entity_only() const noexcept { return false; }

  private:
    friend class CustomAdapter;
    friend class CustomKernel;
    friend class InterestKernel;
    KernelBase() = default;
    virtual const InterestKernel* library_kernel() const noexcept { return nullptr; }
};

/// A kernel that tests blocks of 16 entities. Called on any thread of the executor; must not change
/// anything. If the result changes for a reason that the engine does not know, call
/// Visibility::recheck.
class CustomKernel : public KernelBase {
  public:
    /// Creates a kernel with these properties.
    explicit CustomKernel(KernelTraits traits) : traits_(std::move(traits)) {}
    /// Returns the properties.
    const KernelTraits& traits() const noexcept { return traits_; }
    /// Returns KernelTraits::remembers.
    bool remembers() const noexcept final { return traits_.remembers; }
    /// Sets the matching lanes in matches[n] and, with KernelTraits::returns_unknown, unknown lanes
    /// in unknown[n]. Both are 0 before. Lanes that are not tested may have any value. Unknown adds
    /// nothing, and is removed by `subtract`.
    virtual void test(const BlockQuery& query, std::span<std::uint16_t> matches,
                      std::span<std::uint16_t> unknown) const noexcept = 0;
    /// Writes a relevance score, above 0 and at most 1, for each lane in query.lanes, block by
    /// block.
    virtual void score(const BlockQuery&, std::span<float> score) const noexcept {
        std::fill(score.begin(), score.end(), 1.0F);
    }
    /// Returns the numbers behind the result of a lane of the first block, for explanations.
    virtual std::string describe(const BlockQuery& query, unsigned lane) const = 0;

  private:
    KernelTraits traits_;
};

/// One observer and one entity, for make_pair_kernel.
class Pair {
  public:
    /// Creates a pair. For the library.
    Pair(const BlockQuery& query, std::size_t at, unsigned lane) noexcept
        : query_(&query), at_(at), lane_(lane) {}
    /// Returns the observer.
    ObserverId observer() const noexcept { return query_->observer; }
    /// Returns the viewpoints of the observer; not empty for a kernel with a reach.
    std::span<const Vec3> positions() const noexcept { return query_->viewpoints; }
    /// Returns the entity.
    EntityId entity() const noexcept { return query_->entities.entity(block(), lane_); }
    /// Returns the position of the entity.
    Vec3 position() const noexcept { return query_->entities.position(block(), lane_); }
    /// Returns whether the entity has a flag.
    bool has(FlagId flag) const noexcept {
        return (query_->entities.with_flag(block(), flag) >> lane_ & 1U) != 0;
    }
    /// Returns a key of the entity; the key attribute must be declared.
    Key key(KeyId key) const noexcept { return query_->entities.keys(block(), key)[lane_]; }
    /// Returns a value of the entity; 0 if it has none.
    float value(ValueId value) const noexcept {
        return query_->entities.values(block(), value)[lane_];
    }
    /// Returns a key of the observer; the key attribute must be declared.
    Key observer_key(KeyId key) const noexcept { return query_->keys[index_of(key)]; }
    /// Returns the viewpoint entity of the observer, or none.
    EntityId main() const noexcept { return query_->viewpoint; }
    /// Returns whether the viewpoint entity has a flag; false if there is none, or if it is a group
    /// member. Its keys are observer_key, unless the observer has keys of its own.
    bool main_has(FlagId flag) const noexcept { return query_->entities.has_flag(main(), flag); }
    /// Returns a value of the viewpoint entity; 0 if there is none, or if it is a group member.
    float main_value(ValueId value) const noexcept { return query_->entities.value(main(), value); }
    /// Returns the result of the last tick, if the kernel remembers it; otherwise false.
    bool was() const noexcept {
        return at_ < query_->previous.size() && (query_->previous[at_] >> lane_ & 1U) != 0;
    }

  private:
    std::uint32_t block() const noexcept { return query_->blocks[at_]; }
    const BlockQuery* query_;
    std::size_t at_;
    unsigned lane_;
};

namespace detail {

template <class Predicate>
class PairKernel final : public CustomKernel {
    /// bool(Vec3 entity, Vec3 observer). It depends only on these positions, so it may also be
    /// evaluated for lanes without an entity; those results are ignored.
    static constexpr bool is_of_positions =
        std::is_nothrow_invocable_r_v<bool, const Predicate&, Vec3, Vec3>;
    template <class... Arguments>
    static constexpr bool gives_number() noexcept {
        if constexpr (!std::is_nothrow_invocable_v<const Predicate&, Arguments...>) {
            return false;
        } else {
            return std::is_floating_point_v<std::invoke_result_t<const Predicate&, Arguments...>>;
        }
    }
    static constexpr bool is_score = gives_number<const Pair&>();
    static_assert(
        is_of_positions || std::is_nothrow_invocable_r_v<bool, const Predicate&, const Pair&>,
        "a predicate is bool or float(const Pair&) noexcept, or bool(Vec3, Vec3) noexcept");
    static_assert(!gives_number<Vec3, Vec3>(), "a predicate of two positions returns bool");
    static constexpr float score_min = 1e-6F;

  public:
    PairKernel(KernelTraits traits, Predicate predicate)
        : CustomKernel(sound(std::move(traits))), predicate_(std::move(predicate)) {}
    void test(const BlockQuery& query, std::span<std::uint16_t> matches,
              std::span<std::uint16_t>) const noexcept override {
        for (std::size_t i = 0; i < query.blocks.size(); ++i) {
            const unsigned tested = query.lanes_of(i);
            unsigned yes = 0;
            if constexpr (is_of_positions) {
                yes = tested == 0 ? 0 : tested & lanes_near(query, query.blocks[i]);
            } else {
                for (unsigned rest = tested; rest != 0; rest &= rest - 1) {
                    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
                    yes |= matches_pair(query, i, lane) ? 1U << lane : 0U;
                }
            }
            matches[i] = static_cast<std::uint16_t>(matches[i] | yes);
        }
    }
    std::string describe(const BlockQuery& query, unsigned lane) const override {
        return traits().name + (matches_pair(query, 0, lane) ? " matches" : " does not match");
    }
    void score(const BlockQuery& query, std::span<float> out) const noexcept override {
        if constexpr (!is_score) {
            CustomKernel::score(query, out);
        } else {
            std::size_t at = 0;
            for (std::size_t i = 0; i < query.blocks.size(); ++i) {
                for (unsigned rest = query.lanes[i]; rest != 0; rest &= rest - 1) {
                    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
                    const auto result = static_cast<float>(predicate_(Pair(query, i, lane)));
                    out[at++] = result > score_min ? std::min(result, 1.0F) : score_min;
                }
            }
        }
    }

  private:
    static KernelTraits sound(KernelTraits traits) {
        traits.remembers = traits.remembers && !is_score;
        traits.returns_unknown = false;
        return traits;
    }
    bool matches_pair(const BlockQuery& query, std::size_t at, unsigned lane) const noexcept {
        if constexpr (is_of_positions) {
            const Vec3 position = query.entities.position(query.blocks[at], lane);
            bool yes = false;
            for (const Vec3& from : query.viewpoints) yes |= predicate_(position, from);
            return yes;
        } else if constexpr (is_score) {
            return predicate_(Pair(query, at, lane)) > 0;
        } else {
            return predicate_(Pair(query, at, lane));
        }
    }
    unsigned lanes_near(const BlockQuery& query, std::uint32_t block) const noexcept {
        static constexpr std::array<unsigned, EntityBlocks::lanes> bit_of_lane = [] {
            std::array<unsigned, EntityBlocks::lanes> bits{};
            for (unsigned lane = 0; lane < EntityBlocks::lanes; ++lane) bits[lane] = 1U << lane;
            return bits;
        }();
        const float* const x = query.entities.x(block);
        const float* const y = query.entities.y(block);
        const float* const z = query.entities.z(block);
        unsigned bits = 0;
        for (const Vec3 from : query.viewpoints) {
            // One loop with a table instead of sixteen statements, so that compilers vectorize it.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 1
#endif
            for (unsigned lane = 0; lane < EntityBlocks::lanes; ++lane) {
                const unsigned yes = predicate_(Vec3{x[lane], y[lane], z[lane]}, from);
                bits |= (0U - yes) & bit_of_lane[lane];
            }
        }
        return bits;
    }

    Predicate predicate_;
};

}  // namespace detail

/// Returns a kernel from a predicate of one observer and one entity. The predicate returns a bool
/// or a number. A number of 0 or less does not match; a number above 0 is the relevance score, at
/// most 1. KernelTraits::every_tick states when it is evaluated.
///
/// A predicate of a Pair is a few times as expensive as a kernel that tests 16 entities. A
/// predicate of two positions is evaluated for 16 entities at a time, which compilers vectorize
/// (./dev bench interest --scene scalar). It matches if it returns true for any viewpoint.
///
///     make_pair_kernel({.name = "even"},
///                      [](const Pair& p) noexcept { return index_of(p.entity()) % 2 == 0; })
///     make_pair_kernel({.name = "ahead"},
///                      [](Vec3 entity, Vec3 observer) noexcept { return entity.x > observer.x; })
///     make_pair_kernel({.name = "loud", .reach = 100},
///                      [](const Pair& p) noexcept { return 1 - p.position().x / 100; })
template <class Predicate>
std::shared_ptr<const CustomKernel> make_pair_kernel(KernelTraits traits, Predicate predicate) {
    return std::make_shared<detail::PairKernel<Predicate>>(std::move(traits), std::move(predicate));
}

/// A line of sight to test. Positions have the axes of the caller; the coordinate of an axis that
/// does not count (Rules::axes) is 0.
struct Ray {
    EntityId entity;  ///< the entity at `to`
    Vec3 from;        ///< a viewpoint of the observer
    Vec3 to;          ///< position of the entity, or where it will be (Kernel::predicts_sight)
};

/// Tests lines of sight, for example with your physics engine (in_sight()). Called on any thread of
/// the executor. The same rays in the same tick must have the same result.
class RayTest {
  public:
    virtual ~RayTest() = default;
    /// Sets visible[n] to 1 if nothing blocks rays[n]; 0 before. All rays of one call belong to one
    /// observer, in a fixed order.
    virtual void test(ObserverId observer, std::span<const Ray> rays,
                      std::span<std::uint8_t> visible) const noexcept = 0;
};

/// @}

}  // namespace purview
