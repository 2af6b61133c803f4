// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The tick of the interest engine: moves, then windows, then what has changed for whom.
#include <algorithm>
#include <array>
#include <bit>

#include "core/prefetch.hpp"
#include "core/trim.hpp"
#include "interest/interest_data.hpp"
#include "interest/run_chunks.hpp"

namespace purview {

void InterestData::shuffle_lanes() {
    const std::uint32_t cells = table_.layers().back().first_cell;
    for (std::uint32_t i = 0; i < shuffle_cells && cells > 0; ++i) {
        table_.shuffle_cell(shuffle_random.below(cells));
    }
}

void InterestData::set_executor(const Executor& executor) {
    executor_ = executor;
    const bool counts = workers_.front().scratch.count_tested;
    const std::uint32_t wanted = executor.run == nullptr ? 1 : executor.workers;
    // Windows lie in the memory of workers: there is never one less.
    const std::size_t n = std::clamp<std::size_t>(wanted, workers_.size(), workers_max);
    workers_.resize(std::max(n, workers_.size()));
    set_count_tested(counts);
}

void InterestData::set_count_tested(bool value) noexcept {
    for (Worker& worker : workers_) worker.scratch.count_tested = value;
}

// -- windows --------------------------------------------------------------------------------------

/// Neighbours one after another: they share the blocks that the caches hold. Whoever joins stands
/// at the end for a while.
void InterestData::order_observers() {
    // Windows that are new have no piece yet: they are packed soon.
    constexpr std::uint32_t every = 128, soon = 4, joined_share = 8;
    const bool many_joined = appended_ > order_.size() / joined_share;
    if (!many_joined && ticks_to_order_ > 0) {
        --ticks_to_order_;
        return;
    }
    ticks_to_order_ = many_joined ? soon : every;
    appended_ = 0;
    order_keys_.clear();
    for (const std::uint32_t o : order_) {
        if (!observers_[o].ready) {
            in_order_.reset(o);
            continue;
        }
        collect(o, sight_);
        BlockIndex cell = 0;
        if (!sight_.places.empty()) {
            cell = table_.layers().front().cell_at(sight_.places.front());
        } else if (!sight_.areas.empty()) {
            cell = table_.layers().front().cell_at(sight_.areas.front().centre);
        }
        order_keys_.push_back((std::uint64_t{cell} << 32) | o);
    }
    std::sort(order_keys_.begin(), order_keys_.end());
    order_.clear();
    for (const std::uint64_t key : order_keys_) order_.push_back(static_cast<std::uint32_t>(key));
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
    ScanInput input{.table = table_, .facts = facts_table_, .program = program_};
    input.observer_index = o;
    input.observer = id_of(o);
    input.views = {sight.places, sight.owned_places, sight.main_places};
    input.keys = std::span(observer.keys).first(def_.key_count);
    input.asker.outer_places = facts_table_.axes == Axes::xz
                                   ? std::span<const Vec3>(sight.outer)
                                   : input.views.of(LookFrom::main_and_areas);
    input.asker.areas = sight.areas;
    if (facts_table_.more_keys.any() || observer_keys_.any())
        input.asker.more_keys = observer.more_keys;
    input.asker.main = observer.main;
    input.asker.range_m = observer.range_m;
    input.asker.lookahead_s = observer.lookahead_s;
    if (observer.main != EntityId::none && !facts_table_.velocities.empty())
        input.asker.velocity = facts_table_.velocity(unit_of(observer.main));
    input.asker.tick = tick_;
    input.asker.owned = sight.owned;
    input.is_forced = observer.needs_scan || is_anybody_asked_;
    input.nodes = program_.nodes;
    input.skips_empty = program_.skips_empty;
    input.any_cut = no_window_count_ > 0;
    input.pairs = pairs_.size() > 0 ? &pairs_ : nullptr;
    input.range_classes_m = def_.rules.range_classes_m;
    input.bounds_layer = bounds_layer_;
    input.bounds_max_m = def_.rules.group_bounds_max_m;
    input.rules_revision = rules_revision_;
    return input;
}

namespace {

/// A number of all places and areas: another one, and the observer has moved.
std::uint64_t number_of(const Sight& sight) noexcept {
    std::uint64_t hash = std::uint64_t{sight.places.size()} << 32 | sight.areas.size();
    const auto add = [&](float a, float b) {
        hash = mix64(hash ^ (std::uint64_t{std::bit_cast<std::uint32_t>(a)} << 32 |
                             std::bit_cast<std::uint32_t>(b)));
    };
    for (const Vec3 place : sight.places) {
        add(place.x, place.y);
        if (place.z != 0) add(place.z, 0);
    }
    for (const Area& area : sight.areas) {  // all else of them is set by hand
        add(area.centre.x, area.centre.y);
        add(area.centre.z, 0);
    }
    for (const EntityId unit : sight.owned) hash = mix64(hash ^ static_cast<std::uint64_t>(unit));
    return hash;
}

}  // namespace

void InterestData::look_from(std::uint32_t o, Look& look) const {
    const Observer& observer = observers_[o];
    look.observer = o;
    collect(o, look.sight);
    look.pulled.clear();
    for (std::size_t i = 0; has_pulled_rows_ && i < observer.rows.size(); ++i) {
        const SourceRow at = observer.rows[i];
        if (program_.rows[at.source].pulled) look.pulled.push_back(&rows_[at.source].row(at.row));
    }
    ScanInput& input = look.input.emplace(input_of(o, look.sight));
    input.pulled = look.pulled;
    input.may_be_unplaced = program_.everywhere || input.pulls();
}

void InterestData::update_window(const Look& look, Worker& worker) {
    const std::uint32_t o = look.observer;
    const ScanInput& input = *look.input;
    Observer& observer = observers_[o];
    const std::uint64_t looks_from = number_of(look.sight);
    const bool moved = looks_from != observer.looked_from;
    const bool must = observer.needs_scan || !observer.window.is_made() || has_pulled_rows_ ||
                      program_.pulls_owned || program_.is_restless;
    if (program_.all_wait && !must && !input.is_any_due()) {
        if (moved) {
            rescan_shown(input, observer.window, worker.scratch);
        } else {
            rescan_dirty(input, observer.window, worker.scratch);
        }
    } else if (moved || must || program_.all_wait || has_waiting_) {
        worker.moved.push_back(o);
        scan(input, observer.window, worker.scratch);
        observer.needs_scan = false;
    } else {
        rescan_dirty(input, observer.window, worker.scratch);
    }
    observer.looked_from = looks_from;
}

// -- push: movers wake the observers to whom it matters ----------------------------------------

bool InterestData::can_push() const noexcept {
    // A member of a group that moves with its root is no mover of its own.
    return def_.window_update != WindowUpdate::pull && !def_.measure_changed &&
           program_.is_pushable && !has_pulled_rows_ && member_ids_.size() == 0 &&
           following_count_ == 0 && bounded_count_ == 0;
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
        if (is_outgrown || regions_rules_ != rules_revision_) {
            regions_ = RegionGrid(
                table_.is_three_d(), exchanged(facts_table_.axes, def_.rules.bounds_min),
                exchanged(facts_table_.axes, def_.rules.bounds_max), program_.reach_m(), now);
            regions_rules_ = rules_revision_;
        }
        for (std::uint32_t o = 0; o < observers_.size(); ++o) set_regions(o);
        regions_.end_tick();
    }
    is_pushing_ = pushes;
    table_.keep_nudges(pushes);
    moved_observers_ = 0;
}

