// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A small world with everything that replication must carry: movers, things at rest, teams, cloaks,
// wagons with crates that count by their bounds, spawns and despawns; and a whole server with
// clients on faulty networks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "check/truth.hpp"
#include "core/hash.hpp"
#include "faulty_network.hpp"
#include "proof.hpp"
#include "purview/client.hpp"
#include "purview/server.hpp"
#include "record/border.hpp"
#include "rpc_ledger.hpp"

namespace purview::test {

struct Place {
    Vec3 at;
};
/// x and y at the start of the struct, as a Vec3, in steps of 1 cm. It is the schema's place.
Component<Place> add_place(Schema& schema, double min_m, double max_m);

struct Body {
    std::uint8_t team = 0;
    bool cloaked = false;
    std::uint16_t hp = 100;
    float facing = 0;
    std::uint32_t tag = 0;  ///< of the small game: never the same twice
};

/// A field of every type that Body has not.
struct Mind {
    char name[13] = {};
    EntityId target = EntityId::none;
    Rotation head;
    float effort = 0;
};
/// Only the owner is told.
struct Pack {
    std::uint16_t ammo = 0;
};
/// Only the owner's team is told; the last values stay.
struct Orders {
    std::uint8_t order = 0;
    EntityId escort = EntityId::none;
};
/// All but the owner are told.
struct Rumour {
    std::uint8_t mood = 0;
};
/// Whoever the game says is told.
struct Scent {
    float strength = 0;
};

/// Mostly goes on as it did.
struct Course {
    float heading = 0;
    std::int32_t cargo = 0;
    std::uint8_t gear = 0;  ///< of another kind: it is not extrapolated
};

/// Changes its mind with the tick and with what the animal is.
class SmallAudience final : public ComponentAudience {
  public:
    void decide(ObserverId observer, std::span<const EntityId> entities,
                std::span<std::uint8_t> told) const override;
    const Server* server = nullptr;
    Component<Body> body;
};

struct SmallSchema {
    SmallSchema();
    void declare_calls();
    Schema schema;
    Component<Place> place;
    Component<Body> body;
    Component<Mind> mind;
    Component<Pack> pack;
    Component<Orders> orders;
    Component<Rumour> rumour;
    Component<Scent> scent;
    Component<Course> course;
    std::unique_ptr<SmallAudience> audience = std::make_unique<SmallAudience>();
    KindId player{}, animal{}, tree{}, wagon{}, crate{}, sheep{}, goat{};
    FlagId cloaked{};
    KeyDomain team{};
    // Calls: every delivery, and for entities every policy; all with the same arguments.
    std::vector<Rpc<Ping>> pings;   ///< about entities
    std::vector<Rpc<Ping>> booms;   ///< about places
    std::vector<Rpc<Ping>> news;    ///< static
    std::vector<Rpc<Ping>> uses;    ///< to the server, about any ghost
    Rpc<Ping> steer;                ///< to the server, about one's own
    std::vector<Rpc<Ping>> shouts;  ///< to the server, static, of players
    std::size_t tag_field = 0;      ///< of body
    static constexpr std::uint16_t hold_ticks = 40;
    Rpc<Ping> ping(RpcDelivery delivery, RpcPolicy policy) const {
        return pings[static_cast<std::size_t>(delivery) * 3 + static_cast<std::size_t>(policy)];
    }
};

/// How many there are of each kind; a wagon has three crates.
struct SmallScale {
    std::uint32_t trees = 200;
    std::uint32_t animals = 150;
    std::uint32_t wagons = 10;
    /// Sheep, and as many goats, in nodes of their own with shared modes; 0: no such nodes.
    std::uint32_t herd = 0;
};

/// One tick by this law.
void drift(Course& course, std::uint64_t law);

class SmallGame final : public Game {
  public:
    SmallGame(const SmallSchema& schema, std::uint64_t seed, SmallScale scale = {})
        : schema_(&schema),
          scale_(scale),
          random_(seed),
          call_random_(mix64(seed)),
          rule_random_(mix64(seed + 1)),
          herd_random_(mix64(seed + 2)) {}
    void populate(World& world);
    bool joined(Server& server, ObserverId observer, const JoinRequest& request) override;
    void left(Server& server, ObserverId observer) override;
    void command(Server& server, ObserverId observer, std::span<const std::byte> data) override;
    void simulate(Server& server, Tick tick) override;
    void rpc(Server& server, ObserverId observer, RpcId rpc, EntityId target,
             std::span<const std::byte> args) override;
    check::TruthObserver describe(ObserverId observer) const;
    const std::vector<EntityId>& wagons() const noexcept { return wagons_; }

