// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A small world with everything that replication must handle: moving and idle entities, teams,
// cloaks, wagons that use the bounds of their groups, spawns and despawns. It includes a whole
// server with clients on faulty networks. Optional content uses its own random generators, so
// enabling it does not change the rest.
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
#include "record/io_recorder.hpp"
#include "rpc_ledger.hpp"

namespace purview::test {

struct Position {
    Vec3 at;
};
/// x and y at the start of the struct, as a Vec3, in steps of 1 cm. Becomes the schema's position.
Component<Position> add_position(Schema& schema, double min_m, double max_m);

struct Body {
    std::uint8_t team = 0;
    bool cloaked = false;
    std::uint16_t hp = 100;
    float facing = 0;
    std::uint32_t tag = 0;  ///< unique per entity of the small game
};

/// One field of every type that Body does not have.
struct Mind {
    char name[13] = {};
    EntityId target = EntityId::none;
    Rotation head;
    float effort = 0;
};
/// Replicated to the owner only.
struct Pack {
    std::uint16_t ammo = 0;
};
/// Replicated to the owner's team only; the last values are retained.
struct Orders {
    std::uint8_t order = 0;
    EntityId escort = EntityId::none;
};
/// Replicated to all but the owner.
struct Rumour {
    std::uint8_t mood = 0;
};
/// Replicated to the observers that the game chooses.
struct Scent {
    float score = 0;
};

/// Changes linearly most of the time.
struct Course {
    float heading = 0;
    std::int32_t cargo = 0;
    std::uint8_t gear = 0;  ///< not dead-reckoned
};

/// A page of a book; the pages use staged replication.
struct Page {
    char left[31] = {};
    char right[31] = {};
};

/// An audience that changes over time and with the animal's hp.
class SmallAudience final : public ComponentAudience {
  public:
    void decide(ObserverId observer, std::span<const EntityId> entities,
                std::span<std::uint8_t> allowed) const override;
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
    /// A full book exceeds a datagram. Empty if there are no books.
    static constexpr std::size_t pages_of_book = 20;
    std::vector<Component<Page>> pages;
    KindId player{}, animal{}, tree{}, wagon{}, crate{}, sheep{}, goat{};
    KindId book = KindId::none;
    // Used only with carts.
    Component<Gait> gait;
    Input<Reins> reins;
    KindId cart = KindId::none, mule = KindId::none;
    FlagId cloaked{};
    KeyId team{};
    // RPCs with every delivery, and entity RPCs with every policy; all have the same arguments.
    std::vector<Rpc<Ping>> pings;   ///< entity RPCs
    std::vector<Rpc<Ping>> booms;   ///< positional RPCs
    std::vector<Rpc<Ping>> news;    ///< without a target
    std::vector<Rpc<Ping>> uses;    ///< to the server, for any ghost
    Rpc<Ping> steer;                ///< to the server, for an owned ghost
    Rpc<Ping> order;                ///< the same, ordered
    std::vector<Rpc<Ping>> shouts;  ///< to the server, without a target, for players
    std::size_t tag_field = 0;      ///< in `body`
    static constexpr std::uint16_t hold_ticks = 40;
    Rpc<Ping> ping(RpcDelivery delivery, RpcPolicy policy) const {
        return pings[static_cast<std::size_t>(delivery) * 3 + static_cast<std::size_t>(policy)];
    }
};

/// Number of entities of each kind; a wagon has three crates.
struct SmallScale {
    std::uint32_t trees = 200;
    std::uint32_t animals = 150;
    std::uint32_t wagons = 10;
    /// Number of sheep and also of goats, in their own nodes with shared payloads; 0: no such
    /// nodes.
    std::uint32_t herd = 0;
    /// Entities larger than a packet, in their own node; 0: no such kind.
    std::uint32_t books = 0;
    /// Carts with a mule each, and clients that drive them; 0: no such kinds.
    std::uint32_t carts = 0;
    /// Gives nodes send intervals, priority weights and retention. An additional node has other
    /// values for entities close to an observer.
    bool node_settings = false;
    /// Limits how many animals, and wagons in round-robin order, are sent per tick. New entities
    /// have a higher priority.
    bool send_limits = false;
    /// Crates are culled independently, and a relevant crate keeps its wagon relevant.
    bool split_crates = false;
    /// About half of the clients have encrypted connections.
    bool encrypted = false;
};

/// An override of an entity, for one observer or for all.
struct Mark {
    enum class What : std::uint8_t { allow, deny, hide, show };
    What what = What::allow;
    ObserverId observer = ObserverId::none;  ///< for allow and deny only
    EntityId entity = EntityId::none;
    friend auto operator<=>(const Mark&, const Mark&) = default;
};

/// Advances the course by one tick.
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
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest& request) override;
    void on_leave(Server& server, ObserverId observer) override;
    void on_message(Server& server, ObserverId observer, std::span<const std::byte> bytes) override;
    void on_command(Server& server, ObserverId observer, std::span<const std::byte> data) override;
    void on_tick(Server& server, Tick tick) override;
    void on_input(Server& server, ObserverId observer, GroupState& group,
                  const GroupInput& command) override;
    void on_rpc(Server& server, ObserverId observer, RpcId rpc, EntityId target,
                std::span<const std::byte> args) override;
    check::TruthObserver describe(ObserverId observer) const;
    void describe_entity(check::TruthEntity& entity) const;
    bool is_marked(const Mark& mark) const { return marked_.contains(mark); }
    /// True if the entity or one of its ancestors has a deny mark.
    bool is_denied(const World& world, ObserverId observer, EntityId entity) const;
    /// Whether a call at this position reaches the observer, by its viewpoint; empty if it depends
    /// on the current rules.
    std::optional<bool> covers(const World& world, ObserverId observer, Vec3 position) const;
    const std::vector<EntityId>& wagons() const noexcept { return wagons_; }

    static constexpr float side_m = 300;
    /// Margin outside of the area that a position can encode.
    static constexpr float beside_m = 64;
    bool frozen = false;  ///< the world is idle
    bool refuse_joins = false;
    std::uint32_t calls_per_tick = 0;  ///< random calls per tick
    /// Interval of rule changes; 0: never.
    std::uint32_t ticks_between_rules = 0;
    std::uint64_t rule_changes = 0;
    /// Range of random byte budgets, [first, second). With probability 0.1 per tick, one observer
    /// gets a new one. Zeros: never.
    std::array<std::uint32_t, 2> budgets{};
    std::uint64_t budget_changes = 0;
    /// Number of new overrides per tick, each valid for a while; 0: none.
    std::uint32_t marks_per_tick = 0;
    /// Probability per tick that a wagon, crate or book changes its owner. If set, players also
    /// take and drop them.
    float owner_chance = 0;
    std::uint64_t owner_changes = 0;             ///< by the game and by players
    std::uint64_t owner_changes_by_players = 0;  ///< of these, by players
    RpcLedger* ledger = nullptr;
    Mail* mail = nullptr;  ///< null: the game sends no messages and ignores commands
    /// The client's nonce; used by `ledger` and `mail`.
    std::function<std::uint64_t(ObserverId)> client_of;
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
    void send_chat(Server& server);
    void send_chat(Server& server, ObserverId observer);
    ObserverId any_observer(SplitMix& random) const;
    EntityId anything(SplitMix& random) const;
    EntityId near_to(const World& world, ObserverId observer, SplitMix& random) const;
    static Vec3 position_by(SplitMix& random) {
        return {random.between(0, side_m), random.between(0, side_m), 0};
    }
    void give_tag(World& world, EntityId entity);
    Vec3 random_position() { return position_by(random_); }
    EntityId any_entity();
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
    std::deque<Mark> marks_;                  ///< current marks, oldest first
    std::set<Mark> marked_;                   ///< the same marks
    std::map<EntityId, std::uint64_t> laws_;  ///< parameters of the courses
    std::vector<EntityId> wagons_;
    std::vector<EntityId> crates_;
};

