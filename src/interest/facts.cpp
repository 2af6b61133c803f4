// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What holds between an observer and a unit besides windows, the log of what changed in it, and the
// minimum stay.
#include <algorithm>

#include "interest/interest_data.hpp"

namespace purview {

// -- who is who -----------------------------------------------------------------------------------

EntityId InterestData::unit_of(EntityId entity) const noexcept {
    if (member_ids_.size() == 0) return entity;
    return is_member(entity) ? *unit_of_member_.find(index_of(entity)) : entity;
}

bool InterestData::is_member(EntityId entity) const noexcept {
    if (member_ids_.size() == 0 || index_of(entity) >= entity_index_end) return false;
    const EntityId* id = member_ids_.find(index_of(entity));
    return id != nullptr && *id == entity;
}

bool InterestData::is_known(EntityId entity) const noexcept {
    return table_.slot_of(entity) != no_slot || is_member(entity);
}

// -- W and X --------------------------------------------------------------------------------------

bool InterestData::in_window(std::uint32_t observer, EntityId unit) const noexcept {
    const Slot slot = table_.slot_of(unit);
    return slot != no_slot && observers_[observer].window.contains(slot, table_.cell_end());
}

bool InterestData::in_rows(std::uint32_t o, EntityId unit) const noexcept {
    const auto& mine = observers_[o].rows;
    if (mine.empty()) return false;
    bool found = false;
    // By the entity's nodes: it has few, an observer may look into thousands.
    for_each_source_of(unit, {}, [&](std::uint32_t source) {
        if (found || program_.rows[source].pulled) return;
        for (const auto at : rows_[source].memberships(unit)) {
            if (!rows_[source].is_live(at)) continue;
            found =
                found || std::binary_search(mine.begin(), mine.end(), SourceRow{source, at.row});
        }
    });
    return found;
}

PairFacts InterestData::facts_of(std::uint32_t o, EntityId unit, Slot slot) const noexcept {
    return facts_of(o, slot, pairs_.find(o, unit));
}

bool InterestData::x_holds(std::uint32_t o, EntityId unit) const noexcept {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot || !observers_[o].ready) return false;
    const PairEntry* pair = pairs_.find(o, unit);
    return x_holds(o, unit, slot, pair, facts_of(o, slot, pair));
}

bool InterestData::has_open_flag(Slot slot) const noexcept {
    const Columns& columns = facts_table_.columns;
    return table_.flag(columns.open, slot) || table_.flag(columns.shown, slot) ||
           table_.flag(columns.global_mode, slot) || table_.flag(columns.shown_by_members, slot);
}

bool InterestData::is_open_to_all(Slot slot) const noexcept {
    return def_.level != InterestLevel::full || has_open_flag(slot);
}

/// In the block, who is shown to all observers by a node, by hand, by its mode or by a member.
Mask InterestData::open_lanes(BlockIndex block) const noexcept {
    const Columns& columns = facts_table_.columns;
    unsigned lanes = 0;
    for (const std::uint32_t column :
         {columns.open, columns.shown, columns.global_mode, columns.shown_by_members}) {
        const std::span<const Mask> flags = table_.flags(column);
        if (!flags.empty()) lanes |= flags[block];
    }
    return static_cast<Mask>(lanes & table_.occupied(block));
}

bool InterestData::sees_all(const Observer& observer) const noexcept {
    return observer.sees_everything || def_.level != InterestLevel::full;
}

bool InterestData::is_x_possible() const noexcept {
    return open_count_ > 0 || !see_everything_.empty() || shown_count_ > 0 || pairs_.size() > 0 ||
           has_shared_rows_ || def_.level != InterestLevel::full;
}

// -- the log of facts -----------------------------------------------------------------------------

void InterestData::log_fact(std::uint32_t observer, EntityId entity, bool enter) {
    facts_.push_back({observer, entity, enter, false});
}

/// Of a pair whose facts contradict each other none is left. What is not settled is one more turn
/// through all: facts are logged before any is cancelled, but for a few.
void InterestData::settle_facts() {
    if (facts_settled_ == facts_.size()) return;
    sort_facts();
    constexpr std::size_t ahead = 16;
    for (std::uint32_t o = 0; o < facts_of_observer_.keys(); ++o) {
        last_facts_of_ = o;
        for (std::uint32_t i = facts_of_observer_.begin(o); i < facts_of_observer_.end(o); ++i) {
            if (i + ahead < facts_.size() && index_of(facts_[i + ahead].entity) < last_fact_.size())
                prefetch_line(&last_fact_[index_of(facts_[i + ahead].entity)]);
            Fact& fact = facts_[i];
            if (fact.cancelled) continue;
            if (last_fact_.size() <= index_of(fact.entity))
                last_fact_.resize(
                    std::max<std::size_t>(index_of(fact.entity) + 1, table_.index_end()), 0);
            Fact* earlier = find_fact(o, i, fact.entity);
            last_fact_[index_of(fact.entity)] = i;
            if (earlier != nullptr && earlier->enter != fact.enter)
                earlier->cancelled = fact.cancelled = true;
        }
    }
    facts_settled_ = facts_.size();
}

