// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "core/internal_access.hpp"
#include "protocol/schema_access.hpp"
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

TEST_CASE("world: every call refuses a stale id, and a full table reports capacity") {
    SmallSchema schema;
    World world = make_world(schema, 2);
    const EntityId a = world.spawn({.kind = schema.animal, .position = {1, 2, 0}});
    const EntityId b = world.spawn({.kind = schema.tree});
    CHECK(world.spawn({.kind = schema.tree}) == EntityId::none);
    CHECK(world.despawn(a) == Status::ok);
    CHECK(world.despawn(a) == Status::stale_id);
    CHECK(world.move(a, {}) == Status::stale_id);
    CHECK(world.set(a, schema.body, Body{}) == Status::stale_id);
    CHECK(world.attach(a, b) == Status::stale_id);
    CHECK(world.set_owner(a, ObserverId{1}) == Status::stale_id);
    CHECK(world.get(a, schema.body) == nullptr);
    CHECK(world.set(b, schema.body, Body{}) == Status::bad_argument);
    const EntityId c = world.spawn({.kind = schema.tree});  // replaces it with another index
    CHECK(index_of(c) != index_of(a));
    CHECK(world.spawn({.kind = schema.tree}) == EntityId::none);
    CHECK(world.despawn(c) == Status::ok);
    internal(world).clear_changes();
    const EntityId d = world.spawn({.kind = schema.tree});
    CHECK(index_of(d) == index_of(a));
    CHECK(d != a);
    CHECK_FALSE(world.is_alive(a));
}

TEST_CASE("world: a position that is not finite is refused, or reset after a direct write") {
    SmallSchema schema;
    World world = make_world(schema);
    const EntityId a = world.spawn({.kind = schema.animal, .position = {1, 2, 0}});
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(world.move(a, {nan, 0, 0}) == Status::bad_position);
    CHECK(world.position_of(a) == Vec3{1, 2, 0});
    internal(world).settle();
    world.edit(a, schema.position)->at = {nan, nan, 0};
    internal(world).settle();
    CHECK(world.position_of(a) == Vec3{1, 2, 0});
    CHECK(internal(world).positions.bad_positions() == 1);
}

TEST_CASE("world: a game may use its own ids and mix them with those of the world") {
    SmallSchema schema;
    World world = make_world(schema, 100);
    const EntityId own = make_entity_id(40, 7);
    CHECK(world.spawn({.id = own, .kind = schema.animal, .position = {1, 2, 0}}) == own);
    CHECK(world.is_alive(own));
    CHECK(world.position_of(own) == Vec3{1, 2, 0});
    CHECK(world.entity_count() == 1);
    CHECK(world.index_end() == 41);
    const EntityId assigned = world.spawn({.kind = schema.tree});
    CHECK(assigned != EntityId::none);
    CHECK(world.at_index(index_of(assigned)) == assigned);
    std::vector<EntityId> all;
    world.for_each([&](EntityId entity) { all.push_back(entity); });
    CHECK(all == std::vector<EntityId>{assigned, own});
    CHECK(world.despawn(own) == Status::ok);
    internal(world).settle();
    (void)internal(world).summary.track();
    internal(world).clear_changes();
    const EntityId next = make_entity_id(40, 8);
    CHECK(world.spawn({.id = next, .kind = schema.animal, .owner = ObserverId{3}}) == next);
    CHECK(world.owner_of(next) == ObserverId{3});
    CHECK(world.attach(assigned, next) == Status::ok);
    internal(world).clear_changes();
}

TEST_CASE("world: an invalid spawn is asserted and changes nothing") {
    static int asserted;
    asserted = 0;
    SmallSchema schema;
    World world = make_world(schema, 100);
    const EntityId own = world.spawn({.id = make_entity_id(5, 2), .kind = schema.tree});
    REQUIRE(own != EntityId::none);
    const AssertHandler old = set_assert_handler([](const char*, const char*, int) { ++asserted; });
    const float infinite = std::numeric_limits<float>::infinity();
    CHECK(world.spawn({}) == EntityId::none);  // no kind
    CHECK(world.spawn({.kind = id_at<KindId>(999)}) == EntityId::none);
    CHECK(world.spawn({.kind = schema.animal, .position = {0, infinite, 0}}) == EntityId::none);
    CHECK(world.spawn({.id = own, .kind = schema.tree}) == EntityId::none);
    CHECK(world.spawn({.id = make_entity_id(100, 1), .kind = schema.tree}) == EntityId::none);
    CHECK(world.spawn({.id = make_entity_id(6, 0), .kind = schema.tree}) == EntityId::none);
    CHECK(world.despawn(own) == Status::ok);
    // Its index is not reused before the tick ends.
    CHECK(world.spawn({.id = make_entity_id(5, 3), .kind = schema.tree}) == EntityId::none);
    set_assert_handler(old);
#if !defined(NDEBUG) || defined(PURVIEW_ASSERTS)
    CHECK(asserted == 7);
#endif
    CHECK(world.entity_count() == 0);
}