/// The example rules: near or same team, but not cloaked.
Rules small_rules(const SmallSchema& schema);
/// Adds two nodes with shared payloads: sheep by read many, goats by update many.
Rules shared_rules(const SmallSchema& schema);
/// Wagons use the bounds of their group, because their crates can be far away.
std::vector<KindRules> small_kinds(const SmallSchema& schema);
/// Adds the bindings of kinds to the nodes of shared_rules.
std::vector<KindRules> shared_kinds(const SmallSchema& schema);
/// Rules and kinds with everything that the scale enables.
Rules rules_of(const SmallSchema& schema, const SmallScale& scale);
std::vector<KindRules> kinds_of(const SmallSchema& schema, const SmallScale& scale);
inline constexpr std::array<std::byte, 32> test_secret{std::byte{42}};
void test_mac(std::span<const std::byte, 32> key, std::span<const std::byte> data,
              std::span<std::byte, 16> out);

struct SmallClient {
    explicit SmallClient(const ClientDef& def) : client(def), nonce(def.nonce) {}
    Client client;
    std::uint64_t nonce;
    ObserverId observer = ObserverId::none;  ///< set once the session is found
    std::uint32_t next_call = 1;
    std::unique_ptr<CartDriver> driver;  ///< null: no carts
    std::unique_ptr<FaultyNetwork> up;
    std::unique_ptr<FaultyNetwork> down;
    Address address;
};

