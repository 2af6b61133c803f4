// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Kernels of your own. A kernel answers one question about sixteen entities at a time: which of the
// lanes of these blocks apply? It is asked once per observer and tick, not once per block. True
// means "apply", whatever the step does with it (N18). Who wants to say it of one pair at a time
// writes a pair kernel, at the end of this header.
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
#include <vector>

#include "purview/area.hpp"
#include "purview/rules.hpp"
#include "purview/types.hpp"

namespace purview {

using Mask = std::uint16_t;  ///< bit i speaks of lane i of a block
using BlockIndex = std::uint32_t;
using Slot = std::uint32_t;  ///< block * 16 + lane; of one tick only, never keep one

inline constexpr unsigned lanes_per_block = 16;
inline constexpr Mask all_lanes = 0xffff;
inline constexpr Slot no_slot = 0xffffffffU;

constexpr BlockIndex block_of(Slot slot) noexcept {
    return slot / lanes_per_block;
}
constexpr unsigned lane_of(Slot slot) noexcept {
    return slot % lanes_per_block;
}
constexpr Slot slot_at(BlockIndex block, unsigned lane) noexcept {
    return block * lanes_per_block + lane;
}
constexpr Mask lane_bit(unsigned lane) noexcept {
    return static_cast<Mask>(1U << lane);
}

/// A group that somebody belongs to beside the one of the key column.
struct DomainKey {
    KeyId domain = KeyId::none;
    Key key = Key::none;
    std::uint32_t count = 0;  ///< how often it was added
};

class BlockTable;    // src/spatial
struct EntityFacts;  // src/interest

/// What is known of entities, by slot. Reads only; valid for the length of the call.
class Slots {
  public:
    Slots(const BlockTable& table, const EntityFacts& facts,
          EntityId all = EntityId::none) noexcept;

    /// 2 or 3 coordinates.
    unsigned axes() const noexcept { return axes_; }
    /// [blocks * axes * 16]: of each block 16 x, then 16 y, then 16 z; an empty lane has x =
    /// +infinity.
    const float* coordinates() const noexcept { return coordinates_; }
    /// [blocks] lanes with an entity.
    std::span<const Mask> occupied() const noexcept { return occupied_; }
    /// [blocks] lanes with the flag, or empty: nobody has it.
    std::span<const Mask> flags(FlagId flag) const noexcept;
    /// [blocks * 16] keys by slot.
    std::span<const Key> keys(KeyId domain) const noexcept;
    /// [blocks] lanes with further keys, or empty: nobody has any.
    std::span<const Mask> lanes_with_more_keys() const noexcept;
    /// Further keys of an occupied lane.
    std::span<const DomainKey> more_keys(Slot slot) const noexcept;
    /// [blocks * 16] by slot, or empty: all are 0.
    std::span<const float> values(ValueId value) const noexcept;
    /// [blocks * 16] own ranges by slot, 0 where there is none; or empty: nobody has one.
    std::span<const float> ranges() const noexcept;
    /// [blocks] lanes whose group counts by its bounds, or empty: none does.
    std::span<const Mask> lanes_with_bounds() const noexcept;
    /// Of the group, or 0: how much nearer than its place it counts.
    float bounds(Slot slot) const noexcept;
    std::uint32_t flag_count() const noexcept;
    std::uint32_t key_count() const noexcept;
    bool flag(FlagId flag, Slot slot) const noexcept;
    Vec3 position(Slot slot) const noexcept {
        const float* at =
            coordinates_ + std::size_t{block_of(slot)} * axes_ * lanes_per_block + lane_of(slot);
        return {at[0], at[lanes_per_block], axes_ == 3 ? at[2 * lanes_per_block] : 0};
    }
    /// Its entities have no place.
    bool is_abstract(BlockIndex block) const noexcept;
    /// Of an occupied lane; also between two ticks, when is_abstract is still that of the last one.
    bool has_position(Slot slot) const noexcept;
    /// Of an occupied lane.
    EntityId entity(Slot slot) const noexcept;
    /// Starts to bring near what place() and entities() look at.
    void prefetch(BlockIndex block) const noexcept;
    /// Of many occupied lanes: faster than one by one. out[slots.size()].
    void entities(std::span<const Slot> slots, std::span<EntityId> out) const noexcept;
    /// Where an entity is, or no_slot.
    Slot slot_of(EntityId entity) const noexcept;
    /// See set_velocity.
    Vec3 velocity(EntityId entity) const noexcept;
    /// The caller's y is this world's third axis.
    bool is_y_up() const noexcept { return is_y_up_; }
    /// A place as the caller of the manager knows it.
    Vec3 outer(Vec3 position) const noexcept {
        return is_y_up_ ? Vec3{position.x, position.z, position.y} : position;
    }

