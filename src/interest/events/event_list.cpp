// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/events/event_list.hpp"

namespace purview {

std::span<const InterestEvent> EventList::of(ObserverId observer) const noexcept {
    const std::uint32_t o = index_of(observer);
    if (2 * o >= of_observer_.keys()) return {};
    const std::uint32_t begin = of_observer_.begin(2 * o), end = of_observer_.end(2 * o + 1);
    PURVIEW_ASSERT(begin <= end && end <= events_.size());
    if (begin < end && events_[begin].observer != observer) return {};  // the index was reused
    return std::span(events_).subspan(begin, end - begin);
}

void EventList::validate() const {
    PURVIEW_ASSERT(of_observer_.size() == events_.size());
    for (std::size_t i = 1; i < events_.size(); ++i) {
        PURVIEW_ASSERT(bucket(index_of(events_[i - 1].observer), events_[i - 1].enter) <=
                       bucket(index_of(events_[i].observer), events_[i].enter));
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const InterestEvent& event = events_[i];
        const std::uint32_t at = bucket(index_of(event.observer), event.enter);
        PURVIEW_ASSERT(of_observer_.begin(at) <= i && i < of_observer_.end(at));
        const bool is_of_enter = event.reason <= Reason::forced || event.reason == Reason::promoted;
        PURVIEW_ASSERT(is_of_enter == event.enter);
    }
}

}  // namespace purview
