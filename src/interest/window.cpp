// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/window.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "purview/status.hpp"

namespace purview {

void Window::assign(const Parts& parts, WindowArena& arena) {
    boxes_ = static_cast<std::uint16_t>(parts.boxes.size());
    cells_ = static_cast<std::uint32_t>(parts.cells.size());
    inside_loose_ = static_cast<std::uint32_t>(parts.inside_loose.size());
    outside_loose_ = static_cast<std::uint32_t>(parts.outside_loose.size());
    masks_ = static_cast<std::uint32_t>(parts.masks.size());
    has_pulled_ = parts.has_pulled;
    inside_bases_ = outside_bases_ = 0;
    for (const CellRun& run : parts.cells) {
        inside_bases_ += run.inside_count;
        outside_bases_ += run.count - run.inside_count;
    }
    if (data_ == nullptr || bytes() > capacity_) {
        capacity_ = static_cast<std::uint32_t>(WindowArena::rounded(bytes() + 1));
        data_ = arena.take(capacity_);
    }
    const auto put = [&](std::size_t offset, const auto& list) {
        if (!list.empty()) std::memcpy(data_ + offset, list.data(), list.size_bytes());
        return offset + list.size_bytes();
    };
    std::size_t at = put(0, parts.boxes);
    at = put(at, parts.cells);
    at = put(at, parts.inside_loose);
    at = put(at, parts.outside_loose);
    put(at, parts.masks);
}

void Window::repack(WindowArena& arena) {
    if (data_ == nullptr) return;
    const std::byte* old = data_;
    capacity_ = static_cast<std::uint32_t>(WindowArena::rounded(bytes() + 1));
    data_ = arena.take(capacity_);
    std::memcpy(data_, old, bytes());
}

void list_blocks(std::span<const CellRun> cells, std::span<const BlockIndex> inside_loose,
                 std::span<const BlockIndex> outside_loose, std::vector<BlockIndex>& blocks) {
    constexpr std::uint32_t stride = 8;  // written whole, so that no run has a tail of its own
    std::size_t bases = 0;
    for (const CellRun& run : cells) bases += run.count;
    const std::size_t n = bases + inside_loose.size() + outside_loose.size();
    if (blocks.size() < n + stride) blocks.resize(n + stride);
    const auto put = [&](std::size_t at, BlockIndex first, std::uint32_t count) {
        BlockIndex* out = blocks.data() + at;
        for (std::uint32_t k = 0; k < count; k += stride) {
            for (std::uint32_t j = 0; j < stride; ++j) out[k + j] = first + k + j;
        }
        return at + count;
    };
    // What is written beyond a run is written over by the next.
    std::size_t at = 0;
    for (const CellRun& run : cells) at = put(at, run.first + run.inside_first, run.inside_count);
    for (const BlockIndex block : inside_loose) blocks[at++] = block;
    for (const CellRun& run : cells) {
        at = put(at, run.first, run.inside_first);
        const std::uint32_t behind = std::uint32_t{run.inside_first} + run.inside_count;
        at = put(at, run.first + behind, run.count - behind);
    }
    for (const BlockIndex block : outside_loose) blocks[at++] = block;
    blocks.resize(n);
}

std::size_t Window::find(BlockIndex block, BlockIndex cell_end) const noexcept {
    if (block < cell_end) {
        std::size_t inside = 0, outside = inside_count();
        for (const CellRun& run : cells()) {
            const std::uint32_t i = block - run.first, in = i - run.inside_first;
            if (i < run.count) {
                if (in < run.inside_count) return inside + in;
                return outside + (i < run.inside_first ? i : i - run.inside_count);
            }
            inside += run.inside_count;
            outside += run.count - std::size_t{run.inside_count};
        }
    }
    // Overflow, or pulled. Sixteen at a time without a branch: most look-ups find nothing.
    const auto all = loose();
    std::size_t at = 0;
    for (; at + lanes_per_block <= all.size(); at += lanes_per_block) {
        std::uint32_t any = 0;
        for (std::size_t i = 0; i < lanes_per_block; ++i) any |= all[at + i] == block ? 1U : 0U;
        if (any != 0) break;
    }
    while (at < all.size() && all[at] != block) ++at;
    if (at == all.size()) return size();
    return at < inside_loose_ ? inside_bases_ + at : inside_bases_ + outside_bases_ + at;
}

namespace {

void add_bits(Mask& mask, int bits) noexcept {
    mask = static_cast<Mask>(mask | bits);
}

// -- which blocks -------------------------------------------------------------------------------

void find_boxes(const ScanInput& input, ScanScratch& scratch) {
    scratch.boxes.clear();
    if (input.program.everywhere) return;  // all cells, from wherever
    const GridLayer& finest = input.table.layers().front();
    for (const Vec3 place : input.places)
        scratch.boxes.push_back(sub_cell_of(finest, input.table.is_three_d(), place));
}

void find_runs(const ScanInput& input, ScanScratch& scratch) {
    scratch.runs.clear();
    if (input.program.everywhere) {
        constexpr BlockIndex run_max = 0xffff;
        const BlockIndex end = input.table.cell_end();
        for (BlockIndex first = 0; first < end; first += std::min(run_max, end - first)) {
            scratch.runs.push_back(
                {first, static_cast<std::uint16_t>(std::min(run_max, end - first)), 0, 0});
        }
        return;
    }
    if (input.program.reach_m <= 0 || input.places.empty()) return;
    const auto layers = input.table.layers();
    const bool three_d = input.table.is_three_d();
    const float inside_m =
        input.program.inside_kernel == nullptr ? -1 : input.program.inside_kernel->inside_m();
    std::array<Reach, reaches_max> reaches;
    for (std::size_t i = 0; i < input.places.size(); ++i) {
        reaches[i] =
            reach_of(layers.front(), three_d, input.places[i], input.program.reach_m, inside_m);
    }
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) {  // the last is the unplaced
        cover(layers[l], three_d, std::span(reaches).first(input.places.size()), scratch.runs);
    }
}

/// The overflow of the runs' cells, and pulled blocks.
void find_loose(const ScanInput& input, ScanScratch& scratch) {
    const BlockTable& table = input.table;
    scratch.inside_loose.clear();
    scratch.outside_loose.clear();
    for (const CellRun& run : scratch.runs) {
        table.overflowing().for_each_in(run.first, run.count, [&](std::size_t cell) {
            const auto base = static_cast<BlockIndex>(cell);
            const bool is_inside = base - run.first - run.inside_first < run.inside_count;
            auto& out = is_inside ? scratch.inside_loose : scratch.outside_loose;
            const auto ring = static_cast<std::ptrdiff_t>(out.size());
            for (BlockIndex b = table.next(base); b != base; b = table.next(b)) out.push_back(b);
            // Rings change their order; windows of the same cells have the same blocks in the same.
            std::sort(out.begin() + ring, out.end());
        });
    }
    for (const Row* row : input.pulled) {
        for (const EntityId member : row->members) {
            if (member == EntityId::none) continue;
            const BlockIndex block = block_of(table.slot_of(member));
            const BlockIndex cell = table.cell_of_block(block);
            const bool is_covered =
                std::any_of(scratch.runs.begin(), scratch.runs.end(),
                            [&](const CellRun& run) { return cell - run.first < run.count; });
            if (is_covered || scratch.pulled.contains(block)) continue;
            scratch.pulled[block] = 1;
            scratch.outside_loose.push_back(block);
        }
    }
    scratch.pulled.clear();
}

// -- carry --------------------------------------------------------------------------------------

/// A set of planes as bits: which masks had a lane.
std::uint32_t planes_of(std::span<const Mask> masks, std::size_t n, std::size_t position, Mask bit,
                        std::uint32_t planes) noexcept {
    std::uint32_t out = 0;
    for (std::uint32_t p = 0; p < planes; ++p) {
        if ((masks[p * n + position] & bit) != 0) out |= 1U << p;
    }
    return out;
}

/// The bits of a slot that the entity has left, or that the window no longer looks at, go to where
/// the entity is now, or end. `find`: position of a block in the new window, or n.
template <class Find>
void carry_slot(const ScanInput& input, Slot slot, std::uint32_t planes, std::span<Mask> masks,
                std::size_t n, ScanScratch& scratch, Find&& find) {
    const BlockTable& table = input.table;
    Slot now = slot;
    while (now != no_slot && table.is_vacated(now)) {
        const Displaced& gone = table.displaced_from(now);
        if (gone.silent) return;
        now = gone.to;
    }
    const std::size_t at = now == no_slot ? n : find(block_of(now));
    if (at == n) {
        if ((planes & 1U) != 0) scratch.toggles.push_back({input.observer_index, slot, false});
        return;
    }
    for (std::uint32_t p = 0; p <= input.program.plane_count; ++p) {
        if ((planes >> p & 1U) != 0) add_bits(masks[p * n + at], lane_bit(lane_of(now)));
    }
}

/// Clears the bits of lanes that were left this tick, and carries them.
template <class Find>
void carry_vacated(const ScanInput& input, BlockIndex block, std::size_t position,
                   std::span<Mask> masks, std::size_t n, ScanScratch& scratch, Find&& find) {
    const Mask vacated = input.table.vacated(block);
    const std::uint32_t plane_end = 1 + input.program.plane_count;
    Mask left = 0;
    for (std::uint32_t p = 0; p < plane_end; ++p) left |= masks[p * n + position];
    left &= vacated;
    for (; left != 0; left &= static_cast<Mask>(left - 1)) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const Mask bit = lane_bit(lane);
        const std::uint32_t planes = planes_of(masks, n, position, bit, plane_end);
        for (std::uint32_t p = 0; p < plane_end; ++p) {
            masks[p * n + position] = static_cast<Mask>(masks[p * n + position] & ~bit);
        }
        carry_slot(input, slot_at(block, lane), planes, masks, n, scratch, find);
    }
}

