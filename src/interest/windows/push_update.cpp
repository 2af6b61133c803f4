// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/windows/push_update.hpp"

#include <algorithm>

namespace purview {

/// Wakes every observer that may have the cell in its window.
void PushUpdate::wake_cell(const BlockTable& table, const Program& program, const Layout& layout,
                           BlockIndex cell, ObserverStore& observers) {
    const std::uint32_t l = table.layer_of_cell(cell);
    if (l == layout.abstract_layer) return;
    const GridLayer& layer = table.layers()[l];
    const std::uint32_t i = cell - layer.first_cell;
    const std::uint32_t x = i % layer.nx, y = i / layer.nx % layer.ny, z = i / layer.nx / layer.ny;
    if (!GridLayer::is_bounded(x, layer.nx) || !GridLayer::is_bounded(y, layer.ny) ||
        (three_d_ && !GridLayer::is_bounded(z, layer.nz))) {
        wakes_all_ = true;  // the cell extends to infinity
        return;
    }
    const auto middle = [&](float origin, std::uint32_t c) {
        return origin + (static_cast<float>(c) + 0.5F) * layer.cell_size;
    };
    // Half the diagonal of the cell, the diagonal of the box that the window was made for, and a
    // margin.
    const float diagonal =
        std::max(layer.cell_size, table.layers().front().cell_size) * (three_d_ ? 1.35F : 1.1F);
    const float group_radius_m = l == layout.bounds_layer ? layout.bounds_max_m : 0;
    regions_.for_each_within({middle(layer.origin.x, x), middle(layer.origin.y, y),
                              three_d_ ? middle(layer.origin.z, z) : 0},
                             (program.reach() + group_radius_m) * 1.001F + diagonal,
                             [&](std::uint32_t o) { observers.wake(o); });
}

void PushUpdate::wake(BlockTable& table, const Program& program, const Layout& layout,
                      ObserverStore& observers) {
    PURVIEW_ASSERT(is_on_);
    const auto scan_watchers = [&](EntityId main) {
        observers.for_each_watcher(main, [&](std::uint32_t o) { observers.must_scan(o); });
    };
    wakes_all_ = false;
    for (const Displaced& gone : table.displaced()) scan_watchers(gone.entity);
    const std::size_t cells = table.cell_end();
    const auto words = table.dirty().words();
    for (std::size_t w = 0; w * bits_per_word < cells && !wakes_all_; ++w) {
        for_each_bit(words[w], w * bits_per_word, [&](std::size_t cell) {
            if (cell < cells)
                wake_cell(table, program, layout, static_cast<BlockIndex>(cell), observers);
        });
    }
    const auto watched = table.flags(layout.watched_column);
    // Prefetches three look-ups: position and entity, the list of its observers, the observer.
    constexpr std::size_t cell_moves_ahead = 16, main_ahead = 10, observer_ahead = 5;
    const auto cell_moves = table.cell_moves();
    const auto is_watched = [&](Slot slot) {
        const Mask here = table.occupied(block_of(slot));
        return !watched.empty() && (watched[block_of(slot)] & here & lane_bit(lane_of(slot))) != 0;
    };
    for (std::size_t i = 0; i < cell_moves.size(); ++i) {
        if (i + cell_moves_ahead < cell_moves.size()) {
            const Slot slot = cell_moves[i + cell_moves_ahead].slot;
            table.prefetch_position(slot);
            if (is_watched(slot)) table.prefetch_entity(slot);
        }
        if (i + main_ahead < cell_moves.size() && is_watched(cell_moves[i + main_ahead].slot)) {
            const Slot slot = cell_moves[i + main_ahead].slot;
            table.prefetch_home(slot);
            observers.prefetch_main(table.entity_index(slot));
        }
        if (i + observer_ahead < cell_moves.size() &&
            is_watched(cell_moves[i + observer_ahead].slot)) {
            const std::uint32_t main = table.entity_index(cell_moves[i + observer_ahead].slot);
            observers.prefetch_first_of_main(main);
        }
        const CellMove& cell_move = cell_moves[i];
        const BlockIndex block = block_of(cell_move.slot);
        const Mask bit = lane_bit(lane_of(cell_move.slot));
        if ((table.occupied(block) & bit) == 0)
            continue;  // the entity left the lane: its cells are dirty
        if (is_watched(cell_move.slot)) scan_watchers(table.entity(cell_move.slot));
        bool matters = false;
        const Vec3 now = table.position(cell_move.slot);
        const auto wake_one = [&](std::uint32_t o) {
            observers.wake(o);
            matters = true;
        };
        regions_.for_each_crossed(cell_move.before, now, program.edges_m, wake_one);
        if (program.any_move_m >= 0) {
            regions_.for_each_within(cell_move.before, program.any_move_m, wake_one);
            regions_.for_each_within(now, program.any_move_m, wake_one);
        }
        if (matters) table.mark_dirty(block);
    }
}

/// Push costs one look-up per moving entity; pull costs one scan per idle observer, which takes 2.3
/// times as long (`pull_over_push`).
bool PushUpdate::choose(BlockTable& table, const Program& program, const Choice& choice) {
    constexpr double pull_over_push = 2.3, hysteresis = 0.7;
    const auto movers = static_cast<double>(table.moves_seen());
    const double idle = static_cast<double>(choice.observers) - static_cast<double>(scanned_);
    const double bound = pull_over_push * idle * (is_on_ ? 1 : hysteresis);
    const bool pushes = choice.is_possible && (choice.is_wanted || movers < bound);
    // A grid that was made for few observers is slow for many, and many may have joined since.
    constexpr std::size_t few = 64;
    const std::size_t now = std::max(choice.observers, few), then = regions_.made_for();
    const bool is_outgrown = now > 2 * then || 4 * now < then;
    const bool is_new = pushes && (!is_on_ || is_outgrown);
    if (is_new && (is_outgrown || regions_rules_ != choice.rules_revision)) {
        regions_ = RegionGrid(three_d_, min_, max_, program.reach(), now);
        regions_rules_ = choice.rules_revision;
    }
    is_on_ = pushes;
    table.keep_cell_moves(pushes);
    scanned_ = 0;
    return is_new;
}

void PushUpdate::stop(BlockTable& table) {
    is_on_ = false;
    table.keep_cell_moves(false);
}

}  // namespace purview