  private:
    const BlockTable* table_;
    const EntityFacts* facts_;
    const float* coordinates_;
    std::span<const Mask> occupied_;
    unsigned axes_;
    bool is_y_up_;
    EntityId all_;  ///< explain judges a copy: the entity that it stands for
};

/// What else a kernel may read of the observer. Valid during the call.
struct QueryContext {
    /// Main entity and areas without a shape, as the caller of the manager knows them: with
    /// Axes::xz, kernels themselves see y and z exchanged.
    std::span<const Vec3> outer_positions;
    std::span<const Area> areas;           ///< those with a shape, where they are now
    std::span<const DomainKey> more_keys;  ///< beside `KernelQuery::keys`, one of each
    EntityId main = EntityId::none;
    float range = 0;  ///< the observer's own, or 0
    float lookahead_s = 0;
    Vec3 velocity;  ///< of the main entity
    Tick tick = 0;
    /// Evaluated once more in the same tick, for an explanation: remembered results stay.
    bool again = false;
    /// [n] what the observer owns: cull groups, ascending by index.
    std::span<const EntityId> owned;
};

/// One observer and all the blocks of its window.
struct KernelQuery {
    ObserverId observer;
    std::span<const Vec3> positions;     ///< where this kernel looks from; empty: nowhere
    std::span<const Key> keys;           ///< [key domains] the groups it belongs to
    std::span<const BlockIndex> blocks;  ///< [n]
    /// [n] this kernel's answer of last tick, if it remembers.
    std::span<const Mask> was;
    /// [n] or empty: only these lanes matter, all occupied, all others may be left out. Never empty
    /// for a kernel that takes them (takes_asked), always for any other that remembers.
    std::span<const Mask> asked;
    std::size_t inside;  ///< the first so many blocks lie wholly within this kernel's inside_m()
    const Slots& slots;
    const QueryContext& context;
    /// [planes() - 1][n] what else it keeps of each pair, to be read and written.
    std::span<Mask> notes;
};

/// What an answer depends on decides where it may live: in one row for all who share the key, or in
/// every window. `entity`: on flags and keys of the entity alone.
enum class DependsOn : std::uint8_t { entity, key, pair };

/// Of whoever is relevant at all.
inline constexpr float score_min = 1e-6F;

/// Any thread may ask; a kernel changes nothing. When an answer changes for a reason that the
/// engine cannot see (neither position, flag nor key), call Visibility::recheck.
class InterestKernel {
  public:
    virtual ~InterestKernel() = default;
    /// out[n] and unknown[n], zeroed by the caller; a bit of unknown overrules the bit of out: it
    /// adds nothing and subtracts. Bits of empty lanes may be anything. A kernel with a reach is
    /// not asked about an observer that is nowhere, nor about entities without a place: these are
    /// unknown to it (N54).
    virtual void test(const KernelQuery& query, std::span<Mask> out,
                      std::span<Mask> unknown) const noexcept = 0;
    /// The numbers behind the answer for one lane of the first block, in words. Called right after
    /// `test` with the same query.
    virtual std::string describe(const KernelQuery& query, unsigned lane) const = 0;
    /// It never says yes of an empty lane.
    virtual bool skips_empty() const noexcept { return false; }
    /// False: it leaves `unknown` alone (and may be given none).
    virtual bool answers_unknown() const noexcept { return true; }
    virtual DependsOn depends_on() const noexcept { return DependsOn::pair; }
    /// It wants its own previous answer, per pair. Given back as KernelQuery::was.
    virtual bool remembers() const noexcept { return false; }
    /// Masks that are kept for each block: its answer, and notes of its own; 0: it does not
    /// remember.
    virtual unsigned planes() const noexcept { return remembers() ? 1 : 0; }
    /// It remembers, and is asked about the lanes that matter all the same.
    virtual bool takes_asked() const noexcept { return false; }
    /// It must be asked in every tick about all of its window, whatever changed.
    virtual bool needs_every_tick() const noexcept { return false; }
    /// How relevant, 0 exclusive to 1, are those lanes of each block that are asked about, if it
    /// says yes of them (N51). strength[asked lanes]: block by block, of each from lane 0 on; there
    /// is room for lanes_per_block more behind them.
    virtual void score(const KernelQuery&, [[maybe_unused]] std::span<const Mask> asked,
                       std::span<float> score) const noexcept {
        for (float& one : score) one = 1;
    }
    /// Above 0: what strength() says is 1 - distance / nearness_m(), but at least score_min,
    /// to the nearest of its places; only of groups that count by their bounds it may say anything.
    /// Metres. Many observers are then measured at once, and strength() is not called.
    virtual float nearness_m() const noexcept { return 0; }
    /// It asks about areas with a shape, not about places; reach is then how far beyond them.
    virtual bool looks_into_areas() const noexcept { return false; }
    /// Of the observer's places, the ones that it is given.
    virtual Viewpoints looks_from() const noexcept { return Viewpoints::entity_and_points; }
    /// How far from a place of the observer it may say yes; candidates are looked for that far. 0:
    /// not spatial; as an `add` step it is asked about every entity of the node.
    virtual float reach() const noexcept { return 0; }
    /// It is unknown to it who has no place, and everybody is to an observer that is nowhere.
    virtual bool needs_position() const noexcept { return reach() > 0; }
    /// Up to here from a place it always says yes. Negative: nowhere.
    virtual float inside_m() const noexcept { return -1; }
    /// It may be told KernelQuery::inside.
    virtual bool tells_inside() const noexcept {
        return inside_m() > 0 && looks_from() == Viewpoints::entity_and_points;
    }
    /// The answer may change when the entity or the observer moves.
    virtual bool reads_positions() const noexcept { return true; }
    /// Radii around the observer's places at which the answer changes, when nothing else of a place
    /// matters; empty: any move within reach matters.
    virtual std::vector<float> edges_m() const { return {}; }
    /// The answer for an entity alone (DependsOn::entity), or for one that shares the key.
    virtual bool test_entity(const Slots&, Slot) const noexcept { return false; }
    /// Of one that depends on a key (DependsOn::key): which; rules that have no such key are
    /// refused.
    virtual KeyId domain() const noexcept { return KeyId::none; }
};

/// One observer and one entity, for a pair kernel.
class Pair {
  public:
    Pair(const KernelQuery& query, Slot slot, Vec3 position, bool was) noexcept
        : query_(&query), slot_(slot), position_(position), was_(was) {}
    ObserverId observer() const noexcept { return query_->observer; }
    /// Places of the observer; not empty for a kernel with a reach.
    std::span<const Vec3> positions() const noexcept { return query_->context.outer_positions; }
    EntityId entity() const noexcept { return query_->slots.entity(slot_); }
    /// Of the entity.
    Vec3 position() const noexcept { return position_; }
    bool has(FlagId flag) const noexcept { return query_->slots.flag(flag, slot_); }
    Key key(KeyId domain) const noexcept { return query_->slots.keys(domain)[slot_]; }
    /// Of the entity; 0 where it has none.
    float value(ValueId value) const noexcept { return number_at(value, slot_); }
    Key observer_key(KeyId domain) const noexcept { return query_->keys[index_of(domain)]; }
    /// The main entity of the observer, or none.
    EntityId main() const noexcept { return query_->context.main; }
    /// A flag and a value of the main entity; false and 0 where there is none, or where it is a
    /// member of a group. Its keys are observer_key, unless the observer has keys of its own.
    bool main_has(FlagId flag) const noexcept {
        const Slot slot = query_->slots.slot_of(main());
        return slot != no_slot && query_->slots.flag(flag, slot);
    }
    float main_value(ValueId value) const noexcept {
        return number_at(value, query_->slots.slot_of(main()));
    }
    /// The answer of last tick, if the kernel remembers.
    bool was() const noexcept { return was_; }