/// Positions by block, for windows that are too large to be looked through.
void map_blocks(const ScanInput& input, std::span<const BlockIndex> blocks, ScanScratch& scratch) {
    auto& position = scratch.position;
    if (position.size() < input.table.block_end()) position.resize(input.table.block_end(), 0);
    if (std::equal(scratch.mapped.begin(), scratch.mapped.end(), blocks.begin(), blocks.end()))
        return;
    for (const BlockIndex block : scratch.mapped) position[block] = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        PURVIEW_ASSERT(position[blocks[i]] == 0);  // no block twice
        position[blocks[i]] = static_cast<std::uint32_t>(i + 1);
    }
    scratch.mapped.assign(blocks.begin(), blocks.end());
}

/// Gives the window the cells and loose blocks of scratch; what it knew of the old ones goes along.
void rebuild(const ScanInput& input, Window& window, ScanScratch& scratch) {
    const std::uint32_t plane_end = 1 + input.program.plane_count;
    list_blocks(scratch.runs, scratch.inside_loose, scratch.outside_loose, scratch.blocks);
    const std::size_t n = scratch.blocks.size(), old_n = window.size();
    map_blocks(input, scratch.blocks, scratch);
    const auto find = [&](BlockIndex block) {
        const std::uint32_t at = scratch.position[block];
        return at == 0 ? n : std::size_t{at} - 1;
    };
    scratch.masks.assign(plane_end * n, 0);
    const auto old_masks = std::as_const(window).masks();
    window.for_each_block([&](std::size_t i, BlockIndex block) {
        const std::size_t to = find(block);
        Mask any = 0;
        for (std::uint32_t p = 0; p < plane_end; ++p) {
            const Mask mask = old_masks[p * old_n + i];
            any |= mask;
            if (to != n) add_bits(scratch.masks[p * n + to], mask);
        }
        for (; to == n && any != 0; any &= static_cast<Mask>(any - 1)) {
            const auto lane = static_cast<unsigned>(std::countr_zero(any));
            carry_slot(input, slot_at(block, lane),
                       planes_of(old_masks, old_n, i, lane_bit(lane), plane_end), scratch.masks, n,
                       scratch, find);
        }
    });
    for (std::size_t i = 0; i < n; ++i) {
        if (input.table.vacated(scratch.blocks[i]) != 0)
            carry_vacated(input, scratch.blocks[i], i, scratch.masks, n, scratch, find);
    }
    window.assign({scratch.boxes, scratch.runs, scratch.inside_loose, scratch.outside_loose,
                   scratch.masks, !input.pulled.empty()},
                  scratch.arena);
}

