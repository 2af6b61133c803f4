// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The send order under a tight budget, groups and retained ghosts while packets are in flight, and
// the observers that receive each of them.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/internal_access.hpp"
#include "interest/rules/interest_kernel.hpp"
#include "purview/host_view.hpp"
#include "server/server_counters.hpp"
#include "server/server_data.hpp"
#include "support/rpc_support.hpp"
#include "support/shared_world.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct MoreLamp {
    std::uint16_t light = 0;
};

struct MoreAim {
    EntityId at = EntityId::none;
};

struct MoreLine {
    char text[31] = {};
};

/// Two kinds that differ only in their names.
struct MoreSchema {
    MoreSchema() {
        position = add_position(schema, 0, 1024);
        lamp = schema.component<MoreLamp>("lamp").integer("light", &MoreLamp::light, 0, 60'000);
        plain = schema.kind("plain", {position.id, lamp.id});
        other = schema.kind("other", {position.id, lamp.id});
        REQUIRE(schema.problem().empty());
        def.rules.max = {1024, 1024, 0};
        def.rules.kinds.resize(2);
    }
    static NodeDef near(float radius, const char* name = "near") {
        NodeDef node;
        node.name = name;
        node.add(within(radius));
        return node;
    }
    Schema schema;
    Component<Position> position;
    Component<MoreLamp> lamp;
    KindId plain{}, other{};
    ServerDef def;
};

/// Returns the number of updates that a client receives of each kind. There are a hundred entities
/// of each kind. All of them change in every tick, and the budget holds only a few.
std::array<int, 2> more_updates_of(const MoreSchema& setup, int ticks) {
    ServerDef def = setup.def;
    def.budget_bytes_per_tick = 160;
    Stage stage(setup.schema, 1, def);
    const EntityId me = stage.spawn(setup.plain, {500, 0, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    std::vector<EntityId> all;
    for (int i = 0; i < 200; ++i)
        all.push_back(stage.spawn(i % 2 == 0 ? setup.plain : setup.other, {510, 0, 0}));
    std::array<int, 2> updates{};
    std::vector<Tick> last(all.size());
    for (int t = 0; t < 100 + ticks; ++t) {
        for (const EntityId one : all) stage.world().edit(one, setup.lamp)->light += 1;
        stage.step();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Tick now = stage.client().updated_of(stage.ghost(0, all[i]));
            updates[i % 2] += t >= 100 && now != last[i] ? 1 : 0;
            last[i] = now;
        }
    }
    return updates;
}

/// Matches every entity with a very low score.
class MoreFaint final : public InterestKernel {
  public:
    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < q.blocks.size(); ++i) out[i] = all_lanes;
    }
    std::string describe(const KernelQuery&, unsigned) const override { return "faint"; }
    void score(const KernelQuery&, std::span<const Mask>,
               std::span<float> out) const noexcept override {
        for (float& one : out) one = 0.01F;
    }
};

/// A kind that is relevant only explicitly and is retained by clients when it leaves.
struct MoreKept {
    explicit MoreKept(std::uint32_t retention_ticks) {
        setup.schema.edit_kind(setup.plain).leave = Retention::freeze;
        setup.schema.edit_kind(setup.plain).retention_ticks = retention_ticks;
        setup.def.rules.kinds[0].mode = EntityMode::explicit_only;
    }
    MoreSchema setup;
};

}  // namespace

TEST_CASE("replication: under a tight budget, leaves are sent before all updates (X2)") {
    MoreSchema setup;
    setup.def.budget_bytes_per_tick = 160;
    setup.def.rules.kinds[1].mode = EntityMode::explicit_only;
    Stage stage(setup.schema, 1, setup.def);
    std::vector<EntityId> crowd, leaving;
    for (int i = 0; i < 300; ++i) crowd.push_back(stage.spawn(setup.plain));
    for (int i = 0; i < 20; ++i) {
        leaving.push_back(stage.spawn(setup.other));
        show(stage, 0, leaving.back());
    }
    const auto step = [&] {
        for (const EntityId one : crowd) stage.world().edit(one, setup.lamp)->light += 1;
        stage.step();
    };
    for (int t = 0; t < 100; ++t) step();
    stage.client().clear_events();
    for (const EntityId one : leaving) CHECK(stage.world().despawn(one) == Status::ok);
    step();
    step();
    const auto events = stage.client().events();
    CHECK(std::count_if(events.begin(), events.end(),
                        [](const ClientEvent& event) { return event.is_leave(); }) == 20);
}

