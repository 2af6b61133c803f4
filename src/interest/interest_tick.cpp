// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The tick of the interest engine: moves, then windows, then what has changed for whom.
#include <algorithm>
#include <bit>

#include "core/trim.hpp"
#include "interest/interest_data.hpp"

namespace purview {

void InterestData::shuffle_lanes() {
    const std::uint32_t cells = table_.layers().back().first_cell;
    for (std::uint32_t i = 0; i < shuffle_cells && cells > 0; ++i) {
        table_.shuffle_cell(shuffle_random.below(cells));
    }
}

void InterestData::collect_places(const Observer& observer, std::vector<Vec3>& out) const {
    out.clear();
    if (observer.main != EntityId::none) {
        const Slot slot = table_.slot_of(unit_of(observer.main));
        if (slot != no_slot && table_.layer_of(block_of(slot)) != unplaced_layer_) {
            out.push_back(table_.place(slot));
        }
    }
    for (const KeyedArea& area : observer.areas) out.push_back(area.area.centre);
}

/// Lanes of denied pairs are cleared; only blocks with a denied entity are looked at.
Mask InterestData::resolve(std::uint32_t observer, BlockIndex block, Mask mask) const noexcept {
    const auto denied = table_.flags(special_);
    Mask special = denied.empty() ? Mask{0} : mask;
    if (special != 0) special &= denied[block];
    for (; special != 0; special &= static_cast<Mask>(special - 1)) {
        const auto lane = static_cast<unsigned>(std::countr_zero(special));
        const PairEntry* pair = pairs_.find(observer, table_.entity(slot_at(block, lane)));
        if (pair != nullptr && pair->deny) mask = static_cast<Mask>(mask & ~lane_bit(lane));
    }
    return mask;
}

/// Neighbours one after another: they share the blocks that the caches hold.
void InterestData::order_observers() {
    constexpr std::uint32_t every = 128;
    if (ticks_to_order_-- > 0) return;
    ticks_to_order_ = every;
    order_keys_.clear();
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!observers_[o].ready) continue;
        collect_places(observers_[o], places_);
        const BlockIndex cell =
            places_.empty() ? 0 : table_.layers().front().cell_at(places_.front());
        order_keys_.push_back((std::uint64_t{cell} << 32) | o);
    }
    std::sort(order_keys_.begin(), order_keys_.end());
    order_.clear();
    for (const std::uint64_t key : order_keys_) order_.push_back(static_cast<std::uint32_t>(key));
    std::size_t bytes = 0;
    for (const std::uint32_t o : order_)
        bytes += WindowArena::rounded(observers_[o].window.bytes() + 1);
    scratch_.arena.begin_repack(bytes);
    for (const std::uint32_t o : order_) observers_[o].window.repack(scratch_.arena);
    scratch_.arena.end_repack();
}

void InterestData::update_window(std::uint32_t o) {
    Observer& observer = observers_[o];
    collect_places(observer, places_);
    // Areas mark the observer themselves; the main entity may have been moved by anybody.
    const bool has_place = places_.size() > observer.areas.size();
    const bool moved = has_place != observer.had_place ||
                       (has_place && !(places_.front() == observer.looked_from));
    pulled_.clear();
    for (std::size_t s = 0; has_pulled_rows_ && s < rows_.size(); ++s) {
        if (rows_[s].source().pulled && observer.rows[s] != no_row) {
            pulled_.push_back(&rows_[s].row(observer.rows[s]));
        }
    }
    const ScanInput input{o,
                          id_of(o),
                          places_,
                          std::span(observer.keys).first(def_.key_count),
                          table_,
                          program_,
                          program_.nodes,
                          force_hidden_,
                          force_hidden_count_ > 0,
                          pulled_,
                          program_.everywhere || !pulled_.empty()};
    const Resolve* resolve = pairs_.size() > 0 ? this : nullptr;
    if (moved || observer.needs_scan || !observer.window.is_made() || has_pulled_rows_) {
        ++counters.windows_scanned;
        ++moved_observers_;
        scan(input, observer.window, scratch_, resolve);
        observer.had_place = has_place;
        if (has_place) observer.looked_from = places_.front();
        observer.needs_scan = false;
        if (is_pushing_) regions_.set(o, places_);
    } else {
        rescan_dirty(input, observer.window, scratch_, resolve);
    }
}

