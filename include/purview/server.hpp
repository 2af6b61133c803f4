// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// A complete server without system calls: datagrams in, ticks, datagrams out. The caller owns
/// clock, sockets and threads. One thread calls everything here. The game is a callback that edits
/// the world; interest and replication follow from its edits. Errors are listed as "Errors: status
/// (condition)"; after an error nothing has changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "purview/connection.hpp"
#include "purview/encryption.hpp"
#include "purview/events.hpp"
#include "purview/group_input.hpp"
#include "purview/interest.hpp"
#include "purview/limits.hpp"
#include "purview/rewind.hpp"
#include "purview/rpc.hpp"
#include "purview/rules.hpp"
#include "purview/schema.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"
#include "purview/world.hpp"

namespace purview {

/// @addtogroup api_server
/// @{

class Server;

/// The data that a client sends to join. Name and credential are untrusted bytes. Without an
/// encrypted connection they can be read on the way: use a signed single-use ticket as the
/// credential, never a password. Valid during the call.
struct JoinRequest {
    /// The requested role.
    Role role = Role::player;
    std::string_view name;                  ///< at most limits::join_name_bytes
    std::span<const std::byte> credential;  ///< at most limits::credential_bytes
    /// The user of the client's connect token, as the game's backend wrote it; 0 without a token.
    std::uint64_t user_id = 0;
    /// Data of the connect token, as the game's backend wrote them; empty without a token.
    std::span<const std::byte> user_data;
    /// Id of the request: the same in each call about it, unique on this server.
    std::uint64_t number = 0;
};

/// The result of Game::on_admit: `return Admission::accept;`, `return {Admission::refuse, "not
/// today"};`.
struct Admission {
    /// The decision. `wait`: on_admit is called again in the next tick.
    enum Answer : std::uint8_t {
        refuse = 0,  ///< the client is refused with RefuseReason::join
        accept = 1,  ///< on_join follows
        wait = 2     ///< no decision yet
    };

    /// Creates a result; implicit, so that on_admit can return an Answer.
    Admission(Answer its_answer, std::string its_text = {})
        : answer(its_answer), text(std::move(its_text)) {}

