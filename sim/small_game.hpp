// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A small world with everything that replication must carry: movers, things at rest, teams, cloaks,
// wagons with crates that count by their bounds, spawns and despawns; and a whole server with
// clients on faulty networks. Some of it is there only where it is asked for, by chance of its own,
// so that everything else goes on as it did.
#pragma once

#include <array>
#include <compare>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "carts.hpp"
#include "core/hash.hpp"
#include "faulty_network.hpp"
#include "mail.hpp"
#include "oracle/truth.hpp"
#include "permits.hpp"
#include "proof.hpp"
#include "purview/client.hpp"
#include "purview/server.hpp"
#include "record/border.hpp"
#include "rpc_ledger.hpp"

namespace purview::test {

struct Position {
    Vec3 at;
};
/// x and y at the start of the struct, as a Vec3, in steps of 1 cm. It is the schema's place.
Component<Position> add_position(Schema& schema, double min_m, double max_m);

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
    float score = 0;
};

/// Mostly goes on as it did.
struct Course {
    float heading = 0;
    std::int32_t cargo = 0;
    std::uint8_t gear = 0;  ///< of another kind: it is not extrapolated
};

/// Of a book, whose pages are told in turn.
struct Page {
    char left[31] = {};
    char right[31] = {};
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
    explicit SmallSchema(bool has_books = false, bool has_carts = false);
    void declare_calls();
    void declare_books();
    void declare_carts();
    Schema schema;
    Component<Position> position;
    Component<Body> body;
    Component<Mind> mind;
    Component<Pack> pack;
    Component<Orders> orders;
    Component<Rumour> rumour;
    Component<Scent> scent;
    Component<Course> course;
    std::unique_ptr<SmallAudience> audience = std::make_unique<SmallAudience>();
    /// More than a datagram when they are full; none where there are no books.
    static constexpr std::size_t pages_of_book = 20;
    std::vector<Component<Page>> pages;
    KindId player{}, animal{}, tree{}, wagon{}, crate{}, sheep{}, goat{};
    KindId book = KindId::none;
    // Where there are carts.
    Component<Gait> gait;
    Input<Reins> reins;
    KindId cart = KindId::none, mule = KindId::none;
    FlagId cloaked{};
    KeyId team{};
    // Calls: every delivery, and for entities every policy; all with the same arguments.
    std::vector<Rpc<Ping>> pings;   ///< about entities
    std::vector<Rpc<Ping>> booms;   ///< about places
    std::vector<Rpc<Ping>> news;    ///< static
    std::vector<Rpc<Ping>> uses;    ///< to the server, about any ghost
    Rpc<Ping> steer;                ///< to the server, about one's own
    Rpc<Ping> order;                ///< the same, in order
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
    /// Larger than a packet, in a node of their own; 0: there is no such kind.
    std::uint32_t books = 0;
    /// Each with a mule, and clients that drive them; 0: there are no such kinds.
    std::uint32_t carts = 0;
    /// Nodes say how often, how urgently and what becomes of copies; one more node beside the
    /// first says otherwise of who is at hand.
    bool node_settings = false;
    /// No more than a part of the animals, and of the wagons by turns, goes in one tick, and what
    /// is new before what is known.
    bool send_limits = false;
    /// Crates are judged by themselves, and whoever sees one sees the wagon that it hangs on to.
    bool split_crates = false;
};

/// What the game says of an entity by hand, to one observer or to all.
struct Mark {
    enum class What : std::uint8_t { allow, deny, hide, show };
    What what = What::allow;
    ObserverId observer = ObserverId::none;  ///< of allow and deny
    EntityId entity = EntityId::none;
    friend auto operator<=>(const Mark&, const Mark&) = default;
};

/// One tick by this law.
void drift(Course& course, std::uint64_t law);

