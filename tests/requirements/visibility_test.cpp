// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Explicit showing and hiding of entities, as clients receive it.
#include <algorithm>
#include <map>
#include <set>

#include "protocol/schema_access.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct Plain {
    std::uint16_t number = 0;
    std::uint16_t other = 0;
};

/// Kinds for each way to be relevant: to all, explicitly, and retained after a leave.
struct PlainSchema {
    PlainSchema() {
        position = schema.component<Position>("place");
        FieldDef x{"x", FieldType::quantized, 0, 4, true, 0, 1000, 0.01, 0};
        SchemaAccess::add_field(schema, position.id, x);
        schema.set_position(position.id);
        plain = schema.component<Plain>("plain")
                    .integer("number", &Plain::number, 0, 60'000)
                    .integer("other", &Plain::other, 0, 60'000);
        open = schema.kind("open", {plain.id});
        named = schema.kind("named", {plain.id});
        prop = schema.kind("prop", {plain.id});
        schema.edit_kind(prop).leave = Retention::deactivate;
        frozen = schema.kind("frozen", {position.id, plain.id});
        schema.edit_kind(frozen).leave = Retention::freeze;
        schema.edit_kind(frozen).retention_ticks = 20;
        REQUIRE(schema.problem().empty());
        def.rules.kinds.resize(4);
        for (const KindId kind : {named, prop, frozen})
            def.rules.kinds[index_of(kind)].mode = EntityMode::explicit_only;
    }
    Schema schema;
    Component<Position> position;
    Component<Plain> plain;
    KindId open{}, named{}, prop{}, frozen{};
    ServerDef def;
};

double number(Stage& stage, std::uint32_t client, GhostId ghost, const PlainSchema& setup) {
    return stage.client(client).value_of(ghost, setup.plain.id, 0);
}

}  // namespace

TEST_CASE("visibility: state is sent only to clients to which it is relevant (N26 F2)") {
    const PlainSchema setup;
    Stage stage(setup.schema, 2, setup.def);
    const EntityId entity = stage.spawn(setup.named);
    show(stage, 0, entity);
    stage.step(20);
    const std::uint64_t before[2] = {stage.bytes_to[0], stage.bytes_to[1]};
    for (int i = 0; i < 40; ++i) {
        stage.world().edit(entity, setup.plain)->number = static_cast<std::uint16_t>(i + 1);
        stage.step();
    }
    CHECK(number(stage, 0, stage.ghost(0, entity), setup) == 40);
    CHECK(stage.client(1).ghost_count() == 0);
    CHECK(stage.bytes_to[0] - before[0] > 40 * 12);
    CHECK(stage.bytes_to[1] - before[1] < 40 * 12);
}

TEST_CASE("visibility: without rules all see everything but denials (M1 N28 N30 N33)") {
    PlainSchema setup;
    setup.schema.audience(setup.plain.id, {AudienceType::owner});
    NodeDef bound_only;  // a node that matches only entities that are bound to it
    bound_only.name = "bound only";
    bound_only.members = Members::bound;
    setup.def.rules.nodes = {bound_only};
    Stage stage(setup.schema, 2, setup.def);
    const EntityId one = stage.spawn(setup.open), other = stage.spawn(setup.open);
    stage.step(4);
    CHECK(stage.client(0).ghost_count() == 0);
    CHECK(stage.client(1).ghost_count() == 0);
    CHECK(stage.world().set_owner(one, stage.observers[0]) == Status::ok);
    CHECK(stage.visibility().deny(stage.observers[1], other, true) == Status::ok);
    stage.world().edit(one, setup.plain)->number = 5;
    stage.server->set_interest_level(InterestLevel::none);
    stage.step(4);
    CHECK(stage.client(0).ghost_count() == 2);
    CHECK(stage.client(1).ghost_count() == 1);
    CHECK(stage.ghost(1, other) == GhostId::none);
    // Allow does not override a denial.
    show(stage, 1, other);
    stage.step(3);
    CHECK(stage.ghost(1, other) == GhostId::none);
    // Audiences apply at every level.
    CHECK(number(stage, 0, stage.ghost(0, one), setup) == 5);
    CHECK(number(stage, 1, stage.ghost(1, one), setup) == 0);
}

TEST_CASE("visibility: explicit entities stay hidden, also from later joins (N32 N33)") {
    const PlainSchema setup;
    class Joining final : public Game {
      public:
        std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                        const JoinRequest&) override {
            // The game denies this entity to every observer that joins.
            CHECK(server.visibility().deny(observer, forbidden, true) == Status::ok);
            return EntityId::none;
        }
        void on_leave(Server&, ObserverId) override {}
        void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
        void on_tick(Server&, Tick) override {}
        EntityId forbidden = EntityId::none;
    };
    Joining game;
    ServerDef def = setup.def;
    def.schema = &setup.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    Server server = std::move(*Server::create(def, game));
    const EntityId not_allowed = server.world().spawn({.kind = setup.named});
    game.forbidden = server.world().spawn({.kind = setup.open});
    const EntityId everybodys = server.world().spawn({.kind = setup.open});
    (void)not_allowed;
    (void)everybodys;
    ClientDef client_def;
    client_def.nonce = 5;
    Client client(client_def);
    Address address;
    address.port = 1;
    std::uint32_t most = 0;
    for (Micros now = 1'000'000; now < 3'000'000; now += 50'000) {
        client.tick(now);
        std::span<const std::byte> up;
        while (client.next_datagram(up)) server.receive(up, address, now);
        server.tick(now);
        OutgoingDatagram down;
        while (server.next_datagram(down)) client.receive(down.bytes, now);
        most = std::max(most, client.ghost_count());
    }
    CHECK(client.state() == ClientState::joined);
    CHECK(most == 1);
    CHECK(client.ghost_count() == 1);
}

