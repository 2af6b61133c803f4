// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/observers/observer_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/hash.hpp"

namespace purview {

namespace {

struct PlainObserver {
    ObserverId id = ObserverId::none;
    EntityId main = EntityId::none;
    bool sees_everything = false;
    std::map<std::uint32_t, KeyedArea> areas;
};

}  // namespace

TEST_CASE("observer store: ids, main entities and areas equal plain maps after random calls") {
    constexpr std::uint32_t entities = 6, observers_max = 12;
    SplitMix random(17);
    ObserverStore store(observers_max);
    std::map<std::uint32_t, PlainObserver> plain;
    std::set<ObserverId> used;
    std::set<EntityId> gone;
    Tick tick = 1;
    std::uint32_t expired = 0, full = 0;
    const auto entity = [&] { return make_entity_id(random.below(entities), 1); };
    for (int step = 0; step < 6'000; ++step) {
        const auto live = [&]() -> PlainObserver* {
            if (plain.empty()) return nullptr;
            auto at = plain.begin();
            std::advance(at, random.below(static_cast<std::uint32_t>(plain.size())));
            return &at->second;
        };
        PlainObserver* const one = live();
        const std::uint32_t o = one == nullptr ? 0 : index_of(one->id);
        const std::uint32_t what = random.below(20);
        if (what < 4 || one == nullptr) {
            const std::uint32_t index = store.add();
            REQUIRE((index == IdPool::no_index) == (plain.size() == observers_max));
            full += index == IdPool::no_index ? 1 : 0;
            if (index == IdPool::no_index) continue;
            REQUIRE(used.insert(store[index].id).second);  // no id is reused
            plain[index].id = store[index].id;
        } else if (what < 6) {
            store.set_main(o, EntityId::none);
            store.remove(o);
            REQUIRE_FALSE(store.is_live(one->id));
            REQUIRE(store[o].id == one->id);
            plain.erase(o);
        } else if (what < 10) {
            one->main = random.below(4) == 0 ? EntityId::none : entity();
            store.set_main(o, one->main);
        } else if (what < 15) {
            KeyedArea area{random.below(4), random.below(2) == 0 ? 0 : tick + random.below(9), {}};
            area.area.follow = random.below(3) == 0 ? entity() : EntityId::none;
            store.put_area(o, area);
            one->areas[area.key] = area;
        } else if (what < 16) {
            const std::uint32_t key = random.below(5);
            REQUIRE(store.remove_area(o, key) == (one->areas.erase(key) != 0));
        } else if (what < 17) {
            const std::uint32_t begin = random.below(3), end = begin + random.below(3);
            store.keep_areas(o, begin, end);
            std::erase_if(one->areas, [&](const auto& area) {
                return area.first < begin || area.first >= end;
            });
        } else if (what < 18) {
            one->sees_everything = random.below(2) == 0;
            store.set_unculled(o, one->sees_everything);
        } else {
            ++tick;
            gone.clear();
            if (random.below(4) == 0) gone.insert(entity());
            store.expire_areas(tick, [&](EntityId id) { return gone.count(id) == 0; });
            for (auto& [index, its] : plain) {
                expired += static_cast<std::uint32_t>(std::erase_if(its.areas, [&](const auto& at) {
                    const KeyedArea& area = at.second;
                    return (area.ends != 0 && area.ends < tick) ||
                           gone.count(area.area.follow) != 0;
                }));
            }
            store.recycle();
        }
        store.validate();
        std::uint32_t following = 0;
        std::set<std::uint32_t> unculled;
        for (const auto& [index, its] : plain) {
            REQUIRE(store.is_live(its.id));
            REQUIRE(store[index].main == its.main);
            if (its.sees_everything) unculled.insert(index);
            REQUIRE(store[index].areas.size() == its.areas.size());
            for (const auto& [key, area] : its.areas) {
                REQUIRE(store.has_area(index, key));
                REQUIRE(std::count(store[index].areas.begin(), store[index].areas.end(), area) ==
                        1);
                following += area.area.follow != EntityId::none ? 1 : 0;
            }
        }
        REQUIRE(store.following() == following);
        const auto found = store.unculled();
        REQUIRE(std::set<std::uint32_t>(found.begin(), found.end()) == unculled);
        for (std::uint32_t e = 0; e < entities; ++e) {
            std::set<std::uint32_t> watchers;
            store.for_each_watcher(make_entity_id(e, 1),
                                   [&](std::uint32_t at) { watchers.insert(at); });
            std::set<std::uint32_t> expected;
            for (const auto& [index, its] : plain) {
                if (its.main == make_entity_id(e, 1)) expected.insert(index);
            }
            REQUIRE(watchers == expected);
            REQUIRE(store.has_watchers(make_entity_id(e, 1)) == !expected.empty());
        }
    }
    CHECK(expired > 200);
    CHECK(full > 20);
}

TEST_CASE("observer store: an observer that must be scanned is woken until cleared") {
    ObserverStore store(4);
    const std::uint32_t a = store.add(), b = store.add();
    store[a].needs_scan = store[b].needs_scan = false;
    CHECK_FALSE(store.any_needs_scan());
    store.must_scan(b);
    CHECK(store.any_needs_scan());
    CHECK(store[b].needs_scan);
    CHECK(store.is_woken(b));
    CHECK_FALSE(store.is_woken(a));
    store.clear_needs_scan();
    store.clear_woken();
    CHECK_FALSE(store.any_needs_scan());
    CHECK_FALSE(store.is_woken(b));
    // An index beyond the end of the woken set.
    CHECK_FALSE(store.is_woken(3));
}

}  // namespace purview