TEST_CASE("world: flags and keys are reported once per change, but not for new entities") {
    SmallSchema schema;
    World world = make_world(schema);
    const EntityId a = world.spawn({.kind = schema.animal});
    world.edit(a, schema.body)->cloaked = true;
    internal(world).settle();
    CHECK(internal(world).attributes.track_changes().empty());
    CHECK(internal(world).attributes.flags_at(index_of(a)) == 1);
    (void)internal(world).summary.track();
    internal(world).clear_changes();
    Body* body = world.edit(a, schema.body);
    body->cloaked = false;
    body->team = 3;
    internal(world).settle();
    const auto both = internal(world).attributes.track_changes();
    REQUIRE(both.size() == 2);
    CHECK(both[0].flag == schema.cloaked);
    CHECK(both[1].key == Key{3});
    internal(world).settle();
    CHECK(internal(world).attributes.track_changes().empty());
}

TEST_CASE("world: a query sees everything that was written since the last query") {
    SmallSchema schema;
    World world = make_world(schema, 1'000);
    SplitMix random(4);
    std::vector<EntityId> all;
    for (int i = 0; i < 400; ++i)
        all.push_back(world.spawn({.kind = schema.animal, .position = {1, 2, 0}}));
    internal(world).settle();
    internal(world).clear_changes();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (int tick = 0; tick < 20; ++tick) {
        for (int edit = 0; edit < 40; ++edit) {
            const EntityId one = all[random.below(400)], other = all[random.below(400)];
            world.edit(one, schema.body)->cloaked = random.chance(0.5F);
            world.edit(other, schema.position)->at = {nan, 0, 0};
            internal(world).settle(true);
            CHECK(internal(world).attributes.flags_at(index_of(one)) ==
                  (world.get(one, schema.body)->cloaked ? 1 : 0));
            CHECK(world.position_of(other) == Vec3{1, 2, 0});
        }
        internal(world).settle();
        internal(world).clear_changes();
    }
}

TEST_CASE("world: a value is reported once per change and ignores non-finite numbers (N41)") {
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
    REQUIRE_MESSAGE(schema.problem().empty(), schema.problem());
    WorldDef def;
    def.schema = &schema;
    World world = std::move(World::create(def)).value();
    WorldData& data = internal(world);
    const EntityId a = world.spawn({.kind = person});
    const EntityId b = world.spawn({.kind = stone});
    *world.edit(a, state) = {-7, 3'000'000'000, true, 36.6F};
    data.settle();
    CHECK(data.attributes.track_changes().empty());  // part of its spawn
    CHECK(data.attributes.value_at(index_of(a), mood) == -7);
    CHECK(data.attributes.value_at(index_of(a), gold) == 3e9F);
    CHECK(data.attributes.value_at(index_of(a), awake) == 1);
    CHECK(data.attributes.value_at(index_of(a), heat) == 36.6F);
    CHECK(data.attributes.value_at(index_of(b), heat) == 0);
    (void)data.summary.track();
    data.clear_changes();

    world.edit(a, state)->heat = std::numeric_limits<float>::quiet_NaN();
    world.edit(a, state)->mood = 5;
    data.settle();
    const auto one = data.attributes.track_changes();
    REQUIRE(one.size() == 1);
    CHECK(one[0].value == mood);
    CHECK(one[0].number == 5);
    CHECK(data.attributes.value_at(index_of(a), heat) == 36.6F);
    data.settle();
    CHECK(data.attributes.track_changes().empty());
}

TEST_CASE("world: a schema has at most eight values, each with a unique name and a field") {
    Schema schema;
    const Component<Body> body = schema.component<Body>("body").integer("hp", &Body::hp, 0, 999);
    for (int i = 0; i < 8; ++i) {
        CHECK(schema.value("v" + std::to_string(i), body.id, "hp") != ValueId::none);
    }
    CHECK(schema.problem().empty());
    CHECK(Schema(schema).value("v0", body.id, "hp") == ValueId::none);
    Schema no_field = schema;
    CHECK(no_field.value("w", body.id, "mana") == ValueId::none);
    CHECK(!no_field.problem().empty());
    CHECK(schema.value("v8", body.id, "hp") == ValueId::none);
    CHECK(schema.problem().find("more than 8") != std::string::npos);
}

TEST_CASE("world: group cycles and exceeded limits are refused with a status (O6)") {
    SmallSchema schema;
    World world = make_world(schema);
    std::vector<EntityId> e;
    for (int i = 0; i < 12; ++i) e.push_back(world.spawn({.kind = schema.crate}));
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

TEST_CASE("world: random attach, detach and despawn match a simple model (O10 O38)") {
    SmallSchema schema;
    SplitMix random(11);
    for (int round = 0; round < 20; ++round) {
        WorldDef def;
        def.schema = &schema.schema;
        World world = std::move(World::create(def)).value();
        std::map<EntityId, EntityId> parent;  // the model: parents only
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
                all.push_back(world.spawn({.kind = schema.crate}));
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

TEST_CASE("world: a position overlaps only fields that are floats") {
    struct Numbers {
        std::uint16_t a = 0, b = 0;
        float y = 0, z = 0;
    };
    Schema schema;
    schema.set_position(schema.component<Numbers>("numbers").integer("b", &Numbers::b, 0, 9).id());
    CHECK(!schema.problem().empty());
    CHECK(schema.problem() == "field 'b' overlaps the Vec3 of the position and is not a float");
    Schema later;
    auto numbers = later.component<Numbers>("numbers");
    later.set_position(numbers.id());
    numbers.real("y", &Numbers::y);
    CHECK(later.problem().empty());
    numbers.integer("a", &Numbers::a, 0, 9);
    CHECK(!later.problem().empty());
}

TEST_CASE("world: an invalid schema reports its problem and makes no world") {
    Schema twice;
    twice.component<Body>("body")
        .boolean("cloaked", &Body::cloaked)
        .boolean("cloaked", &Body::cloaked);
    CHECK(!twice.problem().empty());
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
    CHECK(!key.problem().empty());
}

TEST_CASE("world: a kind has at most 64 fields, including fields that are added later") {
    Schema schema;
    std::vector<ComponentId> components;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        ComponentDef def;
        def.name = name;
        def.size_bytes = 1;
        components.push_back(SchemaAccess::add_component(schema, def));
    }
    schema.kind("little", {components[4]});
    schema.kind("much", components);
    const auto add = [&](ComponentId component, std::size_t number) {
        FieldDef field;
        field.name = std::to_string(number);
        field.size_bytes = 1;
        SchemaAccess::add_field(schema, component, field);
    };
    for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t f = 0; f < Schema::fields_max; ++f) add(components[c], f);
    CHECK(schema.problem().empty());
    add(components[4], 0);
    CHECK(!schema.problem().empty());
    CHECK(schema.problem() == "kind 'much' has more than 64 fields");
}

TEST_CASE("world: a predicted component has no references, even if they are added later") {
    struct Chase {
        float speed = 0;
        EntityId receiver = EntityId::none;
    };
    Schema schema;
    auto chase = schema.component<Chase>("chase");
    schema.predict(chase.id());
    chase.real("speed", &Chase::speed);
    CHECK(schema.problem().empty());
    chase.reference("target", &Chase::receiver);
    CHECK(!schema.problem().empty());
    CHECK(schema.problem() ==
          "field 'target' of component 'chase' is a reference: a predicted component must not have "
          "references");
}

TEST_CASE("world: a visit of all entities ends even if it spawns") {
    Schema schema;
    const KindId kind = schema.kind("nest", {});
    WorldDef def;
    def.schema = &schema;
    World world = std::move(World::create(def)).value();
    for (int i = 0; i < 3; ++i) REQUIRE(world.spawn({.kind = kind}) != EntityId::none);
    int visited = 0;
    world.for_each([&](EntityId) {
        ++visited;
        REQUIRE(world.spawn({.kind = kind}) != EntityId::none);
    });
    CHECK(visited == 3);
    visited = 0;
    world.for_each([&](EntityId) { ++visited; });
    CHECK(visited == 6);
}

}  // namespace purview::test
