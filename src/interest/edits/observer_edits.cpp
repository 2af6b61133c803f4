// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/observer_edits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/finite.hpp"
#include "purview/status.hpp"

namespace purview {

/// Updates the rows of every ready observer, where inner nodes depend on positions.
void ObserverEdits::update_cells() {
    if (!summary_.has_moving_cells) return;
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (observers_[o].ready) edit_observer_rows(o);
    }
}

Result<ObserverId> ObserverEdits::add_observer() {
    const std::uint32_t index = observers_.add();
    if (index == IdPool::no_index) return Status::capacity;
    update_observer_keys(index);
    return observers_.id_of(index);
}

/// Adds a leave for each entity that is relevant to the observer. Empties its window.
void ObserverEdits::leave_all(std::uint32_t observer) {
    for (const GroupViews::View& view : views_.of(observer))
        edits_.touch_split_group(observer, lookup_.unit_of(view.entity));
    const auto leave = [&](EntityId entity) {
        if (!views_.of(observer, entity).seen) changes_.add(observer, entity, false);
    };
    relevance_.for_each_relevant(observer, leave, true);
    observers_[observer].window = Window{};
}

Status ObserverEdits::remove_observer(ObserverId id) {
    if (!observers_.is_live(id)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    leave_all(o);
    Observer& observer = observers_[o];
    observer.ready = observer.requested_ready = false;
    for (const SourceRow at : observer.rows) rows_[at.source].unsubscribe(at.row, o);
    observer.rows.clear();
    overrides_.forget_pairs(o);
    (void)set_viewpoint(id, EntityId::none);
    for (const SourceRow at : observer.rows) rows_[at.source].unsubscribe(at.row, o);
    observer.rows.clear();
    // Remaining pairs would belong to the next observer with this index.
    PURVIEW_ASSERT(!observer.ready && pairs_.count_of_observer(o) == 0);
    observers_.remove(o);
    return Status::ok;
}

void ObserverEdits::apply_ready(std::uint32_t o) {
    PURVIEW_ASSERT(observers_.is_live(o));
    Observer& observer = observers_[o];
    const bool ready = observer.requested_ready &&
                       (!rules_.ready_requires_viewpoint || observer.main != EntityId::none);
    if (observer.ready == ready) return;
    if (!ready) {
        leave_all(o);
        observer.ready = false;
        overrides_.forget_holds(o);
        return;
    }
    edits_.edit_observer(o, [&] { observers_[o].ready = true; });
    split_groups_.touch_split_groups(o);
    observers_[o].ready_since = tick_;
    (void)rescan(observers_.id_of(o));
    order_.add(o);
}

Status ObserverEdits::set_ready(ObserverId id, bool ready) {
    if (!observers_.is_live(id)) return Status::stale_id;
    observers_[index_of(id)].requested_ready = ready;
    apply_ready(index_of(id));
    return Status::ok;
}

bool ObserverEdits::has_key(ObserverId id, KeyId domain, Key key) const noexcept {
    if (!observers_.is_live(id) || index_of(domain) >= rules_.key_names.size() || key == Key::none)
        return false;
    const Observer& observer = observers_[index_of(id)];
    return observer.keys[index_of(domain)] == key ||
           std::any_of(
               observer.more_keys.begin(), observer.more_keys.end(),
               [&](const DomainKey& more) { return more.domain == domain && more.key == key; });
}

std::uint32_t ObserverEdits::keys_revision(ObserverId id) const noexcept {
    return observers_.is_live(id) ? observers_[index_of(id)].keys_revision : 0;
}

void ObserverEdits::update_observer_keys(std::uint32_t o) {
    Observer& observer = observers_[o];
    PURVIEW_ASSERT(observers_.is_live(o));
    PURVIEW_ASSERT(observer.main == EntityId::none || lookup_.is_known(observer.main));
    observers_.must_scan(o);
    ++observer.keys_revision;
    for (std::size_t d = 0; d < rules_.key_names.size(); ++d) {
        observer.keys[d] = observer.main == EntityId::none ? observer.own_keys[d]
                                                           : lookup_.key_of(observer.main, d);
    }
    const auto own = observers_.more_keys(o);
    observer.more_keys.assign(own.begin(), own.end());
    if (observer.main != EntityId::none) {
        const auto its = facts_table_.more_keys.of(index_of(observer.main));
        observer.more_keys.insert(observer.more_keys.end(), its.begin(), its.end());
    }
    edit_observer_rows(o);
}

/// Subscribes the observer to the rows that its keys and position select. Only members of rows that
/// it gains or loses can change their relevance.
void ObserverEdits::edit_observer_rows(std::uint32_t o) {
    find_wanted_rows(o);
    Observer& observer = observers_[o];
    if (wanted_sources_ == observer.rows) return;
    edit_before_.clear();
    edit_after_.clear();
    edit_seen_.clear();
    const auto query_missing = [&](const std::vector<SourceRow>& rows,
                                   const std::vector<SourceRow>& others) {
        for (const SourceRow at : rows) {
            if (program_.rows[at.source].pulled) continue;
            if (std::binary_search(others.begin(), others.end(), at)) continue;
            for (const EntityId unit : rows_[at.source].row(at.row).members) {
                if (unit == EntityId::none || !edit_seen_.find_or_make(index_of(unit)).second)
                    continue;
                ++pairs_queried_;
                (explicit_.is_explicitly_relevant(o, unit) ? edit_before_ : edit_after_)
                    .push_back(unit);
            }
        }
    };
    if (!observer.ready) return take_wanted_rows(o);
    query_missing(observer.rows, wanted_sources_);
    query_missing(wanted_sources_, observer.rows);
    take_wanted_rows(o);
    for (const EntityId unit : edit_before_)
        edits_.note(o, unit, true, explicit_.is_explicitly_relevant(o, unit));
    for (const EntityId unit : edit_after_)
        edits_.note(o, unit, false, explicit_.is_explicitly_relevant(o, unit));
}

/// Writes the wanted rows into `wanted_sources_`, ascending.
void ObserverEdits::find_wanted_rows(std::uint32_t o) {
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
                observer_views_.collect(o, sight_);
                cells_.clear();
                source.dispatcher->cover(
                    {observers_.id_of(o), observer.main,
                     observer_views_.input_of(o, sight_).context.outer_positions,
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

void ObserverEdits::take_wanted_rows(std::uint32_t o) {
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

void ObserverEdits::update_observers_of_main(EntityId entity) {
    if (!observers_.has_watchers(entity)) return;
    if (!lookup_.is_known(entity)) {
        while (observers_.has_watchers(entity)) {
            const std::uint32_t first = observers_.first_of_main(index_of(entity));
            (void)set_viewpoint(observers_.id_of(first), EntityId::none);
        }
        return;
    }
    observers_.for_each_watcher(entity, [&](std::uint32_t o) { update_observer_keys(o); });
}

void ObserverEdits::set_watched(EntityId entity) {
    const Slot slot = table_.slot_of(entity);
    if (slot != no_slot)
        table_.set_flag(facts_table_.columns.watched, slot, observers_.has_watchers(entity));
}

Status ObserverEdits::set_viewpoint(ObserverId id, EntityId entity) {
    if (!observers_.is_live(id)) return Status::stale_id;
    if (entity != EntityId::none && !lookup_.is_known(entity)) return Status::stale_id;
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

Status ObserverEdits::set_observer_key(ObserverId id, KeyId domain, Key key) {
    if (!observers_.is_live(id)) return Status::stale_id;
    if (index_of(domain) >= rules_.key_names.size()) return Status::bad_argument;
    const std::uint32_t o = index_of(id);
    if (observers_[o].own_keys[index_of(domain)] == key) return Status::ok;
    observers_[o].own_keys[index_of(domain)] = key;
    update_observer_keys(o);
    return Status::ok;
}

Status ObserverEdits::edit_more_observer_keys(ObserverId id, KeyId domain, Key key, bool adds) {
    if (!observers_.is_live(id)) return Status::stale_id;
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

namespace {

/// Returns the same direction along the axes in use, scaled so that its squares neither overflow
/// nor vanish.
Vec3 scaled(Vec3 d, bool flat) noexcept {
    if (flat) d.z = 0;
    const float most = std::max({std::abs(d.x), std::abs(d.y), std::abs(d.z)});
    if (most == 0 || (most > 1e-9F && most < 1e9F)) return d;
    return {d.x / most, d.y / most, d.z / most};
}

}  // namespace

Status ObserverEdits::check_area(const Area& area) const noexcept {
    if (!is_finite(area.center) || !is_finite(area.half_size) || !is_finite(area.direction))
        return Status::bad_position;
    if (area.follow != EntityId::none && !lookup_.is_known(area.follow)) return Status::stale_id;
    const bool round = area.shape == AreaShape::sphere || area.shape == AreaShape::cone;
    if (round && !(area.radius > 0 && area.radius <= reach_max)) return Status::bad_argument;
    const bool flat = !table_.is_three_d();
    const Vec3 half = lookup_.inner(area.half_size),
               d = scaled(lookup_.inner(area.direction), flat);
    if (area.shape == AreaShape::box && (half.x < 0 || half.y < 0 || (!flat && half.z < 0)))
        return Status::bad_argument;
    if (area.shape != AreaShape::cone) return Status::ok;
    const float length = d.x * d.x + d.y * d.y + (flat ? 0 : d.z * d.z);
    const bool good = area.half_angle_degrees > 0 && area.half_angle_degrees < 180 && length > 0 &&
                      std::isfinite(length);
    return good ? Status::ok : Status::bad_argument;
}

/// Returns the area with its horizontal axes first and a direction of length 1.
Area ObserverEdits::inner(const Area& given) const noexcept {
    Area area = given;
    area.center = lookup_.inner(given.center);
    area.half_size = lookup_.inner(given.half_size);
    const bool flat = !table_.is_three_d();
    const Vec3 d = scaled(lookup_.inner(given.direction), flat);
    if (flat) area.center.z = area.half_size.z = 0;
    float squared = d.x * d.x + d.y * d.y;
    if (table_.is_three_d()) squared = squared + d.z * d.z;
    const float length = std::sqrt(squared);
    area.direction = length > 0 ? Vec3{d.x / length, d.y / length, d.z / length} : Vec3{1, 0, 0};
    return area;
}

/// An area has no end if its end would exceed the largest tick.
KeyedArea ObserverEdits::keyed(std::uint32_t key, const Area& inner_area) const noexcept {
    const bool is_timed = inner_area.ticks > 0 && inner_area.ticks < ~Tick{0} - tick_;
    return {key, is_timed ? tick_ + inner_area.ticks : 0, inner_area};
}

Status ObserverEdits::set_area(ObserverId id, std::uint32_t key, const Area& area) {
    if (!observers_.is_live(id)) return Status::stale_id;
    if (const Status status = check_area(area); status != Status::ok) return status;
    const std::uint32_t o = index_of(id);
    if (rules_.single_area) observers_.keep_areas(o, key, std::uint64_t{key} + 1);
    if (!observers_.has_area(o, key) && observers_[o].areas.size() >= rules_.areas_max)
        return Status::capacity;
    observers_.put_area(o, keyed(key, inner(area)));
    return Status::ok;
}

Status ObserverEdits::set_areas(ObserverId id, std::span<const Area> areas) {
    if (!observers_.is_live(id)) return Status::stale_id;
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

Status ObserverEdits::remove_area(ObserverId id, std::uint32_t key) {
    if (!observers_.is_live(id)) return Status::stale_id;
    return observers_.remove_area(index_of(id), key) ? Status::ok : Status::not_found;
}

Status ObserverEdits::set_observer_range(ObserverId id, float range) {
    if (!observers_.is_live(id)) return Status::stale_id;
    if (!(range >= 0) || range > rules_.observer_range_max) return Status::bad_argument;
    if (observers_[index_of(id)].range == range) return Status::ok;
    observers_[index_of(id)].range = range;
    observers_.must_scan(index_of(id));
    return Status::ok;
}

Status ObserverEdits::set_lookahead(ObserverId id, float seconds) {
    constexpr float seconds_max = 10;
    if (!observers_.is_live(id)) return Status::stale_id;
    if (!(seconds >= 0 && seconds <= seconds_max)) return Status::bad_argument;
    if (observers_[index_of(id)].lookahead_s == seconds) return Status::ok;
    observers_[index_of(id)].lookahead_s = seconds;
    observers_.must_scan(index_of(id));
    return Status::ok;
}

Status ObserverEdits::set_unculled(ObserverId id, bool value) {
    if (!observers_.is_live(id)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    if (observers_[o].sees_everything == value) return Status::ok;
    edits_.edit_observer(o, [&] { observers_.set_unculled(o, value); });
    return Status::ok;
}

Status ObserverEdits::rescan(ObserverId id) {
    if (!observers_.is_live(id)) return Status::stale_id;
    const std::uint32_t o = index_of(id);
    observers_.must_scan(o);
    if (summary_.has_cells) edit_observer_rows(o);
    custom_nodes_.query_observer_again(o);
    return Status::ok;
}

}  // namespace purview