/// In a crowd all windows hold nearly all that moved: one pass over this tick's displaced entities,
/// in the order in which they left, takes their bits along.
void carry_displaced(const ScanInput& input, Window& window, ScanScratch& scratch) {
    const std::size_t n = window.size();
    const std::uint32_t plane_end = 1 + input.program.plane_count;
    const std::span<Mask> masks = window.masks();
    const std::uint32_t* position = scratch.position.data();
    for (const Displaced& gone : input.table.displaced()) {
        const std::uint32_t from = position[block_of(gone.from)];
        if (from == 0) continue;
        const Mask bit = lane_bit(lane_of(gone.from));
        const std::uint32_t to = gone.to == no_slot ? 0 : position[block_of(gone.to)];
        for (std::uint32_t p = 0; p < plane_end; ++p) {
            Mask& mask = masks[p * n + from - 1];
            if ((mask & bit) == 0) continue;
            mask = static_cast<Mask>(mask & ~bit);
            if (to != 0) {
                add_bits(masks[p * n + to - 1], lane_bit(lane_of(gone.to)));
            } else if (p == 0 && !gone.silent) {
                scratch.toggles.push_back({input.observer_index, gone.from, false});
            }
        }
    }
}

/// Carries what left its lane within the window's own blocks. False: a ring has changed, the window
/// must be rebuilt (and nothing was done).
bool settle(const ScanInput& input, Window& window, ScanScratch& scratch) {
    const BlockTable& table = input.table;
    const std::size_t n = window.size();
    constexpr std::size_t large = 64;  // blocks: looked up in a map, not in the window
    const bool is_crowd = n >= large && table.displaced().size() < 2 * n;
    scratch.left.clear();
    bool is_settled = true, any = false;
    for (const CellRun& cells : window.cells()) {
        table.unsettled().for_each_in(cells.first, cells.count, [&](std::size_t cell) {
            any = true;
            is_settled &= !table.ring_changed().test(cell);
            const auto base = static_cast<BlockIndex>(cell);
            for (BlockIndex block = base; !is_crowd;) {
                if (table.vacated(block) != 0) scratch.left.push_back(block);
                block = table.next(block);
                if (block == base) break;
            }
        });
    }
    if (!is_settled || !any) return is_settled;
    if (n >= large) {
        list_blocks(window.cells(), window.inside_loose(), window.outside_loose(), scratch.blocks);
        map_blocks(input, scratch.blocks, scratch);
    }
    if (is_crowd) {
        carry_displaced(input, window, scratch);
        return true;
    }
    const auto find = [&](BlockIndex block) {
        if (n < large) return window.find(block, table.cell_end());
        const std::uint32_t at = scratch.position[block];
        return at == 0 ? n : std::size_t{at} - 1;
    };
    for (const BlockIndex block : scratch.left)
        carry_vacated(input, block, find(block), window.masks(), n, scratch, find);
    return true;
}

}  // namespace

