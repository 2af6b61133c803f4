// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Replication observers, for checks and recorders. They read what the server sends and must not
// change it.
#pragma once

#include <cstdint>

#include "server/session.hpp"

namespace purview {

class ReplicationTap {
  public:
    virtual ~ReplicationTap() = default;
    /// Called when a packet with a snapshot is sent. `record`: its contents.
    virtual void packet_sent(const Session& session, const PacketRecord& record) = 0;
    /// Called once for each packet, in sequence order, with its delivery status; also for packets
    /// without a snapshot.
    virtual void packet_resolved(const Session& session, DeliveryNotice notice) = 0;
    /// Called with the client's digest of all its ghosts after it applied this packet.
    virtual void digest_received(const Session& session, std::uint32_t sequence,
                                 std::uint64_t digest) = 0;
    /// Called with the client's answer to a state request (ServerMessage::state_request).
    virtual void state_received(const Session& session, std::span<const std::byte> state) = 0;
    /// Called when an RPC is written into the packet with this number.
    virtual void call_written(const Session& session, std::uint32_t sequence,
                              const OutgoingRpc& call) {
        (void)session, (void)sequence, (void)call;
    }
    /// Called at the end of a tick. The world still matches the packets of the tick.
    virtual void tick_done() {}
    virtual void session_closed(const Session& session) = 0;
};

}  // namespace purview