    Answer answer;     ///< the decision
    std::string text;  ///< for Client::reason_text if refused; cut at limits::reason_text_bytes
};

/// The game. Server::tick calls it on the thread of the tick, in this order: on_admit and on_join
/// of new clients; then for each session its messages, commands, inputs and RPCs; then on_leave of
/// clients that are gone; then on_tick. Callbacks may edit the world and call Server::visibility().
/// They must not call Server::tick or Server::receive, and must not throw.
class Game {
  public:
    virtual ~Game() = default;
    /// Decides whether a client may join. After `wait` it is called again in every tick. When
    /// ServerDef::join_timeout_ms have passed since the address was proven, the session is closed
    /// with CloseReason::never_joined. A tick accepts at most limits::joins_per_tick clients; the
    /// others wait without a call.
    virtual Admission on_admit(Server& server, const JoinRequest& request) {
        (void)server, (void)request;
        return Admission::accept;
    }
    /// Adds a client that on_admit accepted. Returns the entity that the client views from.
    /// EntityId::none: no entity (areas can still be set here), or the one that this call has set.
    /// The observer becomes ready after the call; send_message, call and close already work.
    /// std::nullopt refuses the client without a text, and discards messages sent to it here. An
    /// entity that does not exist is asserted; in release builds it refuses the client too.
    virtual std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                            const JoinRequest& request) = 0;
    /// Called after a client is gone. The observer id is still valid. The game despawns the
    /// client's entities.
    virtual void on_leave(Server& server, ObserverId observer) { (void)server, (void)observer; }
    /// Receives a message of a client (Client::send_message): reliable and in order. `bytes` are
    /// untrusted, at most limits::message_bytes, and valid during the call. The game must limit
    /// their rate and check their content. No further messages of a client arrive after
    /// Server::close.
    virtual void on_message(Server& server, ObserverId observer, std::span<const std::byte> bytes) {
        (void)server, (void)observer, (void)bytes;
    }
    /// Receives a command of a client (Client::send_command): in order, at most once; commands can
    /// be lost. `data` is untrusted, at most limits::command_bytes, and valid during the call.
    virtual void on_command(Server& server, ObserverId observer, std::span<const std::byte> data) {
        (void)server, (void)observer, (void)data;
    }
    /// Receives one input of a client for one group, in order. There is one per tick for each owner
    /// and group, and more while the client catches up. Parts belong to members that the client
    /// owns, and are within their ranges; a `real` may be infinite or NaN. Step the group as the
    /// client does: see GroupStep.
    ///
    /// Edits of `group` are edits of the world. After the call, predicted components of owned
    /// members are rounded to their wire format. The position component of a member with a relative
    /// position is a copy. It is written after the call, unless the callback moved, attached or
    /// detached the member: do that in on_tick.
    virtual void on_input(Server& server, ObserverId observer, GroupState& group,
                          const GroupInput& command) {
        (void)server, (void)observer, (void)group, (void)command;
    }
    /// Receives an RPC of a client, after its commands of the tick. The server has checked the RPC
    /// type, that its ghost is relevant to the client, and that the caller is allowed. `target`:
    /// none for an RPC without an entity. `args`: the struct of the RPC, untrusted but within its
    /// ranges; a `real` may be infinite or NaN. See read_args.
    virtual void on_rpc(Server& server, ObserverId observer, RpcId rpc, EntityId target,
                        std::span<const std::byte> args) {
        (void)server, (void)observer, (void)rpc, (void)target, (void)args;
    }
    /// Runs the simulation. Called exactly once per tick.
    virtual void on_tick(Server& server, Tick tick) = 0;
};

/// An enter or a leave of an entity for an observer, on the server.
struct ServerEvent {
    ObserverId observer;  ///< may be gone by now
    EntityId entity;      ///< may be despawned by now
    KindId kind;          ///< valid even if the entity is gone
    Reason reason;        ///< why it entered or left
    /// What happens to the ghost.
    Change change;
    std::uint64_t observer_data = 0;  ///< Visibility::set_user_data
    /// SpawnDef::user_data; 0 if the entity was despawned before this tick and its index is in use
    /// again.
    std::uint64_t entity_data = 0;

    /// Returns whether it counts as an enter.
    bool is_enter(EventMode mode = EventMode::paired) const noexcept {
        return purview::is_enter(change, mode);
    }
    /// Returns whether it counts as a leave.
    bool is_leave(EventMode mode = EventMode::paired) const noexcept {
        return purview::is_leave(change, mode);
    }
};

/// Carriers over which a server accepts connections that are not encrypted. Enable one only if it
/// protects its datagrams itself (TLS), on loopback, or in a trusted network.
struct PlainCarriers {
    bool udp = false;         ///< UDP datagrams
    bool web_socket = false;  ///< frames of a WebSocket
    bool memory = true;       ///< a transport of the program, also if its addresses have no carrier

    /// Returns whether a connection over this carrier may be plain.
    constexpr bool allows(Address::Carrier carrier) const noexcept {
        switch (carrier) {
            case Address::Carrier::udp:
                return udp;
            case Address::Carrier::web_socket:
                return web_socket;
            case Address::Carrier::memory:
            case Address::Carrier::none:
                return memory;
        }
        return false;
    }
};

