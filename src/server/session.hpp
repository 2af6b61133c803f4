// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One connected client as the server keeps it: its link, its reliable stream, its ghosts, and what
// it has asked for. A probe is a session without a link (Server::add_reference_client).
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
#include "link/stream.hpp"
#include "protocol/rpc_inbox.hpp"
#include "protocol/rpc_outbox.hpp"
#include "purview/server.hpp"
#include "replication/ghost_table.hpp"
#include "replication/shared_reader.hpp"
#include "replication/snapshot_writer.hpp"
#include "server/session_inputs.hpp"

namespace purview {

/// Ghosts of a session that have left, and of which the client has not said that it knows.
inline constexpr std::uint32_t leaving_max = 1U << 16;

/// Whatever a game says, and whatever has to be corrected: what the server itself has to say
/// afterwards finds room in a stream.
inline constexpr std::size_t stream_bytes_kept = 1'024;

/// Of what a packet says about the inputs of its session.
inline constexpr std::uint64_t input_state_bits_max = 23;

/// Of a packet with nothing in it: its seal, its header, and the bits that close its parts.
constexpr std::uint64_t packet_bits_min(std::uint64_t header_bits,
                                        std::uint64_t input_state_bits) noexcept {
    return seal_bytes * 8 + header_bits + 3 + input_state_bits;
}

struct Session {
    /// Every tick goes through all of them: like large arrays, they come through the hooks.
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
        probe,
        closing,  ///< over; reported to the game in the next tick
    };
    /// One of its packets that is under way.
    struct Sent {
        Micros at = 0;
        Tick tick = 0;
    };

    // What every tick and every packet looks at stands side by side, and first.
    State state = State::accepted;
    Role role = Role::spectator;
    enum class View : std::uint8_t { none, loading, complete } view = View::none;
    /// An operator watches: what the client held after each packet.
    bool keep_held_reports = false;
    bool owes_cells = false;  ///< the stream had no room for the grids
    bool has_score = false;   ///< weights were by strength in the last tick
    /// Whether fragments of the stream leave room for calls.
    struct CallRoom {
        bool go_first = false;  ///< this tick has no fragments where calls wait
        bool kept_out = false;  ///< in this tick, by fragments
    } call_room;
    ObserverId observer = ObserverId::none;
    std::uint32_t budget_bytes = 0;  ///< of a tick
    std::uint32_t silent_ticks = 0;  ///< ticks without a packet to it
    Tick told_tick = 0;              ///< of the last snapshot to it
    std::uint32_t rules_seen = 0;    ///< their revision, in the last tick (set_paces)
    LastPlan last_plan;
    SnapshotPlan* plan = nullptr;           ///< of this tick, from `prioritize` to `encode`
    std::unique_ptr<SessionInputs> inputs;  ///< null: it gives no commands to groups
    std::uint32_t audience_keys = 0;  ///< InterestManager::keys_revision when audiences were asked
    std::vector<std::byte> commands;  ///< of this tick: size byte, bytes, again and again
    std::vector<std::byte> messages;  ///< of this tick: two bytes of size, bytes, again and again
    struct Arrival {
        Micros received = 0;       ///< the last packet from its address
        Micros delivered = 0;      ///< the last acknowledgement of something new
        Tick delivered_tick = 0;   ///< the newest one of which a packet is acknowledged
        std::uint32_t rtt_us = 0;  ///< smoothed; 0: not measured yet
    } arrival;
    std::uint64_t connection_id = 0;
    Address address;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint32_t next_command = 1;  ///< first command number not taken yet

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
        std::vector<std::byte> credential;  ///< until it has joined
        std::uint64_t number = 0;           ///< JoinRequest::number
        std::optional<Micros> refused_at;   ///< by the game
    } join;
    struct Misuse {
        std::uint32_t malformed = 0;      ///< packets
        std::uint32_t calls_refused = 0;  ///< in all
        std::vector<Tick> calls;          ///< ring: when the last of them were; empty: none yet
    } misuse;
    struct Counts {
        std::uint64_t packets_lost = 0;
        std::uint64_t enters = 0;
        std::uint64_t leaves = 0;
    } counts;
    /// Ghosts of its first tick that it may not have yet, a bit a lane; empty and no flag: all have
    /// arrived.
    Bitset first_view;
    std::vector<HeldReport> held_reports;

    Sent& sent_in(std::uint32_t sequence) noexcept { return sent[sequence % sent.size()]; }
    const Sent& sent_in(std::uint32_t sequence) const noexcept {
        return sent[sequence % sent.size()];
    }
    /// What a tick looks at first, some sessions ahead.
    void prefetch_front() const noexcept {
        const auto* const front = reinterpret_cast<const char*>(this);
        const auto* const end = reinterpret_cast<const char*>(&link);
        for (const char* at = front; at < end; at += cache_line_bytes) prefetch_line(at);
    }
    /// What is noted of the next packet, some time before it is written.
    void prefetch_packet() const noexcept {
        const std::uint32_t sequence = link.next_sequence();
        link.prefetch_header();
        ghosts.prefetch_record();
        prefetch_line(&sent_in(sequence));
    }
};

}  // namespace purview