/// Where movers look the observer up.
void InterestData::set_regions(std::uint32_t o) {
    sight_.places.clear();
    if (observers_[o].ready) collect(o, sight_);
    regions_.set(o, sight_.places);
}

void InterestData::wake_watchers(EntityId main) {
    for_each_watcher(main, [&](std::uint32_t o) { must_scan(o); });
}

/// Everybody whose window may hold the cell.
void InterestData::wake_cell(BlockIndex cell) {
    const std::uint32_t l = table_.layer_of_cell(cell);
    if (l == unplaced_layer_) return;
    const GridLayer& layer = table_.layers()[l];
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
    const float diagonal =
        std::max(layer.cell_m, table_.layers().front().cell_m) * (three_d ? 1.35F : 1.1F);
    const float bounds_m = l == bounds_layer_ ? def_.rules.group_bounds_max_m : 0;
    regions_.for_each_within({middle(layer.origin.x, x), middle(layer.origin.y, y),
                              three_d ? middle(layer.origin.z, z) : 0},
                             (program_.reach_m() + bounds_m) * 1.001F + diagonal,
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
    const auto watched = table_.flags(facts_table_.columns.watched);
    // Three look-ups ahead: the place and who is there, where its observer is found, and that one.
    constexpr std::size_t nudge_ahead = 16, main_ahead = 10, observer_ahead = 5;
    const auto nudges = table_.nudges();
    const auto is_watched = [&](Slot slot) {
        const Mask here = table_.occupied(block_of(slot));
        return !watched.empty() && (watched[block_of(slot)] & here & lane_bit(lane_of(slot))) != 0;
    };
    for (std::size_t i = 0; i < nudges.size(); ++i) {
        if (i + nudge_ahead < nudges.size()) {
            const Slot slot = nudges[i + nudge_ahead].slot;
            table_.prefetch_place(slot);
            if (is_watched(slot)) table_.prefetch_entity(slot);
        }
        if (i + main_ahead < nudges.size() && is_watched(nudges[i + main_ahead].slot)) {
            const Slot slot = nudges[i + main_ahead].slot;
            table_.prefetch_home(slot);
            mains_.prefetch(table_.entity_index(slot));
        }
        if (i + observer_ahead < nudges.size() && is_watched(nudges[i + observer_ahead].slot)) {
            const std::uint32_t main = table_.entity_index(nudges[i + observer_ahead].slot);
            if (const std::uint32_t* o = mains_.find(main)) prefetch_line(&observers_[*o]);
        }
        const Nudge& nudge = nudges[i];
        const BlockIndex block = block_of(nudge.slot);
        const Mask bit = lane_bit(lane_of(nudge.slot));
        if ((table_.occupied(block) & bit) == 0) continue;  // it left: its cells are dirty
        if (is_watched(nudge.slot)) wake_watchers(table_.entity(nudge.slot));
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

void InterestData::update_chunk(Worker& worker, std::size_t chunk) {
    // Three look-ups ahead of the scan: the observer, the home of its main entity, lane and window.
    constexpr std::size_t observer_ahead = 16, home_ahead = 10, window_ahead = 5;
    const std::size_t n = active_.size(), end = std::min(n, (chunk + 1) * chunk_observers);
    const bool measures = def_.measure_changed && !measures_late_;
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
        if (measures) measure_changed(worker.look, worker);
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
                                table_.slot_of(unit) != no_slot});
    }
    toggles.clear();
}

