// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How relevant whoever changed is to whom, observer by observer. While its window is at hand, the
// lanes that windows alone decide about are measured together; all others, few as they are, as
// `strength` measures anybody.
#include <algorithm>

#include "interest/interest_data.hpp"

namespace purview {

bool InterestData::has_changed(Slot slot) const noexcept {
    return table_.flag(facts_table_.columns.changed, slot);
}

void InterestData::begin_changed() {
    // Groups with split members and stays are settled when all windows are.
    measures_late_ = splits_.any() || released_.size() > 0 || def_.rules.min_stay_ticks > 0;
    strengths_.assign(observers_.size(), {});
    for (Worker& worker : workers_) worker.strengths.clear();
    changed_.clear();
    changed_open_.clear();
    for (const auto& [source, row] : changed_rows_touched_) changed_rows_[source][row].clear();
    changed_rows_touched_.clear();
    const bool is_all_open = everything_count_ > 0 || def_.level != InterestLevel::full;
    const bool is_any_open = open_count_ > 0 || shown_count_ > 0;
    if (measures_late_ || (!is_all_open && !is_any_open && !has_shared_rows_)) return;
    const auto flags = table_.flags(facts_table_.columns.changed);
    changed_rows_.resize(rows_.size());
    for (BlockIndex block = 0; block < table_.block_end(); ++block) {
        Mask rest = flags[block] & table_.occupied(block);
        for (; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const Slot slot = slot_at(block, static_cast<unsigned>(std::countr_zero(rest)));
            const EntityId unit = table_.entity(slot);
            if (is_all_open) changed_.push_back(unit);
            if (is_any_open && has_open_flag(slot)) changed_open_.push_back(unit);
            for (std::uint32_t s = 0; s < rows_.size(); ++s) {
                if (program_.rows[s].pulled) continue;
                for (const RowStore::Membership at : rows_[s].memberships(unit)) {
                    if (changed_rows_[s].size() <= at.row) changed_rows_[s].resize(at.row + 1);
                    auto& row = changed_rows_[s][at.row];
                    if (row.empty()) changed_rows_touched_.push_back({s, at.row});
                    row.push_back(unit);
                }
            }
        }
    }
}

/// visit(unit) for all that have changed and for which X may hold. Some twice.
template <class Visit>
void InterestData::for_each_changed_x(std::uint32_t o, Visit&& visit) const {
    const Observer& observer = observers_[o];
    const bool sees_all = observer.sees_everything || def_.level != InterestLevel::full;
    for (const EntityId unit : sees_all ? changed_ : changed_open_) visit(unit);
    for (const SourceRow at : observer.rows) {
        if (at.source >= changed_rows_.size() || at.row >= changed_rows_[at.source].size())
            continue;
        for (const EntityId unit : changed_rows_[at.source][at.row]) visit(unit);
    }
    pairs_.for_each_of_observer(o, [&](const PairEntry& pair) {
        const Slot slot = table_.slot_of(pair.entity);
        if (slot != no_slot && has_changed(slot)) visit(pair.entity);
    });
}

/// Takes those out of the picked lanes about whom windows do not decide alone, and lists them.
void InterestData::take_out_special(std::uint32_t o, StrengthList::Picked& picked,
                                    std::vector<EntityId>& special) const {
    special.clear();
    const auto take_out = [&](std::size_t i, unsigned lane) {
        picked.lanes[i] = static_cast<Mask>(picked.lanes[i] & ~lane_bit(lane));
        --picked.count;
    };
    if (is_x_possible()) {
        for_each_changed_x(o, [&](EntityId unit) {
            const Slot slot = table_.slot_of(unit);
            const auto block =
                std::find(picked.blocks.begin(), picked.blocks.end(), block_of(slot));
            const auto i = static_cast<std::size_t>(block - picked.blocks.begin());
            if (i < picked.blocks.size() && (picked.lanes[i] & lane_bit(lane_of(slot))) != 0)
                take_out(i, lane_of(slot));
            for_each_visible(o, unit, true, [&](EntityId one) { special.push_back(one); });
        });
    }
    for (std::size_t i = 0; members_list_.size() > 0 && i < picked.blocks.size(); ++i) {
        for (Mask rest = picked.lanes[i]; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            const EntityId unit = table_.entity(slot_at(picked.blocks[i], lane));
            if (!members_list_.contains(index_of(unit))) continue;
            take_out(i, lane);
            for_each_visible(o, unit, true, [&](EntityId one) { special.push_back(one); });
        }
    }
    std::sort(special.begin(), special.end());
    special.erase(std::unique(special.begin(), special.end()), special.end());
}

void InterestData::measure_changed(std::uint32_t o, const ScanInput& input, Worker& worker) {
    StrengthList& out = worker.strengths;
    StrengthPart& part = strengths_[o];
    part = {static_cast<std::uint32_t>(&worker - workers_.data()), {out.size(), 0}};
    StrengthList::Picked picked =
        out.pick(observers_[o].window, table_.flags(facts_table_.columns.changed));
    take_out_special(o, picked, worker.special);
    const std::span<float> strength = out.add(picked);
    measure_relevant(input, observers_[o].window, picked.blocks, picked.lanes, strength,
                     worker.measure);
    for (const BlockIndex block : picked.blocks)
        table_.prefetch_entity(slot_at(block, 0));  // for name()
    add_measured(o, worker.special, worker);
    part.of.count = out.size() - part.of.begin;
}

/// Those of them that are relevant, as `strength` says.
void InterestData::add_measured(std::uint32_t o, std::span<const EntityId> entities,
                                Worker& worker) {
    if (entities.empty()) return;
    worker.said.resize(entities.size());
    this->strength(id_of(o), entities, worker.said);
    for (std::size_t i = 0; i < entities.size(); ++i) {
        if (worker.said[i] > 0) worker.strengths.add(index_of(entities[i]), worker.said[i]);
    }
}

void InterestData::measure_changed_late() {
    Worker& worker = workers_.front();
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!observers_[o].ready) continue;
        worker.special.clear();
        for_each_relevant(o, [&](EntityId entity) {
            const Slot slot = table_.slot_of(unit_of(entity));
            if (slot != no_slot && has_changed(slot)) worker.special.push_back(entity);
        });
        strengths_[o] = {0, {worker.strengths.size(), 0}};
        add_measured(o, worker.special, worker);
        strengths_[o].of.count = worker.strengths.size() - strengths_[o].of.begin;
    }
    worker.strengths.name(table_);
}

Strengths InterestData::changed_strengths(ObserverId observer) const noexcept {
    const std::uint32_t o = index_of(observer);
    if (!is_observer(observer) || o >= strengths_.size()) return {};
    return workers_[strengths_[o].worker].strengths.of(strengths_[o].of);
}

}  // namespace purview
