// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "admin/operator_channel.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace purview::admin {

using nlohmann::json;

namespace {

constexpr std::size_t truth_entities_max = 20'000;
constexpr std::uint8_t truth_frame = 1;

template <class T>
void put(std::string& out, T value) {
    const std::size_t at = out.size();
    out.resize(at + sizeof value);
    std::memcpy(out.data() + at, &value, sizeof value);
}

json describe(const SessionStats& session) {
    return {
        {"observer", static_cast<std::uint32_t>(session.observer)},
        {"role", session.role == Role::player ? "player" : "spectator"},
        {"carrier", session.address.carrier == Address::Carrier::web_socket ? "websocket" : "udp"},
        {"relevant", session.relevant},
        {"backlog", session.backlog},
        {"bytes_sent", session.bytes_sent},
        {"bytes_received", session.bytes_received},
        {"packets_lost", session.packets_lost},
        {"rtt_us", session.rtt_us},
        {"enters", session.enters},
        {"leaves", session.leaves}};
}

}  // namespace

void OperatorChannel::message(std::uint32_t connection, std::string_view text) {
    const auto answer = [&](const json& value) { send_(connection, value.dump(), false); };
    const auto refuse = [&](const char* why) { answer({{"op", "error"}, {"text", why}}); };
    const json request = json::parse(text, nullptr, false);
    if (!request.is_object() || !request.contains("op") || !request["op"].is_string()) {
        return refuse("a request is a table with 'op'");
    }
    const std::string op = request["op"];
    Subscription& subscription = subscriptions_[connection];
    if (op == "find") {
        if (!request.contains("nonce") || !request["nonce"].is_string())
            return refuse("find needs 'nonce'");
        const std::uint64_t nonce =
            std::strtoull(request["nonce"].get<std::string>().c_str(), nullptr, 16);
        json observer;
        for (const auto& session : server_->data().sessions) {
            if (session->nonce == nonce && session->observer != ObserverId::none) {
                observer = static_cast<std::uint32_t>(session->observer);
            }
        }
        return answer({{"op", "found"}, {"observer", observer}});
    }
    if (op == "held") {
        if (!request.contains("observer") || !request["observer"].is_number_unsigned()) {
            return refuse("held needs 'observer'");
        }
        return watch_held(subscription, ObserverId{request["observer"].get<std::uint32_t>()});
    }
    if (op == "truth") {
        subscription.truth =
            request.value("on", json(false)).is_boolean() && request.value("on", false);
        if (!subscription.truth) return;
        const auto rect = request.find("rect");
        bool good = rect != request.end() && rect->is_array() && rect->size() == 4;
        for (std::size_t i = 0; good && i < 4; ++i) good = (*rect)[i].is_number();
        if (!good) {
            subscription.truth = false;
            return refuse("truth needs 'rect': [x0, y0, x1, y1]");
        }
        for (std::size_t i = 0; i < 4; ++i) subscription.rect[i] = (*rect)[i].get<float>();
        return;
    }
    if (op == "explain") {
        for (const char* name : {"observer", "entity"}) {
            if (!request.contains(name) || !request[name].is_number_unsigned())
                return refuse("explain needs 'observer' and 'entity'");
        }
        const auto asked = request["observer"].get<std::uint64_t>();
        const ObserverId observer = asked > std::numeric_limits<std::uint32_t>::max()
                                        ? ObserverId::none
                                        : find_observer(static_cast<std::uint32_t>(asked));
        if (observer == ObserverId::none) return refuse("there is no such observer");
        const EntityId entity = find_entity(request["entity"].get<std::uint64_t>());
        if (entity == EntityId::none) return refuse("there is no such entity");
        return send_(connection, explain(observer, entity), false);
    }
    if (op == "stats") {
        const ServerStats stats = server_->stats();
        std::vector<SessionStats> sessions;
        server_->sessions(sessions);
        json list = json::array();
        for (const auto& session : sessions) list.push_back(describe(session));
        return answer({{"op", "stats"},
                       {"tick", server_->current_tick()},
                       {"entities", stats.entities},
                       {"enters", stats.enters},
                       {"leaves", stats.leaves},
                       {"bytes_sent", stats.bytes_sent},
                       {"bytes_received", stats.bytes_received},
                       {"drops", server_->drops().total()},
                       {"sessions", list}});
    }
    refuse("unknown 'op'");
}

