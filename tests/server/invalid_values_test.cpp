// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Invalid or extreme input of a game: positions that are not finite, owners that change while RPCs
// are in flight, groups with hidden members, configurations that cannot work.
#include <cmath>
#include <limits>

#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "idle_game.hpp"
#include "protocol/schema_access.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct Vest {
    std::uint16_t hp = 0;
    bool cloaked = false;
};

struct EdgeSchema {
    EdgeSchema() {
        position = add_position(schema, 0, 1024);
        vest = schema.component<Vest>("vest")
                   .integer("hp", &Vest::hp, 0, 1000)
                   .boolean("cloaked", &Vest::cloaked);
        cloaked = schema.flag("cloaked", vest.id, "cloaked");
        walker = schema.kind("walker", {position.id, vest.id});
        boat = schema.kind("boat", {position.id});
        schema.edit_kind(boat).relative_position = true;
        RpcDesc desc;
        desc.direction = RpcDirection::to_server;
        desc.callers = RpcCallers::owner;
        fire = schema.rpc<Vest>("fire", desc).integer("hp", &Vest::hp, 0, 1000);
        REQUIRE_MESSAGE(schema.problem().empty(), schema.problem());
        def.rules.max = {1024, 1024, 0};
    }
    Schema schema;
    Component<Position> position;
    Component<Vest> vest;
    FlagId cloaked{};
    KindId walker{}, boat{};
    Rpc<Vest> fire;
    ServerDef def;
};

bool is_at(Vec3 position, float x, float y) {
    return std::abs(position.x - x) < 0.1F && std::abs(position.y - y) < 0.1F;
}

}  // namespace

TEST_CASE("invalid values: a NaN position is reset, also in a group") {
    for (const bool is_child : {false, true}) {
        const EdgeSchema setup;
        Stage stage(setup.schema, 1, setup.def);
        const EntityId ship = stage.spawn(setup.boat, {100, 100, 0});
        const EntityId man = stage.spawn(setup.boat, {105, 100, 0});
        stage.step(3);
        stage.world().edit(is_child ? man : ship, setup.position)->at.x = not_a_number;
        CHECK(stage.world().attach(man, ship) == Status::ok);
        stage.step(3);
        CHECK(is_at(stage.world().local_position_of(man), 5, 0));
        CHECK(stage.world().move(ship, {200, 300, 0}) == Status::ok);
        stage.step(3);
        CHECK(is_at(stage.world().position_of(man), 205, 300));
        const Tick now = stage.client().newest_tick();
        CHECK(is_at(stage.client().position_of(stage.ghost(0, man), now), 205, 300));
        CHECK(stage.server->stats().bad_positions > 0);
    }
}

TEST_CASE("invalid values: an out-of-range value is sent as its limit, and counted once") {
    struct Mood {
        float warmth = 0;
        std::int16_t mood = 0;
        float free = 0;
    };
    Schema schema;
    const Component<Position> position = add_position(schema, -10, 10);
    const Component<Mood> body = schema.component<Mood>("body")
                                     .quantized("warmth", &Mood::warmth, {0, 1, 0.25})
                                     .integer("mood", &Mood::mood, -3, 3)
                                     .real("free", &Mood::free);
    const KindId kind = schema.kind("one", {position.id, body.id});
    Stage stage(schema, 1);
    const EntityId one = stage.spawn(kind, {10, -10.004F, 0});
    const EntityId other = stage.spawn(kind, {0, 0, 0});
    const auto edit = [&](EntityId entity) { return stage.world().edit(entity, body); };
    const auto counted = [&] {
        stage.step();
        return stage.server->stats().clamped_values;
    };
    edit(one)->warmth = 1.1F;  // rounding
    edit(one)->mood = -3;
    edit(one)->free = 1e30F;
    CHECK(counted() == 0);
    CHECK(stage.server->stats().clamped_entity == EntityId::none);
    CHECK(stage.world().move(other, {0, 11, 0}) == Status::ok);
    CHECK(counted() == 1);
    CHECK(stage.server->stats().clamped_entity == other);
    CHECK(stage.server->stats().clamped_component == position.id);
    CHECK(stage.world().move(other, {0, 12, 0}) == Status::ok);
    CHECK(counted() == 1);  // already counted
    CHECK(stage.world().move(other, {0, 0, 0}) == Status::ok);
    edit(one)->mood = 4;
    CHECK(counted() == 2);
    CHECK(stage.server->stats().clamped_entity == one);
    edit(one)->mood = 0;
    edit(one)->warmth = not_a_number;
    CHECK(counted() == 3);
    edit(other)->mood = -4;
    edit(other)->warmth = 2;
    CHECK(counted() == 5);
    CHECK(stage.server->stats().clamped_component == body.id);
    CHECK(stage.world().move(one, {0, 30, 0}) == Status::ok);
    stage.step(3);
    const Tick now = stage.client().newest_tick();
    CHECK(is_at(stage.client().position_of(stage.ghost(0, one), now), 0, 10));
}

