// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The tick of the interest engine: moves, then windows, then what has changed for whom.
#include <algorithm>
#include <bit>

#include "interest/interest_data.hpp"

namespace purview {

void InterestData::apply_moves() {
    for (const Move& move : moves_) {
        const Slot slot = table_.slot_of(move.entity);
        if (slot == no_slot) continue;  // despawned since, or a member of a group
        if (table_.layer_of(block_of(slot)) == unplaced_layer_) continue;
        (void)table_.move(slot, move.place);
    }
    moves_.clear();
}

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
    for (const Area& area : observer.areas) out.push_back(area.centre);
}

void InterestData::update_windows() {
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        Observer& observer = observers_[o];
        if (!observer.ready) continue;
        collect_places(observer, places_);
        toggles_.clear();
        pulled_.clear();
        for (std::size_t s = 0; s < rows_.size(); ++s) {
            if (rows_[s].source().pulled && observer.rows[s] != no_row) {
                pulled_.push_back(&rows_[s].row(observer.rows[s]));
            }
        }
        const ScanInput input{id_of(o), places_,  std::span(observer.keys).first(def_.key_count),
                              table_,   program_, force_hidden_,
                              pulled_};
        scan(input, observer.window, scratch_, toggles_, [&](BlockIndex block, Mask mask) {
            Mask special = mask & table_.flags(special_)[block];
            for (; special != 0; special &= static_cast<Mask>(special - 1)) {
                const auto lane = static_cast<unsigned>(std::countr_zero(special));
                const PairEntry* pair = pairs_.find(o, table_.entity(slot_at(block, lane)));
                if (pair != nullptr && pair->deny) mask = static_cast<Mask>(mask & ~lane_bit(lane));
            }
            return mask;
        });
        counters.blocks_tested += observer.window.blocks.size();
        ++counters.windows_scanned;
        for (const Toggle& toggle : toggles_) {
            if (x_holds(o, toggle.entity)) continue;
            Reason reason = Reason::entered;
            if (toggle.enter) {
                const EntityId* spawned = spawned_.find(index_of(toggle.entity));
                if (spawned != nullptr && *spawned == toggle.entity) reason = Reason::spawned;
            } else {
                reason = leave_reason(o, toggle.entity);
            }
            for_each_member(toggle.entity, toggle.enter, [&](EntityId member) {
                if (cancel_fact(o, member, toggle.enter)) return;
                pending_.push_back({o, member, reason, toggle.enter});
            });
        }
    }
}

Reason InterestData::leave_reason(std::uint32_t observer, EntityId unit) const noexcept {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot) return Reason::despawned;
    if (table_.flag(force_hidden_, slot)) return Reason::hidden;
    const PairEntry* pair = pairs_.find(observer, unit);
    if (pair != nullptr && pair->deny) return Reason::hidden;
    for (const NodeProgram& node : program_.nodes) {
        for (const Step& step : node.steps) {
            if (step.op == StepOp::subtract && step.kernel->depends_on() == DependsOn::entity &&
                step.kernel->test_entity(table_, slot)) {
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
    events_.resize(pending_.size());
    event_next_.assign(event_begin_.begin(), event_begin_.end());
    for (const Pending& event : pending_) {
        events_[event_next_[event.observer]++] = {id_of(event.observer), event.entity, event.reason,
                                                  event.enter};
    }
    pending_.clear();
    facts_.clear();
    fact_index_.clear();
    spawned_.clear();
}

void InterestData::tick() {
    apply_moves();
    shuffle_lanes();
    update_windows();
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
