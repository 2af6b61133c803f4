// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A whole server without a single system call: datagrams in, ticks, datagrams out. The caller owns
// clock, sockets and threads; one thread calls everything here. The game is a callback that edits
// the world; interest and replication follow from what it edits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "purview/connection.hpp"
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

class Server;

/// What a client asks for when it joins. Name and credential are a stranger's: any bytes, at most
/// limits::join_name_bytes and limits::credential_bytes; they go over the line as they are, so a
/// credential is a ticket that somebody has signed for one time, and no password. Valid during the
/// call.
struct JoinRequest {
    Role role = Role::player;
    std::string_view name;
    std::span<const std::byte> credential;
    /// The same whenever the game is asked about this one, and nobody else's. Of this server.
    std::uint64_t number = 0;
};

/// What the game answers: `return Admission::accept;`, `return {Admission::refuse, "not today"};`.
struct Admission {
    enum Answer : std::uint8_t { refuse = 0, accept = 1, wait = 2 };

    Admission(Answer its_answer, std::string its_text = {})
        : answer(its_answer), text(std::move(its_text)) {}

    Answer answer;
    std::string text;  ///< why it is refused, for Client::reason_text; limits::reason_text_bytes
};

/// The game's code. Called inside Server::tick, on its thread: admit and joined of all who join;
/// then of each session its messages, commands, inputs and calls; then left of all who are gone;
/// then simulate. All may edit the world and call Server::visibility(); none may call Server::tick
/// or receive, or throw.
class Game {
  public:
    virtual ~Game() = default;
    /// May it come in? Asked before `joined`, and while the answer is `wait` again in every tick,
    /// for join_timeout_ms after the proof of its address at most: then it is closed
    /// (never_joined). Who is not asked about in a tick in which fewer than limits::joins_per_tick
    /// were accepted has gone, or is in.
    virtual Admission admit(Server& server, const JoinRequest& request) {
        (void)server, (void)request;
        return Admission::accept;
    }
    /// A client comes in; of many at once limits::joins_per_tick in a tick, while the others wait,
    /// and are not asked about. True: the observer becomes ready when this returns; set its main
    /// entity or area here; send_message, call and close know it already. False: it is told
    /// "refused" without a text, and nothing that was sent to it here, and closed.
    virtual bool joined(Server& server, ObserverId observer, const JoinRequest& request) = 0;
    /// It is gone. The observer is still valid; its entities are the game's to despawn.
    virtual void left(Server& server, ObserverId observer) { (void)server, (void)observer; }
    /// A message of a client (Client::send_message), in the order in which they were sent, each
    /// once. `bytes` are a stranger's, at most limits::message_bytes, and valid during the call.
    /// How many it may send, and what of, is the game's to say: whom it closes is not heard again.
    virtual void message(Server& server, ObserverId observer, std::span<const std::byte> bytes) {
        (void)server, (void)observer, (void)bytes;
    }
    /// One command of a client, in the order in which they were given, each at most once; some may
    /// be missing. `data` is a stranger's bytes, at most limits::command_bytes.
    virtual void command(Server& server, ObserverId observer, std::span<const std::byte> data) {
        (void)server, (void)observer, (void)data;
    }
    /// One command of a client for one group, in the order in which they were given; per (owner,
    /// group) one a tick, and while it makes up for ticks without any, more. Parts are only those
    /// of members that the client owns, in ranges; a `real` may be infinite or NaN. The game steps
    /// the group with it, as the client did: see GroupStep. Edits of `group` are edits of the
    /// world; when this returns, the predicted components of the owned members are what the wire
    /// can say. Of a member whose place is relative to its parent the component with the place is a
    /// copy, written when this returns, and not at all if the game has moved, attached or detached
    /// the member meanwhile: do that in `simulate`.
    virtual void input(Server& server, ObserverId observer, GroupState& group,
                       const GroupInput& command) {
        (void)server, (void)observer, (void)group, (void)command;
    }
    /// A call of a client, after its commands of the tick, and checked: the type is one to the
    /// server, its ghost is held and relevant, its role may make it. `target`: none for a static
    /// one. `args`: the struct of the type, from bytes of a stranger, within its ranges; a `real`
    /// may be infinite or NaN. See read_args.
    virtual void rpc(Server& server, ObserverId observer, RpcId rpc, EntityId target,
                     std::span<const std::byte> args) {
        (void)server, (void)observer, (void)rpc, (void)target, (void)args;
    }
    /// Exactly once per tick.
    virtual void simulate(Server& server, Tick tick) = 0;
};