TEST_CASE("replication: the priority weights of nodes and kinds scale the update rate") {
    const auto is_in_proportion = [](const std::array<int, 2>& updates) {
        CHECK(updates[1] > updates[0] * 3);
        CHECK(updates[1] < updates[0] * 5);
    };
    {
        MoreSchema setup;
        NodeDef usual = MoreSchema::near(100, "usual");
        usual.members = Members::bound;
        NodeDef urgent = usual;
        urgent.name = "urgent";
        urgent.replication.priority = 4;
        setup.def.rules.nodes = {usual, urgent};
        setup.def.rules.kinds[0].nodes = {id_at<NodeId>(0)};
        setup.def.rules.kinds[1].nodes = {id_at<NodeId>(1)};
        is_in_proportion(more_updates_of(setup, 100));
    }
    {
        MoreSchema setup;
        setup.def.rules.nodes = {MoreSchema::near(100)};
        setup.schema.edit_kind(setup.other).priority = 4;
        is_in_proportion(more_updates_of(setup, 100));
    }
}

TEST_CASE("replication: a very low score still gets a quarter of the update rate (O21)") {
    MoreSchema setup;
    NodeDef faint = MoreSchema::near(100, "faint");
    faint.members = Members::bound;
    NodeDef strong = faint;
    strong.name = "strong";
    faint.steps = {std::make_shared<MoreFaint>()};
    setup.def.rules.nodes = {faint, strong};
    setup.def.rules.kinds[0].nodes = {id_at<NodeId>(0)};
    setup.def.rules.kinds[1].nodes = {id_at<NodeId>(1)};
    const std::array<int, 2> updates = more_updates_of(setup, 150);
    CHECK(updates[1] > updates[0] * 2);  // the budget is exceeded
    CHECK(updates[1] < updates[0] * 5);
}

TEST_CASE("replication: calls about a ghost are dropped if its group never completes") {
    // The group does not fit into one tick: its root and a call to it have arrived, but are not
    // shown.
    CallWorld world(1, {}, 200);
    world.place_player(0, {12, 10, 0});
    world.run(20);
    EntityId root{};
    std::vector<EntityId> members;
    world.in_next_tick([&](Server& server) {
        root = world.spawn({10, 10, 0});
        for (int i = 0; i < 40; ++i) {
            members.push_back(world.spawn({10, 10, 0}));
            CHECK(server.world().attach(members.back(), root) == Status::ok);
        }
    });
    world.step();
    CHECK(world.server().call({.entity = root},
                              world.schema().ping(RpcDelivery::reliable_unordered, RpcPolicy::cull),
                              Ping{77, 1}));
    world.step();
    const auto slot_of = [&](EntityId entity) {
        return internal(world.server())
            .sessions.find(world.observer(0))
            ->ghosts.slots()
            .find(entity);
    };
    const LocalId slot = slot_of(root);
    REQUIRE(slot != no_local_id);
    REQUIRE_FALSE(world.client(0).is_held(ghost_id_of(slot)));
    REQUIRE(world.client(0).stats().calls_waited == 1);
    for (const EntityId member : members) (void)world.server().world().despawn(member);
    CHECK(world.server().world().despawn(root) == Status::ok);
    world.run(6);
    // Another entity reuses its local id.
    EntityId next{};
    world.in_next_tick([&](Server&) { next = world.spawn({10, 10, 0}); });
    world.run(6);
    REQUIRE(slot_of(next) == slot);
    CHECK(world.client(0).is_held(ghost_id_of(slot)));
    CHECK(world.got(0).empty());
}

TEST_CASE("replication: an entity that does not fit beside shared payloads is sent alone") {
    // The payload of the whole cell leaves no room for a chest in any packet.
    for (const std::uint32_t budget_bytes : {1'000U, 1'050U}) {
        for (int walkers = 50; walkers <= 76; walkers += 2) {
            CellWorldDef def;
            def.mode = Payload::read_many;
            def.clients = 1;
            def.walkers = 0;
            def.budget_bytes = budget_bytes;
            def.has_chests = true;
            CellWorld world(def);
            const std::vector<EntityId> crowd = world.gather(walkers);
            std::uint16_t hp = 0;
            const auto step = [&] {
                ++hp;
                for (const EntityId one : crowd) {
                    world.server->world().edit(one, world.setup.body)->hp = hp;
                    const float x = 150 + static_cast<float>(hp % 40);
                    CHECK(world.server->world().move(one, {x, 141, 0}) == Status::ok);
                }
                world.step();
            };
            for (int i = 0; i < 6; ++i) step();
            const EntityId chest = world.spawn(world.setup.chest, {170, 141, 0});
            for (const auto& lot : world.setup.lots)
                for (auto& thing : world.server->world().edit(chest, lot)->things) thing.fill('x');
            int ticks = 0;
            for (; ticks < 20 && world.ghost(0, chest) == GhostId::none; ++ticks) step();
            CHECK(ticks < 20);
        }
    }
}

