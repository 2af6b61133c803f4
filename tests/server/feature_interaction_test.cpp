// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Interactions of two features: the guarantees of each still hold.
#include <deque>
#include <functional>
#include <type_traits>
#include <utility>

#include "core/internal_access.hpp"
#include "purview/host_view.hpp"
#include "purview/limits.hpp"
#include "support/sanitized.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct BodyHealth {
    std::uint16_t hp = 0;
};
struct Secret {
    std::uint16_t ammo = 0;
};
struct Text {
    char a[31] = {};
    char b[31] = {};
};

struct FieldSchema {
    FieldSchema() {
        position = add_position(schema, 0, 1024);
        body = schema.component<BodyHealth>("body").integer("hp", &BodyHealth::hp, 0, 1000);
        secret = schema.component<Secret>("secret").integer("ammo", &Secret::ammo, 0, 1000);
        schema.audience(secret.id, {.type = AudienceType::owner});
        walker = schema.kind("walker", {position.id, body.id});
        soldier = schema.kind("soldier", {position.id, body.id, secret.id});
        boat = schema.kind("boat", {position.id});
        schema.edit_kind(boat).relative_position = true;
        def.rules.max = {1024, 1024, 0};
        REQUIRE(schema.problem().empty());
    }
    static NodeDef near(float range) {
        NodeDef node;
        node.name = "near";
        node.add(within(range));
        return node;
    }
    Schema schema;
    Component<Position> position;
    Component<BodyHealth> body;
    Component<Secret> secret;
    KindId walker{}, soldier{}, boat{};
    ServerDef def;
};

/// Which functions that change relevance a type has.
template <class T>
struct Calls {
    static constexpr bool spawn = requires(T & t, EntityDef def) { t.spawn(def); };
    static constexpr bool despawn = requires(T & t, EntityId e) { t.despawn(e); };
    static constexpr bool move = requires(T & t, EntityId e) { t.move(e, Vec3{}); };
    static constexpr bool move_columns = requires(T & t, PositionColumns c) { t.move(c); };
    static constexpr bool set_flag = requires(T & t, EntityId e) { t.set_flag(e, FlagId{}, true); };
    static constexpr bool set_entity_key = requires(T & t, EntityId e) {
        t.set_key(e, KeyId{}, Key{});
    };
    static constexpr bool set_value = requires(T & t, EntityId e) {
        t.set_value(e, ValueId{}, 1.0F);
    };
    static constexpr bool set_owner = requires(T & t, EntityId e, ObserverId o) {
        t.set_owner(e, o);
    };
    static constexpr bool set_group_radius = requires(T & t, EntityId e) {
        t.set_group_radius(e, 1.0F);
    };
    static constexpr bool attach = requires(T & t, EntityId e) { t.attach(e, e); };
    static constexpr bool detach = requires(T & t, EntityId e, EntityDef def) { t.detach(e, def); };
    static constexpr bool add_observer = requires(T & t) { t.add_observer(); };
    static constexpr bool remove_observer = requires(T & t, ObserverId o) { t.remove_observer(o); };
    static constexpr bool set_rules = requires(T & t, Rules rules) { t.set_rules(rules); };
    static constexpr bool set_level = requires(T & t) { t.set_level(InterestLevel::none); };
    static constexpr bool tick = requires(T & t) { t.tick(); };
};

/// A game with callbacks that the test sets.
class RecordingGame final : public Game {
  public:
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest&) override {
        observers.push_back(observer);
        if (on_joined) on_joined(server);
        return EntityId::none;
    }
    void on_leave(Server& server, ObserverId observer) override {
        left_ones.push_back(observer);
        if (on_left) on_left(server, observer);
    }
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}

    std::function<void(Server&)> on_joined;
    std::function<void(Server&, ObserverId)> on_left;
    std::vector<ObserverId> observers, left_ones;
};

