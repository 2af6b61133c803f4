// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What an operator may ask a running server: who is connected, what a client held after a packet,
// and the truth of a place. JSON in, JSON and binary frames out (docs/operator.md). Read-only. It
// never travels through a player's connection; who may be an operator is the carrier's question.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "host/server_data.hpp"

namespace purview::admin {

class OperatorChannel {
  public:
    /// `send(connection, message, binary)` must not call back.
    using Send = std::function<void(std::uint32_t, std::string_view, bool)>;
    OperatorChannel(Server& server, Send send) : server_(&server), send_(std::move(send)) {}

    /// Anything that is not a known request is answered with an error, and nothing else happens.
    void message(std::uint32_t connection, std::string_view text);
    void closed(std::uint32_t connection);
    /// After every tick: subscriptions are served.
    void tick_done();

  private:
    struct Subscription {
        ObserverId held = ObserverId::none;
        bool truth = false;
        float rect[4] = {0, 0, 0, 0};  ///< x0, y0, x1, y1
        std::uint32_t truth_every_ticks = 4;
    };
    void send_held(std::uint32_t connection, Subscription& subscription);
    void send_truth(std::uint32_t connection, const Subscription& subscription);
    void watch_held(Subscription& subscription, ObserverId observer);
    std::string explain(ObserverId observer, EntityId entity) const;
    /// By full id, or by index alone; none when nobody has it.
    ObserverId find_observer(std::uint32_t id) const;
    EntityId find_entity(std::uint64_t id) const;

    Server* server_;
    Send send_;
    std::map<std::uint32_t, Subscription> subscriptions_;
    std::string frame_;
};

}  // namespace purview::admin