// -- evaluate -----------------------------------------------------------------------------------

namespace {

void combine(StepOp op, std::span<const Mask> answer, std::span<const Mask> unknown,
             bool any_unknown, std::span<Mask> so_far) noexcept {
    const std::size_t n = so_far.size();
    if (!any_unknown) {
        switch (op) {
            case StepOp::add:
                for (std::size_t i = 0; i < n; ++i) so_far[i] |= answer[i];
                break;
            case StepOp::require:
                for (std::size_t i = 0; i < n; ++i) so_far[i] &= answer[i];
                break;
            case StepOp::subtract:
                for (std::size_t i = 0; i < n; ++i)
                    so_far[i] = static_cast<Mask>(so_far[i] & ~answer[i]);
                break;
        }
        return;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const auto yes = static_cast<Mask>(answer[i] & ~unknown[i]);
        switch (op) {
            case StepOp::add:
                so_far[i] |= yes;
                break;
            case StepOp::require:
                so_far[i] &= yes;
                break;
            case StepOp::subtract:
                so_far[i] = static_cast<Mask>(so_far[i] & ~(answer[i] | unknown[i]));
                break;
        }
    }
}

}  // namespace

namespace {

/// What one step's kernel says. `out` is zeroed here; true: something is unknown.
bool ask(const ScanInput& input, const Step& step, std::span<const BlockIndex> blocks,
         std::size_t inside, std::span<const Mask> memory, std::span<const Mask> asked,
         ScanScratch& scratch, std::span<Mask> out) {
    const std::size_t n = blocks.size();
    const bool is_spatial = step.kernel->reach_m() > 0;
    std::fill(out.begin(), out.end(), Mask{0});
    const bool is_nowhere = is_spatial && input.places.empty();
    const bool has_unplaced = is_spatial && input.may_be_unplaced;
    const bool may_be_unknown = is_nowhere || has_unplaced || step.kernel->answers_unknown();
    if (may_be_unknown) scratch.unknown.assign(n, is_nowhere ? all_lanes : Mask{0});
    if (is_nowhere) return true;
    const bool is_inside_kernel = step.kernel == input.program.inside_kernel;
    const Slots slots(input.table, input.stands_for);
    step.kernel->test({input.observer, input.places, input.keys, blocks, memory, asked,
                       is_inside_kernel ? inside : 0, slots, Asker{}, {}},
                      out, scratch.unknown);
    for (std::size_t i = 0; has_unplaced && i < n; ++i) {
        if (input.table.is_unplaced(blocks[i])) scratch.unknown[i] = all_lanes;
    }
    return may_be_unknown;
}

}  // namespace

