// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests what is sent and when: full states, deltas, leaves, datagrams.
#include <cstring>

#include "purview/extend/kernel.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct WireNumbers {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = 0;
};

/// A world of cells of 100 m; an observer sees its own cell and the neighboring cells.
struct WireCells {
    WireCells() {
        position = add_position(schema, 0, 1000);
        numbers = schema.component<WireNumbers>("numbers")
                      .integer("a", &WireNumbers::a, 0, 0xffffffff)
                      .integer("b", &WireNumbers::b, 0, 0xffffffff)
                      .integer("c", &WireNumbers::c, 0, 0xffffffff);
        thing = schema.kind("thing", {position.id, numbers.id});
        REQUIRE(schema.problem().empty());
        def.rules.max = {1000, 1000, 0};
        NodeDef cells;
        cells.name = "cells";
        cells.add(purview::cells(100, 100));
        def.rules.nodes = {cells};
    }
    Schema schema;
    Component<Position> position;
    Component<WireNumbers> numbers;
    KindId thing{};
    ServerDef def;
};

struct Neighborhood {
    explicit Neighborhood(std::uint32_t clients = 1) : stage(setup.schema, clients, setup.def) {
        for (std::uint32_t i = 0; i < clients; ++i) {
            players.push_back(stage.spawn(setup.thing, {550, 550, 0}));
            CHECK(stage.world().set_owner(players[i], stage.observers[i]) == Status::ok);
            CHECK(stage.visibility().set_viewpoint(stage.observers[i], players[i]) == Status::ok);
        }
    }
    std::uint64_t bytes_of(std::uint32_t ticks, std::uint32_t client = 0) {
        const std::uint64_t before = stage.bytes_to[client];
        stage.step(ticks);
        return stage.bytes_to[client] - before;
    }
    WireCells setup;
    Stage stage;
    std::vector<EntityId> players;
};

}  // namespace

TEST_CASE("replication: a crossing sends the entities of new cells once (P13 P14 P17 P20)") {
    Neighborhood world;
    Stage& stage = world.stage;
    std::vector<EntityId> row;
    for (int i = 0; i < 10; ++i)
        row.push_back(stage.spawn(world.setup.thing, {static_cast<float>(i) * 100 + 50, 550, 0}));
    stage.step(6);
    CHECK(stage.client().ghost_count() == 4);        // itself, its cell, one on either side
    CHECK(stage.ghost(0, row[7]) == GhostId::none);  // absent, not merely hidden
    stage.changes();
    CHECK(stage.world().move(world.players[0], {650, 550, 0}) == Status::ok);
    stage.step(4);
    CHECK(stage.changes() == "left entered");
    CHECK(stage.ghost(0, row[7]) != GhostId::none);
    CHECK(stage.ghost(0, row[4]) == GhostId::none);
    // Only the last of several crossings between two packets counts.
    for (const float x : {750.0F, 850.0F, 150.0F, 650.0F})
        CHECK(stage.world().move(world.players[0], {x, 550, 0}) == Status::ok);
    stage.step(4);
    CHECK(stage.changes() == "");
    const std::uint64_t idle = world.bytes_of(20);
    CHECK(world.bytes_of(20) == idle);  // nothing is sent again
}

TEST_CASE("replication: every leave is sent with its reason (P15 P16 P29 M24)") {
    Neighborhood world(2);
    Stage& stage = world.stage;
    const EntityId walker = stage.spawn(world.setup.thing, {560, 560, 0});
    const EntityId mortal = stage.spawn(world.setup.thing, {540, 540, 0});
    stage.step(6);
    for (std::uint32_t i = 0; i < 2; ++i) stage.client(i).clear_events();
    CHECK(stage.world().move(walker, {50, 50, 0}) == Status::ok);
    CHECK(stage.world().despawn(mortal) == Status::ok);
    stage.step(4);
    for (std::uint32_t i = 0; i < 2; ++i) {
        std::vector<Reason> reasons;
        for (const ClientEvent& event : lifetimes_of(stage.client(i)))
            reasons.push_back(event.reason);
        std::sort(reasons.begin(), reasons.end());
        CHECK(reasons == std::vector<Reason>{Reason::left, Reason::despawned});
        CHECK(stage.client(i).ghost_count() == 2);
    }
    // Spatial queries and observer lists no longer contain the despawned entity.
    std::vector<EntityId> there;
    stage.visibility().entities_in({500, 500, 0}, {600, 600, 0}, there);
    CHECK(there.size() == 2);
    std::vector<ObserverId> observers;
    stage.visibility().observers_of(mortal, observers);
    CHECK(observers.empty());
}

