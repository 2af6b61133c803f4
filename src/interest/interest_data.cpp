// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/interest_data.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace purview {

namespace {

bool is_finite(Vec3 p) noexcept {
    return std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.z);
}

/// About twelve entities to a cell (measured best for blocks of 16); where everybody sees a crowd,
/// far more, as then changing cells costs more than testing. Never so small that the table outgrows
/// its use.
float derive_cell(const InterestRules& rules, float reach_m) {
    constexpr double entities_per_cell = 12, crowd = 1000, crowd_share = 0.25;
    const double area = (double{rules.bounds_max.x} - rules.bounds_min.x) *
                        (double{rules.bounds_max.y} - rules.bounds_min.y);
    const double smallest = std::sqrt(area / 4'000'000.0);
    double cell = rules.cell_m;
    if (!(cell > 0)) {
        const double expected = std::max<double>(rules.entities_expected, 1);
        const double seen =
            std::min(expected, expected / area * std::numbers::pi * reach_m * reach_m);
        const double per_cell = seen < crowd ? entities_per_cell : seen * crowd_share;
        cell = std::sqrt(per_cell * area / expected);
        if (reach_m > 0) cell = std::clamp(cell, reach_m / 16.0, reach_m * 1.0);
    }
    return static_cast<float>(std::max(cell, smallest));
}

}  // namespace

InterestData::InterestData(const InterestDef& def)
    : def_(def),
      names_{def.flag_names, def.key_names},
      program_(compile(def.rules, names_)),
      table_(false),
      observer_pool_(def.observers_max, (1U << (32 - observer_index_bits)) - 1),
      regions_(false, def.rules.bounds_min, def.rules.bounds_max, program_.reach_m, 1) {
    table_.add_layer(def.rules.bounds_min, def.rules.bounds_max,
                     derive_cell(def.rules, program_.reach_m));
    unplaced_layer_ = table_.add_unplaced_layer();
    table_.reserve(def.rules.entities_expected);
    for (std::uint32_t f = 0; f < def.flag_count; ++f) table_.add_flag_column();
    for (std::uint32_t k = 0; k < def.key_count; ++k) table_.add_key_column();
    force_hidden_ = table_.add_flag_column();
    global_ = table_.add_flag_column();
    special_ = table_.add_flag_column();
    watched_ = table_.add_flag_column();
    rows_.reserve(program_.rows.size());
    for (const RowSource& source : program_.rows) {
        rows_.emplace_back(source);
        (source.pulled ? has_pulled_rows_ : has_shared_rows_) = true;
    }
    for (const NodeProgram& node : program_.nodes) {
        for (const Step& step : node.steps) {
            has_hiding_flags_ |=
                step.op == StepOp::subtract && step.kernel->depends_on() == DependsOn::entity;
        }
    }
}

// -- who is who ---------------------------------------------------------------------------------

EntityId InterestData::unit_of(EntityId entity) const noexcept {
    if (member_ids_.size() == 0) return entity;
    return is_member(entity) ? *unit_of_member_.find(index_of(entity)) : entity;
}

bool InterestData::is_member(EntityId entity) const noexcept {
    const EntityId* id = member_ids_.find(index_of(entity));
    return id != nullptr && *id == entity;
}

bool InterestData::is_known(EntityId entity) const noexcept {
    return table_.slot_of(entity) != no_slot || is_member(entity);
}

bool InterestData::in_window(std::uint32_t observer, EntityId unit) const noexcept {
    const Slot slot = table_.slot_of(unit);
    return slot != no_slot && observers_[observer].window.contains(slot, table_.cell_end());
}

bool InterestData::in_rows(std::uint32_t observer, EntityId unit) const noexcept {
    for (std::size_t s = 0; s < rows_.size(); ++s) {
        const std::uint32_t row = observers_[observer].rows[s];
        if (row == no_row || rows_[s].source().pulled) continue;
        const auto at = rows_[s].membership(unit);
        if (at.row == row && rows_[s].is_live(at)) return true;
    }
    return false;
}