/// On the server: an entity came to an observer's knowledge, or went from it.
struct ServerEvent {
    ObserverId observer;
    EntityId entity;
    KindId kind;    ///< known, though the entity may be gone by now
    Reason reason;  ///< why it is known, or is not any more
    Change copy;

    bool is_enter(EventMode mode = EventMode::paired) const noexcept {
        return purview::is_enter(copy, mode);
    }
    bool is_leave(EventMode mode = EventMode::paired) const noexcept {
        return purview::is_leave(copy, mode);
    }
};

struct ServerDef {
    /// Not owned; must outlive the server.
    const Schema* schema = nullptr;
    /// Which entities clients receive. Flags, keys, values and kinds are named by the schema; that
    /// names them here is not read. The rules of kinds: `rules.for_kind(kind)`.
    Rules rules;
    std::string world_name;
    std::uint32_t entities_max = 1U << 20;
    std::uint16_t group_members_max = 64;  ///< of one group, its root included
    std::uint16_t group_depth_max = 8;     ///< generations under a root, at most 64
    std::uint32_t tick_hz = 20;            ///< 1 to 1,000
    /// UDP payload for one observer in one tick, all its data packets together; never exceeded. At
    /// least 128, and more where session_timeout_ms is above 15 s (docs/limits.md). Until the game
    /// says otherwise of one (Server::set_budget).
    std::uint32_t budget_bytes_per_tick = 4'800;
    /// Weight in the send order of what an observer does not have yet, beside that of updates; 1e-6
    /// to 1e6, as all urgencies.
    float enter_priority = 1;
    /// Those that one core holds at 20 Hz, with room for more (docs/limits.md); at most 1,048,544.
    std::uint32_t sessions_max = 1'000;
    /// Of sessions_max, those whose address is proven and that have not joined, also because the
    /// game lets them wait. The others wait for their turn: their answers are repeated.
    std::uint32_t sessions_unjoined_max = 256;
    /// And 4 times as many of an IPv6 /56, 16 times of a /48 or of an IPv4 /24.
    std::uint32_t sessions_per_host_max = 16;
    std::uint32_t session_timeout_ms = 10'000;  ///< without a packet
    std::uint32_t join_timeout_ms = 5'000;      ///< from the proof of the address to its being in
    std::uint32_t malformed_max = 32;           ///< packets of one session before it is closed
    InputSettings input;
    RewindSettings rewind;
    /// Random, secret, new for each process; signs challenges. Zeros are refused.
    std::array<std::byte, 32> secret{};
    /// Required. One that gives the same for other data is refused.
    MacFunction mac = nullptr;
    /// Receives why create refuses, warnings about rules and kinds, and the first value of each
    /// component that is beyond its range in the schema.
    LogSink log;
    /// Only for the stage times of TickProfile; null: they stay 0. With an executor it is called on
    /// any of its threads.
    Micros (*clock)() = nullptr;
};

/// Valid until the next call of anything that may send: receive, tick, next_datagram, close,
/// shut_down.
struct OutgoingDatagram {
    Address to;
    std::span<const std::byte> bytes;
};

/// A figure with its name, such as {"drop.bad_cookie", 17}: "drop.", "input.", "rewind." and "rpc."
/// are totals since the server began, "tick.encode_us" is the duration of a stage of the last tick
/// (of stages that several threads work on the mean of the threads).
struct Counter {
    std::string_view name;  ///< static storage
    std::uint64_t value;
};

