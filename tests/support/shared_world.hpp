// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A random world of cells with one node in any of the three payload modes. Walkers and foxes move,
// jump, change, hide, enter and leave. Carts carry crates. Clients are on a faulty network, and a
// proof checks everything.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/internal_access.hpp"
#include "faulty_network.hpp"
#include "proof.hpp"
#include "protocol/schema_access.hpp"
#include "purview/client.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

inline constexpr Payload shared_modes[] = {Payload::update_many, Payload::read_many};

/// Makes an entity nearly as large as a datagram.
struct Lot {
    static constexpr std::uint32_t count = 8, length = 31;
    std::array<std::array<char, length>, count> things{};
};

struct CellSchema {
    explicit CellSchema(bool has_chests = false) {
        position = add_position(schema, 0, 320);
        body = schema.component<Body>("body")
                   .integer("tag", &Body::tag, 0, (1 << 20) - 1)
                   .integer("hp", &Body::hp, 0, 999)
                   .boolean("cloaked", &Body::cloaked)
                   .quantized("facing", &Body::facing, {-4, 4, 0.05});
        mind = schema.component<Mind>("mind")
                   .text("name", &Mind::name)
                   .reference("target", &Mind::target)
                   .ranged("effort", &Mind::effort, -10, 10);
        walker = schema.kind("walker", {position.id, body.id});
        fox = schema.kind("fox", {position.id, body.id, mind.id});
        crate = schema.kind("crate", {position.id, body.id});
        if (has_chests) add_chests();
        cloaked = schema.flag("cloaked", body.id, "cloaked");
        if (!schema.problem().empty()) std::abort();
    }
    void add_chests() {
        std::vector<ComponentId> parts{position.id, body.id};
        for (std::size_t i = 0; i < lots.size(); ++i) {
            lots[i] = schema.component<Lot>("lot" + std::to_string(i));
            for (std::uint32_t f = 0; f < Lot::count; ++f) {
                FieldDef text{"thing" + std::to_string(f), FieldType::text};
                text.offset_bytes = static_cast<std::uint16_t>(f * Lot::length);
                text.size_bytes = Lot::length;
                SchemaAccess::add_field(schema, lots[i].id, text);
            }
            parts.push_back(lots[i].id);
        }
        chest = schema.kind("chest", parts);
    }
    Rules rules(Payload mode) const {
        Rules rules;
        rules.max = {side_m, side_m, 0};
        rules.entities_expected = 300;
        NodeDef node;
        node.name = "cells";
        node.payload = mode;
        node.add(cells(width, height)).subtract(cloaked);
        rules.nodes = {node};
        return rules;
    }
    static constexpr float side_m = 300, width = 50, height = 40;
    Schema schema;
    Component<Position> position;
    Component<Body> body;
    Component<Mind> mind;
    std::array<Component<Lot>, 3> lots{};
    KindId walker{}, fox{}, crate{}, chest{};
    FlagId cloaked{};
};

struct CellWorldDef {
    Payload mode = Payload::per_observer;
    std::uint64_t seed = 1;
    Faults faults = {};
    std::uint32_t budget_bytes = 4'800;
    std::uint32_t clients = 4;
    std::uint32_t walkers = 120;
    bool has_chests = false;
    bool denies = false;                ///< sometimes denies an entity to an observer
    std::uint32_t without_digests = 0;  ///< the first N clients have no digests
    std::uint32_t truth_every_ticks = 1;
};

class CellWorld final : public Game {
  public:
    explicit CellWorld(const CellWorldDef& world_def)
        : setup(world_def.has_chests), def(world_def), random(mix64(world_def.seed)) {
        ServerDef server_def;
        server_def.schema = &setup.schema;
        server_def.rules = setup.rules(def.mode);
        server_def.budget_bytes_per_tick = def.budget_bytes;
        server_def.mac = &test_mac;
        server_def.secret = test_secret;
        auto made = Server::create(server_def, *this);
        REQUIRE(made);
        server = std::make_unique<Server>(std::move(made).value());
        for (std::uint32_t i = 0; i < def.walkers; ++i) {
            const KindId kind = i % 3 == 0 ? setup.fox : i % 10 == 1 ? setup.crate : setup.walker;
            movers.push_back(spawn(kind));
        }
        proof = std::make_unique<Proof>(
            *server,
            [this](ObserverId o) {
                check::TruthObserver truth;
                truth.id = o;
                truth.ready = true;
                truth.times_ready = 1;
                truth.main = players[index_of(o)];
                for (const auto& [observer, entity] : denied)
                    if (observer == o) truth.denied.push_back(entity);
                return truth;
            },
            def.truth_every_ticks);
        for (std::uint32_t i = 0; i < def.clients; ++i) {
            ClientDef client;
            client.nonce = mix64(def.seed * 100 + i);
            client.name = std::to_string(i);
            client.digest_every = i < def.without_digests ? 0 : 1;
            peers.push_back(
                std::make_unique<Peer>(Peer{Client(client),
                                            FaultyNetwork(mix64(def.seed * 8 + i), def.faults),
                                            FaultyNetwork(mix64(def.seed * 16 + i), def.faults),
                                            {}}));
            peers.back()->address.carrier = Address::Carrier::memory;
            peers.back()->address.port = static_cast<std::uint16_t>(i + 1);
        }
    }

