// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Compares World::spawn_group with single calls of spawn and attach.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "support/stage.hpp"

namespace purview::test {

namespace {

struct TrainSchema {
    TrainSchema() {
        const Component<Position> position = add_position(schema, 0, 200);
        engine = schema.kind("engine", {position.id});
        car = schema.kind("car", {position.id});
        guest = schema.kind("guest", {position.id});
        schema.edit_kind(car).relative_position = true;
        schema.edit_kind(guest).is_inner_root = true;
        REQUIRE(schema.problem().empty());
    }
    ServerDef def() const {
        NodeDef near;
        near.name = "near";
        near.add(within(30));
        ServerDef def;
        def.rules.max = {200, 200, 0};
        def.rules.nodes = {near};
        def.group_depth_max = 3;
        def.group_members_max = 8;
        return def;
    }
    std::vector<GroupPart> train() const {
        return {{engine, 0, {}, OwnerPolicy::automatic},
                {guest, 0, {0, -1, 0}, OwnerPolicy::keep},
                {car, 0, {-5, 0, 0}, OwnerPolicy::inherit},
                {guest, 2, {0, 1, 0}, OwnerPolicy::keep},
                {car, 2, {-5, 0, 0}, OwnerPolicy::inherit}};
    }
    Schema schema;
    KindId engine{}, car{}, guest{};
};

struct Outcome {
    std::vector<EntityId> members, in_attach_order, input_order;
    std::vector<Vec3> positions;
    std::vector<bool> relevant;
    std::uint64_t datagrams = 0, hash = 0;
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome run(bool is_declared) {
    const TrainSchema schema;
    Stage stage(schema.schema, 1, schema.def());
    Outcome out;
    CHECK(stage.visibility().set_area(stage.observers[0], 0, Area::at(Vec3{100, 100, 0})) ==
          Status::ok);
    const std::vector<GroupPart> parts = schema.train();
    if (is_declared) {
        const auto root = stage.world().spawn_group(parts, {110, 100, 0}, &out.members);
        REQUIRE(root);
        CHECK(*root == out.members.front());
    } else {
        std::vector<Vec3> at;
        for (std::size_t p = 0; p < parts.size(); ++p) {
            const Vec3 from = p == 0 ? Vec3{110, 100, 0} : at[parts[p].parent];
            at.push_back({from.x + parts[p].offset.x, from.y + parts[p].offset.y, 0});
            out.members.push_back(stage.spawn(parts[p].kind, at.back()));
            if (p > 0)
                CHECK(stage.world().attach(out.members[p], out.members[parts[p].parent],
                                           parts[p].owner) == Status::ok);
        }
    }
    CHECK(stage.world().set_owner(out.members[0], stage.observers[0]) == Status::ok);
    for (int i = 0; i < 60; ++i) {
        const float x = 110 + 60 * std::sin(static_cast<float>(i) / 8);
        CHECK(stage.world().move(out.members[0], {x, 100, 0}) == Status::ok);
        if (i == 30) CHECK(stage.world().detach(out.members[4]) == Status::ok);
        stage.step();
        for (const EntityId one : out.members) {
            out.relevant.push_back(stage.visibility().is_relevant(stage.observers[0], one));
            out.positions.push_back(stage.world().position_of(one));
        }
    }
    stage.world().members_of(out.members[0], out.in_attach_order);
    const auto order = stage.server->input_order(out.members[0]);
    out.input_order.assign(order.begin(), order.end());
    for (const EntityId one : out.members)
        out.relevant.push_back(stage.world().owner_of(one) == stage.observers[0]);
    out.datagrams = stage.datagrams_to[0];
    out.hash = stage.hash_to[0];
    return out;
}

}  // namespace

TEST_CASE("groups: a declared hierarchy behaves like one built by spawn and attach" *
          doctest::test_suite("O44")) {
    const Outcome declared = run(true), built = run(false);
    CHECK(declared.in_attach_order == built.in_attach_order);
    CHECK(declared.input_order == built.input_order);
    CHECK(declared.relevant == built.relevant);
    CHECK(declared.datagrams > 30);
    CHECK(declared == built);  // including every byte sent to the client
    // The scenario is not trivial.
    CHECK(declared.in_attach_order.size() == 4);
    CHECK(declared.input_order != declared.in_attach_order);
    CHECK(std::count(declared.relevant.begin(), declared.relevant.end(), false) > 30);
}

TEST_CASE("groups: a declared hierarchy that is refused spawns nothing" *
          doctest::test_suite("O44")) {
    const TrainSchema schema;
    Stage stage(schema.schema, 0, schema.def());
    World& world = stage.world();
    std::vector<EntityId> members{EntityId::none};
    const auto refused = [&](const std::vector<GroupPart>& parts, Vec3 at = {}) {
        const Status status = world.spawn_group(parts, at, &members).error();
        CHECK(members.empty());
        CHECK(world.entity_count() == 0);
        return status;
    };
    std::vector<GroupPart> parts = schema.train();
    CHECK(refused({}) == Status::bad_argument);
    CHECK(refused(parts, {NAN, 0, 0}) == Status::bad_position);
    parts[3].offset.x = INFINITY;
    CHECK(refused(parts) == Status::bad_position);
    parts = schema.train();
    parts[2].parent = 2;
    CHECK(refused(parts) == Status::bad_argument);
    parts = schema.train();
    parts[4].kind = id_at<KindId>(9);
    CHECK(refused(parts) == Status::bad_argument);
    parts = schema.train();
    for (std::uint16_t p = 0; p < 4; ++p) parts.push_back({schema.car, 0, {}});
    CHECK(refused(parts) == Status::too_large);
    parts.assign(5, {schema.car, 0, {}});
    for (std::uint16_t p = 1; p < 5; ++p) parts[p].parent = static_cast<std::uint16_t>(p - 1);
    CHECK(refused(parts) == Status::too_deep);
    stage.step();
    CHECK(world.spawn_group(schema.train(), {}).has_value());
    CHECK(world.entity_count() == 5);
}

}  // namespace purview::test
