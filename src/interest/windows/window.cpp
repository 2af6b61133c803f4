// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/windows/window.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "core/trim.hpp"
#include "purview/status.hpp"

namespace purview {

void Window::assign(const Parts& parts, WindowArena& arena) {
    const std::size_t n = parts.blocks.size();
    PURVIEW_ASSERT(n == 0 ? parts.masks.empty() : parts.masks.size() % n == 0);
    cells_hash_ = parts.cells_hash;
    cells_ = static_cast<std::uint32_t>(parts.cells.size());
    blocks_ = static_cast<std::uint32_t>(parts.blocks.size());
    inside_loose_ = static_cast<std::uint32_t>(parts.inside_loose);
    outside_loose_ = static_cast<std::uint32_t>(parts.outside_loose);
    masks_ = static_cast<std::uint32_t>(parts.masks.size());
    has_pulled_ = parts.has_pulled;
    inside_bases_ = 0;
    for (const CellRun& run : parts.cells) inside_bases_ += run.inside_count;
    PURVIEW_ASSERT(inside_count() + outside_loose_ <= n);
    if (!is_made() || bytes() > capacity_) {
        capacity_ = static_cast<std::uint32_t>(piece_bytes());
        piece_ = arena.take(capacity_);
    }
    const auto put = [&](std::size_t offset, const auto& list) {
        if (!list.empty()) std::memcpy(piece_.data + offset, list.data(), list.size_bytes());
        return offset + list.size_bytes();
    };
    std::size_t at = put(0, parts.cells);
    at = put(at, parts.blocks);
    put(at, parts.masks);
}

void Window::repack(WindowArena& arena) {
    if (!is_made()) return;
    const std::byte* old = data();
    capacity_ = static_cast<std::uint32_t>(piece_bytes());
    piece_ = arena.take(capacity_);
    std::memcpy(piece_.data, old, bytes());
}

void Window::replace_planes(std::span<const std::uint32_t> from, std::vector<Mask>& out,
                            WindowArena& arena) {
    if (!is_made()) return;
    const std::size_t n = size();
    const auto old = std::as_const(*this).masks();
    out.assign((1 + from.size()) * n, 0);
    std::copy_n(old.begin(), n, out.begin());
    for (std::size_t p = 0; p < from.size(); ++p) {
        if (from[p] == 0xffffffffU) continue;
        PURVIEW_ASSERT((2 + std::size_t{from[p]}) * n <= old.size());
        std::copy_n(old.begin() + static_cast<std::ptrdiff_t>((1 + from[p]) * n), n,
                    out.begin() + static_cast<std::ptrdiff_t>((1 + p) * n));
    }
    const std::vector<CellRun> cells_then(cells().begin(), cells().end());
    const std::vector<BlockIndex> blocks_then(blocks().begin(), blocks().end());
    assign({0, cells_then, blocks_then, inside_loose_, outside_loose_, out, has_pulled_}, arena);
}

void list_blocks(std::span<const CellRun> cells, std::span<const BlockIndex> inside_loose,
                 std::span<const BlockIndex> outside_loose, std::vector<BlockIndex>& blocks) {
    constexpr std::uint32_t stride = 8;  // always written in full, so that no run needs a tail loop
    std::size_t bases = 0;
    for (const CellRun& run : cells) bases += run.count;
    const std::size_t n = bases + inside_loose.size() + outside_loose.size();
    reserve_for(blocks, n + stride);
    if (blocks.size() < n + stride) blocks.resize(n + stride);
    const auto put = [&](std::size_t at, BlockIndex first, std::uint32_t count) {
        BlockIndex* out = blocks.data() + at;
        for (std::uint32_t k = 0; k < count; k += stride) {
            for (std::uint32_t j = 0; j < stride; ++j) out[k + j] = first + k + j;
        }
        return at + count;
    };
    // What is written beyond a run is overwritten by the next.
    std::size_t at = 0;
    for (const CellRun& run : cells) at = put(at, run.first + run.inside_first, run.inside_count);
    for (const BlockIndex block : inside_loose) blocks[at++] = block;
    for (const CellRun& run : cells) {
        at = put(at, run.first, run.inside_first);
        const std::uint32_t behind = std::uint32_t{run.inside_first} + run.inside_count;
        at = put(at, run.first + behind, run.count - behind);
    }
    for (const BlockIndex block : outside_loose) blocks[at++] = block;
    PURVIEW_ASSERT(at == n);
    blocks.resize(n);
}

std::size_t Window::find(BlockIndex block, BlockIndex cell_end) const noexcept {
    if (block < cell_end) {
        std::size_t inside = 0, outside = inside_count();
        for (const CellRun& run : cells()) {
            const std::uint32_t i = block - run.first, in = i - run.inside_first;
            if (i < run.count) {
                const std::size_t at =
                    in < run.inside_count
                        ? inside + in
                        : outside + (i < run.inside_first ? i : i - run.inside_count);
                PURVIEW_ASSERT(blocks()[at] == block);  // as list_blocks put them
                return at;
            }
            inside += run.inside_count;
            outside += run.count - std::size_t{run.inside_count};
        }
    }
    return find_loose(block);
}

std::size_t Window::find_loose(BlockIndex block) const noexcept {
    // Bisects down to a few blocks: most windows have no more, and most look-ups find nothing.
    const auto find = [&](std::size_t at, std::size_t end) {
        constexpr std::size_t few = 8;
        const BlockIndex* all = blocks().data();
        while (end - at > few) {
            const std::size_t middle = at + (end - at) / 2;
            (all[middle] <= block ? at : end) = middle;
        }
        while (at < end && all[at] != block) ++at;
        return at < end ? at : size();
    };
    const std::size_t inside = find(inside_bases_, inside_bases_ + inside_loose_);
    return inside < size() ? inside : find(size() - outside_loose_, size());
}

void Window::validate() const {
    BlockIndex behind = 0;
    std::size_t bases = 0, inside = 0;
    for (const CellRun& run : cells()) {
        PURVIEW_ASSERT(run.count > 0 && run.first >= behind);
        PURVIEW_ASSERT(run.inside_first + run.inside_count <= run.count);
        behind = run.first + run.count;
        bases += run.count;
        inside += run.inside_count;
    }
    PURVIEW_ASSERT(inside == inside_bases_);
    PURVIEW_ASSERT(bases + inside_loose_ + outside_loose_ == size());
    const auto ascend = [](std::span<const BlockIndex> some) {
        return std::adjacent_find(some.begin(), some.end(), std::greater_equal()) == some.end();
    };
    PURVIEW_ASSERT(ascend(blocks().subspan(inside_bases_, inside_loose_)));
    PURVIEW_ASSERT(ascend(blocks().last(outside_loose_)));
    PURVIEW_ASSERT(bytes() <= capacity_ || !is_made());
}

}  // namespace purview
