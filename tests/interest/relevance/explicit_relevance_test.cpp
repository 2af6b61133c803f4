// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <array>

#include "purview/interest.hpp"

namespace purview {

// A minimum relevance time, or a denial that takes effect with the next tick, may outlive its
// entity. By then another entity may use the index.
TEST_CASE("interest: late ends of a despawned entity do not affect the next at its index") {
    constexpr std::uint32_t stay = 4;
    enum class Next { plain, allowed, denied, staying };
    for (const Next next : {Next::plain, Next::allowed, Next::denied, Next::staying}) {
        for (const bool is_denied_first : {false, true}) {
            for (std::uint32_t wait = 0; wait <= stay + 1; ++wait) {
                CAPTURE(static_cast<int>(next));
                CAPTURE(is_denied_first);
                CAPTURE(wait);
                Rules rules;
                rules.minimum_relevance_ticks = stay;
                rules.node("near").add(within(10));
                InterestManager manager(rules);
                const EntityId viewpoint = manager.spawn({.position = {100, 100}});
                const EntityId first = manager.spawn({.position = {101, 100}});
                const ObserverId observer = manager.add_observer({.viewpoint = viewpoint});
                manager.tick();
                CHECK(manager.is_relevant(observer, first));
                // It remains relevant for the minimum relevance time.
                CHECK(manager.move(first, {500, 500}) == Status::ok);
                manager.tick();
                CHECK(manager.is_relevant(observer, first));
                if (is_denied_first) CHECK(manager.deny(observer, first) == Status::ok);
                CHECK(manager.despawn(first) == Status::ok);
                const bool is_near = next == Next::staying;
                const EntityId second =
                    manager.spawn({.position = is_near ? Vec3{101, 100, 0} : Vec3{500, 500, 0}});
                REQUIRE(index_of(second) == index_of(first));
                if (next == Next::allowed) CHECK(manager.allow(observer, second) == Status::ok);
                if (next == Next::denied) CHECK(manager.deny(observer, second) == Status::ok);
                const bool should = next == Next::allowed || next == Next::staying;
                for (std::uint32_t tick = 0; tick < wait; ++tick) {
                    manager.tick();
                    CHECK(manager.is_relevant(observer, second) == should);
                    CHECK_FALSE(manager.is_relevant(observer, first));
                }
                if (next != Next::staying || wait == 0) continue;
                CHECK(manager.move(second, {500, 500}) == Status::ok);
                manager.tick();
                // Its minimum relevance time starts with its own enter.
                CHECK(manager.is_relevant(observer, second) == (wait < stay));
            }
        }
    }
}

}  // namespace purview
