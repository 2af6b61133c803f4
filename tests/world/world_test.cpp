// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/internal_access.hpp"
#include "small_game.hpp"
#include "world/world_data.hpp"

namespace purview::test {

namespace {

World make_world(const SmallSchema& schema, std::uint32_t entities_max = 1000) {
    WorldDef def;
    def.schema = &schema.schema;
    def.entities_max = entities_max;
    def.group_members_max = 8;
    def.group_depth_max = 3;
    return std::move(World::create(def)).value();
}

}  // namespace

TEST_CASE(
    "world: a stale id is answered with stale_id by every call, and a full table with capacity") {
    SmallSchema schema;
    World world = make_world(schema, 2);
    const EntityId a = *world.spawn(schema.animal, {1, 2, 0});
    const EntityId b = *world.spawn(schema.tree);
    CHECK(world.spawn(schema.tree).error() == Status::capacity);
    CHECK(world.despawn(a) == Status::ok);
    CHECK(world.despawn(a) == Status::stale_id);
    CHECK(world.move(a, {}) == Status::stale_id);
    CHECK(world.set(a, schema.body, Body{}) == Status::stale_id);
    CHECK(world.attach(a, b) == Status::stale_id);
    CHECK(world.set_owner(a, ObserverId{1}) == Status::stale_id);
    CHECK(world.get(a, schema.body) == nullptr);
    CHECK(world.set(b, schema.body, Body{}) == Status::bad_argument);
    const EntityId c = *world.spawn(schema.tree);  // in its stead; its index rests
    CHECK(index_of(c) != index_of(a));
    CHECK(world.spawn(schema.tree).error() == Status::capacity);
    CHECK(world.despawn(c) == Status::ok);
    internal(world).clear_changes();
    const EntityId d = *world.spawn(schema.tree);
    CHECK(index_of(d) == index_of(a));
    CHECK(d != a);
    CHECK_FALSE(world.is_alive(a));
}

TEST_CASE(
    "world: a place that is not finite is refused, and put back when it was written directly") {
    SmallSchema schema;
    World world = make_world(schema);
    const EntityId a = *world.spawn(schema.animal, {1, 2, 0});
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(world.move(a, {nan, 0, 0}) == Status::bad_position);
    CHECK(world.spawn(schema.animal, {0, std::numeric_limits<float>::infinity(), 0}).error() ==
          Status::bad_position);
    CHECK(world.position_of(a) == Vec3{1, 2, 0});
    internal(world).settle();
    world.edit(a, schema.position)->at = {nan, nan, 0};
    internal(world).settle();
    CHECK(world.position_of(a) == Vec3{1, 2, 0});
    CHECK(internal(world).bad_positions() == 1);
}

TEST_CASE(
    "world: flags and keys are reported once per change, and not for what was spawned this tick") {
    SmallSchema schema;
    World world = make_world(schema);
    const EntityId a = *world.spawn(schema.animal);
    world.edit(a, schema.body)->cloaked = true;
    internal(world).settle();
    CHECK(internal(world).track_attribute_changes().empty());
    CHECK(internal(world).flags_at(index_of(a)) == 1);
    (void)internal(world).track_ops();
    internal(world).clear_changes();
    Body* body = world.edit(a, schema.body);
    body->cloaked = false;
    body->team = 3;
    internal(world).settle();
    const auto both = internal(world).track_attribute_changes();
    REQUIRE(both.size() == 2);
    CHECK(both[0].flag == schema.cloaked);
    CHECK(both[1].key == Key{3});
    internal(world).settle();
    CHECK(internal(world).track_attribute_changes().empty());
}

TEST_CASE("world: what was written since somebody asked last is known when he asks again") {
    SmallSchema schema;
    World world = make_world(schema, 1'000);
    SplitMix random(4);
    std::vector<EntityId> all;
    for (int i = 0; i < 400; ++i) all.push_back(*world.spawn(schema.animal, {1, 2, 0}));
    internal(world).settle();
    internal(world).clear_changes();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (int tick = 0; tick < 20; ++tick) {
        for (int edit = 0; edit < 40; ++edit) {
            const EntityId one = all[random.below(400)], other = all[random.below(400)];
            world.edit(one, schema.body)->cloaked = random.chance(0.5F);
            world.edit(other, schema.position)->at = {nan, 0, 0};
            internal(world).settle(true);
            CHECK(internal(world).flags_at(index_of(one)) ==
                  (world.get(one, schema.body)->cloaked ? 1 : 0));
            CHECK(world.position_of(other) == Vec3{1, 2, 0});
        }
        internal(world).settle();
        internal(world).clear_changes();
    }
}

TEST_CASE(
    "world: a value is a field as a number, reported once per change, and stays where a number is "
    "not finite (N41)") {
    struct Condition {
        std::int8_t mood = 0;
        std::uint32_t gold = 0;
        bool awake = false;
        float heat = 0;
    };
    Schema schema;
    const Component<Condition> state = schema.component<Condition>("state")
                                           .integer("mood", &Condition::mood, -100, 100)
                                           .integer("gold", &Condition::gold, 0, 4'000'000'000)
                                           .boolean("awake", &Condition::awake)
                                           .real("heat", &Condition::heat);
    const KindId person = schema.kind("person", {state.id});
    const KindId stone = schema.kind("stone", {});
    const ValueId mood = schema.value("mood", state.id, "mood");
    const ValueId gold = schema.value("gold", state.id, "gold");
    const ValueId awake = schema.value("awake", state.id, "awake");
    const ValueId heat = schema.value("heat", state.id, "heat");
    REQUIRE_MESSAGE(schema.status() == Status::ok, schema.problem());
    CHECK(schema.find_value("gold") == gold);
    CHECK(schema.find_value("silver") == ValueId::none);
    WorldDef def;
    def.schema = &schema;
    World world = std::move(World::create(def)).value();
    WorldData& data = internal(world);
    const EntityId a = *world.spawn(person);
    const EntityId b = *world.spawn(stone);
    *world.edit(a, state) = {-7, 3'000'000'000, true, 36.6F};
    data.settle();
    CHECK(data.track_attribute_changes().empty());  // its spawn carries them
    CHECK(data.value_at(index_of(a), mood) == -7);
    CHECK(data.value_at(index_of(a), gold) == 3e9F);
    CHECK(data.value_at(index_of(a), awake) == 1);
    CHECK(data.value_at(index_of(a), heat) == 36.6F);
    CHECK(data.value_at(index_of(b), heat) == 0);
    (void)data.track_ops();
    data.clear_changes();

    world.edit(a, state)->heat = std::numeric_limits<float>::quiet_NaN();
    world.edit(a, state)->mood = 5;
    data.settle();
    const auto one = data.track_attribute_changes();
    REQUIRE(one.size() == 1);
    CHECK(one[0].value == mood);
    CHECK(one[0].number == 5);
    CHECK(data.value_at(index_of(a), heat) == 36.6F);
    data.settle();
    CHECK(data.track_attribute_changes().empty());
}

TEST_CASE("world: a schema has at most eight values, each with a name and a field of its own") {
    Schema schema;
    const Component<Body> body = schema.component<Body>("body").integer("hp", &Body::hp, 0, 999);
    for (int i = 0; i < 8; ++i) {
        CHECK(schema.value("v" + std::to_string(i), body.id, "hp") != ValueId::none);
    }
    CHECK(schema.status() == Status::ok);
    CHECK(Schema(schema).value("v0", body.id, "hp") == ValueId::none);
    Schema no_field = schema;
    CHECK(no_field.value("w", body.id, "mana") == ValueId::none);
    CHECK(no_field.status() == Status::bad_configuration);
    CHECK(schema.value("v8", body.id, "hp") == ValueId::none);
    CHECK(schema.problem().find("more than 8") != std::string::npos);
}

TEST_CASE(
    "world: a group has no cycle, and its limits are refused with a named status, never cut (O6)") {
    SmallSchema schema;
    World world = make_world(schema);
    std::vector<EntityId> e;
    for (int i = 0; i < 12; ++i) e.push_back(*world.spawn(schema.crate));
    CHECK(world.attach(e[0], e[0]) == Status::would_cycle);
    CHECK(world.attach(e[1], e[0]) == Status::ok);
    CHECK(world.attach(e[2], e[1]) == Status::ok);
    CHECK(world.attach(e[0], e[2]) == Status::would_cycle);
    CHECK(world.attach(e[3], e[2]) == Status::ok);
    CHECK(world.attach(e[4], e[3]) == Status::too_deep);
    CHECK(world.parent_of(e[4]) == EntityId::none);
    for (int i = 4; i < 8; ++i)
        CHECK(world.attach(e[static_cast<std::size_t>(i)], e[0]) == Status::ok);
    CHECK(world.attach(e[8], e[0]) == Status::too_large);
    CHECK(world.root_of(e[3]) == e[0]);
    CHECK(world.despawn(e[0]) == Status::ok);
    CHECK(world.root_of(e[3]) == e[1]);
    CHECK(world.parent_of(e[1]) == EntityId::none);
    CHECK(world.root_of(e[5]) == e[5]);
}

TEST_CASE(
    "world: random attach, detach and despawn leave the forest that an obvious model leaves (O10 "
    "O38)") {
    SmallSchema schema;
    SplitMix random(11);
    for (int round = 0; round < 20; ++round) {
        WorldDef def;
        def.schema = &schema.schema;
        World world = std::move(World::create(def)).value();
        std::map<EntityId, EntityId> parent;  // the model: nothing but parents
        std::vector<EntityId> all;
        const auto root_of = [&](EntityId e) {
            while (parent[e] != EntityId::none) e = parent[e];
            return e;
        };
        for (int step = 0; step < 400; ++step) {
            const auto pick = [&] {
                return all[random.below(static_cast<std::uint32_t>(all.size()))];
            };
            const std::uint32_t what = all.size() < 2 ? 0 : random.below(8);
            if (what < 2) {
                all.push_back(*world.spawn(schema.crate));
                parent[all.back()] = EntityId::none;
            } else if (what < 5) {
                const EntityId child = pick();
                const EntityId under = pick();
                if (world.attach(child, under) == Status::ok) parent[child] = under;
            } else if (what < 7) {
                const EntityId child = pick();
                CHECK((world.detach(child) == Status::ok) == (parent[child] != EntityId::none));
                parent[child] = EntityId::none;
            } else {
                const EntityId gone = pick();
                CHECK(world.despawn(gone) == Status::ok);
                for (auto& [child, under] : parent) {
                    if (under == gone) under = EntityId::none;
                }
                parent.erase(gone);
                std::erase(all, gone);
                internal(world).clear_changes();
            }
            for (const EntityId e : all) {
                REQUIRE(world.parent_of(e) == parent[e]);
                REQUIRE(world.root_of(e) == root_of(e));
                for (const EntityId child : world.children_of(e)) REQUIRE(parent[child] == e);
            }
        }
    }
}

TEST_CASE("world: a place is where floats are") {
    struct Numbers {
        std::uint16_t a = 0, b = 0;
        float y = 0, z = 0;
    };
    Schema schema;
    schema.set_position(schema.component<Numbers>("numbers").integer("b", &Numbers::b, 0, 9).id());
    CHECK(schema.status() != Status::ok);
    CHECK(schema.problem() == "field 'b' lies where the Vec3 of the place does, and is no float");
    Schema later;
    auto numbers = later.component<Numbers>("numbers");
    later.set_position(numbers.id());
    numbers.real("y", &Numbers::y);
    CHECK(later.status() == Status::ok);
    numbers.integer("a", &Numbers::a, 0, 9);
    CHECK(later.status() != Status::ok);
}

TEST_CASE("world: an unsound schema says what is wrong with it, and makes no world") {
    Schema twice;
    twice.component<Body>("body")
        .boolean("cloaked", &Body::cloaked)
        .boolean("cloaked", &Body::cloaked);
    CHECK(twice.status() == Status::bad_configuration);
    CHECK(twice.problem().find("'cloaked'") != std::string::npos);
    WorldDef def;
    def.schema = &twice;
    CHECK(World::create(def).error() == Status::bad_configuration);
    Schema range;
    range.component<Body>("body").integer("team", &Body::team, 0, 300);
    CHECK(range.problem().find("does not fit") != std::string::npos);
    Schema key;
    const auto body =
        key.component<Body>("body").quantized("facing", &Body::facing, {0, 1, 0.1}).id();
    CHECK(key.key("k", body, "facing") == KeyId::none);
    CHECK(key.status() == Status::bad_configuration);
}

TEST_CASE("world: a kind has at most 64 fields, also where some are added after it") {
    Schema schema;
    std::vector<ComponentId> components;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        ComponentDef def;
        def.name = name;
        def.size_bytes = 1;
        components.push_back(schema.add_component(def));
    }
    schema.kind("little", {components[4]});
    schema.kind("much", components);
    const auto add = [&](ComponentId component, std::size_t number) {
        FieldDef field;
        field.name = std::to_string(number);
        field.size_bytes = 1;
        schema.add_field(component, field);
    };
    for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t f = 0; f < Schema::fields_max; ++f) add(components[c], f);
    CHECK(schema.status() == Status::ok);
    add(components[4], 0);
    CHECK(schema.status() == Status::bad_configuration);
    CHECK(schema.problem() == "kind 'much' has more than 64 fields");
}

TEST_CASE("world: what is predicted has no references, also none that are added later") {
    struct Chase {
        float speed = 0;
        EntityId whom = EntityId::none;
    };
    Schema schema;
    auto chase = schema.component<Chase>("chase");
    schema.predict(chase.id());
    chase.real("speed", &Chase::speed);
    CHECK(schema.status() == Status::ok);
    chase.reference("whom", &Chase::whom);
    CHECK(schema.status() == Status::bad_configuration);
    CHECK(schema.problem() ==
          "field 'whom' of component 'chase' is a reference, and the component is predicted");
}

TEST_CASE("world: a visit of all entities ends, also where it spawns") {
    Schema schema;
    const KindId kind = schema.kind("nest", {});
    WorldDef def;
    def.schema = &schema;
    World world = std::move(World::create(def)).value();
    for (int i = 0; i < 3; ++i) REQUIRE(world.spawn(kind));
    int visited = 0;
    world.for_each([&](EntityId) {
        ++visited;
        REQUIRE(world.spawn(kind));
    });
    CHECK(visited == 3);
    visited = 0;
    world.for_each([&](EntityId) { ++visited; });
    CHECK(visited == 6);
}

}  // namespace purview::test