PairFacts InterestData::facts_of(std::uint32_t o, EntityId unit, Slot slot) const noexcept {
    const Observer& observer = observers_[o];
    const PairEntry* pair = pairs_.find(o, unit);
    PairFacts facts;
    facts.ready = observer.ready;
    facts.denied = pair != nullptr && pair->deny;
    facts.owned = pair != nullptr && pair->owned > 0;
    facts.allowed = pair != nullptr && pair->allow;
    facts.force_hidden = table_.flag(force_hidden_, slot);
    facts.shown_to_all = table_.flag(global_, slot);
    facts.sees_everything = observer.sees_everything;
    return facts;
}

bool InterestData::x_holds(std::uint32_t o, EntityId unit) const noexcept {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot || !observers_[o].ready) return false;
    const Stage stage = facts_of(o, unit, slot).decide(false);
    if (stage != Stage::no_node) return is_yes(stage);
    return program_.everything || in_rows(o, unit);
}

Key InterestData::key_of(EntityId entity, std::size_t domain) const noexcept {
    const Slot slot = table_.slot_of(unit_of(entity));
    return slot == no_slot ? Key::none : table_.key(static_cast<std::uint32_t>(domain), slot);
}

// -- the log of facts ---------------------------------------------------------------------------

bool InterestData::cancel_fact(std::uint32_t observer, EntityId entity, bool enter) {
    if (fact_index_.size() == 0) return false;
    const std::uint64_t pair = PairTable::key(observer, index_of(entity));
    const std::uint32_t* at = fact_index_.find(pair);
    if (at == nullptr) return false;
    Fact& fact = facts_[*at];
    if (fact.entity != entity || fact.enter == enter) return false;
    fact.cancelled = true;
    fact_index_.erase(pair);
    return true;
}

void InterestData::log_fact(std::uint32_t observer, EntityId entity, bool enter, Reason reason) {
    if (cancel_fact(observer, entity, enter)) return;
    fact_index_[PairTable::key(observer, index_of(entity))] =
        static_cast<std::uint32_t>(facts_.size());
    facts_.push_back({observer, entity, reason, enter, false});
}

void InterestData::note(std::uint32_t observer, EntityId unit, bool before, bool after,
                        Reason enter, Reason leave) {
    if (before == after || in_window(observer, unit)) return;
    for_each_member(unit, after, [&](EntityId member) {
        log_fact(observer, member, after, after ? enter : leave);
    });
}

template <class Visit>
void InterestData::for_each_x_candidate(EntityId unit, Visit&& visit) const {
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot) return;
    if (program_.everything || everything_count_ > 0 || table_.flag(global_, slot)) {
        for (std::uint32_t o = 0; o < observers_.size(); ++o) {
            if (observers_[o].ready) visit(o);
        }
        return;
    }
    for (const RowStore& store : rows_) {
        if (store.source().pulled) continue;
        if (const auto at = store.membership(unit); at.row != no_row) {
            for (const std::uint32_t o : store.row(at.row).observers) visit(o);
        }
    }
    for (const std::uint32_t o : pairs_.observers_of(unit)) visit(o);
}

void InterestData::touch(std::uint32_t observer, EntityId unit) {
    if (touch_stamp_.size() < observers_.size()) touch_stamp_.resize(observers_.size(), 0);
    if (touch_stamp_[observer] == stamp_) return;
    touch_stamp_[observer] = stamp_;
    touched_.push_back({observer, x_holds(observer, unit)});
}

template <class Edit>
void InterestData::edit_unit(EntityId unit, Reason enter, Reason leave, Edit&& edit) {
    ++stamp_;
    touched_.clear();
    for_each_x_candidate(unit, [&](std::uint32_t o) { touch(o, unit); });
    const std::size_t known = touched_.size();
    // What X said of a window bit counts as of now: the slot may be gone afterwards.
    for (auto& entry : touched_) {
        if (in_window(entry.observer, unit)) entry.observer = IdPool::no_index;
    }
    edit();
    for_each_x_candidate(unit, [&](std::uint32_t o) { touch(o, unit); });
    for (std::size_t i = 0; i < touched_.size(); ++i) {
        const auto [o, before] = touched_[i];
        if (o == IdPool::no_index) continue;
        note(o, unit, i < known && before, x_holds(o, unit), enter, leave);
    }
}

