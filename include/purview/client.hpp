// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// The client's side of a connection, without sockets or a clock. The same code runs in a native
/// game, in a bot and, as WebAssembly, in a browser. It contains only what has arrived. One thread.
/// Returned pointers, spans and texts are valid until the next call that is not const, unless
/// noted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "purview/cells.hpp"
#include "purview/connection.hpp"
#include "purview/encryption.hpp"
#include "purview/handles.hpp"
#include "purview/log.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_client
/// @{

class Schema;  // purview/schema.hpp

/// The state of a connection.
enum class ClientState : std::uint8_t {
    connecting = 0,  ///< the handshake proves the client's address
    joining = 1,     ///< connected; waits for the schema and for the game's decision
    joined = 2,      ///< in the world
    refused = 3,     ///< see refuse_reason()
    closed = 4,      ///< see close_reason()
};

/// The configuration of a client.
struct ClientDef {
    /// 64 random bits of the system, new for each connection. Required; 0 is refused. Anyone who
    /// knows them can respond in place of the server.
    std::uint64_t nonce = 0;
    /// The program's own schema, for typed reads (Client::get). A server with another schema
    /// refuses the client. Not owned; outlives the client. null: any server.
    const Schema* schema = nullptr;
    /// Hash of the schema that the program was built for; 0: that of `schema`, or that of the
    /// server. A malicious server can have an equal hash: compare the whole schema before you index
    /// by your own.
    std::uint64_t schema_hash = 0;
    /// The requested role.
    Role role = Role::player;
    std::string name;  ///< JoinRequest::name; cut at limits::join_name_bytes
    /// JoinRequest::credential; not sent if it is longer than limits::credential_bytes.
    std::vector<std::byte> credential;
    /// Key of an encrypted connection. Without `request` the connection is not encrypted, which
    /// servers accept only over carriers of ServerDef::plain. With it, the client accepts no
    /// connection that is not encrypted.
    ConnectKey key;
    /// The functions for it, such as net::encryption. Required with `key`.
    Encryption encryption;
    /// Time after which an attempt to join fails, in milliseconds.
    std::uint32_t connect_timeout_ms = 10'000;
    /// Time without a packet after which the connection is closed, in milliseconds.
    std::uint32_t session_timeout_ms = 10'000;
    /// Sends a digest of all ghosts with every n-th packet, so that the server can compare it; 0:
    /// never.
    std::uint32_t digest_every = 0;
    /// Maximum memory of ghosts. A packet that needs more is malformed, and counted. A ghost takes
    /// about 350 bytes, or 600 if a kind has an orientation. Each word of the largest kind adds 4
    /// bytes, and each dead-reckoned field 400.
    std::size_t ghost_bytes_max = std::size_t{512} << 20;
    /// Receives a line for each enter and leave, in order: "activate ghost=5 kind=wagon parent=3
    /// root=3 tick=120 reason=entered". For debugging of the order; creates a string per line.
    /// Without `write` nothing is logged.
    LogSink activation_log;
};

/// Returns why a client cannot be created with this definition; empty: sound.
std::string problem_of(const ClientDef& def);

/// A change of one ghost. All relevant members of a group enter in one step and leave in one step.
/// Parents enter before their children, and leave after them.
struct ClientEvent {
    GhostId ghost{};  ///< the ghost that changed; after its leave the id may be in use again
    KindId kind{};    ///< its kind, also after its leave
    /// Why the entity entered (also if its ghost resumed) or left, as in the event of the server.
    Reason reason = Reason::entered;
    /// What happened to the ghost.
    Change change = Change::updated;
    /// is_owned() may have changed. With `updated`, `entered` and `resumed`.
    bool owner_changed = false;
    /// Bit index_of(component): a value of the component, or whether it is replicated, changed
    /// since the program last read it. With `updated`; with `entered`: all replicated components;
    /// with `resumed`: all.
    std::uint32_t components = 0;
    GhostId old_root = GhostId::none,    ///< `regrouped`: its root before; a root is its own
        new_root = GhostId::none;        ///< `regrouped`: its root after; none: a member that left
    GhostId old_parent = GhostId::none,  ///< `regrouped`: its parent before, or none
        new_parent = GhostId::none;      ///< `regrouped`: its parent after, or none

    /// Returns whether it counts as an enter.
    bool is_enter(EventMode mode = EventMode::paired) const noexcept {
        return purview::is_enter(change, mode);
    }
    /// Returns whether it counts as a leave.
    bool is_leave(EventMode mode = EventMode::paired) const noexcept {
        return purview::is_leave(change, mode);
    }
    /// Returns whether `components` has this component; false for ComponentId::none.
    bool has(ComponentId component) const noexcept {
        return index_of(component) < 32 && (components >> index_of(component) & 1U) != 0;
    }
};

