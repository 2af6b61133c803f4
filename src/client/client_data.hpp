// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A client: its parts, and the connection that feeds them. client_tick.cpp receives, applies and
// sends.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "client/client_calls.hpp"
#include "client/client_cells.hpp"
#include "client/client_inputs.hpp"
#include "client/command_outbox.hpp"
#include "client/message_inbox.hpp"
#include "client/replica.hpp"
#include "client/schema_match.hpp"
#include "link/handshake.hpp"
#include "link/packet_link.hpp"
#include "link/packet_seal.hpp"
#include "link/stream.hpp"
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
    Status call(RpcId rpc, LocalId ghost, const RpcWords& words);
    bool has_values(LocalId ghost) const noexcept {
        return replica && replica->ghosts.has_values(ghost);
    }
    FoundField find_field(LocalId ghost, ComponentId component, std::size_t field) const noexcept;
    /// Whether ids of the program's schema have the same meaning in the server's. `own_hash`: hash
    /// of `own`.
    bool is_own(const Schema& own, std::uint64_t own_hash) const {
        return replica && schema_match.is_same(own, own_hash, replica->ghosts.schema());
    }
    /// Returns ClientDef::schema if the server has the same schema; otherwise null.
    const Schema* own_schema() const {
        return def.schema != nullptr && is_own(*def.schema, def.schema_hash) ? def.schema : nullptr;
    }
    bool next_rpc(ReceivedRpc& out) { return calls.next(own_schema(), out); }
    std::uint32_t cell_of(LocalId ghost, std::size_t grid) const noexcept;

    ClientDef def;
    ClientState state = ClientState::connecting;
    RefuseReason refuse_reason = RefuseReason::none;
    CloseReason close_reason = CloseReason::none;
    std::string reason_text;
    std::optional<Replica> replica;  ///< set by the welcome message
    SchemaMatch schema_match;
    std::string world_name;
    std::uint32_t tick_hz = 0;
    Tick newest_tick = 0;
    std::uint32_t newest_packet = 0;
    /// Packets arrive, but none has had a snapshot for at least Replica::way_ticks_max. So no ghost
    /// moves.
    bool is_quiet = false;
    Micros newest_tick_at = 0;  ///< when the first snapshot of that tick arrived
    ClientInputs inputs;
    bool is_view_complete_sent = false;
    bool is_view_complete = false;
    ClientCells cells;
    ClientStats stats;
    ClientCalls calls{replica, stats};
    CommandOutbox commands;
    MessageInbox messages;

  private:
    void receive_challenge(std::span<const std::byte> datagram, Micros now);
    void receive_path_challenge(std::span<const std::byte> datagram);
    void receive_accept(std::span<const std::byte> datagram, Micros now);
    void receive_encrypted_accept(std::span<const std::byte> datagram, Micros now);
    void connect(const Accept& accept, const PacketSeal& seal, Micros now);
    std::size_t write_answer(std::span<std::byte> out) const;
    void receive_close(std::span<const std::byte> datagram);
    void receive_data(std::span<const std::byte> datagram, Micros now);
    void send_join();
    void read_messages();
    void log_activation(const ClientEvent& event) const;
    bool read_welcome(std::span<const std::byte> message);
    bool read_refusal(std::span<const std::byte> message);
    void send_state();
    void send_data(Micros now);
    bool read_input_state(BitReader& in);
    void accept_input_state();
    void queue(std::span<const std::byte> bytes);

    PacketSeal seal_;
    PacketLink link_;
    StreamSender stream_out_;
    StreamReceiver stream_in_;
    std::optional<Answer> answer_;
    std::uint64_t connection_id_ = 0;
    std::optional<Micros> started_;
    Micros last_handshake_ = 0;
    Micros last_received_ = 0;
    std::uint32_t packets_since_digest_ = 0;
    bool digest_due_ = false;
    std::array<Micros, PacketLink::under_way_max> sent_at_{};
    std::array<std::byte, limits::datagram_bytes> scratch_{};  ///< a decrypted packet
    std::vector<DeliveryNotice> notices_;
    std::deque<std::vector<std::byte>> out_;
    std::vector<std::byte> out_current_;
};

}  // namespace purview
