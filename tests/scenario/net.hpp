// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A server and clients on a network that loses, delays and reorders, for scenarios that use only
// the public API. The test is the game: between steps it edits the world and compares the ghosts of
// clients with the relevant sets of the server.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client_events.hpp"
#include "faulty_network.hpp"
#include "purview/client.hpp"
#include "purview/server.hpp"
#include "small_game.hpp"

namespace purview::test {

/// Identifies an entity on a client. The number is unique within a world.
struct Tag {
    std::uint32_t number = 0;
    std::uint32_t value = 0;
};
/// Sent to the owner only.
struct Purse {
    std::uint16_t coins = 0;
};

struct TagSchema {
    TagSchema() {
        position = add_position(schema, -1000, 1000);
        tag = schema.component<Tag>("tag")
                  .integer("number", &Tag::number, 0, 0xffffffff)
                  .integer("value", &Tag::value, 0, 0xffffffff);
        purse = schema.component<Purse>("purse").integer("coins", &Purse::coins, 0, 0xffff);
        schema.audience(purse.id, {AudienceType::owner});
        thing = schema.kind("thing", {position.id, tag.id, purse.id});
        named = schema.kind("named", {position.id, tag.id, purse.id});
        rider = schema.kind("rider", {position.id, tag.id});
        schema.edit_kind(rider).relative_position = true;
        walker = schema.kind("walker", {position.id, tag.id});
        REQUIRE(schema.problem().empty());
        def.rules.kinds.resize(4);
        def.rules.kinds[index_of(named)].mode = EntityMode::explicit_only;
        def.rules.min = {-300, -300, 0};
        def.rules.max = {300, 300, 0};
    }
    Schema schema;
    Component<Position> position;
    Component<Tag> tag;
    Component<Purse> purse;
    KindId thing{};   ///< relevant by nodes
    KindId named{};   ///< relevant only to allowed observers
    KindId rider{};   ///< its position is relative to its parent
    KindId walker{};  ///< all its components are sent to every observer
    ServerDef def;
};

class Net final : public Game {
  public:
    struct Peer {
        Peer(const ClientDef& def, std::uint64_t seed, const Faults& faults)
            : client(def), up(mix64(seed), faults), down(mix64(seed + 1), faults) {}
        Client client;
        FaultyNetwork up, down;
        Address address;
        ObserverId observer = ObserverId::none;
        std::set<GhostId> shown;             ///< shown ghosts according to its events
        std::vector<ClientEvent> news;       ///< since the last take_news
        std::uint64_t bytes_down = 0;        ///< bytes sent to it
        std::uint64_t bytes_in_tick = 0;     ///< bytes sent to it in the last tick
        std::uint64_t unpaired = 0;          ///< repeated enters and leaves
        std::uint64_t duplicate_ghosts = 0;  ///< times that an entity had two ghosts
        std::uint64_t cycles = 0;            ///< times that parents formed a cycle
    };

