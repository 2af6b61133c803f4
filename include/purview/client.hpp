// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The client's side of a connection, without a socket or a clock: the same code in a native game,
// in a bot and, as WebAssembly, in a browser. Its state is what has arrived and nothing else. One
// thread; everything returned is valid until the next call that is not const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "purview/cells.hpp"
#include "purview/connection.hpp"
#include "purview/handles.hpp"
#include "purview/log.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

class Schema;  // purview/schema.hpp

/// A ghost's name on this connection: small, dense, reused once its leave is acknowledged.
using GhostId = std::uint32_t;
inline constexpr GhostId no_ghost = 0xffffffffU;

enum class ClientState : std::uint8_t {
    connecting = 0,  ///< proving our address
    joining = 1,     ///< connected; schema and the game's answer are awaited
    joined = 2,
    refused = 3,  ///< see refuse_reason()
    closed = 4,   ///< see close_reason()
};

struct ClientDef {
    /// Required: 64 random bits of the system's, others for every connection. Whoever knows them
    /// can answer in the server's place. 0 is refused.
    std::uint64_t nonce = 0;
    /// The program's own schema, for typed reads (Client::get). A server with another one refuses
    /// the client. Not owned; outlives the client. Null: any server.
    const Schema* schema = nullptr;
    /// Hash of the schema that the program was built for; 0: that of `schema`, or whatever the
    /// server has. Equal hashes
    /// are no proof against a server that means harm: whatever indexes the program's own schema
    /// compares all of it.
    std::uint64_t schema_hash = 0;
    Role role = Role::player;
    std::string name;  ///< of which the game is told 32 bytes at most (JoinRequest::name)
    /// JoinRequest::credential. What is longer than 512 bytes is not sent at all.
    std::vector<std::byte> credential;
    std::uint32_t connect_timeout_ms = 10'000;
    std::uint32_t session_timeout_ms = 10'000;
    /// Send a digest of all ghosts with every n-th packet, so that the server can check us; 0:
    /// never.
    std::uint32_t digest_every = 0;
    /// Memory that ghosts may take, whatever a server tells of: packets beyond that are malformed,
    /// and counted. Some 350 bytes a ghost, 600 where a kind is turned, 4 for each word of the kind
    /// with the most, and 400 for each extrapolated field.
    std::size_t ghost_bytes_max = std::size_t{512} << 20;
    /// Receives a line for each ClientEvent, in the order in which ghosts are activated and
    /// deactivated: "activate ghost=5 kind=wagon parent=3 root=3 tick=120 reason=entered". For
    /// finding faults in the order; costs a string each. Without `write`: nothing is logged.
    LogSink activation_log;
};

/// Empty, or why there can be no such client.
std::string problem_of(const ClientDef& def);

/// A ghost that came or went. All of a group that we may see come in one step, and go in one; in an
/// order that has parents before children when they come and children before parents when they go.
struct ClientEvent {
    GhostId ghost;
    KindId kind;
    /// Of an enter, also of one that came back to its copy: why we are told of it, as the server's
    /// own event said (spawned is not entered). Of a leave: left is not despawned.
    Reason reason;
    Change copy;

    bool is_enter(EventMode mode = EventMode::paired) const noexcept {
        return purview::is_enter(copy, mode);
    }
    bool is_leave(EventMode mode = EventMode::paired) const noexcept {
        return purview::is_leave(copy, mode);
    }
};

/// Its parent or its root is another (O42): one for each ghost and snapshot. A root is its own
/// root; of a ghost that has left its group by leaving, `new_root` is no_ghost.
struct ClientRelation {
    GhostId ghost;
    GhostId old_root, new_root;
    GhostId old_parent, new_parent;
};

/// What of a ghost is another than the program has read (Client::changes).
struct ClientChange {
    GhostId ghost;
    std::uint32_t components = 0;  ///< bit index_of(component): some value of it, or whether it is
                                   ///< told
    bool owner_changed = false;    ///< ask Client::is_owned
    /// None has not.
    bool has(ComponentId component) const noexcept {
        return index_of(component) < 32 && (components >> index_of(component) & 1U) != 0;
    }
};

/// A call of the server, after the property changes of the packet that carried it.
struct ReceivedRpc {
    RpcId rpc = RpcId::none;
    GhostId ghost = no_ghost;  ///< what it is about; none: a static one, about a place, or forced
    /// It came in time, but the ghost has gone since: it names none any more.
    bool ghost_left = false;
    std::span<const double> values;        ///< [fields], in the order of declaration; 0: no number
    std::span<const std::uint32_t> words;  ///< for read_rpc
};

struct ClientStats {
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t packets_late = 0;
    std::uint64_t packets_malformed = 0;
    std::uint64_t packets_lost = 0;       ///< of ours
    std::uint64_t group_waits_ended = 0;  ///< ghosts shown before all of their group had come
    std::uint64_t order_violations = 0;   ///< a child came without its parent
    std::uint32_t rtt_us = 0;             ///< smoothed; 0: not known yet
    std::uint64_t calls_received = 0;
    std::uint64_t calls_waited = 0;      ///< came before their ghosts
    std::uint64_t calls_dropped = 0;     ///< whose ghosts did not come, or that nobody took
    std::uint64_t messages_dropped = 0;  ///< that nobody took
    std::uint64_t events_dropped = 0;    ///< and relations, that nobody took
    /// Of ours: unreliable ones for which the packet of their tick had no room.
    std::uint64_t calls_unsent = 0;
};

