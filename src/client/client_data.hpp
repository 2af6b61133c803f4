// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The state of a client. client_tick.cpp receives, applies and sends.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "client/client_inputs.hpp"
#include "client/ghosts.hpp"
#include "link/handshake.hpp"
#include "link/packet_link.hpp"
#include "link/stream.hpp"
#include "protocol/rpc_inbox.hpp"
#include "protocol/rpc_outbox.hpp"
#include "purview/client.hpp"

namespace purview {

class ClientData {
  public:
    explicit ClientData(const ClientDef& client_def);

    void receive(std::span<const std::byte> datagram, Micros now);
    void tick(Micros now);
    bool next_datagram(std::span<const std::byte>& out);
    void leave(CloseReason reason = CloseReason::left);
    Status send_command(std::span<const std::byte> data);
    Status send_message(std::span<const std::byte> message);
    bool next_message(std::span<const std::byte>& out);
    bool has_copy(GhostId ghost) const noexcept {
        return ghosts &&
               (ghosts->is_shown(ghost) || ghosts->retention(ghost) != Retention::despawn);
    }
    /// Of now, of its copy, or as it left.
    bool has_values(GhostId ghost) const noexcept {
        return has_copy(ghost) || (ghosts && ghosts->has_left(ghost));
    }
    /// The first ones: the game has read them, or they are too many.
    void drop_events(std::size_t events_count, std::size_t relations_count);
    /// The program has read all there is, and may still ask for the values of what has left.
    void note_taken() noexcept {
        events_taken_ = events.size();
        relations_taken_ = relations.size();
    }
    /// Not any more.
    void drop_taken() { drop_events(events_taken_, relations_taken_); }
    void clear_changes() noexcept {
        if (ghosts) ghosts->clear_changes();
    }
    struct FoundField {
        const FieldDef* def = nullptr;
        const std::uint32_t* words = nullptr;  ///< null: there is no such ghost or field
    };
    FoundField find_field(GhostId ghost, ComponentId component, std::size_t field) const noexcept;
    /// Of the call that was handed out last.
    FoundField find_argument(const ReceivedRpc& received, std::size_t argument) const noexcept;
    // client_calls.cpp
    Status call(RpcId rpc, GhostId ghost, const RpcWords& words);
    bool next_rpc(ReceivedRpc& out);
    /// Sends what an honest client would not: for tests of servers.
    bool call_unchecked(RpcId rpc, GhostId ghost, const RpcWords& words);

    ClientDef def;
    ClientState state = ClientState::connecting;
    RefuseReason refuse_reason = RefuseReason::none;
    CloseReason close_reason = CloseReason::none;
    std::string reason_text;
    std::optional<ClientGhosts> ghosts;
    std::uint64_t schema_hash = 0;  ///< of their schema
    /// What is numbered in the program's own schema is numbered so in theirs. `own_hash`: of `own`.
    bool is_own(const Schema& own, std::uint64_t own_hash) const;
    std::string world_name;
    std::uint32_t tick_hz = 0;
    Tick newest_tick = 0;
    std::uint32_t newest_packet = 0;
    /// Packets without a snapshot come for longer than anybody is on the way without being told of:
    /// nobody moves.
    bool is_quiet = false;
    Micros newest_tick_at = 0;  ///< when the first snapshot of that tick came
    ClientInputs inputs;
    std::vector<ClientEvent> events;        ///< of these and of relations, the newest untaken
    std::vector<ClientRelation> relations;  ///< ones; untaken_max at most
    static constexpr std::size_t untaken_max = 65'536;
    bool is_view_told = false;
    bool is_view_complete = false;
    struct Cells {
        CellGrid grid;
        bool is_flat = false;  ///< the second axis is z
    };
    std::vector<Cells> cells;  ///< of nodes in a shared mode
    std::uint32_t cell_of(GhostId ghost, std::size_t grid) const noexcept;
    ClientStats stats;

  private:
    struct Command {
        std::vector<std::byte> data;
        std::uint32_t packets_left;  ///< times it is still to be sent
    };
    void receive_challenge(std::span<const std::byte> datagram, Micros now);
    void receive_accept(std::span<const std::byte> datagram, Micros now);
    void receive_data(std::span<const std::byte> datagram, Micros now);
    void send_join();
    bool read_calls(BitReader& in);
    void accept_calls(bool has_snapshot, Micros now);
    void release_calls(Micros now);
    std::uint64_t choose_calls();
    void write_calls(std::uint32_t sequence, BitWriter& out);
    void read_messages();
    void log_activation(const ClientEvent& event) const;
    bool read_welcome(std::span<const std::byte> message);
    bool read_cells(std::span<const std::byte> message);
    bool read_refusal(std::span<const std::byte> message);
    void keep_message(std::span<const std::byte> message);
    void send_state();
    void send_data(Micros now);
    struct ChosenCommands {
        std::size_t count;   ///< of those that wait, from the first on
        std::uint64_t bits;  ///< with their number
    };
    ChosenCommands choose_commands(std::uint64_t bits_max) const noexcept;
    void write_commands(std::size_t count, BitWriter& out);
    bool read_input_state(BitReader& in);
    void accept_input_state();
    void queue(std::span<const std::byte> bytes);

    PacketLink link_;
    StreamSender stream_out_;
    StreamReceiver stream_in_;
    std::optional<Answer> answer_;
    mutable const Schema* compared_ = nullptr;  ///< with theirs, by is_own
    mutable bool is_compared_same_ = false;
    std::uint64_t connection_id_ = 0;
    std::optional<Micros> started_;
    Micros last_handshake_ = 0;
    Micros last_heard_ = 0;
    std::deque<Command> commands_;
    std::uint32_t newest_command_ = 0;
    std::uint32_t packets_since_digest_ = 0;
    bool digest_due_ = false;
    std::deque<std::vector<std::byte>> messages_;
    std::size_t message_bytes_ = 0;
    std::size_t events_taken_ = 0, relations_taken_ = 0;  ///< the first ones
    std::vector<std::byte> message_;
    std::array<Micros, PacketLink::under_way_max> sent_at_{};
    std::vector<DeliveryNotice> notices_;
    RpcOutbox calls_out_;
    RpcInbox calls_in_;
    std::array<double, Schema::fields_max> call_values_{};
    RpcWords call_words_{};
    std::deque<std::vector<std::byte>> out_;
    std::vector<std::byte> out_current_;
};

}  // namespace purview