template <class Edit>
void InterestData::edit_observer(std::uint32_t o, Reason enter, Reason leave, Edit&& edit) {
    const auto for_each_x_unit = [&](auto&& visit) {
        if (program_.everything || observers_[o].sees_everything || global_count_ > 0) {
            for (BlockIndex block = 0; block < table_.block_end(); ++block) {
                for (Mask rest = table_.occupied(block); rest != 0;
                     rest &= static_cast<Mask>(rest - 1)) {
                    visit(table_.entity(
                        slot_at(block, static_cast<unsigned>(std::countr_zero(rest)))));
                }
            }
            return;
        }
        for (std::size_t s = 0; s < rows_.size(); ++s) {
            if (observers_[o].rows[s] == no_row || rows_[s].source().pulled) continue;
            for (const EntityId unit : rows_[s].row(observers_[o].rows[s]).members) {
                if (unit != EntityId::none) visit(unit);
            }
        }
        for (const EntityId unit : pairs_.entities_of(o)) visit(unit);
    };
    std::vector<EntityId>& before = edit_before_;
    std::vector<EntityId>& after = edit_after_;
    FlatMap<std::uint32_t, std::uint8_t>& seen = edit_seen_;
    before.clear();
    after.clear();
    seen.clear();
    const auto first_time = [&](EntityId unit) {
        if (seen.contains(index_of(unit))) return false;
        seen[index_of(unit)] = 1;
        return true;
    };
    for_each_x_unit([&](EntityId unit) {
        if (x_holds(o, unit) && first_time(unit)) before.push_back(unit);
    });
    edit();
    for (const EntityId unit : before) note(o, unit, true, x_holds(o, unit), enter, leave);
    for_each_x_unit([&](EntityId unit) {
        if (x_holds(o, unit) && first_time(unit)) after.push_back(unit);
    });
    for (const EntityId unit : after) note(o, unit, false, true, enter, leave);
}

// -- entities -----------------------------------------------------------------------------------

void InterestData::update_rows(EntityId unit) {
    const Slot slot = table_.slot_of(unit);
    for (RowStore& store : rows_) {
        const std::uint32_t wanted = store.row_for_entity(table_, slot);
        auto at = store.membership(unit);
        if (at.row != wanted) {
            store.remove(unit);
            if (wanted == no_row) continue;
            at = store.add(unit, wanted);
        }
        if (at.row != no_row) store.set_live(at, store.passes_filters(table_, slot));
    }
}

void InterestData::drop_from_rows(EntityId unit) {
    for (RowStore& store : rows_) store.remove(unit);
}

void InterestData::update_special(EntityId unit) {
    bool denied = false;
    for (const std::uint32_t o : pairs_.observers_of(unit)) denied |= pairs_.find(o, unit)->deny;
    table_.set_flag(special_, table_.slot_of(unit), denied);
}

Slot InterestData::place_unit(EntityId unit, const EntityDef& def) {
    const Slot slot = table_.insert(unit, def.placed ? 0 : unplaced_layer_, def.place);
    for (std::uint32_t f = 0; f < def_.flag_count; ++f) {
        table_.set_flag(f, slot, ((def.flags >> f) & 1U) != 0);
    }
    for (std::uint32_t d = 0; d < def_.key_count && d < def.keys.size(); ++d) {
        table_.set_key(d, slot, def.keys[d]);
    }
    if (mains_.contains(index_of(unit))) table_.set_flag(watched_, slot, true);
    update_rows(unit);
    return slot;
}

Status InterestData::spawn(EntityId entity, const EntityDef& def) {
    if (entity == EntityId::none || index_of(entity) >= entity_index_end)
        return Status::bad_argument;
    if (!is_finite(def.place)) return Status::bad_position;
    if (table_.entity_at(index_of(entity)) != EntityId::none ||
        member_ids_.contains(index_of(entity))) {
        return Status::duplicate;
    }
    edit_unit(entity, Reason::spawned, Reason::left, [&] { place_unit(entity, def); });
    if (spawned_.size() <= index_of(entity))
        spawned_.resize(std::max<std::size_t>(index_of(entity) + 1, spawned_.size() * 9 / 8));
    spawned_.set(index_of(entity));
    spawned_list_.push_back(index_of(entity));
    return Status::ok;
}