/// An RPC of the server. It comes after the changes of the packet that contained it. Valid until
/// the next one is taken.
struct ReceivedRpc {
    RpcId rpc = RpcId::none;  ///< its type in the server's schema
    /// Its target. none: an RPC without an entity, about a position, or forced about an entity that
    /// this client does not have; or ghost_left.
    GhostId ghost = GhostId::none;
    bool ghost_left = false;  ///< it arrived in time, but its ghost has left since
    /// The arguments as the struct of ClientDef::schema; empty without that schema.
    std::span<const std::byte> arguments;
    /// [fields] The arguments by the server's schema, in the order of declaration. A text has any
    /// bytes but zeros; a reference is 0.
    std::span<const FieldValue> values;

    /// Returns the arguments; empty: another RPC, or no ClientDef::schema.
    template <class T>
    std::optional<T> as(Rpc<T> expected) const noexcept {
        static_assert(std::is_trivially_copyable_v<T>);
        if (expected.id != rpc || arguments.size() != sizeof(T)) return {};
        T out;
        std::memcpy(&out, arguments.data(), sizeof(T));
        return out;
    }
    /// Returns an argument that is a number; 0: there is none.
    double number(std::size_t argument) const noexcept {
        const auto* value =
            argument < values.size() ? std::get_if<double>(&values[argument]) : nullptr;
        return value == nullptr ? 0 : *value;
    }
};

/// Counters since the creation of a client.
struct ClientStats {
    std::uint64_t bytes_sent = 0;         ///< of all datagrams, also of the handshake
    std::uint64_t bytes_received = 0;     ///< of all datagrams, also of those that count below
    std::uint64_t packets_received = 0;   ///< data packets that were applied
    std::uint64_t packets_late = 0;       ///< repeated, or older than one that was applied
    std::uint64_t packets_malformed = 0;  ///< damaged, or do not decode
    std::uint64_t packets_lost = 0;       ///< sent packets that were lost
    std::uint64_t group_waits_ended = 0;  ///< ghosts shown before all of their group had arrived
    std::uint64_t order_violations = 0;   ///< children that arrived without their parents
    std::uint32_t rtt_us = 0;             ///< smoothed; 0: not known yet
    std::uint64_t calls_received = 0;     ///< RPCs of the server that arrived
    std::uint64_t calls_waited = 0;       ///< arrived before their ghosts
    std::uint64_t calls_dropped = 0;      ///< lacked their ghost, or were not taken
    std::uint64_t messages_dropped = 0;   ///< not taken by the program
    std::uint64_t events_dropped = 0;     ///< not read by the program; without updates
    /// Unreliable RPCs to the server for which the packet of their tick had no room.
    std::uint64_t calls_unsent = 0;
};

class ClientData;  // src/client
struct InternalAccess;

/// A client: its connection and its ghosts.
class Client {
  public:
    /// Creates a client. Errors: bad_configuration (problem_of(def) returns why).
    static Result<Client> create(const ClientDef& def);
    /// Creates a client from a sound definition. With an unsound one it is closed from the start
    /// and sends nothing; reason_text() returns why.
    explicit Client(const ClientDef& def);
    /// Moves a client. The other one can then only be destroyed or assigned to.
    Client(Client&&) noexcept;
    /// Moves a client. The server is not notified that this one ends: see leave().
    Client& operator=(Client&&) noexcept;
    /// Ends the client. The server is not notified: see leave().
    ~Client();

    /// @name Connection
    /// @{

    /// Receives one datagram. Untrusted bytes are checked and counted, never asserted. A packet is
    /// applied completely or not at all.
    void receive(std::span<const std::byte> datagram, Micros now);
    /// Sends a packet, at least with acknowledgements. Call it 20 to 60 times per second, also if
    /// more frames are drawn.
    void tick(Micros now);
    /// Returns the next datagram to send; false: there is none. After each receive, tick and leave,
    /// call it until it returns false.
    bool next_datagram(std::span<const std::byte>& out);

    /// Returns the state of the connection.
    ClientState state() const noexcept;
    /// Returns why the server refused the client; none: it did not.
    RefuseReason refuse_reason() const noexcept;
    /// Returns why the connection was closed; none: it was not.
    CloseReason close_reason() const noexcept;
    /// Returns the text of the game for a refusal or a close: at most limits::reason_text_bytes of
    /// any content; empty: none. Valid as long as the client.
    std::string_view reason_text() const noexcept;
    /// Disconnects: the state becomes closed, and next_datagram returns the disconnect packet.
    void leave();
    /// @}