/// The configuration of a server.
struct ServerDef {
    /// Not owned; outlives the server and does not change.
    const Schema* schema = nullptr;
    /// Interest rules. The schema names flags, keys, values and kinds; names in the rules are
    /// ignored. Rules of kinds: `rules.for_kind(kind)`.
    Rules rules;
    /// Sent to clients (Client::world_name); cut at 63 bytes.
    std::string world_name;
    std::uint32_t entities_max = 1U << 20;  ///< at least 1
    std::uint16_t group_members_max = 64;   ///< per group, its root included; at least 1
    std::uint16_t group_depth_max = 8;      ///< generations under a root, at most 64
    std::uint32_t tick_hz = 20;             ///< ticks per second, 1 to 1,000
    /// UDP payload for one observer in one tick, summed over its data packets; never exceeded. At
    /// least 128, and more if session_timeout_ms is above 15 s (docs/limits.md). Server::set_budget
    /// changes it for one client.
    std::uint32_t budget_bytes_per_tick = 4'800;
    /// Weight of enters in the send order, relative to updates; 1e-6 to 1e6.
    float enter_priority = 1;
    /// Maximum number of sessions, up to 1,048,544. The default is what one core serves at 20 Hz,
    /// with room for more (docs/limits.md).
    std::uint32_t sessions_max = 1'000;
    /// Maximum number of the sessions that have proven their address but have not joined; they
    /// count towards sessions_max. This includes clients that on_admit lets wait. Further clients
    /// repeat their answer until there is room.
    std::uint32_t sessions_unjoined_max = 256;
    /// Maximum number of sessions of one host. An IPv6 /56 may have 4 times as many, an IPv6 /48 or
    /// IPv4 /24 16 times.
    std::uint32_t sessions_per_host_max = 16;
    /// Time without a packet of a client, or without one that acknowledges a packet, after which
    /// its session is closed.
    std::uint32_t session_timeout_ms = 10'000;
    std::uint32_t join_timeout_ms = 5'000;  ///< from the proof of the address to the join
    std::uint32_t malformed_max = 32;       ///< malformed packets of a session; one more closes it
    InputSettings input;                    ///< inputs of clients
    RewindSettings rewind;                  ///< history for lag compensation
    /// Key of challenges: 32 random secret bytes, new for each process. Zeros are refused.
    std::array<std::byte, 32> secret{};
    /// Keyed hash for challenges. Required. Refused if it returns the same for different data.
    MacFunction mac = nullptr;
    /// Carriers without encryption.
    PlainCarriers plain;
    /// Reads the keys of encrypted connections. Not owned; outlives the server. null: no connection
    /// is encrypted.
    KeyReader* key_reader = nullptr;
    /// The functions of encrypted connections, such as net::encryption. Required with key_reader.
    Encryption encryption;
    /// Receives the reason if create refuses the definition, warnings about rules and kinds, and
    /// for each component the first value outside of its range in the schema.
    LogSink log;
    /// Clock for the counters "tick.*_us"; null: they stay 0. With an executor it is called on any
    /// of its threads.
    Micros (*clock)() = nullptr;
};

/// A datagram to send. Valid until the next call that may send: receive, tick, next_datagram,
/// close, shut_down.
struct OutgoingDatagram {
    Address to;                        ///< as it was passed to Server::receive
    std::span<const std::byte> bytes;  ///< 1 to limits::datagram_bytes
};

/// A counter with its name, for example {"drop.bad_cookie", 17}. "drop.", "input.", "rewind." and
/// "rpc." are totals since the server was created, but "rewind.history_bytes" and
/// "rewind.index_bytes" are current sizes. "tick.encode_us" is the duration of a stage of the last
/// tick, and the mean of the threads if several work on it.
struct Counter {
    std::string_view name;  ///< static storage
    std::uint64_t value;    ///< a total, bytes, or microseconds, as the name states
};