Status InterestData::despawn(EntityId entity) {
    if (is_member(entity)) {
        const EntityId root = unit_of(entity);
        for (std::uint32_t o = 0; o < observers_.size(); ++o) {
            if (observers_[o].ready && (in_window(o, root) || x_holds(o, root))) {
                log_fact(o, entity, false, Reason::despawned);
            }
        }
        auto& members = members_of(root);
        members.erase(std::find(members.begin(), members.end(), entity));
        unit_of_member_.erase(index_of(entity));
        member_ids_.erase(index_of(entity));
        if (const ObserverId* owner = owners_.find(index_of(entity))) {
            edit_unit(root, Reason::owned, Reason::left, [&] { add_owned(root, *owner, -1); });
            owners_.erase(index_of(entity));
        }
        update_observers_of_main(entity);
        return Status::ok;
    }
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::stale_id;
    if (const std::uint32_t* list = members_list_.find(index_of(entity))) {
        if (!members_[*list].empty()) return Status::refused;
        drop_members_list(entity);
    }
    if (table_.flag(force_hidden_, slot)) --force_hidden_count_;
    edit_unit(entity, Reason::spawned, Reason::despawned, [&] {
        drop_from_rows(entity);
        drop_pairs(entity);
        owners_.erase(index_of(entity));
        if (table_.flag(global_, slot)) --global_count_;
        table_.remove(slot, false);
    });
    update_observers_of_main(entity);
    return Status::ok;
}

Status InterestData::move(EntityId entity, Vec3 place) {
    if (!is_known(entity)) {
        ++counters.stale_ids;
        return Status::stale_id;
    }
    if (!is_finite(place)) {
        ++counters.bad_positions;
        return Status::bad_position;
    }
    const Move one{entity, place};
    if (table_.slot_of(entity) != no_slot) (void)table_.write_places(std::span(&one, 1));
    return Status::ok;
}

void InterestData::move(std::span<const Move> moves) {
    if (member_ids_.size() > 0) {  // members are not stale, they only have no place of their own
        for (const Move& one : moves) (void)move(one.entity, one.place);
        return;
    }
    const BlockTable::Refused refused = table_.write_places(moves);
    counters.stale_ids += refused.stale_ids;
    counters.bad_positions += refused.bad_positions;
}

Status InterestData::set_flag(EntityId entity, FlagId flag, bool value) {
    if (index_of(flag) >= def_.flag_count) return Status::bad_argument;
    if (!is_known(entity)) return Status::stale_id;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot || table_.flag(index_of(flag), slot) == value) return Status::ok;
    edit_unit(entity, Reason::entered, value ? Reason::hidden : Reason::left, [&] {
        table_.set_flag(index_of(flag), slot, value);
        update_rows(entity);
    });
    return Status::ok;
}

Status InterestData::set_key(EntityId entity, KeyDomain domain, Key key) {
    if (index_of(domain) >= def_.key_count) return Status::bad_argument;
    if (!is_known(entity)) return Status::stale_id;
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot || table_.key(index_of(domain), slot) == key) return Status::ok;
    edit_unit(entity, Reason::entered, Reason::left, [&] {
        table_.set_key(index_of(domain), slot, key);
        update_rows(entity);
    });
    for_each_member(entity, true, [&](EntityId member) { update_observers_of_main(member); });
    return Status::ok;
}

void InterestData::add_owned(EntityId unit, ObserverId owner, int delta) {
    if (!is_observer(owner)) return;
    PairEntry& pair = pairs_.edit(index_of(owner), unit);
    pair.owned = static_cast<std::uint16_t>(pair.owned + delta);
    pairs_.settle(index_of(owner), unit);
}

Status InterestData::set_owner(EntityId entity, ObserverId owner) {
    if (!is_known(entity)) return Status::stale_id;
    if (owner != ObserverId::none && !is_observer(owner)) return Status::stale_id;
    const EntityId unit = unit_of(entity);
    const ObserverId* found = owners_.find(index_of(entity));
    const ObserverId old = found == nullptr ? ObserverId::none : *found;
    if (old == owner) return Status::ok;
    edit_unit(unit, Reason::owned, Reason::left, [&] {
        if (old != ObserverId::none) add_owned(unit, old, -1);
        if (owner != ObserverId::none) add_owned(unit, owner, +1);
    });
    if (owner == ObserverId::none) {
        owners_.erase(index_of(entity));
    } else {
        owners_[index_of(entity)] = owner;
    }
    return Status::ok;
}

Status InterestData::force_hide(EntityId entity, bool hidden) {
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return is_member(entity) ? Status::refused : Status::stale_id;
    if (table_.flag(force_hidden_, slot) == hidden) return Status::ok;
    force_hidden_count_ += hidden ? 1 : static_cast<std::uint32_t>(-1);
    edit_unit(entity, Reason::forced, Reason::hidden,
              [&] { table_.set_flag(force_hidden_, slot, hidden); });
    return Status::ok;
}

