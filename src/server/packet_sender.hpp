// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What goes to clients: each tick, no more packets for a session than its budget has bytes for.
//
// Between begin_tick and end_tick sessions are independent: `send` and `write_probe` are called for
// different sessions by different threads, each with its own worker, and write only to these two.
// end_tick brings what the workers wrote into the order of sessions.
//
// Must not know: how relevance, changes or send order were decided.
#pragma once

#include "purview/world.hpp"
#include "replication/field_store.hpp"
#include "replication/replication_input.hpp"
#include "server/datagram_queue.hpp"
#include "server/rpc_router.hpp"
#include "server/server_counters.hpp"
#include "server/server_time.hpp"
#include "server/session.hpp"
#include "server/shared_sections.hpp"
#include "server/spoil.hpp"
#include "server/tap.hpp"
#include "server/tick_worker.hpp"

namespace purview {

class PacketSender {
  public:
    PacketSender(const ServerDef& def, const ServerTime& time, const World& world,
                 const FieldStore& fields, SharedSections& sections, RpcRouter& calls,
                 TickWorkers& workers, DatagramQueue& datagrams, ReplicationTap* const& tap,
                 const Spoil& spoil);

    /// What the stages from `diff` to `encode` read, with the cache of this worker.
    ReplicationInput input(TickWorker& worker) noexcept;
    /// Its link accepts one more packet.
    bool may_send(const Session& session) const noexcept;

    void begin_tick();
    /// The packets of a session, which is not closing, in this tick.
    void send(TickWorker& worker, Session& session, Micros now);
    /// A probe is sent everything at once, and it arrives.
    void write_probe(TickWorker& worker, Session& session);
    /// Adds what the workers measured to the profile.
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
    ReplicationTap* const& tap_;  ///< null: none listens
    const Spoil& spoil_;
    bool has_limits_ = false;  ///< some kind has a KindDef::limit
    std::uint64_t split_updates_ = 0;
    std::uint64_t limited_updates_ = 0;
};

}  // namespace purview