class SmallGame final : public Game {
  public:
    SmallGame(const SmallSchema& schema, std::uint64_t seed, SmallScale scale = {})
        : carts(schema, mix64(seed + 7)),
          schema_(&schema),
          scale_(scale),
          random_(seed),
          call_random_(mix64(seed)),
          rule_random_(mix64(seed + 1)),
          herd_random_(mix64(seed + 2)),
          book_random_(mix64(seed + 3)),
          mark_random_(mix64(seed + 4)),
          owner_random_(mix64(seed + 5)),
          mail_random_(mix64(seed + 6)) {}
    void populate(World& world);
    bool joined(Server& server, ObserverId observer, const JoinRequest& request) override;
    void left(Server& server, ObserverId observer) override;
    void message(Server& server, ObserverId observer, std::span<const std::byte> bytes) override;
    void command(Server& server, ObserverId observer, std::span<const std::byte> data) override;
    void simulate(Server& server, Tick tick) override;
    void input(Server& server, ObserverId observer, GroupState& group,
               const GroupInput& command) override;
    void rpc(Server& server, ObserverId observer, RpcId rpc, EntityId target,
             std::span<const std::byte> args) override;
    check::TruthObserver describe(ObserverId observer) const;
    void describe_entity(check::TruthEntity& entity) const;
    bool is_marked(const Mark& mark) const { return marked_.contains(mark); }
    /// By hand, as what it is or as its group's root.
    bool is_denied(const World& world, ObserverId observer, EntityId entity) const;
    /// Whether a call at this place reaches him, by where he looks from; nothing where it depends
    /// on rules that change.
    std::optional<bool> covers(const World& world, ObserverId observer, Vec3 position) const;
    const std::vector<EntityId>& wagons() const noexcept { return wagons_; }

    static constexpr float side_m = 300;
    static constexpr float beside_m = 64;  ///< so far outside a place can be told
    bool frozen = false;                   ///< the world rests
    bool refuse_joins = false;
    std::uint32_t calls_per_tick = 0;  ///< so many, at random
    /// Other rules so often; 0: never.
    std::uint32_t ticks_between_rules = 0;
    std::uint64_t rule_changes = 0;
    /// Now and then somebody has another budget, from the first to less than the second of these
    /// bytes; zeros: nobody.
    std::array<std::uint32_t, 2> budgets{};
    std::uint64_t budget_changes = 0;
    /// So many things are allowed, denied, hidden or shown by hand, each for a while; 0: none.
    std::uint32_t marks_per_tick = 0;
    /// That a wagon, crate or book has another owner; players then take and drop them, too.
    float owner_chance = 0;
    std::uint64_t owner_changes = 0;  ///< of both
    std::uint64_t owners_asked = 0;   ///< by players, of these
    RpcLedger* ledger = nullptr;
    Mail* mail = nullptr;  ///< null: the game says nothing, and hears of no command
    std::function<std::uint64_t(ObserverId)> client_of;  ///< by which these two know it
    std::uint64_t commands = 0;
    std::uint64_t messages = 0;
    std::map<std::uint32_t, EntityId> players;
    std::map<std::uint32_t, Vec3> cameras;
    std::vector<EntityId> movers;
    Carts carts;

  private:
    void make_calls(Server& server);
    void change_rules(Server& server);
    void change_budgets(Server& server);
    void live_herd(World& world);
    void live_books(World& world);
    EntityId new_book(World& world);
    void write_page(World& world, EntityId book, std::size_t page);
    void make_marks(Server& server);
    static void set_mark(Server& server, const Mark& mark, bool value);
    void change_owners(World& world);
    void take_or_drop(World& world, ObserverId observer);
    void set_owner(World& world, EntityId thing, ObserverId owner);
    void say_something(Server& server);
    void say(Server& server, ObserverId observer);
    ObserverId any_observer(SplitMix& random) const;
    EntityId anything(SplitMix& random) const;
    EntityId near_to(const World& world, ObserverId observer, SplitMix& random) const;
    static Vec3 position_by(SplitMix& random) {
        return {random.between(0, side_m), random.between(0, side_m), 0};
    }
    void give_tag(World& world, EntityId entity);
    Vec3 random_position() { return position_by(random_); }
    EntityId anybody();
    void think(World& world, EntityId entity);
    void go_on(World& world, EntityId entity);
    const SmallSchema* schema_;
    SmallScale scale_;
    SplitMix random_;
    SplitMix call_random_;
    SplitMix rule_random_;
    SplitMix herd_random_;
    SplitMix book_random_;
    SplitMix mark_random_;
    SplitMix owner_random_;
    SplitMix mail_random_;
    std::uint32_t next_tag_ = 1;
    std::uint32_t next_call_ = 1;
    std::vector<EntityId> herd_;
    std::vector<EntityId> books_;
    std::deque<Mark> marks_;                  ///< in force, oldest first
    std::set<Mark> marked_;                   ///< the same
    std::map<EntityId, std::uint64_t> laws_;  ///< by which courses go on
    std::vector<EntityId> wagons_;
    std::vector<EntityId> crates_;
};