TEST_CASE("visibility: owners see explicit entities only if the kind allows it (N32)") {
    PlainSchema setup;
    setup.def.rules.kinds[index_of(setup.prop)].owner_sees = false;
    Stage stage(setup.schema, 2, setup.def);
    const EntityId seen = stage.spawn(setup.named), unseen = stage.spawn(setup.prop);
    for (const EntityId entity : {seen, unseen})
        CHECK(stage.world().set_owner(entity, stage.observers[0]) == Status::ok);
    stage.step(4);
    CHECK(stage.ghost(0, seen) != GhostId::none);
    CHECK(stage.ghost(0, unseen) == GhostId::none);
    CHECK(stage.client(1).ghost_count() == 0);
    show(stage, 0, unseen);
    stage.step(3);
    CHECK(stage.ghost(0, unseen) != GhostId::none);
}

TEST_CASE("visibility: an entity that no client sees is not encoded (M26)") {
    const PlainSchema setup;
    Stage stage(setup.schema, 2, setup.def);
    const EntityId seen = stage.spawn(setup.open), unseen = stage.spawn(setup.named);
    stage.step(10);
    const auto encodings_of = [&](EntityId entity) {
        const std::uint64_t before = stage.server->stats().encodings;
        for (int i = 0; i < 20; ++i) {
            ++stage.world().edit(entity, setup.plain)->number;
            stage.step();
        }
        stage.step(4);
        return stage.server->stats().encodings - before;
    };
    CHECK(encodings_of(unseen) == 0);
    CHECK(encodings_of(seen) >= 20);
}

TEST_CASE("visibility: overrides apply at once, events and ghosts with the tick (N34)") {
    const PlainSchema setup;
    Stage stage(setup.schema, 2, setup.def);
    const EntityId named = stage.spawn(setup.named), open = stage.spawn(setup.open);
    stage.step(4);
    Visibility& interest = stage.visibility();
    const auto observers_of = [&](EntityId entity) {
        std::vector<ObserverId> out;
        interest.observers_of(entity, out);
        return out;
    };
    const auto expect = [&](EntityId entity, std::vector<std::uint32_t> index) {
        std::vector<ObserverId> expected;
        for (std::uint32_t i = 0; i < 2; ++i) {
            const bool is_in = std::find(index.begin(), index.end(), i) != index.end();
            if (is_in) expected.push_back(stage.observers[i]);
            CHECK(interest.is_relevant(stage.observers[i], entity) == is_in);
        }
        std::sort(expected.begin(), expected.end(),
                  [](ObserverId l, ObserverId r) { return index_of(l) < index_of(r); });
        CHECK(observers_of(entity) == expected);
    };
    expect(named, {});
    expect(open, {0, 1});
    show(stage, 0, named);
    expect(named, {0});
    CHECK(interest.deny(stage.observers[1], open, true) == Status::ok);
    expect(open, {0});
    show(stage, 1, named);
    expect(named, {0, 1});
    CHECK(interest.show_to_all(named, true) == Status::ok);
    show(stage, 0, named, false);
    expect(named, {0, 1});
    CHECK(interest.set_hidden(named, true) == Status::ok);
    expect(named, {});
    CHECK(interest.set_hidden(named, false) == Status::ok);
    expect(named, {0, 1});
    CHECK(stage.ghost(0, named) == GhostId::none);            // not sent yet
    CHECK(internal(*stage.server).manager.events().empty());  // of the last tick
    CHECK(stage.ghost(1, open) != GhostId::none);
    stage.step();
    CHECK(internal(*stage.server).manager.events().size() == 3);  // two enters, one leave
    stage.step(2);
    CHECK(stage.ghost(0, named) != GhostId::none);
    CHECK(stage.ghost(1, named) != GhostId::none);
    CHECK(stage.ghost(1, open) == GhostId::none);
    expect(named, {0, 1});
    expect(open, {0});
}