    /// @name Commands and messages
    /// @{

    /// Sends a command to the game with the next tick (Game::on_command). Later packets repeat it,
    /// so that one lost packet does not lose the command. Errors: too_large
    /// (limits::command_bytes), not_ready (not joined), capacity (64 commands are not in all their
    /// packets yet).
    Status send_command(std::span<const std::byte> data);
    /// Sends a message to the game (Game::on_message), reliable and in order. It is copied. Each
    /// packet of a tick carries up to a kilobyte of it, beside RPCs and commands, which may
    /// overtake it. After leave(), what has not arrived is discarded. Errors: too_large
    /// (limits::message_bytes), not_ready (not joined), capacity (262,144 bytes wait).
    Status send_message(std::span<const std::byte> message);
    /// Returns the next message of the game (Server::send_message), in order; false: there is none.
    /// The bytes are valid until the next call of this function.
    bool next_message(std::span<const std::byte>& out);
    /// @}

    /// @name RPCs (docs/rpc.md)
    /// @{

    /// Calls the server with one number for each argument. Numbers are clamped to their range;
    /// missing arguments are 0, empty, or no rotation. `ghost`: the target of an RPC about an
    /// entity. Sent with the next tick, or dropped without notice if the ghost has left by then. If
    /// the packet has no room, it is sent later; an unreliable one is dropped
    /// (ClientStats::calls_unsent). Errors: not_ready (not joined), bad_argument (no such RPC to
    /// the server), not_found (no such ghost), refused (only for the owner, or for players),
    /// capacity (limits::rpc_pending_per_observer).
    Status call(RpcId rpc, GhostId ghost, std::span<const double> values);
    /// Calls the server with one number, text or rotation for each argument, as above.
    Status call(RpcId rpc, GhostId ghost, std::span<const FieldValue> arguments);
    /// Calls the server with the struct of ClientDef::schema. Further errors: bad_argument (no such
    /// schema, or not that of the server).
    template <class T>
    Status call(Rpc<T> rpc, GhostId ghost, const T& args) {
        return call(rpc.id, ghost, std::as_bytes(std::span(&args, 1)));
    }
    /// Calls the server with the bytes of that struct.
    Status call(RpcId rpc, GhostId ghost, std::span<const std::byte> args);
    /// Takes the next RPC of the server, in order; false: there is none. Call it after every
    /// receive: if a ghost has left meanwhile, its RPCs no longer refer to it.
    bool next_rpc(ReceivedRpc& out);
    /// @}

    /// @name The world as it has arrived
    /// Can arrive while the state is still `joining`.
    /// @{

    /// Returns the server's schema; null until it has arrived. Valid as long as the client.
    const Schema* schema() const noexcept;
    /// Returns ServerDef::world_name; empty until it has arrived.
    std::string_view world_name() const noexcept;
    /// Returns the server's ticks per second; 0 until it has arrived.
    std::uint32_t tick_hz() const noexcept;
    /// Returns the server's tick of the newest snapshot. In an idle world there may be none for 256
    /// ticks, so do not use it as a clock; use Prediction::view_tick, which is view_delay_ticks
    /// behind.
    Tick newest_tick() const noexcept;
    /// Returns the number of the newest applied packet with a snapshot.
    std::uint32_t newest_packet() const noexcept;
    /// @}

    /// @name Ghosts
    /// @{

