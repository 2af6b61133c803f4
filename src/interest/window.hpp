// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What one observer's nodes answered last tick: blocks, no block twice, a mask each, and the memory
// of every kernel that asked for one. Private to its observer, rewritten by `scan`, and by nobody
// else. Masks speak of this tick's slots: when an entity changed slot its bits are carried in every
// plane before anything is tested (docs/adr/0004-carry-before-compare.md).
#pragma once

#include <cstdint>
#include <vector>

#include "interest/program.hpp"
#include "interest/row_store.hpp"
#include "spatial/block_table.hpp"
#include "spatial/cover.hpp"

namespace purview {

struct Window {
    std::vector<BlockIndex> blocks;  ///< [n]
    std::vector<Mask> result;        ///< [n] the nodes' answer, hidden and denied lanes clear
    std::vector<std::vector<Mask>> planes;  ///< [planes][n]

    /// Position of a block, or n. A window has some 30 blocks.
    std::size_t find(BlockIndex block) const noexcept;
    bool contains(Slot slot) const noexcept {
        const std::size_t at = find(block_of(slot));
        return at < blocks.size() && (result[at] & lane_bit(lane_of(slot))) != 0;
    }
};

/// A bit that changed with this scan, before rows and pairs have been looked at.
struct Toggle {
    EntityId entity;
    bool enter;
};

/// Room to work in, one per worker.
struct ScanScratch {
    std::vector<CellRun> runs;
    std::vector<BlockIndex> blocks;
    std::vector<Mask> was;
    std::vector<std::vector<Mask>> planes;
    std::vector<Mask> result;
    std::vector<Mask> node_result;
    std::vector<Mask> answer;
    std::vector<Mask> unknown;
    std::vector<std::uint32_t> position;  ///< by block: position in the new list + 1, else 0
};

/// Who asks, and where the exceptional lanes are.
struct ScanInput {
    ObserverId observer;
    std::span<const Vec3> places;
    std::span<const Key> keys;
    const BlockTable& table;
    const Program& program;
    std::uint32_t force_hidden_column;
    /// Candidates wherever they are: members of rows that a later step judges pair by pair.
    std::span<const Row* const> pulled;
};

/// The nodes' answer about the blocks: was and planes in, result and planes out. The one evaluation
/// that every path uses.
void evaluate(const ScanInput& input, std::span<const BlockIndex> blocks,
              std::vector<std::vector<Mask>>& planes, ScanScratch& scratch,
              std::vector<Mask>& result);

/// Finds the window's blocks anew, carries its memory to them, evaluates, and appends what changed.
/// `resolve(block, mask)` clears the lanes of denied pairs and returns the rest.
template <class Resolve>
void scan(const ScanInput& input, Window& window, ScanScratch& scratch,
          std::vector<Toggle>& toggles, Resolve&& resolve);

// -- implementation of scan ---------------------------------------------------------------------

/// Steps of scan that do not depend on the caller.
void find_blocks(const ScanInput& input, ScanScratch& scratch);
void carry(const ScanInput& input, const Window& window, ScanScratch& scratch,
           std::vector<Toggle>& toggles);
void compare(const ScanInput& input, const ScanScratch& scratch, std::vector<Toggle>& toggles);

template <class Resolve>
void scan(const ScanInput& input, Window& window, ScanScratch& scratch,
          std::vector<Toggle>& toggles, Resolve&& resolve) {
    find_blocks(input, scratch);
    carry(input, window, scratch, toggles);
    evaluate(input, scratch.blocks, scratch.planes, scratch, scratch.result);
    for (std::size_t i = 0; i < scratch.blocks.size(); ++i) {
        if (scratch.result[i] != 0)
            scratch.result[i] = resolve(scratch.blocks[i], scratch.result[i]);
    }
    compare(input, scratch, toggles);
    window.blocks.swap(scratch.blocks);
    window.result.swap(scratch.result);
    window.planes.swap(scratch.planes);
}

}  // namespace purview
