// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The server's state of one client: connection, reliable stream, ghosts, and requests. A reference
// client is a session without a connection (Server::add_reference_client).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/aligned.hpp"
#include "core/bitset.hpp"
#include "core/prefetch.hpp"
#include "link/handshake.hpp"
#include "link/packet_link.hpp"
#include "link/packet_seal.hpp"
#include "link/stream.hpp"
#include "protocol/rpc_inbox.hpp"
#include "protocol/rpc_outbox.hpp"
#include "purview/server.hpp"
#include "replication/ghost_table.hpp"
#include "replication/shared_reader.hpp"
#include "replication/snapshot_writer.hpp"
#include "server/session_inputs.hpp"

namespace purview {

/// Limit on the unacknowledged leaves of a session.
inline constexpr std::uint32_t leaving_max = 1U << 16;

/// Bytes of each stream that are reserved for messages of the server. Messages of the game and
/// corrections cannot use them.
inline constexpr std::size_t stream_bytes_kept = 1'024;

/// Upper bound on the input state in a packet.
inline constexpr std::uint64_t input_state_bits_max = 23;

/// Size of an empty packet: type and checksum or tag, header, and the bits that end its sections.
constexpr std::uint64_t packet_bits_min(std::size_t head_bytes, std::uint64_t header_bits,
                                        std::uint64_t input_state_bits) noexcept {
    return head_bytes * 8 + header_bits + 3 + input_state_bits;
}

struct Session {
    /// Every tick visits all sessions, so they are allocated through the memory hooks, as large
    /// arrays are.
    static void* operator new(std::size_t bytes) {
        return allocate_memory(bytes, cache_line_bytes);
    }
    static void operator delete(void* memory, std::size_t bytes) noexcept {
        release_memory(memory, bytes, cache_line_bytes);
    }

    enum class State : std::uint8_t {
        accepted,  ///< address proven, not joined yet
        joining,   ///< its join waits for the next tick
        joined,
        probe,    ///< an unculled reference client, without a connection
        closing,  ///< ended; reported to the game in the next tick
    };
    /// A packet in flight.
    struct Sent {
        Micros at = 0;
        Tick tick = 0;
    };

    // The fields that every tick and every packet uses come first, side by side.
    State state = State::accepted;
    Role role = Role::spectator;
    enum class View : std::uint8_t { none, loading, complete } view = View::none;
    /// Records what the client had after each packet, for an operator.
    bool keep_held_reports = false;
    bool has_unsent_cells =
        false;               ///< the stream had no room for the cell grids; retried each tick
    bool has_score = false;  ///< priority weights used scores in the last tick
    /// How fragments of the stream share packets with RPCs.
    struct CallRoom {
        bool go_first =
            false;  ///< no stream fragment is sent in this tick before all waiting RPCs are written
        bool kept_out =
            false;  ///< an RPC was delayed because fragments filled a packet of this tick
    } call_room;
    ObserverId observer = ObserverId::none;
    std::uint32_t budget_bytes = 0;  ///< bytes per tick
    std::uint32_t silent_ticks = 0;  ///< ticks since the last packet to it
    Tick last_sent_tick = 0;         ///< tick of the last snapshot to it
    /// Revision of the rules in the last tick (SendIntervals::update).
    std::uint32_t rules_seen = 0;
    LastPlan last_plan;
    SnapshotPlan* plan = nullptr;           ///< of this tick, from `prioritize` to `encode`
    std::unique_ptr<SessionInputs> inputs;  ///< null: it sent no inputs yet
    std::uint32_t audience_keys = 0;        ///< keys_revision when audiences were last evaluated
    std::vector<std::byte> commands;        ///< of this tick: size byte and bytes, repeated
    std::vector<std::byte> messages;        ///< of this tick: two size bytes and bytes, repeated
    struct Arrival {
        Micros received = 0;       ///< time of the last packet from its address
        Micros delivered = 0;      ///< time of the last acknowledgement of new data
        Tick delivered_tick = 0;   ///< the newest tick of which a packet is acknowledged
        std::uint32_t rtt_us = 0;  ///< smoothed; 0: not measured yet
        Micros challenged = 0;     ///< time of the last challenge to a new address; 0: none
    } arrival;
    std::uint64_t connection_id = 0;
    Address address;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint32_t next_command = 1;  ///< first command number not taken yet

    PacketSeal seal;
    PacketLink link;
    StreamSender stream_out;
    StreamReceiver stream_in;
    RpcOutbox calls_out;
    RpcInbox calls_in;
    GhostTable ghosts;
    SharedReader shared;
    std::array<Sent, PacketLink::under_way_max> sent{};  ///< [number % size]

    std::uint64_t nonce = 0;
    Micros created = 0;
    struct JoinState {
        std::string name;
        std::vector<std::byte> credential;  ///< kept until it has joined
        std::uint64_t user_id = 0;          ///< OpenedKey::user_id
        std::vector<std::byte> user_data;   ///< OpenedKey::user_data; kept until it has joined
        std::uint64_t number = 0;           ///< JoinRequest::number
        std::optional<Micros> refused_at;   ///< set when the game refused it
    } join;
    struct Misuse {
        std::uint32_t malformed = 0;      ///< packets
        std::uint32_t calls_refused = 0;  ///< total
        std::vector<Tick> calls;  ///< ring buffer: ticks of the last refused RPCs; empty: none yet
    } misuse;
    struct Counts {
        std::uint64_t packets_lost = 0;
        std::uint64_t enters = 0;
        std::uint64_t leaves = 0;
    } counts;
    /// Ghosts of its first view that the client may not have yet, one bit per slot. Empty if all
    /// have arrived.
    Bitset first_view;
    std::vector<HeldReport> held_reports;

    Sent& sent_in(std::uint32_t sequence) noexcept { return sent[sequence % sent.size()]; }
    const Sent& sent_in(std::uint32_t sequence) const noexcept {
        return sent[sequence % sent.size()];
    }
    /// Prefetches what a tick uses first; call some sessions ahead.
    void prefetch_front() const noexcept {
        const auto* const front = reinterpret_cast<const char*>(this);
        const auto* const end = reinterpret_cast<const char*>(&link);
        for (const char* at = front; at < end; at += cache_line_bytes) prefetch_line(at);
    }
    /// Prefetches the records of the next packet; call some time before it is written.
    void prefetch_packet() const noexcept {
        const std::uint32_t sequence = link.next_sequence();
        link.prefetch_header();
        ghosts.packets().prefetch_end(ghosts.slots().words());
        prefetch_line(&sent_in(sequence));
    }
};

}  // namespace purview