/// Totals of a server since its creation, and current numbers.
struct ServerStats {
    std::uint32_t sessions = 0;         ///< sessions now, joined or not
    std::uint32_t observers_ready = 0;  ///< joined sessions now
    /// Entities now.
    std::uint32_t entities = 0;
    std::uint64_t enters = 0;           ///< including those of HostView players
    std::uint64_t leaves = 0;           ///< as `enters`, and those of clients that disconnected
    std::uint64_t bytes_sent = 0;       ///< UDP or frame payload
    std::uint64_t bytes_received = 0;   ///< as bytes_sent, also of datagrams that are refused
    std::uint64_t reference_bytes = 0;  ///< of reference clients; not in bytes_sent
    /// Encoded entity bodies. Each worker encodes its own, so more workers encode more.
    std::uint64_t encodings = 0;
    std::uint64_t encoding_uses = 0;  ///< entity bodies sent
    /// Longest time, in ticks, for which a change has waited to be sent. Computed over all sessions
    /// when it is read.
    Tick backlog_age_ticks_max = 0;
    std::uint64_t bad_positions = 0;  ///< edits of positions that were not finite
    /// Values that were clamped to their range, because they are outside of it by more than
    /// rounding, or are NaN. Counted each time that a field leaves its range. The range in the
    /// schema is too small.
    std::uint64_t clamped_values = 0;
    /// Entity of the last clamped value.
    EntityId clamped_entity = EntityId::none;
    /// Component of the last clamped value.
    ComponentId clamped_component = ComponentId::none;
    /// Entities of which only some components were sent, because not all fit
    /// (AudienceType::staged).
    std::uint64_t split_updates = 0;
    /// Ghosts with changes that KindDef::limit_per_tick delayed, summed over observers and ticks.
    /// Also counts those that were sent because another ghost needed them.
    std::uint64_t limited_updates = 0;
    /// Shared cell payloads (docs/shared.md) that were encoded for all observers of a cell.
    std::uint64_t cell_payloads = 0;
    std::uint64_t cell_payload_copies = 0;     ///< sent whole to an observer
    std::uint64_t cell_payloads_stripped = 0;  ///< encoded for one observer, without hidden members
    /// Did not fit into the budget of an observer, which receives these changes individually.
    std::uint64_t cell_payloads_skipped = 0;
};

/// Statistics of one session.
struct SessionStats {
    ObserverId observer = ObserverId::none;  ///< the observer of the session
    Role role = Role::spectator;             ///< as requested
    Address address;                         ///< the last one that the client has proven
    /// Relevant entities now.
    std::uint32_t relevant = 0;
    std::uint32_t backlog = 0;  ///< relevant entities that wait to be sent
    /// Longest time, in ticks, for which a change currently waits to be sent. It counts from the
    /// change, or from the detection of the loss of its packet (docs/budget.md).
    Tick oldest_ticks = 0;
    std::uint64_t bytes_sent = 0;             ///< in data packets
    std::uint64_t bytes_received = 0;         ///< in data packets
    std::uint64_t packets_lost = 0;           ///< of those sent
    std::uint32_t rtt_us = 0;                 ///< smoothed; 0: not known yet
    std::uint32_t budget_bytes_per_tick = 0;  ///< see Server::set_budget
    std::uint64_t enters = 0;                 ///< since the join
    std::uint64_t leaves = 0;                 ///< since the join
};

/// Returns why Server::create refuses the definition, with the names of kinds, components, RPCs and
/// nodes; empty: sound. For people; the text may change.
std::string problem_of(const ServerDef& def);

class ServerData;  // src/server
struct InternalAccess;

/// A server: sessions, world, interest and replication.
class Server {
  public:
    /// Creates a server. `game` is not owned. problem_of(def) returns the reason of an error as
    /// text. Errors:
    /// - bad_configuration: unsound schema, rules or kinds (see problem_of(Rules)); a step that
    ///   needs positions, without Schema::set_position; no mac or secret; a setting, priority or
    ///   send interval out of range; send intervals that do not ascend; a position or orientation
    ///   with another audience than everyone or unpredicted (AudienceType::unpredicted); a schema
    ///   of more than about 65,000 bytes on the wire.
    /// - too_large: an entity of some kind, or an RPC to observers, may need more bytes at once
    ///   than a datagram or the budget of a tick has (see AudienceType::staged); or sending the
    ///   schema takes more than one tick and more than half of join_timeout_ms at this budget and
    ///   rate.
    static Result<Server> create(const ServerDef& def, Game& game);
    /// Moves a server. The other one can then only be destroyed or assigned to.
    Server(Server&&) noexcept;
    /// Moves a server. Clients are not notified that this one ends: see shut_down().
    Server& operator=(Server&&) noexcept;
    /// Ends the server. Clients are not notified: see shut_down(). The game is not called.
    ~Server();