void evaluate(const ScanInput& input, std::span<const BlockIndex> blocks, std::size_t inside,
              std::span<Mask> masks, ScanScratch& scratch) {
    const std::size_t n = blocks.size();
    const std::span<Mask> result = masks.first(n);
    const auto occupied = input.table.occupied();
    bool is_first_node = true;
    for (const NodeProgram& node : input.nodes) {
        // The first node writes the result itself; a node's first add, its node's.
        if (!is_first_node) scratch.node_result.resize(n);
        const std::span<Mask> so_far = is_first_node ? result : std::span(scratch.node_result);
        bool is_first_step = true;
        for (const Step& step : node.steps) {
            std::span<Mask> memory;
            if (step.plane != no_plane) memory = masks.subspan((1 + step.plane) * n, n);
            if (is_first_step && step.op == StepOp::add && memory.empty() &&
                input.trace == nullptr) {
                if (ask(input, step, blocks, inside, memory, {}, scratch, so_far)) {
                    for (std::size_t i = 0; i < n; ++i)
                        so_far[i] = static_cast<Mask>(so_far[i] & ~scratch.unknown[i]);
                }
                is_first_step = false;
                continue;
            }
            if (is_first_step) std::fill(so_far.begin(), so_far.end(), Mask{0});
            is_first_step = false;
            scratch.answer.resize(n);
            // What is settled is not asked about; but whoever remembers must see all, and so must a
            // trace.
            std::span<const Mask> asked;
            if (memory.empty() && input.trace == nullptr) {
                scratch.asked.resize(n);
                for (std::size_t i = 0; i < n; ++i) {
                    scratch.asked[i] =
                        step.op == StepOp::add ? static_cast<Mask>(~so_far[i]) : so_far[i];
                }
                asked = scratch.asked;
            }
            const bool any_unknown =
                ask(input, step, blocks, inside, memory, asked, scratch, scratch.answer);
            combine(step.op, scratch.answer, scratch.unknown, any_unknown, so_far);
            if (input.trace != nullptr) {
                input.trace->push_back({&step, scratch.answer[0],
                                        any_unknown ? scratch.unknown[0] : Mask{0}, so_far[0]});
            }
            for (std::size_t i = 0; i < memory.size(); ++i) {
                const Mask known = any_unknown ? static_cast<Mask>(~scratch.unknown[i]) : all_lanes;
                memory[i] = scratch.answer[i] & known & occupied[blocks[i]];
            }
        }
        if (!is_first_node) {
            for (std::size_t i = 0; i < n; ++i) result[i] |= so_far[i];
        }
        is_first_node = false;
    }
    for (std::size_t i = 0; i < n; ++i) result[i] &= occupied[blocks[i]];
    if (input.any_force_hidden) {
        const auto hidden = input.table.flags(input.force_hidden_column);
        for (std::size_t i = 0; i < n; ++i) {
            result[i] = static_cast<Mask>(result[i] & ~hidden[blocks[i]]);
        }
    }
}