    explicit Net(const TagSchema& schema, std::uint32_t clients, ServerDef def,
                 const Faults& faults = {}, std::uint64_t seed = 1)
        : faults_(faults), seed_(seed), schema_(&schema) {
        def.schema = &schema.schema;
        def.mac = &test_mac;
        def.secret = test_secret;
        def.sessions_per_host_max = 1'000;
        auto made = Server::create(def, *this);
        if (!made) FAIL(problem_of(def));
        server = std::make_unique<Server>(std::move(made).value());
        for (std::uint32_t i = 0; i < clients; ++i) connect();
        for (int i = 0; i < 300 && joined_count < clients; ++i) step();
        REQUIRE(joined_count == clients);
    }
    /// Adds a client, which joins during the next steps.
    std::uint32_t connect() {
        const auto index = static_cast<std::uint32_t>(peers.size());
        ClientDef def;
        def.nonce = seed_ * 1'000 + index + 1;
        def.name = std::to_string(index);
        peers.push_back(std::make_unique<Peer>(def, seed_ * 10'000 + index * 2, faults_));
        peers.back()->address.carrier = Address::Carrier::memory;
        peers.back()->address.port = static_cast<std::uint16_t>(index + 1);
        return index;
    }
    void set_faults(const Faults& faults) {
        faults_ = faults;
        for (auto& peer : peers) peer->up.faults = peer->down.faults = faults;
    }

    void step(std::uint32_t ticks = 1) {
        for (std::uint32_t t = 0; t < ticks; ++t) {
            now += 50'000;
            std::vector<std::byte> bytes;
            for (auto& peer : peers) {
                peer->client.tick(now);
                std::span<const std::byte> out;
                while (peer->client.next_datagram(out)) {
                    if (on_datagram) on_datagram(out, true);
                    peer->up.send(out, now);
                }
                while (peer->up.receive(bytes, now)) server->receive(bytes, peer->address, now);
                peer->bytes_in_tick = 0;
            }
            server->tick(now);
            OutgoingDatagram out;
            while (server->next_datagram(out)) {
                Peer& peer = *peers[out.to.port - 1U];
                if (on_datagram) on_datagram(out.bytes, false);
                peer.bytes_down += out.bytes.size();
                peer.bytes_in_tick += out.bytes.size();
                peer.down.send(out.bytes, now);
            }
            for (auto& peer : peers) {
                while (peer->down.receive(bytes, now)) {
                    peer->client.receive(bytes, now);
                    look(*peer);
                }
            }
        }
    }

    World& world() { return server->world(); }
    Visibility& visibility() { return server->visibility(); }
    Client& client(std::uint32_t c = 0) { return peers[c]->client; }
    ObserverId observer(std::uint32_t c = 0) const { return peers[c]->observer; }

    EntityId spawn(KindId kind, Vec3 at = {}) {
        const EntityId made = world().spawn({.kind = kind, .position = at});
        REQUIRE(made != EntityId::none);
        world().edit(made, schema_->tag)->number = ++tags_;
        return made;
    }
    std::uint32_t tag_of(EntityId entity) {
        const Tag* tag = world().get(entity, schema_->tag);
        return tag == nullptr ? 0 : tag->number;
    }
    void edit(EntityId entity, std::uint32_t value) {
        world().edit(entity, schema_->tag)->value = value;
    }
    /// The ghosts of a client, by tag.
    std::map<std::uint32_t, GhostId> held(std::uint32_t c = 0) const {
        std::map<std::uint32_t, GhostId> out;
        const Client& its = peers[c]->client;
        its.for_each([&](GhostId ghost) { out[number_of(its, ghost)] = ghost; });
        return out;
    }
    GhostId ghost(std::uint32_t c, EntityId entity) {
        const auto all = held(c);
        const auto found = all.find(tag_of(entity));
        return found == all.end() ? GhostId::none : found->second;
    }
    std::set<std::uint32_t> relevant_tags(std::uint32_t c = 0) {
        std::set<std::uint32_t> out;
        visibility().for_each_relevant(observer(c), [&](EntityId entity) {
            if (world().is_alive(entity)) out.insert(tag_of(entity));
        });
        return out;
    }
    std::vector<ClientEvent> take_news(std::uint32_t c = 0) {
        return std::exchange(peers[c]->news, {});
    }

    /// Describes how the state of a client differs from the server. Empty if it does not.
    std::string difference(std::uint32_t c = 0) {
        const Client& its = client(c);
        std::map<std::uint32_t, GhostId> left = held(c);
        std::map<EntityId, GhostId> ghosts;
        std::string text;
        visibility().for_each_relevant(observer(c), [&](EntityId entity) {
            if (!world().is_alive(entity)) return;
            const auto found = left.find(tag_of(entity));
            if (found == left.end()) {
                text += " missing " + std::to_string(tag_of(entity));
                return;
            }
            ghosts[entity] = found->second;
            left.erase(found);
        });
        for (const auto& [tag, ghost] : left) text += " extra " + std::to_string(tag);
        for (const auto& [entity, ghost] : ghosts) {
            const std::string name = std::to_string(tag_of(entity));
            if (its.value_of(ghost, schema_->tag.id, 1) != world().get(entity, schema_->tag)->value)
                text += " value of " + name;
            const EntityId parent = world().group_parent_of(entity);
            const auto above = ghosts.find(parent);
            if (its.parent_of(ghost) != (above == ghosts.end() ? GhostId::none : above->second))
                text += " parent of " + name;
            const bool is_mine = world().owner_of(entity) == observer(c);
            if (its.is_owned(ghost) != is_mine) text += " owner of " + name;
            const Vec3 here = its.position_of(ghost, its.newest_tick());
            const Vec3 there = world().position_of(entity);
            if (std::abs(here.x - there.x) > 0.05F || std::abs(here.y - there.y) > 0.05F)
                text += " position of " + name;
            if (const Purse* purse = world().get(entity, schema_->purse)) {
                const double coins = its.value_of(ghost, schema_->purse.id, 0);
                if (coins != (is_mine ? purse->coins : 0)) text += " purse of " + name;
            }
        }
        return text;
    }
    /// Steps until all clients equal the server. Returns the difference that remains after the
    /// maximum number of ticks.
    std::string settle(std::uint32_t ticks_max = 400) {
        std::string text;
        for (std::uint32_t t = 0; t < ticks_max; ++t) {
            step();
            text.clear();
            for (std::uint32_t c = 0; c < peers.size() && text.empty(); ++c) {
                text = difference(c);
                if (!text.empty()) text = "client " + std::to_string(c) + ":" + text;
            }
            if (text.empty() && t >= 3) break;
        }
        return text;
    }
    /// Checks that no client had duplicate or unordered events, duplicate ghosts or parent cycles.
    void check_streams() {
        for (const auto& peer : peers) {
            CHECK(peer->unpaired == 0);
            CHECK(peer->cycles == 0);
            CHECK(peer->duplicate_ghosts == 0);
            CHECK(peer->client.stats().order_violations == 0);
            CHECK(peer->client.stats().packets_malformed == 0);
        }
    }

    std::optional<EntityId> on_join(Server& its, ObserverId observer,
                                    const JoinRequest& request) override {
        const auto index = static_cast<std::size_t>(std::stoul(std::string(request.name)));
        peers[index]->observer = observer;
        ++joined_count;
        if (when_joined) when_joined(its, static_cast<std::uint32_t>(index));
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server& its, ObserverId observer, std::span<const std::byte> data) override {
        if (when_command) when_command(its, observer, data);
    }
    void on_message(Server&, ObserverId, std::span<const std::byte> bytes) override {
        messages.emplace_back(bytes.begin(), bytes.end());
    }
    void on_tick(Server& its, Tick tick) override {
        if (when_tick) when_tick(its, tick);
    }

    std::function<void(Server&, std::uint32_t)> when_joined;
    std::function<void(Server&, ObserverId, std::span<const std::byte>)> when_command;
    std::function<void(Server&, Tick)> when_tick;
    std::function<void(std::span<const std::byte>, bool to_server)> on_datagram;
    std::vector<std::vector<std::byte>> messages;  ///< received from clients
    std::unique_ptr<Server> server;
    std::vector<std::unique_ptr<Peer>> peers;
    std::uint32_t joined_count = 0;
    Micros now = 1'000'000;

  private:
    std::uint32_t number_of(const Client& its, GhostId ghost) const {
        return static_cast<std::uint32_t>(its.value_of(ghost, schema_->tag.id, 0));
    }
    /// Runs after each datagram: checks that events alternate and that ghosts are a forest without
    /// duplicates.
    void look(Peer& peer) {
        const Client& its = peer.client;
        for (const ClientEvent& event : lifetimes_of(its)) {
            peer.news.push_back(event);
            if (event.is_enter()) peer.unpaired += peer.shown.insert(event.ghost).second ? 0 : 1;
            if (event.is_leave()) peer.unpaired += peer.shown.erase(event.ghost) == 1 ? 0 : 1;
        }
        peer.client.clear_events();
        std::set<std::uint32_t> tags;
        std::set<GhostId> ghosts;
        its.for_each([&](GhostId ghost) {
            ghosts.insert(ghost);
            if (!tags.insert(number_of(its, ghost)).second) ++peer.duplicate_ghosts;
            GhostId at = ghost;
            std::uint32_t steps = 0;
            while (its.parent_of(at) != GhostId::none && steps++ <= its.ghost_count())
                at = its.parent_of(at);
            if (steps > its.ghost_count()) ++peer.cycles;
        });
        if (ghosts != peer.shown) ++peer.unpaired;
    }

    Faults faults_;
    std::uint64_t seed_;
    const TagSchema* schema_;
    std::uint32_t tags_ = 0;
};

}  // namespace purview::test
