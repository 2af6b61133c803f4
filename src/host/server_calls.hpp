// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Remote calls as the server keeps them: those of the running tick, which wait for its relevance,
// and those that are held for somebody. What is on its way to one client is in its session.
#pragma once

#include <vector>

#include "core/flat_map.hpp"
#include "purview/interest.hpp"
#include "purview/rpc.hpp"
#include "replication/rpc_args.hpp"

namespace purview {

/// What the game asked for.
struct WantedCall {
    CallId call = CallId::none;
    RpcId rpc = RpcId::none;
    RpcTarget about = RpcTarget::nobody;
    EntityId target = EntityId::none;
    Vec3 place{};
    ObserverId only = ObserverId::none;    ///< static, to one
    ObserverId except = ObserverId::none;  ///< he is passed over
    Tick made = 0;
    RpcWords words{};
    std::uint32_t place_number = 0;  ///< among the places that this tick's calls are about
};

/// A call about an entity, for those to whom it was not relevant.
struct HeldCall {
    WantedCall wanted;
    Tick ends = 0;  ///< the last tick in which it may be sent
    std::vector<ObserverId> observers;
};

struct ServerCalls {
    std::uint32_t next = 1;
    std::vector<WantedCall> wanted;  ///< in the order of calling
    std::vector<HeldCall> held;      ///< in the order of calling
    /// pair_of(entity, observer) -> how many of them
    FlatMap<std::uint64_t, std::uint32_t> held_about;
    std::vector<RpcReport> reports;
    std::vector<RpcCulled> culled;  ///< of all reports, one after another
    std::vector<RpcLateCull> late;
    std::vector<EntityId> coming;           ///< scratch: of whom calls are held, to one observer
    std::vector<Vec3> places;               ///< scratch: of the calls about one, in order
    std::vector<Covering> covering;         ///< scratch: who covers them
    std::vector<std::size_t> first_culled;  ///< scratch: by report
    RpcCounters counters;
};

}  // namespace purview
