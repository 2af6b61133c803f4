// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A server and a few clients on a perfect connection, for tests of single behaviors. The test is
// the game: between steps it edits the world and sets which observers may see an entity.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "client_events.hpp"
#include "core/internal_access.hpp"
#include "protocol/schema_access.hpp"
#include "purview/client.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

class Stage final : public Game {
  public:
    explicit Stage(const Schema& schema, std::uint32_t count, ServerDef def = {}) {
        def.schema = &schema;
        def.world_name = "stage";
        def.mac = &test_mac;
        def.secret = test_secret;
        auto made = Server::create(def, *this);
        if (!made) std::abort();
        server = std::make_unique<Server>(std::move(made).value());
        for (std::uint32_t i = 0; i < count; ++i) {
            ClientDef client;
            client.nonce = 100 + i;
            client.schema = &schema;
            clients.push_back(std::make_unique<Client>(client));
        }
        observers.resize(count, ObserverId::none);
        for (int i = 0; i < 40 && joined_ < count; ++i) step();
        REQUIRE(joined_ == count);
    }

    void step(std::uint32_t ticks = 1) {
        for (std::uint32_t t = 0; t < ticks; ++t) {
            now += 50'000;
            const bool clients_speak = steps_++ % clients_every == 0;
            for (std::uint32_t i = 0; i < clients.size() && clients_speak; ++i) {
                clients[i]->tick(now);
                std::span<const std::byte> out;
                while (clients[i]->next_datagram(out)) server->receive(out, address(i), now);
            }
            server->tick(now);
            OutgoingDatagram out;
            while (server->next_datagram(out)) {
                const std::uint32_t to = out.to.port - 1U;
                bytes_to[to] += out.bytes.size();
                hash_to[to] = hash_bytes(out.bytes, hash_to[to]);
                largest_datagram = std::max(largest_datagram, out.bytes.size());
                ++datagrams_to[to];
                if (keep_all != nullptr) {
                    keep_all->push_back(static_cast<char>(to));
                    keep_all->append(reinterpret_cast<const char*>(out.bytes.data()),
                                     out.bytes.size());
                }
                if (loses_all_to != to && !(loss > 0 && random.chance(loss)))
                    clients[to]->receive(out.bytes, now);
            }
        }
    }
    World& world() { return server->world(); }
    Visibility& visibility() { return server->visibility(); }
    EntityId spawn(KindId kind, Vec3 at = {}) {
        const EntityId made = world().spawn({.kind = kind, .position = at});
        REQUIRE(made != EntityId::none);
        return made;
    }
    Client& client(std::uint32_t i = 0) { return *clients[i]; }
    /// Lists the ghost events since the last call, in order: "entered", "left" and so on.
    std::string changes(std::uint32_t i = 0) {
        static constexpr const char* names[] = {"entered", "left", "retained", "resumed",
                                                "dropped"};
        std::string text;
        for (const ClientEvent& event : lifetimes_of(*clients[i])) {
            text += text.empty() ? "" : " ";
            text += names[static_cast<std::size_t>(event.change)];
        }
        clients[i]->clear_events();
        return text;
    }
    /// Returns the client's ghost of the entity, or GhostId::none.
    GhostId ghost(std::uint32_t client, EntityId entity) {
        for (const auto& session : internal(*server).sessions) {
            if (session->observer != observers[client]) continue;
            const LocalId slot = session->ghosts.slots().find(entity);
            const GhostId ghost = ghost_id_of(slot);
            return clients[client]->is_held(ghost) ? ghost : GhostId::none;
        }
        return GhostId::none;
    }

    std::optional<EntityId> on_join(Server&, ObserverId observer, const JoinRequest&) override {
        // Sessions join in the order in which they were accepted, which is the order of `clients`.
        if (joined_ == observers.size()) observers.push_back(ObserverId::none);
        observers[joined_++] = observer;
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}

    std::unique_ptr<Server> server;
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<ObserverId> observers;  ///< [clients]
    std::uint64_t bytes_to[64] = {};
    std::uint64_t hash_to[64] = {};  ///< hash of these bytes
    std::uint64_t datagrams_to[64] = {};
    std::size_t largest_datagram = 0;
    /// If set, receives the client number and bytes of each datagram.
    std::string* keep_all = nullptr;
    std::uint32_t loses_all_to = 99;  ///< this client receives nothing
    float loss = 0;                   ///< loss of datagrams to clients
    std::uint32_t clients_every = 1;  ///< steps between two ticks of clients
    SplitMix random{1};
    Micros now = 1'000'000;

  private:
    static Address address(std::uint32_t client) {
        Address address;
        address.carrier = Address::Carrier::memory;
        address.port = static_cast<std::uint16_t>(client + 1);
        return address;
    }
    std::uint32_t joined_ = 0;
    std::uint32_t steps_ = 0;
};

/// Adds texts of 31 bytes, `stride_bytes` apart, to a component or RPC. Its struct must begin with
/// them.
template <class Id>
void add_lines(Schema& schema, Id owner, std::uint32_t count, std::uint32_t stride_bytes = 31) {
    for (std::uint32_t i = 0; i < count; ++i) {
        FieldDef line;
        line.name = "line" + std::to_string(i);
        line.type = FieldType::text;
        line.size_bytes = 31;
        line.offset_bytes = static_cast<std::uint16_t>(i * stride_bytes);
        SchemaAccess::add_field(schema, owner, line);
    }
}

inline void show(Stage& stage, std::uint32_t client, EntityId entity, bool value = true) {
    CHECK(stage.visibility().allow(stage.observers[client], entity, value) == Status::ok);
}

}  // namespace purview::test