/// The RFC's example: near or same team, but not cloaked.
Rules small_rules(const SmallSchema& schema);
/// The same, and two nodes in shared modes: sheep by read many, goats by update many.
Rules shared_rules(const SmallSchema& schema);
/// Wagons count by the bounds of their group: crates hang on to them from afar.
std::vector<KindRules> small_kinds(const SmallSchema& schema);
/// The same, and binds kinds to the nodes of shared_rules.
std::vector<KindRules> shared_kinds(const SmallSchema& schema);
/// With all that the scale asks for.
Rules rules_of(const SmallSchema& schema, const SmallScale& scale);
std::vector<KindRules> kinds_of(const SmallSchema& schema, const SmallScale& scale);
inline constexpr std::array<std::byte, 32> test_secret{std::byte{42}};
void test_mac(std::span<const std::byte, 32> key, std::span<const std::byte> data,
              std::span<std::byte, 16> out);

struct SmallClient {
    explicit SmallClient(const ClientDef& def) : client(def), nonce(def.nonce) {}
    Client client;
    std::uint64_t nonce;
    ObserverId observer = ObserverId::none;  ///< once it has been seen as one
    std::uint32_t next_call = 1;
    std::unique_ptr<CartDriver> driver;  ///< null: there are no carts
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
    /// It leaves, and the server hears it.
    void say_good_bye(SmallClient& client);
    /// One tick of the server, and as much of everything else.
    void step();
    void run(std::uint32_t ticks) {
        for (std::uint32_t i = 0; i < ticks; ++i) step();
    }
    std::uint32_t joined_count() const;
    /// From now on the game and its clients call each other at random, and the ledger checks it.
    void make_calls(std::uint32_t per_tick);
    /// From now on they also send each other messages and commands.
    void send_mail();
    /// Reliable calls of this client and to it that have not arrived.
    std::uint64_t missing_calls(const SmallClient& client) const;

    SmallSchema schema;
    SmallGame game;
    ServerDef def;
    std::unique_ptr<Server> server;
    std::unique_ptr<record::Border> border;  ///< of the server
    std::unique_ptr<Proof> proof;
    Permits permits;
    std::function<void(SmallClient&)> received;  ///< after every datagram that reached a client
    std::unique_ptr<RpcLedger> ledger;           ///< with make_calls
    std::unique_ptr<Mail> mail;                  ///< with send_mail
    std::vector<std::unique_ptr<SmallClient>> clients;
    Micros now = 1'000'000;
    Faults faults;
    std::uint64_t largest_tick_bytes = 0;  ///< to one client in one tick
    bool went_over_budget = false;         ///< somebody was sent more than he may be
    std::uint64_t stale_addresses = 0;     ///< datagrams from where a client was before

  private:
    Address next_address();
    void find_observers();
    void know_clients();
    void call_server(SmallClient& client);
    /// With a command, a message, or neither.
    void write_to_server(SmallClient& client);

    SplitMix random_;
    SplitMix call_random_{1};
    SplitMix command_random_{1};
    std::uint16_t addresses_ = 0;
};

}  // namespace purview::test