struct ServerStats {
    std::uint32_t sessions = 0;         ///< connected
    std::uint32_t observers_ready = 0;  ///< joined
    std::uint32_t entities = 0;
    std::uint64_t enters = 0;  ///< since the server began; of players in this process, too
    std::uint64_t leaves = 0;
    std::uint64_t bytes_sent = 0;  ///< UDP or frame payload
    std::uint64_t bytes_received = 0;
    std::uint64_t probe_bytes = 0;  ///< that probes would have been sent; in nothing else
    /// Entity bodies encoded; of several workers each encodes its own, so there are more of them.
    std::uint64_t encodings = 0;
    std::uint64_t encoding_uses = 0;  ///< entity bodies sent
    /// Of everything that waited in any tick. Reading it looks through what waits for every
    /// session.
    Tick backlog_age_ticks_max = 0;
    std::uint64_t bad_positions = 0;  ///< edits of places that were not finite
    /// Numbers that clients are told as the end of their field's range, because they lie beyond it
    /// by more than rounding, or are none: one more whenever a field comes to its end so. And of
    /// what entity and component the last one was: its range in the schema is too small.
    std::uint64_t clamped_values = 0;
    EntityId clamped_entity = EntityId::none;
    ComponentId clamped_component = ComponentId::none;
    /// Entities of which only a part went, because all of it was more than fits (in_turn).
    std::uint64_t split_updates = 0;
    /// Ghosts that had something to tell and were put off, as more of their kind had than
    /// KindDef::limit allows (whether somebody else took them along or not); summed over observers
    /// and ticks.
    std::uint64_t limited_updates = 0;
    /// Nodes in a shared mode (docs/shared.md): sections written for everybody in a cell, taken
    /// whole by an observer, written for one observer alone, and left out because his budget was
    /// too small.
    std::uint64_t sections = 0;
    std::uint64_t section_copies = 0;
    std::uint64_t sections_stripped = 0;
    std::uint64_t sections_left_out = 0;
};

/// One session, for people and reports.
struct SessionStats {
    ObserverId observer = ObserverId::none;
    Role role = Role::spectator;
    Address address;
    std::uint32_t relevant = 0;
    std::uint32_t backlog = 0;  ///< relevant and waiting to be sent
    /// How long the first of them has waited for its turn, since its change or since a packet with
    /// it was known to be lost (docs/budget.md).
    Tick oldest_ticks = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t packets_lost = 0;
    std::uint32_t rtt_us = 0;  ///< smoothed; 0: not known yet
    std::uint32_t budget_bytes_per_tick = 0;
    std::uint64_t enters = 0;
    std::uint64_t leaves = 0;
};

/// Empty, or why Server::create refuses it: with names of kinds, components, calls and nodes, and
/// with numbers. For people; the words may change.
std::string problem_of(const ServerDef& def);

class ServerData;  // src/host
struct InternalAccess;

class Server {
  public:
    /// problem_of(def) says in words what is wrong. bad_configuration: schema, rules or kinds
    /// unsound (see problem_of(Rules)), no mac, a field of `def` out
    /// of its range, an urgency out of range, a place or an orientation that is not told to whom it
    /// must be (AudienceType::unpredicted), rates or buckets that do not ascend or are out of range
    /// (SendInterval, SendLimit); or a schema of more than some 65,000 bytes on the wire.
    /// too_large: what an entity of some kind must be told at once, or a call to observers, may
    /// need more bytes than a datagram or the budget of a tick has (see AudienceType::in_turn), or
    /// to tell the schema takes more than one tick and more than half of `join_timeout_ms` at this
    /// budget and rate. `game` is not owned.
    static Result<Server> create(const ServerDef& def, Game& game);
    Server(Server&&) noexcept;
    Server& operator=(Server&&) noexcept;
    ~Server();

    /// One datagram as it arrived. Hostile bytes end here: counted, never asserted.
    void receive(std::span<const std::byte> datagram, const Address& from, Micros now);
    /// One tick. Call it tick_hz times a second. From within itself: asserted, and ignored.
    void tick(Micros now);
    /// Pulls the next datagram to send; false when there is none.
    bool next_datagram(OutgoingDatagram& out);

    World& world() noexcept;
    /// Observers, overrides, bindings and queries. It knows every entity spawned so far.
    Visibility& visibility() noexcept;
    /// From the next tick on windows and packets are worked on in parallel, with the same datagrams
    /// for any number of workers (64 at most). The game is called on the caller's thread as before,
    /// but a ComponentAudience, a RayTest, a custom node and the memory hooks are called on any,
    /// several at a time. What `executor` points to must outlive the server, or be replaced: {} is
    /// the caller's thread alone. Each worker takes 64 bytes an entity.
    void set_executor(const Executor& executor);
    Tick current_tick() const noexcept;

    /// Other rules from the next tick on: see InterestManager::set_rules. Between ticks, or by the
    /// game. Returns why the server refuses them; empty: they were taken.
    std::string set_rules(const Rules& rules);
    /// Who would gain and who would lose by them; nothing is changed. Between ticks; see
    /// InterestManager::try_rules.
    RuleTrial try_rules(const Rules& rules, std::size_t pairs_max = ~std::size_t{0}) const;
    const Rules& rules() const noexcept;
    /// From the next tick on (F29).
    void set_interest_level(InterestLevel level);
    /// 1 at first, one more for every set_rules that succeeded.
    std::uint32_t rules_revision() const noexcept;