class ClientData;  // src/client
struct InternalAccess;

class Client {
  public:
    /// bad_configuration: problem_of(def) says why.
    static Result<Client> create(const ClientDef& def);
    /// The same, for a def that is known to be good. One of a bad def is closed from the beginning
    /// and sends nothing; reason_text() says why.
    explicit Client(const ClientDef& def);
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    ~Client();

    void receive(std::span<const std::byte> datagram, Micros now);
    /// Sends a packet, if only to say what has arrived: call it 20 to 60 times a second, also where
    /// more frames are drawn.
    void tick(Micros now);
    /// Pulls the next datagram to send; false when there is none.
    bool next_datagram(std::span<const std::byte>& out);

    ClientState state() const noexcept;
    RefuseReason refuse_reason() const noexcept;
    CloseReason close_reason() const noexcept;
    /// What the server's game said why it refused us or closed: at most limits::reason_text_bytes,
    /// of any bytes; empty: nothing. Valid as long as this client.
    std::string_view reason_text() const noexcept;
    /// Says good-bye; next_datagram has it. The state becomes closed.
    void leave();

    /// One command for the game, at most limits::command_bytes: sent with the next tick and
    /// repeated in the packets after it, so that a single loss does not lose it. too_large;
    /// not_ready: not joined. capacity: 64 wait that have not been in all their packets.
    Status send_command(std::span<const std::byte> data);
    /// A message to the game (Game::message), reliable and in order: at most
    /// limits::message_bytes, copied. It goes with the packets of ticks, up to a kilobyte each,
    /// beside calls and commands, which may overtake it. too_large; not_ready: not joined.
    /// capacity: 262,144 bytes wait. What the game has not been given before the good-bye came is
    /// given up.
    Status send_message(std::span<const std::byte> message);
    /// A message of the server's game (Server::send_message), in order; false when there is none.
    /// The bytes are valid until the next call of this.
    bool next_message(std::span<const std::byte>& out);

    // -- calls; docs/rpc.md ---------------------------------------------------------------------
    /// Calls the server, with one number, or one of what it is, for each argument, clamped as the
    /// schema says; missing ones are 0, empty, or not turned. `ghost`: for a call about an entity.
    /// It goes with the next tick, unless the ghost has left by then: nobody hears of it. What that
    /// packet has no room for goes later, and unreliable calls not at all
    /// (ClientStats::calls_unsent).
    /// not_ready: not joined. bad_argument: no such call to the server. not_found: no such ghost.
    /// refused: not the owner's, or not a player's call. capacity:
    /// limits::rpc_pending_per_observer.
    Status call(RpcId rpc, GhostId ghost, std::span<const double> values);
    Status call(RpcId rpc, GhostId ghost, std::span<const FieldValue> arguments);
    /// The same with the struct of the program's own schema, which must be the server's (see
    /// ClientDef::schema_hash).
    template <class T>
    Status call(const Schema& own, Rpc<T> rpc, GhostId ghost, const T& args) {
        return call(own, rpc.id, ghost, std::as_bytes(std::span(&args, 1)));
    }
    Status call(const Schema& own, RpcId rpc, GhostId ghost, std::span<const std::byte> args);
    /// The next call of the server, in order; false when there is none. Take them after every
    /// receive: a ghost that goes in between is not named any more.
    bool next_rpc(ReceivedRpc& out);
    /// An argument of the call that next_rpc gave last: any bytes but zeros, the server's; empty
    /// where it is no text.
    std::string text_of(const ReceivedRpc& received, std::size_t argument) const;
    Rotation rotation_of(const ReceivedRpc& received, std::size_t argument) const noexcept;
    /// The arguments of a received call as the struct of the program's own schema. False: another
    /// type of call.
    template <class T>
    static bool read_rpc(const Schema& own, Rpc<T> expected, const ReceivedRpc& received, T& out) {
        if (expected.id != received.rpc) return false;
        return read_rpc(own, received, std::as_writable_bytes(std::span(&out, 1)));
    }
    static bool read_rpc(const Schema& own, const ReceivedRpc& received, std::span<std::byte> out);

    // -- the world as it has arrived; the state may still be `joining` then ----------------------
    /// Null until it has arrived. Lives as long as the client.
    const Schema* schema() const noexcept;
    std::string_view world_name() const noexcept;
    std::uint32_t tick_hz() const noexcept;
    /// The server's tick of the newest snapshot. Where nothing happens there may be none for 256
    /// ticks: no clock to count down by. Prediction::view_tick is one, view_delay_ticks behind.
    Tick newest_tick() const noexcept;
    /// Number of the newest packet applied that carried a snapshot.
    std::uint32_t newest_packet() const noexcept;