void InterestData::update_windows() {
    for (Worker& worker : workers_) {
        clear_and_trim(worker.changes);
        worker.chunks.clear();
        worker.moved.clear();
    }
    if (program_.nodes.empty() && !any_needs_scan_ && !def_.measure_changed) return;
    order_observers();
    const bool anything = table_.is_any_dirty() || any_needs_scan_ || !table_.nudges().empty() ||
                          program_.is_restless || has_waiting_;
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
    const std::size_t chunks = (active_.size() + chunk_observers - 1) / chunk_observers;
    run_chunks(executor_, workers_.size(), chunks, [&](std::size_t worker, std::size_t chunk) {
        update_chunk(workers_[worker], chunk);
    });
    any_needs_scan_ = false;
    for (Worker& worker : workers_) {
        moved_observers_ += worker.moved.size();
        counters.windows_scanned += worker.moved.size();
        for (std::size_t i = 0; is_pushing_ && i < worker.moved.size(); ++i)
            set_regions(worker.moved[i]);
        counters.blocks_tested += worker.scratch.blocks_tested;
        counters.lanes_tested += worker.scratch.lanes_tested;
        worker.scratch.blocks_tested = worker.scratch.lanes_tested = 0;
    }
    choose_update();
    regions_.end_tick();
}

void InterestData::prefetch_window(const Observer& observer) const noexcept {
    constexpr std::size_t lines_max = 8;  // beyond that the machine sees the stream itself
    const std::byte* data = observer.window.data();
    const std::size_t end = std::min(observer.window.bytes(), lines_max * cache_line_bytes);
    for (std::size_t at = 0; at < end; at += cache_line_bytes) prefetch_line(data + at);
    const Slot slot = table_.slot_of(observer.main);
    if (slot != no_slot) table_.prefetch_place(slot);
}

/// Nothing but what windows say makes events in this tick: there is nothing to look up.
bool InterestData::is_window_all() const noexcept {
    return !is_x_possible() && no_window_count_ == 0 && !has_hiding_flags_ &&
           spawned_list_.empty() && members_list_.size() == 0 && !splits_.any() &&
           released_.size() == 0 && def_.rules.min_stay_ticks == 0 && facts_.empty();
}

/// An event, unless the pair holds for another reason all the while.
void InterestData::tell_change(const WindowChange& change, bool x_possible) {
    const std::uint32_t o = index_of(change.observer);
    const EntityId unit = change.unit;
    const bool enter = change.enter;
    const auto tell = [&](EntityId member) {
        if (cancel_fact(o, member, enter)) return;
        pending_.push_back({change.observer, member, reason_of(o, member, enter), enter});
    };
    if (is_mixed(unit)) return touch_mixed(o, unit);
    // Who is gone has nobody below him; whoever has his index now is another.
    if (!change.is_there) return tell(unit);
    if (x_possible && x_holds(o, unit)) return;
    if (!enter && hold(o, unit)) return;
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
    }
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.chunk < b.chunk; });
    for (const Part& part : parts_) {
        for (const WindowChange& change : part.changes) {
            if (is_all && change.is_there) {
                pending_.push_back({change.observer, change.unit,
                                    change.enter ? Reason::entered : Reason::left, change.enter});
            } else {
                tell_change(change, x_possible);
            }
        }
    }
}