    /// Another ServerDef::budget_bytes_per_tick for this client from the next tick on (of the
    /// game's own callbacks: from this one on), for as long as he is here: what his line has, by
    /// what sessions() says of its losses and delay. There is no congestion control of the server's
    /// own. bad_argument, too_large: as create() answers to such a budget; stale_id: no such
    /// session.
    Status set_budget(ObserverId observer, std::uint32_t bytes_per_tick);
    /// A message to one client, reliable and in order: at most limits::message_bytes, copied.
    /// stale_id: no such session, or it ends; a probe and a HostView have none. too_large.
    /// capacity: too much waits for it already, as for whoever reads nothing.
    Status send_message(ObserverId observer, std::span<const std::byte> message);
    /// Closes the session; the client is told once, at once, and why: Client::reason_text, at most
    /// limits::reason_text_bytes. What was sent to it before and has not arrived is given up,
    /// messages too. stale_id: no such session, or it ends; a probe and a HostView have none.
    /// bad_argument: that is no reason (`left` is the client's).
    Status close(ObserverId observer, CloseReason reason, std::string_view text = {});
    /// Closes all sessions, and refuses new ones. The game is told in the next tick.
    void shut_down();
    /// An address that is gone for good (a WebSocket that closed).
    void address_closed(const Address& address);

    // -- groups that take input; docs/prediction.md ---------------------------------------------
    /// Off: the member takes no part in commands until it is on again; its parts are refused and
    /// its owner is told. At spawn it is as its kind says (KindDef::starts_in_input). stale_id.
    Status set_in_input(EntityId entity, bool on);
    /// False for a stale id.
    bool is_in_input(EntityId entity) const noexcept;
    /// The members of the group in the order of their input, root first. Valid until the next
    /// change of the world. Empty: no such entity. `root`: any member.
    std::span<const EntityId> input_order(EntityId root);
    /// The world as the client saw it at `view_tick`, within what is remembered. That of a command
    /// (GroupInput::view_tick) is within what it can have seen; any other is the game's to bound.
    /// For the game's callbacks. stale_id: no such client. not_found: the schema marks
    /// no component, or nothing is remembered yet.
    Result<PastView> rewind(ObserverId observer, double view_tick);

    // -- calls to observers; docs/rpc.md --------------------------------------------------------
    /// Calls observers. Who receives the call is decided with the interest of the running tick, or
    /// of the next one if none is running: an entity spawned in this tick can be called about. The
    /// result is then in rpc_reports(). bad_argument: not a type of call to observers, another
    /// struct, or other receivers than its RpcDesc::target says; stale_id: the entity, or `only`,
    /// is gone; bad_position; capacity: limits::rpc_calls_per_tick.
    template <class T>
    Result<CallId> call(const RpcReceivers& to, Rpc<T> rpc, const T& args) {
        return call(to, rpc.id, std::as_bytes(std::span(&args, 1)));
    }
    Result<CallId> call(const RpcReceivers& to, RpcId rpc, std::span<const std::byte> args);
    /// One for each call that was decided in the last tick, in the order of calling (F21); and the
    /// pairs of these and earlier calls that fell out since. Valid until the next tick.
    std::span<const RpcReport> rpc_reports() const noexcept;
    std::span<const RpcLateCull> rpc_late_culls() const noexcept;

    /// An observer of everything, without a budget, whose packets go nowhere and count as
    /// delivered: what one client of a world without interest would cost, with the same encoder
    /// (ServerStats::probe_bytes).
    Result<ObserverId> add_reference_client();

    /// Who came to know of what with the last tick, and who does not any more; first of those that
    /// are gone, then of every joined observer, then of players in this process (HostView). Valid
    /// until the next tick, whatever the game does in between.
    std::span<const ServerEvent> events() const noexcept;
    ServerStats stats() const;
    /// Returns every counter, for metrics: docs/operator.md. Valid until the next call.
    /// O(counters).
    std::span<const Counter> counters() const;
    /// Appends one entry per joined session.
    void sessions(std::vector<SessionStats>& out) const;

  private:
    friend struct InternalAccess;
    explicit Server(std::unique_ptr<ServerData> data) noexcept;
    std::unique_ptr<ServerData> data_;
};

}  // namespace purview