// -- push: movers wake the observers to whom it matters ----------------------------------------

bool InterestData::can_push() const noexcept {
    // A member of a group that moves with its root is no mover of its own.
    return def_.window_update != WindowUpdate::pull && !has_pulled_rows_ &&
           member_ids_.size() == 0 && !program_.everywhere && program_.reach_m > 0 &&
           program_.any_move_m <= program_.reach_m;
}

/// A mover that looks its observers up costs less than half of an observer that looks for movers.
void InterestData::choose_update() {
    constexpr double pull_over_push = 2.3, hysteresis = 0.7;
    const auto movers = static_cast<double>(table_.moves_seen());
    const double resting =
        static_cast<double>(order_.size()) - static_cast<double>(moved_observers_);
    const double bound = pull_over_push * resting * (is_pushing_ ? 1 : hysteresis);
    const bool pushes = can_push() && (def_.window_update == WindowUpdate::push || movers < bound);
    // A grid made for few observers is slow for many: they may all have come since.
    constexpr std::size_t few = 64;
    const std::size_t now = std::max(order_.size(), few), then = regions_.made_for();
    const bool is_outgrown = now > 2 * then || 4 * now < then;
    if (pushes && (!is_pushing_ || is_outgrown)) {
        if (is_outgrown) {
            regions_ = RegionGrid(table_.is_three_d(), def_.rules.bounds_min, def_.rules.bounds_max,
                                  program_.reach_m, now);
        }
        for (std::uint32_t o = 0; o < observers_.size(); ++o) {
            if (observers_[o].ready) collect_places(observers_[o], places_);
            regions_.set(
                o, observers_[o].ready ? std::span<const Vec3>(places_) : std::span<const Vec3>{});
        }
        regions_.end_tick();
    }
    is_pushing_ = pushes;
    table_.keep_nudges(pushes);
    moved_observers_ = 0;
}

void InterestData::wake_watchers(EntityId main) {
    for_each_watcher(main, [&](std::uint32_t o) { must_scan(o); });
}

/// Everybody whose window may hold the cell.
void InterestData::wake_cell(BlockIndex cell) {
    if (table_.layer_of_cell(cell) == unplaced_layer_) return;
    const GridLayer& layer = table_.layers()[table_.layer_of_cell(cell)];
    const std::uint32_t i = cell - layer.first_cell;
    const std::uint32_t x = i % layer.nx, y = i / layer.nx % layer.ny, z = i / layer.nx / layer.ny;
    const bool three_d = table_.is_three_d();
    if (!GridLayer::is_bounded(x, layer.nx) || !GridLayer::is_bounded(y, layer.ny) ||
        (three_d && !GridLayer::is_bounded(z, layer.nz))) {
        wakes_all_ = true;  // it reaches to infinity
        return;
    }
    const auto middle = [&](float origin, std::uint32_t c) {
        return origin + (static_cast<float>(c) + 0.5F) * layer.cell_m;
    };
    // Half a diagonal of the cell, and one of the box that the window was made for; and some room.
    const float diagonal = layer.cell_m * (three_d ? 1.35F : 1.1F);
    regions_.for_each_within({middle(layer.origin.x, x), middle(layer.origin.y, y),
                              three_d ? middle(layer.origin.z, z) : 0},
                             program_.reach_m * 1.001F + diagonal,
                             [&](std::uint32_t o) { woken_.set(o); });
}