/// By observer; those of one stay in the order of logging.
void InterestData::sort_facts() {
    const auto by_observer = [](const Fact& left, const Fact& right) {
        return left.observer < right.observer;
    };
    facts_of_observer_.clear(observers_.size());
    for (const Fact& fact : facts_) facts_of_observer_.count(fact.observer);
    facts_of_observer_.settle();
    if (std::is_sorted(facts_.begin(), facts_.end(), by_observer)) return;
    facts_unsorted_.swap(facts_);
    facts_.resize(facts_unsorted_.size());
    for (const Fact& fact : facts_unsorted_) facts_[facts_of_observer_.next(fact.observer)] = fact;
}

/// The last one about the pair before `end` that counts, or null; of last_facts_of_.
InterestData::Fact* InterestData::find_fact(std::uint32_t observer, std::size_t end,
                                            EntityId entity) noexcept {
    // What stands there may be of another tick, or observer: it is looked at, not believed.
    const std::uint32_t at =
        index_of(entity) < last_fact_.size() ? last_fact_[index_of(entity)] : ~std::uint32_t{0};
    const std::uint32_t begin = facts_of_observer_.begin(observer);
    if (at < begin || at >= end) return nullptr;
    Fact* fact = &facts_[at];
    // The index may have had another entity since: then all before it are looked through.
    if (fact->entity != entity && index_of(fact->entity) == index_of(entity)) {
        while (fact > &facts_[begin] && fact->entity != entity) --fact;
    }
    return fact->entity == entity && !fact->cancelled ? fact : nullptr;
}

/// What is to be told of the pair so far in this tick, or null.
InterestData::Fact* InterestData::fact_of(std::uint32_t observer, EntityId entity) {
    if (facts_.empty()) return nullptr;
    settle_facts();
    const std::uint32_t begin = facts_of_observer_.begin(observer);
    const std::uint32_t end = facts_of_observer_.end(observer);
    if (begin == end) return nullptr;
    if (last_facts_of_ != observer) {
        for (std::uint32_t i = begin; i < end; ++i) {
            if (!facts_[i].cancelled) last_fact_[index_of(facts_[i].entity)] = i;
        }
        last_facts_of_ = observer;
    }
    return find_fact(observer, end, entity);
}

bool InterestData::cancel_fact(std::uint32_t observer, EntityId entity, bool enter) {
    Fact* fact = fact_of(observer, entity);
    if (fact == nullptr || fact->enter == enter) return false;
    fact->cancelled = true;
    return true;
}

void InterestData::note(std::uint32_t observer, EntityId unit, bool before, bool after) {
    if (before == after) return;
    if (is_mixed(unit)) return touch_mixed(observer, unit);
    if (in_window(observer, unit)) return;
    if (before && hold(observer, unit)) return;
    for_each_visible(observer, unit, after,
                     [&](EntityId member) { log_fact(observer, member, after); });
}

void InterestData::touch(std::uint32_t observer, EntityId unit) {
    if (touch_stamp_.size() < observers_.size()) touch_stamp_.resize(observers_.size(), 0);
    if (touch_stamp_[observer] == stamp_) return;
    touch_stamp_[observer] = stamp_;
    ++pairs_asked;
    touched_.push_back({observer, x_holds(observer, unit)});
}

void InterestData::touch_all(EntityId unit) {
    ++stamp_;
    touched_.clear();
    for_each_x_candidate(unit, [&](std::uint32_t o) { touch(o, unit); });
    touched_before_ = touched_.size();
    // What X said of a window bit counts as of now: the slot may be gone afterwards.
    for (auto& entry : touched_) {
        if (in_window(entry.observer, unit)) entry.observer = IdPool::no_index;
    }
}

void InterestData::tell_touched(EntityId unit) {
    for_each_x_candidate(unit, [&](std::uint32_t o) { touch(o, unit); });
    note_hide(unit);
    for (std::size_t i = 0; i < touched_.size(); ++i) {
        const auto [o, before] = touched_[i];
        if (o == IdPool::no_index) continue;
        note(o, unit, i < touched_before_ && before, x_holds(o, unit));
    }
}

// -- minimum stay ---------------------------------------------------------------------------------

