// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The tick of the interest engine: moves, then windows, then what has changed for whom.
#include <algorithm>
#include <array>
#include <bit>

#include "core/prefetch.hpp"
#include "core/run_chunks.hpp"
#include "core/trim.hpp"
#include "core/validate.hpp"
#include "interest/edits.hpp"

namespace purview {

void InterestData::shuffle_lanes() {
    const std::uint32_t cells = table_.layers().back().first_cell;
    for (std::uint32_t i = 0; i < shuffle.cells && cells > 0; ++i) {
        table_.shuffle_cell(shuffle.random.below(cells));
    }
}

void InterestData::set_executor(const Executor& executor) {
    executor_ = executor;
    const bool counts = workers_.front().scratch.count_tested;
    const std::uint32_t wanted = executor.run == nullptr ? 1 : executor.workers;
    // Windows lie in the memory of workers: there is never one less.
    const std::size_t n = std::clamp<std::size_t>(wanted, workers_.size(), workers_max);
    workers_.resize(std::max(n, workers_.size()));
    PURVIEW_ASSERT(!workers_.empty() && workers_.size() <= workers_max);
    set_count_tested(counts);
}

void InterestData::set_count_tested(bool value) noexcept {
    for (Worker& worker : workers_) worker.scratch.count_tested = value;
}

// -- windows --------------------------------------------------------------------------------------

void InterestData::order_observers() {
    if (!order_.is_due()) return;
    order_.sort([&](std::uint32_t o) -> std::optional<BlockIndex> {
        if (!observers_[o].ready) return std::nullopt;
        collect(o, sight_);
        const GridLayer& layer = table_.layers().front();
        if (!sight_.positions.empty()) return layer.cell_at(sight_.positions.front());
        if (!sight_.areas.empty()) return layer.cell_at(sight_.areas.front().center);
        return BlockIndex{0};
    });
    repack_windows();
}

/// Windows lie in memory as they are visited.
void InterestData::repack_windows() {
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

ScanInput InterestData::input_of(std::uint32_t o, const Sight& sight) const noexcept {
    const Observer& observer = observers_[o];
    PURVIEW_ASSERT(sight.main_positions <= 1);
    PURVIEW_ASSERT(sight.owned_positions + sight.main_positions <= sight.positions.size());
    ScanInput input{.table = table_, .facts = facts_table_, .program = program_};
    input.observer_index = o;
    input.observer = id_of(o);
    input.views = {sight.positions, sight.owned_positions, sight.main_positions};
    input.keys = std::span(observer.keys).first(rules_.key_names.size());
    input.context.outer_positions = facts_table_.axes == Axes::xz
                                        ? std::span<const Vec3>(sight.outer)
                                        : input.views.of(Viewpoints::entity_and_points);
    input.context.areas = sight.areas;
    if (facts_table_.more_keys.any() || observers_.any_more_keys())
        input.context.more_keys = observer.more_keys;
    input.context.main = observer.main;
    input.context.range = observer.range;
    input.context.lookahead_s = observer.lookahead_s;
    if (observer.main != EntityId::none && !facts_table_.velocities.empty())
        input.context.velocity = facts_table_.velocity(unit_of(observer.main));
    input.context.tick = tick_;
    input.context.owned = sight.owned;
    input.is_forced = observer.needs_scan || is_anybody_asked_;
    input.nodes = program_.nodes;
    input.classes = program_.classes;
    input.skips_empty = program_.skips_empty;
    input.any_cut = no_window_count_ > 0;
    input.pairs = pairs_.size() > 0 ? &pairs_ : nullptr;
    input.range_classes = rules_.range_classes;
    input.bounds_layer = bounds_layer_;
    input.bounds_max_m = rules_.group_radius_max;
    input.rules_revision = rules_revision_;
    input.new_lanes = new_units_.lanes();
    return input;
}

namespace {

/// A number of all places and areas: another one, and the observer has moved.
std::uint64_t number_of(const Sight& sight) noexcept {
    std::uint64_t hash = std::uint64_t{sight.positions.size()} << 32 | sight.areas.size();
    const auto add = [&](float a, float b) {
        hash = mix64(hash ^ (std::uint64_t{std::bit_cast<std::uint32_t>(a)} << 32 |
                             std::bit_cast<std::uint32_t>(b)));
    };
    for (const Vec3 position : sight.positions) {
        add(position.x, position.y);
        if (position.z != 0) add(position.z, 0);
    }
    for (const Area& area : sight.areas) {  // all else of them is set by hand
        add(area.center.x, area.center.y);
        add(area.center.z, 0);
    }
    for (const EntityId unit : sight.owned) hash = mix64(hash ^ static_cast<std::uint64_t>(unit));
    return hash;
}

}  // namespace

void InterestData::look_from(std::uint32_t o, Look& look) const {
    const Observer& observer = observers_[o];
    PURVIEW_ASSERT(observer.ready);
    look.observer = o;
    collect(o, look.sight);
    look.pulled.clear();
    for (std::size_t i = 0; summary_.has_pulled_rows && i < observer.rows.size(); ++i) {
        const SourceRow at = observer.rows[i];
        if (program_.rows[at.source].pulled) look.pulled.push_back(&rows_[at.source].row(at.row));
    }
    ScanInput& input = look.input.emplace(input_of(o, look.sight));
    input.pulled = look.pulled;
    input.may_be_abstract = program_.everywhere || input.pulls();
}

/// Some unit that begins in this tick may be within reach of the observer.
bool InterestData::may_meet_new(const Look& look) const noexcept {
    constexpr std::size_t few = 64;  // more are not looked through for every observer
    const std::span<const EntityId> units = new_units_.units();
    if (units.empty()) return false;
    if (units.size() > few || program_.everywhere || program_.looks_into_areas) return true;
    const auto& classes = rules_.range_classes;
    const float reach = program_.reach() + (classes.empty() ? 0.0F : classes.back()) +
                        look.input->context.range + rules_.group_radius_max;
    return std::any_of(units.begin(), units.end(), [&](EntityId unit) {
        const Slot slot = table_.slot_of(unit);
        if (slot == no_slot) return false;
        const Vec3 at = table_.position(slot);
        return std::any_of(look.sight.positions.begin(), look.sight.positions.end(),
                           [&](Vec3 from) {
                               const float x = at.x - from.x, y = at.y - from.y, z = at.z - from.z;
                               return x * x + y * y + z * z <= reach * reach;
                           });
    });
}

void InterestData::update_window(const Look& look, Worker& worker) {
    const std::uint32_t o = look.observer;
    const ScanInput& input = *look.input;
    Observer& observer = observers_[o];
    const std::uint64_t looks_from = number_of(look.sight);
    const bool moved = looks_from != observer.looked_from;
    const bool must = observer.needs_scan || !observer.window.is_made() ||
                      summary_.has_pulled_rows || program_.pulls_owned || program_.needs_every_tick;
    // The window of an observer that moved may not reach as far as an entity that begins.
    const bool is_new_near = moved && may_meet_new(look);
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
    observer.looked_from = looks_from;
}

// -- push -----------------------------------------------------------------------------------------

bool InterestData::can_push() const noexcept {
    // A member of a group that moves with its root is no mover of its own.
    return window_update_ != WindowUpdate::pull && !rules_.measure_scores && program_.is_pushable &&
           !summary_.has_pulled_rows && !groups_.any() && observers_.following() == 0 &&
           bounded_count_ == 0;
}

void InterestData::choose_update() {
    const PushUpdate::Choice choice{can_push(), window_update_ == WindowUpdate::push, order_.size(),
                                    rules_revision_};
    if (push_.choose(table_, program_, choice)) {
        for (std::uint32_t o = 0; o < observers_.size(); ++o) set_region(o);
        push_.end_tick();
    }
}

/// Where movers look the observer up.
void InterestData::set_region(std::uint32_t o) {
    sight_.positions.clear();
    if (observers_[o].ready) collect(o, sight_);
    push_.set_region(o, sight_.positions);
}

void InterestData::update_chunk(Worker& worker, std::size_t chunk) {
    // Three look-ups ahead of the scan: the observer, the home of its main entity, lane and window.
    constexpr std::size_t observer_ahead = 16, home_ahead = 10, window_ahead = 5;
    const std::size_t n = active_.size(), end = std::min(n, (chunk + 1) * chunk_observers);
    const bool measures = rules_.measure_scores && !measures_late_;
    PURVIEW_ASSERT(worker.scratch.toggles.empty());  // those of the last chunk are resolved
    for (std::size_t i = chunk * chunk_observers; i < end; ++i) {
        if (i + observer_ahead < n) {
            const auto* ahead =
                reinterpret_cast<const std::byte*>(&observers_[active_[i + observer_ahead]]);
            prefetch_line(ahead);
            prefetch_line(ahead + cache_line_bytes);
            table_.prefetch_home_of(observers_[active_[i + home_ahead]].main);
            // Those behind the chunk's end are another worker's.
            if (i + window_ahead < end) prefetch_window(observers_[active_[i + window_ahead]]);
        }
        if (!observers_[active_[i]].ready) continue;
        look_from(active_[i], worker.look);
        update_window(worker.look, worker);
        if (measures) measure_scores(worker.look, worker);
    }
    if (measures) measure_together(worker);
    resolve_toggles(worker);
    worker.chunks.push_back({static_cast<std::uint32_t>(chunk), worker.changes.size()});
}

/// Slots become entities while the caches hold them.
void InterestData::resolve_toggles(Worker& worker) {
    constexpr std::size_t ahead = 16;
    auto& toggles = worker.scratch.toggles;
    const std::size_t n = toggles.size();
    for (std::size_t i = 0; i < n; ++i) {
        if (i + 2 * ahead < n) table_.prefetch_entity(toggles[i + 2 * ahead].slot);
        if (i + ahead < n) table_.prefetch_home(toggles[i + ahead].slot);
        const EntityId unit = table_.last_entity(toggles[i].slot);
        append(worker.changes, {unit, id_of(toggles[i].observer), toggles[i].enter,
                                table_.slot_of(unit) != no_slot, toggles[i].wait_ticks});
    }
    toggles.clear();
}

void InterestData::update_windows() {
    for (Worker& worker : workers_) {
        clear_and_trim(worker.changes);
        worker.chunks.clear();
        worker.moved.clear();
    }
    if (!program_.has_windows() && !observers_.any_needs_scan() && !rules_.measure_scores) return;
    order_observers();
    const bool anything = table_.is_any_dirty() || observers_.any_needs_scan() ||
                          !table_.nudges().empty() || program_.needs_every_tick ||
                          summary_.has_waiting;
    observers_.clear_needs_scan();
    if (anything && push_.is_on()) {
        push_.wake(
            table_, program_,
            {facts_table_.columns.watched, abstract_layer_, bounds_layer_, rules_.group_radius_max},
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
    for (Worker& worker : workers_) {
        push_.note_scanned(worker.moved.size());
        counters.windows_scanned += worker.moved.size();
        for (std::size_t i = 0; push_.is_on() && i < worker.moved.size(); ++i)
            set_region(worker.moved[i]);
        counters.blocks_tested += worker.scratch.blocks_tested;
        counters.lanes_tested += worker.scratch.lanes_tested;
        worker.scratch.blocks_tested = worker.scratch.lanes_tested = 0;
    }
    choose_update();
    push_.end_tick();
}

void InterestData::prefetch_window(const Observer& observer) const noexcept {
    constexpr std::size_t lines_max = 8;  // beyond that the machine sees the stream itself
    const std::byte* data = observer.window.data();
    const std::size_t end = std::min(observer.window.bytes(), lines_max * cache_line_bytes);
    for (std::size_t at = 0; at < end; at += cache_line_bytes) prefetch_line(data + at);
    const Slot slot = table_.slot_of(observer.main);
    if (slot != no_slot) table_.prefetch_position(slot);
}

/// Nothing but what windows say makes events in this tick: there is nothing to look up.
bool InterestData::is_window_all() const noexcept {
    return !is_x_possible() && no_window_count_ == 0 && !summary_.has_hiding_flags &&
           spawned_.empty() && !groups_.any() && !splits_.any() && !split_queue_.any_released() &&
           !keeps_stays() && changes_.empty();
}

/// An event, unless the pair holds for another reason all the while.
void InterestData::tell_change(const WindowChange& change, bool x_possible) {
    const std::uint32_t o = index_of(change.observer);
    const EntityId unit = change.unit;
    const bool enter = change.enter;
    const auto tell = [&](EntityId member) {
        if (cancel_change(o, member, enter)) return;
        events_.add({member, change.observer, reason_of(o, member, enter), enter});
    };
    if (is_mixed(unit)) {
        if (!enter && change.is_there) (void)defer_leave(o, unit, change.wait_ticks);
        return touch_mixed(o, unit);
    }
    // Who is gone has nobody below him; whoever has his index now is another.
    if (!change.is_there) return tell(unit);
    if (x_possible && x_holds(o, unit)) return;
    if (!enter && (defer_leave(o, unit, change.wait_ticks) || hold(o, unit))) return;
    for_each_visible(o, unit, enter, tell);
}

/// Chunk by chunk, in the order of observers, whoever worked on it.
void InterestData::tell_changes() {
    const bool x_possible = is_x_possible(), is_all = is_window_all();
    parts_.clear();
    for (const Worker& worker : workers_) {
        std::size_t begin = 0;
        for (const Worker::Chunk& chunk : worker.chunks) {
            if (chunk.end > begin)
                parts_.push_back(
                    {chunk.number, std::span(worker.changes).subspan(begin, chunk.end - begin)});
            begin = chunk.end;
        }
        PURVIEW_ASSERT(begin == worker.changes.size());
    }
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.chunk < b.chunk; });
    for (const Part& part : parts_) {
        for (const WindowChange& change : part.changes) {
            if (is_all && change.is_there) {
                events_.add({change.unit, change.observer,
                             change.enter ? Reason::entered : Reason::left, change.enter});
            } else {
                tell_change(change, x_possible);
            }
        }
    }
}

/// What is true of the pair now that the tick is done.
Reason InterestData::reason_of(std::uint32_t o, EntityId entity, bool enter) const {
    if (!enter && !observers_.is_live(o)) return Reason::disconnected;
    if (!enter && !is_known(entity)) return Reason::despawned;
    const EntityId unit = unit_of(entity);
    if (is_mixed(unit)) return reason_in_mixed(o, entity, enter);
    const Slot slot = table_.slot_of(unit);
    const Stage stage = facts_of(o, unit, slot).decide(enter);
    if (!enter) {
        const bool hides = stage == Stage::not_ready || stage == Stage::denied ||
                           stage == Stage::force_hidden || stage == Stage::explicit_only ||
                           is_hidden_by_rules(unit) || (has_cuts(unit) && is_cut(o, unit, entity));
        return hides ? Reason::hidden : Reason::left;
    }
    if (stage == Stage::owned) return Reason::owned;
    if (stage == Stage::shown_to_all || stage == Stage::allowed) return Reason::forced;
    return spawned_.contains(index_of(entity)) ? Reason::spawned : Reason::entered;
}

/// Whoever nodes made relevant has time now.
void InterestData::begin_stay(std::uint32_t o, EntityId unit) {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot || is_hidden_by_rules(unit)) return;
    if (facts_of(o, unit, slot).decide(false) == Stage::no_node)
        minimum_relevance_.begin(o, unit, tick_, rules_.minimum_relevance_ticks);
}

void InterestData::publish() {
    changes_.settle(observers_.size());
    events_.publish(
        observers_.size(), changes_,
        [&](const ExplicitChange& change) -> InterestEvent {
            const Reason reason = reason_of(change.observer, change.entity, change.enter);
            return {change.entity, id_of(change.observer), reason, change.enter};
        },
        [&](const ExplicitChange& change) {
            table_.prefetch_home_of(change.entity);
            pairs_.prefetch(change.observer, change.entity);
        });
    if (rules_.minimum_relevance_ticks > 0) {
        for (const PendingEvent& event : events_.pending()) {
            if (event.enter && !event.is_split) begin_stay(index_of(event.observer), event.entity);
        }
        for (const ExplicitChange& change : changes_) {
            if (change.enter && !change.cancelled) begin_stay(change.observer, change.entity);
        }
    }
    events_.clear_pending();
    changes_.clear();
    spawned_.clear();
}

void InterestData::validate() const {
    PURVIEW_VALIDATE(observers_);
    PURVIEW_VALIDATE(groups_);
    PURVIEW_VALIDATE(position_sources_);
    PURVIEW_VALIDATE(minimum_relevance_);
    PURVIEW_VALIDATE(order_);
    PURVIEW_VALIDATE(changed_);
    PURVIEW_VALIDATE(changes_);
    PURVIEW_VALIDATE(events_);
    PURVIEW_VALIDATE(pairs_);
    for (const RowStore& store : rows_) PURVIEW_VALIDATE(store);
    PURVIEW_VALIDATE(splits_);
    PURVIEW_VALIDATE(views_);
    PURVIEW_VALIDATE(facts_table_.bindings);
    PURVIEW_VALIDATE(facts_table_.more_keys);
    PURVIEW_ASSERT(rows_.size() == program_.rows.size());
    PURVIEW_ASSERT(custom_.size() == program_.custom_nodes.size());
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        const Observer& observer = observers_[o];
        const auto& rows = observer.rows;
        PURVIEW_ASSERT(observer.main == EntityId::none || is_known(observer.main));
        PURVIEW_ASSERT(std::is_sorted(rows.begin(), rows.end()));
        PURVIEW_ASSERT(rows.empty() || rows.back().source < rows_.size());
        if (!observer.ready) continue;
        const Window& window = observer.window;
        PURVIEW_ASSERT(order_.contains(o));
        PURVIEW_VALIDATE(window);
        PURVIEW_ASSERT(window.masks().size() ==
                       (std::size_t{1} + program_.plane_count) * window.size());
    }
    const Columns& columns = facts_table_.columns;
    const auto count = [&](std::uint32_t column) {
        std::uint32_t lanes = 0;
        for (const Mask mask : table_.flags(column)) lanes += count_lanes(mask);
        return lanes;
    };
    PURVIEW_ASSERT(count(columns.open) == open_count_);
    PURVIEW_ASSERT(count(columns.shown) + count(columns.global_mode) +
                       count(columns.shown_by_members) ==
                   shown_count_);
    PURVIEW_ASSERT(count(columns.no_window) == no_window_count_);
    PURVIEW_ASSERT(count(columns.bounded) == bounded_count_);
}

void InterestData::tick(const Visibility& visibility) {
    ++tick_;
    PURVIEW_VALIDATE(*this);
    rebound_.swap(rebinding_);
    rebinding_.clear();
    observers_.expire_areas(tick_, [&](EntityId entity) { return is_known(entity); });
    apply_position_sources();
    update_cells();
    update_custom_nodes(visibility);
    check_hides();
    table_.settle_moves();
    shuffle_lanes();
    new_units_.locate(table_);
    if (rules_.measure_scores) begin_changed();
    update_windows();
    tell_changes();
    expire_stays();
    settle_mixed();
    publish();
    caller.user_data.write_to(events_.all());
    PURVIEW_VALIDATE(*this);
    observer_counts_.begin_tick();
    if (rules_.count_observers)
        observer_counts_.count(events_.all(), [&](EntityId entity) { return is_known(entity); });
    if (rules_.measure_scores && measures_late_) measure_changed_late();
    is_anybody_asked_ = false;
    new_units_.clear();
    table_.end_tick();
    observers_.recycle();
}

std::span<const InterestEvent> InterestData::events_of(ObserverId observer) const noexcept {
    return is_observer(observer) ? events_.of(observer) : std::span<const InterestEvent>();
}

}  // namespace purview
