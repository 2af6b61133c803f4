// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Writes packets to clients: per tick and session, at most as many packets as its byte budget
// allows.
//
// Sessions are independent between begin_tick and end_tick: `send` and `write_probe` are called for
// different sessions by different threads. Each thread has its own worker and writes only to its
// worker and session. end_tick puts what the workers wrote into session order.
//
// Must not know: how relevance, changes or send order were decided.
#pragma once

#include "purview/world.hpp"
#include "replication/field_store.hpp"
#include "replication/replication_input.hpp"
#include "server/datagram_queue.hpp"
#include "server/fault_injection.hpp"
#include "server/rpc_router.hpp"
#include "server/server_counters.hpp"
#include "server/server_time.hpp"
#include "server/session.hpp"
#include "server/shared_sections.hpp"
#include "server/tap.hpp"
#include "server/tick_worker.hpp"

namespace purview {

class PacketSender {
  public:
    PacketSender(const ServerDef& def, const ServerTime& time, const World& world,
                 const FieldStore& fields, SharedSections& sections, RpcRouter& calls,
                 TickWorkers& workers, DatagramQueue& datagrams, ReplicationTap* const& tap,
                 const InjectedFault& injected_fault);

    /// The input of the stages from `diff` to `encode`, with the cache of this worker.
    ReplicationInput input(TickWorker& worker) noexcept;
    /// The session's connection accepts one more packet.
    bool may_send(const Session& session) const noexcept;

    void begin_tick();
    /// Writes the packets of a session in this tick. The session must not be closing.
    void send(TickWorker& worker, Session& session, Micros now);
    /// Writes all updates of a reference client and marks them as delivered at once.
    void write_probe(TickWorker& worker, Session& session);
    /// Adds the durations that the workers measured to the profile.
    void end_tick(TickProfile& profile);

    std::uint64_t split_updates() const noexcept { return split_updates_; }
    std::uint64_t limited_updates() const noexcept { return limited_updates_; }

  private:
    struct Written {
        std::size_t bytes = 0;
        bool has_more = false;  ///< fragments of the stream, or calls
    };
    Written write_packet(TickWorker& worker, Session& session, std::span<std::byte> out, Micros now,
                         bool must_send);
    static void note_passed_over(Session& session) noexcept;

    const ServerDef& def_;
    const ServerTime& time_;
    const World& world_;
    const FieldStore& fields_;
    SharedSections& sections_;
    RpcRouter& calls_;
    TickWorkers& workers_;
    DatagramQueue& datagrams_;
    ReplicationTap* const& tap_;  ///< null: no replication observer is set
    const InjectedFault& injected_;
    bool has_limits_ = false;  ///< some kind has a KindDef::limit_per_tick
    std::uint64_t split_updates_ = 0;
    std::uint64_t limited_updates_ = 0;
};

}  // namespace purview