TEST_CASE("invalid values: a local position that overflows in the world is refused") {
    const EdgeSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId ship = stage.spawn(setup.boat, {100, 100, 0});
    const EntityId man = stage.spawn(setup.boat, {105, 100, 0});
    CHECK(stage.world().attach(man, ship) == Status::ok);
    stage.step(3);
    CHECK(stage.world().move(ship, {3e38F, 100, 0}) == Status::ok);
    CHECK(stage.world().set_local_position(man, {3e38F, 0, 0}) == Status::bad_position);
    CHECK(stage.world().set_local_position(man, {2, 0, 0}) == Status::ok);
    CHECK(is_at(stage.world().local_position_of(man), 2, 0));
}

TEST_CASE("invalid values: a query at a position that is not finite returns nothing") {
    const EdgeSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId me = stage.spawn(setup.walker, {100, 100, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    stage.step(3);
    std::vector<ObserverId> observers;
    std::vector<EntityId> entities;
    for (const float bad : {not_a_number, std::numeric_limits<float>::infinity()}) {
        stage.visibility().observers_covering({bad, 0, 0}, observers);
        stage.visibility().entities_in({bad, bad, bad}, {1, 1, 1}, entities);
        stage.visibility().entities_in({0, 0, 0}, {bad, 1, 1}, entities);
    }
    CHECK(observers.empty());
    CHECK(entities.empty());
}

TEST_CASE("rpc: a client is not closed for RPCs on an entity that it owned a moment ago") {
    const EdgeSchema setup;
    Stage stage(setup.schema, 2, setup.def);
    const EntityId seat = stage.spawn(setup.walker, {1, 1, 0});
    CHECK(stage.world().set_owner(seat, stage.observers[0]) == Status::ok);
    stage.step(10);
    const GhostId ghost = stage.ghost(0, seat);
    // The RPCs arrive after the entity has another owner.
    for (int round = 0; round < 40; ++round) {
        CHECK(stage.world().set_owner(seat, stage.observers[0]) == Status::ok);
        stage.step(5);
        for (int i = 0; i < 5; ++i)
            CHECK(stage.client(0).call(setup.fire, ghost, Vest{}) == Status::ok);
        CHECK(stage.world().set_owner(seat, stage.observers[1]) == Status::ok);
        stage.step(2);
    }
    CHECK(stage.client(0).state() == ClientState::joined);
    CHECK(internal(*stage.server).calls.counters().refused_caller == 0);
    CHECK(internal(*stage.server).calls.counters().gone > 100);
    // After the window, an RPC of the former owner is no longer counted as `gone`.
    stage.step(limits::rpc_refused_window_s * ServerDef{}.tick_hz + 5);
    CHECK(stage.client(0).call(setup.fire, ghost, Vest{}) != Status::stale_id);
    stage.step(3);
    CHECK(internal(*stage.server).calls.counters().gone <= 40U * 5U);
}

TEST_CASE("groups: a denied member does not affect the packets about its group (O1 P14)") {
    // Sizes and hashes of all packets to a client, with or without a denied crate on the cart.
    const auto packets_for = [](bool has_crate, bool loses) {
        const EdgeSchema setup;
        Stage stage(setup.schema, 1, setup.def);
        stage.step(6);
        stage.clients_every = 6;
        const EntityId cart = stage.spawn(setup.walker, {100, 100, 0});
        const EntityId crate = stage.spawn(setup.walker, {100, 100, 0});
        CHECK(stage.visibility().deny(stage.observers[0], crate, true) == Status::ok);
        if (has_crate) CHECK(stage.world().attach(crate, cart) == Status::ok);
        std::vector<std::uint64_t> bytes;
        for (int t = 0; t < 30; ++t) {
            // The owner changes while the enter is in flight or lost.
            if (t == 1) CHECK(stage.world().set_owner(cart, stage.observers[0]) == Status::ok);
            stage.loses_all_to = loses && t == 0 ? 0 : 99;
            stage.step();
            bytes.push_back(stage.bytes_to[0]);
            bytes.push_back(stage.hash_to[0]);
        }
        CHECK(stage.client().ghost_count() == 1);
        return bytes;
    };
    for (const bool loses : {false, true})
        CHECK(packets_for(true, loses) == packets_for(false, loses));
}

TEST_CASE("server: a call of visibility() changes nothing that is sent") {
    const auto bytes_of = [](bool queries) {
        EdgeSchema setup;
        NodeDef node;
        node.name = "street";
        node.payload = Payload::read_many;
        node.add(cells(60, 60)).subtract(setup.cloaked);
        setup.def.rules.nodes = {node};
        setup.def.rules.kinds.resize(2);
        setup.def.rules.kinds[index_of(setup.boat)].mode = EntityMode::explicit_only;
        Stage stage(setup.schema, 2, setup.def);
        std::vector<EntityId> crowd;
        crowd.reserve(20);
        for (int i = 0; i < 20; ++i)
            crowd.push_back(stage.spawn(setup.walker, {100.0F + static_cast<float>(i), 100, 0}));
        for (std::uint32_t i = 0; i < 2; ++i)
            CHECK(stage.visibility().set_viewpoint(stage.observers[i], crowd[i]) == Status::ok);
        stage.step(20);
        stage.world().edit(crowd[5], setup.vest)->cloaked = true;
        if (queries) (void)stage.server->visibility();
        stage.step(5);
        const ServerStats before = stage.server->stats();
        for (int t = 0; t < 50; ++t) {
            for (std::size_t i = 10; i < 20; ++i)
                stage.world().edit(crowd[i], setup.vest)->hp = static_cast<std::uint16_t>(t);
            stage.step();
        }
        const ServerStats after = stage.server->stats();
        CHECK(after.cell_payload_copies - before.cell_payload_copies > 90);
        CHECK(after.cell_payloads_stripped == before.cell_payloads_stripped);
        return stage.bytes_to[0];
    };
    CHECK(bytes_of(true) == bytes_of(false));
}

TEST_CASE("server: configurations that cannot work are refused") {
    IdleGame game;
    EdgeSchema setup;
    setup.def.schema = &setup.schema;
    setup.def.mac = &test_mac;
    setup.def.secret = test_secret;
    const auto made_with = [&](auto&& change) {
        ServerDef def = setup.def;
        change(def);
        return Server::create(def, game).has_value();
    };
    CHECK(made_with([](ServerDef&) {}));
    CHECK_FALSE(made_with([](ServerDef& def) { def.sessions_max = ~0U; }));
    CHECK_FALSE(made_with([](ServerDef& def) { def.sessions_max = 1U << 20; }));
    CHECK_FALSE(made_with([](ServerDef& def) { def.group_depth_max = 65; }));
    // After an outage just below a timeout of 20 s, a packet header would not fit into this budget.
    CHECK(made_with([](ServerDef& def) { def.budget_bytes_per_tick = 128; }));
    CHECK_FALSE(made_with([](ServerDef& def) {
        def.budget_bytes_per_tick = 128;
        def.session_timeout_ms = 20'000;
    }));
    for (const float bad : {0.0F, -1.0F, not_a_number, std::numeric_limits<float>::infinity()}) {
        setup.schema.edit_kind(setup.walker).priority = bad;
        CHECK_FALSE(made_with([](ServerDef&) {}));
    }
}

TEST_CASE("handshake: a client with a link that recovers late can still join") {
    const EdgeSchema setup;
    Stage stage(setup.schema, 0, setup.def);
    ClientDef late;
    late.nonce = 5;
    late.connect_timeout_ms = 10'000;
    late.session_timeout_ms = 1'000;
    Client client(late);
    const auto answer = [&] {
        OutgoingDatagram out;
        while (stage.server->next_datagram(out)) client.receive(out.bytes, stage.now);
    };
    for (int i = 0; i < 100; ++i) {
        const bool is_up = i > 60;
        stage.now += 50'000;
        // Handshake packets are answered at once, so the handshake ends before the server's tick.
        for (int turn = 0; turn < 3; ++turn) {
            client.tick(stage.now);
            std::span<const std::byte> out;
            while (client.next_datagram(out))
                if (is_up) stage.server->receive(out, {}, stage.now);
            answer();
        }
        stage.server->tick(stage.now);
        answer();
    }
    CHECK(client.state() == ClientState::joined);
}

namespace {

struct Shout {
    char words[5][32] = {};
};

}  // namespace

TEST_CASE("rpc: a large RPC is sent although shared cell payloads fill the budget") {
    EdgeSchema setup;
    RpcDesc desc;
    desc.delivery = RpcDelivery::reliable_ordered;
    desc.target = RpcTarget::none;
    Rpc<Shout> shout = setup.schema.rpc<Shout>("shout", desc);
    for (std::uint16_t f = 0; f < 5; ++f) {
        FieldDef text{"words" + std::to_string(f), FieldType::text};
        text.offset_bytes = static_cast<std::uint16_t>(f * 32);
        text.size_bytes = 31;
        SchemaAccess::add_field(setup.schema, shout.id, text);
    }
    REQUIRE_MESSAGE(setup.schema.problem().empty(), setup.schema.problem());
    NodeDef node;
    node.name = "street";
    node.payload = Payload::read_many;
    node.add(cells(60, 60));
    setup.def.rules.nodes = {node};
    setup.def.rules.kinds.resize(2);
    setup.def.rules.kinds[index_of(setup.boat)].mode = EntityMode::explicit_only;
    setup.def.budget_bytes_per_tick = 220;
    Stage stage(setup.schema, 1, setup.def);
    std::vector<EntityId> crowd;
    for (int i = 0; i < 28; ++i)
        crowd.push_back(stage.spawn(setup.walker, {100.0F + static_cast<float>(i), 100, 0}));
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], crowd[0]) == Status::ok);
    std::uint16_t hp = 0;
    const auto step = [&](int ticks) {
        for (int t = 0; t < ticks; ++t) {
            hp = static_cast<std::uint16_t>((hp + 7) % 1000);
            for (const EntityId one : crowd) stage.world().edit(one, setup.vest)->hp = hp;
            stage.step();
        }
    };
    step(60);
    const std::uint64_t before = stage.server->stats().cell_payload_copies;
    step(20);
    CHECK(stage.server->stats().cell_payload_copies > before + 10);
    CHECK(stage.server->call({}, shout, Shout{}).has_value());
    ReceivedRpc received;
    int waited = 0;
    for (; waited < 20 && !stage.client().next_rpc(received); ++waited) step(1);
    CHECK(waited < 5);
}

