// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/events/user_data.hpp"

#include <doctest/doctest.h>

#include <map>

#include "core/hash.hpp"
#include "purview/interest.hpp"

namespace purview {

TEST_CASE("interest: events have the user data of entities and observers, also removed ones") {
    InterestManager manager{Rules()};
    const EntityId rock = manager.spawn({.position = {1, 1}, .user_data = 70});
    const EntityId plain = manager.spawn({.position = {2, 2}});
    const ObserverId observer = manager.add_observer({.viewpoint = rock, .user_data = 9});
    manager.tick();
    REQUIRE(manager.events().size() == 2);
    CHECK(manager.events()[0].entity == rock);
    CHECK(manager.events()[0].entity_data == 70);
    CHECK(manager.events()[0].observer_data == 9);
    CHECK(manager.events()[1].entity_data == 0);
    CHECK(manager.entity(rock).user_data() == 70);
    CHECK(manager.set_user_data(plain, 71) == Status::ok);
    CHECK(manager.set_user_data(observer, 10) == Status::ok);
    // Both are removed, and one index is reused in the same tick.
    CHECK(manager.despawn(rock) == Status::ok);
    const EntityId next = manager.spawn({.position = {3, 3}, .user_data = 72});
    CHECK(index_of(next) == index_of(rock));
    manager.tick();
    std::map<EntityId, std::uint64_t> reported;
    for (const InterestEvent& event : manager.events(observer))
        reported[event.entity] = event.entity_data;
    CHECK(reported == std::map<EntityId, std::uint64_t>{{rock, 70}, {next, 72}});
    CHECK(manager.entity(rock).user_data() == 0);
    CHECK(manager.remove_observer(observer) == Status::ok);
    manager.tick();
    for (const InterestEvent& event : manager.events()) CHECK(event.observer_data == 10);
    CHECK(manager.events().size() == 2);
    CHECK(manager.set_user_data(rock, 1) == Status::stale_id);
    CHECK(manager.set_user_data(observer, 1) == Status::stale_id);
}

TEST_CASE("interest: user data equals a plain map through spawns and despawns") {
    SplitMix random(11);
    UserData<EntityId> data;
    std::map<EntityId, std::uint64_t> plain, gone;
    std::uint32_t generation = 1;
    for (int step = 0; step < 3000; ++step) {
        const std::uint32_t index = random.below(40);
        if (random.chance(0.5F)) {
            for (auto it = plain.begin(); it != plain.end(); ++it) {
                if (index_of(it->first) != index) continue;
                data.forget(it->first);
                gone[it->first] = it->second;
                plain.erase(it);
                break;
            }
            const EntityId id = make_entity_id(index, ++generation);
            data.set(id, 1 + random.below(1000));
            plain[id] = data.get(id);
        }
        if (step % 50 == 0) {
            data.sort_gone();
            for (const auto& [id, value] : plain) CHECK(data.get(id) == value);
            for (const auto& [id, value] : gone) CHECK(data.get(id) == value);
            data.clear_gone();
            for (const auto& [id, value] : gone) CHECK(data.get(id) == 0);
            gone.clear();
        }
    }
}

}  // namespace purview