TEST_CASE("replication: the target of a call is sent first, so the call is not dropped") {
    CallWorld world(1, {}, 200);
    std::vector<EntityId> crowd;
    for (int i = 0; i < 200; ++i) crowd.push_back(world.spawn({10, 10, 0}));
    world.place_player(0, {12, 10, 0});
    const auto step = [&] {
        const auto turn = static_cast<float>(world.server().current_tick() % 60);
        for (const EntityId one : crowd)
            world.server().world().edit(one, world.schema().body)->facing = 0.1F * turn;
        world.step();
    };
    // The first calls precede most enters.
    world.late.clear();
    const auto ping = world.schema().ping(RpcDelivery::unreliable, RpcPolicy::cull);
    step();
    for (std::uint32_t i = 0; i < crowd.size(); ++i) {
        CHECK(world.server().call({.entity = crowd[crowd.size() - 1 - i]}, ping, Ping{0, i}));
        step();
    }
    CHECK(world.late.empty());
    CHECK(world.got(0).size() == crowd.size());
}

TEST_CASE("replication: a group that fits into one packet enters in one packet") {
    Schema schema;
    const Component<MoreLine> line =
        schema.component<MoreLine>("line").text("text", &MoreLine::text);
    const KindId kind = schema.kind("kind", {line.id});
    ServerDef def;
    def.rules.kinds.resize(1);
    def.rules.kinds[0].mode = EntityMode::explicit_only;
    // The group follows so many others that the first packet ends within it. Only that packet
    // arrives.
    int first = 0, second = 0;
    for (int others = 10; others < 36; ++others) {
        Stage stage(schema, 1, def);
        stage.step(3);
        std::vector<EntityId> all, group;
        const auto make = [&] {
            const EntityId made = stage.spawn(kind);
            std::memset(stage.world().edit(made, line)->text, 'x', sizeof(MoreLine::text));
            all.push_back(made);
            return made;
        };
        for (int i = 0; i < others; ++i) (void)make();
        for (int i = 0; i < 7; ++i) {
            group.push_back(make());
            if (i > 0) CHECK(stage.world().attach(group.back(), group.front()) == Status::ok);
        }
        for (const EntityId one : all) show(stage, 0, one);
        stage.now += 50'000;
        stage.server->tick(stage.now);
        OutgoingDatagram out;
        for (int n = 0; stage.server->next_datagram(out); ++n)
            if (n == 0) stage.client().receive(out.bytes, stage.now);
        const Session& session = *internal(*stage.server).sessions.find(stage.observers[0]);
        const auto arrived = std::count_if(group.begin(), group.end(), [&](EntityId member) {
            const LocalId slot = session.ghosts.slots().find(member);
            return slot != no_local_id && internal(stage.client()).replica->ghosts.is_held(slot);
        });
        CHECK((arrived == 0 || arrived == 7));
        ++(arrived == 0 ? second : first);
    }
    CHECK(first > 0);
    CHECK(second > 0);
}

TEST_CASE("replication: a retained group that fits into one packet resumes in one packet") {
    Schema schema;
    const Component<MoreLine> line =
        schema.component<MoreLine>("line").text("text", &MoreLine::text);
    const KindId kind = schema.kind("kind", {line.id});
    schema.edit_kind(kind).leave = Retention::stale;
    schema.edit_kind(kind).retention_ticks = 1'000;
    ServerDef def;
    def.rules.kinds.resize(1);
    def.rules.kinds[0].mode = EntityMode::explicit_only;
    // The group follows so many others that a packet would end within it.
    for (int others = 10; others < 36; ++others) {
        Stage stage(schema, 1, def);
        std::vector<EntityId> all, group;
        const auto write = [&](char with) {
            for (const EntityId one : all)
                std::memset(stage.world().edit(one, line)->text, with, sizeof(MoreLine::text));
        };
        const auto show_all = [&](bool shown) {
            for (const EntityId one : all) show(stage, 0, one, shown);
        };
        for (int i = 0; i < others + 7; ++i) all.push_back(stage.spawn(kind));
        group.assign(all.end() - 7, all.end());
        for (int i = 1; i < 7; ++i) CHECK(stage.world().attach(group[i], group[0]) == Status::ok);
        write('x');
        show_all(true);
        stage.step(10);
        show_all(false);
        stage.step(10);
        CHECK(stage.client().ghost_count() == 0);
        write('y');
        show_all(true);
        stage.step();
        // With two packets, neither could mark the group as complete, and no member would be shown.
        for (const EntityId member : group) CHECK(stage.client().is_held(stage.ghost(0, member)));
    }
}