TEST_CASE("invalid values: a cone faces its direction, whatever the length of the vector") {
    const EdgeSchema setup;
    for (const float length : {1e-30F, 1.0F, 1e30F}) {
        ServerDef def = setup.def;
        NodeDef node;
        node.name = "sight";
        node.add(in_area());
        def.rules.nodes = {node};
        Stage stage(setup.schema, 1, def);
        const EntityId before = stage.spawn(setup.walker, {120, 101, 0});
        const EntityId behind = stage.spawn(setup.walker, {80, 101, 0});
        Area area;
        area.shape = AreaShape::cone;
        area.center = {100, 101, 0};
        area.radius = 50;
        area.half_angle_degrees = 30;
        area.direction = {length, 0, 1e30F};  // the vertical part does not count here
        CHECK(stage.visibility().set_area(stage.observers[0], 1, area) == Status::ok);
        stage.step(3);
        CHECK(stage.visibility().is_relevant(stage.observers[0], before));
        CHECK_FALSE(stage.visibility().is_relevant(stage.observers[0], behind));
    }
}

TEST_CASE("link: a connection recovers after both sides used up their packets in an outage") {
    struct Hole {
        bool is_up_open, is_down_open;
        bool has_received_all;  ///< no packet of the server is in flight at the start
    };
    for (const Hole hole : {Hole{false, false, false}, Hole{false, false, true},
                            Hole{true, false, true}, Hole{false, true, true}}) {
        CAPTURE(hole.is_up_open);
        CAPTURE(hole.is_down_open);
        CAPTURE(hole.has_received_all);
        const EdgeSchema setup;
        Stage stage(setup.schema, 1, setup.def);
        const EntityId man = stage.spawn(setup.walker, {100, 100, 0});
        stage.step(5);
        Address from;
        from.carrier = Address::Carrier::memory;
        from.port = 1;
        const auto client_turn = [&](bool is_open) {
            stage.client().tick(stage.now);
            std::span<const std::byte> out;
            while (stage.client().next_datagram(out)) {
                if (is_open) stage.server->receive(out, from, stage.now);
            }
        };
        const auto turn = [&](bool is_up_open, bool is_down_open) {
            stage.now += 5'000;
            client_turn(is_up_open);
            stage.world().edit(man, setup.vest)->hp ^= 1U;
            stage.server->tick(stage.now);
            OutgoingDatagram to;
            while (stage.server->next_datagram(to)) {
                if (is_down_open) stage.client().receive(to.bytes, stage.now);
            }
        };
        if (hole.has_received_all) client_turn(true);
        const Session& session = *internal(*stage.server).sessions[0];
        CHECK(session.link.packets_under_way() == (hole.has_received_all ? 0 : 1));
        // Nine of the ten seconds until the timeout, at 200 turns per second.
        for (int i = 0; i < 1'800; ++i) turn(hole.is_up_open, hole.is_down_open);
        CHECK(session.link.packets_under_way() >= PacketLink::under_way_max - 100);
        for (int i = 0; i < 60; ++i) turn(true, true);
        CHECK(stage.client().state() == ClientState::joined);
        CHECK(session.link.packets_under_way() < 10);
        CHECK(internal(*stage.server).time.tick - stage.client().newest_tick() < 3);
    }
}

TEST_CASE("client: events that the program does not take are bounded and counted") {
    const EdgeSchema setup;
    Stage stage(setup.schema, 3, setup.def);
    constexpr std::size_t bound = 65'536;
    constexpr int count = 400;
    std::vector<EntityId> fleet;
    fleet.reserve(count);
    const auto bounded = [](const Client& client) {
        return lifetimes_of(client).size() + regroupings_of(client).size();
    };
    std::uint64_t came = 0;
    for (int i = 0; i < 220; ++i) {
        for (const EntityId ship : fleet) CHECK(stage.world().despawn(ship) == Status::ok);
        fleet.clear();
        for (int k = 0; i % 2 == 0 && k < count; ++k) fleet.push_back(stage.spawn(setup.boat));
        for (int k = 1; k < static_cast<int>(fleet.size()); k += 2)
            CHECK(stage.world().attach(fleet[k], fleet[k - 1]) == Status::ok);
        stage.step(2);
        came += bounded(stage.client(1));
        stage.client(1).clear_events();
        if (i == 99 || i == 179)
            internal(stage.client(2)).replica->events.note_taken();  // as the C API takes them
        CHECK(bounded(stage.client(0)) <= bound);
        CHECK(stage.client(0).events().size() <= 2 * bound + count);
    }
    const Client& lazy = stage.client(0);
    CHECK(lazy.stats().events_dropped > 0);
    CHECK(lazy.stats().events_dropped + bounded(lazy) == came);
    CHECK(stage.client(1).stats().events_dropped == 0);
    // Events that are taken but still stored make room, and do not count as dropped.
    CHECK(stage.client(2).stats().events_dropped == 0);
    CHECK(bounded(stage.client(2)) < bound / 2);
    // The newest events are kept.
    REQUIRE(!lifetimes_of(lazy).empty());
    CHECK(!lifetimes_of(lazy).back().is_enter());
}

}  // namespace purview::test
