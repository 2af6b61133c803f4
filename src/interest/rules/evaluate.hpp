// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Evaluates the nodes of a program for some blocks and one observer. Every path uses this one
// evaluation: full scans, dirty blocks, observers that join, explain, what-if.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "interest/entities/entity_facts.hpp"
#include "interest/relations/pair_table.hpp"
#include "interest/relations/row_store.hpp"
#include "interest/rules/program.hpp"
#include "interest/windows/window.hpp"
#include "interest/windows/window_arena.hpp"
#include "spatial/block_table.hpp"
#include "spatial/cover.hpp"

namespace purview {

/// Positions of an observer: [owned][main][areas].
struct ObserverPositions {
    std::span<const Vec3> all;
    std::size_t owned = 0;
    std::size_t main = 0;  ///< 0 or 1

    std::span<const Vec3> of(Viewpoints from) const noexcept {
        switch (from) {
            case Viewpoints::entity_and_points:
                return all.subspan(owned);
            case Viewpoints::entity:
                return all.subspan(owned, main);
            case Viewpoints::points:
                return all.subspan(owned + main);
            case Viewpoints::owned:
                return all.first(owned + main);
        }
        return {};
    }
};

/// A bit that changed in this scan, before rows and pairs are applied. The entity is
/// table.last_entity(slot).
struct Toggle {
    std::uint32_t observer;
    Slot slot;
    bool enter;
    /// For an entity that left the window's cells and still exists: a node with waiting leaves
    /// showed it, and is due in this many ticks. 0: it leaves at once.
    std::uint16_t wait_ticks = 0;
};

/// An entity that moved out of the window's blocks. It is evaluated again after the window was
/// rebuilt at the observer's current position.
struct Stray {
    Slot from;
    Slot to;
    std::uint32_t planes;
};

struct BucketScratch;

/// Lanes of some blocks, by the class of nodes that they are bound to.
struct ClassLanes {
    struct Entry {
        std::uint32_t position;  ///< index of the block
        Mask lanes;
        std::uint32_t next;  ///< next one for the same class, ascending by position
    };
    static constexpr std::uint32_t none = 0xffffffffU;
    std::vector<Entry> entries;
    std::vector<std::uint32_t> first, last;  ///< by class: into entries, or none
    std::vector<std::uint32_t> classes;      ///< that have entries, in no order
    // The blocks of one class.
    std::vector<std::uint32_t> positions;
    std::vector<BlockIndex> blocks;
    std::vector<Mask> lanes;
    std::vector<Mask> result;
};

/// Scratch memory, one per worker.
struct ScanScratch {
    ScanScratch();
    ScanScratch(ScanScratch&&) noexcept;
    ScanScratch& operator=(ScanScratch&&) noexcept;
    ~ScanScratch();

    /// Call it before the first scan. The lists then do not grow for windows of usual size.
    void reserve_usual() {
        if (blocks.capacity() > 0) return;
        constexpr std::size_t blocks_usual = 128, rows_usual = 32;  // for one window
        for (auto* list : {&inside_loose, &outside_loose, &blocks, &left, &some, &mapped})
            list->reserve(blocks_usual);
        for (auto* list : {&masks, &before, &node_result, &answer, &unknown, &requested})
            list->reserve(blocks_usual);
        reaches.reserve(rows_usual);
        spans.reserve(rows_usual);
        runs.reserve(rows_usual);
        strays.reserve(rows_usual);
    }

    WindowArena arena;
    std::vector<Reach> reaches;
    std::vector<RowSpan> spans;
    std::vector<CellRun> runs;
    std::vector<BlockIndex> inside_loose;
    std::vector<BlockIndex> outside_loose;
    std::vector<BlockIndex> blocks;
    std::vector<BlockIndex> left;  ///< blocks with vacated lanes
    std::vector<Mask> masks;       ///< [1 + planes][n]
    std::vector<Mask> before;      ///< [n] result of the last tick, by this tick's slots
    std::vector<Mask> node_result;
    std::vector<Mask> answer;
    std::vector<Mask> unknown;
    std::vector<Mask> requested;
    std::vector<Mask> own_planes;         ///< [1 + planes] of one block
    std::vector<std::uint32_t> some;      ///< window positions of the blocks to evaluate
    std::vector<std::uint32_t> position;  ///< by block: its position in `mapped` + 1, else 0
    FlatMap<std::uint32_t, std::uint8_t> pulled;
    std::unique_ptr<BucketScratch> bucket;  ///< null until inner nodes have steps
    ClassLanes class_lanes;
    std::vector<BlockIndex> mapped;  ///< of the last large window; the next often has the same
    std::vector<Stray> strays;
    std::vector<Toggle> toggles;
    bool count_tested = false;
    std::uint64_t blocks_tested = 0;
    std::uint64_t lanes_tested = 0;
};

/// For a dispatcher that has steps in its inner nodes.
struct BucketScratch {
    ScanScratch scan;
    std::vector<CellId> cover;               ///< ascending
    std::vector<CellId> cells;               ///< inner nodes of one entity
    std::vector<std::vector<Mask>> results;  ///< [list of steps][blocks]; empty: not evaluated
    std::vector<std::vector<float>> scores;  ///< [list of steps][lanes]
};

/// The result of each step for the first block, for explanations.
struct StepTrace {
    const Step* step;
    Mask answer;
    Mask unknown;
    Mask so_far;  ///< the node's result after the step
};

/// The observer, and the nodes that are evaluated for it.
struct ScanInput {
    std::uint32_t observer_index = 0;
    ObserverId observer = ObserverId::none;
    ObserverPositions views = {};
    std::span<const Key> keys = {};
    QueryContext context = {};
    const BlockTable& table;
    const EntityFacts& facts;
    const Program& program;
    std::span<const NodeProgram> nodes = {};    ///< the program's, or its whole nodes one by one
    std::span<const NodeProgram> classes = {};  ///< the program's, or none
    bool any_cut = false;                       ///< some entity is hidden from windows
    bool skips_empty = false;                   ///< no node matches an empty lane
    const PairTable* pairs = nullptr;           ///< null: no pair is denied
    /// Candidates regardless of position: members of rows that a later step evaluates pair by pair.
    std::span<const Row* const> pulled = {};
    std::span<const float> range_classes = {};
    std::size_t bounds_layer = ~std::size_t{0};  ///< layer of groups with a radius
    float bounds_max_m = 0;
    std::uint64_t rules_revision = 0;
    bool may_be_abstract = false;  ///< some block may have entities without a position
    std::vector<StepTrace>* trace = nullptr;
    bool is_forced = false;   ///< no enter waits in this tick
    bool is_what_if = false;  ///< no enter waits
    /// Lanes of cull groups that appear in this tick, by block: no node lets them wait. Null: none.
    const FlatMap<BlockIndex, Mask>* new_lanes = nullptr;
    EntityId stands_for = EntityId::none;  ///< for explain: the entity that the copy stands for

