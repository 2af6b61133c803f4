// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What goes out, and when: full states, differences, leaves, datagrams.
#include <cstring>

#include "purview/kernel.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct WireNumbers {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = 0;
};

/// A world of cells of 100 m, seen with their neighbours; and things that only named ones see.
struct WireCells {
    WireCells() {
        position = add_position(schema, 0, 1000);
        numbers = schema.component<WireNumbers>("numbers")
                      .integer("a", &WireNumbers::a, 0, 0xffffffff)
                      .integer("b", &WireNumbers::b, 0, 0xffffffff)
                      .integer("c", &WireNumbers::c, 0, 0xffffffff);
        thing = schema.kind("thing", {position.id, numbers.id});
        REQUIRE(schema.status() == Status::ok);
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
    explicit Neighborhood(std::uint32_t clients = 1) : stage(is.schema, clients, is.def) {
        for (std::uint32_t i = 0; i < clients; ++i) {
            players.push_back(stage.spawn(is.thing, {550, 550, 0}));
            CHECK(stage.world().set_owner(players[i], stage.observers[i]) == Status::ok);
            CHECK(stage.visibility().set_viewpoint(stage.observers[i], players[i]) == Status::ok);
        }
    }
    std::uint64_t bytes_of(std::uint32_t ticks, std::uint32_t client = 0) {
        const std::uint64_t before = stage.bytes_to[client];
        stage.step(ticks);
        return stage.bytes_to[client] - before;
    }
    WireCells is;
    Stage stage;
    std::vector<EntityId> players;
};

}  // namespace

TEST_CASE("lines: who crosses into other cells is sent what they hold, once (P13 P14 P17 P20)") {
    Neighborhood world;
    Stage& stage = world.stage;
    std::vector<EntityId> row;
    for (int i = 0; i < 10; ++i)
        row.push_back(stage.spawn(world.is.thing, {static_cast<float>(i) * 100 + 50, 550, 0}));
    stage.step(6);
    CHECK(stage.client().ghost_count() == 4);   // himself, his cell, one on either side
    CHECK(stage.ghost(0, row[7]) == no_ghost);  // not merely out of sight: not there
    stage.changes();
    CHECK(stage.world().move(world.players[0], {650, 550, 0}) == Status::ok);
    stage.step(4);
    CHECK(stage.changes() == "removed made");
    CHECK(stage.ghost(0, row[7]) != no_ghost);
    CHECK(stage.ghost(0, row[4]) == no_ghost);
    // Several crossings between two packets count as the last.
    for (const float x : {750.0F, 850.0F, 150.0F, 650.0F})
        CHECK(stage.world().move(world.players[0], {x, 550, 0}) == Status::ok);
    stage.step(4);
    CHECK(stage.changes() == "");
    const std::uint64_t idle = world.bytes_of(20);
    CHECK(world.bytes_of(20) == idle);  // nothing of it comes again
}

TEST_CASE("lines: a leave is always told, with why, a removal undoes all (P15 P16 P29 M24)") {
    Neighborhood world(2);
    Stage& stage = world.stage;
    const EntityId walker = stage.spawn(world.is.thing, {560, 560, 0});
    const EntityId mortal = stage.spawn(world.is.thing, {540, 540, 0});
    stage.step(6);
    for (std::uint32_t i = 0; i < 2; ++i) stage.client(i).clear_events();
    CHECK(stage.world().move(walker, {50, 50, 0}) == Status::ok);
    CHECK(stage.world().despawn(mortal) == Status::ok);
    stage.step(4);
    for (std::uint32_t i = 0; i < 2; ++i) {
        std::vector<Reason> reasons;
        for (const ClientEvent& event : stage.client(i).events()) reasons.push_back(event.reason);
        std::sort(reasons.begin(), reasons.end());
        CHECK(reasons == std::vector<Reason>{Reason::left, Reason::despawned});
        CHECK(stage.client(i).ghost_count() == 2);
    }
    // Map, cell and list are as if it had never been.
    std::vector<EntityId> there;
    stage.visibility().entities_in({500, 500, 0}, {600, 600, 0}, there);
    CHECK(there.size() == 2);
    std::vector<ObserverId> observers;
    stage.visibility().observers_of(mortal, observers);
    CHECK(observers.empty());
}