void InterestData::wake() {
    wakes_all_ = false;
    for (const Displaced& gone : table_.displaced()) wake_watchers(gone.entity);
    const std::size_t cells = table_.cell_end();
    const auto words = table_.dirty().words();
    for (std::size_t w = 0; w * bits_per_word < cells && !wakes_all_; ++w) {
        for_each_bit(words[w], w * bits_per_word, [&](std::size_t cell) {
            if (cell < cells) wake_cell(static_cast<BlockIndex>(cell));
        });
    }
    const auto watched = table_.flags(watched_);
    constexpr std::size_t nudge_ahead = 8;
    const auto nudges = table_.nudges();
    for (std::size_t i = 0; i < nudges.size(); ++i) {
        if (i + nudge_ahead < nudges.size())
            __builtin_prefetch(table_.coordinates(block_of(nudges[i + nudge_ahead].slot)));
        const Nudge& nudge = nudges[i];
        const BlockIndex block = block_of(nudge.slot);
        const Mask bit = lane_bit(lane_of(nudge.slot));
        if ((table_.occupied(block) & bit) == 0) continue;  // it left: its cells are dirty
        if (!watched.empty() && (watched[block] & bit) != 0)
            wake_watchers(table_.entity(nudge.slot));
        bool matters = false;
        const Vec3 now = table_.place(nudge.slot);
        const auto wake_one = [&](std::uint32_t o) {
            woken_.set(o);
            matters = true;
        };
        regions_.for_each_crossed(nudge.before, now, program_.edges_m, wake_one);
        if (program_.any_move_m >= 0) {
            regions_.for_each_within(nudge.before, program_.any_move_m, wake_one);
            regions_.for_each_within(now, program_.any_move_m, wake_one);
        }
        if (matters) table_.mark_dirty(block);
    }
}

void InterestData::update_windows() {
    clear_and_trim(scratch_.toggles);
    if (program_.nodes.empty()) return;
    order_observers();
    const bool anything = table_.is_any_dirty() || any_needs_scan_ || !table_.nudges().empty();
    any_needs_scan_ = false;
    woken_.resize(observers_.size());
    if (anything && is_pushing_) wake();
    active_.clear();
    if (anything) {
        const bool all = !is_pushing_ || wakes_all_;
        for (const std::uint32_t o : order_) {
            if (all || woken_.test(o)) active_.push_back(o);
        }
    }
    if (anything) woken_.clear_all();
    // Three look-ups ahead of the scan: the observer, the home of its main entity, lane and window.
    constexpr std::size_t observer_ahead = 16, home_ahead = 10, window_ahead = 5;
    const std::size_t n = active_.size();
    for (std::size_t i = 0; i < n; ++i) {
        if (i + observer_ahead < n) {
            const auto* ahead =
                reinterpret_cast<const std::byte*>(&observers_[active_[i + observer_ahead]]);
            __builtin_prefetch(ahead, 1);
            __builtin_prefetch(ahead + cache_line_bytes);
            table_.prefetch_home_of(observers_[active_[i + home_ahead]].main);
            prefetch_window(observers_[active_[i + window_ahead]]);
        }
        if (observers_[active_[i]].ready) update_window(active_[i]);
    }
    any_needs_scan_ = false;
    choose_update();
    regions_.end_tick();
    counters.blocks_tested += scratch_.blocks_tested;
    counters.lanes_tested += scratch_.lanes_tested;
    scratch_.blocks_tested = scratch_.lanes_tested = 0;
}

void InterestData::prefetch_window(const Observer& observer) const noexcept {
    constexpr std::size_t lines_max = 8;  // beyond that the machine sees the stream itself
    const std::byte* data = observer.window.data();
    const std::size_t end = std::min(observer.window.bytes(), lines_max * cache_line_bytes);
    for (std::size_t at = 0; at < end; at += cache_line_bytes) __builtin_prefetch(data + at, 1);
    const Slot slot = table_.slot_of(observer.main);
    if (slot != no_slot) __builtin_prefetch(table_.coordinates(block_of(slot)));
}

