// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/events/event_list.hpp"
#include "core/observer_ids.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/hash.hpp"

namespace purview {

TEST_CASE("event list: published events are stably sorted and found by observer") {
    constexpr std::uint32_t observers = 6;
    SplitMix random(5);
    EventList events;
    ExplicitChangeLog changes;
    for (int tick = 0; tick < 200; ++tick) {
        // Some observers have another generation: events are found by id, not by index.
        const auto observer = [&](std::uint32_t o) { return make_observer_id(o, 1 + o % 2); };
        std::vector<InterestEvent> expected;
        const std::uint32_t pending = random.below(20), explicit_ones = random.below(20);
        for (std::uint32_t i = 0; i < pending; ++i) {
            const bool enter = random.below(2) == 0;
            const InterestEvent event{make_entity_id(i, 1), observer(random.below(observers)),
                                      enter ? Reason::entered : Reason::left, enter};
            events.add({event.entity, event.observer, event.reason, event.enter});
            expected.push_back(event);
        }
        REQUIRE(events.pending().size() == pending);
        for (std::uint32_t i = 0; i < explicit_ones; ++i)
            changes.add(random.below(observers), make_entity_id(100 + i, 1), random.below(2) == 0);
        changes.settle(observers);
        std::size_t prefetched = 0;
        const auto event_of = [&](const ExplicitChange& change) -> InterestEvent {
            return {change.entity, observer(change.observer),
                    change.enter ? Reason::forced : Reason::hidden, change.enter};
        };
        for (const ExplicitChange& change : changes) {
            if (!change.canceled) expected.push_back(event_of(change));
        }
        events.publish(observers, changes, event_of, [&](const ExplicitChange&) { ++prefetched; });
        std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
            return index_of(a.observer) != index_of(b.observer)
                       ? index_of(a.observer) < index_of(b.observer)
                       : a.enter < b.enter;
        });
        events.validate();
        const auto is_same = [](const InterestEvent& a, const InterestEvent& b) {
            return a.observer == b.observer && a.entity == b.entity && a.reason == b.reason &&
                   a.enter == b.enter;
        };
        REQUIRE(std::equal(expected.begin(), expected.end(), events.all().begin(),
                           events.all().end(), is_same));
        for (std::uint32_t o = 0; o < observers; ++o) {
            std::vector<InterestEvent> its;
            for (const InterestEvent& event : expected) {
                if (event.observer == observer(o)) its.push_back(event);
            }
            const auto found = events.of(observer(o));
            REQUIRE(std::equal(its.begin(), its.end(), found.begin(), found.end(), is_same));
            REQUIRE((its.empty() || events.of(make_observer_id(o, 9)).empty()));
        }
        REQUIRE(events.of(make_observer_id(observers + 3, 1)).empty());
        events.clear_pending();
        changes.clear();
    }
}

}  // namespace purview
