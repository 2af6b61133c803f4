// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A world without own activity, with a few clients that each own a player.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "client/client_data.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"

namespace purview::test {

/// An RPC as a client received it.
struct Got {
    RpcId rpc = RpcId::none;
    GhostId ghost = GhostId::none;
    bool ghost_left = false;
    Ping args;
    double tag_of_ghost = 0;
};

using Numbers = std::vector<std::uint32_t>;
inline Numbers numbers(const std::vector<Got>& got) {
    Numbers out;
    for (const Got& one : got) out.push_back(one.args.number);
    return out;
}

/// An RPC of a client as the game received it.
struct Called {
    ObserverId observer = ObserverId::none;
    RpcId rpc = RpcId::none;
    EntityId target = EntityId::none;
    Ping args;
};

class CallWorld final : public Game {
  public:
    explicit CallWorld(std::uint32_t clients, Faults faults = {},
                       std::uint32_t budget_bytes = 4'800, std::uint64_t seed = 1,
                       std::vector<Role> roles = {}) {
        def_.schema = &schema_.schema;
        def_.rules = small_rules(schema_);
        def_.budget_bytes_per_tick = budget_bytes;
        def_.mac = &test_mac;
        def_.secret = test_secret;
        auto made = Server::create(def_, *this);
        if (!made) std::abort();
        server_ = std::make_unique<Server>(std::move(made).value());
        for (std::uint32_t i = 0; i < clients; ++i) {
            ClientDef client;
            client.nonce = seed * 100 + i;
            client.name = std::to_string(i);
            client.role = i < roles.size() ? roles[i] : Role::player;
            client.schema = &schema_.schema;
            peers_.push_back(std::make_unique<Peer>(Peer{Client(client),
                                                         FaultyNetwork(mix64(seed * 8 + i), {}),
                                                         FaultyNetwork(mix64(seed * 16 + i), {}),
                                                         {},
                                                         {},
                                                         {}}));
            peers_.back()->address.carrier = Address::Carrier::memory;
            peers_.back()->address.port = static_cast<std::uint16_t>(i + 1);
            players_.emplace_back();
            observers_.emplace_back();
        }
        for (int i = 0; i < 100 && joined_ < clients; ++i) step();
        if (joined_ < clients) std::abort();
        run(5);
        for (auto& peer : peers_) peer->up.faults = peer->down.faults = faults;
    }

    struct Peer {
        Client client;
        FaultyNetwork up, down;
        Address address;
        std::vector<Got> got;
        std::vector<std::vector<std::byte>> sent_to;  ///< every datagram while `records` is set
    };
    Peer& peer(std::size_t client) { return *peers_[client]; }
    Client& client(std::size_t client) { return peers_[client]->client; }
    std::vector<Got>& got(std::size_t client) { return peers_[client]->got; }
    Server& server() { return *server_; }
    const SmallSchema& schema() const { return schema_; }
    ObserverId observer(std::size_t client) const { return observers_[client]; }
    EntityId player(std::size_t client) const { return players_[client]; }
    Rpc<Ping> ordered_cull() const {
        return schema_.ping(RpcDelivery::reliable_ordered, RpcPolicy::cull);
    }
    double tag(EntityId entity) { return server_->world().get(entity, schema_.body)->tag; }

    EntityId spawn(Vec3 at) {
        const EntityId made = server_->world().spawn({.kind = schema_.animal, .position = at});
        server_->world().edit(made, schema_.body)->tag = next_tag_++;
        return made;
    }
    void place_player(std::size_t client, Vec3 at) {
        (void)server_->world().move(players_[client], at);
    }
    /// Returns the client's ghost of the entity, found by its tag.
    GhostId ghost_of(std::size_t client, EntityId entity) {
        Client& c = peers_[client]->client;
        GhostId found = GhostId::none;
        c.for_each([&](GhostId ghost) {
            if (c.value_of(ghost, schema_.body.id, schema_.tag_field) == tag(entity)) found = ghost;
        });
        return found;
    }
    /// Runs `what` in the next tick, where a game edits its world.
    void in_next_tick(std::function<void(Server&)> what) { next_ = std::move(what); }

    void step() {
        now_ += 50'000;
        std::vector<std::byte> bytes;
        for (auto& peer : peers_) {
            peer->client.tick(now_);
            std::span<const std::byte> out;
            while (peer->client.next_datagram(out)) peer->up.send(out, now_);
            while (peer->up.receive(bytes, now_)) server_->receive(bytes, peer->address, now_);
        }
        server_->tick(now_);
        for (const RpcLateCull& one : server_->rpc_late_culls()) late.push_back(one);
        std::vector<std::size_t> sizes(peers_.size(), 0);
        OutgoingDatagram out;
        while (server_->next_datagram(out)) {
            Peer& peer = *peers_[out.to.port - 1U];
            if (out.bytes[0] == std::byte{6}) sizes[out.to.port - 1U] += out.bytes.size();
            if (records) peer.sent_to.emplace_back(out.bytes.begin(), out.bytes.end());
            peer.down.send(out.bytes, now_);
        }
        for (const std::size_t size : sizes)
            largest_tick_bytes = std::max(largest_tick_bytes, size);
        for (auto& peer : peers_) {
            while (peer->down.receive(bytes, now_)) {
                peer->client.receive(bytes, now_);
                take(*peer);
            }
            take(*peer);
        }
    }
    void run(int ticks) {
        for (int i = 0; i < ticks; ++i) step();
    }

    std::vector<Called> called;     ///< RPCs of clients
    std::vector<RpcLateCull> late;  ///< late culls of all ticks
    std::function<void(Client&, const ReceivedRpc&)> check_call;
    std::size_t largest_tick_bytes = 0;
    bool records = false;

    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest& request) override {
        const auto which_client = static_cast<std::size_t>(request.name.front() - '0');
        players_[which_client] =
            server.world().spawn({.kind = schema_.player, .position = {280, 20, 0}});
        server.world().edit(players_[which_client], schema_.body)->tag = next_tag_++;
        (void)server.world().set_owner(players_[which_client], observer);
        observers_[which_client] = observer;
        ++joined_;
        return players_[which_client];
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server& server, Tick) override {
        if (next_) next_(server);
        next_ = nullptr;
    }
    void on_rpc(Server&, ObserverId observer, RpcId rpc, EntityId target,
                std::span<const std::byte> args) override {
        Called one{observer, rpc, target, {}};
        if (!read_args(Rpc<Ping>{rpc}, rpc, args, one.args)) std::abort();
        called.push_back(one);
    }

  private:
    void take(Peer& peer) {
        ReceivedRpc received;
        while (peer.client.next_rpc(received)) {
            if (check_call) check_call(peer.client, received);
            Got got{received.rpc, received.ghost, received.ghost_left, {}, 0};
            const auto args = received.as(Rpc<Ping>{received.rpc});
            if (!args) std::abort();
            got.args = *args;
            got.tag_of_ghost =
                peer.client.value_of(received.ghost, schema_.body.id, schema_.tag_field);
            peer.got.push_back(got);
        }
    }

    SmallSchema schema_;
    ServerDef def_;
    std::unique_ptr<Server> server_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::vector<EntityId> players_;
    std::vector<ObserverId> observers_;
    std::function<void(Server&)> next_;
    std::uint32_t next_tag_ = 1;
    std::uint32_t joined_ = 0;
    Micros now_ = 1'000'000;
};

}  // namespace purview::test