    void step(std::uint32_t ticks = 1) {
        std::vector<std::byte> bytes;
        for (std::uint32_t t = 0; t < ticks; ++t) {
            now += 50'000;
            for (auto& peer : peers) {
                peer->client.tick(now);
                std::span<const std::byte> out;
                while (peer->client.next_datagram(out)) peer->up.send(out, now);
                while (peer->up.receive(bytes, now)) server->receive(bytes, peer->address, now);
            }
            server->tick(now);
            proof->check_tick();
            OutgoingDatagram out;
            std::map<std::uint16_t, std::uint64_t> sizes;
            while (server->next_datagram(out)) {
                if (out.bytes[0] == std::byte{6}) sizes[out.to.port] += out.bytes.size();
                peers[out.to.port - 1U]->down.send(out.bytes, now);
            }
            for (const auto& [port, size] : sizes) tick_bytes_max = std::max(tick_bytes_max, size);
            for (auto& peer : peers)
                while (peer->down.receive(bytes, now)) peer->client.receive(bytes, now);
        }
    }
    /// Describes the ghosts of a client as text: by tag, without local ids.
    std::string view(std::uint32_t client) const {
        const Client& its = peers[client]->client;
        std::map<double, std::string> lines;
        its.for_each([&](GhostId g) {
            const auto number = [&](GhostId of, ComponentId component, std::size_t field) {
                return std::to_string(its.value_of(of, component, field)) + " ";
            };
            std::string line = std::to_string(index_of(its.kind_of(g))) + ": ";
            for (std::size_t f = 0; f < 2; ++f) line += number(g, setup.position.id, f);
            for (std::size_t f = 0; f < 4; ++f) line += number(g, setup.body.id, f);
            if (its.kind_of(g) == setup.fox) {
                line += its.text_of(g, setup.mind.id, 0) + " " + number(g, setup.mind.id, 2);
                const GhostId target = its.reference_of(g, setup.mind.id, 1);
                line += target == GhostId::none ? "-" : number(target, setup.body.id, 0);
            }
            if (its.parent_of(g) != GhostId::none)
                line += "on " + number(its.parent_of(g), setup.body.id, 0);
            lines[its.value_of(g, setup.body.id, 0)] = line;
        });
        std::string text;
        for (const auto& [tag, line] : lines) text += line + "\n";
        return text;
    }
    /// The relevant set of the client on the server.
    std::vector<EntityId> relevant(std::uint32_t client) const {
        std::vector<EntityId> out;
        internal(*server).manager.relevant(observers[client], out);
        return out;
    }
    Session& session(std::uint32_t client) {
        return *internal(*server).sessions.find(observers[client]);
    }
    GhostId ghost(std::uint32_t client, EntityId entity) {
        const LocalId slot = session(client).ghosts.slots().find(entity);
        const GhostId ghost = ghost_id_of(slot);
        return peers[client]->client.is_held(ghost) ? ghost : GhostId::none;
    }
    /// Moves all players to one position and adds walkers next to them.
    std::vector<EntityId> gather(int walkers, int ticks_after = 20) {
        is_frozen = true;
        step(20);
        for (const auto& [observer, player] : players)
            CHECK(server->world().move(player, {175, 140, 0}) == Status::ok);
        std::vector<EntityId> crowd;
        for (int i = 0; i < walkers; ++i) crowd.push_back(spawn(setup.walker, {176, 141, 0}));
        step(ticks_after);
        return crowd;
    }
    EntityId spawn(KindId kind, Vec3 at) {
        const EntityId made = server->world().spawn({.kind = kind, .position = at});
        REQUIRE(made != EntityId::none);
        server->world().edit(made, setup.body)->tag = next_tag++;
        return made;
    }
    EntityId spawn(KindId kind) { return spawn(kind, random_position()); }