TEST_CASE("lines: what enters is not also updated in the same packet (P18 N29)") {
    Neighborhood world;
    Stage& stage = world.stage;
    stage.step(10);
    const ServerStats before = stage.server->stats();
    const EntityId thing = stage.spawn(world.is.thing, {560, 560, 0});
    for (std::uint32_t i = 0; i < 5; ++i) stage.world().edit(thing, world.is.numbers)->a = i + 7;
    stage.step();
    CHECK(stage.server->stats().encoding_uses - before.encoding_uses == 1);
    stage.step();
    const GhostId ghost = stage.ghost(0, thing);
    REQUIRE(ghost != no_ghost);
    CHECK(stage.client().value_of(ghost, world.is.numbers.id, 0) == 11);
}

TEST_CASE(
    "lines: an update is what changed since the last acknowledgement, whatever was lost (O29)") {
    Neighborhood world;
    Stage& stage = world.stage;
    const EntityId thing = stage.spawn(world.is.thing, {560, 560, 0});
    stage.step(6);
    const auto value = [&](std::size_t field) {
        return stage.client().value_of(stage.ghost(0, thing), world.is.numbers.id, field);
    };
    // Three changes in three packets that are lost: the fourth packet has all of them.
    stage.loses_all_to = 0;
    stage.world().edit(thing, world.is.numbers)->a = 1;
    stage.step();
    stage.world().edit(thing, world.is.numbers)->b = 2;
    stage.step();
    stage.world().edit(thing, world.is.numbers)->c = 3;
    stage.step();
    stage.loses_all_to = 99;
    stage.world().edit(thing, world.is.numbers)->a = 4;
    stage.step();
    CHECK(value(0) == 4);
    CHECK(value(1) == 2);
    CHECK(value(2) == 3);
    // Acknowledged: from now on only the one that changes.
    stage.step(10);
    const std::uint64_t idle = world.bytes_of(1);
    stage.world().edit(thing, world.is.numbers)->b = 5;
    const std::uint64_t one = world.bytes_of(1) - idle;
    CHECK(one >= 4);
    CHECK(one < 4 + 8);
}