  private:
    float number_at(ValueId value, Slot slot) const noexcept {
        const std::span<const float> all = query_->slots.values(value);
        return slot == no_slot || all.empty() ? 0 : all[slot];
    }

    const KernelQuery* query_;
    Slot slot_;
    Vec3 position_;
    bool was_;
};

/// What a pair kernel needs to be told.
struct PairKernelDef {
    std::string name = "predicate";  ///< for explanations
    float reach = 0;                 ///< see InterestKernel
    bool remembers = false;          ///< not of one that gives a number
    bool reads_positions = true;
    /// Evaluated every tick for every candidate. Without it a pair is evaluated when its entity or
    /// observer moves, when a flag, key or value of the entity changes, and after recheck. So a
    /// predicate that reads data of the game needs this, or a call of recheck when that data
    /// changes.
    bool every_tick = false;
};

namespace detail {

template <class Predicate>
class PairKernel final : public InterestKernel {
    /// bool(Vec3 entity, Vec3 observer): there is nothing else it could ask, so it may be asked of
    /// lanes without an entity, too, whose answers count for nothing.
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
    static_assert(!gives_number<Vec3, Vec3>(), "a number is given of a Pair, not of two places");

  public:
    PairKernel(PairKernelDef def, Predicate predicate)
        : def_(std::move(def)), predicate_(std::move(predicate)) {}
    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        const std::span<const Mask> occupied = q.slots.occupied();
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            const BlockIndex block = q.blocks[i];
            const unsigned asked = occupied[block] & (q.asked.empty() ? all_lanes : q.asked[i]);
            const Mask was = i < q.was.size() ? q.was[i] : Mask{0};
            unsigned yes = 0;
            if constexpr (is_of_positions) {
                yes = asked == 0 ? 0 : asked & lanes_of(q, block);
            } else {
                for (unsigned rest = asked; rest != 0; rest &= rest - 1) {
                    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
                    yes |= says(q, slot_at(block, lane), was) ? 1U << lane : 0U;
                }
            }
            out[i] = static_cast<Mask>(out[i] | yes);
        }
    }
    std::string describe(const KernelQuery& q, unsigned lane) const override {
        const Mask was = q.was.empty() ? Mask{0} : q.was[0];
        return def_.name + (says(q, slot_at(q.blocks[0], lane), was) ? " says yes" : " says no");
    }
    void score(const KernelQuery& q, std::span<const Mask> asked,
               std::span<float> out) const noexcept override {
        if constexpr (!is_score) {
            InterestKernel::score(q, asked, out);
        } else {
            std::size_t at = 0;
            for (std::size_t i = 0; i < q.blocks.size(); ++i) {
                for (unsigned rest = asked[i]; rest != 0; rest &= rest - 1) {
                    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
                    const auto its =
                        static_cast<float>(predicate_(pair(q, slot_at(q.blocks[i], lane), {})));
                    out[at++] = its > score_min ? std::min(its, 1.0F) : score_min;
                }
            }
        }
    }
    bool answers_unknown() const noexcept override { return false; }
    bool remembers() const noexcept override { return !is_score && def_.remembers; }
    float reach() const noexcept override { return def_.reach; }
    bool reads_positions() const noexcept override { return def_.reads_positions; }
    bool needs_every_tick() const noexcept override { return def_.every_tick; }