// -- scan ---------------------------------------------------------------------------------------

namespace {

void resolve_denied(const ScanInput& input, const Resolve* resolve,
                    std::span<const BlockIndex> blocks, std::span<Mask> result) {
    if (resolve == nullptr) return;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (result[i] != 0)
            result[i] = resolve->resolve(input.observer_index, blocks[i], result[i]);
    }
}

void compare(const ScanInput& input, std::span<const BlockIndex> blocks,
             std::span<const Mask> before, std::span<const Mask> now, ScanScratch& scratch) {
    const auto tell = [&](std::size_t i, unsigned lane) {
        scratch.toggles.push_back(
            {input.observer_index, slot_at(blocks[i], lane), (now[i] & lane_bit(lane)) != 0});
    };
    // Four masks a word: most words are equal.
    constexpr std::size_t per_word = sizeof(std::uint64_t) / sizeof(Mask);
    const std::size_t n = blocks.size();
    std::size_t i = 0;
    for (; i + per_word <= n; i += per_word) {
        std::uint64_t was = 0, is = 0;
        std::memcpy(&was, before.data() + i, sizeof was);
        std::memcpy(&is, now.data() + i, sizeof is);
        if (was == is) continue;
        if constexpr (std::endian::native == std::endian::little) {
            for_each_bit(was ^ is, 0, [&](std::size_t bit) {
                tell(i + bit / lanes_per_block, static_cast<unsigned>(bit % lanes_per_block));
            });
            continue;
        }
        for (std::size_t k = i; k < i + per_word; ++k) {
            for (Mask bits = before[k] ^ now[k]; bits != 0; bits &= static_cast<Mask>(bits - 1))
                tell(k, static_cast<unsigned>(std::countr_zero(bits)));
        }
    }
    for (; i < n; ++i) {
        for (Mask bits = before[i] ^ now[i]; bits != 0; bits &= static_cast<Mask>(bits - 1))
            tell(i, static_cast<unsigned>(std::countr_zero(bits)));
    }
}

/// What kernels were asked about: blocks that are not wholly inside, and who stands in them.
void count_tested(const ScanInput& input, std::span<const BlockIndex> blocks,
                  ScanScratch& scratch) {
    const auto occupied = input.table.occupied();
    std::uint32_t tested = 0, lanes = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        std::uint32_t bits = occupied[blocks[i]];
        tested += bits != 0 ? 1 : 0;
        // Bits summed by halves: no instruction for it is there on every machine.
        bits = bits - ((bits >> 1) & 0x5555U);
        bits = (bits & 0x3333U) + ((bits >> 2) & 0x3333U);
        bits = (bits + (bits >> 4)) & 0x0f0fU;
        lanes += (bits + (bits >> 8)) & 0x1fU;
    }
    scratch.blocks_tested += tested;
    scratch.lanes_tested += lanes;
}

}  // namespace

