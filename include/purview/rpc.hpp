// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Remote calls: what a schema says of them, and what the server tells its game about them. A call
// is a name and a plain struct; the schema declares both (Schema::rpc), so a browser can read and
// make calls without generated code. Which observer gets a call follows from relevance, never from
// component audiences (F20, F22). Orders and bounds: docs/rpc.md.
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

/// One call that the game has made, from 1 on; names it in reports.
enum class CallId : std::uint32_t { none = 0 };

enum class RpcDirection : std::uint8_t {
    to_observers = 0,
    to_server = 1,
};

/// What a call is about, and so who may hear of it.
enum class RpcTarget : std::uint8_t {
    entity = 0,    ///< those to whom the entity is relevant
    position = 1,  ///< those whose areas or neighbourhood cover the place (P25)
    nobody = 2,    ///< static: not culled
};

enum class RpcDelivery : std::uint8_t {
    unreliable = 0,          ///< in the packets of its tick, or never
    reliable_unordered = 1,  ///< once; as soon as a packet with it arrives
    reliable_ordered = 2,  ///< once; in the order of sending, of all ordered calls of the receiver
};

/// What becomes of a call about an entity that is not relevant to an observer.
enum class RpcPolicy : std::uint8_t {
    cull = 0,  ///< the observer does not get it
    hold = 1,  ///< it waits until the entity is relevant, for hold_ticks at most; not where the
               ///< pair is denied
    force =
        2,  ///< it is sent all the same, and names no ghost; the arguments are the game's affair
};

/// Who may make a call to the server.
enum class RpcCallers : std::uint8_t {
    anybody = 0,  ///< who has joined and, for a call about an entity, holds its ghost
    owner = 1,    ///< and owns the entity
    players = 2,  ///< and has joined as a player
};

struct RpcDesc {
    RpcDirection direction = RpcDirection::to_observers;
    RpcTarget target = RpcTarget::entity;  ///< to the server: entity or nobody
    RpcDelivery delivery = RpcDelivery::reliable_ordered;
    RpcPolicy policy = RpcPolicy::cull;        ///< hold and force: to observers, about an entity
    std::uint16_t hold_ticks = 0;              ///< with hold, and only then: 1..65535
    RpcCallers callers = RpcCallers::anybody;  ///< to the server; owner: about an entity
};

/// Which observers receive a call of the server: {.entity = rocket}, {.position = there},
/// {.only = observer}; {}: all that are ready.
struct RpcReceivers {
    /// The call is about this entity. It reaches observers to which the entity is relevant.
    EntityId entity = EntityId::none;
    /// The call reaches observers whose areas or cells cover this position, which is not sent.
    std::optional<Vec3> position = {};
    ObserverId only = ObserverId::none;  ///< none but this one; stale_id if it is gone
    /// Not empty: none but these, in any order, each once. Those that are gone are ignored. Copied.
    std::span<const ObserverId> among = {};
    ObserverId except = ObserverId::none;  ///< left out, and in no report: the one that caused it
};

/// Why an observer does not get a call.
enum class CullReason : std::uint8_t {
    not_ready = 0,
    not_relevant = 1,
    denied = 2,        ///< an explicit pair says never
    out_of_reach = 3,  ///< no area of it covers the place
    capacity = 4,      ///< too many calls wait for it, or are held about this entity
    expired = 5,       ///< held, and its time is over, or its entity despawned
    left = 6,          ///< the entity was relevant, and is no more: not known as delivered by then
    no_room = 7,       ///< unreliable, and not in the packets of its tick
};
/// A short lower-case word. Static storage.
std::string_view to_string(CullReason) noexcept;

struct RpcCulled {
    ObserverId observer;
    CullReason reason;
};

/// What became of a call when the relevance of its tick was known (F21).
struct RpcReport {
    CallId call = CallId::none;
    RpcId rpc = RpcId::none;
    EntityId target = EntityId::none;
    Status status = Status::ok;  ///< stale_id: the entity is gone; nobody got it
    std::uint32_t sent = 0;      ///< observers for whom it is under way
    std::uint32_t held = 0;      ///< observers for whom it is held
    /// Everybody else who has joined, in order of connecting, and players in this process behind
    /// them; of a call with `only` or `among`, only these. Valid until the next tick.
    std::span<const RpcCulled> culled;
};

/// A pair that a report had as sent or held, and that will not get the call, or may not have. There
/// is none for who has gone: Game::left says so.
struct RpcLateCull {
    CallId call = CallId::none;
    RpcCulled culled{};
};

/// The arguments of a call as the struct that they are. False, and nothing is changed: another type
/// of call.
template <class T>
bool read_args(Rpc<T> expected, RpcId rpc, std::span<const std::byte> args, T& out) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    if (expected.id != rpc || args.size() != sizeof(T)) return false;
    std::memcpy(&out, args.data(), sizeof(T));
    return true;
}

}  // namespace purview