/// What is true of the pair now that the tick is done.
Reason InterestData::reason_of(std::uint32_t o, EntityId entity, bool enter) const {
    if (!enter && !observer_pool_.is_live(o)) return Reason::disconnected;
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
    const std::uint32_t index = index_of(entity);
    return index < spawned_.size() && spawned_.test(index) ? Reason::spawned : Reason::entered;
}

/// Whoever nodes made relevant has time now.
void InterestData::begin_stay(std::uint32_t o, EntityId unit) {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot || is_hidden_by_rules(unit)) return;
    if (facts_of(o, unit, slot).decide(false) == Stage::no_node)
        stays_.begin(o, unit, tick_, def_.rules.min_stay_ticks);
}

/// Counting sort by observer: first what is pending, then facts; each in the order of making.
void InterestData::publish() {
    constexpr std::size_t ahead = 16;
    settle_facts();
    events_of_observer_.clear(observers_.size());
    for (const Pending& event : pending_) events_of_observer_.count(index_of(event.observer));
    for (const Fact& fact : facts_) {
        if (!fact.cancelled) events_of_observer_.count(fact.observer);
    }
    events_of_observer_.settle();
    // All are written over; only a list that has become far too long is given back.
    const std::size_t size = events_of_observer_.size();
    if (events_.capacity() > 8 * size) clear_and_trim(events_);
    events_.resize(size);
    for (const Pending& event : pending_) {
        events_[events_of_observer_.next(index_of(event.observer))] = {event.observer, event.entity,
                                                                       event.reason, event.enter};
    }
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        if (i + ahead < facts_.size()) {
            table_.prefetch_home_of(facts_[i + ahead].entity);
            pairs_.prefetch(facts_[i + ahead].observer, facts_[i + ahead].entity);
        }
        const Fact& fact = facts_[i];
        if (fact.cancelled) continue;
        events_[events_of_observer_.next(fact.observer)] = {
            id_of(fact.observer), fact.entity, reason_of(fact.observer, fact.entity, fact.enter),
            fact.enter};
    }
    if (def_.rules.min_stay_ticks > 0) {
        for (const Pending& event : pending_) {
            if (event.enter && !event.is_mixed) begin_stay(index_of(event.observer), event.entity);
        }
        for (const Fact& fact : facts_) {
            if (fact.enter && !fact.cancelled) begin_stay(fact.observer, fact.entity);
        }
    }
    clear_and_trim(pending_);
    clear_and_trim(facts_);
    facts_settled_ = 0;
    for (const std::uint32_t index : spawned_list_) spawned_.reset(index);
    clear_and_trim(spawned_list_);
}

/// Observers of every entity of an event, and who got the first or lost the last (F18).
void InterestData::count_observers() {
    edges_.clear();
    if (!def_.count_observers) return;
    gained_.clear();
    for (const RelevanceEvent& event : events_) {
        const std::uint32_t index = index_of(event.entity);
        if (observer_counts_.size() <= index) observer_counts_.resize(index + 1 + index / 8, 0);
        const std::uint32_t gain = event.enter ? 1 : static_cast<std::uint32_t>(-1);
        observer_counts_[index] += gain;
        gained_[static_cast<std::uint64_t>(event.entity)] += gain;  // an index may have had two
    }
    for (const RelevanceEvent& event : events_) {
        const std::uint32_t* gained = gained_.find(static_cast<std::uint64_t>(event.entity));
        if (gained == nullptr) continue;
        const std::uint32_t now = observer_counts_[index_of(event.entity)];
        const std::uint32_t before = now - *gained;
        if ((before == 0) != (now == 0) && is_known(event.entity))
            edges_.push_back({event.entity, now > 0});
        gained_.erase(static_cast<std::uint64_t>(event.entity));
    }
}

void InterestData::tick(const InterestManager& manager) {
    ++tick_;
    rebound_.swap(rebinding_);
    rebinding_.clear();
    expire_areas();
    apply_overrides();
    update_cells();
    update_custom_nodes(manager);
    check_hides();
    table_.settle_moves();
    shuffle_lanes();
    if (def_.measure_changed) begin_changed();
    update_windows();
    tell_changes();
    expire_stays();
    settle_mixed();
    publish();
    count_observers();
    if (def_.measure_changed && measures_late_) measure_changed_late();
    is_anybody_asked_ = false;
    table_.end_tick();
    observer_pool_.recycle();
}

std::span<const RelevanceEvent> InterestData::events_of(ObserverId observer) const noexcept {
    const std::uint32_t o = index_of(observer);
    if (!is_observer(observer) || o >= events_of_observer_.keys()) return {};
    const std::uint32_t begin = events_of_observer_.begin(o), end = events_of_observer_.end(o);
    if (begin < end && events_[begin].observer != observer) return {};  // who had the index before
    return std::span(events_).subspan(begin, end - begin);
}

}  // namespace purview