TEST_CASE("replication: a ghost that resumes elsewhere is not interpolated on the way") {
    MoreKept kept(2'000);
    MoreSchema& setup = kept.setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId boat = stage.spawn(setup.plain, {100, 100, 0});
    show(stage, 0, boat);
    stage.step(5);
    show(stage, 0, boat, false);
    stage.step(20);
    CHECK(stage.world().move(boat, {900, 100, 0}) == Status::ok);
    show(stage, 0, boat);
    stage.step();
    CHECK(stage.changes() == "entered retained resumed");
    const GhostId ghost = stage.ghost(0, boat);
    REQUIRE(ghost != GhostId::none);
    const double newest = stage.client().newest_tick();
    for (double back = 0; back < 20; back += 0.5)
        CHECK(stage.client().position_of(ghost, newest - back).x ==
              doctest::Approx(900).epsilon(0.001));
}

TEST_CASE("host view: a value and a reference that change in one tick are both reported") {
    struct Watching final : HostPresentation {
        void show(EntityId, Reason) override {}
        void hide(EntityId, Reason) override {}
        void changed(EntityId entity, ComponentId component) override {
            changes.emplace_back(entity, component);
        }
        std::vector<std::pair<EntityId, ComponentId>> changes;
    } watching;
    MoreSchema setup;
    const Component<MoreAim> aim =
        setup.schema.component<MoreAim>("aim").reference("at", &MoreAim::at);
    const KindId archer = setup.schema.kind("archer", {setup.lamp.id, aim.id});
    setup.def.rules.kinds[1].mode = EntityMode::explicit_only;
    Stage stage(setup.schema, 1, setup.def);
    HostView view = std::move(HostView::create(*stage.server, watching)).value();
    const EntityId aiming = stage.spawn(archer), target = stage.spawn(setup.other);
    stage.world().edit(aiming, aim)->at = target;
    for (int i = 0; i < 2; ++i) {
        stage.step();
        view.update();
    }
    watching.changes.clear();
    // The referenced entity becomes relevant, so the reference changes, and the lamp changes as
    // well.
    stage.world().edit(aiming, setup.lamp)->light = 5;
    CHECK(stage.visibility().allow(view.observer(), target, true) == Status::ok);
    stage.step();
    view.update();
    for (const ComponentId component : {setup.lamp.id, aim.id}) {
        CHECK(std::count(watching.changes.begin(), watching.changes.end(),
                         std::pair{aiming, component}) == 1);
    }
}

TEST_CASE("replication: an observer that visited many cells receives only its current cells") {
    CellWorldDef def;
    def.mode = Payload::update_many;
    def.clients = 1;
    def.walkers = 0;
    CellWorld world(def);
    world.is_frozen = true;
    world.step(10);
    const EntityId me = world.players.begin()->second;
    std::vector<EntityId> crowd;
    for (int i = 0; i < 30; ++i) crowd.push_back(world.spawn(world.setup.walker, {176, 141, 0}));
    std::uint16_t hp = 0;
    const auto run = [&](int ticks) {
        const std::uint64_t before = world.server->stats().bytes_sent;
        for (int t = 0; t < ticks; ++t) {
            ++hp;
            for (const EntityId one : crowd)
                world.server->world().edit(one, world.setup.body)->hp = hp;
            world.step();
        }
        return world.server->stats().bytes_sent - before;
    };
    const auto go = [&](float x, float y, int ticks) {
        CHECK(world.server->world().move(me, {x, y, 0}) == Status::ok);
        (void)run(ticks);
    };
    go(170, 141, 20);
    const std::uint64_t before = run(20);
    for (int round = 0; round < 2; ++round) {
        go(205, 141, 4);
        go(140, 141, 4);
        go(170, 120, 4);
        go(170, 160, 4);
    }
    go(170, 141, 20);
    CHECK(run(20) <= before + before / 20);
}

TEST_CASE("replication: the last retention policy applies although the resume was lost") {
    MoreSchema setup;
    NodeDef wide = MoreSchema::near(100, "wide"), close = MoreSchema::near(30, "close");
    wide.replication.leave = Retention::freeze;
    close.replication.leave = Retention::stale;
    setup.def.rules.nodes = {wide, close};
    Stage stage(setup.schema, 1, setup.def);
    const EntityId me = stage.spawn(setup.plain, {500, 0, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    const EntityId other = stage.spawn(setup.plain, {560, 0, 0});
    const auto go = [&](float x, std::uint32_t ticks) {
        CHECK(stage.world().move(other, {x, 0, 0}) == Status::ok);
        stage.step(ticks);
    };
    stage.step(10);
    const GhostId ghost = stage.ghost(0, other);
    REQUIRE(ghost != GhostId::none);
    go(900, 10);
    CHECK(stage.client().retention(ghost) == Retention::freeze);
    stage.loses_all_to = 0;
    go(510, 4);
    go(900, 4);
    stage.loses_all_to = 99;
    stage.step(20);
    CHECK(stage.changes() == "entered entered retained");
    CHECK(stage.client().retention(ghost) == Retention::stale);
}

TEST_CASE("replication: a view is not complete while a group waits for its other members") {
    int waited = 0;
    for (std::uint32_t later = 0; later < 8; ++later) {
        MoreSchema setup;
        setup.def.budget_bytes_per_tick = 160;
        Stage stage(setup.schema, 0, setup.def);
        for (int i = 0; i < 40; ++i) (void)stage.spawn(setup.plain);
        ClientDef def;
        def.nonce = 100;
        stage.clients.push_back(std::make_unique<Client>(def));
        Client& client = stage.client();
        for (int t = 0; t < 40 && stage.observers.empty(); ++t) stage.step();
        REQUIRE(stage.observers.size() == 1);
        stage.step(later);
        if (client.is_view_complete()) break;
        // The group follows the first view and does not fit into one tick.
        const EntityId root = stage.spawn(setup.plain);
        for (int i = 0; i < 60; ++i)
            REQUIRE(stage.world().attach(stage.spawn(setup.plain), root) == Status::ok);
        bool has_waited = false;
        for (int t = 0; t < 100 && !client.is_view_complete(); ++t) {
            stage.step();
            has_waited = has_waited || internal(client).replica->groups.is_any_waiting();
        }
        CHECK(client.is_view_complete());
        CHECK_FALSE(internal(client).replica->groups.is_any_waiting());
        waited += has_waited && stage.ghost(0, root) != GhostId::none ? 1 : 0;
    }
    CHECK(waited > 0);
}

TEST_CASE("server: a disconnect ends the ghosts and the retained ghosts of the observer") {
    MoreKept kept(2'000);
    MoreSchema& setup = kept.setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId left = stage.spawn(setup.plain), seen = stage.spawn(setup.plain);
    show(stage, 0, left);
    show(stage, 0, seen);
    stage.step(5);
    show(stage, 0, left, false);
    stage.step(5);
    CHECK(stage.changes() == "entered entered retained");
    const std::uint64_t enters = stage.server->stats().enters,
                        leaves = stage.server->stats().leaves;
    CHECK(enters == leaves + 1);
    CHECK(stage.server->close(stage.observers[0], CloseReason::kicked) == Status::ok);
    std::vector<std::pair<EntityId, Change>> ended;
    for (int t = 0; t < 4; ++t) {
        stage.step();
        for (const ServerEvent& event : stage.server->events()) {
            CHECK(event.reason == Reason::disconnected);
            ended.emplace_back(event.entity, event.change);
        }
    }
    std::sort(ended.begin(), ended.end());
    std::vector<std::pair<EntityId, Change>> expected{{left, Change::dropped},
                                                      {seen, Change::left}};
    std::sort(expected.begin(), expected.end());
    CHECK(ended == expected);
    CHECK(stage.server->stats().enters == enters);
    CHECK(stage.server->stats().leaves == enters);  // the retained ghost left before
}

TEST_CASE("replication: more shared cells than a packet can number are sent per entity") {
    // Two nodes of 49 cells each around one position, with entities in every cell.
    MoreSchema setup;
    NodeDef cells;
    cells.payload = Payload::read_many;
    cells.members = Members::bound;
    cells.add(purview::cells(50, 50, 3));
    for (std::size_t k = 0; k < 2; ++k) {
        cells.name = "cells " + std::to_string(k);
        setup.def.rules.nodes.push_back(cells);
        setup.def.rules.kinds[k].nodes = {id_at<NodeId>(k)};
    }
    Stage stage(setup.schema, 1, setup.def);
    const EntityId me = stage.spawn(setup.plain, {525, 525, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    std::vector<EntityId> all;
    for (int cell = 0; cell < 49; ++cell) {
        const Vec3 at{375 + static_cast<float>(cell % 7) * 50,
                      375 + static_cast<float>(cell / 7) * 50, 0};
        all.push_back(stage.spawn(setup.plain, at));
        all.push_back(stage.spawn(setup.other, at));
    }
    stage.step(10);
    for (std::uint16_t light = 1; light <= 20; ++light) {
        for (std::size_t i = 0; i < all.size(); ++i)
            stage.world().edit(all[i], setup.lamp)->light =
                static_cast<std::uint16_t>(100 * i + light);
        stage.step();
        REQUIRE(stage.client().state() == ClientState::joined);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const GhostId ghost = stage.ghost(0, all[i]);
            REQUIRE(ghost != GhostId::none);
            REQUIRE(stage.client().value_of(ghost, setup.lamp.id, 0) ==
                    static_cast<double>(100 * i + light));
        }
    }
    CHECK(stage.server->stats().sessions == 1);
}

TEST_CASE("server: calls in flight when ownership ends do not count against the caller") {
    CallWorld world(2);
    for (std::size_t i = 0; i < 2; ++i) world.place_player(i, {12, 10, 0});
    world.run(10);
    const GhostId mine = world.ghost_of(0, world.player(0));
    REQUIRE(mine != GhostId::none);
    // The client receives the change half a second later, and calls `steer` until then.
    world.peer(0).down.faults.delay_us = 500'000;
    world.run(10);
    CHECK(world.server().world().set_owner(world.player(0), world.observer(1)) == Status::ok);
    std::uint64_t called = 0;
    for (int t = 0; t < 30; ++t) {
        for (int i = 0; i < 5; ++i) {
            called +=
                world.client(0).call(world.schema().steer, mine, Ping{1, 2}) == Status::ok ? 1 : 0;
        }
        world.step();
    }
    CHECK(called > 40);
    CHECK(called < 100);  // the client has received the change
    world.run(20);
    const RpcCounters& counters = internal(world.server()).calls.counters();
    CHECK(counters.gone > 40);
    CHECK(counters.refused_caller == 0);
    CHECK(counters.sessions_closed == 0);
    CHECK(world.client(0).state() == ClientState::joined);
}

TEST_CASE("server: the observers of an entity change in the tick of the events (N34)") {
    MoreSchema setup;
    setup.def.rules.nodes = {MoreSchema::near(100)};
    Stage stage(setup.schema, 3, setup.def);
    std::vector<EntityId> mains;
    for (std::uint32_t i = 0; i < 3; ++i) {
        const float y = static_cast<float>(i) * 60;
        mains.push_back(stage.spawn(setup.plain, {500, y, 0}));
        CHECK(stage.visibility().set_viewpoint(stage.observers[i], mains[i]) == Status::ok);
    }
    const EntityId thing = stage.spawn(setup.other, {590, 0, 0});  // 90, 108 and 150 m away
    const auto seen_by = [&] {
        std::vector<ObserverId> out;
        stage.visibility().observers_of(thing, out);
        std::string text;
        for (const ObserverId observer : stage.observers)
            text += std::find(out.begin(), out.end(), observer) != out.end() ? "x" : "-";
        CHECK(out.size() == static_cast<std::size_t>(std::count(text.begin(), text.end(), 'x')));
        return text;
    };
    const auto held_by = [&] {
        std::string text;
        for (std::uint32_t i = 0; i < 3; ++i)
            text += stage.ghost(i, thing) != GhostId::none ? "x" : "-";
        return text;
    };
    stage.step(5);
    REQUIRE(seen_by() == "x--");
    REQUIRE(held_by() == "x--");
    const auto changes_to = [&](const char* expected, const std::function<Status()>& edit) {
        const std::string before = seen_by();
        CHECK(edit() == Status::ok);
        for (std::uint32_t i = 0; i < 3; ++i) (void)stage.changes(i);
        stage.step();
        CHECK(seen_by() == std::string(expected));
        CHECK(held_by() == std::string(expected));
        std::string reported = before, received = before;
        for (std::uint32_t i = 0; i < 3; ++i) {
            for (const ServerEvent& event : stage.server->events())
                if (event.entity == thing && event.observer == stage.observers[i])
                    reported[i] = event.is_enter() ? 'x' : '-';
            for (const ClientEvent& event : lifetimes_of(stage.client(i)))
                if (event.kind == setup.other) received[i] = event.is_enter() ? 'x' : '-';
        }
        CHECK(reported == std::string(expected));
        CHECK(received == std::string(expected));
        stage.step();
        CHECK(seen_by() == std::string(expected));
    };
    const auto radius = [&](float meters) {
        return [&stage, rules = setup.def.rules, meters]() mutable {
            rules.nodes = {MoreSchema::near(meters)};
            return stage.server->set_rules(rules).empty() ? Status::ok : Status::bad_configuration;
        };
    };
    const auto deny = [&](std::uint32_t client, bool value) {
        return [&, client, value] {
            return stage.visibility().deny(stage.observers[client], thing, value);
        };
    };
    const auto allow = [&](std::uint32_t client, bool value) {
        return [&, client, value] {
            return stage.visibility().allow(stage.observers[client], thing, value);
        };
    };
    changes_to("xx-", radius(125));
    changes_to("xxx", allow(2, true));
    changes_to("-xx", deny(0, true));
    changes_to("--x", radius(50));
    changes_to("---", allow(2, false));
    changes_to("---", deny(0, false));
    changes_to("-x-", allow(1, true));
    changes_to("xxx", radius(200));
    changes_to("x-x", deny(1, true));
}

TEST_CASE("replication: the distance of the root sets the send interval of a group (X7)") {
    MoreSchema setup;
    setup.schema.edit_kind(setup.plain).intervals = {{0, 8}, {0.9F, 1}};
    setup.def.rules.nodes = {MoreSchema::near(100)};
    using Kinds = std::array<KindId, 3>;  // from the root down; only `plain` has send intervals
    for (const Kinds& kinds : {Kinds{setup.plain, setup.plain, setup.plain},
                               Kinds{setup.plain, setup.other, setup.other},
                               Kinds{setup.other, setup.plain, setup.other}}) {
        for (const bool is_root_far : {true, false}) {
            Stage stage(setup.schema, 1, setup.def);
            const EntityId me = stage.spawn(setup.plain, {500, 0, 0});
            CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
            const float far = 595, close = 501;
            std::array<EntityId, 3> line{};
            for (std::size_t i = 0; i < 3; ++i) {
                line[i] = stage.spawn(kinds[i], {is_root_far == (i == 0) ? far : close, 0, 0});
                if (i > 0) CHECK(stage.world().attach(line[i], line[i - 1]) == Status::ok);
            }
            stage.step(20);
            std::array<int, 3> updates{};
            std::array<Tick, 3> last{};
            for (std::size_t i = 0; i < 3; ++i)
                last[i] = stage.client().updated_of(stage.ghost(0, line[i]));
            for (int t = 0; t < 64; ++t) {
                for (const EntityId one : line) stage.world().edit(one, setup.lamp)->light += 1;
                stage.step();
                for (std::size_t i = 0; i < 3; ++i) {
                    const Tick now = stage.client().updated_of(stage.ghost(0, line[i]));
                    updates[i] += now != last[i] ? 1 : 0;
                    last[i] = now;
                }
            }
            bool has_curve = false;
            for (std::size_t i = 0; i < 3; ++i) {
                has_curve = has_curve || kinds[i] == setup.plain;
                CHECK(updates[i] == (is_root_far && has_curve ? 8 : 64));
            }
        }
    }
}

TEST_CASE("server: a group is scored by the nearest point of its bounds (O21)") {
    MoreSchema setup;
    setup.def.rules.group_radius_max = 200;
    setup.def.rules.nodes = {MoreSchema::near(100)};
    setup.def.rules.kinds[0].uses_group_radius = true;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId me = stage.spawn(setup.plain, {590, 500, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    const EntityId root = stage.spawn(setup.plain, {500, 500, 0});
    const EntityId stern = stage.spawn(setup.plain, {580, 500, 0});
    const std::array<EntityId, 2> ship{root, stern};
    std::array<float, 2> score{};
    const auto look = [&](float expected) {
        stage.step(3);
        stage.visibility().scores(stage.observers[0], ship, score);
        for (const float one : score) CHECK(one == doctest::Approx(expected).epsilon(0.01));
    };
    CHECK(stage.world().attach(stern, root) == Status::ok);
    look(0.95F);  // 10 m from the stern, though the root is 90 m away
    CHECK(stage.world().move(stern, {540, 500, 0}) == Status::ok);
    look(0.75F);
}

TEST_CASE("replication: a resume sends only what differs from the retained ghost") {
    // While hidden, the value is not written, or written and restored. Before and after, both runs
    // have the same values.
    const auto packets_for = [](bool is_written, std::uint16_t shown) {
        MoreKept made(1'000);
        MoreSchema& setup = made.setup;
        Stage stage(setup.schema, 1, setup.def);
        const EntityId one = stage.spawn(setup.plain);
        stage.world().edit(one, setup.lamp)->light = 5;
        show(stage, 0, one);
        stage.step(6);
        show(stage, 0, one, false);
        stage.step(6);
        stage.world().edit(one, setup.lamp)->light = is_written ? 9 : 5;
        stage.step(6);
        stage.world().edit(one, setup.lamp)->light = 5;
        stage.step(is_written ? 0 : 6);  // the written run writes again in this time
        if (is_written) {
            stage.step(5);
            stage.world().edit(one, setup.lamp)->light = 8;
            stage.step();
        }
        stage.world().edit(one, setup.lamp)->light = shown;
        std::string all;
        stage.keep_all = &all;
        show(stage, 0, one);
        stage.loses_all_to = 0;  // these packets are lost and resent
        stage.step(3);
        stage.loses_all_to = 99;
        stage.step(6);
        REQUIRE(stage.ghost(0, one) != GhostId::none);
        CHECK(stage.client().value_of(stage.ghost(0, one), setup.lamp.id, 0) == shown);
        // A change after the resume is sent as usual.
        stage.world().edit(one, setup.lamp)->light = 6;
        stage.step(4);
        CHECK(stage.client().value_of(stage.ghost(0, one), setup.lamp.id, 0) == 6);
        CHECK(stage.changes() == "entered retained resumed");
        return all;
    };
    CHECK(packets_for(true, 5) == packets_for(false, 5));
    CHECK(packets_for(true, 7) == packets_for(false, 7));
    CHECK(packets_for(false, 5).size() < packets_for(false, 7).size());
}

TEST_CASE("replication: a resume sends what changed while its packets were in flight") {
    MoreKept made(1'000);
    MoreSchema& setup = made.setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId one = stage.spawn(setup.plain);
    const auto light = [&](std::uint16_t value) {
        stage.world().edit(one, setup.lamp)->light = value;
    };
    light(5);
    show(stage, 0, one);
    stage.step(6);
    // The value changes, and the entity is hidden before that can have arrived. It returns with its
    // old value.
    for (const bool twice : {false, true}) {
        CAPTURE(twice);
        stage.loses_all_to = 0;
        light(6);
        stage.step();
        show(stage, 0, one, false);
        stage.step();
        light(5);
        show(stage, 0, one);
        stage.step();
        if (twice) {  // once more, while the link has not arrived
            light(7);
            stage.step();
            show(stage, 0, one, false);
            stage.step();
            show(stage, 0, one);
            stage.step();
            light(5);
        }
        stage.loses_all_to = 99;
        stage.step(8);
        REQUIRE(stage.ghost(0, one) != GhostId::none);
        CHECK(stage.client().value_of(stage.ghost(0, one), setup.lamp.id, 0) == 5);
    }
    // The value changes again between the show and the delivery.
    show(stage, 0, one, false);
    stage.step(4);
    light(9);
    show(stage, 0, one);
    stage.step();
    light(5);
    stage.step(4);
    CHECK(stage.client().value_of(stage.ghost(0, one), setup.lamp.id, 0) == 5);
}

TEST_CASE("replication: a write in the tick of an enter does not affect what is sent") {
    MoreSchema setup;
    setup.def.rules.kinds[0].mode = EntityMode::explicit_only;
    // After a backlog, the budget suddenly fits everything or nearly everything. `one` is among the
    // ghosts that are planned after the others. With equal priority, the lowest local id goes
    // first.
    const auto late = [&](bool is_written, bool is_lowest, std::uint32_t room_bytes) {
        setup.def.budget_bytes_per_tick = 160;
        Stage stage(setup.schema, 1, setup.def);
        const EntityId first = stage.spawn(setup.other);
        stage.step(6);
        std::vector<EntityId> crowd;
        for (int i = 0; i < 150; ++i) crowd.push_back(stage.spawn(setup.other));
        const EntityId one = stage.spawn(setup.plain);
        stage.world().edit(one, setup.lamp)->light = is_written ? 1 : 2;
        stage.step(60);
        if (is_lowest) CHECK(stage.world().despawn(first) == Status::ok);  // `one` gets its id
        stage.step(6);
        for (int t = 0; t < 3; ++t) {
            for (const EntityId other : crowd) stage.world().edit(other, setup.lamp)->light += 1;
            if (t < 2) stage.step();
        }
        REQUIRE(stage.server->set_budget(stage.observers[0], room_bytes) == Status::ok);
        std::string all;
        stage.keep_all = &all;
        stage.world().edit(one, setup.lamp)->light = 2;
        show(stage, 0, one);
        stage.step(4);
        return all;
    };
    for (const bool is_lowest : {false, true}) {
        for (std::uint32_t room_bytes = 160; room_bytes < 600; room_bytes += 20) {
            CAPTURE(room_bytes);
            CHECK(late(false, is_lowest, room_bytes) == late(true, is_lowest, room_bytes));
        }
    }
    // The same in several packets, some of which are lost.
    const auto many = [&](bool is_written, std::uint64_t seed) {
        setup.def.budget_bytes_per_tick = 4'800;
        Stage stage(setup.schema, 1, setup.def);
        std::vector<EntityId> crowd;
        for (int i = 0; i < 400; ++i) {
            crowd.push_back(stage.spawn(setup.plain, {1, 1, 0}));
            stage.world().edit(crowd.back(), setup.lamp)->light = is_written ? 1 : 2;
        }
        stage.step(6);
        std::string all;
        stage.keep_all = &all;
        stage.random = SplitMix(seed);
        stage.loss = 0.5F;
        for (const EntityId one : crowd) {
            stage.world().edit(one, setup.lamp)->light = 2;
            show(stage, 0, one);
        }
        stage.step();
        stage.loss = 0;
        for (int i = 0; i < 4; ++i) {  // each move is sent without other fields
            for (const EntityId one : crowd)
                (void)stage.world().move(one, {static_cast<float>(2 + i), 1, 0});
            stage.step();
        }
        stage.step(6);
        CHECK(stage.client().ghost_count() == 400);
        return all;
    };
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        CAPTURE(seed);
        CHECK(many(false, seed) == many(true, seed));
    }
}

}  // namespace purview::test