Status InterestData::show_to_all(EntityId entity, bool shown) {
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return is_member(entity) ? Status::refused : Status::stale_id;
    if (table_.flag(global_, slot) == shown) return Status::ok;
    edit_unit(entity, Reason::forced, Reason::left, [&] {
        table_.set_flag(global_, slot, shown);
        global_count_ += shown ? 1 : static_cast<std::uint32_t>(-1);
    });
    return Status::ok;
}

// -- units --------------------------------------------------------------------------------------

/// What each observer has of a unit right now; by observer index.
std::vector<std::uint8_t> InterestData::who_has(EntityId unit) const {
    std::vector<std::uint8_t> has(observers_.size());
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        has[o] = observers_[o].ready && (in_window(o, unit) || x_holds(o, unit)) ? 1 : 0;
    }
    return has;
}

/// The entity went from one unit to another: what that means for everybody.
void InterestData::log_change(EntityId entity, const std::vector<std::uint8_t>& before,
                              const std::vector<std::uint8_t>& after) {
    for (std::uint32_t o = 0; o < before.size(); ++o) {
        if (before[o] == after[o]) continue;
        log_fact(o, entity, after[o] != 0, after[o] != 0 ? Reason::entered : Reason::left);
    }
}

/// A unit stops being one: no row, no pair, no slot; observers are told by whoever calls.
void InterestData::dissolve_unit(EntityId unit) {
    drop_from_rows(unit);
    drop_pairs(unit);
    const Slot slot = table_.slot_of(unit);
    if (table_.flag(global_, slot)) --global_count_;
    if (table_.flag(force_hidden_, slot)) --force_hidden_count_;
    table_.remove(slot, true);
}

void InterestData::drop_pairs(EntityId unit) {
    while (!pairs_.observers_of(unit).empty()) {
        const std::uint32_t o = pairs_.observers_of(unit).front();
        PairEntry& pair = pairs_.edit(o, unit);
        pair.owned = 0;
        pair.allow = pair.deny = false;
        pairs_.settle(o, unit);
    }
}

std::vector<EntityId>& InterestData::members_of(EntityId root) {
    if (const std::uint32_t* list = members_list_.find(index_of(root))) return members_[*list];
    if (free_members_.empty()) {
        free_members_.push_back(static_cast<std::uint32_t>(members_.size()));
        members_.emplace_back();
    }
    members_list_[index_of(root)] = free_members_.back();
    free_members_.pop_back();
    return members_[members_list_[index_of(root)]];
}

void InterestData::drop_members_list(EntityId root) {
    if (const std::uint32_t* list = members_list_.find(index_of(root))) {
        members_[*list].clear();
        free_members_.push_back(*list);
        members_list_.erase(index_of(root));
    }
}

Status InterestData::join_unit(EntityId member, EntityId root) {
    if (!is_known(member) || table_.slot_of(root) == no_slot) return Status::stale_id;
    if (member == root) return Status::bad_argument;
    const EntityId old_unit = unit_of(member);
    if (old_unit == root) {  // moved within its group: behind its new parent
        auto& members = members_of(root);
        members.erase(std::find(members.begin(), members.end(), member));
        members.push_back(member);
        return Status::ok;
    }
    std::vector<EntityId> moving{member};
    const auto before = who_has(old_unit);
    if (old_unit == member) {
        const auto& own = members_of(member);
        moving.insert(moving.end(), own.begin(), own.end());
        drop_members_list(member);
        dissolve_unit(member);
    } else {
        auto& members = members_of(old_unit);
        members.erase(std::find(members.begin(), members.end(), member));
        if (const ObserverId* owner = owners_.find(index_of(member))) {
            edit_unit(old_unit, Reason::owned, Reason::left,
                      [&] { add_owned(old_unit, *owner, -1); });
        }
    }
    for (const EntityId entity : moving) {
        if (const ObserverId* owner = owners_.find(index_of(entity))) {
            edit_unit(root, Reason::owned, Reason::left, [&] { add_owned(root, *owner, +1); });
        }
    }
    const auto after = who_has(root);
    for (const EntityId entity : moving) {
        members_of(root).push_back(entity);
        unit_of_member_[index_of(entity)] = root;
        member_ids_[index_of(entity)] = entity;
        log_change(entity, before, after);
        update_observers_of_main(entity);
    }
    return Status::ok;
}