    /// @name Datagrams and ticks
    /// @{

    /// Receives one datagram. Untrusted bytes are checked and counted here, never asserted. May
    /// create datagrams: call next_datagram afterwards.
    void receive(std::span<const std::byte> datagram, const Address& from, Micros now);
    /// Runs one tick. Call it tick_hz times per second. A call from within a tick is asserted and
    /// ignored.
    void tick(Micros now);
    /// Returns the next datagram to send; false: there is none. After each receive, tick, close and
    /// shut_down, call it until it returns false.
    bool next_datagram(OutgoingDatagram& out);
    /// @}

    /// @name World and interest
    /// @{

    /// Returns the world. Edit it between ticks and in callbacks of the game.
    World& world() noexcept;
    /// Returns the interest of the server: observers, overrides, bindings and queries. It knows all
    /// entities spawned so far.
    Visibility& visibility() noexcept;
    /// Sets the threads for the next ticks. They compute visible block sets and packets; the
    /// datagrams are the same for any number of workers (at most 64). The game is still called on
    /// the thread of the tick. ComponentAudience, CustomKernel, RayTest, Dispatcher and memory
    /// hooks are called on any thread, several at a time. `executor.context` must outlive the
    /// server or be replaced; {} uses the thread of the tick only. Each worker takes 64 bytes per
    /// entity.
    void set_executor(const Executor& executor);
    /// Returns the number of the running or last tick.
    Tick current_tick() const noexcept;
    /// @}

    /// @name Rules while the server runs
    /// @{

    /// Replaces the rules from the next tick on: see InterestManager::set_rules. Call it between
    /// ticks or from the game. Returns why the server refuses them; empty: accepted.
    std::string set_rules(const Rules& rules);
    /// Computes what other rules would change, without changing anything: see
    /// InterestManager::try_rules. Call it between ticks.
    RuleTrial try_rules(const Rules& rules, std::size_t pairs_max = ~std::size_t{0}) const;
    /// Returns the rules in force.
    const Rules& rules() const noexcept;
    /// Sets how much of the rules is in force, from the next tick on.
    void set_interest_level(InterestLevel level);
    /// Returns 1, plus the number of successful calls of set_rules.
    std::uint32_t rules_revision() const noexcept;
    /// @}

    /// @name Sessions
    /// @{

    /// Sets ServerDef::budget_bytes_per_tick for one session, from the next tick on, or from this
    /// one on if the game calls it. There is no congestion control: adapt the budget to the losses
    /// and the RTT in sessions(). Errors: stale_id (no such session), bad_argument, too_large (as
    /// for create with such a budget).
    Status set_budget(ObserverId observer, std::uint32_t bytes_per_tick);
    /// Sends a message to one client, reliable and in order. It is copied. Errors: stale_id (no
    /// such session, or it is closing; a HostView has none), too_large (limits::message_bytes),
    /// capacity (too much waits, for example for a client that does not read).
    Status send_message(ObserverId observer, std::span<const std::byte> message);
    /// Closes a session. The client is notified once, at once, with the reason and a text for
    /// Client::reason_text, cut at limits::reason_text_bytes. Data that has not arrived is
    /// discarded, messages too. Errors: stale_id (no such session, or it is closing; a HostView has
    /// none), bad_argument (`none` or `left`).
    Status close(ObserverId observer, CloseReason reason, std::string_view text = {});
    /// Closes all sessions and refuses new ones for good. The game is notified in the next tick.
    void shut_down();
    /// Closes the sessions of an address that does not exist any more, for example of a closed
    /// WebSocket, without a packet. O(sessions).
    void address_closed(const Address& address);
    /// @}