TEST_CASE("visibility: showing or denying many in one tick converges under loss (X1)") {
    for (const bool shows : {true, false}) {
        CAPTURE(shows);
        const PlainSchema setup;
        Stage stage(setup.schema, 2, setup.def);
        std::vector<EntityId> all;
        for (int i = 0; i < 40; ++i) all.push_back(stage.spawn(shows ? setup.named : setup.open));
        stage.step(6);
        stage.loss = 0.33F;
        stage.random = SplitMix(shows ? 3 : 4);
        std::uint32_t round = 0;
        for (const std::uint32_t every : {1U, 2U, 0U, 1U, 0U, 2U, 1U}) {  // 0: none, 2: half
            ++round;
            for (std::uint32_t i = 0; i < all.size(); ++i) {
                const bool is_in = every > 0 && (i + round) % every == 0;
                for (const ObserverId observer : stage.observers) {
                    const Status status = shows ? stage.visibility().allow(observer, all[i], is_in)
                                                : stage.visibility().deny(observer, all[i], is_in);
                    CHECK(status == Status::ok);
                }
            }
            stage.step(60);
            for (std::uint32_t index = 0; index < 2; ++index) {
                for (std::uint32_t i = 0; i < all.size(); ++i) {
                    const bool is_in = every > 0 && (i + round) % every == 0;
                    CHECK((stage.ghost(index, all[i]) != GhostId::none) == (is_in == shows));
                }
            }
        }
    }
}

TEST_CASE("visibility: a retained ghost is not recreated, however often it toggles (X1 X3)") {
    const PlainSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId frozen = stage.spawn(setup.frozen);
    show(stage, 0, frozen);
    stage.step(4);
    CHECK(stage.changes() == "entered");
    std::string expected;
    for (int i = 0; i < 64; ++i) {
        show(stage, 0, frozen, i % 2 == 1);
        expected += i == 0 ? "retained" : i % 2 == 1 ? " resumed" : " retained";
        stage.step();
    }
    stage.step(2);
    CHECK(stage.changes() == expected);
}

TEST_CASE("visibility: showing and hiding within a tick cancel out (N34 N35 X1)") {
    const PlainSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId entity = stage.spawn(setup.named);
    stage.step(3);
    const std::uint64_t before = stage.bytes_to[0];
    stage.changes();
    for (int i = 0; i < 20; ++i) {
        show(stage, 0, entity);
        show(stage, 0, entity, false);
        stage.step();
    }
    CHECK(stage.changes() == "");
    CHECK(stage.bytes_to[0] - before < 20 * 12);  // no enters or leaves are sent
    show(stage, 0, entity);
    show(stage, 0, entity);  // repeated: no effect
    stage.step(2);
    CHECK(stage.changes() == "entered");
    show(stage, 0, entity, false);
    show(stage, 0, entity);
    stage.step(2);
    CHECK(stage.changes() == "");
    show(stage, 0, entity, false);
    stage.step(2);
    CHECK(stage.changes() == "left");
}

TEST_CASE("visibility: a scene object is retained hidden and resumes as it is (N36 M24)") {
    const PlainSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId prop = stage.spawn(setup.prop), thing = stage.spawn(setup.named);
    *stage.world().edit(prop, setup.plain) = {7, 8};
    show(stage, 0, prop);
    show(stage, 0, thing);
    stage.step(6);
    CHECK(stage.changes() == "entered entered");
    const GhostId copy = stage.ghost(0, prop);
    show(stage, 0, prop, false);
    show(stage, 0, thing, false);
    stage.step(400);  // no retention time ends it
    CHECK(stage.changes() == "retained left");
    CHECK(stage.client().retention(copy) == Retention::deactivate);
    CHECK_FALSE(stage.client().is_held(copy));
    CHECK(stage.client().ghost_count() == 0);
    CHECK(number(stage, 0, copy, setup) == 7);
    show(stage, 0, prop);
    stage.step(3);
    CHECK(stage.changes() == "resumed");
    CHECK(stage.ghost(0, prop) == copy);
    // A despawn removes the ghost.
    CHECK(stage.world().despawn(prop) == Status::ok);
    stage.step(2);
    REQUIRE(lifetimes_of(stage.client()).size() == 1);
    CHECK(lifetimes_of(stage.client())[0].reason == Reason::despawned);
    CHECK(stage.changes() == "left");
}

