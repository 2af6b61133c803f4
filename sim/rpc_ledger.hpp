// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tracks which calls are promised to which observers, and which calls arrived. A call is promised
// to an observer if the report of its tick counts it as sent or queued. Every call carries a number
// and its entity's tag, so a lost, duplicated, reordered or misdirected call is detected from
// arrivals alone. Relevance decides which calls may be sent, not the ghosts of the server.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "purview/client.hpp"
#include "purview/server.hpp"
#include "server/tap.hpp"

namespace purview::test {

/// The arguments of every call of the small world.
struct Ping {
    std::uint32_t tag = 0;     ///< Body::tag of the entity; 0: not about an entity
    std::uint32_t number = 0;  ///< number of the call, from 1 on
};

struct LedgerCounts {
    std::uint64_t made = 0;
    std::uint64_t promised = 0;
    std::uint64_t culled = 0;
    std::uint64_t held = 0;
    std::uint64_t late = 0;
    std::uint64_t delivered = 0;
    std::uint64_t waited = 0;     ///< calls that waited at a client until their ghosts entered
    std::uint64_t covered = 0;    ///< observers that a positional call must reach
    std::uint64_t uncovered = 0;  ///< observers that it must not reach
    std::uint64_t repeated = 0;   ///< resent in a later packet
    std::uint64_t to_server = 0;
};

class RpcLedger final : public ReplicationTap {
  public:
    /// Whether the game denies the entity, or an ancestor of it, to the observer.
    using IsDenied = std::function<bool(ObserverId, EntityId)>;
    /// Whether a call at this position reaches the observer; empty if uncertain.
    using Covers = std::function<std::optional<bool>(ObserverId, Vec3)>;
    /// Forwards all notifications to `inner`. Without `is_denied`, nothing is denied.
    RpcLedger(Server& server, ReplicationTap* inner, IsDenied is_denied = {}, Covers covers = {});

    // -- to observers ---------------------------------------------------------------------------
    /// Registers a call. `position`: the position of a positional call.
    void made(CallId call, RpcId rpc, EntityId target, Ping args, Vec3 position = {});
    /// Call after every server tick, before anything else changes the server.
    void check_tick();
    /// Takes and checks the calls that arrived at the client. The tag of an entity is read from
    /// field `tag_field` of `body`.
    void take(Client& client, ObserverId observer, ComponentId body, std::size_t tag_field);
    /// Number of reliable calls that were promised to the observer and have not arrived, less the
    /// `dropped` calls that the client dropped.
    std::uint64_t missing(ObserverId observer, std::uint64_t dropped) const;

    // -- to the server --------------------------------------------------------------------------
    void client_made(std::uint64_t client, RpcId rpc, std::uint32_t number);
    void server_got(std::uint64_t client, RpcId rpc, EntityId target, std::uint32_t tag, Ping args);
    /// Number of reliable calls of the client without a target that have not arrived.
    std::uint64_t missing_at_server(std::uint64_t client) const;

    /// Description of the first violated guarantee; empty if there is none.
    const std::string& trouble() const noexcept { return trouble_; }
    const LedgerCounts& counts() const noexcept { return counts_; }

    void packet_sent(const Session& session, const PacketRecord& record) override;
    void packet_resolved(const Session& session, DeliveryNotice notice) override;
    void digest_received(const Session& session, std::uint32_t sequence,
                         std::uint64_t digest) override;
    void state_received(const Session& session, std::span<const std::byte> state) override;
    void call_written(const Session& session, std::uint32_t sequence,
                      const OutgoingRpc& call) override;
    void session_closed(const Session& session) override;
    void tick_done() override { inner_->tick_done(); }

  private:
    struct Call {
        CallId call;
        RpcId rpc;
        EntityId target;
        Ping args;
        Vec3 position;
    };
    enum class Promise : std::uint8_t { sent, held, late, delivered };
    struct FromClient {
        std::map<std::uint32_t, std::set<std::uint32_t>> made;  ///< by type
        std::map<std::uint32_t, std::set<std::uint32_t>> got;
    };
    const RpcDesc& desc(RpcId rpc) const;
    void check_report(const RpcReport& report);
    void check_late(const RpcLateCull& late);
    void fail(const std::string& what);

    Server* server_;
    ReplicationTap* inner_;
    IsDenied is_denied_;
    Covers covers_;
    std::map<std::uint32_t, Call> calls_;               ///< by CallId
    std::map<std::uint32_t, std::uint32_t> by_number_;  ///< Ping::number -> CallId
    /// [observer][call]
    std::map<std::uint32_t, std::map<std::uint32_t, Promise>> promises_;
    /// [observer] newest number; queued calls excluded.
    std::map<std::uint32_t, std::uint32_t> newest_ordered_;
    std::map<std::uint64_t, FromClient> from_clients_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> written_;  ///< observer, call
    std::set<std::uint32_t> closed_;                             ///< observers with closed sessions
    std::string trouble_;
    LedgerCounts counts_;
};

}  // namespace purview::test