struct Party {
    explicit Party(std::uint32_t count) {
        setup.def.schema = &setup.schema;
        setup.def.mac = &test_mac;
        setup.def.secret = test_secret;
        make_server();
        for (std::uint32_t i = 0; i < count; ++i) {
            ClientDef client;
            client.nonce = 500 + i;
            clients.push_back(std::make_unique<Client>(client));
        }
    }
    /// Creates the server from the current definition.
    void make_server() {
        auto made = Server::create(setup.def, game);
        REQUIRE(made);
        server = std::make_unique<Server>(std::move(made).value());
    }
    /// `early`: the receive time of datagrams is this much later than the time of the tick that
    /// reads them.
    void step(std::uint32_t ticks, Micros early = 0) {
        for (std::uint32_t t = 0; t < ticks; ++t) {
            now += 50'000;
            for (std::size_t i = 0; i < clients.size(); ++i) {
                clients[i]->tick(now);
                std::span<const std::byte> out;
                Address from;
                from.carrier = Address::Carrier::memory;
                from.port = static_cast<std::uint16_t>(i + 1);
                while (clients[i]->next_datagram(out)) server->receive(out, from, now + early);
            }
            server->tick(now);
            OutgoingDatagram out;
            while (server->next_datagram(out)) clients[out.to.port - 1U]->receive(out.bytes, now);
        }
    }
    FieldSchema setup;
    RecordingGame game;
    std::unique_ptr<Server> server;
    std::vector<std::unique_ptr<Client>> clients;
    Micros now = 1'000'000;
};

}  // namespace

TEST_CASE("replication: a client stays within 256 ticks of an idle server for an hour") {
    const FieldSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId entity = stage.spawn(setup.walker, {10, 10, 0});
    for (const std::uint32_t every : {1U, 3U}) {
        stage.clients_every = every;
        for (std::uint32_t i = 0; i < unless_sanitized(700U, 40U); ++i) {
            stage.step(101);
            REQUIRE(stage.server->current_tick() - stage.client().newest_tick() <= 256);
        }
    }
    stage.world().edit(entity, setup.body)->hp = 7;
    stage.step(4);
    CHECK(stage.client().newest_tick() + 4 >= stage.server->current_tick());
    CHECK(stage.client().value_of(stage.ghost(0, entity), setup.body.id, 0) == 7);
}

TEST_CASE("replication: parent and child may swap roles, whichever has the lower local id") {
    for (const bool is_swapped : {false, true}) {
        const FieldSchema setup;
        Stage stage(setup.schema, 1, setup.def);
        const EntityId first = stage.spawn(setup.boat, {10, 10, 0});
        const EntityId second = stage.spawn(setup.boat, {20, 20, 0});
        const EntityId a = is_swapped ? second : first, b = is_swapped ? first : second;
        CHECK(stage.world().attach(a, b) == Status::ok);
        stage.step(5);
        CHECK(stage.world().detach(a) == Status::ok);
        CHECK(stage.world().attach(b, a) == Status::ok);
        for (int i = 0; i < 3; ++i) {
            stage.step();
            const GhostId above = stage.ghost(0, a), below = stage.ghost(0, b);
            CHECK(stage.client().parent_of(below) == above);
            CHECK(stage.client().parent_of(above) == GhostId::none);
            const Tick now = stage.client().newest_tick();
            for (const EntityId one : {a, b}) {
                const Vec3 actual = stage.world().position_of(one);
                const Vec3 shown = stage.client().position_of(stage.ghost(0, one), now);
                CHECK(std::abs(shown.x - actual.x) < 0.1F);
                CHECK(std::abs(shown.y - actual.y) < 0.1F);
            }
        }
    }
}

TEST_CASE("server: the game may close other sessions in left()") {
    Party party(6);
    party.step(20);
    REQUIRE(party.game.observers.size() == 6);
    party.game.on_left = [&](Server& server, ObserverId observer) {
        if (observer != party.game.observers[0]) return;
        for (std::size_t i = 1; i < 5; ++i)
            (void)server.close(party.game.observers[i], CloseReason::kicked);
    };
    CHECK(party.server->close(party.game.observers[0], CloseReason::kicked) == Status::ok);
    CHECK(party.server->close(party.game.observers[5], CloseReason::kicked) == Status::ok);
    party.step(5);
    CHECK(party.game.left_ones.size() == 6);
    for (const ObserverId observer : party.game.observers)
        CHECK_FALSE(party.server->visibility().is_ready(observer));
    CHECK(party.server->stats().sessions == 0);
}

