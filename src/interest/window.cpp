// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/window.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "purview/status.hpp"

namespace purview {

std::size_t Window::find(BlockIndex block) const noexcept {
    return static_cast<std::size_t>(std::find(blocks.begin(), blocks.end(), block) -
                                    blocks.begin());
}

namespace {

void add_pulled(const ScanInput& input, ScanScratch& scratch) {
    for (const BlockIndex block : scratch.blocks) scratch.position[block] = 1;
    for (const Row* row : input.pulled) {
        for (const EntityId member : row->members) {
            if (member == EntityId::none) continue;
            const BlockIndex block = block_of(input.table.slot_of(member));
            if (scratch.position[block] != 0) continue;
            scratch.position[block] = 1;
            scratch.blocks.push_back(block);
        }
    }
    for (const BlockIndex block : scratch.blocks) scratch.position[block] = 0;
}

}  // namespace

void find_blocks(const ScanInput& input, ScanScratch& scratch) {
    if (scratch.position.size() < input.table.block_end()) {
        scratch.position.resize(input.table.block_end(), 0);
    }
    scratch.blocks.clear();
    scratch.runs.clear();
    if (input.program.nodes.empty()) return;
    std::array<Reach, reaches_max> reaches;
    for (std::size_t i = 0; i < input.places.size(); ++i) {
        reaches[i] = {input.places[i], input.program.reach_m};
    }
    const auto layers = input.table.layers();
    const bool looks_around = input.program.reach_m > 0 && !input.places.empty();
    for (std::size_t l = 0; looks_around && l + 1 < layers.size();
         ++l) {  // the last is the unplaced
        cover(layers[l], input.table.is_three_d(), std::span(reaches).first(input.places.size()),
              scratch.runs);
    }
    expand(input.table, scratch.runs, scratch.blocks);
    if (!input.pulled.empty()) add_pulled(input, scratch);
}

namespace {

void add_bits(Mask& mask, int bits) noexcept {
    mask = static_cast<Mask>(mask | bits);
}

/// Every bit of one old block goes to where its entity is now, or ends.
void carry_block(const ScanInput& input, const Window& window, std::size_t from,
                 ScanScratch& scratch, std::vector<Toggle>& toggles) {
    const BlockTable& table = input.table;
    const BlockIndex block = window.blocks[from];
    Mask any = window.result[from];
    for (const auto& plane : window.planes) any |= plane[from];
    const std::uint32_t to_same = scratch.position[block];
    const Mask stays = to_same == 0 ? Mask{0} : static_cast<Mask>(any & ~table.vacated(block));
    if (stays != 0) {
        add_bits(scratch.was[to_same - 1], window.result[from] & stays);
        for (std::size_t p = 0; p < window.planes.size(); ++p) {
            add_bits(scratch.planes[p][to_same - 1], window.planes[p][from] & stays);
        }
    }
    for (Mask rest = static_cast<Mask>(any & ~stays); rest != 0;
         rest &= static_cast<Mask>(rest - 1)) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        const Mask bit = lane_bit(lane);
        const Slot slot = slot_at(block, lane);
        const bool left = (table.vacated(block) & bit) != 0;
        if (left && table.displaced_from(slot).silent) continue;
        const EntityId entity = left ? table.displaced_from(slot).entity : table.entity(slot);
        const Slot now = left ? table.slot_of(entity) : slot;
        const std::uint32_t at = now == no_slot ? 0 : scratch.position[block_of(now)];
        if (at != 0) {
            const Mask to_bit = lane_bit(lane_of(now));
            if ((window.result[from] & bit) != 0) scratch.was[at - 1] |= to_bit;
            for (std::size_t p = 0; p < window.planes.size(); ++p) {
                if ((window.planes[p][from] & bit) != 0) scratch.planes[p][at - 1] |= to_bit;
            }
        } else if ((window.result[from] & bit) != 0) {
            toggles.push_back({entity, false});
        }
    }
}

}  // namespace

void carry(const ScanInput& input, const Window& window, ScanScratch& scratch,
           std::vector<Toggle>& toggles) {
    const std::size_t n = scratch.blocks.size();
    scratch.was.assign(n, 0);
    scratch.planes.resize(input.program.plane_count);
    for (auto& plane : scratch.planes) plane.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        PURVIEW_ASSERT(scratch.position[scratch.blocks[i]] == 0);  // no block twice in a window
        scratch.position[scratch.blocks[i]] = static_cast<std::uint32_t>(i + 1);
    }
    for (std::size_t i = 0; i < window.blocks.size(); ++i) {
        carry_block(input, window, i, scratch, toggles);
    }
    for (const BlockIndex block : scratch.blocks) scratch.position[block] = 0;
}

void evaluate(const ScanInput& input, std::span<const BlockIndex> blocks,
              std::vector<std::vector<Mask>>& planes, ScanScratch& scratch,
              std::vector<Mask>& result) {
    const std::size_t n = blocks.size();
    result.assign(n, 0);
    for (const NodeProgram& node : input.program.nodes) {
        scratch.node_result.assign(n, 0);
        for (const Step& step : node.steps) {
            scratch.answer.assign(n, 0);
            scratch.unknown.assign(n, 0);
            std::span<const Mask> was;
            if (step.plane != no_plane) was = planes[step.plane];
            step.kernel->test({input.observer, input.places, input.keys, blocks, was, input.table},
                              scratch.answer, scratch.unknown);
            if (step.kernel->reach_m() > 0) {  // whoever has no place cannot be judged by it (N54)
                for (std::size_t i = 0; i < n; ++i) {
                    if (input.table.is_unplaced(blocks[i])) scratch.unknown[i] = all_lanes;
                }
            }
            for (std::size_t i = 0; i < n; ++i) {
                const Mask yes = static_cast<Mask>(scratch.answer[i] & ~scratch.unknown[i]);
                Mask& so_far = scratch.node_result[i];
                switch (step.op) {
                    case StepOp::add:
                        so_far |= yes;
                        break;
                    case StepOp::require:
                        so_far &= yes;
                        break;
                    case StepOp::subtract:
                        so_far =
                            static_cast<Mask>(so_far & ~(scratch.answer[i] | scratch.unknown[i]));
                        break;
                }
                if (step.plane != no_plane) {
                    planes[step.plane][i] = yes & input.table.occupied(blocks[i]);
                }
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            result[i] = static_cast<Mask>(
                result[i] | (scratch.node_result[i] & input.table.occupied(blocks[i])));
        }
    }
    const auto hidden = input.table.flags(input.force_hidden_column);
    for (std::size_t i = 0; i < n; ++i) {
        result[i] = static_cast<Mask>(result[i] & ~hidden[blocks[i]]);
    }
}

void compare(const ScanInput& input, const ScanScratch& scratch, std::vector<Toggle>& toggles) {
    for (std::size_t i = 0; i < scratch.blocks.size(); ++i) {
        Mask changed = scratch.was[i] ^ scratch.result[i];
        for (; changed != 0; changed &= static_cast<Mask>(changed - 1)) {
            const auto lane = static_cast<unsigned>(std::countr_zero(changed));
            toggles.push_back({input.table.entity(slot_at(scratch.blocks[i], lane)),
                               (scratch.result[i] & lane_bit(lane)) != 0});
        }
    }
}

}  // namespace purview