/// Differing bits become events, unless the pair holds for another reason all the while.
void InterestData::tell_toggles() {
    constexpr std::size_t ahead = 16;
    const auto& toggles = scratch_.toggles;
    const bool x_possible = is_x_possible();
    const bool spawned_any = !spawned_list_.empty();
    for (std::size_t i = 0; i < toggles.size(); ++i) {
        if (i + 2 * ahead < toggles.size()) table_.prefetch_entity(toggles[i + 2 * ahead].slot);
        if (i + ahead < toggles.size()) table_.prefetch_home(toggles[i + ahead].slot);
        const std::uint32_t o = toggles[i].observer;
        const bool enter = toggles[i].enter;
        const EntityId unit = table_.last_entity(toggles[i].slot);
        if (x_possible && x_holds(o, unit)) continue;
        Reason reason = Reason::entered;
        if (!enter) {
            reason = leave_reason(o, unit);
        } else if (spawned_any && spawned_.test(index_of(unit))) {
            reason = Reason::spawned;
        }
        for_each_member(unit, enter, [&](EntityId member) {
            if (cancel_fact(o, member, enter)) return;
            pending_.push_back({o, member, reason, enter});
        });
    }
}

Reason InterestData::leave_reason(std::uint32_t observer, EntityId unit) const noexcept {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot) return Reason::despawned;
    if (table_.flag(force_hidden_, slot)) return Reason::hidden;
    const PairEntry* pair = pairs_.find(observer, unit);
    if (pair != nullptr && pair->deny) return Reason::hidden;
    if (!has_hiding_flags_) return Reason::left;
    for (const NodeProgram& node : program_.nodes) {
        for (const Step& step : node.steps) {
            if (step.op == StepOp::subtract && step.kernel->depends_on() == DependsOn::entity &&
                step.kernel->test_entity(Slots(table_), slot)) {
                return Reason::hidden;
            }
        }
    }
    return Reason::left;
}

void InterestData::publish() {
    for (const Fact& fact : facts_) {
        if (!fact.cancelled)
            pending_.push_back({fact.observer, fact.entity, fact.reason, fact.enter});
    }
    // Counting sort by observer; within an observer the order of making stays.
    event_begin_.assign(observers_.size() + 1, 0);
    for (const Pending& event : pending_) ++event_begin_[event.observer + 1];
    for (std::size_t o = 1; o < event_begin_.size(); ++o) event_begin_[o] += event_begin_[o - 1];
    clear_and_trim(events_);
    events_.resize(pending_.size());
    event_next_.assign(event_begin_.begin(), event_begin_.end());
    for (const Pending& event : pending_) {
        events_[event_next_[event.observer]++] = {id_of(event.observer), event.entity, event.reason,
                                                  event.enter};
    }
    clear_and_trim(pending_);
    clear_and_trim(facts_);
    fact_index_.clear();
    for (const std::uint32_t index : spawned_list_) spawned_.reset(index);
    clear_and_trim(spawned_list_);
}

void InterestData::tick() {
    table_.settle_moves();
    shuffle_lanes();
    update_windows();
    tell_toggles();
    publish();
    table_.end_tick();
    observer_pool_.recycle();
}

std::span<const RelevanceEvent> InterestData::events_of(ObserverId observer) const noexcept {
    const std::uint32_t o = index_of(observer);
    if (!is_observer(observer) || o + 1 >= event_begin_.size()) return {};
    return std::span(events_).subspan(event_begin_[o], event_begin_[o + 1] - event_begin_[o]);
}

bool InterestData::is_relevant(ObserverId observer, EntityId entity) const noexcept {
    if (!is_observer(observer) || !is_known(entity)) return false;
    const std::uint32_t o = index_of(observer);
    const EntityId unit = unit_of(entity);
    return observers_[o].ready && (in_window(o, unit) || x_holds(o, unit));
}

}  // namespace purview
