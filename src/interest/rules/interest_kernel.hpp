// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The kernel interface inside the engine. Besides the public one (CustomKernel) it has rows, planes
// of memory, and what scans may skip. Built-in kernels implement it; custom kernels are adapted to
// it. A plane is one mask per block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "interest/entities/slots.hpp"
#include "purview/area.hpp"
#include "purview/extend/kernel.hpp"
#include "purview/rules.hpp"
#include "purview/types.hpp"
#include "spatial/lanes.hpp"

namespace purview {

/// Further data of the observer for a kernel. Valid during the call.
struct QueryContext {
    /// Positions of the main entity and of areas without a shape, in the axes of the manager's
    /// caller. With Axes::xz, kernels themselves see y and z exchanged.
    std::span<const Vec3> outer_positions;
    std::span<const Area> outer_areas;     ///< `areas` in those axes
    std::span<const Area> areas;           ///< areas with a shape, at their current positions
    std::span<const DomainKey> more_keys;  ///< besides `KernelQuery::keys`, each once
    EntityId main = EntityId::none;
    float range = 0;  ///< the observer's own, or 0
    float lookahead_s = 0;
    Vec3 velocity;  ///< the main entity's
    Tick tick = 0;
    /// The kernel is evaluated again in the same tick, for a score or an explanation, so kernel
    /// memory must not change.
    bool again = false;
    /// [n] cull groups that the observer owns, ascending by index.
    std::span<const EntityId> owned;
};

/// One observer and all the blocks of its window.
struct KernelQuery {
    ObserverId observer;
    std::span<const Vec3> positions;     ///< viewpoints of this kernel; empty: none
    std::span<const Key> keys;           ///< [key domains] keys of the observer
    std::span<const BlockIndex> blocks;  ///< [n]
    /// [n] this kernel's result of the last tick, if it has memory.
    std::span<const Mask> was;
    /// [n] or empty: only these lanes matter, all occupied; others may be skipped. Never empty for
    /// a kernel that takes them (uses_requested), always empty for any other kernel with memory.
    std::span<const Mask> requested;
    std::size_t inside;  ///< this many first blocks lie wholly within inside_m()
    const Slots& slots;
    const QueryContext& context;
    /// [planes() - 1][n] further memory of each pair, read and written.
    std::span<Mask> notes;
};

/// What a result depends on. It decides where the result can be stored: in one row for all that
/// share the key, or in every window. `entity`: only flags and keys of the entity.
enum class DependsOn : std::uint8_t { entity, key, pair };

/// The lowest score of a relevant entity.
inline constexpr float score_min = 1e-6F;

/// Called from any thread; a kernel must not change state. If a result changes for a reason that
/// the engine cannot see (not position, flag or key), call Visibility::recheck.
class InterestKernel : public KernelBase {
  public:
    /// Writes out[n] and unknown[n], zeroed by the caller. A bit of unknown overrides the bit of
    /// out: it adds nothing, but subtracts. Bits of empty lanes may be anything. A kernel with a
    /// reach is not called for an observer without a position. Entities without a position are
    /// unknown to it.
    virtual void test(const KernelQuery& query, std::span<Mask> out,
                      std::span<Mask> unknown) const noexcept = 0;
    /// Describes the numbers that lead to the result for one lane of the first block. Called right
    /// after `test` with the same query.
    virtual std::string describe(const KernelQuery& query, unsigned lane) const = 0;
    /// Returns whether the kernel never matches an empty lane.
    virtual bool skips_empty() const noexcept { return false; }
    /// False: it never writes `unknown`, which may then be empty.
    virtual bool answers_unknown() const noexcept { return true; }
    virtual DependsOn depends_on() const noexcept { return DependsOn::pair; }
    /// Returns whether the kernel needs its own previous result for each pair, as KernelQuery::was.
    bool remembers() const noexcept override { return false; }
    bool is_entity_only() const noexcept final { return depends_on() == DependsOn::entity; }
    /// Returns the number of masks that are kept for each block: its result, and further memory. 0:
    /// it has no memory.
    virtual unsigned planes() const noexcept { return remembers() ? 1 : 0; }
    /// Returns whether the kernel receives KernelQuery::requested although it has memory.
    virtual bool uses_requested() const noexcept { return false; }
    /// Returns whether the kernel must be evaluated in every tick for its whole window, even if
    /// nothing changed.
    virtual bool needs_every_tick() const noexcept { return false; }
    /// Writes the scores of the lanes in `requested` if they match: above 0, up to 1. score[lanes
    /// in `requested`]: block by block, each from lane 0 on, with room for lanes_per_block more at
    /// the end.
    virtual void score(const KernelQuery&, [[maybe_unused]] std::span<const Mask> requested,
                       std::span<float> score) const noexcept {
        for (float& one : score) one = 1;
    }
    /// Above 0: the score is 1 - distance / nearness_m(), at least score_min, by the nearest
    /// position of the observer. Meters. Only the scores of groups with a radius may differ. Then
    /// many observers are scored at once, without calling score().
    virtual float nearness_m() const noexcept { return 0; }
    /// Returns whether the kernel tests areas with a shape, not positions. The reach is then the
    /// distance beyond the areas.
    virtual bool looks_into_areas() const noexcept { return false; }
    /// Returns which positions of the observer the kernel receives.
    virtual Viewpoints looks_from() const noexcept { return Viewpoints::entity_and_points; }
    /// Maximum distance from an observer's position at which it may match; candidates are searched
    /// that far. 0: not spatial; as an `add` step it is evaluated for every entity of the node.
    virtual float reach() const noexcept { return 0; }
    /// Returns whether the result is unknown if the entity or the observer has no position.
    virtual bool needs_position() const noexcept { return reach() > 0; }
    /// Returns the distance from a position within which the kernel always matches. Negative: there
    /// is none.
    virtual float inside_m() const noexcept { return -1; }
    /// Returns whether the kernel receives KernelQuery::inside.
    virtual bool has_inside_test() const noexcept {
        return inside_m() > 0 && looks_from() == Viewpoints::entity_and_points;
    }
    /// Returns whether the result may change when the entity or the observer moves.
    virtual bool reads_positions() const noexcept { return true; }
    /// Radii around the observer's positions at which the result changes, if nothing else about
    /// positions matters. Empty: any move within reach matters.
    virtual std::vector<float> edges_m() const { return {}; }
    /// Returns the result for an entity alone (DependsOn::entity), or for an entity that shares the
    /// key.
    virtual bool test_entity(const Slots&, Slot) const noexcept { return false; }
    /// The key that a kernel with DependsOn::key depends on. Rules without such a key are refused.
    virtual KeyId domain() const noexcept { return KeyId::none; }

  private:
    const InterestKernel* library_kernel() const noexcept final { return this; }
};

}  // namespace purview