/// Its time is not over in tick `at`, and nothing has hidden it since it came.
bool InterestData::has_stay(std::uint32_t o, EntityId unit, Tick at) const {
    const Stays::Stay* stay = stays_.find(o, unit);
    if (stay == nullptr || stay->until <= at) return false;
    const bool was_hidden =
        index_of(unit) < hidden_at_.size() && hidden_at_[index_of(unit)] > stay->from;
    return !was_hidden && stay->from > observers_[o].ready_since;
}

/// A pair that no node wants any more stays for the rest of its time, unless it is hidden.
bool InterestData::hold(std::uint32_t o, EntityId unit) {
    if (def_.rules.min_stay_ticks == 0) return false;
    const Stays::Stay* stay = stays_.find(o, unit);
    const Slot slot = table_.slot_of(unit);
    if (stay == nullptr || stay->until <= tick_ || slot == no_slot) return false;
    const Stage stage = facts_of(o, unit, slot).decide(false);
    const bool by_hand = stage == Stage::force_hidden || stage == Stage::explicit_only;
    if (stage != Stage::no_node && !by_hand) return false;
    // Between ticks a hide may be taken back: it counts where it stands in check_hides.
    const bool is_hidden = by_hand || is_hidden_by_rules(unit);
    if (!has_stay(o, unit, tick_) || (is_hidden && hide_checks_.empty())) {
        stays_.end(o, unit);
        return false;
    }
    if (is_hidden && hide_checks_.back() != unit) note_hide(unit);
    pairs_.edit(o, unit).held = true;
    return !by_hand;
}

/// By steps that ask the entity alone: a node that subtracts hides those whom they show together,
/// any other those whom one of them subtracts.
bool InterestData::hides(const WholeNode& node, const Slots& slots, Slot slot) {
    const bool subtracts = node.program.combine == StepOp::subtract;
    bool is_hidden = false;
    for (const Step& step : node.program.steps) {
        if (!subtracts && step.op != StepOp::subtract) continue;
        if (step.kernel->depends_on() != DependsOn::entity) continue;
        const bool yes = step.kernel->test_entity(slots, slot);
        if (!subtracts || step.op == StepOp::add) {
            is_hidden |= yes;
        } else {
            is_hidden &= yes == (step.op == StepOp::require);
        }
    }
    return is_hidden;
}

bool InterestData::is_hidden_by_rules(EntityId unit) const {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot || !has_hiding_flags_) return false;
    const Slots slots(table_, facts_table_);
    for (const WholeNode& node : program_.whole) {
        if (node.is_custom || def_.rules.nodes.empty()) continue;
        const NodeMembers members = def_.rules.nodes[index_of(node.id)].members;
        if (facts_table_.bindings.is_member(node.id, members, unit) && hides(node, slots, slot))
            return true;
    }
    return false;
}

/// Its facts changed: whether that hides it is seen when the tick's facts are complete.
void InterestData::note_hide(EntityId unit) {
    if (def_.rules.min_stay_ticks > 0) hide_checks_.push_back(unit);
}

/// A hide ends the stay of all its pairs, for good, and a denial that of its own.
void InterestData::check_hides() {
    for (const auto& [o, unit] : denial_checks_) {
        const PairEntry* pair = pairs_.find(o, unit);
        if (pair != nullptr && pair->deny) end_hold(o, unit);
    }
    denial_checks_.clear();
    for (const EntityId unit : hide_checks_) {
        const Slot slot = table_.slot_of(unit);
        if (slot == no_slot) continue;
        const Columns& columns = facts_table_.columns;
        const bool is_hidden = table_.flag(columns.force_hidden, slot) ||
                               table_.flag(columns.explicit_only, slot) || is_hidden_by_rules(unit);
        if (!is_hidden) continue;
        if (hidden_at_.size() <= index_of(unit)) hidden_at_.resize(index_of(unit) + 1, 0);
        hidden_at_[index_of(unit)] = tick_;
        std::vector<std::uint32_t> holders;
        pairs_.for_each_of_entity(unit, [&](std::uint32_t o, const PairEntry& pair) {
            if (pair.held) holders.push_back(o);
        });
        for (const std::uint32_t o : holders) end_hold(o, unit);
    }
    hide_checks_.clear();
}

void InterestData::end_hold(std::uint32_t o, EntityId unit) {
    const PairEntry* pair = pairs_.find(o, unit);
    stays_.end(o, unit);
    if (pair == nullptr || !pair->held) return;
    const bool before = x_holds(o, unit);
    pairs_.edit(o, unit).held = false;
    pairs_.settle(o, unit);
    note(o, unit, before, x_holds(o, unit));
}

/// After the windows: who came back in this very tick stays.
void InterestData::expire_stays() {
    if (stays_.size() == 0) return;
    stays_.expire(tick_, [&](std::uint32_t o, EntityId unit) { end_hold(o, unit); });
}

}  // namespace purview
