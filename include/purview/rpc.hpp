// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// RPCs: their declaration, and the reports of the server. An RPC is a name and a plain struct. The
/// schema declares both (Schema::rpc), so a browser can read and make calls without generated code.
/// Relevance decides which observers receive an RPC; component audiences do not. Order and limits:
/// docs/rpc.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "purview/handles.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_rpc
/// @{

/// The number of a call of the game, from 1; identifies it in reports.
enum class CallId : std::uint32_t { none = 0 /**< no call */ };

/// Which side calls.
enum class RpcDirection : std::uint8_t {
    to_observers = 0,  ///< the game calls clients and HostView players (Server::call)
    to_server = 1,     ///< a client calls the game (Client::call, Game::on_rpc)
};

/// The target of an RPC, which decides about its receivers.
enum class RpcTarget : std::uint8_t {
    entity = 0,    ///< observers to which the entity is relevant
    position = 1,  ///< observers that cover the position with areas or spatial rules
    none = 2,      ///< no target: not culled
};

/// How an RPC is delivered.
enum class RpcDelivery : std::uint8_t {
    unreliable = 0,          ///< sent in the packets of its tick, or not at all
    reliable_unordered = 1,  ///< exactly once, as soon as a packet brings it
    reliable_ordered = 2,    ///< exactly once, in the order of all ordered RPCs to the receiver
};

/// What happens to an RPC about an entity that is not relevant to an observer.
enum class RpcPolicy : std::uint8_t {
    cull = 0,  ///< not sent
    hold = 1,  ///< queued until it is relevant, at most hold_ticks; not if it is denied
    /// Sent without the ghost. The game is responsible for what the arguments reveal.
    force = 2,
};

/// Which clients may call the server.
enum class RpcCallers : std::uint8_t {
    anyone = 0,   ///< every joined client; for an RPC about an entity, only with its ghost
    owner = 1,    ///< as `anyone`, and only the owner of the entity
    players = 2,  ///< as `anyone`, and only with Role::player
};

/// The properties of an RPC type.
struct RpcDesc {
    RpcDirection direction = RpcDirection::to_observers;   ///< which side calls
    RpcTarget target = RpcTarget::entity;                  ///< to_server: `entity` or `none`
    RpcDelivery delivery = RpcDelivery::reliable_ordered;  ///< order, and resend after a loss
    RpcPolicy policy = RpcPolicy::cull;       ///< hold, force: only to_observers, about an entity
    std::uint16_t hold_ticks = 0;             ///< 1..65535 with hold, otherwise 0
    RpcCallers callers = RpcCallers::anyone;  ///< for to_server; owner: about an entity
};

/// Which observers receive an RPC of the server: {.entity = rocket}, {.position = there}, {.only =
/// observer}; {}: all ready ones.
struct RpcReceivers {
    /// The target entity. Observers to which it is relevant receive the RPC.
    EntityId entity = EntityId::none;
    /// The target position, which is not sent. Observers that cover it with areas or spatial rules
    /// receive the RPC.
    std::optional<Vec3> position = {};
    /// Restricts the receivers to this one; stale_id if it is gone. `among` and `except` have no
    /// effect then.
    ObserverId only = ObserverId::none;
    /// Restricts the receivers to these, if not empty. In any order; each receives it once. Ignores
    /// those that are gone. Copied.
    std::span<const ObserverId> among = {};
    /// Excluded, also from the report: for example the observer that caused the call.
    ObserverId except = ObserverId::none;
};

/// Why an observer does not receive an RPC.
enum class CullReason : std::uint8_t {
    not_ready = 0,     ///< it is not ready
    not_relevant = 1,  ///< the entity is not relevant to it
    denied = 2,        ///< the entity is denied to it
    out_of_reach = 3,  ///< out of range: it does not cover the position
    capacity = 4,      ///< too many RPCs wait for it, or are queued for this entity
    expired = 5,       ///< queued, and hold_ticks are over or the entity was despawned
    left = 6,          ///< its entity left before the acknowledgement; the RPC may have arrived
    no_room = 7,       ///< unreliable, and not in the packets of its tick
};
/// Returns a short lower-case text. Static storage.
std::string_view to_string(CullReason) noexcept;

/// An observer that does not receive an RPC.
struct RpcCulled {
    ObserverId observer;  ///< the observer
    CullReason reason;    ///< why
};

/// The result of a call, by the relevance of its tick.
struct RpcReport {
    CallId call = CallId::none;        ///< as Server::call returned it
    RpcId rpc = RpcId::none;           ///< its type
    EntityId target = EntityId::none;  ///< RpcReceivers::entity
    /// stale_id: the entity, or RpcReceivers::only, is gone; no observer receives it.
    Status status = Status::ok;
    std::uint32_t sent = 0;  ///< number of observers to which it was sent
    std::uint32_t held = 0;  ///< number of observers for which it is queued
    /// All other joined observers in order of connection, then players in this process. With `only`
    /// or `among`, only those of them. Valid until the next tick.
    std::span<const RpcCulled> culled;
};

/// A receiver that a report counted in `sent` or `held`, and that did not receive the RPC, or may
/// not have received it. There is no entry for a client that disconnected: see Game::on_leave.
struct RpcLateCull {
    CallId call = CallId::none;  ///< as Server::call returned it
    RpcCulled culled{};          ///< the receiver, and why
};

/// Copies the arguments of an RPC into their struct. Returns false, and changes nothing, for
/// another RPC type.
template <class T>
bool read_args(Rpc<T> expected, RpcId rpc, std::span<const std::byte> args, T& out) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    if (expected.id != rpc || args.size() != sizeof(T)) return false;
    std::memcpy(&out, args.data(), sizeof(T));
    return true;
}

/// @}

}  // namespace purview