    std::uint32_t ghost_count() const noexcept;
    /// One past the largest ghost id in use.
    GhostId ghost_end() const noexcept;
    bool is_held(GhostId ghost) const noexcept;
    /// How a copy is kept whose entity has left; despawn: there is none. It is not held, and its
    /// values are the last. Where a return was lost it may become another without an event.
    Retention retention(GhostId ghost) const noexcept;
    KindId kind_of(GhostId ghost) const noexcept;
    /// Owned by us.
    bool is_owned(GhostId ghost) const noexcept;
    /// Of its group; no_ghost for a root. O(1).
    GhostId parent_of(GhostId ghost) const noexcept;
    /// Of its group, itself for a root. O(1).
    GhostId root_of(GhostId ghost) const noexcept;
    /// Replaces `out` by the members of its group that this client holds: the root first, then
    /// depth first, children in the order in which this client received their links. That is the
    /// attach order of the server, except for children whose links arrived together or after a
    /// loss; where the order itself matters, for input, the server sends it
    /// (Prediction::input_order). Empty where the ghost is not held. O(ghosts).
    void members_of(GhostId ghost, std::vector<GhostId>& out) const;
    /// Since clear_events(), in the order of snapshots; bounded like events().
    std::span<const ClientRelation> group_events() const noexcept;
    /// Tick of the last update that arrived.
    Tick updated_of(GhostId ghost) const noexcept;
    /// Where it was at a tick, which may lie between two; clamped to what is known.
    Vec3 position_of(GhostId ghost, double tick) const noexcept;
    /// How it was turned then, in the world (Schema::set_orientation); a ghost without an
    /// orientation: not at all.
    Rotation orientation_of(GhostId ghost, double tick) const noexcept;
    /// The grids of cells of nodes in a shared mode, in the order of nodes (docs/shared.md); none
    /// before the server has told them.
    std::size_t cell_grid_count() const noexcept;
    /// bad_argument: there is no such grid.
    Result<CellGrid> cell_grid(std::size_t grid) const;
    /// The cell of a ghost by its last place: the same number as on the server. CellGrid::no_cell:
    /// no such ghost or grid, or its place is in no cell.
    std::uint32_t cell_of(GhostId ghost, std::size_t grid = 0) const noexcept;
    /// Returns a component as it arrived last, as the struct of ClientDef::schema. Empty: there is
    /// no such ghost, its kind does not have the component, or ClientDef::schema is not set. A
    /// ghost that left can be read until clear_events(). References are none: see reference_of.
    /// O(fields).
    template <class T>
    std::optional<T> get(GhostId ghost, Component<T> component) const noexcept {
        T value{};
        if (!read(ghost, component.id, std::as_writable_bytes(std::span(&value, 1)))) return {};
        return value;
    }
    /// The value of a field as it arrived; 0 for a ghost or field that is not there, or that is no
    /// number.
    double value_of(GhostId ghost, ComponentId component, std::size_t field) const noexcept;
    Rotation rotation_of(GhostId ghost, ComponentId component, std::size_t field) const noexcept;
    /// Any bytes but zeros: the server's.
    std::string text_of(GhostId ghost, ComponentId component, std::size_t field) const;
    /// The ghost that a reference names; no_ghost when it names none, or one that we do not hold.
    GhostId reference_of(GhostId ghost, ComponentId component, std::size_t field) const noexcept;
    /// Whether the component's values are those of now. False: we are not told them (any more);
    /// they are the last that we were, or as a component of zeros has them (AudienceDef).
    bool is_replicated(GhostId ghost, ComponentId component) const noexcept;

    /// Everything that was relevant as the server began to hold us for ready, which it has since,
    /// has arrived (or left again): a loading screen may end. Later news does not take it back.
    bool is_view_complete() const noexcept;
    /// What came and went since clear_events(). Until then what has left can still be read as it
    /// was last (kind, place, values), unless another has come under its id since. Of more than
    /// 65,536 the older half is dropped and counted (ClientStats::events_dropped): what is there is
    /// then asked of the ghosts themselves.
    std::span<const ClientEvent> events() const noexcept;
    /// And changes(). What came between reading these and this call is cleared, too: read them
    /// after receive, and clear them at once.
    void clear_events() noexcept;
    /// Ghosts of which a value, what is told, or the owner has changed since the last
    /// clear_events(), if only for a while; in no order, each once, at most as many as there are.
    /// One that came stands there with all that it is told, one that came back with all that it
    /// has; one that has left does not. A reference changes also when the ghost that it names comes
    /// or goes, and what is extrapolated without a word (Schema::extrapolate). Values are those of
    /// the newest snapshot: read them. To draw, ask position_of of all in every frame: whoever is
    /// told relative to a parent moves with it without a change. Valid until the next receive or
    /// clear_events.
    std::span<const ClientChange> changes() const noexcept;
    /// PROTOCOL.md, "Digest".
    std::uint64_t digest() const noexcept;
    ClientStats stats() const noexcept;

  private:
    friend struct InternalAccess;
    bool read(GhostId ghost, ComponentId component, std::span<std::byte> out) const noexcept;
    std::unique_ptr<ClientData> data_;
};

}  // namespace purview