void scan(const ScanInput& input, Window& window, ScanScratch& scratch, const Resolve* resolve) {
    if (input.program.nodes.empty()) return;
    find_boxes(input, scratch);
    const bool is_at_home = window.is_made() && input.pulled.empty() && !window.has_pulled() &&
                            std::equal(scratch.boxes.begin(), scratch.boxes.end(),
                                       window.boxes().begin(), window.boxes().end());
    if (!is_at_home || !settle(input, window, scratch)) {
        find_runs(input, scratch);
        find_loose(input, scratch);
        rebuild(input, window, scratch);
    } else {
        list_blocks(window.cells(), window.inside_loose(), window.outside_loose(), scratch.blocks);
    }
    const std::size_t n = window.size();
    const std::span<const BlockIndex> blocks = scratch.blocks;
    const std::span<Mask> result = window.masks().first(n);
    if (scratch.before.size() < n) scratch.before.resize(n + n / 2);
    const std::span<Mask> before = std::span(scratch.before).first(n);
    for (std::size_t i = 0; i < n; ++i) before[i] = result[i];
    evaluate(input, blocks, window.inside_count(), window.masks(), scratch);
    resolve_denied(input, resolve, blocks, result);
    compare(input, blocks, before, result, scratch);
    if (scratch.count_tested) count_tested(input, blocks.subspan(window.inside_count()), scratch);
}

void rescan_dirty(const ScanInput& input, Window& window, ScanScratch& scratch,
                  const Resolve* resolve) {
    const BlockTable& table = input.table;
    bool is_settled = true;
    scratch.blocks.clear();
    for (const CellRun& cells : window.cells()) {
        table.dirty().for_each_in(cells.first, cells.count, [&](std::size_t cell) {
            const auto base = static_cast<BlockIndex>(cell);
            is_settled &= !table.unsettled().test(cell);
            scratch.blocks.push_back(base);
            if (!table.overflowing().test(cell)) return;
            for (BlockIndex b = table.next(base); b != base; b = table.next(b)) {
                if (table.dirty().test(b)) scratch.blocks.push_back(b);
            }
        });
    }
    if (!is_settled) return scan(input, window, scratch, resolve);
    const std::size_t n = scratch.blocks.size(), window_n = window.size();
    if (n == 0) return;
    scratch.dirty.clear();
    for (const BlockIndex block : scratch.blocks)
        scratch.dirty.push_back(static_cast<std::uint32_t>(window.find(block, table.cell_end())));
    const std::uint32_t planes = 1 + input.program.plane_count;
    scratch.masks.resize(planes * n);
    for (std::uint32_t p = 0; p < planes; ++p) {
        for (std::size_t i = 0; i < n; ++i)
            scratch.masks[p * n + i] = window.masks()[p * window_n + scratch.dirty[i]];
    }
    scratch.before.assign(scratch.masks.begin(),
                          scratch.masks.begin() + static_cast<std::ptrdiff_t>(n));
    evaluate(input, scratch.blocks, 0, scratch.masks, scratch);
    const std::span<Mask> result = std::span(scratch.masks).first(n);
    resolve_denied(input, resolve, scratch.blocks, result);
    compare(input, scratch.blocks, scratch.before, result, scratch);
    if (scratch.count_tested) count_tested(input, scratch.blocks, scratch);
    for (std::uint32_t p = 0; p < planes; ++p) {
        for (std::size_t i = 0; i < n; ++i)
            window.masks()[p * window_n + scratch.dirty[i]] = scratch.masks[p * n + i];
    }
}

}  // namespace purview
