// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// An ECS that reuses ids at once: within a tick several entities have the same index.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "purview/interest.hpp"
#include "purview/world.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t indices = 10;

InterestManager recycled_manager() {
    Rules def;
    def.max = {200, 200, 0};
    def.key_names.resize(1);
    def.flag_names.resize(1);
    def.count_observers = true;
    def.node("near").add(within(40).leave_at(50));
    def.node("team").add(same(id_at<KeyId>(0))).subtract(id_at<FlagId>(0));
    return InterestManager(def);
}

}  // namespace

TEST_CASE("interest: an index that is reused at once has ordered events") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        SplitMix random(seed);
        InterestManager manager = recycled_manager();
        std::array<EntityId, indices> alive{}, root{};
        std::array<std::uint32_t, indices> generation{};
        std::vector<ObserverId> observers;
        for (int i = 0; i < 4; ++i) {
            observers.push_back(manager.add_observer({.is_ready = false}));
            CHECK(manager.set_ready(observers.back(), true) == Status::ok);
            CHECK(manager.set_area(observers.back(), 0,
                                   Area::at({random.between(0, 200), 100, 0})) == Status::ok);
            CHECK(manager.set_key(observers.back(), id_at<KeyId>(0), Key{1}) == Status::ok);
        }
        const auto drop = [&](std::uint32_t i) {
            for (std::uint32_t m = 0; m < indices; ++m) {
                if (alive[m] == EntityId::none || root[m] != alive[i]) continue;
                CHECK(manager.detach(alive[m], {.position = {100, 100, 0}}) == Status::ok);
                root[m] = EntityId::none;
            }
            CHECK(manager.despawn(alive[i]) == Status::ok);
            alive[i] = root[i] = EntityId::none;
        };
        const auto has_members = [&](std::uint32_t i) {
            return std::find(root.begin(), root.end(), alive[i]) != root.end();
        };
        std::map<ObserverId, std::set<EntityId>> seen;
        std::uint64_t replaced = 0;
        for (int t = 0; t < 120; ++t) {
            for (int edits = 0; edits < 6; ++edits) {
                const std::uint32_t i = random.below(indices);
                if (alive[i] != EntityId::none && random.chance(0.6F)) drop(i);
                if (alive[i] == EntityId::none && random.chance(0.8F)) {
                    alive[i] = make_entity_id(i, ++generation[i]);
                    const Key key{static_cast<std::uint16_t>(random.below(3))};
                    EntityDef def;
                    def.id = alive[i];
                    def.position = {random.between(0, 200), random.between(0, 200), 0};
                    def.keys = {&key, 1};
                    def.flags = FlagSet(static_cast<std::uint16_t>(random.below(2)));
                    CHECK(manager.spawn(def) == alive[i]);
                    CHECK(internal(manager).entities.spawn(make_entity_id(i, generation[i] + 7),
                                                           def) == Status::duplicate);
                }
                if (alive[i] == EntityId::none) continue;
                const ObserverId one = observers[random.below(4)];
                // For a member, `hidden_by_root` is a valid result.
                if (random.chance(0.2F)) manager.allow(one, alive[i], true);
                if (random.chance(0.1F)) CHECK(manager.deny(one, alive[i], true) == Status::ok);
                if (random.chance(0.2F)) CHECK(manager.set_owner(alive[i], one) == Status::ok);
                const std::uint32_t other = random.below(indices);
                if (random.chance(0.3F) && other != i && alive[other] != EntityId::none &&
                    root[other] == EntityId::none && root[i] == EntityId::none && !has_members(i)) {
                    CHECK(manager.attach(alive[i], alive[other]) == Status::ok);
                    root[i] = alive[other];
                }
            }
            manager.tick();
            for (const InterestEvent& event : manager.events()) {
                std::set<EntityId>& its = seen[event.observer];
                if (event.enter) {
                    for (const EntityId other : its) {
                        // A table by index never holds two entities at one index.
                        REQUIRE(index_of(other) != index_of(event.entity));
                    }
                    REQUIRE(its.insert(event.entity).second);
                } else {
                    REQUIRE(its.erase(event.entity) == 1);
                    const EntityId now = alive[index_of(event.entity)];
                    replaced += now != EntityId::none && now != event.entity ? 1 : 0;
                }
            }
            for (const ObserverId observer : observers) {
                std::set<EntityId> now;
                manager.for_each_relevant(observer, [&](EntityId entity) {
                    REQUIRE(now.insert(entity).second);
                    REQUIRE(alive[index_of(entity)] == entity);
                });
                REQUIRE(now == seen[observer]);
            }
        }
        CHECK(replaced > 20);
    }
}

TEST_CASE("world: a full world accepts a spawn in the tick of a despawn") {
    Schema schema;
    struct Nothing {
        std::uint8_t value = 0;
    };
    const auto piece = schema.component<Nothing>("part").integer("value", &Nothing::value, 0, 9);
    const KindId kind = schema.kind("thing", {piece.id()});
    WorldDef def;
    def.schema = &schema;
    def.entities_max = 3;
    auto made = World::create(def);
    REQUIRE(made);
    World world = std::move(made).value();
    std::array<EntityId, 3> all{};
    for (EntityId& one : all) one = world.spawn({.kind = kind});
    CHECK(world.spawn({.kind = kind}) == EntityId::none);
    std::set<EntityId> ids(all.begin(), all.end());
    // Each entity may be replaced once within the tick. Ids are never reused.
    for (EntityId& one : all) {
        CHECK(world.despawn(one) == Status::ok);
        one = world.spawn({.kind = kind});
        REQUIRE(one != EntityId::none);
        CHECK(ids.insert(one).second);
    }
    CHECK(world.spawn({.kind = kind}) == EntityId::none);
    // The number of retired indices is bounded: no second replacement before the tick ends.
    CHECK(world.despawn(all[0]) == Status::ok);
    CHECK(world.spawn({.kind = kind}) == EntityId::none);
}

}  // namespace purview::test