    static constexpr float side_m = 300;
    bool frozen = false;  ///< the world rests
    bool refuse_joins = false;
    std::uint32_t calls_per_tick = 0;  ///< so many, at random
    /// Other rules so often; 0: never.
    std::uint32_t ticks_between_rules = 0;
    std::uint64_t rule_changes = 0;
    RpcLedger* ledger = nullptr;
    std::function<std::uint64_t(ObserverId)> client_of;  ///< by which the ledger knows it
    std::uint64_t commands = 0;
    std::map<std::uint32_t, EntityId> players;
    std::map<std::uint32_t, Vec3> cameras;
    std::vector<EntityId> movers;

  private:
    void make_calls(Server& server);
    void change_rules(Server& server);
    void live_herd(World& world);
    Vec3 place_of_herd() {
        return {herd_random_.between(0, side_m), herd_random_.between(0, side_m), 0};
    }
    void give_tag(World& world, EntityId entity);
    Vec3 random_place() { return {random_.between(0, side_m), random_.between(0, side_m), 0}; }
    EntityId anybody();
    void think(World& world, EntityId entity);
    void go_on(World& world, EntityId entity);
    const SmallSchema* schema_;
    SmallScale scale_;
    SplitMix random_;
    SplitMix call_random_;
    SplitMix rule_random_;
    SplitMix herd_random_;
    std::uint32_t next_tag_ = 1;
    std::uint32_t next_call_ = 1;
    std::vector<EntityId> herd_;
    std::map<EntityId, std::uint64_t> laws_;  ///< by which courses go on
    std::vector<EntityId> wagons_;
    std::vector<EntityId> crates_;
};

/// The RFC's example: near or same team, but not cloaked.
InterestRules small_rules(const SmallSchema& schema);
/// The same, and two nodes in shared modes: sheep by read many, goats by update many.
InterestRules shared_rules(const SmallSchema& schema);
/// Wagons count by the bounds of their group: crates hang on to them from afar.
std::vector<KindInterest> small_kinds(const SmallSchema& schema);
/// The same, and binds kinds to the nodes of shared_rules.
std::vector<KindInterest> shared_kinds(const SmallSchema& schema);
void test_mac(std::span<const std::byte, 32> key, std::span<const std::byte> data,
              std::span<std::byte, 16> out);

struct SmallClient {
    explicit SmallClient(const ClientDef& def) : client(def), nonce(def.nonce) {}
    Client client;
    std::uint64_t nonce;
    ObserverId observer = ObserverId::none;  ///< once it has been seen as one
    std::uint32_t next_call = 1;
    std::unique_ptr<FaultyNetwork> up;
    std::unique_ptr<FaultyNetwork> down;
    Address address;
};

class SmallWorld {
  public:
    SmallWorld(std::uint64_t seed, Faults faults, std::uint32_t budget_bytes = 4'800,
               SmallScale scale = {}, std::uint32_t truth_every_ticks = 1);
    SmallClient& add_client(Role role = Role::player, std::uint64_t schema_hash = 0);
    /// From now on it speaks from another address.
    void change_address(SmallClient& client);
    /// One tick of the server, and as much of everything else.
    void step();
    void run(std::uint32_t ticks) {
        for (std::uint32_t i = 0; i < ticks; ++i) step();
    }
    std::uint32_t joined_count() const;
    /// From now on the game and its clients call each other at random, and the ledger checks it.
    void make_calls(std::uint32_t per_tick);
    /// Reliable calls of this client and to it that have not arrived.
    std::uint64_t missing_calls(const SmallClient& client) const;

    SmallSchema schema;
    SmallGame game;
    ServerDef def;
    std::unique_ptr<Server> server;
    std::unique_ptr<record::Border> border;  ///< of the server
    std::unique_ptr<Proof> proof;
    std::unique_ptr<RpcLedger> ledger;  ///< with make_calls
    std::vector<std::unique_ptr<SmallClient>> clients;
    Micros now = 1'000'000;
    Faults faults;
    std::uint64_t largest_tick_bytes = 0;  ///< to one client in one tick

  private:
    Address next_address();
    void find_observers();
    void call_server(SmallClient& client);

    SplitMix random_;
    SplitMix call_random_{1};
    std::uint16_t addresses_ = 0;
};

}  // namespace purview::test
