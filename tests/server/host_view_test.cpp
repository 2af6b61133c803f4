// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A local player in the server process beside a remote player at the same position: both get the
// same events, and the same RPCs in the same order.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "purview/host_view.hpp"
#include "purview/limits.hpp"
#include "support/rpc_support.hpp"

namespace purview::test {

namespace {

/// (RPC, tag of its target, number): equal for both players.
using ReceivedCall = std::tuple<std::uint32_t, double, std::uint32_t>;

struct Listening final : HostPresentation {
    void show(EntityId entity, Reason reason) override {
        shown.emplace_back(entity, reason);
        if (on_show) on_show(entity);
    }
    void hide(EntityId entity, Reason reason) override { hidden.emplace_back(entity, reason); }
    void changed(EntityId entity, ComponentId) override {
        ++changes;
        ++changes_of[entity];
    }
    void called(RpcId rpc, EntityId target, std::span<const std::byte> args) override {
        Ping ping;
        REQUIRE(read_args(Rpc<Ping>{rpc}, rpc, args, ping));
        const double tag = target == EntityId::none ? 0 : world->tag(target);
        calls.emplace_back(index_of(rpc), tag, ping.number);
        changes_before.push_back(changes);
    }
    Numbers take() {
        Numbers out;
        for (const ReceivedCall& received : calls) out.push_back(std::get<2>(received));
        calls.clear();
        return out;
    }
    CallWorld* world = nullptr;
    std::function<void(EntityId)> on_show;
    std::vector<ReceivedCall> calls;
    std::vector<std::pair<EntityId, Reason>> shown, hidden;
    std::uint32_t changes = 0;
    std::map<EntityId, std::uint32_t> changes_of;
    std::vector<std::uint32_t> changes_before;  ///< [calls]: `changes` before it
};

/// A local player at the position of client 0.
struct Beside {
    explicit Beside(std::uint32_t clients) : world(clients) {
        presented.world = &world;
        view.emplace(std::move(HostView::create(world.server(), presented)).value());
        avatar =
            world.server().world().spawn({.kind = world.schema().player, .position = {280, 20, 0}});
        (void)world.server().world().set_owner(avatar, view->observer());
        (void)world.server().visibility().set_viewpoint(view->observer(), avatar);
        step();
    }
    void step() {
        world.step();
        view->update();
    }
    void put(Vec3 at) {
        world.place_player(0, at);
        (void)world.server().world().move(avatar, at);
    }
    CallWorld world;
    Listening presented;
    std::optional<HostView> view;
    EntityId avatar{};
};

/// Enters and leaves of an observer, without drops of retained ghosts. Events of the two players
/// are left out, because they differ.
auto events_of(Beside& both, ObserverId observer) {
    std::vector<std::tuple<EntityId, KindId, Reason, bool>> out;
    for (const ServerEvent& event : both.world.server().events()) {
        if (event.observer != observer || event.entity == both.avatar ||
            event.entity == both.world.player(0) || event.change == Change::dropped) {
            continue;
        }
        out.emplace_back(event.entity, event.kind, event.reason, event.is_enter());
    }
    return out;
}

}  // namespace

TEST_CASE("host view: the local player gets the events and RPCs of a remote one (M25)") {
    std::size_t events = 0, calls = 0, held = 0, named = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        Beside both(2);
        CallWorld& world = both.world;
        Server& server = world.server();
        const SmallSchema& schema = world.schema();
        const ObserverId remote = world.observer(0), local = both.view->observer();
        SplitMix random(seed);
        const auto anywhere = [&] {
            return Vec3{static_cast<float>(random.below(300)), static_cast<float>(random.below(40)),
                        0};
        };
        std::vector<EntityId> animals;
        while (animals.size() < 30) animals.push_back(world.spawn(anywhere()));
        std::vector<ReceivedCall> received_remote;
        world.got(0).clear();
        std::uint32_t number = 1;
        for (int tick = 0; tick < 300; ++tick) {
            if (random.below(8) == 0) both.put(anywhere());
            for (EntityId& animal : animals) {
                switch (random.below(60)) {
                    case 0:
                        (void)server.world().despawn(animal);
                        animal = world.spawn(anywhere());
                        break;
                    case 1:
                        (void)server.world().move(animal, anywhere());
                        break;
                    case 2: {
                        const bool on = random.below(2) == 0;
                        for (const ObserverId client : {remote, local})
                            CHECK(server.visibility().deny(client, animal, on) == Status::ok);
                        break;
                    }
                    case 3: {
                        const bool on = random.below(2) == 0;
                        for (const ObserverId client : {remote, local})
                            CHECK(server.visibility().allow(client, animal, on) == Status::ok);
                        break;
                    }
                    default:
                        break;
                }
            }
            for (int i = 0; i < 4; ++i) {
                const Ping ping{0, number++};
                switch (random.below(4)) {
                    case 0:
                        CHECK(server.call({.position = anywhere()}, schema.booms[random.below(3)],
                                          ping));
                        break;
                    case 1:
                        CHECK(server.call({}, schema.news[random.below(3)], ping));
                        break;
                    default:
                        CHECK(server.call({.entity = animals[random.below(30)]},
                                          schema.pings[random.below(9)], ping));
                }
            }
            both.step();
            for (const Got& got : world.got(0))
                received_remote.emplace_back(index_of(got.rpc), got.tag_of_ghost, got.args.number);
            world.got(0).clear();
            REQUIRE(events_of(both, local) == events_of(both, remote));
            REQUIRE(both.presented.calls == received_remote);
            events += events_of(both, local).size();
            // Each RPC report lists both observers with the same cull reason.
            for (const RpcReport& report : server.rpc_reports()) {
                const auto reason_of = [&](ObserverId client) -> std::optional<CullReason> {
                    for (const RpcCulled& one : report.culled)
                        if (one.observer == client) return one.reason;
                    return std::nullopt;
                };
                REQUIRE(reason_of(local) == reason_of(remote));
                held += report.held;
            }
        }
        calls += received_remote.size();
        named += static_cast<std::size_t>(
            std::count_if(received_remote.begin(), received_remote.end(),
                          [](const ReceivedCall& received) { return std::get<1>(received) != 0; }));
        CHECK(std::count_if(world.late.begin(), world.late.end(),
                            [&](const RpcLateCull& one) { return one.culled.observer == local; }) ==
              std::count_if(world.late.begin(), world.late.end(),
                            [&](const RpcLateCull& one) { return one.culled.observer == remote; }));
    }
    CHECK(events > 500);
    CHECK(calls > 1'000);
    CHECK(named > 200);
    CHECK(held > 300);
}

TEST_CASE("host view: an RPC is delivered after the changes of its tick") {
    Beside both(1);
    Server& server = both.world.server();
    both.put({10, 10, 0});
    const EntityId animal = both.world.spawn({12, 10, 0});
    both.step();
    const std::uint32_t before = both.presented.changes;
    CHECK(server.call({.entity = animal}, both.world.ordered_cull(), Ping{0, 1}));
    server.world().edit(animal, both.world.schema().body)->hp = 7;
    both.step();
    CHECK(both.presented.take() == Numbers{1});
    CHECK(both.presented.changes_before == std::vector<std::uint32_t>{before + 1});
    // One RPC to the local player only, and one to the remote client only.
    const Rpc<Ping> news = both.world.schema().news[2];
    CHECK(server.call({.only = both.view->observer()}, news, Ping{0, 2}));
    CHECK(server.call({.only = both.world.observer(0)}, news, Ping{0, 3}));
    both.step();
    CHECK(both.presented.take() == Numbers{2});
    CHECK(numbers(both.world.got(0)) == Numbers{1, 3});
    // Without `update` the RPCs are not taken: the limit of pending RPCs applies as for a client
    // that they do not reach.
    both.world.step();
    for (std::uint32_t i = 0; i < limits::rpc_pending_per_observer + 2; ++i)
        CHECK(server.call({.only = both.view->observer()}, news, Ping{0, i}));
    both.world.step();
    const auto reports = server.rpc_reports();
    CHECK(std::count_if(reports.begin(), reports.end(), [&](const RpcReport& report) {
              return report.culled.size() == 1 && report.culled[0].reason == CullReason::capacity;
          }) == 2);
    both.view->update();
    CHECK(both.presented.take().size() == limits::rpc_pending_per_observer);
}

TEST_CASE("host view: an RPC for all but the local player does not reach it") {
    Beside both(1);
    Server& server = both.world.server();
    both.put({10, 10, 0});
    const EntityId animal = both.world.spawn({12, 10, 0});
    for (int i = 0; i < 3; ++i) both.step();
    const ObserverId local = both.view->observer();
    CHECK(server.call({.entity = animal, .except = local}, both.world.ordered_cull(), Ping{0, 1}));
    CHECK(server.call({.except = local}, both.world.schema().news[2], Ping{0, 2}));
    CHECK(server.call({.except = both.world.observer(0)}, both.world.schema().news[2], Ping{0, 3}));
    both.step();
    for (const RpcReport& report : server.rpc_reports()) CHECK(report.sent == 1);
    CHECK(both.presented.take() == Numbers{3});
    both.step();
    CHECK(numbers(both.world.got(0)) == Numbers{1, 2});
}

TEST_CASE("host view: components that become visible are reported as changed") {
    Beside both(1);
    Server& server = both.world.server();
    both.put({10, 10, 0});
    const EntityId other =
        server.world().spawn({.kind = both.world.schema().player, .position = {12, 10, 0}});
    for (int i = 0; i < 3; ++i) both.step();
    REQUIRE(server.visibility().is_relevant(both.view->observer(), other));
    const std::uint32_t before = both.presented.changes;
    CHECK(server.world().set_owner(other, both.view->observer()) == Status::ok);
    both.step();
    CHECK(both.presented.changes == before + 2);  // the components for its owner
}

TEST_CASE("host view: components gained while an entity is hidden are reported when shown") {
    Beside both(1);
    Server& server = both.world.server();
    both.put({10, 10, 0});
    const EntityId other =
        server.world().spawn({.kind = both.world.schema().player, .position = {12, 10, 0}});
    for (int i = 0; i < 3; ++i) both.step();
    const ObserverId local = both.view->observer();
    const auto changes_while_hidden = [&](auto&& edit) {
        const std::uint32_t before = both.presented.changes_of[other];
        CHECK(server.visibility().deny(local, other, true) == Status::ok);
        both.step();
        CHECK_FALSE(both.view->is_shown(other));
        edit();
        both.step();
        CHECK(server.visibility().deny(local, other, false) == Status::ok);
        both.step();
        CHECK(both.view->is_shown(other));
        return both.presented.changes_of[other] - before;
    };
    const auto own = [&] { CHECK(server.world().set_owner(other, local) == Status::ok); };
    CHECK(changes_while_hidden([] {}) == 0);
    CHECK(changes_while_hidden(own) == 2);  // the components for its owner
}

TEST_CASE("host view: entities older than the view are reported with all components") {
    CallWorld world(1);
    Listening presented;
    presented.world = &world;
    const EntityId before = world.spawn({12, 10, 0});
    world.run(3);
    auto view = std::move(HostView::create(world.server(), presented)).value();
    CHECK(world.server().visibility().set_area(view.observer(), 0, Area::at({10, 10, 0})) ==
          Status::ok);
    const EntityId behind = world.spawn({12, 10, 0});
    for (int i = 0; i < 3; ++i) {
        world.step();
        view.update();
    }
    CHECK(view.is_shown(before));
    CHECK(presented.changes_of[behind] > 0);
    CHECK(presented.changes_of[before] == presented.changes_of[behind]);
}

TEST_CASE("host view: an RPC does not refer to an entity that has gone since") {
    Beside both(1);
    Server& server = both.world.server();
    both.put({10, 10, 0});
    both.step();
    const EntityId shown = both.world.spawn({12, 10, 0});
    CHECK(server.call({.entity = shown}, both.world.ordered_cull(), Ping{0, 1}));
    both.presented.on_show = [&](EntityId entity) {
        if (entity == shown) CHECK(server.world().despawn(entity) == Status::ok);
    };
    both.step();
    const auto news_of = [&](std::uint32_t number) {
        return ReceivedCall{index_of(both.world.ordered_cull().id), 0, number};
    };
    CHECK(both.presented.calls == std::vector<ReceivedCall>{news_of(1)});
    both.presented.take();
    // A tick without `update`; the entity leaves in the next one.
    const EntityId next = both.world.spawn({13, 10, 0});
    both.step();
    CHECK(server.call({.entity = next}, both.world.ordered_cull(), Ping{0, 2}));
    both.world.step();
    CHECK(server.visibility().deny(both.view->observer(), next, true) == Status::ok);
    both.step();
    CHECK(both.presented.calls == std::vector<ReceivedCall>{news_of(2)});
}

TEST_CASE("host view: changes of ticks without update() are reported by the next update()") {
    Beside both(1);
    Server& server = both.world.server();
    World& world = server.world();
    const Component<Body> body = both.world.schema().body;
    both.put({10, 10, 0});
    const EntityId leaves = both.world.spawn({12, 10, 0}), ends = both.world.spawn({13, 10, 0}),
                   stays = both.world.spawn({14, 10, 0}), turns = both.world.spawn({15, 10, 0}),
                   comes = both.world.spawn({250, 10, 0});
    both.step();
    CHECK(both.view->is_shown(leaves));
    CHECK_FALSE(both.view->is_shown(comes));
    Listening& presented = both.presented;
    presented.shown.clear();
    presented.hidden.clear();
    presented.changes_of.clear();
    // All of this happens in the first of two ticks; `turns` comes back in the second.
    CHECK(world.move(leaves, {250, 10, 0}) == Status::ok);
    CHECK(world.despawn(ends) == Status::ok);
    CHECK(world.move(comes, {12, 10, 0}) == Status::ok);
    CHECK(server.visibility().deny(both.view->observer(), turns, true) == Status::ok);
    world.edit(stays, body)->hp = 7;
    both.world.step();
    EntityId next = EntityId::none;  // has the index of `ends`
    while (index_of(next) != index_of(ends)) next = both.world.spawn({16, 10, 0});
    CHECK(server.visibility().deny(both.view->observer(), turns, false) == Status::ok);
    both.step();
    using ReceivedPosition = std::vector<std::pair<EntityId, Reason>>;
    const auto has = [](const ReceivedPosition& received, EntityId entity, Reason reason) {
        return std::count(received.begin(), received.end(), std::pair(entity, reason)) == 1;
    };
    CHECK(presented.hidden.size() == 2);
    CHECK(has(presented.hidden, leaves, Reason::left));
    CHECK(has(presented.hidden, ends, Reason::despawned));
    CHECK(has(presented.shown, comes, Reason::entered));
    CHECK(has(presented.shown, next, Reason::spawned));
    for (const EntityId entity : {leaves, ends}) CHECK_FALSE(both.view->is_shown(entity));
    for (const EntityId entity : {comes, next, stays, turns}) CHECK(both.view->is_shown(entity));
    CHECK(std::none_of(presented.shown.begin(), presented.shown.end(),
                       [&](const auto& one) { return one.first == turns; }));
    CHECK(presented.changes_of[stays] == 1);
    CHECK(presented.changes_of[turns] == 0);
    CHECK(presented.changes_of[comes] == presented.changes_of[next]);
    CHECK(presented.changes_of[next] > 0);
    // Changes of a hidden entity are reported when it is shown again.
    presented.changes_of.clear();
    world.edit(leaves, body)->hp = 8;
    both.world.step();
    both.step();
    CHECK(presented.changes_of[leaves] == 0);
    CHECK(world.move(leaves, {12, 10, 0}) == Status::ok);
    both.step();
    CHECK(presented.changes_of[leaves] == 2);  // its position, too
}

TEST_CASE("host view: a second update() after a tick does nothing") {
    Beside both(1);
    both.put({10, 10, 0});
    const EntityId animal = both.world.spawn({12, 10, 0});
    both.step();
    const auto shown = both.presented.shown;
    const auto changes = both.presented.changes_of;
    CHECK(both.presented.changes_of[animal] > 0);
    both.view->update();
    CHECK(both.presented.shown == shown);
    CHECK(both.presented.changes_of == changes);
}

TEST_CASE("host view: with skipped updates the shown set equals the last relevant set") {
    Beside both(1);
    CallWorld& world = both.world;
    Server& server = world.server();
    const ObserverId local = both.view->observer();
    SplitMix random(7);
    const auto anywhere = [&] {
        return Vec3{static_cast<float>(random.below(300)), static_cast<float>(random.below(40)), 0};
    };
    std::vector<EntityId> animals;
    while (animals.size() < 40) animals.push_back(world.spawn(anywhere()));
    both.step();
    both.presented.shown.clear();
    both.presented.hidden.clear();
    std::map<EntityId, int> balance;
    server.visibility().for_each_relevant(local, [&](EntityId entity) { balance[entity] = 1; });
    std::size_t left_out = 0;
    for (int tick = 0; tick < 400; ++tick) {
        if (random.below(8) == 0) both.put(anywhere());
        for (EntityId& animal : animals) {
            const std::uint32_t what = random.below(40);
            if (what == 0) {
                CHECK(server.world().despawn(animal) == Status::ok);
                animal = world.spawn(anywhere());
            } else if (what == 1) {
                CHECK(server.world().move(animal, anywhere()) == Status::ok);
            } else if (what == 2) {
                CHECK(server.visibility().deny(local, animal, random.below(2) == 0) == Status::ok);
            }
        }
        world.step();
        if (random.below(2) == 0) {
            ++left_out;
            continue;
        }
        std::vector<EntityId> relevant;
        server.visibility().relevant(local, relevant);
        both.view->update();
        for (const auto& [entity, reason] : both.presented.shown) CHECK(++balance[entity] == 1);
        for (const auto& [entity, reason] : both.presented.hidden) CHECK(--balance[entity] == 0);
        both.presented.shown.clear();
        both.presented.hidden.clear();
        for (const EntityId entity : relevant) REQUIRE(both.view->is_shown(entity));
        for (const EntityId animal : animals)
            REQUIRE(both.view->is_shown(animal) == server.visibility().is_relevant(local, animal));
    }
    CHECK(left_out > 100);
}

TEST_CASE("host view: entities of the local player have no owner after the view ends (M8)") {
    Beside both(1);
    Server& server = both.world.server();
    const EntityId theirs = both.world.spawn({10, 10, 0});
    CHECK(server.world().set_owner(theirs, both.world.observer(0)) == Status::ok);
    both.put({250, 10, 0});
    both.step();
    CHECK(server.visibility().is_relevant(both.world.observer(0), theirs));
    CHECK(server.world().set_owner(theirs, both.view->observer()) == Status::ok);
    both.view.reset();
    both.world.step();
    CHECK_FALSE(server.visibility().is_relevant(both.world.observer(0), theirs));
}

TEST_CASE("host view: destroying it ends its enters and drops its queued RPCs") {
    Beside both(1);
    Server& server = both.world.server();
    both.put({10, 10, 0});
    const EntityId near = both.world.spawn({12, 10, 0}), far = both.world.spawn({250, 10, 0});
    both.step();
    const Rpc<Ping> hold = both.world.schema().ping(RpcDelivery::reliable_ordered, RpcPolicy::hold);
    CHECK(server.call({.entity = far}, hold, Ping{0, 1}));
    both.step();
    REQUIRE(server.rpc_reports().size() == 1);
    CHECK(server.rpc_reports()[0].held == 2);
    const ObserverId gone = both.view->observer();
    const std::uint64_t enters = server.stats().enters, leaves = server.stats().leaves;
    both.view.reset();
    CHECK(server.world().despawn(near) == Status::ok);  // the event still has its kind
    CHECK(server.call({.only = gone}, both.world.schema().news[2], Ping{}).error() ==
          Status::stale_id);
    both.world.step();
    std::map<EntityId, ServerEvent> ended;
    for (const ServerEvent& event : server.events()) {
        if (event.observer == gone) CHECK(ended.emplace(event.entity, event).second);
    }
    CHECK(ended.count(near) == 1);
    CHECK(ended.count(far) == 0);
    CHECK(ended.size() >= 2);
    for (const auto& [entity, event] : ended) {
        CHECK(event.is_leave());
        CHECK(event.reason == Reason::disconnected);
    }
    CHECK(ended.at(near).kind == both.world.schema().animal);
    CHECK(server.stats().enters == enters);
    CHECK(server.stats().leaves == leaves + ended.size() + 1);  // `near` left both observers
    both.world.run(both.world.schema().hold_ticks + 2);
    for (const RpcLateCull& late : both.world.late) CHECK(late.culled.observer != gone);
    CHECK(both.world.late.size() == 1);
}

}  // namespace purview::test
