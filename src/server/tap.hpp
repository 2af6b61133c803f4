// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Replication observers, for checks and recorders. They see what the server sends and must not
// change it.
#pragma once

#include <cstdint>

#include "server/session.hpp"

namespace purview {

class ReplicationTap {
  public:
    virtual ~ReplicationTap() = default;
    /// A packet with a snapshot is sent; `record` describes its contents.
    virtual void packet_sent(const Session& session, const PacketRecord& record) = 0;
    /// The delivery status of each packet, once, in sequence order; also of packets without a
    /// snapshot.
    virtual void packet_resolved(const Session& session, DeliveryNotice notice) = 0;
    /// The client's digest of all its ghosts, after applying this packet.
    virtual void digest_received(const Session& session, std::uint32_t sequence,
                                 std::uint64_t digest) = 0;
    /// The client's answer to a state request: see ServerMessage::state_request.
    virtual void state_received(const Session& session, std::span<const std::byte> state) = 0;
    /// A call is written into the packet with this number.
    virtual void call_written(const Session& session, std::uint32_t sequence,
                              const OutgoingRpc& call) {
        (void)session, (void)sequence, (void)call;
    }
    /// A tick has ended; the world still matches its packets.
    virtual void tick_done() {}
    virtual void session_closed(const Session& session) = 0;
};

}  // namespace purview