class SmallWorld {
  public:
    SmallWorld(std::uint64_t seed, Faults faults, std::uint32_t budget_bytes = 4'800,
               SmallScale scale = {}, std::uint32_t truth_every_ticks = 1);
    SmallClient& add_client(Role role = Role::player, std::uint64_t schema_hash = 0);
    /// Changes the address from which the client sends.
    void change_address(SmallClient& client);
    /// Disconnects the client; the server receives the disconnect.
    void disconnect(SmallClient& client);
    /// Advances the server by one tick, and everything else by the same time.
    void step();
    void run(std::uint32_t ticks) {
        for (std::uint32_t i = 0; i < ticks; ++i) step();
    }
    std::uint32_t joined_count() const;
    /// Enables random calls between the game and its clients, checked by the ledger.
    void make_calls(std::uint32_t per_tick);
    /// Enables messages and commands between them.
    void send_mail();
    /// Number of reliable calls to and from this client that have not arrived.
    std::uint64_t missing_calls(const SmallClient& client) const;

    SmallSchema schema;
    SmallGame game;
    std::unique_ptr<KeyReader> key_reader;
    ServerDef def;
    std::unique_ptr<Server> server;
    std::unique_ptr<record::IoRecorder> recorder;  ///< records the server's input and output
    std::unique_ptr<Proof> proof;
    Permits permits;
    /// Called after every datagram that reached a client.
    std::function<void(SmallClient&)> received;
    std::unique_ptr<RpcLedger> ledger;  ///< with make_calls
    std::unique_ptr<Mail> mail;         ///< with send_mail
    std::vector<std::unique_ptr<SmallClient>> clients;
    Micros now = 1'000'000;
    Faults faults;
    std::uint64_t largest_tick_bytes = 0;  ///< to one client in one tick
    bool went_over_budget = false;         ///< a client was sent more than its budget
    std::uint64_t stale_addresses = 0;     ///< datagrams from a client's earlier address

  private:
    Address next_address();
    void find_observers();
    void know_clients();
    void call_server(SmallClient& client);
    /// Sends a command, a message, both or neither.
    void write_to_server(SmallClient& client);

    SplitMix random_;
    SplitMix call_random_{1};
    SplitMix command_random_{1};
    std::uint16_t addresses_ = 0;
};

}  // namespace purview::test