    std::optional<EntityId> on_join(Server&, ObserverId observer,
                                    const JoinRequest& request) override {
        const auto which_client =
            static_cast<std::uint32_t>(std::atoi(std::string(request.name).c_str()));
        observers.resize(def.clients, ObserverId::none);
        observers[which_client] = observer;
        SplitMix own(mix64(def.seed + 1'000 + which_client));
        const EntityId player =
            spawn(setup.walker, {own.between(0, setup.side_m), own.between(0, setup.side_m), 0});
        players[index_of(observer)] = player;
        (void)server->world().set_owner(player, observer);
        return player;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick tick) override {
        if (is_frozen) return;
        World& world = server->world();
        for (EntityId& entity : movers) {
            if (random.chance(0.3F)) wander(entity, 6);
            if (random.chance(0.003F)) (void)world.move(entity, random_position());
            Body* body = world.edit(entity, setup.body);
            if (random.chance(0.1F)) body->hp = static_cast<std::uint16_t>(random.below(1000));
            if (random.chance(0.05F)) body->facing = random.between(-3, 3);
            if (random.chance(0.005F)) body->cloaked = !body->cloaked;
            if (world.kind_of(entity) == setup.fox && random.chance(0.05F)) {
                Mind* mind = world.edit(entity, setup.mind);
                mind->name[0] = static_cast<char>('a' + random.below(26));
                mind->effort = random.between(-9, 9);
                if (random.chance(0.5F)) mind->target = any_entity();
            }
            if (world.kind_of(entity) == setup.crate && random.chance(0.02F)) {
                if (world.parent_of(entity) != EntityId::none) {
                    (void)world.detach(entity);
                } else if (const EntityId to = any_entity(); world.kind_of(to) == setup.walker) {
                    (void)world.attach(entity, to);
                }
            }
            if (random.chance(0.002F)) {
                const KindId kind = world.kind_of(entity);
                (void)world.despawn(entity);
                entity = spawn(kind);
            }
        }
        for (auto& [observer, player] : players) {
            wander(player, 8);
            if (random.chance(0.01F)) (void)world.move(player, random_position());
        }
        if (def.denies && tick % 10 == 0) deny_some_observer();
    }

    CellSchema setup;
    CellWorldDef def;
    SplitMix random;
    std::unique_ptr<Server> server;
    std::unique_ptr<Proof> proof;
    struct Peer {
        Client client;
        FaultyNetwork up, down;
        Address address;
    };
    std::vector<std::unique_ptr<Peer>> peers;
    std::vector<ObserverId> observers;          ///< [clients]
    std::map<std::uint32_t, EntityId> players;  ///< by observer
    std::vector<EntityId> movers;
    std::vector<std::pair<ObserverId, EntityId>> denied;
    std::uint64_t tick_bytes_max = 0;
    bool is_frozen = false;
    std::uint32_t next_tag = 1;
    Micros now = 1'000'000;

  private:
    Vec3 random_position() {
        return {random.between(0, setup.side_m), random.between(0, setup.side_m), 0};
    }
    EntityId any_entity() {
        return movers[random.below(static_cast<std::uint32_t>(movers.size()))];
    }
    void wander(EntityId entity, float step) {
        Vec3 at = server->world().position_of(entity);
        at.x = std::clamp(at.x + random.between(-step, step), 0.0F, setup.side_m);
        at.y = std::clamp(at.y + random.between(-step, step), 0.0F, setup.side_m);
        (void)server->world().move(entity, at);
    }
    void deny_some_observer() {
        if (players.empty()) return;
        for (const auto& [observer, entity] : denied)
            (void)server->visibility().deny(observer, entity, false);
        denied.clear();
        for (const ObserverId observer : observers) {
            if (observer == ObserverId::none) continue;
            for (int i = 0; i < 5; ++i) {
                const EntityId entity = any_entity();
                if (server->visibility().deny(observer, entity, true) == Status::ok)
                    denied.emplace_back(observer, entity);
            }
        }
    }
};

}  // namespace purview::test