TEST_CASE("lines: a leave is repeated until it is acknowledged (O30 P15)") {
    Neighborhood world;
    Stage& stage = world.stage;
    const EntityId thing = stage.spawn(world.is.thing, {560, 560, 0});
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

TEST_CASE("lines: packed into datagrams up to their size, and no further (O28)") {
    Neighborhood world;
    Stage& stage = world.stage;
    for (int i = 0; i < 300; ++i) {
        const EntityId thing = stage.spawn(world.is.thing, {560, 560, 0});
        *stage.world().edit(thing, world.is.numbers) = {0xfffffff0U + (i % 8), 1U << 31, 77};
    }
    stage.largest_datagram = 0;
    const std::uint64_t datagrams = stage.datagrams_to[0];
    const std::uint64_t bytes = world.bytes_of(1);
    CHECK(stage.largest_datagram <= 1'200);
    CHECK(stage.largest_datagram > 900);
    CHECK(bytes / (stage.datagrams_to[0] - datagrams) > 800);  // four of them: the budget
    stage.step(3);
    CHECK(stage.client().ghost_count() == 301);
}

TEST_CASE("host: a kind that its budget might not hold is refused, not held back for ever") {
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
    // The smallest budget that is taken holds the largest entity.
    while (!Server::create(def, game)) ++def.budget_bytes_per_tick;
    CHECK(def.budget_bytes_per_tick < 230);
    Stage stage(schema, 1, def);
    const EntityId entity = stage.spawn(kind);
    std::memset(stage.world().write(entity, lots), 'x', sizeof(Long));
    stage.step(4);
    CHECK(stage.client().ghost_count() == 1);
    CHECK(stage.client().text_of(0, lots, 4) == std::string(31, 'x'));
}

TEST_CASE("host: a schema that cannot be told before the time to join is over is refused") {
    struct One {
        bool is;
    };
    Schema schema;
    const ComponentId one = schema.component<One>("one").boolean("is", &One::is).id();
    for (int k = 0; k < 200; ++k)  // some 11 kB
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
    const Stage stage(schema, 1, def);  // it joins
    def.budget_bytes_per_tick /= 2;
    CHECK_FALSE(Server::create(def, game));
    def.tick_hz *= 3;
    CHECK(Server::create(def, game));
}

TEST_CASE("lines: whoever comes or goes is known in the tick in which it does (O24)") {
    Neighborhood world;
    Stage& stage = world.stage;
    stage.step(7);
    const EntityId thing = stage.spawn(world.is.thing, {560, 560, 0});
    stage.step();
    CHECK(stage.visibility().is_relevant(stage.observers[0], thing));
    CHECK(stage.ghost(0, thing) != no_ghost);
    CHECK(stage.world().despawn(thing) == Status::ok);
    stage.step();
    CHECK(stage.client().ghost_count() == 1);
}

TEST_CASE(
    "lines: an update of what the client never got is passed over, and the full state comes "
    "(O31)") {
    Neighborhood world;
    Stage& stage = world.stage;
    stage.step(6);
    stage.loses_all_to = 0;
    const EntityId thing = stage.spawn(world.is.thing, {560, 560, 0});
    *stage.world().edit(thing, world.is.numbers) = {1, 2, 3};
    stage.step();
    stage.loses_all_to = 99;  // the enter is lost; updates come before anybody knows
    for (std::uint32_t i = 0; i < 8; ++i) {
        stage.world().edit(thing, world.is.numbers)->a = 10 + i;
        stage.step();
    }
    const GhostId ghost = stage.ghost(0, thing);
    REQUIRE(ghost != no_ghost);
    CHECK(stage.client().stats().packets_malformed == 0);
    CHECK(stage.client().value_of(ghost, world.is.numbers.id, 0) == 17);
    CHECK(stage.client().value_of(ghost, world.is.numbers.id, 1) == 2);
    CHECK(stage.client().value_of(ghost, world.is.numbers.id, 2) == 3);
}

TEST_CASE("lines: every class of routing at once: nobody, owners, all, by place, resting (X11)") {
    WireCells is;
    const KindId unrouted = is.schema.kind("unrouted", {is.numbers.id});
    const KindId owners = is.schema.kind("owners", {is.numbers.id});
    const KindId all = is.schema.kind("all", {is.numbers.id});
    NodeDef everything;
    everything.name = "everything";
    everything.members = Members::bound;
    is.def.rules.nodes.push_back(everything);
    is.def.rules.nodes[0].members = Members::unbound;
    is.def.rules.kinds.resize(is.schema.kinds().size());
    is.def.rules.kinds[index_of(unrouted)].mode = EntityMode::explicit_only;
    is.def.rules.kinds[index_of(owners)].mode = EntityMode::explicit_only;
    is.def.rules.kinds[index_of(all)].nodes = {NodeId{1}};
    Stage stage(is.schema, 2, is.def);
    for (std::uint32_t i = 0; i < 2; ++i) {
        const EntityId me =
            stage.spawn(is.thing, {250.0F + 500.0F * static_cast<float>(i), 250, 0});
        CHECK(stage.visibility().set_viewpoint(stage.observers[i], me) == Status::ok);
    }
    stage.spawn(unrouted);
    const EntityId mine = stage.spawn(owners), everybodys = stage.spawn(all);
    CHECK(stage.world().set_owner(mine, stage.observers[1]) == Status::ok);
    const EntityId here = stage.spawn(is.thing, {260, 250, 0});
    stage.step(5);
    CHECK(stage.client(0).ghost_count() == 3);  // himself, what is for all, what is here
    CHECK(stage.client(1).ghost_count() == 3);  // himself, what is for all, what is his
    CHECK(stage.ghost(0, mine) == no_ghost);
    CHECK(stage.ghost(1, mine) != no_ghost);
    CHECK(stage.ghost(0, here) != no_ghost);
    CHECK(stage.ghost(1, here) == no_ghost);
    CHECK(stage.ghost(0, everybodys) != no_ghost);
    // What rests costs nothing after it was sent.
    stage.step(10);
    const ServerStats before = stage.server->stats();
    stage.step(20);
    CHECK(stage.server->stats().encoding_uses == before.encoding_uses);
}

TEST_CASE(
    "lines: in a dormant node nobody comes or goes by moving, until he is looked at (X11 N23)") {
    WireCells is;
    const KindId idle = is.schema.kind("idle", {is.position.id});
    NodeDef dormant = is.def.rules.nodes[0];
    dormant.name = "dormant";
    dormant.members = Members::bound;
    dormant.dormant = true;
    is.def.rules.nodes[0].members = Members::unbound;
    is.def.rules.nodes.push_back(dormant);
    is.def.rules.kinds.resize(is.schema.kinds().size());
    is.def.rules.kinds[index_of(idle)].nodes = {NodeId{1}};
    Stage stage(is.schema, 1, is.def);
    const EntityId me = stage.spawn(is.thing, {550, 550, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    const EntityId near = stage.spawn(idle, {560, 560, 0}), far = stage.spawn(idle, {50, 50, 0});
    stage.step(4);
    CHECK(stage.ghost(0, near) != no_ghost);
    CHECK(stage.ghost(0, far) == no_ghost);
    *stage.world().edit(near, is.position) = {40, 40, 0};
    *stage.world().edit(far, is.position) = {550, 560, 0};
    stage.step(10);
    CHECK(stage.ghost(0, near) != no_ghost);
    CHECK(stage.ghost(0, far) == no_ghost);
    for (const EntityId entity : {near, far})
        CHECK(stage.visibility().update(entity) == Status::ok);
    stage.step(4);
    CHECK(stage.ghost(0, near) == no_ghost);
    CHECK(stage.ghost(0, far) != no_ghost);
}

TEST_CASE(
    "lines: copies of what rests end after a time, despawns are told to who has it, both within "
    "the budget (X11)") {
    WireCells is;
    const KindId resting = is.schema.kind("resting", {is.position.id, is.numbers.id});
    is.schema.edit_kind(resting).leave = Retention::freeze;
    is.schema.edit_kind(resting).retention_ticks = 30;
    is.def.budget_bytes_per_tick = 140;
    Stage stage(is.schema, 2, is.def);
    std::vector<EntityId> all;
    for (std::uint32_t who = 0; who < 2; ++who) {
        const EntityId me = stage.spawn(is.thing, {who == 0 ? 550.0F : 50.0F, 550, 0});
        CHECK(stage.visibility().set_viewpoint(stage.observers[who], me) == Status::ok);
        all.push_back(me);
    }
    std::vector<EntityId> rested;
    for (int i = 0; i < 120; ++i) rested.push_back(stage.spawn(resting, {560, 560, 0}));
    stage.step(60);
    CHECK(stage.client(0).ghost_count() == 121);
    CHECK(stage.client(1).ghost_count() == 1);
    const auto kept_count = [&] {
        std::uint32_t count = 0;
        for (GhostId ghost = 0; ghost < 256; ++ghost)
            count += stage.client(0).retention(ghost) == Retention::freeze ? 1 : 0;
        return count;
    };
    const auto bytes_of_ticks = [&](std::uint32_t who, std::uint32_t ticks) {
        std::uint64_t most = 0;
        for (std::uint32_t i = 0; i < ticks; ++i) {
            const std::uint64_t before = stage.bytes_to[who];
            stage.step();
            most = std::max(most, stage.bytes_to[who] - before);
        }
        return most;
    };
    // Who is far away pays nothing for what is despawned where he is not.
    const std::uint64_t idle = bytes_of_ticks(1, 4);
    for (int i = 0; i < 60; ++i) CHECK(stage.world().despawn(rested[i]) == Status::ok);
    std::uint64_t most[2] = {};
    for (int i = 0; i < 20; ++i) {
        const std::uint64_t before[2] = {stage.bytes_to[0], stage.bytes_to[1]};
        stage.step();
        for (int who = 0; who < 2; ++who)
            most[who] = std::max(most[who], stage.bytes_to[who] - before[who]);
    }
    CHECK(stage.client(0).ghost_count() == 61);
    CHECK(most[0] <= 140);
    CHECK(most[1] <= idle);
    // He goes away, and what he still has of them ends in its time.
    *stage.world().edit(all[0], is.position) = {950, 50, 0};
    CHECK(bytes_of_ticks(0, 20) <= 140);
    CHECK(stage.client(0).ghost_count() == 1);
    CHECK(kept_count() == 60);
    CHECK(bytes_of_ticks(0, 30) <= 140);
    CHECK(kept_count() == 0);
}

TEST_CASE("lines: one filter of the game's own for every candidate of everybody (O23 X4)") {
    WireCells is;
    // Hides what has an odd index, whoever asks; a filter that is switched off hides nothing.
    Kernel hide;
    hide.combine = Combine::subtract;
    hide.type = KernelType::custom;
    hide.custom =
        make_pair_kernel({.name = "filtered", .reads_positions = false},
                         [](const Pair& p) noexcept { return index_of(p.entity()) % 2 == 1; });
    is.def.rules.nodes[0].steps.push_back(hide);
    // What the level placed is filtered like all else.
    const KindId placed = is.schema.kind("placed", {is.position.id});
    is.schema.edit_kind(placed).leave = Retention::deactivate;
    is.def.rules.kinds.resize(is.schema.kinds().size());
    Stage stage(is.schema, 2, is.def);
    std::vector<EntityId> all;
    for (int i = 0; i < 20; ++i)
        all.push_back(stage.spawn(i < 10 ? is.thing : placed, {560, 560, 0}));
    for (std::uint32_t who = 0; who < 2; ++who)
        CHECK(stage.visibility().set_viewpoint(stage.observers[who], all[0]) == Status::ok);
    stage.step(4);
    for (std::uint32_t who = 0; who < 2; ++who) {
        CHECK(stage.client(who).ghost_count() == 10);
        for (const EntityId entity : all)
            CHECK((stage.ghost(who, entity) != no_ghost) == (index_of(entity) % 2 == 0));
    }
    Rules off = is.def.rules;
    off.nodes[0].steps.pop_back();
    CHECK(stage.server->set_rules(off) == "");
    stage.step(4);
    CHECK(stage.client(0).ghost_count() == 20);
    CHECK(stage.server->set_rules(is.def.rules) == "");
    stage.step(4);
    CHECK(stage.client(0).ghost_count() == 10);
}

TEST_CASE("lines: owners and others hold different roles, told when they change (O34)") {
    Neighborhood world(2);
    Stage& stage = world.stage;
    stage.step(6);
    for (std::uint32_t who = 0; who < 2; ++who) {
        for (std::uint32_t whose = 0; whose < 2; ++whose)
            CHECK(stage.client(who).is_owned(stage.ghost(who, world.players[whose])) ==
                  (who == whose));
    }
    CHECK(stage.world().set_owner(world.players[0], stage.observers[1]) == Status::ok);
    stage.step(3);
    CHECK_FALSE(stage.client(0).is_owned(stage.ghost(0, world.players[0])));
    CHECK(stage.client(1).is_owned(stage.ghost(1, world.players[0])));
}

}  // namespace purview::test