Status InterestData::leave_unit(EntityId member, const EntityDef& def) {
    if (!is_member(member)) return is_known(member) ? Status::not_found : Status::stale_id;
    if (!is_finite(def.place)) return Status::bad_position;
    const EntityId root = unit_of(member);
    const auto before = who_has(root);
    auto& members = members_of(root);
    members.erase(std::find(members.begin(), members.end(), member));
    if (members.empty()) drop_members_list(root);
    unit_of_member_.erase(index_of(member));
    member_ids_.erase(index_of(member));
    place_unit(member, def);
    if (const ObserverId* owner = owners_.find(index_of(member))) {
        edit_unit(root, Reason::owned, Reason::left, [&] { add_owned(root, *owner, -1); });
        add_owned(member, *owner, +1);
    }
    log_change(member, before, who_has(member));
    update_observers_of_main(member);
    return Status::ok;
}

// -- observers ----------------------------------------------------------------------------------

Result<ObserverId> InterestData::add_observer() {
    const std::uint32_t index = observer_pool_.acquire();
    if (index == IdPool::no_index) return Status::capacity;
    if (index == observers_.size()) observers_.emplace_back();
    observers_[index] = Observer{};
    ticks_to_order_ = 0;
    observers_[index].rows.assign(rows_.size(), no_row);
    update_observer_keys(index);
    return id_of(index);
}

void InterestData::take_relevant(std::uint32_t observer, Reason reason) {
    for_each_relevant(observer,
                      [&](EntityId entity) { log_fact(observer, entity, false, reason); });
    observers_[observer].window = Window{};
}

