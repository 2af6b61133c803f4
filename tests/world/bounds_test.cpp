// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Group bounds equal a full recomputation after any edits, and members that only move with their
// root are not measured again.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "small_game.hpp"
#include "world/world_data.hpp"

namespace purview::test {

namespace {

struct Deck {
    Deck() {
        position = add_position(schema, 0, 4000);
        auto turn =
            schema.component<Body>("turn").quantized("facing", &Body::facing, {-4, 4, 0.01});
        facing = turn;
        ship = schema.kind("ship", {position.id, facing.id});
        car = schema.kind("car", {position.id, facing.id});
        man = schema.kind("man", {position.id});
        crate = schema.kind("crate", {position.id});
        note = schema.kind("note", {facing.id});
        schema.edit_kind(car).relative_position = schema.edit_kind(man).relative_position = true;
        schema.set_orientation(ship, facing.id, "facing");
        schema.set_orientation(car, facing.id, "facing");
        REQUIRE(schema.problem().empty());
        WorldDef def;
        def.schema = &schema;
        def.group_members_max = 255;
        made.push_back(std::move(World::create(def)).value());
        std::vector<bool> by_kind(schema.kinds().size(), false);
        by_kind[index_of(ship)] = true;
        internal(made.front()).bounds.keep(by_kind);
    }
    World& world() { return made.front(); }
    /// Ends the tick. Returns the changed bounds that are reported in it.
    std::map<EntityId, float> tick() {
        std::map<EntityId, float> reported;
        internal(world()).settle();
        (void)internal(world()).summary.track();
        for (const GroupBounds::Change& change : internal(world()).bounds.take_changes()) {
            CHECK(reported.count(change.root) == 0);
            reported[change.root] = change.radius;
        }
        internal(world()).clear_changes();
        return reported;
    }
    Schema schema;
    Component<Position> position;
    Component<Body> facing;
    KindId ship{}, car{}, man{}, crate{}, note{};
    std::vector<World> made;
};

}  // namespace

TEST_CASE("world: group bounds equal a full recomputation after random edits (O22)") {
    std::uint64_t reported = 0, compared = 0;
    for (std::uint64_t seed = 1; seed <= 80; ++seed) {
        CAPTURE(seed);
        SplitMix random(seed);
        Deck deck;
        World& world = deck.world();
        std::vector<EntityId> all;
        std::map<EntityId, float> known;  // as the interest engine has it
        const auto somewhere = [&] {
            return Vec3{random.between(1900, 2100), random.between(1900, 2100),
                        random.between(-50, 50)};
        };
        const auto spawn = [&] {
            const KindId kinds[] = {deck.ship, deck.car, deck.man, deck.crate, deck.note};
            all.push_back(world.spawn({.kind = kinds[random.below(5)], .position = somewhere()}));
        };
        for (int i = 0; i < 25; ++i) spawn();
        for (int step = 0; step < 120; ++step) {
            for (std::uint32_t edits = random.below(5); edits > 0; --edits) {
                if (random.chance(0.3F)) internal(world).settle(true);  // a query in between
                const auto at = random.below(static_cast<std::uint32_t>(all.size()));
                const EntityId one = all[at];
                const EntityId other = all[random.below(static_cast<std::uint32_t>(all.size()))];
                switch (random.below(9)) {
                    case 0:
                    case 1:
                        (void)world.attach(one, other);
                        break;
                    case 2:
                        (void)world.detach(one);
                        break;
                    case 3:
                        (void)world.set_group_enabled(one, random.chance(0.7F));
                        break;
                    case 4:
                        if (random.chance(0.3F)) {
                            (void)world.despawn(one);
                            all.erase(all.begin() + at);
                            spawn();
                        }
                        break;
                    case 5:
                        (void)world.move(one, somewhere());
                        break;
                    case 6:
                        (void)world.set_local_position(one, {random.between(-40, 40), 0, 0});
                        break;
                    default:
                        if (Body* body = world.edit(one, deck.facing); body != nullptr)
                            body->facing = random.between(-3.9F, 3.9F);
                        break;
                }
            }
            for (const auto& [root, radius] : deck.tick()) {
                known[root] = radius;
                ++reported;
            }
            for (const EntityId root : all) {
                const bool counts = world.kind_of(root) == deck.ship && world.root_of(root) == root;
                double largest = 0;
                for (const EntityId one : all) {
                    if (!counts || one == root || world.root_of(one) != root ||
                        world.kind_of(one) == deck.note)
                        continue;
                    const Vec3 a = world.position_of(one), b = world.position_of(root);
                    largest = std::max(largest, std::hypot(double{a.x} - b.x, double{a.y} - b.y,
                                                           double{a.z} - b.z));
                    ++compared;
                }
                if (!counts) continue;
                const float reported_radius = known.count(root) == 0 ? 0 : known[root];
                CHECK(reported_radius >=
                      largest - 1e-3);  // positions derived from a parent are rounded once per tick
                CHECK(reported_radius <= largest + 1e-3);
                CHECK(internal(world).bounds.radius_of(root) == reported_radius);
            }
        }
    }
    CHECK(reported > 800);
    CHECK(compared > 10'000);
}

TEST_CASE("world: only members that move within their group are measured again") {
    Deck deck;
    World& world = deck.world();
    const EntityId ship = world.spawn({.kind = deck.ship, .position = {2000, 2000, 0}});
    std::vector<EntityId> crew;
    for (int i = 0; i < 200; ++i) {
        crew.push_back(world.spawn(
            {.kind = deck.man, .position = {2000 + static_cast<float>(i % 100), 2000, 0}}));
        REQUIRE(world.attach(crew.back(), ship) == Status::ok);
    }
    CHECK(deck.tick().at(ship) == doctest::Approx(99));
    const std::uint64_t before = internal(world).bounds.measured();
    for (int t = 0; t < 50; ++t) {
        REQUIRE(world.move(ship, {2000 + static_cast<float>(t), 2000, 0}) == Status::ok);
        world.edit(ship, deck.facing)->facing += 0.05F;
        CHECK(deck.tick().empty());
    }
    CHECK(internal(world).bounds.measured() == before);
    CHECK(internal(world).relation_work.steps_up < 1000);
    // One of them moves away and back.
    REQUIRE(world.set_local_position(crew[0], {300, 0, 0}) == Status::ok);
    CHECK(deck.tick().at(ship) == doctest::Approx(300));
    REQUIRE(world.set_local_position(crew[0], {0, 0, 0}) == Status::ok);
    CHECK(deck.tick().at(ship) == doctest::Approx(99));
    CHECK(internal(world).bounds.measured() == before + 2);
    for (const EntityId one : crew) REQUIRE(world.detach(one) == Status::ok);
    CHECK(deck.tick().at(ship) == 0);
}

}  // namespace purview::test
