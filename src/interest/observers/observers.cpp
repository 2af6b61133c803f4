// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Edits of observers, and where they look from.
#include <algorithm>
#include <cmath>

#include "interest/edits.hpp"

namespace purview {

Result<ObserverId> InterestData::add_observer() {
    const std::uint32_t index = observers_.add();
    if (index == IdPool::no_index) return Status::capacity;
    update_observer_keys(index);
    return id_of(index);
}

/// All that it has leaves; its window is empty then.
void InterestData::take_relevant(std::uint32_t observer) {
    for (const GroupViews::View& view : views_.of(observer))
        touch_mixed(observer, unit_of(view.entity));
    const auto leave = [&](EntityId entity) {
        if (!views_.of(observer, entity).seen) changes_.add(observer, entity, false);
    };
    for_each_relevant(observer, leave, true);
    observers_[observer].window = Window{};
}

void InterestData::forget_holds(std::uint32_t o) {
    if (!keeps_stays()) return;
    std::vector<EntityId> units;
    pairs_.for_each_of_observer(o, [&](EntityId unit, const PairEntry&) { units.push_back(unit); });
    for (const EntityId unit : units) {
        pairs_.edit(o, unit).held = false;
        pairs_.settle(o, unit);
    }
}

void InterestData::forget_pairs(std::uint32_t o) {
    std::vector<EntityId> units;
    while (pairs_.count_of_observer(o) > 0) {  // what is forgotten of a member may edit its unit's
        units.clear();
        pairs_.for_each_of_observer(
            o, [&](EntityId unit, const PairEntry&) { units.push_back(unit); });
        for (const EntityId unit : units) {
            const PairEntry* pair = pairs_.find(o, unit);
            if (pair == nullptr) continue;
            const bool denied = pair->deny;
            if (is_member(unit)) {
                forget_member_pair(o, unit);
                continue;
            }
            if (pair->nodes > 0) drop_from_custom_nodes(o, unit);
            pairs_.drop(o, unit);
            if (denied && !is_member(unit)) update_special(unit);
        }
    }
}

Status InterestData::remove_observer(ObserverId id) {
    if (!is_observer(id)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    take_relevant(o);
    Observer& observer = observers_[o];
    observer.ready = observer.wants_ready = false;
    for (const SourceRow at : observer.rows) rows_[at.source].unsubscribe(at.row, o);
    observer.rows.clear();
    forget_pairs(o);
    (void)set_viewpoint(id, EntityId::none);
    for (const SourceRow at : observer.rows) rows_[at.source].unsubscribe(at.row, o);
    observer.rows.clear();
    // Its pairs would be those of whoever has the index next.
    PURVIEW_ASSERT(!observer.ready && pairs_.count_of_observer(o) == 0);
    observers_.remove(o);
    return Status::ok;
}

void InterestData::apply_ready(std::uint32_t o) {
    PURVIEW_ASSERT(observers_.is_live(o));
    Observer& observer = observers_[o];
    const bool ready = observer.wants_ready &&
                       (!rules_.ready_requires_viewpoint || observer.main != EntityId::none);
    if (observer.ready == ready) return;
    if (!ready) {
        take_relevant(o);
        observer.ready = false;
        forget_holds(o);
        return;
    }
    edit_observer(o, [&] { observers_[o].ready = true; });
    touch_all_mixed(o);
    observers_[o].ready_since = tick_;
    (void)rescan(id_of(o));
    order_.add(o);
}

Status InterestData::set_ready(ObserverId id, bool ready) {
    if (!is_observer(id)) return Status::stale_id;
    observers_[index_of(id)].wants_ready = ready;
    apply_ready(index_of(id));
    return Status::ok;
}

// -- keys and rows --------------------------------------------------------------------------------

Key InterestData::key_of(EntityId entity, std::size_t domain) const noexcept {
    const Slot slot = table_.slot_of(entity);
    if (slot != no_slot) return table_.key(static_cast<std::uint32_t>(domain), slot);
    const GroupStore::Keys* its = groups_.keys_of(entity);
    return its == nullptr ? Key::none : (*its)[domain];
}

bool InterestData::has_key(ObserverId id, KeyId domain, Key key) const noexcept {
    if (!is_observer(id) || index_of(domain) >= rules_.key_names.size() || key == Key::none)
        return false;
    const Observer& observer = observers_[index_of(id)];
    return observer.keys[index_of(domain)] == key ||
           std::any_of(
               observer.more_keys.begin(), observer.more_keys.end(),
               [&](const DomainKey& more) { return more.domain == domain && more.key == key; });
}

std::uint32_t InterestData::keys_revision(ObserverId id) const noexcept {
    return is_observer(id) ? observers_[index_of(id)].keys_revision : 0;
}

void InterestData::update_observer_keys(std::uint32_t o) {
    Observer& observer = observers_[o];
    PURVIEW_ASSERT(observers_.is_live(o));
    PURVIEW_ASSERT(observer.main == EntityId::none || is_known(observer.main));
    observers_.must_scan(o);
    ++observer.keys_revision;
    for (std::size_t d = 0; d < rules_.key_names.size(); ++d) {
        observer.keys[d] =
            observer.main == EntityId::none ? observer.own_keys[d] : key_of(observer.main, d);
    }
    const auto own = observers_.more_keys(o);
    observer.more_keys.assign(own.begin(), own.end());
    if (observer.main != EntityId::none) {
        const auto its = facts_table_.more_keys.of(index_of(observer.main));
        observer.more_keys.insert(observer.more_keys.end(), its.begin(), its.end());
    }
    edit_observer_rows(o);
}

/// It reads the rows it wants. X may change for members of those that it gains or loses, and for
/// nobody else.
void InterestData::edit_observer_rows(std::uint32_t o) {
    find_wanted_rows(o);
    Observer& observer = observers_[o];
    if (wanted_sources_ == observer.rows) return;
    edit_before_.clear();
    edit_after_.clear();
    edit_seen_.clear();
    const auto ask_missing = [&](const std::vector<SourceRow>& rows,
                                 const std::vector<SourceRow>& others) {
        for (const SourceRow at : rows) {
            if (program_.rows[at.source].pulled) continue;
            if (std::binary_search(others.begin(), others.end(), at)) continue;
            for (const EntityId unit : rows_[at.source].row(at.row).members) {
                if (unit == EntityId::none || !edit_seen_.find_or_make(index_of(unit)).second)
                    continue;
                ++pairs_asked;
                (x_holds(o, unit) ? edit_before_ : edit_after_).push_back(unit);
            }
        }
    };
    if (!observer.ready) return take_wanted_rows(o);
    ask_missing(observer.rows, wanted_sources_);
    ask_missing(wanted_sources_, observer.rows);
    take_wanted_rows(o);
    for (const EntityId unit : edit_before_) note(o, unit, true, x_holds(o, unit));
    for (const EntityId unit : edit_after_) note(o, unit, false, x_holds(o, unit));
}

/// Into wanted_sources_, ascending.
void InterestData::find_wanted_rows(std::uint32_t o) {
    const Observer& observer = observers_[o];
    wanted_sources_.clear();
    PURVIEW_ASSERT(rows_.size() == program_.rows.size());
    for (std::uint32_t s = 0; s < rows_.size(); ++s) {
        const RowSource& source = program_.rows[s];
        switch (source.by) {
            case RowsBy::all:
                wanted_sources_.push_back({s, rows_[s].row_of(0)});
                break;
            case RowsBy::key: {
                const Key key = observer.keys[index_of(source.domain)];
                if (key != Key::none)
                    wanted_sources_.push_back({s, rows_[s].row_of(index_of(key))});
                for (const DomainKey& more : observer.more_keys) {
                    if (more.domain == source.domain)
                        wanted_sources_.push_back({s, rows_[s].row_of(index_of(more.key))});
                }
                break;
            }
            case RowsBy::cell:
                collect(o, sight_);
                cells_.clear();
                source.dispatcher->cover(
                    {id_of(o), observer.main, input_of(o, sight_).context.outer_positions,
                     std::span(observer.keys).first(rules_.key_names.size())},
                    cells_);
                for (const CellId cell : cells_)
                    wanted_sources_.push_back({s, rows_[s].row_of(cell)});
                break;
        }
    }
    std::sort(wanted_sources_.begin(), wanted_sources_.end());
    wanted_sources_.erase(std::unique(wanted_sources_.begin(), wanted_sources_.end()),
                          wanted_sources_.end());
}

void InterestData::take_wanted_rows(std::uint32_t o) {
    Observer& observer = observers_[o];
    PURVIEW_ASSERT(observers_.is_live(o));
    PURVIEW_ASSERT(std::is_sorted(wanted_sources_.begin(), wanted_sources_.end()));
    for (const SourceRow at : observer.rows) {
        if (!std::binary_search(wanted_sources_.begin(), wanted_sources_.end(), at))
            rows_[at.source].unsubscribe(at.row, o);
    }
    for (const SourceRow at : wanted_sources_) {
        if (!std::binary_search(observer.rows.begin(), observer.rows.end(), at))
            rows_[at.source].subscribe(at.row, o);
    }
    observer.rows = wanted_sources_;
    observers_.must_scan(o);
}

void InterestData::update_observers_of_main(EntityId entity) {
    if (!observers_.has_watchers(entity)) return;
    if (!is_known(entity)) {
        while (observers_.has_watchers(entity)) {
            const std::uint32_t first = observers_.first_of_main(index_of(entity));
            (void)set_viewpoint(id_of(first), EntityId::none);
        }
        return;
    }
    observers_.for_each_watcher(entity, [&](std::uint32_t o) { update_observer_keys(o); });
}

void InterestData::set_watched(EntityId entity) {
    const Slot slot = table_.slot_of(entity);
    if (slot != no_slot)
        table_.set_flag(facts_table_.columns.watched, slot, observers_.has_watchers(entity));
}

Status InterestData::set_viewpoint(ObserverId id, EntityId entity) {
    if (!is_observer(id)) return Status::stale_id;
    if (entity != EntityId::none && !is_known(entity)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    const EntityId old = observers_[o].main;
    if (old == entity) return Status::ok;
    observers_.set_main(o, entity);
    if (old != EntityId::none) set_watched(old);
    if (entity != EntityId::none) set_watched(entity);
    update_observer_keys(o);
    apply_ready(o);
    return Status::ok;
}

Status InterestData::set_observer_key(ObserverId id, KeyId domain, Key key) {
    if (!is_observer(id)) return Status::stale_id;
    if (index_of(domain) >= rules_.key_names.size()) return Status::bad_argument;
    const std::uint32_t o = index_of(id);
    if (observers_[o].own_keys[index_of(domain)] == key) return Status::ok;
    observers_[o].own_keys[index_of(domain)] = key;
    update_observer_keys(o);
    return Status::ok;
}

Status InterestData::edit_more_observer_keys(ObserverId id, KeyId domain, Key key, bool adds) {
    if (!is_observer(id)) return Status::stale_id;
    if (index_of(domain) >= rules_.key_names.size() || key == Key::none)
        return Status::bad_argument;
    const std::uint32_t o = index_of(id);
    if (adds) {
        observers_.add_key(o, domain, key);
    } else if (!observers_.remove_key(o, domain, key)) {
        return Status::not_found;
    }
    update_observer_keys(o);
    return Status::ok;
}

// -- where it looks -------------------------------------------------------------------------------

namespace {

/// The same direction along the axes that count, with squares that are numbers.
Vec3 scaled(Vec3 d, bool flat) noexcept {
    if (flat) d.z = 0;
    const float most = std::max({std::abs(d.x), std::abs(d.y), std::abs(d.z)});
    if (most == 0 || (most > 1e-9F && most < 1e9F)) return d;
    return {d.x / most, d.y / most, d.z / most};
}

}  // namespace

Status InterestData::check_area(const Area& area) const noexcept {
    if (!is_finite(area.center) || !is_finite(area.half_size) || !is_finite(area.direction))
        return Status::bad_position;
    if (area.follow != EntityId::none && !is_known(area.follow)) return Status::stale_id;
    const bool round = area.shape == AreaShape::sphere || area.shape == AreaShape::cone;
    if (round && !(area.radius > 0 && area.radius <= reach_max)) return Status::bad_argument;
    const bool flat = !table_.is_three_d();
    const Vec3 half = inner(area.half_size), d = scaled(inner(area.direction), flat);
    if (area.shape == AreaShape::box && (half.x < 0 || half.y < 0 || (!flat && half.z < 0)))
        return Status::bad_argument;
    if (area.shape != AreaShape::cone) return Status::ok;
    const float length = d.x * d.x + d.y * d.y + (flat ? 0 : d.z * d.z);
    const bool good = area.half_angle_degrees > 0 && area.half_angle_degrees < 180 && length > 0 &&
                      std::isfinite(length);
    return good ? Status::ok : Status::bad_argument;
}

/// With its counted axes first, and a direction of length 1.
Area InterestData::inner(const Area& given) const noexcept {
    Area area = given;
    area.center = inner(given.center);
    area.half_size = inner(given.half_size);
    const bool flat = !table_.is_three_d();
    const Vec3 d = scaled(inner(given.direction), flat);
    if (flat) area.center.z = area.half_size.z = 0;
    float squared = d.x * d.x + d.y * d.y;
    if (table_.is_three_d()) squared = squared + d.z * d.z;
    const float length = std::sqrt(squared);
    area.direction = length > 0 ? Vec3{d.x / length, d.y / length, d.z / length} : Vec3{1, 0, 0};
    return area;
}

/// An area that would end later than ticks are counted stays.
KeyedArea InterestData::keyed(std::uint32_t key, const Area& inner_area) const noexcept {
    const bool is_timed = inner_area.ticks > 0 && inner_area.ticks < ~Tick{0} - tick_;
    return {key, is_timed ? tick_ + inner_area.ticks : 0, inner_area};
}

Status InterestData::set_area(ObserverId id, std::uint32_t key, const Area& area) {
    if (!is_observer(id)) return Status::stale_id;
    if (const Status status = check_area(area); status != Status::ok) return status;
    const std::uint32_t o = index_of(id);
    if (rules_.single_area) observers_.keep_areas(o, key, std::uint64_t{key} + 1);
    if (!observers_.has_area(o, key) && observers_[o].areas.size() >= rules_.areas_max)
        return Status::capacity;
    observers_.put_area(o, keyed(key, inner(area)));
    return Status::ok;
}

Status InterestData::set_areas(ObserverId id, std::span<const Area> areas) {
    if (!is_observer(id)) return Status::stale_id;
    if (areas.size() > (rules_.single_area ? 1 : rules_.areas_max)) return Status::capacity;
    for (const Area& area : areas) {
        if (const Status status = check_area(area); status != Status::ok) return status;
    }
    const std::uint32_t o = index_of(id);
    observers_.keep_areas(o, 0, areas.size());
    for (std::size_t i = 0; i < areas.size(); ++i)
        observers_.put_area(o, keyed(static_cast<std::uint32_t>(i), inner(areas[i])));
    return Status::ok;
}

Status InterestData::remove_area(ObserverId id, std::uint32_t key) {
    if (!is_observer(id)) return Status::stale_id;
    return observers_.remove_area(index_of(id), key) ? Status::ok : Status::not_found;
}

Status InterestData::set_observer_range(ObserverId id, float range) {
    if (!is_observer(id)) return Status::stale_id;
    if (!(range >= 0) || range > rules_.observer_range_max) return Status::bad_argument;
    if (observers_[index_of(id)].range == range) return Status::ok;
    observers_[index_of(id)].range = range;
    observers_.must_scan(index_of(id));
    return Status::ok;
}

Status InterestData::set_lookahead(ObserverId id, float seconds) {
    constexpr float seconds_max = 10;
    if (!is_observer(id)) return Status::stale_id;
    if (!(seconds >= 0 && seconds <= seconds_max)) return Status::bad_argument;
    if (observers_[index_of(id)].lookahead_s == seconds) return Status::ok;
    observers_[index_of(id)].lookahead_s = seconds;
    observers_.must_scan(index_of(id));
    return Status::ok;
}

void InterestData::collect_owned(std::uint32_t o, std::vector<EntityId>& out) const {
    out.clear();
    pairs_.for_each_of_observer(o, [&](EntityId unit, const PairEntry& pair) {
        if (pair.owned > 0 || pair.owned_blind > 0) out.push_back(unit);
    });
    std::sort(out.begin(), out.end(),
              [](EntityId a, EntityId b) { return index_of(a) < index_of(b); });
}

/// Where it looks in that tick: areas end by then.
void InterestData::collect(std::uint32_t o, Sight& sight, Tick tick) const {
    const Observer& observer = observers_[o];
    sight.positions.clear();
    sight.areas.clear();
    sight.owned.clear();
    const EntityId main_unit =
        observer.main == EntityId::none ? EntityId::none : unit_of(observer.main);
    const auto put = [&](EntityId unit) {
        const Slot slot = table_.slot_of(unit);
        if (slot == no_slot || !table_.will_be_positioned(slot)) return false;
        sight.positions.push_back(table_.position(slot));
        return true;
    };
    if (program_.needs_owned) {
        collect_owned(o, sight.owned);
        for (const EntityId unit : sight.owned) {
            if (program_.looks_from_owned && unit != main_unit) put(unit);
        }
    }
    sight.owned_positions = sight.positions.size();
    sight.main_positions = main_unit != EntityId::none && put(main_unit) ? 1 : 0;
    for (const KeyedArea& one : observer.areas) {
        if (one.ends != 0 && one.ends < tick) continue;
        Vec3 center = one.area.center;
        if (one.area.follow != EntityId::none) {
            const Slot slot = table_.slot_of(unit_of(one.area.follow));
            if (slot == no_slot || !table_.will_be_positioned(slot)) continue;
            const Vec3 at = table_.position(slot);
            center = {center.x + at.x, center.y + at.y, center.z + at.z};
            if (!is_finite(center)) continue;  // each was, their sum is not
        }
        if (one.area.shape == AreaShape::position) {
            sight.positions.push_back(center);
        } else {
            sight.areas.push_back(one.area);
            sight.areas.back().center = center;
        }
    }
    if (facts_table_.axes != Axes::xz) return;
    sight.outer.clear();
    for (std::size_t i = sight.owned_positions; i < sight.positions.size(); ++i)
        sight.outer.push_back(exchanged(Axes::xz, sight.positions[i]));
}

// -- pairs ----------------------------------------------------------------------------------------

Status InterestData::set_unculled(ObserverId id, bool value) {
    if (!is_observer(id)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    if (observers_[o].sees_everything == value) return Status::ok;
    edit_observer(o, [&] { observers_.set_unculled(o, value); });
    return Status::ok;
}

Status InterestData::edit_pair(ObserverId id, EntityId entity, PairMark mark, bool value) {
    if (!is_observer(id)) return Status::stale_id;
    if (is_member(entity)) return edit_member_pair(index_of(id), entity, mark, value);
    if (table_.slot_of(entity) == no_slot) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    const Slot slot = table_.slot_of(entity);
    ++pairs_asked;
    PairEntry& pair = pairs_.edit(o, entity);
    PairFacts facts = facts_of(o, slot, &pair);
    const bool before = x_holds(o, entity, slot, &pair, facts);
    // Told to `facts`, too, not asked of the pair again: a bit that was just written is slow to
    // read.
    pairs_.set(pair, mark, value);
    const bool is_denial_new = mark == PairMark::deny && facts.denied != value;
    if (mark == PairMark::allow) {
        facts.allowed = value || pair.member_allows > 0;
    } else {
        facts.denied = value;
    }
    if (facts.denied && rules_.minimum_relevance_ticks > 0)
        minimum_relevance_.denial_checks.emplace_back(o, entity);
    const bool after = x_holds(o, entity, slot, &pair, facts);
    if (!value) pairs_.settle(o, pair);
    if (is_denial_new) update_special(entity);
    PURVIEW_ASSERT(table_.flag(facts_table_.columns.special, slot) == pairs_.has_denial(entity));
    if (is_mixed(entity)) {
        touch_mixed(o, entity);
        return Status::ok;
    }
    note(o, entity, before, after);
    return Status::ok;
}

Status InterestData::edit_pairs(std::span<const PairEdit> edits, PairMark mark) {
    Status first = Status::ok;
    pairs_.for_each_ahead(
        edits, [](const PairEdit& edit) { return std::pair(index_of(edit.observer), edit.entity); },
        [&](const PairEdit& edit) {
            const Status status = edit_pair(edit.observer, edit.entity, mark, edit.value);
            if (first == Status::ok) first = status;
        });
    return first;
}

Status InterestData::rescan(ObserverId id) {
    if (!is_observer(id)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    observers_.must_scan(o);
    if (summary_.has_cells) edit_observer_rows(o);
    for (CustomNodeState& custom : custom_) {
        if (custom.node->is_entity_centric()) {
            custom.asks_all = true;
            continue;
        }
        if (custom.asked_again.size() <= o) custom.asked_again.resize(o + 1);
        custom.asked_again.set(o);
    }
    return Status::ok;
}

}  // namespace purview
