// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/tick/window_pass.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "core/prefetch.hpp"
#include "core/run_chunks.hpp"
#include "core/trim.hpp"
#include "core/validate.hpp"
#include "purview/status.hpp"

namespace purview {

void WindowPass::set_executor(const Executor& executor) {
    executor_ = executor;
    const bool counts = workers_.front().scratch.count_tested;
    const std::uint32_t wanted = executor.run == nullptr ? 1 : executor.workers;
    // Windows are stored in the memory of workers, so workers are never removed.
    const std::size_t n = std::clamp<std::size_t>(wanted, workers_.size(), workers_max);
    workers_.resize(std::max(n, workers_.size()));
    PURVIEW_ASSERT(!workers_.empty() && workers_.size() <= workers_max);
    set_count_tested(counts);
}

void WindowPass::set_count_tested(bool value) noexcept {
    for (WindowWorker& worker : workers_) worker.scratch.count_tested = value;
}

void WindowPass::order_observers() {
    if (!order_.is_due()) return;
    order_.sort([&](std::uint32_t o) -> std::optional<BlockIndex> {
        if (!observers_[o].ready) return std::nullopt;
        observer_views_.collect(o, sight_);
        const GridLayer& layer = table_.layers().front();
        if (!sight_.positions.empty()) return layer.cell_at(sight_.positions.front());
        if (!sight_.areas.empty()) return layer.cell_at(sight_.areas.front().center);
        return BlockIndex{0};
    });
    repack_windows();
}

/// Packs windows in memory in the order in which they are visited.
void WindowPass::repack_windows() {
    WindowArena& arena = workers_.front().scratch.arena;
    arena.begin_repack();
    for (std::size_t i = 1; i < workers_.size(); ++i) arena.adopt(workers_[i].scratch.arena);
    for (const std::uint32_t o : order_) {
        if (observers_[o].window.is_made()) WindowArena::count(observers_[o].window.piece());
    }
    arena.free_uncounted();
    for (const std::uint32_t o : order_) {
        Window& window = observers_[o].window;
        if (!window.is_made()) continue;
        const WindowArena::Piece old = window.piece();
        window.repack(arena);
        arena.leave(old);
    }
    arena.end_repack();
}

namespace {

/// Hashes all positions, areas and owned cull groups. If the hash differs, the observer has moved.
std::uint64_t hash_of(const Sight& sight) noexcept {
    std::uint64_t hash = std::uint64_t{sight.positions.size()} << 32 | sight.areas.size();
    const auto add = [&](float a, float b) {
        hash = mix64(hash ^ (std::uint64_t{std::bit_cast<std::uint32_t>(a)} << 32 |
                             std::bit_cast<std::uint32_t>(b)));
    };
    for (const Vec3 position : sight.positions) {
        add(position.x, position.y);
        if (position.z != 0) add(position.z, 0);
    }
    for (const Area& area : sight.areas) {  // edits set all other fields and request a scan
        add(area.center.x, area.center.y);
        add(area.center.z, 0);
    }
    for (const EntityId unit : sight.owned) hash = mix64(hash ^ static_cast<std::uint64_t>(unit));
    return hash;
}

}  // namespace

void WindowPass::prepare_scan(std::uint32_t o, ObserverScan& observer_scan) const {
    const Observer& observer = observers_[o];
    PURVIEW_ASSERT(observer.ready);
    observer_scan.observer = o;
    observer_views_.collect(o, observer_scan.sight);
    observer_scan.pulled.clear();
    for (std::size_t i = 0; summary_.has_pulled_rows && i < observer.rows.size(); ++i) {
        const SourceRow at = observer.rows[i];
        if (program_.rows[at.source].pulled)
            observer_scan.pulled.push_back(&rows_[at.source].row(at.row));
    }
    ScanInput& input =
        observer_scan.input.emplace(observer_views_.input_of(o, observer_scan.sight));
    input.pulled = observer_scan.pulled;
    input.may_be_abstract = program_.everywhere || input.pulls();
}

/// Returns whether a cull group that appears in this tick may be within reach of the observer.
bool WindowPass::may_meet_new(const ObserverScan& observer_scan) const noexcept {
    constexpr std::size_t few = 64;  // more are not searched per observer
    const std::span<const EntityId> units = new_units_.units();
    if (units.empty()) return false;
    if (units.size() > few || program_.everywhere || program_.looks_into_areas) return true;
    const auto& classes = rules_.range_classes;
    const float reach = program_.reach() + (classes.empty() ? 0.0F : classes.back()) +
                        observer_scan.input->context.range + rules_.group_radius_max;
    return std::any_of(units.begin(), units.end(), [&](EntityId unit) {
        const Slot slot = table_.slot_of(unit);
        if (slot == no_slot) return false;
        const Vec3 at = table_.position(slot);
        return std::any_of(observer_scan.sight.positions.begin(),
                           observer_scan.sight.positions.end(), [&](Vec3 from) {
                               const float x = at.x - from.x, y = at.y - from.y, z = at.z - from.z;
                               return x * x + y * y + z * z <= reach * reach;
                           });
    });
}

void WindowPass::update_window(const ObserverScan& observer_scan, WindowWorker& worker) {
    const std::uint32_t o = observer_scan.observer;
    const ScanInput& input = *observer_scan.input;
    Observer& observer = observers_[o];
    const std::uint64_t views_hash = hash_of(observer_scan.sight);
    const bool moved = views_hash != observer.views_hash;
    const bool must = observer.needs_scan || !observer.window.is_made() ||
                      summary_.has_pulled_rows || program_.pulls_owned || program_.needs_every_tick;
    // If the observer moved, its window may not yet cover an entity that appears near it.
    const bool is_new_near = moved && may_meet_new(observer_scan);
    if (program_.all_wait && !must && !is_new_near && !input.is_any_due()) {
        if (moved) {
            rescan_shown(input, observer.window, worker.scratch);
        } else {
            rescan_dirty(input, observer.window, worker.scratch);
        }
    } else if (moved || must || program_.all_wait || summary_.has_waiting) {
        worker.moved.push_back(o);
        scan(input, observer.window, worker.scratch);
        observer.needs_scan = false;
    } else {
        rescan_dirty(input, observer.window, worker.scratch);
    }
    observer.views_hash = views_hash;
}

bool WindowPass::can_push() const noexcept {
    // Group members move with their root, without a recorded move of their own.
    return window_update_ != WindowUpdate::pull && !rules_.measure_scores && program_.is_pushable &&
           !summary_.has_pulled_rows && !groups_.any() && observers_.following() == 0 &&
           counts_.bounded == 0;
}

void WindowPass::choose_update() {
    const PushUpdate::Choice choice{can_push(), window_update_ == WindowUpdate::push, order_.size(),
                                    rules_revision_};
    if (push_.choose(table_, program_, choice)) {
        for (std::uint32_t o = 0; o < observers_.size(); ++o) set_region(o);
        push_.end_tick();
    }
}

/// Sets the positions at which moving entities find the observer.
void WindowPass::set_region(std::uint32_t o) {
    sight_.positions.clear();
    if (observers_[o].ready) observer_views_.collect(o, sight_);
    push_.set_region(o, sight_.positions);
}

void WindowPass::update_chunk(WindowWorker& worker, std::size_t chunk) {
    // Prefetches three look-ups: the observer, the home of its main entity, and that entity's slot
    // with the window.
    constexpr std::size_t observer_ahead = 16, home_ahead = 10, window_ahead = 5;
    const std::size_t n = active_.size(), end = std::min(n, (chunk + 1) * chunk_observers);
    const bool measures = rules_.measure_scores && !changed_scores_.is_late();
    PURVIEW_ASSERT(worker.scratch.toggles.empty());  // resolve_toggles() cleared them
    for (std::size_t i = chunk * chunk_observers; i < end; ++i) {
        if (i + observer_ahead < n) {
            const auto* ahead =
                reinterpret_cast<const std::byte*>(&observers_[active_[i + observer_ahead]]);
            prefetch_line(ahead);
            prefetch_line(ahead + cache_line_bytes);
            table_.prefetch_home_of(observers_[active_[i + home_ahead]].main);
            // Windows after the end of the chunk belong to another worker.
            if (i + window_ahead < end) prefetch_window(observers_[active_[i + window_ahead]]);
        }
        if (!observers_[active_[i]].ready) continue;
        prepare_scan(active_[i], worker.observer_scan);
        update_window(worker.observer_scan, worker);
        if (measures) changed_scores_.measure_scores(worker.observer_scan, worker);
    }
    if (measures) changed_scores_.measure_together(worker);
    resolve_toggles(worker);
    worker.chunks.push_back({static_cast<std::uint32_t>(chunk), worker.changes.size()});
}

/// Looks up the entities of the toggled slots while the data is in the cache.
void WindowPass::resolve_toggles(WindowWorker& worker) {
    constexpr std::size_t ahead = 16;
    auto& toggles = worker.scratch.toggles;
    const std::size_t n = toggles.size();
    for (std::size_t i = 0; i < n; ++i) {
        if (i + 2 * ahead < n) table_.prefetch_entity(toggles[i + 2 * ahead].slot);
        if (i + ahead < n) table_.prefetch_home(toggles[i + ahead].slot);
        const EntityId unit = table_.last_entity(toggles[i].slot);
        append(worker.changes, {unit, observers_.id_of(toggles[i].observer), toggles[i].enter,
                                table_.slot_of(unit) != no_slot, toggles[i].wait_ticks});
    }
    toggles.clear();
}

void WindowPass::update_windows() {
    for (WindowWorker& worker : workers_) {
        clear_and_trim(worker.changes);
        worker.chunks.clear();
        worker.moved.clear();
    }
    if (!program_.has_windows() && !observers_.any_needs_scan() && !rules_.measure_scores) return;
    order_observers();
    const bool anything = table_.is_any_dirty() || observers_.any_needs_scan() ||
                          !table_.cell_moves().empty() || program_.needs_every_tick ||
                          summary_.has_waiting;
    observers_.clear_needs_scan();
    if (anything && push_.is_on()) {
        push_.wake(table_, program_,
                   {facts_table_.columns.watched, layers_.abstract, layers_.bounds,
                    rules_.group_radius_max},
                   observers_);
    }
    active_.clear();
    if (anything) {
        const bool all = !push_.is_on() || push_.wakes_all();
        for (const std::uint32_t o : order_) {
            if (all || observers_.is_woken(o)) active_.push_back(o);
        }
    }
    if (anything) observers_.clear_woken();
    const std::size_t chunks = (active_.size() + chunk_observers - 1) / chunk_observers;
    run_chunks(executor_, workers_.size(), chunks, [&](std::size_t worker, std::size_t chunk) {
        update_chunk(workers_[worker], chunk);
    });
    observers_.clear_needs_scan();
    for (WindowWorker& worker : workers_) {
        push_.note_scanned(worker.moved.size());
        counters_.windows_scanned += worker.moved.size();
        for (std::size_t i = 0; push_.is_on() && i < worker.moved.size(); ++i)
            set_region(worker.moved[i]);
        counters_.blocks_tested += worker.scratch.blocks_tested;
        counters_.lanes_tested += worker.scratch.lanes_tested;
        worker.scratch.blocks_tested = worker.scratch.lanes_tested = 0;
    }
    choose_update();
    push_.end_tick();
}

void WindowPass::prefetch_window(const Observer& observer) const noexcept {
    constexpr std::size_t lines_max = 8;  // beyond that, the hardware prefetches the stream
    const std::byte* data = observer.window.data();
    const std::size_t end = std::min(observer.window.bytes(), lines_max * cache_line_bytes);
    for (std::size_t at = 0; at < end; at += cache_line_bytes) prefetch_line(data + at);
    const Slot slot = table_.slot_of(observer.main);
    if (slot != no_slot) table_.prefetch_position(slot);
}

}  // namespace purview