TEST_CASE("replication: an entering entity is not also updated in the same packet (P18 N29)") {
    Neighborhood world;
    Stage& stage = world.stage;
    stage.step(10);
    const ServerStats before = stage.server->stats();
    const EntityId thing = stage.spawn(world.setup.thing, {560, 560, 0});
    for (std::uint32_t i = 0; i < 5; ++i) stage.world().edit(thing, world.setup.numbers)->a = i + 7;
    stage.step();
    CHECK(stage.server->stats().encoding_uses - before.encoding_uses == 1);
    stage.step();
    const GhostId ghost = stage.ghost(0, thing);
    REQUIRE(ghost != GhostId::none);
    CHECK(stage.client().value_of(ghost, world.setup.numbers.id, 0) == 11);
}

TEST_CASE("replication: an update has all changes since the last acknowledged one (O29)") {
    Neighborhood world;
    Stage& stage = world.stage;
    const EntityId thing = stage.spawn(world.setup.thing, {560, 560, 0});
    stage.step(6);
    const auto value = [&](std::size_t field) {
        return stage.client().value_of(stage.ghost(0, thing), world.setup.numbers.id, field);
    };
    // Three packets with one change each are lost: the fourth packet contains all changes.
    stage.loses_all_to = 0;
    stage.world().edit(thing, world.setup.numbers)->a = 1;
    stage.step();
    stage.world().edit(thing, world.setup.numbers)->b = 2;
    stage.step();
    stage.world().edit(thing, world.setup.numbers)->c = 3;
    stage.step();
    stage.loses_all_to = 99;
    stage.world().edit(thing, world.setup.numbers)->a = 4;
    stage.step();
    CHECK(value(0) == 4);
    CHECK(value(1) == 2);
    CHECK(value(2) == 3);
    // After the acknowledgement, only the changed field is sent.
    stage.step(10);
    const std::uint64_t idle = world.bytes_of(1);
    stage.world().edit(thing, world.setup.numbers)->b = 5;
    const std::uint64_t one = world.bytes_of(1) - idle;
    CHECK(one >= 4);
    CHECK(one < 4 + 8);
}

TEST_CASE("replication: a leave is repeated until it is acknowledged (O30 P15)") {
    Neighborhood world;
    Stage& stage = world.stage;
    const EntityId thing = stage.spawn(world.setup.thing, {560, 560, 0});
    stage.step(6);
    stage.loses_all_to = 0;
    CHECK(stage.world().despawn(thing) == Status::ok);
    stage.step(20);
    CHECK(stage.client().ghost_count() == 2);
    stage.loses_all_to = 99;
    stage.step(8);
    CHECK(stage.client().ghost_count() == 1);
    CHECK(stage.client().stats().packets_malformed == 0);
}