TEST_CASE("server: the game may shut down the server in joined()") {
    Party party(1);
    party.game.on_joined = [](Server& server) { server.shut_down(); };
    party.step(20);
    CHECK(party.server->stats().sessions == 0);
    CHECK(party.game.observers.size() == 1);
    CHECK(party.game.left_ones == party.game.observers);
}

TEST_CASE("server: datagrams may have a later receive time than the tick that reads them") {
    for (const Micros early : {Micros{1}, Micros{10'000}}) {
        Party party(1);
        party.step(20, early);
        CHECK(party.game.observers.size() == 1);
        CHECK(party.clients[0]->state() == ClientState::joined);
    }
}

TEST_CASE("interest: an observer id is never reused") {
    InterestManager interest{Rules{}};
    std::vector<ObserverId> seen;
    for (int i = 0; i < 10'000; ++i) {
        const ObserverId observer = interest.add_observer({.is_ready = false});
        REQUIRE(observer != ObserverId::none);
        seen.push_back(observer);
        CHECK(interest.remove_observer(observer) == Status::ok);
        interest.tick();
    }
    std::sort(seen.begin(), seen.end());
    CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

TEST_CASE("server: an observer is removed only by closing its session, with a reason") {
    const FieldSchema setup;
    Stage stage(setup.schema, 2);
    const EntityId secret = stage.spawn(setup.walker);
    stage.step(3);
    static_assert(Calls<InterestManager>::remove_observer && !Calls<Visibility>::remove_observer);
    static_assert(Calls<InterestManager>::add_observer && !Calls<Visibility>::add_observer);
    // The observer still exists, so a newly hidden entity leaves.
    CHECK(stage.visibility().set_hidden(secret, true) == Status::ok);
    stage.step(3);
    CHECK(stage.ghost(0, secret) == GhostId::none);
    for (const CloseReason none : {CloseReason::none, CloseReason{99}})
        CHECK(stage.server->close(stage.observers[0], none) == Status::bad_argument);
    CHECK(stage.client().state() == ClientState::joined);
    CHECK(stage.server->close(stage.observers[0], CloseReason::kicked) == Status::ok);
    stage.step(2);
    CHECK(stage.client().state() == ClientState::closed);
    CHECK(stage.client().close_reason() == CloseReason::kicked);
    CHECK(stage.visibility().set_ready(stage.observers[0], true) == Status::stale_id);
}

TEST_CASE("server: the game cannot change the interest data that the world provides") {
    // `Visibility`, which the game gets, does not have these functions.
    static_assert(std::is_same_v<decltype(std::declval<Server&>().visibility()), Visibility&>);
    using Own = Calls<InterestManager>;
    using Given = Calls<Visibility>;
    static_assert(Own::spawn && !Given::spawn);
    static_assert(Own::despawn && !Given::despawn);
    static_assert(Own::move && !Given::move);
    static_assert(Own::move_columns && !Given::move_columns);
    static_assert(Own::set_flag && !Given::set_flag);
    static_assert(Own::set_entity_key && !Given::set_entity_key);
    static_assert(Own::set_value && !Given::set_value);
    static_assert(Own::set_owner && !Given::set_owner);
    static_assert(Own::set_group_radius && !Given::set_group_radius);
    static_assert(Own::attach && !Given::attach);
    static_assert(Own::detach && !Given::detach);
    static_assert(Own::set_rules && !Given::set_rules);
    static_assert(Own::set_level && !Given::set_level);
    static_assert(Own::tick && !Given::tick);
    static_assert(!std::is_constructible_v<InterestManager, Visibility&&>);
    static_assert(!std::is_move_assignable_v<Visibility>);
    const FieldSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId thing = stage.spawn(setup.walker), other = stage.spawn(setup.walker);
    stage.step(4);
    REQUIRE(stage.ghost(0, thing) != GhostId::none);
    CHECK(stage.visibility().deny(stage.observers[0], thing, true) == Status::ok);
    stage.step(2);
    CHECK(stage.ghost(0, thing) == GhostId::none);
    CHECK(stage.ghost(0, other) != GhostId::none);
}

TEST_CASE("server: a nested tick() does nothing") {
    static int asserted;
    asserted = 0;
    const AssertHandler old = set_assert_handler([](const char*, const char*, int) { ++asserted; });
    struct Nested final : Game {
        std::optional<EntityId> on_join(Server&, ObserverId, const JoinRequest&) override {
            return std::nullopt;
        }
        void on_leave(Server&, ObserverId) override {}
        void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
        void on_tick(Server& server, Tick) override {
            if (++simulated == 1) server.tick(1);
        }
        int simulated = 0;
    } game;
    const FieldSchema setup;
    ServerDef def = setup.def;
    def.schema = &setup.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    auto server = std::move(Server::create(def, game)).value();
    server.tick(1);
    CHECK(server.current_tick() == 1);
    CHECK(game.simulated == 1);
    set_assert_handler(old);
#if !defined(NDEBUG) || defined(PURVIEW_ASSERTS)
    CHECK(asserted == 1);
#endif
}

TEST_CASE("server: a hidden entity that is given to a closed observer is visible to none") {
    const FieldSchema setup;
    Stage stage(setup.schema, 2, setup.def);
    const EntityId crate = stage.spawn(setup.walker);
    const ObserverId gone = stage.observers[1];
    CHECK(stage.world().set_owner(crate, stage.observers[0]) == Status::ok);
    CHECK(stage.visibility().set_hidden(crate, true) == Status::ok);
    stage.step(3);
    CHECK(stage.ghost(0, crate) != GhostId::none);  // only its owner sees it
    CHECK(stage.server->close(gone, CloseReason::kicked) == Status::ok);
    SUBCASE("in the tick of the disconnect") {}
    SUBCASE("later") {
        stage.step(3);
    }
    CHECK(stage.world().set_owner(crate, gone) == Status::ok);
    stage.step(3);
    CHECK(stage.world().owner_of(crate) == gone);
    CHECK(stage.ghost(0, crate) == GhostId::none);
    CHECK(stage.world().set_owner(crate, stage.observers[0]) == Status::ok);
    stage.step(3);
    CHECK(stage.ghost(0, crate) != GhostId::none);
}

TEST_CASE("server: a group despawned in one tick leaves; reused indices can be hidden") {
    const FieldSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    World& world = stage.world();
    const EntityId root = stage.spawn(setup.walker), member = stage.spawn(setup.walker);
    CHECK(world.attach(member, root) == Status::ok);
    stage.step(3);
    CHECK(stage.ghost(0, root) != GhostId::none);
    world.edit(member, setup.position)->at.x = NAN;
    CHECK(world.despawn(root) == Status::ok);
    CHECK(world.despawn(member) == Status::ok);
    stage.step(3);
    CHECK(stage.ghost(0, root) == GhostId::none);
    CHECK(stage.ghost(0, member) == GhostId::none);
    for (int i = 0; i < 2; ++i) {
        const EntityId next = stage.spawn(setup.walker);
        CHECK((index_of(next) == index_of(root) || index_of(next) == index_of(member)));
        CHECK(stage.visibility().set_hidden(next, true) == Status::ok);
        stage.step(3);
        CHECK(stage.ghost(0, next) == GhostId::none);
    }
}

TEST_CASE("server: a message to a closing session or a reference client is refused") {
    const FieldSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const std::array<std::byte, 3> message{};
    const auto probe = stage.server->add_reference_client();
    REQUIRE(probe);
    CHECK(stage.server->send_message(*probe, message) == Status::stale_id);
    CHECK(stage.server->send_message(stage.observers[0], message) == Status::ok);
    CHECK(stage.server->close(stage.observers[0], CloseReason::kicked) == Status::ok);
    CHECK(stage.server->send_message(stage.observers[0], message) == Status::stale_id);
}

TEST_CASE("server: a closed client receives the first reason, and a second close is refused") {
    const FieldSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const auto close = [&](CloseReason reason, std::string_view text) {
        return stage.server->close(stage.observers[0], reason, text);
    };
    CHECK(close(CloseReason::kicked, "too loud") == Status::ok);
    CHECK(close(CloseReason::malformed, "too late") == Status::stale_id);
    stage.step();
    CHECK(close(CloseReason::malformed, "too late") == Status::stale_id);
    CHECK(stage.client().close_reason() == CloseReason::kicked);
    CHECK(stage.client().reason_text() == "too loud");
    const auto probe = stage.server->add_reference_client();
    REQUIRE(probe);
    CHECK(stage.server->close(*probe, CloseReason::kicked) == Status::stale_id);
}

TEST_CASE("server: closing a session reports a leave for every entered entity") {
    const FieldSchema setup;
    Stage stage(setup.schema, 2, setup.def);
    for (int i = 0; i < 3; ++i) stage.spawn(setup.walker, {10, 10, 0});
    std::uint32_t entered = 0, left = 0;
    const auto step = [&] {
        stage.step();
        for (const ServerEvent& event : stage.server->events()) {
            if (event.observer != stage.observers[1]) continue;
            entered += event.is_enter() ? 1 : 0;
            left += event.is_leave() ? 1 : 0;
            if (event.is_leave()) CHECK(event.reason == Reason::disconnected);
        }
    };
    step();
    CHECK(stage.server->close(stage.observers[1], CloseReason::kicked) == Status::ok);
    for (int i = 0; i < 3; ++i) step();
    CHECK(entered == 3);
    CHECK(left == 3);
}

TEST_CASE("server: rules without node settings undo the earlier ones for present entities") {
    FieldSchema setup;
    setup.def.rules.nodes = {FieldSchema::near(500)};
    setup.def.rules.nodes[0].replication.every_ticks = 20;
    setup.def.rules.nodes[0].replication.leave = Retention::freeze;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId me = stage.spawn(setup.walker, {100, 100, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    const EntityId entity = stage.spawn(setup.walker, {120, 100, 0});
    stage.step(20);
    std::uint16_t value = 0;
    const auto updates_in = [&](std::uint32_t ticks) {
        std::uint32_t updates = 0;
        for (std::uint32_t i = 0; i < ticks; ++i) {
            const Tick before = stage.client().updated_of(stage.ghost(0, entity));
            stage.world().edit(entity, setup.body)->hp = static_cast<std::uint16_t>(++value % 1000);
            stage.step();
            updates += stage.client().updated_of(stage.ghost(0, entity)) != before ? 1 : 0;
        }
        return updates;
    };
    CHECK(updates_in(100) == 5);
    Rules rules = stage.server->rules();
    rules.nodes[0].replication = {};
    CHECK(stage.server->set_rules(rules) == "");
    CHECK(updates_in(100) == 100);
    (void)stage.changes();
    CHECK(stage.world().move(entity, {900, 900, 0}) == Status::ok);
    stage.step(3);
    CHECK(stage.changes() == "left");
}

TEST_CASE("replication: a node's retention applies at each leave of an entity (N43)") {
    FieldSchema setup;
    setup.def.rules.nodes = {FieldSchema::near(50)};
    setup.def.rules.nodes[0].replication.leave = Retention::freeze;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId me = stage.spawn(setup.walker, {100, 100, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    CHECK(stage.world().set_owner(me, stage.observers[0]) == Status::ok);
    const EntityId entity = stage.spawn(setup.walker, {120, 100, 0});
    stage.step(20);
    (void)stage.changes();
    for (int round = 0; round < 12; ++round) {
        CAPTURE(round);
        CHECK(stage.world().move(entity, {300, 100, 0}) == Status::ok);
        stage.step(3);
        CHECK(stage.changes() == "retained");
        CHECK(stage.world().move(entity, {120, 100, 0}) == Status::ok);
        stage.step(3);
        CHECK(stage.changes() == "resumed");
    }
}

TEST_CASE("replication: a ghost with unlimited retention stays retained (F19)") {
    FieldSchema setup;
    setup.schema.edit_kind(setup.walker).leave = Retention::freeze;
    setup.schema.edit_kind(setup.walker).retention_ticks = ~0U;
    setup.def.rules.nodes = {FieldSchema::near(50)};
    Stage stage(setup.schema, 1, setup.def);
    const EntityId me = stage.spawn(setup.walker, {100, 100, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    const EntityId entity = stage.spawn(setup.walker, {120, 100, 0});
    stage.step(20);
    (void)stage.changes();
    CHECK(stage.world().move(entity, {300, 100, 0}) == Status::ok);
    stage.step(50);
    CHECK(stage.changes() == "retained");
}

TEST_CASE("replication: staged components arrive after a lost enter and a brief child") {
    for (const bool has_child : {false, true}) {
        Schema schema;
        const auto position = add_position(schema, -1024, 1024);
        std::vector<ComponentId> parts{position.id};
        for (int i = 0; i < 4; ++i) {
            const ComponentId book = schema.component<Text>("book" + std::to_string(i))
                                         .text("a", &Text::a)
                                         .text("b", &Text::b)
                                         .id();
            schema.audience(book, {.type = AudienceType::staged});
            parts.push_back(book);
        }
        const KindId shelf = schema.kind("shelf", parts), cup = schema.kind("cup", {position.id});
        ServerDef def;
        def.budget_bytes_per_tick = 200;
        Stage stage(schema, 1, def);
        stage.step(30);
        const EntityId entity = stage.spawn(shelf, {1, 1, 0});
        stage.loses_all_to = 0;
        stage.step();
        stage.loses_all_to = 99;
        for (std::size_t p = 1; p < parts.size(); ++p)
            stage.world().edit(entity, Component<Text>{parts[p]})->a[0] = 'x';
        if (has_child) {
            const EntityId child = stage.spawn(cup, {1, 1, 0});
            CHECK(stage.world().attach(child, entity) == Status::ok);
            stage.step();
            CHECK(stage.world().despawn(child) == Status::ok);
        }
        stage.step(50);
        CHECK(stage.client().ghost_count() == 1);
    }
}

TEST_CASE("rpc: an RPC that fits into no packet is refused when the server is created") {
    FieldSchema setup;
    RpcDesc desc;
    desc.target = RpcTarget::none;
    struct Letter {
        char a[31] = {}, b[31] = {}, c[31] = {};
    };
    (void)setup.schema.rpc<Letter>("letter", desc)
        .text("a", &Letter::a)
        .text("b", &Letter::b)
        .text("c", &Letter::c);
    setup.def.schema = &setup.schema;
    setup.def.mac = &test_mac;
    setup.def.secret = test_secret;
    RecordingGame game;
    setup.def.budget_bytes_per_tick = 4'800;
    CHECK(Server::create(setup.def, game).has_value());
    setup.def.budget_bytes_per_tick = 128;
    CHECK(Server::create(setup.def, game).error() == Status::too_large);
}

TEST_CASE("rpc: RPCs that are queued for a client end with its session") {
    Party party(2);
    RpcDesc desc;
    desc.policy = RpcPolicy::hold;
    desc.hold_ticks = 400;
    const Rpc<BodyHealth> rpc =
        party.setup.schema.rpc<BodyHealth>("wait", desc).integer("hp", &BodyHealth::hp, 0, 1000);
    party.setup.def.rules.kinds.resize(3);
    for (auto& kind : party.setup.def.rules.kinds) kind.mode = EntityMode::explicit_only;
    party.make_server();
    party.step(10);
    REQUIRE(party.game.observers.size() == 2);
    const EntityId entity =
        party.server->world().spawn({.kind = party.setup.walker, .position = {1, 1, 0}});
    party.step(2);
    party.clients[0]->leave();
    party.step(3);
    for (std::uint32_t i = 0; i < limits::rpc_queued_per_entity; ++i)
        (void)party.server->call({.entity = entity}, rpc, BodyHealth{});
    party.step(1);
    CHECK(party.server->close(party.game.observers[1], CloseReason::kicked) == Status::ok);
    party.step(3);
    CHECK(internal(*party.server).calls.held().empty());
    CHECK(internal(*party.server).calls.held_pairs() == 0);
    for (int i = 0; i < 420; ++i) {
        party.step(1);
        CHECK(party.server->rpc_late_culls().empty());
    }
}

TEST_CASE("server: the game may add reference clients in joined()") {
    Party party(40);
    std::uint32_t probes = 0;
    party.game.on_joined = [&](Server& server) {
        for (int i = 0; i < 3; ++i) probes += server.add_reference_client() ? 1 : 0;
    };
    party.setup.def.sessions_per_host_max = 100;
    party.make_server();
    party.step(20);
    CHECK(party.game.observers.size() == 40);
    CHECK(probes == 120);
    CHECK(internal(*party.server).sessions.size() == 160);
}

TEST_CASE("replication: the client's tick advances while messages exceed the byte budget") {
    Party party(1);
    party.setup.def.budget_bytes_per_tick = 200;
    party.make_server();
    party.step(20);
    REQUIRE(party.game.observers.size() == 1);
    const std::vector<std::byte> letter(1'000);
    for (int i = 0; i < 600; ++i) {
        (void)party.server->send_message(party.game.observers[0], letter);
        party.step(1);
        // One more before the first snapshot, because the client counts from the join until then.
        REQUIRE(party.server->current_tick() - party.clients[0]->newest_tick() <= 256 + 1);
    }
}

TEST_CASE("replication: a delayed acknowledgement never counts for a newer tick") {
    Party party(1);
    party.step(20);
    REQUIRE(party.game.observers.size() == 1);
    Server& server = *party.server;
    const Session& session = *internal(server).sessions[0];
    std::vector<EntityId> crowd;
    for (int i = 0; i < 2'000; ++i)
        crowd.push_back(server.world().spawn({.kind = party.setup.walker, .position = {1, 1, 0}}));
    struct StepResult {
        std::vector<std::byte> bytes;
        Tick tick;
    };
    std::deque<StepResult> in_flight;
    Tick received = server.current_tick();
    std::uint32_t packets_max = 0;
    for (Tick late = 0; late < 300; ++late) {
        for (const EntityId entity : crowd)
            server.world().edit(entity, party.setup.body)->hp = static_cast<std::uint16_t>(late);
        party.now += 50'000;
        party.clients[0]->tick(party.now);
        std::span<const std::byte> out;
        while (party.clients[0]->next_datagram(out))
            in_flight.push_back({{out.begin(), out.end()}, server.current_tick()});
        while (!in_flight.empty() && in_flight.front().tick + 100 <= server.current_tick()) {
            received = in_flight.front().tick;
            server.receive(in_flight.front().bytes, session.address, party.now);
            in_flight.pop_front();
        }
        REQUIRE(session.arrival.delivered_tick <= received);
        packets_max = std::max(packets_max, session.link.next_sequence() - session.link.resolved());
        server.tick(party.now);
        OutgoingDatagram to;
        while (server.next_datagram(to)) party.clients[0]->receive(to.bytes, party.now);
    }
    CHECK(packets_max > 400);
}

TEST_CASE("replication: the initial view is complete although entities come and go") {
    FieldSchema setup;
    setup.def.budget_bytes_per_tick = 128;
    setup.def.rules.kinds.resize(3);
    for (auto& kind : setup.def.rules.kinds) kind.mode = EntityMode::explicit_only;
    Party party(1);
    party.setup.def.budget_bytes_per_tick = 128;
    party.setup.def.rules.kinds = setup.def.rules.kinds;
    party.make_server();
    Server& server = *party.server;
    std::vector<EntityId> crowd;
    for (int i = 0; i < 200; ++i)
        crowd.push_back(server.world().spawn({.kind = party.setup.walker, .position = {1, 1, 0}}));
    party.game.on_joined = [&](Server& its) {
        for (const EntityId entity : crowd)
            (void)its.visibility().allow(party.game.observers[0], entity, true);
    };
    for (std::uint32_t i = 0; i < 200 && !party.clients[0]->is_view_complete(); ++i) {
        if (!party.game.observers.empty()) {  // one short-lived entity per tick
            (void)server.world().despawn(crowd.back());
            crowd.back() =
                server.world().spawn({.kind = party.setup.walker, .position = {1, 1, 0}});
            (void)server.visibility().allow(party.game.observers[0], crowd.back(), true);
            for (std::size_t k = 0; k < 100; ++k)
                server.world().edit(crowd[k], party.setup.body)->hp =
                    static_cast<std::uint16_t>((i * 7 + k) % 1000);
        }
        party.step(1);
    }
    CHECK(party.clients[0]->is_view_complete());
}

TEST_CASE("host view: the local player gets no components for others (M25 F22 F24)") {
    const FieldSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    struct Presented final : HostPresentation {
        void show(EntityId, Reason) override { text += "show "; }
        void hide(EntityId, Reason) override { text += "hide "; }
        void changed(EntityId, ComponentId component) override {
            text += std::to_string(index_of(component)) + " ";
        }
        std::string take() { return std::exchange(text, ""); }
        std::string text;
    } presented;
    auto made = HostView::create(*stage.server, presented);
    REQUIRE(made);
    const EntityId entity = stage.spawn(setup.soldier, {10, 10, 0});
    CHECK(stage.world().set_owner(entity, stage.observers[0]) == Status::ok);
    const auto step = [&] {
        stage.step();
        made->update();
    };
    step();
    CHECK(presented.take() == "show 0 1 ");
    stage.world().edit(entity, setup.secret)->ammo = 9;
    step();
    CHECK(presented.take() == "");
    stage.world().edit(entity, setup.secret)->ammo = 10;
    stage.world().edit(entity, setup.body)->hp = 10;
    step();
    CHECK(presented.take() == "1 ");
    CHECK(stage.world().set_owner(entity, made->observer()) == Status::ok);
    step();
    CHECK(presented.take() == "2 ");  // once, for all changes that it missed
    step();
    CHECK(presented.take() == "");
    // A component that becomes visible is reported as changed, even if it did not change meanwhile.
    for (int i = 0; i < 2; ++i) {
        CHECK(stage.world().set_owner(entity, stage.observers[0]) == Status::ok);
        step();
        CHECK(presented.take() == "");
        CHECK(stage.world().set_owner(entity, made->observer()) == Status::ok);
        step();
        CHECK(presented.take() == "2 ");
    }
}

TEST_CASE("host view: the local player gets parents before children (M25 O1)") {
    const FieldSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    struct Presented final : HostPresentation {
        void show(EntityId entity, Reason) override { shown.push_back(entity); }
        void hide(EntityId, Reason) override {}
        void changed(EntityId, ComponentId) override {}
        std::vector<EntityId> shown;
    } presented;
    auto made = HostView::create(*stage.server, presented);
    REQUIRE(made);
    const EntityId crate = stage.spawn(setup.boat, {10, 10, 0});
    const EntityId deck = stage.spawn(setup.boat, {10, 10, 0});
    const EntityId ship = stage.spawn(setup.boat, {10, 10, 0});
    CHECK(stage.world().attach(deck, ship) == Status::ok);
    CHECK(stage.world().attach(crate, deck) == Status::ok);
    stage.step();
    made->update();
    CHECK(presented.shown == std::vector<EntityId>{ship, deck, crate});
}

TEST_CASE("shared cells: the member map is sent until it is acknowledged, and no longer") {
    // Either no packet arrives for a while, or acknowledgements are late by more than 64 packets.
    for (const std::uint32_t clients_every : {1U, 80U}) {
        Schema schema;  // without audiences: shared cell payloads allow none
        const auto position = add_position(schema, 0, 1024);
        const Component<BodyHealth> body =
            schema.component<BodyHealth>("body").integer("hp", &BodyHealth::hp, 0, 1000);
        const KindId walker = schema.kind("walker", {position.id, body.id});
        ServerDef def;
        def.rules.max = {1024, 1024, 0};
        NodeDef street;
        street.name = "street";
        street.payload = Payload::update_many;
        street.add(cells(64, 64, 1));
        def.rules.nodes = {street};
        Stage stage(schema, 1, def);
        const EntityId me = stage.spawn(walker, {500, 500, 0});
        CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
        std::vector<EntityId> crowd;
        for (int i = 0; i < 60; ++i)
            crowd.push_back(stage.spawn(
                walker, {500 + static_cast<float>(i % 8), 500 + static_cast<float>(i / 8), 0}));
        std::uint32_t round = 0;
        const auto bytes_of = [&](std::uint32_t ticks) {
            const std::uint64_t before = stage.bytes_to[0];
            for (std::uint32_t t = 0; t < ticks; ++t, ++round) {
                for (std::size_t i = 0; i < crowd.size(); i += 6)
                    stage.world().edit(crowd[i], body)->hp =
                        static_cast<std::uint16_t>((round * 13 + i) % 1000);
                stage.step();
            }
            return stage.bytes_to[0] - before;
        };
        (void)bytes_of(50);
        const std::uint64_t before = bytes_of(100);
        CHECK(stage.world().despawn(crowd[1]) == Status::ok);
        crowd[1] = stage.spawn(walker, {501, 501, 0});
        stage.clients_every = clients_every;
        stage.loses_all_to = clients_every == 1 ? 0 : 99;
        (void)bytes_of(80);
        stage.loses_all_to = 99;
        (void)bytes_of(100);
        stage.clients_every = 1;
        CHECK(bytes_of(100) <= before + before / 20);
    }
}

}  // namespace purview::test
