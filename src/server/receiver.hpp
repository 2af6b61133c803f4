// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Processes received datagrams. Everything read is checked and counted. A packet is applied as a
// whole or not at all. A session that sends too many malformed packets is closed without an effect
// on others.
//
// Owns what is read from one datagram; it is valid from receive_data to its end.
//
// Must not know: interest, the world, the game. Data for the game waits in the session until the
// next tick.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "server/handshake.hpp"
#include "server/input_router.hpp"
#include "server/rpc_router.hpp"
#include "server/server_counters.hpp"
#include "server/server_time.hpp"
#include "server/session_closer.hpp"
#include "server/session_table.hpp"
#include "server/shared_sections.hpp"
#include "server/tap.hpp"

namespace purview {

class Receiver {
  public:
    Receiver(const ServerDef& def, ServerTime& time, SessionTable& sessions, Handshake& handshake,
             SessionCloser& closer, const SharedSections& sections, InputRouter& inputs,
             const RpcRouter& calls, ReplicationTap* const& tap, DropCounters& drops)
        : def_(def),
          time_(time),
          sessions_(sessions),
          handshake_(handshake),
          closer_(closer),
          sections_(sections),
          inputs_(inputs),
          calls_(calls),
          tap_(tap),
          drops_(drops) {}

    void receive(std::span<const std::byte> datagram, const Address& from, Micros now);
    std::uint64_t bytes_received() const noexcept { return bytes_received_; }

  private:
    /// Everything after the header of a client's packet; contains views into the packet.
    struct Body {
        bool has_digest = false;
        bool has_inputs = false;  ///< read by InputRouter
        std::uint64_t digest = 0;
        std::uint32_t command_count = 0;
        std::uint16_t newest_input = 0;
        std::array<std::span<const std::byte>, commands_per_packet_max> commands;
    };

    void receive_data(std::span<const std::byte> datagram, const Address& from, Micros now);
    void receive_close(std::span<const std::byte> datagram);
    bool read_body(Session& session, BitReader& in);
    bool read_messages(Session& session);
    void resolve(Session& session, DeliveryNotice notice, Micros now);
    void take_commands(Session& session);
    void queue_command(Session& session, std::span<const std::byte> command);
    void queue_message(Session& session, std::span<const std::byte> message);
    Session* find_session(std::span<const std::byte> datagram) const noexcept;
    void count_malformed(Session& session);

    const ServerDef& def_;
    ServerTime& time_;
    SessionTable& sessions_;
    Handshake& handshake_;
    SessionCloser& closer_;
    const SharedSections& sections_;
    InputRouter& inputs_;
    const RpcRouter& calls_;
    ReplicationTap* const& tap_;  ///< null: no replication observer is set
    DropCounters& drops_;
    Body body_;
    std::array<std::byte, limits::datagram_bytes> scratch_;  ///< a decrypted packet
    std::vector<DeliveryNotice> notices_;
    std::vector<std::uint32_t> lost_packets_;  ///< sequence numbers of lost packets in notices_
    std::uint64_t bytes_received_ = 0;
};

}  // namespace purview
