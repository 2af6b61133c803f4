// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Requests of operators to a running server: connected clients, the ghosts of a client after a
// packet, all entities in an area, and the rules. Operators can change only rules. Requests are
// JSON; answers are JSON and binary frames (docs/operator.md). Player connections do not carry this
// data, and the transport authenticates operators.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "admin/rule_desk.hpp"
#include "server/server_data.hpp"

namespace purview::admin {

struct OperatorDef {
    scene::RuleNames names;  ///< names that rules may use
    bool rules_read_only = false;
    /// Returns the main entity of an observer. Empty: not known.
    std::function<EntityId(ObserverId)> main_of;
    /// Receives each change made by an operator, for a log.
    std::function<void(const std::string&)> note;
};

class OperatorChannel {
  public:
    /// `send(connection, message, binary)` must not call back.
    using Send = std::function<void(std::uint32_t, std::string_view, bool)>;
    OperatorChannel(Server& server, Send send, OperatorDef def = {});

    /// Answers a request. A request that is malformed or unknown is answered with an error, and has
    /// no other effect.
    void message(std::uint32_t connection, std::string_view text);
    void closed(std::uint32_t connection);
    /// Serves the subscriptions. Call after every tick.
    void tick_done();
    RuleDesk& rules() noexcept { return desk_; }

  private:
    using json = nlohmann::json;
    struct Subscription {
        ObserverId held = ObserverId::none;
        bool truth = false;
        float rect[4] = {0, 0, 0, 0};  ///< x0, y0, x1, y1
        std::uint32_t truth_every_ticks = 4;
        std::uint32_t sent_rules = 0;  ///< last revision sent; 0: not requested
    };
    void run(std::uint32_t connection, const json& request);
    void answer(std::uint32_t connection, json value);
    void refuse(std::uint32_t connection, const std::string& why);
    void find(std::uint32_t connection, const json& request);
    void watch_truth(std::uint32_t connection, const json& request);
    void explain(std::uint32_t connection, const json& request);
    void send_stats(std::uint32_t connection);
    void send_entities_at(std::uint32_t connection, const json& request);
    void send_members(std::uint32_t connection, const json& request);
    void set_rules(std::uint32_t connection, const json& request);
    /// Sends the rules to every connection that requested them and has an older revision.
    void send_rules();

    void send_held(std::uint32_t connection, const Subscription& subscription);
    void send_truth(std::uint32_t connection, const Subscription& subscription);
    float across(Vec3 position) const noexcept;
    void watch_held(Subscription& subscription, ObserverId observer);
    /// Finds by full id or by index alone; returns none if there is no match.
    ObserverId find_observer(std::uint64_t id) const;
    EntityId find_entity(std::uint64_t id) const;

    Server* server_;
    Send send_;
    OperatorDef def_;
    RuleDesk desk_;
    std::map<std::uint32_t, Subscription> subscriptions_;
    std::string frame_;
    std::uint32_t requester_ = 0;
    json request_id_;  ///< id of the request that is being answered, or null
};

}  // namespace purview::admin
