// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What an operator may ask a running server: who is connected, what a client held after a packet,
// the truth of a place, and what the rules are; rules are all that he may change. JSON in, JSON and
// binary frames out (docs/operator.md). It never travels through a player's connection; who may be
// an operator is the carrier's question.
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
    scene::RuleNames names;  ///< that rules may use
    bool rules_read_only = false;
    /// Whom an observer looks from; empty: not known.
    std::function<EntityId(ObserverId)> main_of;
    /// Told what an operator changed, for a log.
    std::function<void(const std::string&)> note;
};

class OperatorChannel {
  public:
    /// `send(connection, message, binary)` must not call back.
    using Send = std::function<void(std::uint32_t, std::string_view, bool)>;
    OperatorChannel(Server& server, Send send, OperatorDef def = {});

    /// Anything that is not a known request is answered with an error, and nothing else happens.
    void message(std::uint32_t connection, std::string_view text);
    void closed(std::uint32_t connection);
    /// After every tick: subscriptions are served.
    void tick_done();
    RuleDesk& rules() noexcept { return desk_; }

  private:
    using json = nlohmann::json;
    struct Subscription {
        ObserverId held = ObserverId::none;
        bool truth = false;
        float rect[4] = {0, 0, 0, 0};  ///< x0, y0, x1, y1
        std::uint32_t truth_every_ticks = 4;
        std::uint32_t rules_told = 0;  ///< revision; 0: he never asked
    };
    void run(std::uint32_t connection, const json& request);
    void answer(std::uint32_t connection, json value);
    void refuse(std::uint32_t connection, const std::string& why);
    void find(std::uint32_t connection, const json& request);
    void watch_truth(std::uint32_t connection, const json& request);
    void explain(std::uint32_t connection, const json& request);
    void tell_stats(std::uint32_t connection);
    void tell_entities_at(std::uint32_t connection, const json& request);
    void tell_members(std::uint32_t connection, const json& request);
    void set_rules(std::uint32_t connection, const json& request);
    /// To everybody who has asked for rules and does not know these.
    void tell_rules();

    void send_held(std::uint32_t connection, const Subscription& subscription);
    void send_truth(std::uint32_t connection, const Subscription& subscription);
    float across(Vec3 position) const noexcept;
    void watch_held(Subscription& subscription, ObserverId observer);
    /// By full id, or by index alone; none when nobody has it.
    ObserverId find_observer(std::uint64_t id) const;
    EntityId find_entity(std::uint64_t id) const;

    Server* server_;
    Send send_;
    OperatorDef def_;
    RuleDesk desk_;
    std::map<std::uint32_t, Subscription> subscriptions_;
    std::string frame_;
    std::uint32_t asker_ = 0;
    json asked_;  ///< the id of the request that is being answered, or null
};

}  // namespace purview::admin
