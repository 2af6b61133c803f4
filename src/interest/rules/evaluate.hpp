// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the nodes of a program say about some blocks, for one observer. The one evaluation that
// every path uses: full scans, dirty blocks, observers that join, explain, what-if.
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

/// Places of an observer: [owned][main][areas].
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

/// A bit that changed with this scan, before rows and pairs have been looked at. The entity is
/// table.last_entity(slot).
struct Toggle {
    std::uint32_t observer;
    Slot slot;
    bool enter;
    /// A leave out of the window's cells, by an entity that is still there: a node whose leaves
    /// wait showed it, and is due in so many ticks. 0: it leaves at once.
    std::uint16_t wait_ticks = 0;
};

/// An entity that went where its window does not look; it is judged where the observer stands now.
struct Stray {
    Slot from;
    Slot to;
    std::uint32_t planes;
};

struct BucketScratch;

/// Lanes of some blocks, by the class of nodes that they are bound to.
struct ClassLanes {
    struct Entry {
        std::uint32_t position;  ///< of the block
        Mask lanes;
        std::uint32_t next;  ///< of the same class, ascending by position; or none
    };
    static constexpr std::uint32_t none = 0xffffffffU;
    std::vector<Entry> entries;
    std::vector<std::uint32_t> first, last;  ///< by class: into entries, or none
    std::vector<std::uint32_t> classes;      ///< that have entries, in no order
    // Of one class: its blocks.
    std::vector<std::uint32_t> positions;
    std::vector<BlockIndex> blocks;
    std::vector<Mask> lanes;
    std::vector<Mask> result;
};

/// Room to work in, one per worker.
struct ScanScratch {
    ScanScratch();
    ScanScratch(ScanScratch&&) noexcept;
    ScanScratch& operator=(ScanScratch&&) noexcept;
    ~ScanScratch();

    /// Before the first scan: lists of usual windows then never grow.
    void reserve_usual() {
        if (blocks.capacity() > 0) return;
        constexpr std::size_t blocks_usual = 128, rows_usual = 32;  // of a window
        for (auto* list : {&inside_loose, &outside_loose, &blocks, &left, &some, &mapped})
            list->reserve(blocks_usual);
        for (auto* list : {&masks, &before, &node_result, &answer, &unknown, &asked})
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
    std::vector<BlockIndex> left;  ///< blocks that somebody left
    std::vector<Mask> masks;       ///< [1 + planes][n]
    std::vector<Mask> before;      ///< [n] the answer of last tick, by this tick's slots
    std::vector<Mask> node_result;
    std::vector<Mask> answer;
    std::vector<Mask> unknown;
    std::vector<Mask> asked;
    std::vector<Mask> own_planes;         ///< [1 + planes] of one block
    std::vector<std::uint32_t> some;      ///< positions in the window of blocks to be looked at
    std::vector<std::uint32_t> position;  ///< by block: its position in `mapped` + 1, else 0
    FlatMap<std::uint32_t, std::uint8_t> pulled;
    std::unique_ptr<BucketScratch> bucket;  ///< null until inner nodes have steps
    ClassLanes class_lanes;
    std::vector<BlockIndex> mapped;  ///< the last large window's blocks: its neighbour's, too
    std::vector<Stray> strays;
    std::vector<Toggle> toggles;
    bool count_tested = false;
    std::uint64_t blocks_tested = 0;
    std::uint64_t lanes_tested = 0;
};

/// For a dispatcher whose inner nodes have steps.
struct BucketScratch {
    ScanScratch scan;
    std::vector<CellId> cover;               ///< ascending
    std::vector<CellId> cells;               ///< of one entity
    std::vector<std::vector<Mask>> results;  ///< [list of steps][blocks]; empty: not evaluated
    std::vector<std::vector<float>> scores;  ///< [list of steps][asked lanes]
};

/// What each step said about the first block, for whoever asks why.
struct StepTrace {
    const Step* step;
    Mask answer;
    Mask unknown;
    Mask so_far;  ///< the node's result behind the step
};

/// Who asks, and about what.
struct ScanInput {
    std::uint32_t observer_index = 0;
    ObserverId observer = ObserverId::none;
    ObserverPositions views = {};
    std::span<const Key> keys = {};
    QueryContext context = {};
    const BlockTable& table;
    const EntityFacts& facts;
    const Program& program;
    std::span<const NodeProgram> nodes = {};    ///< of the program, or its whole nodes one by one
    std::span<const NodeProgram> classes = {};  ///< of the program, or none
    bool any_cut = false;                       ///< somebody is hidden from windows
    bool skips_empty = false;                   ///< none of the nodes says yes of an empty lane
    const PairTable* pairs = nullptr;           ///< null: nobody is denied
    /// Candidates wherever they are: members of rows that a later step judges pair by pair.
    std::span<const Row* const> pulled = {};
    std::span<const float> range_classes = {};
    std::size_t bounds_layer = ~std::size_t{0};  ///< of groups that count by their bounds
    float bounds_max_m = 0;
    std::uint64_t rules_revision = 0;
    bool may_be_abstract = false;  ///< some block may belong to entities without a place
    std::vector<StepTrace>* trace = nullptr;
    bool is_forced = false;   ///< nobody waits in this tick
    bool is_what_if = false;  ///< nobody waits
    /// Lanes of units that begin in this tick, by block: no node lets them wait. Null: none.
    const FlatMap<BlockIndex, Mask>* new_lanes = nullptr;
    EntityId stands_for = EntityId::none;  ///< explain: whom the copy in the table stands for

