// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/events/explicit_change_log.hpp"

#include <algorithm>

#include "core/prefetch.hpp"
#include "core/trim.hpp"
#include "purview/status.hpp"

namespace purview {

/// Sorting again costs one more pass over all changes. It is rare, because most changes are added
/// before the first look-up.
void ExplicitChangeLog::settle(std::size_t observers) {
    if (settled_ == changes_.size()) return;
    sort(observers);
    constexpr std::size_t ahead = 16;
    for (std::uint32_t o = 0; o < of_observer_.keys(); ++o) {
        last_of_ = o;
        for (std::uint32_t i = of_observer_.begin(o); i < of_observer_.end(o); ++i) {
            if (i + ahead < changes_.size() && index_of(changes_[i + ahead].entity) < last_.size())
                prefetch_line(&last_[index_of(changes_[i + ahead].entity)]);
            ExplicitChange& change = changes_[i];
            if (change.canceled) continue;
            const std::uint32_t index = index_of(change.entity);
            if (last_.size() <= index) last_.resize(index + 1 + index / 8, 0);
            ExplicitChange* earlier = find_before(o, i, change.entity);
            last_[index] = i;
            if (earlier != nullptr && earlier->enter != change.enter)
                earlier->canceled = change.canceled = true;
        }
    }
    settled_ = changes_.size();
}

/// Sorts by observer, and keeps the order of the changes of one observer.
void ExplicitChangeLog::sort(std::size_t observers) {
    const auto by_observer = [](const ExplicitChange& left, const ExplicitChange& right) {
        return left.observer < right.observer;
    };
    of_observer_.clear(observers);
    for (const ExplicitChange& change : changes_) {
        PURVIEW_ASSERT(change.observer < observers);
        of_observer_.count(change.observer);
    }
    of_observer_.settle();
    PURVIEW_ASSERT(of_observer_.size() == changes_.size());
    if (std::is_sorted(changes_.begin(), changes_.end(), by_observer)) return;
    unsorted_.swap(changes_);
    changes_.resize(unsorted_.size());
    for (const ExplicitChange& change : unsorted_)
        changes_[of_observer_.next(change.observer)] = change;
}

/// Returns the newest change before `end` that is not canceled, or null. `observer` must be
/// last_of_.
ExplicitChange* ExplicitChangeLog::find_before(std::uint32_t observer, std::size_t end,
                                               EntityId entity) noexcept {
    PURVIEW_ASSERT(observer == last_of_ && end <= changes_.size());
    // An entry of last_ may belong to another tick or observer, so it is checked before use.
    const std::uint32_t at =
        index_of(entity) < last_.size() ? last_[index_of(entity)] : ~std::uint32_t{0};
    const std::uint32_t begin = of_observer_.begin(observer);
    if (at < begin || at >= end) return nullptr;
    ExplicitChange* change = &changes_[at];
    // Another entity may have had the index since: then earlier changes are searched.
    if (change->entity != entity && index_of(change->entity) == index_of(entity)) {
        while (change > &changes_[begin] && change->entity != entity) --change;
    }
    return change->entity == entity && !change->canceled ? change : nullptr;
}

ExplicitChange* ExplicitChangeLog::find(std::uint32_t observer, EntityId entity,
                                        std::size_t observers) {
    if (changes_.empty()) return nullptr;
    settle(observers);
    if (observer >= of_observer_.keys()) return nullptr;
    const std::uint32_t begin = of_observer_.begin(observer), end = of_observer_.end(observer);
    if (begin == end) return nullptr;
    if (last_of_ != observer) {
        for (std::uint32_t i = begin; i < end; ++i) {
            if (changes_[i].canceled) continue;
            PURVIEW_ASSERT(index_of(changes_[i].entity) < last_.size());
            last_[index_of(changes_[i].entity)] = i;
        }
        last_of_ = observer;
    }
    return find_before(observer, end, entity);
}

void ExplicitChangeLog::clear() {
    clear_and_trim(changes_);
    settled_ = 0;
}

void ExplicitChangeLog::validate() const {
    PURVIEW_ASSERT(settled_ <= changes_.size());
    PURVIEW_ASSERT(settled_ == 0 || of_observer_.size() == settled_);
    for (std::size_t i = 1; i < settled_; ++i)
        PURVIEW_ASSERT(changes_[i - 1].observer <= changes_[i].observer);
}

}  // namespace purview