    /// Returns the number of ghosts.
    std::uint32_t ghost_count() const noexcept;
    /// Calls visit(GhostId) for every ghost, in ascending order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::uint32_t id = 1, end = ghost_end(); id < end; ++id)
            if (is_held(GhostId{id})) visit(GhostId{id});
    }
    /// Returns whether the client holds the ghost; false for a ghost that is only retained.
    bool is_held(GhostId ghost) const noexcept;
    /// Returns how the ghost of an entity that left is retained; despawn: there is none. Its values
    /// are the last ones. If the packet in which the entity returned was lost, the result can
    /// change without an event.
    Retention retention(GhostId ghost) const noexcept;
    /// Returns the kind of a ghost; KindId::none: no such ghost.
    KindId kind_of(GhostId ghost) const noexcept;
    /// Returns whether this client owns the entity; false for a ghost that is not held.
    bool is_owned(GhostId ghost) const noexcept;
    /// Returns the parent in its group; GhostId::none for a root or a ghost that is not held. O(1).
    GhostId parent_of(GhostId ghost) const noexcept;
    /// Returns the root of its group; the ghost itself for a root, GhostId::none for a ghost that
    /// is not held. O(1).
    GhostId root_of(GhostId ghost) const noexcept;
    /// Replaces `out` by the members of its group that this client holds: the root first, then
    /// depth first, children in the order in which their links arrived. That is the attach order of
    /// the server, except for children with links that arrived together or after a loss.
    /// Prediction::input_order is the exact order of input. Empty if the ghost is not held.
    /// O(ghosts).
    void members_of(GhostId ghost, std::vector<GhostId>& out) const;
    /// Returns the tick of the last update that arrived; 0: no such ghost.
    Tick updated_of(GhostId ghost) const noexcept;
    /// Returns the position at a tick, which may be between two ticks; clamped to the known ticks.
    /// {0, 0, 0}: no such ghost.
    Vec3 position_of(GhostId ghost, double tick) const noexcept;
    /// Returns the orientation in the world at a tick (Schema::set_orientation); no rotation for a
    /// ghost without an orientation.
    Rotation orientation_of(GhostId ghost, double tick) const noexcept;
    /// Returns the number of cell grids of nodes with shared payloads, in the order of nodes
    /// (docs/shared.md); 0 until they have arrived.
    std::size_t cell_grid_count() const noexcept;
    /// Returns a cell grid. Errors: bad_argument (no such grid).
    Result<CellGrid> cell_grid(std::size_t grid) const;
    /// Returns the cell of a ghost by its last position: the same number as on the server.
    /// CellGrid::no_cell: no such ghost or grid, or the position is in no cell.
    std::uint32_t cell_of(GhostId ghost, std::size_t grid = 0) const noexcept;
    /// Returns a component as it last arrived, as the struct of ClientDef::schema. Empty: no such
    /// ghost, its kind does not have the component, or ClientDef::schema is not set. A ghost that
    /// left can be read until clear_events(). Reference fields are none: see reference_of.
    /// O(fields).
    template <class T>
    std::optional<T> get(GhostId ghost, Component<T> component) const noexcept {
        T value{};
        if (!read(ghost, component.id, std::as_writable_bytes(std::span(&value, 1)))) return {};
        return value;
    }
    /// Returns the value of a field as it arrived; 0: no such ghost or field, or not a number.
    double value_of(GhostId ghost, ComponentId component, std::size_t field) const noexcept;
    /// Returns a rotation field; no rotation: no such ghost or field.
    Rotation rotation_of(GhostId ghost, ComponentId component, std::size_t field) const noexcept;
    /// Returns a text field; empty: no such ghost or field. The server chose its bytes: any but
    /// zeros.
    std::string text_of(GhostId ghost, ComponentId component, std::size_t field) const;
    /// Returns the ghost that a reference refers to; GhostId::none: none, or one that is not held.
    GhostId reference_of(GhostId ghost, ComponentId component, std::size_t field) const noexcept;
    /// Returns whether a component is replicated, so that its values are current. Otherwise they
    /// are the last received values, or zeros (AudienceDef::keeps_values).
    bool is_replicated(GhostId ghost, ComponentId component) const noexcept;
    /// @}

    /// @name Events and statistics
    /// @{

    /// Returns whether everything that was relevant when the observer became ready has arrived, or
    /// has left again. A loading screen may end then. Stays true.
    bool is_view_complete() const noexcept;
    /// Returns the events since clear_events(), in order. Until then the last kind, position and
    /// values of a ghost that left can be read, unless its id is in use again.
    ///
    /// All changes of values, replicated components and owner of a ghost are one event: its enter,
    /// or one `updated` event at the position of the first change. A ghost that left meanwhile
    /// keeps that event. A reference also changes when its ghost enters or leaves, and a
    /// dead-reckoned value also changes without an update (Schema::extrapolate). Values are those
    /// of the newest snapshot. To draw, read position_of of all ghosts in every frame: a ghost with
    /// a relative position moves with its parent without an event.
    ///
    /// If there are more than 65,536 enters, leaves and regroupings, the older half is dropped,
    /// with the updates between them, and counted (ClientStats::events_dropped).
    std::span<const ClientEvent> events() const noexcept;
    /// Removes all events. Call it directly after reading them, so that none is lost.
    void clear_events() noexcept;
    /// Returns the digest of all ghosts (PROTOCOL.md, "Digest").
    std::uint64_t digest() const noexcept;
    /// Returns the counters.
    ClientStats stats() const noexcept;
    /// @}

  private:
    friend struct InternalAccess;
    std::uint32_t ghost_end() const noexcept;
    bool read(GhostId ghost, ComponentId component, std::span<std::byte> out) const noexcept;
    std::unique_ptr<ClientData> data_;
};

/// @}

}  // namespace purview