    /// Returns whether entities may enter by the node in this tick.
    bool is_due(const NodeProgram& node) const noexcept {
        return node.result_plane == no_plane || is_what_if || is_forced ||
               (context.tick + observer_index) % node.every_ticks == 0;
    }
    /// Returns for how many ticks the nodes keep an entity that has left the window; 0: it leaves
    /// now. A node keeps it until the node is due, if its leaves wait and its last result is among
    /// these planes (bit 1 + plane). The ticks of several nodes are combined as the nodes are.
    std::uint16_t lazy_wait(std::uint32_t planes) const noexcept {
        constexpr Tick unlimited = ~Tick{0};  // the node's result does not depend on positions
        Tick wait = 0;
        for (const NodeProgram& node : nodes) {
            const bool waits = node.lazy_leave && !is_due(node);
            const bool is_held = waits && (planes >> (1 + node.result_plane) & 1U) != 0;
            const Tick every = node.every_ticks;  // at most 65,535
            const Tick its = is_held ? every - (context.tick + observer_index) % every
                             : waits || node.is_near ? 0
                                                     : unlimited;
            switch (node.combine) {
                case Combine::add:
                    wait = std::max(wait, its == unlimited ? 0 : its);
                    break;
                case Combine::require:
                    wait = std::min(wait, its);
                    break;
                case Combine::subtract:
                    if (is_held) wait = 0;
                    break;
            }
        }
        return static_cast<std::uint16_t>(wait);
    }
    Mask new_lanes_of(BlockIndex block) const noexcept {
        const Mask* lanes = new_lanes == nullptr ? nullptr : new_lanes->find(block);
        return lanes == nullptr ? Mask{0} : *lanes;
    }
    bool is_any_due() const noexcept {
        for (const NodeProgram& node : nodes) {
            if (is_due(node)) return true;
        }
        return false;
    }
    bool pulls() const noexcept { return !pulled.empty() || program.pulls_owned; }
};

/// Evaluates the nodes for the blocks. masks [1 + planes][n] holds the last tick's result and
/// memory, and this tick's afterwards. The first `inside` blocks lie wholly inside the program's
/// inside_kernel.
void evaluate(const ScanInput& input, std::span<const BlockIndex> blocks, std::size_t inside,
              std::span<Mask> masks, ScanScratch& scratch);

/// Combines two scores. add: the larger; require: the smaller; subtract: 0 if `more` is above 0,
/// else `so_far`.
float joined_score(Combine op, float so_far, float more) noexcept;

/// Scratch memory of measure().
struct MeasureScratch {
    ScanScratch scan;
    std::vector<Mask> memory;
    std::vector<Mask> masks;           ///< [1 + planes][blocks]
    std::vector<Mask> yes;             ///< [blocks] result of one step
    std::vector<float> one;            ///< scores of one step
    std::vector<float> node;           ///< scores of one node
    std::vector<std::uint32_t> begin;  ///< [blocks] index of the first score
    ClassLanes class_lanes;
    std::unique_ptr<MeasureScratch> inner;  ///< null until inner nodes have steps
};

/// Writes the score of each lane in `requested` by one node: 0 if the node does not match.
/// score[lanes in `requested`], block by block, with room for lanes_per_block more. `masks` as
/// after evaluate().
void measure(const ScanInput& input, const NodeProgram& node, std::span<const BlockIndex> blocks,
             std::span<const Mask> masks, std::span<const Mask> requested, std::span<float> score,
             MeasureScratch& scratch);

/// Like measure(), by all nodes of the input, for lanes that are relevant in a window.
void measure_relevant(const ScanInput& input, const Window& window,
                      std::span<const BlockIndex> blocks, std::span<const Mask> requested,
                      std::span<float> score, MeasureScratch& scratch);

}  // namespace purview