ObserverId OperatorChannel::find_observer(std::uint32_t id) const {
    for (const auto& session : server_->data().sessions) {
        if (session->observer == ObserverId::none) continue;
        if (static_cast<std::uint32_t>(session->observer) == id ||
            index_of(session->observer) == id)
            return session->observer;
    }
    return ObserverId::none;
}

EntityId OperatorChannel::find_entity(std::uint64_t id) const {
    const World& world = server_->world();
    EntityId found = EntityId::none;
    world.for_each([&](EntityId entity) {
        if (static_cast<std::uint64_t>(entity) == id || index_of(entity) == id) found = entity;
    });
    return found;
}

std::string OperatorChannel::explain(ObserverId observer, EntityId entity) const {
    constexpr const char* ops[] = {"add", "subtract", "require"};
    const Explanation why = server_->interest().explain(observer, entity);
    json out = {{"op", "explain"},
                {"tick", server_->current_tick()},
                {"observer", static_cast<std::uint32_t>(observer)},
                {"entity", static_cast<std::uint64_t>(entity)},
                {"index", index_of(entity)},
                {"unit", index_of(why.unit)},
                {"relevant", why.relevant},
                {"stage", to_string(why.stage)},
                {"nodes", json::array()},
                {"single", json::array()},
                {"pair", json::array()},
                {"text", why.text()}};
    for (const ExplainedNode& node : why.nodes) {
        json steps = json::array();
        for (const ExplainedStep& step : node.steps) {
            steps.push_back({{"op", ops[static_cast<std::size_t>(step.op)]},
                             {"what", step.what},
                             {"answer", step.unknown ? json() : json(step.answer)},
                             {"so_far", step.so_far}});
        }
        out["nodes"].push_back({{"name", node.name}, {"result", node.result}, {"steps", steps}});
    }
    for (const Change& change : why.single) out["single"].push_back(change.what);
    for (const Change& change : why.pair) out["pair"].push_back(change.what);
    return out.dump();
}

void OperatorChannel::watch_held(Subscription& subscription, ObserverId observer) {
    if (Session* old = server_->data().find_session(subscription.held)) {
        old->keep_held_reports = false;
        old->held_reports.clear();
    }
    subscription.held = observer;
    if (Session* session = server_->data().find_session(observer))
        session->keep_held_reports = true;
}

void OperatorChannel::closed(std::uint32_t connection) {
    const auto found = subscriptions_.find(connection);
    if (found == subscriptions_.end()) return;
    watch_held(found->second, ObserverId::none);
    subscriptions_.erase(found);
}

void OperatorChannel::send_held(std::uint32_t connection, Subscription& subscription) {
    Session* session = server_->data().find_session(subscription.held);
    if (session == nullptr) return;
    for (const HeldReport& report : session->held_reports) {
        const json message = {{"op", "held"},
                              {"packet", report.sequence},
                              {"tick", report.tick},
                              {"relevant", report.relevant},
                              {"backlog", report.backlog},
                              {"leaves", report.unacknowledged_leaves}};
        send_(connection, message.dump(), false);
    }
    session->held_reports.clear();
}

/// u8 type, u8[3] zero, u32 tick, u32 count, then per entity: f32 x, f32 y, u16 kind, u16 flags.
void OperatorChannel::send_truth(std::uint32_t connection, const Subscription& subscription) {
    const World& world = server_->world();
    frame_.clear();
    put(frame_, std::uint32_t{truth_frame});
    put(frame_, server_->current_tick());
    put(frame_, std::uint32_t{0});
    std::uint32_t count = 0;
    world.for_each([&](EntityId entity) {
        const Vec3 at = world.place_of(entity);
        if (count == truth_entities_max || at.x < subscription.rect[0] ||
            at.y < subscription.rect[1] || at.x > subscription.rect[2] ||
            at.y > subscription.rect[3]) {
            return;
        }
        put(frame_, at.x);
        put(frame_, at.y);
        put(frame_, static_cast<std::uint16_t>(world.kind_of(entity)));
        put(frame_, world.data().flags_at(index_of(entity)));
        ++count;
    });
    std::memcpy(frame_.data() + 8, &count, sizeof count);
    send_(connection, frame_, true);
}

void OperatorChannel::tick_done() {
    for (auto& [connection, subscription] : subscriptions_) {
        if (subscription.held != ObserverId::none) send_held(connection, subscription);
        if (subscription.truth && server_->current_tick() % subscription.truth_every_ticks == 0) {
            send_truth(connection, subscription);
        }
    }
}

}  // namespace purview::admin
