// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// An RPC call of the game, made in the running tick or queued for observers.
#pragma once

#include <vector>

#include "protocol/rpc_args.hpp"
#include "purview/rpc.hpp"

namespace purview {

/// A call with its receivers and arguments.
struct WantedCall {
    CallId call = CallId::none;
    RpcId rpc = RpcId::none;
    RpcTarget about = RpcTarget::none;
    EntityId target = EntityId::none;
    Vec3 position{};
    ObserverId only = ObserverId::none;    ///< as RpcReceivers
    std::vector<ObserverId> among = {};    ///< as RpcReceivers; ascending
    ObserverId except = ObserverId::none;  ///< as RpcReceivers
    Tick made = 0;
    RpcWords words{};
    /// Index of `position` among the positions of all calls of this tick.
    std::uint32_t position_number = 0;
};

/// A call about an entity, queued for observers to which the entity was not relevant.
struct HeldCall {
    WantedCall wanted;
    Tick ends = 0;  ///< the last tick in which it may be sent
    std::vector<ObserverId> observers;
};

}  // namespace purview
