// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Who was promised which call, and who got it. Every call carries a number and the tag of its
// entity, so that one that is lost, doubled, out of order or with the wrong ghost is found by what
// arrives alone; what may be sent at all is judged by interest, not by ghosts.
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
    std::uint32_t tag = 0;     ///< Body::tag of the entity; 0: about none
    std::uint32_t number = 0;  ///< of the call, from 1 on
};

struct LedgerCounts {
    std::uint64_t made = 0;
    std::uint64_t promised = 0;
    std::uint64_t culled = 0;
    std::uint64_t held = 0;
    std::uint64_t late = 0;
    std::uint64_t delivered = 0;
    std::uint64_t waited = 0;     ///< at a client, for their ghosts
    std::uint64_t covered = 0;    ///< observers whom a call at its place must reach
    std::uint64_t uncovered = 0;  ///< whom it must not
    std::uint64_t repeated = 0;   ///< written into a packet once more
    std::uint64_t to_server = 0;
};

class RpcLedger final : public ReplicationTap {
  public:
    /// What the game says by hand of a pair, or of the same observer and somebody above the entity.
    using IsDenied = std::function<bool(ObserverId, EntityId)>;
    /// Whether a call at this place reaches him; nothing where that is not for certain.
    using Covers = std::function<std::optional<bool>(ObserverId, Vec3)>;
    /// Hears what `inner` hears, and passes it on. Without `is_denied` nobody is denied anything.
    RpcLedger(Server& server, ReplicationTap* inner, IsDenied is_denied = {}, Covers covers = {});

    // -- to observers ---------------------------------------------------------------------------
    /// `position`: of a call at one.
    void made(CallId call, RpcId rpc, EntityId target, Ping args, Vec3 position = {});
    /// After every tick of the server, before anything else happens to it.
    void check_tick();
    /// Takes and checks what has arrived. `tag_of(ghost)`: what the client has as its entity's tag.
    void take(Client& client, ObserverId observer, ComponentId body, std::size_t tag_field);
    /// Reliable calls that the observer was promised and has not got; nothing excuses them but
    /// `dropped` of the client.
    std::uint64_t missing(ObserverId observer, std::uint64_t dropped) const;

    // -- to the server --------------------------------------------------------------------------
    void client_made(std::uint64_t client, RpcId rpc, std::uint32_t number);
    void server_got(std::uint64_t client, RpcId rpc, EntityId target, std::uint32_t tag, Ping args);
    /// Reliable static calls of the client that have not come.
    std::uint64_t missing_at_server(std::uint64_t client) const;

    /// The first promise that was broken, in words; empty: none.
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
    std::map<std::uint32_t, std::uint32_t> newest_ordered_;  ///< [observer] number, not held ones
    std::map<std::uint64_t, FromClient> from_clients_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> written_;  ///< observer, call
    std::set<std::uint32_t> closed_;  ///< observers whose sessions are over
    std::string trouble_;
    LedgerCounts counts_;
};

}  // namespace purview::test