    /// @name Groups that take input (docs/prediction.md)
    /// @{

    /// Sets whether an entity takes input. While it does not, its parts are refused, and its owner
    /// is notified. The initial value is KindDef::starts_in_input.
    Status set_in_input(EntityId entity, bool on);
    /// Returns whether an entity takes input; false for a stale id.
    bool is_in_input(EntityId entity) const noexcept;
    /// Returns the members of a group in input order, root first; empty for a stale id. `root`: any
    /// member. Valid until the next change of the world.
    std::span<const EntityId> input_order(EntityId root);
    /// Returns the world as a client saw it at `view_tick`, limited to the stored history. The
    /// view_tick of an input (GroupInput::view_tick) is limited to what the client can have seen;
    /// the game must check any other. Call it from callbacks of the game. Errors: stale_id (no such
    /// client, one that joins in this tick, or a HostView), not_found (the schema marks no
    /// component, or there is no history yet).
    Result<PastView> rewind(ObserverId observer, double view_tick);
    /// @}

    /// @name RPCs to observers (docs/rpc.md)
    /// @{

    /// Calls observers. Relevance in the running tick decides which of them receive it; if no tick
    /// is running, relevance in the next one. An entity that spawned in this tick can be the
    /// target. rpc_reports() has the result after the tick. Errors: bad_argument (not an RPC to
    /// observers, another struct, or receivers that do not match RpcDesc::target), stale_id (the
    /// entity or `only` is gone), bad_position (not finite), capacity (limits::rpc_calls_per_tick).
    template <class T>
    Result<CallId> call(const RpcReceivers& to, Rpc<T> rpc, const T& args) {
        return call(to, rpc.id, std::as_bytes(std::span(&args, 1)));
    }
    /// Calls observers with the bytes of the struct of the RPC; as above.
    Result<CallId> call(const RpcReceivers& to, RpcId rpc, std::span<const std::byte> args);
    /// Returns one report for each RPC of the last tick, in the order of the calls. Valid until the
    /// next tick.
    std::span<const RpcReport> rpc_reports() const noexcept;
    /// Returns the receivers of these and earlier RPCs for which the RPC was dropped after it was
    /// sent or queued. Valid until the next tick.
    std::span<const RpcLateCull> rpc_late_culls() const noexcept;
    /// @}

    /// @name Events and statistics
    /// @{

    /// Adds an unculled observer without a budget. Its packets are not sent and count as delivered.
    /// ServerStats::reference_bytes is what a client without interest management would cost, with
    /// the same encoder. It cannot be removed. Errors: capacity (ServerDef::sessions_max and 16
    /// observers, with those of sessions and of HostView).
    Result<ObserverId> add_reference_client();

    /// Returns the enters and leaves of the last tick: first of observers that are gone, then of
    /// each joined observer, then of players in this process (HostView). Valid until the next tick,
    /// even while the game edits the world.
    std::span<const ServerEvent> events() const noexcept;
    /// Returns totals and current numbers. O(sessions and their waiting ghosts).
    ServerStats stats() const;
    /// Returns all counters, for metrics (docs/operator.md). Valid until the next call.
    /// O(counters).
    std::span<const Counter> counters() const;
    /// Appends one entry per joined session. O(sessions and their waiting ghosts).
    void sessions(std::vector<SessionStats>& out) const;
    /// @}

  private:
    friend struct InternalAccess;
    explicit Server(std::unique_ptr<ServerData> data) noexcept;
    std::unique_ptr<ServerData> data_;
};

/// @}

}  // namespace purview