  private:
    Pair pair(const KernelQuery& q, Slot slot, Mask was) const noexcept {
        const Vec3 position = q.slots.outer(q.slots.position(slot));
        return Pair(q, slot, position, (was & lane_bit(lane_of(slot))) != 0);
    }
    bool says(const KernelQuery& q, Slot slot, Mask was) const noexcept {
        if constexpr (is_of_positions) {
            const Vec3 position = q.slots.outer(q.slots.position(slot));
            bool yes = false;
            for (const Vec3& from : q.context.outer_positions) yes |= predicate_(position, from);
            return yes;
        } else if constexpr (is_score) {
            return predicate_(pair(q, slot, was)) > 0;
        } else {
            return predicate_(pair(q, slot, was));
        }
    }
    unsigned lanes_of(const KernelQuery& q, BlockIndex block) const noexcept {
        static constexpr std::array<float, lanes_per_block> zeros{};
        static constexpr std::array<unsigned, lanes_per_block> bit_of_lane = [] {
            std::array<unsigned, lanes_per_block> bits{};
            for (unsigned lane = 0; lane < lanes_per_block; ++lane) bits[lane] = lane_bit(lane);
            return bits;
        }();
        const unsigned axes = q.slots.axes();
        const float* const x = q.slots.coordinates() + std::size_t{block} * axes * lanes_per_block;
        const float* y = x + lanes_per_block;
        const float* z = axes == 3 ? y + lanes_per_block : zeros.data();
        if (q.slots.is_y_up()) std::swap(y, z);
        unsigned bits = 0;
        for (const Vec3 from : q.context.outer_positions) {
            // One loop with a table, not sixteen statements: it becomes vectors.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 1
#endif
            for (unsigned lane = 0; lane < lanes_per_block; ++lane) {
                const unsigned yes = predicate_(Vec3{x[lane], y[lane], z[lane]}, from);
                bits |= (0U - yes) & bit_of_lane[lane];
            }
        }
        return bits;
    }

    PairKernelDef def_;
    Predicate predicate_;
};

}  // namespace detail

/// Returns a kernel from a predicate for one pair of an observer and an entity. The predicate
/// returns a bool, or a number: 0 or less means no, up to 1 is the relevance score. When it is
/// evaluated: PairKernelDef::every_tick. A predicate of one Pair is a few times as expensive as a
/// kernel that tests sixteen entities; one of two positions is evaluated sixteen at a time, which
/// compilers vectorize (./dev bench interest --scene scalar). make_pair_kernel({.name = "even"},
///                  [](const Pair& p) noexcept { return index_of(p.entity()) % 2 == 0; })
/// make_pair_kernel({.name = "ahead"},
///                  [](Vec3 entity, Vec3 observer) noexcept { return entity.x > observer.x; })
/// make_pair_kernel({.name = "loud", .reach = 100},
///                  [](const Pair& p) noexcept { return 1 - p.position().x / 100; })  // a float
/// The second matches where it does so from any position of the observer.
template <class Predicate>
std::shared_ptr<const InterestKernel> make_pair_kernel(PairKernelDef def, Predicate predicate) {
    return std::make_shared<detail::PairKernel<Predicate>>(std::move(def), std::move(predicate));
}

}  // namespace purview
