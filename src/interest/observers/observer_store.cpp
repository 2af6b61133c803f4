// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/observers/observer_store.hpp"

#include <algorithm>

#include "core/observer_ids.hpp"
#include "core/validate.hpp"
#include "purview/status.hpp"

namespace purview {

std::uint32_t ObserverStore::add() {
    const std::uint32_t index = pool_.acquire();
    if (index == IdPool::no_index) return index;
    if (index == observers_.size()) {
        constexpr std::size_t few = 64, growth = 8;  // grows by an eighth: observers are large
        if (index == observers_.capacity()) observers_.reserve(index + index / growth + few);
        observers_.emplace_back();
    }
    // The previous observer with this index left no state.
    PURVIEW_ASSERT(!observers_[index].ready && observers_[index].main == EntityId::none);
    PURVIEW_ASSERT(observers_[index].areas.empty() && observers_[index].rows.empty());
    observers_[index] = Observer{};
    observers_[index].id = make_observer_id(index, pool_.generation(index));
    return index;
}

void ObserverStore::remove(std::uint32_t index) {
    PURVIEW_ASSERT(is_live(index));
    const ObserverId id = observers_[index].id;
    PURVIEW_ASSERT(observers_[index].main == EntityId::none && observers_[index].rows.empty());
    set_unculled(index, false);
    keep_areas(index, 0, 0);
    more_keys_.clear(index);
    observers_[index] = Observer{};
    observers_[index].id = id;
    pool_.release(index);
}

void ObserverStore::set_main(std::uint32_t index, EntityId main) {
    PURVIEW_ASSERT(is_live(index));
    Observer& observer = observers_[index];
    if (observer.main != EntityId::none) {
        std::uint32_t* link = mains_.find(index_of(observer.main));
        PURVIEW_ASSERT(link != nullptr);
        while (*link != index) {
            PURVIEW_ASSERT(*link < observers_.size());  // the list contains it
            link = &observers_[*link].next_of_main;
        }
        *link = observer.next_of_main;
        if (*mains_.find(index_of(observer.main)) == IdPool::no_index)
            mains_.erase(index_of(observer.main));
    }
    observer.next_of_main = IdPool::no_index;
    if (main != EntityId::none) {
        observer.next_of_main = first_of_main(index_of(main));
        mains_[index_of(main)] = index;
    }
    observer.main = main;
}

bool ObserverStore::has_area(std::uint32_t index, std::uint32_t key) const noexcept {
    const auto& areas = observers_[index].areas;
    return std::any_of(areas.begin(), areas.end(),
                       [&](const KeyedArea& one) { return one.key == key; });
}

void ObserverStore::put_area(std::uint32_t index, const KeyedArea& area) {
    PURVIEW_ASSERT(is_live(index));
    auto& areas = observers_[index].areas;
    const bool is_timed = area.ends > 0;
    if (!is_timed && std::find(areas.begin(), areas.end(), area) != areas.end()) return;
    if (is_timed) {
        timed_.resize(observers_.size());
        timed_.set(index);
    }
    must_scan(index);
    count_following(area, true);
    for (KeyedArea& one : areas) {
        if (one.key != area.key) continue;
        count_following(one, false);
        one = area;
        return;
    }
    areas.push_back(area);
}

bool ObserverStore::remove_area(std::uint32_t index, std::uint32_t key) {
    auto& areas = observers_[index].areas;
    const auto found = std::find_if(areas.begin(), areas.end(),
                                    [&](const KeyedArea& area) { return area.key == key; });
    if (found == areas.end()) return false;
    must_scan(index);
    count_following(*found, false);
    areas.erase(found);
    return true;
}

void ObserverStore::keep_areas(std::uint32_t index, std::uint64_t begin, std::uint64_t end) {
    std::erase_if(observers_[index].areas, [&](const KeyedArea& one) {
        if (one.key >= begin && one.key < end) return false;
        count_following(one, false);
        must_scan(index);
        return true;
    });
}

void ObserverStore::set_unculled(std::uint32_t index, bool value) {
    PURVIEW_ASSERT(is_live(index));
    if (observers_[index].sees_everything == value) return;
    observers_[index].sees_everything = value;
    if (value) {
        unculled_.push_back(index);
    } else {
        const std::size_t erased = std::erase(unculled_, index);
        PURVIEW_ASSERT(erased == 1);
    }
}

void ObserverStore::validate() const {
    std::uint32_t following = 0, unculled = 0, watching = 0, in_lists = 0;
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        const Observer& observer = observers_[o];
        PURVIEW_ASSERT(index_of(observer.id) == o);
        for (const KeyedArea& one : observer.areas) {
            following += one.area.follow != EntityId::none ? 1 : 0;
            PURVIEW_ASSERT(one.ends == 0 || timed_.test(o));
            const auto same =
                std::count_if(observer.areas.begin(), observer.areas.end(),
                              [&](const KeyedArea& other) { return other.key == one.key; });
            PURVIEW_ASSERT(same == 1);
        }
        unculled += observer.sees_everything ? 1 : 0;
        PURVIEW_ASSERT(!observer.ready || is_live(o));
        PURVIEW_ASSERT(!observer.ready || observer.requested_ready);
        PURVIEW_ASSERT(is_live(o) || (observer.main == EntityId::none && observer.areas.empty() &&
                                      observer.rows.empty() && !observer.sees_everything));
        PURVIEW_ASSERT(std::is_sorted(observer.rows.begin(), observer.rows.end()));
        if (observer.main == EntityId::none) continue;
        ++watching;
        std::uint32_t steps = 0;
        for (std::uint32_t at = first_of_main(index_of(observer.main)); at != o;
             at = observers_[at].next_of_main) {
            PURVIEW_ASSERT(at != IdPool::no_index && ++steps <= observers_.size());
            PURVIEW_ASSERT(observers_[at].main == observer.main);
        }
        ++in_lists;
    }
    PURVIEW_ASSERT(following == following_ && unculled == unculled_.size());
    PURVIEW_ASSERT(watching == in_lists);
    for (const std::uint32_t o : unculled_) PURVIEW_ASSERT(observers_[o].sees_everything);
    PURVIEW_VALIDATE(more_keys_);
}

}  // namespace purview