TEST_CASE("visibility: a resume sends only what changed since the leave (F19 O25 O26)") {
    const PlainSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    std::vector<EntityId> all;
    for (std::uint16_t i = 0; i < 40; ++i) {
        all.push_back(stage.spawn(setup.frozen, {static_cast<float>(i), 0, 0}));
        *stage.world().edit(all.back(), setup.plain) = {static_cast<std::uint16_t>(40'000 + i), i};
        show(stage, 0, all.back());
    }
    std::uint64_t from = stage.bytes_to[0];
    stage.step(6);
    const std::uint64_t first = stage.bytes_to[0] - from;
    for (const EntityId entity : all) show(stage, 0, entity, false);
    stage.step(6);
    CHECK(stage.client().ghost_count() == 0);
    CHECK(stage.client().retention(GhostId{1}) == Retention::freeze);
    stage.world().edit(all[3], setup.plain)->number = 5;
    from = stage.bytes_to[0];
    for (const EntityId entity : all) show(stage, 0, entity);
    stage.step(6);
    const std::uint64_t again = stage.bytes_to[0] - from;
    CHECK(stage.client().ghost_count() == 40);
    CHECK(again < first * 6 / 10);
    for (std::uint16_t i = 0; i < 40; ++i) {
        const GhostId ghost = stage.ghost(0, all[i]);
        CHECK(number(stage, 0, ghost, setup) == (i == 3 ? 5 : 40'000 + i));
        CHECK(stage.client().value_of(ghost, setup.plain.id, 1) == i);
    }
}

TEST_CASE("visibility: retained ghosts expire, those of despawned entities too (F19 X3)") {
    const PlainSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId entity = stage.spawn(setup.frozen), mortal = stage.spawn(setup.frozen);
    show(stage, 0, entity);
    show(stage, 0, mortal);
    stage.step(6);
    const GhostId ghost = stage.ghost(0, entity);
    show(stage, 0, entity, false);
    show(stage, 0, mortal, false);
    stage.step(4);
    CHECK(stage.changes() == "entered entered retained retained");
    // A despawn of a retained entity is not sent: its ghost expires like any other.
    CHECK(stage.world().despawn(mortal) == Status::ok);
    stage.step(10);
    CHECK(stage.changes() == "");
    stage.step(12);
    CHECK(stage.changes() == "dropped dropped");
    CHECK(stage.client().retention(ghost) == Retention::despawn);
    show(stage, 0, entity);
    stage.step(6);
    CHECK(stage.changes() == "entered");
}

TEST_CASE("visibility: random shows, hides and despawns converge under loss (N37 X1 O30)") {
    const PlainSchema setup;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        CAPTURE(seed);
        Stage stage(setup.schema, 3, setup.def);
        stage.loss = 0.33F;
        stage.random = SplitMix(seed);
        SplitMix random(seed + 100);
        std::vector<EntityId> all;
        std::set<std::pair<std::uint32_t, EntityId>> shown;
        std::map<EntityId, std::uint32_t> owners;
        for (int tick = 0; tick < 250; ++tick) {
            // Now and then everything changes in one tick.
            for (std::uint32_t n = tick % 50 == 0 ? 200 : random.below(6); n > 0; --n) {
                if (all.size() < 30 || random.chance(0.05F)) {
                    const KindId kinds[] = {setup.named, setup.prop, setup.frozen};
                    all.push_back(stage.spawn(kinds[random.below(3)]));
                }
                const std::size_t at = random.below(static_cast<std::uint32_t>(all.size()));
                const EntityId entity = all[at];
                const std::uint32_t index = random.below(3);
                if (random.chance(0.5F)) {
                    const bool value = random.chance(0.5F);
                    show(stage, index, entity, value);
                    value ? (void)shown.insert({index, entity})
                          : (void)shown.erase({index, entity});
                } else if (random.chance(0.5F)) {
                    owners[entity] = index;
                    (void)stage.world().set_owner(entity, stage.observers[index]);
                } else if (random.chance(0.8F)) {
                    stage.world().edit(entity, setup.plain)->number =
                        static_cast<std::uint16_t>(random.below(60'000));
                } else {
                    (void)stage.world().despawn(entity);
                    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
                    for (std::uint32_t i = 0; i < 3; ++i) shown.erase({i, entity});
                    owners.erase(entity);
                }
            }
            stage.step();
        }
        stage.loss = 0;
        stage.step(40);
        for (std::uint32_t index = 0; index < 3; ++index) {
            std::uint32_t expected = 0;
            for (const EntityId entity : all) {
                const auto owner = owners.find(entity);
                const bool owns = owner != owners.end() && owner->second == index;
                const bool is_known = shown.contains({index, entity}) || owns;
                expected += is_known ? 1 : 0;
                const GhostId ghost = stage.ghost(index, entity);
                REQUIRE((ghost != GhostId::none) == is_known);
                if (!is_known) continue;
                CHECK(number(stage, index, ghost, setup) ==
                      stage.world().get(entity, setup.plain)->number);
                CHECK(stage.client(index).is_owned(ghost) == owns);
            }
            CHECK(stage.client(index).ghost_count() == expected);
            CHECK(stage.client(index).stats().packets_malformed == 0);
        }
    }
}

TEST_CASE("visibility: a leave is not a despawn, and unsent entities get neither (X3 O30)") {
    const PlainSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId far = stage.spawn(setup.named), dead = stage.spawn(setup.named);
    show(stage, 0, far);
    show(stage, 0, dead);
    stage.step(4);
    stage.client().clear_events();
    show(stage, 0, far, false);
    CHECK(stage.world().despawn(dead) == Status::ok);
    stage.step(2);
    const auto events = lifetimes_of(stage.client());
    REQUIRE(events.size() == 2);
    CHECK(events[0].reason != events[1].reason);
    stage.client().clear_events();
    const EntityId never = stage.spawn(setup.named);
    show(stage, 0, never);
    CHECK(stage.world().despawn(never) == Status::ok);
    stage.step(3);
    CHECK(stage.changes() == "");
}

TEST_CASE("visibility: rebinding nodes causes no leave, enter or full state (N45)") {
    PlainSchema setup;
    NodeDef near;
    near.name = "near";
    near.members = Members::bound;
    near.add(within(50));
    NodeDef wide = near;
    wide.name = "wide";
    wide.steps[0].enter = wide.steps[0].leave = 100;
    wide.replication.every_ticks = 10;
    wide.replication.leave = Retention::stale;
    setup.def.rules.max = {1000, 10, 0};
    setup.def.rules.nodes = {near, wide};
    setup.def.rules.kinds[index_of(setup.frozen)].mode = EntityMode::nodes;
    setup.def.rules.kinds[index_of(setup.frozen)].nodes = {id_at<NodeId>(0)};
    Stage stage(setup.schema, 1, setup.def);
    const EntityId me = stage.spawn(setup.frozen, {500, 0, 0});
    const EntityId body = stage.spawn(setup.frozen, {510, 0, 0});
    CHECK(stage.visibility().set_viewpoint(stage.observers[0], me) == Status::ok);
    stage.step(20);
    const auto updates = [&] {
        Tick last = stage.client().updated_of(stage.ghost(0, body));
        int count = 0;
        for (std::uint16_t i = 0; i < 40; ++i) {
            stage.world().edit(body, setup.plain)->number = static_cast<std::uint16_t>(i + 1);
            stage.step();
            const Tick now = stage.client().updated_of(stage.ghost(0, body));
            count += now != last ? 1 : 0;
            last = now;
        }
        return count;
    };
    CHECK(updates() == 40);
    stage.step(12);
    stage.changes();
    const auto bytes_of = [&](std::uint32_t ticks) {
        const std::uint64_t before = stage.bytes_to[0];
        stage.step(ticks);
        return stage.bytes_to[0] - before;
    };
    const std::uint64_t idle = bytes_of(10);
    const std::array<NodeId, 1> corpse{id_at<NodeId>(1)};
    CHECK(stage.visibility().rebind(body, corpse) == Status::ok);
    CHECK(bytes_of(10) == idle);
    CHECK(stage.changes() == "");
    CHECK(updates() == 4);
    // The retention policy is the new node's from the next tick on.
    const std::array<NodeId, 1> player{id_at<NodeId>(0)};
    for (int phase = 0; phase < 8; ++phase) {
        CAPTURE(phase);
        CHECK(stage.world().move(body, {510, 0, 0}) == Status::ok);
        CHECK(stage.visibility().rebind(body, player) == Status::ok);
        stage.step(20 + static_cast<std::uint32_t>(phase));
        const GhostId ghost = stage.ghost(0, body);
        REQUIRE(ghost != GhostId::none);
        CHECK(stage.visibility().rebind(body, corpse) == Status::ok);
        stage.step();
        CHECK(stage.world().move(body, {900, 0, 0}) == Status::ok);
        stage.step(2);
        CHECK(stage.client().retention(ghost) == Retention::stale);
    }
}

}  // namespace purview::test