Status InterestData::remove_observer(ObserverId id) {
    if (!is_observer(id)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    take_relevant(o, Reason::disconnected);
    Observer& observer = observers_[o];
    observer.ready = false;
    for (std::size_t s = 0; s < rows_.size(); ++s) {
        if (observer.rows[s] != no_row) rows_[s].unsubscribe(observer.rows[s], o);
    }
    while (!pairs_.entities_of(o).empty()) {
        const EntityId unit = pairs_.entities_of(o).front();
        PairEntry& pair = pairs_.edit(o, unit);
        const bool denied = pair.deny;
        pair.owned = 0;
        pair.allow = pair.deny = false;
        pairs_.settle(o, unit);
        if (denied) update_special(unit);
    }
    if (observer.sees_everything) --everything_count_;
    (void)set_main_entity(id, EntityId::none);
    observer = Observer{};
    observer.rows.assign(rows_.size(), no_row);
    observer_pool_.release(o);
    return Status::ok;
}

Status InterestData::set_ready(ObserverId id, bool ready) {
    if (!is_observer(id)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    if (observers_[o].ready == ready) return Status::ok;
    if (!ready) {
        take_relevant(o, Reason::hidden);
        observers_[o].ready = false;
    } else {
        edit_observer(o, Reason::entered, Reason::left, [&] { observers_[o].ready = true; });
        must_scan(o);
        ticks_to_order_ = 0;
    }
    return Status::ok;
}

void InterestData::update_observer_keys(std::uint32_t o) {
    Observer& observer = observers_[o];
    must_scan(o);
    for (std::size_t d = 0; d < def_.key_count; ++d) {
        observer.keys[d] =
            observer.main == EntityId::none ? observer.own_keys[d] : key_of(observer.main, d);
    }
    for (std::size_t s = 0; s < rows_.size(); ++s) {
        const std::uint32_t wanted = rows_[s].row_for_observer(observer.keys);
        if (observer.rows[s] == wanted) continue;
        if (observer.rows[s] != no_row) rows_[s].unsubscribe(observer.rows[s], o);
        if (wanted != no_row) rows_[s].subscribe(wanted, o);
        observer.rows[s] = wanted;
    }
}

void InterestData::update_observers_of_main(EntityId entity) {
    if (!mains_.contains(index_of(entity))) return;
    if (!is_known(entity)) {
        while (const std::uint32_t* first = mains_.find(index_of(entity)))
            (void)set_main_entity(id_of(*first), EntityId::none);
        return;
    }
    for_each_watcher(entity, [&](std::uint32_t o) {
        edit_observer(o, Reason::entered, Reason::left, [&] { update_observer_keys(o); });
    });
}

void InterestData::set_watched(EntityId entity) {
    const Slot slot = table_.slot_of(entity);
    if (slot != no_slot) table_.set_flag(watched_, slot, mains_.contains(index_of(entity)));
}

Status InterestData::set_main_entity(ObserverId id, EntityId entity) {
    if (!is_observer(id)) return Status::stale_id;
    if (entity != EntityId::none && !is_known(entity)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    const EntityId old = observers_[o].main;
    if (old == entity) return Status::ok;
    if (old != EntityId::none) {
        std::uint32_t* link = mains_.find(index_of(old));
        while (*link != o) link = &observers_[*link].next_of_main;
        *link = observers_[o].next_of_main;
        if (*mains_.find(index_of(old)) == IdPool::no_index) mains_.erase(index_of(old));
        set_watched(old);
    }
    observers_[o].next_of_main = IdPool::no_index;
    if (entity != EntityId::none) {
        const std::uint32_t* first = mains_.find(index_of(entity));
        observers_[o].next_of_main = first == nullptr ? IdPool::no_index : *first;
        mains_[index_of(entity)] = o;
        set_watched(entity);
    }
    edit_observer(o, Reason::entered, Reason::left, [&] {
        observers_[o].main = entity;
        update_observer_keys(o);
    });
    return Status::ok;
}

Status InterestData::set_area(ObserverId id, std::uint32_t key, const Area& area_def) {
    if (!is_observer(id)) return Status::stale_id;
    if (!is_finite(area_def.centre)) return Status::bad_position;
    auto& areas = observers_[index_of(id)].areas;
    must_scan(index_of(id));
    for (KeyedArea& area : areas) {
        if (area.key == key) {
            area.area = area_def;
            return Status::ok;
        }
    }
    if (areas.size() >= def_.areas_max) return Status::capacity;
    areas.push_back({key, area_def});
    return Status::ok;
}

Status InterestData::remove_area(ObserverId id, std::uint32_t key) {
    if (!is_observer(id)) return Status::stale_id;
    auto& areas = observers_[index_of(id)].areas;
    must_scan(index_of(id));
    const auto found =
        std::find_if(areas.begin(), areas.end(), [&](const KeyedArea& area) { return area.key == key; });
    if (found == areas.end()) return Status::not_found;
    areas.erase(found);
    return Status::ok;
}

Status InterestData::set_observer_key(ObserverId id, KeyDomain domain, Key key) {
    if (!is_observer(id)) return Status::stale_id;
    if (index_of(domain) >= def_.key_count) return Status::bad_argument;
    const std::uint32_t o = index_of(id);
    observers_[o].own_keys[index_of(domain)] = key;
    edit_observer(o, Reason::entered, Reason::left, [&] { update_observer_keys(o); });
    return Status::ok;
}

Status InterestData::set_sees_everything(ObserverId id, bool value) {
    if (!is_observer(id)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    if (observers_[o].sees_everything == value) return Status::ok;
    edit_observer(o, Reason::forced, Reason::left, [&] { observers_[o].sees_everything = value; });
    everything_count_ += value ? 1 : static_cast<std::uint32_t>(-1);
    return Status::ok;
}

Status InterestData::edit_pair(ObserverId id, EntityId entity, bool PairEntry::*field, bool value) {
    if (!is_observer(id)) return Status::stale_id;
    if (table_.slot_of(entity) == no_slot) {
        return is_member(entity) ? Status::refused : Status::stale_id;
    }
    const std::uint32_t o = index_of(id);
    const bool before = x_holds(o, entity);
    pairs_.edit(o, entity).*field = value;
    pairs_.settle(o, entity);
    update_special(entity);
    note(o, entity, before, x_holds(o, entity), Reason::forced, Reason::hidden);
    return Status::ok;
}

Status InterestData::recheck(EntityId entity) {
    if (!is_known(entity)) return Status::stale_id;
    table_.mark_dirty(block_of(table_.slot_of(unit_of(entity))));
    return Status::ok;
}

Status InterestData::rescan(ObserverId id) {
    if (!is_observer(id)) return Status::stale_id;
    must_scan(index_of(id));
    return Status::ok;
}

}  // namespace purview