    /// Do enters of the node count in this tick?
    bool is_due(const NodeProgram& node) const noexcept {
        return node.result_plane == no_plane || is_what_if || is_forced ||
               (context.tick + observer_index) % node.every_ticks == 0;
    }
    /// For how many ticks the nodes show an entity that has left the window: until the nodes are
    /// due whose leaves wait and whose last result is among these planes (bit 1 + plane), as nodes
    /// are combined. 0: it leaves now.
    std::uint16_t lazy_wait(std::uint32_t planes) const noexcept {
        constexpr Tick open = ~Tick{0};  // the node's answer does not depend on positions
        Tick wait = 0;
        for (const NodeProgram& node : nodes) {
            const bool waits = node.lazy_leave && !is_due(node);
            const bool is_held = waits && (planes >> (1 + node.result_plane) & 1U) != 0;
            const Tick every = node.every_ticks;  // at most 65,535
            const Tick its = is_held ? every - (context.tick + observer_index) % every
                             : waits || node.is_near ? 0
                                                     : open;
            switch (node.combine) {
                case Combine::add:
                    wait = std::max(wait, its == open ? 0 : its);
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

/// The nodes' answer about the blocks: masks [1 + planes][n] hold last tick's answer and memory,
/// and this tick's afterwards. The first `inside` blocks lie wholly inside of the program's
/// inside_kernel.
void evaluate(const ScanInput& input, std::span<const BlockIndex> blocks, std::size_t inside,
              std::span<Mask> masks, ScanScratch& scratch);

/// add: the larger; require: the smaller; subtract: nothing is left of what it says yes to.
float joined_score(Combine op, float so_far, float more) noexcept;

/// Room to work in for measure().
struct MeasureScratch {
    ScanScratch scan;
    std::vector<Mask> memory;
    std::vector<Mask> masks;           ///< [1 + planes][blocks]
    std::vector<Mask> yes;             ///< [blocks] of one step
    std::vector<float> one;            ///< of one step
    std::vector<float> node;           ///< of one node
    std::vector<std::uint32_t> begin;  ///< [blocks] number of the first asked lane
    ClassLanes class_lanes;
    std::unique_ptr<MeasureScratch> inner;  ///< null until inner nodes have steps
};

/// How relevant the lanes of `asked` are by one node, 0 for those that it says no to:
/// strength[asked lanes], block by block, and room for lanes_per_block more. `masks` as after
/// evaluate.
void measure(const ScanInput& input, const NodeProgram& node, std::span<const BlockIndex> blocks,
             std::span<const Mask> masks, std::span<const Mask> asked, std::span<float> score,
             MeasureScratch& scratch);

/// The same by all nodes of the input, of lanes of a window that they say yes to.
void measure_relevant(const ScanInput& input, const Window& window,
                      std::span<const BlockIndex> blocks, std::span<const Mask> asked,
                      std::span<float> score, MeasureScratch& scratch);

}  // namespace purview