TEST_CASE("replication: state is packed into datagrams up to the maximum size (O28)") {
    Neighborhood world;
    Stage& stage = world.stage;
    for (int i = 0; i < 300; ++i) {
        const EntityId thing = stage.spawn(world.setup.thing, {560, 560, 0});
        *stage.world().edit(thing, world.setup.numbers) = {0xfffffff0U + (i % 8), 1U << 31, 77};
    }
    stage.largest_datagram = 0;
    const std::uint64_t datagrams = stage.datagrams_to[0];
    const std::uint64_t bytes = world.bytes_of(1);
    CHECK(stage.largest_datagram <= 1'200);
    CHECK(stage.largest_datagram > 900);
    CHECK(bytes / (stage.datagrams_to[0] - datagrams) > 800);  // four datagrams: the byte budget
    stage.step(3);
    CHECK(stage.client().ghost_count() == 301);
}

TEST_CASE("server: a kind that might not fit into the byte budget is refused") {
    struct Long {
        char a[31], b[31], c[31], d[31], e[31];
    };
    Schema schema;
    const ComponentId lots = schema.component<Long>("lots")
                                 .text("a", &Long::a)
                                 .text("b", &Long::b)
                                 .text("c", &Long::c)
                                 .text("d", &Long::d)
                                 .text("e", &Long::e)
                                 .id();
    const KindId kind = schema.kind("kind", {lots});
    ServerDef def;
    def.schema = &schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    SmallSchema small;
    SmallGame game(small, 1);
    def.budget_bytes_per_tick = 200;
    const auto made = Server::create(def, game);
    REQUIRE_FALSE(made);
    CHECK(made.error() == Status::too_large);
    // The smallest accepted budget holds the largest entity.
    while (!Server::create(def, game)) ++def.budget_bytes_per_tick;
    CHECK(def.budget_bytes_per_tick < 230);
    Stage stage(schema, 1, def);
    const EntityId entity = stage.spawn(kind);
    std::memset(stage.world().write(entity, lots), 'x', sizeof(Long));
    stage.step(4);
    CHECK(stage.client().ghost_count() == 1);
    CHECK(stage.client().text_of(GhostId{1}, lots, 4) == std::string(31, 'x'));
}

TEST_CASE("server: a schema that cannot be sent within the join timeout is refused") {
    struct One {
        bool on;
    };
    Schema schema;
    const ComponentId one = schema.component<One>("one").boolean("on", &One::on).id();
    for (int k = 0; k < 200; ++k)  // about 11 kB
        (void)schema.kind("kind " + std::to_string(k) + std::string(50, 'x'), {one});
    ServerDef def;
    def.schema = &schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    def.join_timeout_ms = 3'000;
    def.budget_bytes_per_tick = 128;
    SmallSchema small;
    SmallGame game(small, 1);
    CHECK(Server::create(def, game).error() == Status::too_large);
    while (!Server::create(def, game)) def.budget_bytes_per_tick += 4;
    CHECK(def.budget_bytes_per_tick > 350);
    CHECK(def.budget_bytes_per_tick < 550);
    const Stage stage(schema, 1, def);  // the client joins
    def.budget_bytes_per_tick /= 2;
    CHECK_FALSE(Server::create(def, game));
    def.tick_hz *= 3;
    CHECK(Server::create(def, game));
}

TEST_CASE("replication: enters and leaves are sent in the tick in which they happen (O24)") {
    Neighborhood world;
    Stage& stage = world.stage;
    stage.step(7);
    const EntityId thing = stage.spawn(world.setup.thing, {560, 560, 0});
    stage.step();
    CHECK(stage.visibility().is_relevant(stage.observers[0], thing));
    CHECK(stage.ghost(0, thing) != GhostId::none);
    CHECK(stage.world().despawn(thing) == Status::ok);
    stage.step();
    CHECK(stage.client().ghost_count() == 1);
}

TEST_CASE("replication: an update of an unknown ghost is skipped, its enter is resent (O31)") {
    Neighborhood world;
    Stage& stage = world.stage;
    stage.step(6);
    stage.loses_all_to = 0;
    const EntityId thing = stage.spawn(world.setup.thing, {560, 560, 0});
    *stage.world().edit(thing, world.setup.numbers) = {1, 2, 3};
    stage.step();
    stage.loses_all_to = 99;  // the enter is lost; updates precede the loss report
    for (std::uint32_t i = 0; i < 8; ++i) {
        stage.world().edit(thing, world.setup.numbers)->a = 10 + i;
        stage.step();
    }
    const GhostId ghost = stage.ghost(0, thing);
    REQUIRE(ghost != GhostId::none);
    CHECK(stage.client().stats().packets_malformed == 0);
    CHECK(stage.client().value_of(ghost, world.setup.numbers.id, 0) == 17);
    CHECK(stage.client().value_of(ghost, world.setup.numbers.id, 1) == 2);
    CHECK(stage.client().value_of(ghost, world.setup.numbers.id, 2) == 3);
}

TEST_CASE("replication: explicit, owned, global and spatial kinds work together (X11)") {
    WireCells setup;
    const KindId unrouted = setup.schema.kind("unrouted", {setup.numbers.id});
    const KindId owners = setup.schema.kind("owners", {setup.numbers.id});
    const KindId all = setup.schema.kind("all", {setup.numbers.id});
    NodeDef everything;
    everything.name = "everything";
    everything.members = Members::bound;
    setup.def.rules.nodes.push_back(everything);
    setup.def.rules.nodes[0].members = Members::unbound;
    setup.def.rules.kinds.resize(setup.schema.kinds().size());
    setup.def.rules.kinds[index_of(unrouted)].mode = EntityMode::explicit_only;
    setup.def.rules.kinds[index_of(owners)].mode = EntityMode::explicit_only;
    setup.def.rules.kinds[index_of(all)].nodes = {id_at<NodeId>(1)};
    Stage stage(setup.schema, 2, setup.def);
    for (std::uint32_t i = 0; i < 2; ++i) {
        const EntityId me =
            stage.spawn(setup.thing, {250.0F + 500.0F * static_cast<float>(i), 250, 0});
        CHECK(stage.visibility().set_viewpoint(stage.observers[i], me) == Status::ok);
    }
    stage.spawn(unrouted);
    const EntityId mine = stage.spawn(owners), everybodys = stage.spawn(all);
    CHECK(stage.world().set_owner(mine, stage.observers[1]) == Status::ok);
    const EntityId here = stage.spawn(setup.thing, {260, 250, 0});
    stage.step(5);
    CHECK(stage.client(0).ghost_count() == 3);  // itself, the one for all, the one here
    CHECK(stage.client(1).ghost_count() == 3);  // itself, the one for all, the owned one
    CHECK(stage.ghost(0, mine) == GhostId::none);
    CHECK(stage.ghost(1, mine) != GhostId::none);
    CHECK(stage.ghost(0, here) != GhostId::none);
    CHECK(stage.ghost(1, here) == GhostId::none);
    CHECK(stage.ghost(0, everybodys) != GhostId::none);
    // Idle entities cost nothing once they were sent.
    stage.step(10);
    const ServerStats before = stage.server->stats();
    stage.step(20);
    CHECK(stage.server->stats().encoding_uses == before.encoding_uses);
}

TEST_CASE("replication: moves in a dormant node have no effect before an update (X11 N23)") {
    WireCells setup;
    const KindId idle = setup.schema.kind("idle", {setup.position.id});
    NodeDef dormant = setup.def.rules.nodes[0];
    dormant.name = "dormant";
    dormant.members = Members::bound;
    dormant.dormant = true;
    setup.def.rules.nodes[0].members = Members::unbound;
    setup.def.rules.nodes.push_back(dormant);
    setup.def.rules.kinds.resize(setup.schema.kinds().size());
    setup.def.rules.kinds[index_of(idle)].nodes = {id_at<NodeId>(1)};
    Stage stage(setup.schema, 1, setup.def);
    const EntityId me = stage.spawn(setup.thing, {550, 550, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    const EntityId near = stage.spawn(idle, {560, 560, 0}), far = stage.spawn(idle, {50, 50, 0});
    stage.step(4);
    CHECK(stage.ghost(0, near) != GhostId::none);
    CHECK(stage.ghost(0, far) == GhostId::none);
    *stage.world().edit(near, setup.position) = {40, 40, 0};
    *stage.world().edit(far, setup.position) = {550, 560, 0};
    stage.step(10);
    CHECK(stage.ghost(0, near) != GhostId::none);
    CHECK(stage.ghost(0, far) == GhostId::none);
    for (const EntityId entity : {near, far})
        CHECK(stage.visibility().update(entity) == Status::ok);
    stage.step(4);
    CHECK(stage.ghost(0, near) == GhostId::none);
    CHECK(stage.ghost(0, far) != GhostId::none);
}

TEST_CASE("replication: retained ghosts expire and despawns go out within the budget (X11)") {
    WireCells setup;
    const KindId idle_kind = setup.schema.kind("resting", {setup.position.id, setup.numbers.id});
    setup.schema.edit_kind(idle_kind).leave = Retention::freeze;
    setup.schema.edit_kind(idle_kind).retention_ticks = 30;
    setup.def.budget_bytes_per_tick = 140;
    Stage stage(setup.schema, 2, setup.def);
    std::vector<EntityId> all;
    for (std::uint32_t index = 0; index < 2; ++index) {
        const EntityId me = stage.spawn(setup.thing, {index == 0 ? 550.0F : 50.0F, 550, 0});
        CHECK(stage.visibility().set_viewpoint(stage.observers[index], me) == Status::ok);
        all.push_back(me);
    }
    std::vector<EntityId> idle_entities;
    for (int i = 0; i < 120; ++i) idle_entities.push_back(stage.spawn(idle_kind, {560, 560, 0}));
    stage.step(60);
    CHECK(stage.client(0).ghost_count() == 121);
    CHECK(stage.client(1).ghost_count() == 1);
    const auto kept_count = [&] {
        std::uint32_t count = 0;
        for_each_id(stage.client(0), [&](GhostId ghost) {
            count += stage.client(0).retention(ghost) == Retention::freeze ? 1 : 0;
        });
        return count;
    };
    const auto bytes_of_ticks = [&](std::uint32_t index, std::uint32_t ticks) {
        std::uint64_t most = 0;
        for (std::uint32_t i = 0; i < ticks; ++i) {
            const std::uint64_t before = stage.bytes_to[index];
            stage.step();
            most = std::max(most, stage.bytes_to[index] - before);
        }
        return most;
    };
    // A distant client receives nothing about despawns out of its range.
    const std::uint64_t idle = bytes_of_ticks(1, 4);
    for (int i = 0; i < 60; ++i) CHECK(stage.world().despawn(idle_entities[i]) == Status::ok);
    std::uint64_t most[2] = {};
    for (int i = 0; i < 20; ++i) {
        const std::uint64_t before[2] = {stage.bytes_to[0], stage.bytes_to[1]};
        stage.step();
        for (int index = 0; index < 2; ++index)
            most[index] = std::max(most[index], stage.bytes_to[index] - before[index]);
    }
    CHECK(stage.client(0).ghost_count() == 61);
    CHECK(most[0] <= 140);
    CHECK(most[1] <= idle);
    // The first client moves away, and its retained ghosts expire.
    *stage.world().edit(all[0], setup.position) = {950, 50, 0};
    CHECK(bytes_of_ticks(0, 20) <= 140);
    CHECK(stage.client(0).ghost_count() == 1);
    CHECK(kept_count() == 60);
    CHECK(bytes_of_ticks(0, 30) <= 140);
    CHECK(kept_count() == 0);
}

TEST_CASE("replication: one custom filter applies to all entities and observers (O23 X4)") {
    WireCells setup;
    // Hides entities with an odd index from all observers. Without the filter nothing is hidden.
    Kernel hide;
    hide.combine = Combine::subtract;
    hide.type = KernelType::custom;
    hide.custom =
        make_pair_kernel({.name = "filtered", .reads_positions = false},
                         [](const Pair& p) noexcept { return index_of(p.entity()) % 2 == 1; });
    setup.def.rules.nodes[0].steps.push_back(hide);
    // Entities that the level placed are filtered in the same way.
    const KindId placed = setup.schema.kind("placed", {setup.position.id});
    setup.schema.edit_kind(placed).leave = Retention::deactivate;
    setup.def.rules.kinds.resize(setup.schema.kinds().size());
    Stage stage(setup.schema, 2, setup.def);
    std::vector<EntityId> all;
    for (int i = 0; i < 20; ++i)
        all.push_back(stage.spawn(i < 10 ? setup.thing : placed, {560, 560, 0}));
    for (std::uint32_t index = 0; index < 2; ++index)
        CHECK(stage.visibility().set_viewpoint(stage.observers[index], all[0]) == Status::ok);
    stage.step(4);
    for (std::uint32_t index = 0; index < 2; ++index) {
        CHECK(stage.client(index).ghost_count() == 10);
        for (const EntityId entity : all)
            CHECK((stage.ghost(index, entity) != GhostId::none) == (index_of(entity) % 2 == 0));
    }
    Rules off = setup.def.rules;
    off.nodes[0].steps.pop_back();
    CHECK(stage.server->set_rules(off) == "");
    stage.step(4);
    CHECK(stage.client(0).ghost_count() == 20);
    CHECK(stage.server->set_rules(setup.def.rules) == "");
    stage.step(4);
    CHECK(stage.client(0).ghost_count() == 10);
}

TEST_CASE("replication: owners and other clients get their role when it changes (O34)") {
    Neighborhood world(2);
    Stage& stage = world.stage;
    stage.step(6);
    for (std::uint32_t index = 0; index < 2; ++index) {
        for (std::uint32_t owner_index = 0; owner_index < 2; ++owner_index)
            CHECK(stage.client(index).is_owned(stage.ghost(index, world.players[owner_index])) ==
                  (index == owner_index));
    }
    CHECK(stage.world().set_owner(world.players[0], stage.observers[1]) == Status::ok);
    stage.step(3);
    CHECK_FALSE(stage.client(0).is_owned(stage.ghost(0, world.players[0])));
    CHECK(stage.client(1).is_owned(stage.ghost(1, world.players[0])));
}

}  // namespace purview::test
