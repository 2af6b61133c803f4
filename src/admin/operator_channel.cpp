// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "admin/operator_channel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "admin/request_shape.hpp"
#include "core/internal_access.hpp"
#include "core/read_number.hpp"
#include "server/server_data.hpp"

namespace purview::admin {

using nlohmann::json;

namespace {

constexpr std::size_t truth_entities_max = 20'000;
constexpr std::size_t entities_at_max = 16;
constexpr std::size_t members_max = 1'000;
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
        {"budget_bytes_per_tick", session.budget_bytes_per_tick},
        {"enters", session.enters},
        {"leaves", session.leaves}};
}

/// Reads an integer or its decimal text, because JavaScript numbers are exact only up to 2^53.
std::optional<std::uint64_t> id_of(const json& request, const char* name) {
    const auto found = request.find(name);
    if (found == request.end()) return std::nullopt;
    if (found->is_number_unsigned()) return found->get<std::uint64_t>();
    if (!found->is_string()) return std::nullopt;
    const auto& text = found->get_ref<const std::string&>();
    std::uint64_t id = 0;
    return read_number(std::string_view(text), id) ? std::optional(id) : std::nullopt;
}

bool read_finite(const json& request, const char* name, double& out) {
    const auto found = request.find(name);
    if (found == request.end() || !found->is_number()) return false;
    out = found->get<double>();
    return std::isfinite(out);
}

json index_or_null(EntityId entity) {
    return entity == EntityId::none ? json() : json(index_of(entity));
}

json describe(EntityId entity, const Explanation& why) {
    constexpr const char* ops[] = {"add", "subtract", "require"};
    json out = {{"op", "explain"},
                {"entity", static_cast<std::uint64_t>(entity)},
                {"entity_text", std::to_string(static_cast<std::uint64_t>(entity))},
                {"index", index_of(entity)},
                {"unit", index_of(why.unit)},
                {"relevant", why.relevant},
                {"held", why.held},
                {"hidden_member", index_or_null(why.hidden_member)},
                {"promoted_by", index_or_null(why.promoted_by)},
                {"are_changes_known", why.are_changes_known},
                {"changes_by_itself", why.changes_by_itself},
                {"stage", to_string(why.stage)},
                {"nodes", json::array()},
                {"single", json::array()},
                {"pair", json::array()},
                {"text", why.text()}};
    for (const ExplainedNode& node : why.nodes) {
        json steps = json::array();
        for (const ExplainedStep& step : node.steps) {
            steps.push_back({{"op", ops[static_cast<std::size_t>(step.combine)]},
                             {"what", step.what},
                             {"answer", step.unknown ? json() : json(step.answer)},
                             {"so_far", step.so_far}});
        }
        out["nodes"].push_back({{"name", node.name},
                                {"member", node.is_member},
                                {"combine", ops[static_cast<std::size_t>(node.combine)]},
                                {"result", node.result},
                                {"steps", steps}});
    }
    const ExplainedSettings& its = why.settings;
    out["settings"] = {
        {"every_ticks", its.settings.every_ticks}, {"every_ticks_by", its.every_ticks_by},
        {"priority", its.settings.priority},       {"priority_by", its.priority_by},
        {"leave", to_string(its.settings.leave)},  {"leave_by", its.leave_by}};
    for (const WhatIf& change : why.single) out["single"].push_back(change.what);
    for (const WhatIf& change : why.pair) out["pair"].push_back(change.what);
    return out;
}

}  // namespace

OperatorChannel::OperatorChannel(Server& server, Send send, OperatorDef def)
    : server_(&server),
      send_(std::move(send)),
      def_(std::move(def)),
      desk_(server, def_.names, def_.rules_read_only) {}

void OperatorChannel::answer(std::uint32_t connection, json value) {
    // Messages to other connections are not answers to the request.
    if (connection == requester_ && !request_id_.is_null()) value["id"] = request_id_;
    // Names may contain any bytes; invalid UTF-8 must not end the server.
    send_(connection, value.dump(-1, ' ', false, json::error_handler_t::replace), false);
}

void OperatorChannel::refuse(std::uint32_t connection, const std::string& why) {
    answer(connection, {{"op", "error"}, {"text", why}});
}

void OperatorChannel::message(std::uint32_t connection, std::string_view text) {
    if (const std::string wrong = problem_of_shape(text); !wrong.empty())
        return refuse(connection, wrong);
    const json request = json::parse(text, nullptr, false);
    if (!request.is_object() || !request.contains("op") || !request["op"].is_string()) {
        return refuse(connection, "a request must be a JSON object with 'op'");
    }
    const auto id = request.find("id");
    if (id != request.end() && id->is_number_unsigned()) request_id_ = *id;
    requester_ = connection;
    run(connection, request);
    request_id_ = json();
}

void OperatorChannel::run(std::uint32_t connection, const json& request) {
    const std::string op = request["op"];
    Subscription& subscription = subscriptions_[connection];
    if (op == "find") return find(connection, request);
    if (op == "held") {
        const auto id = id_of(request, "observer");
        if (!id) return refuse(connection, "held needs 'observer'");
        const ObserverId observer = find_observer(*id);
        if (observer == ObserverId::none) return refuse(connection, "there is no such observer");
        return watch_held(subscription, observer);
    }
    if (op == "truth") return watch_truth(connection, request);
    if (op == "explain") return explain(connection, request);
    if (op == "stats") return send_stats(connection);
    if (op == "at") return send_entities_at(connection, request);
    if (op == "members") return send_members(connection, request);
    if (op == "rules") {
        subscription.sent_rules = server_->rules_revision();
        return answer(connection, desk_.rules());
    }
    if (op == "try_rules") return answer(connection, desk_.try_rules(request));
    if (op == "set_rules") return set_rules(connection, request);
    refuse(connection, "unknown 'op'");
}

void OperatorChannel::find(std::uint32_t connection, const json& request) {
    if (!request.contains("nonce") || !request["nonce"].is_string())
        return refuse(connection, "find needs 'nonce'");
    const std::uint64_t nonce =
        std::strtoull(request["nonce"].get<std::string>().c_str(), nullptr, 16);
    json observer;
    for (const auto& session : internal(*server_).sessions) {
        if (session->nonce == nonce && session->observer != ObserverId::none) {
            observer = static_cast<std::uint32_t>(session->observer);
        }
    }
    answer(connection, {{"op", "found"}, {"observer", observer}});
}

void OperatorChannel::watch_truth(std::uint32_t connection, const json& request) {
    Subscription& subscription = subscriptions_[connection];
    const auto on = request.find("on");  // not copied: an untrusted client may nest it deeply
    subscription.truth = on != request.end() && on->is_boolean() && on->get<bool>();
    if (!subscription.truth) return;
    const auto rect = request.find("rect");
    bool good = rect != request.end() && rect->is_array() && rect->size() == 4;
    for (std::size_t i = 0; good && i < 4; ++i) good = (*rect)[i].is_number();
    if (!good) {
        subscription.truth = false;
        return refuse(connection, "truth needs 'rect': [x0, y0, x1, y1]");
    }
    for (std::size_t i = 0; i < 4; ++i) subscription.rect[i] = (*rect)[i].get<float>();
}

void OperatorChannel::explain(std::uint32_t connection, const json& request) {
    const auto requested_observer = id_of(request, "observer");
    const auto requested_entity = id_of(request, "entity");
    if (!requested_observer || !requested_entity)
        return refuse(connection, "explain needs 'observer' and 'entity', each an id or an index");
    const ObserverId observer = find_observer(*requested_observer);
    if (observer == ObserverId::none) return refuse(connection, "there is no such observer");
    const EntityId entity = find_entity(*requested_entity);
    if (entity == EntityId::none) return refuse(connection, "there is no such entity");
    json out = describe(entity, server_->visibility().explain(observer, entity));
    out["tick"] = server_->current_tick();
    out["observer"] = static_cast<std::uint32_t>(observer);
    answer(connection, out);
}

void OperatorChannel::send_stats(std::uint32_t connection) {
    const ServerStats stats = server_->stats();
    std::vector<SessionStats> sessions;
    server_->sessions(sessions);
    json list = json::array();
    for (const auto& session : sessions) list.push_back(describe(session));
    json counters = json::object();
    for (const Counter& counter : server_->counters()) counters[counter.name] = counter.value;
    answer(connection, {{"op", "stats"},
                        {"tick", server_->current_tick()},
                        {"entities", stats.entities},
                        {"enters", stats.enters},
                        {"leaves", stats.leaves},
                        {"bytes_sent", stats.bytes_sent},
                        {"bytes_received", stats.bytes_received},
                        {"drops", internal(*server_).drops.total()},
                        {"rules_revision", server_->rules_revision()},
                        {"counters", std::move(counters)},
                        {"sessions", list}});
}

void OperatorChannel::send_entities_at(std::uint32_t connection, const json& request) {
    double x = 0;
    double y = 0;
    double radius = 0;
    if (!read_finite(request, "x", x) || !read_finite(request, "y", y) ||
        !read_finite(request, "radius_m", radius) || radius < 0) {
        return refuse(connection, "at needs 'x', 'y' and 'radius_m', which is 0 or more");
    }
    struct Near {
        double distance;
        EntityId entity;
        Vec3 position;
    };
    std::vector<Near> near;
    const World& world = server_->world();
    world.for_each([&](EntityId entity) {
        if (!internal(world).entities.has_position(index_of(entity))) return;
        const Vec3 position = world.position_of(entity);
        const double distance = std::hypot(position.x - x, across(position) - y);
        if (distance <= radius) near.push_back({distance, entity, position});
    });
    const std::size_t count = std::min(near.size(), entities_at_max);
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end(),
                      [](const Near& a, const Near& b) {
                          return std::pair(a.distance, a.entity) < std::pair(b.distance, b.entity);
                      });
    near.resize(count);
    json entities = json::array();
    for (const Near& one : near) {
        json observer;
        for (const auto& session : internal(*server_).sessions) {
            if (session->state == Session::State::joined && def_.main_of &&
                def_.main_of(session->observer) == one.entity)
                observer = static_cast<std::uint32_t>(session->observer);
        }
        entities.push_back(
            {{"entity", std::to_string(static_cast<std::uint64_t>(one.entity))},
             {"index", index_of(one.entity)},
             {"kind", internal(world).entities.kind_def_at(index_of(one.entity)).name},
             {"x", one.position.x},
             {"y", across(one.position)},
             {"observer", observer}});
    }
    answer(connection, {{"op", "at"}, {"entities", entities}});
}

void OperatorChannel::send_members(std::uint32_t connection, const json& request) {
    const auto& nodes = server_->rules().nodes;
    const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const NodeDef& one) {
        return request.contains("node") && request["node"] == one.name;
    });
    if (node == nodes.end()) return refuse(connection, "members needs 'node', the name of a node");
    std::vector<EntityId> members;
    server_->visibility().entities_of(id_at<NodeId>(node - nodes.begin()), members);
    std::sort(members.begin(), members.end());
    json entities = json::array();
    for (const EntityId entity : std::span(members).first(std::min(members.size(), members_max))) {
        entities.push_back(
            {{"entity", std::to_string(static_cast<std::uint64_t>(entity))},
             {"index", index_of(entity)},
             {"kind", internal(server_->world()).entities.kind_def_at(index_of(entity)).name}});
    }
    answer(connection, {{"op", "members"},
                        {"node", node->name},
                        {"count", members.size()},
                        {"entities", entities}});
}

void OperatorChannel::set_rules(std::uint32_t connection, const json& request) {
    const json wrong = desk_.set_rules(request);
    if (!wrong.is_null()) return answer(connection, wrong);
    if (def_.note) {
        def_.note("an operator changed the rules: revision " +
                  std::to_string(server_->rules_revision()) +
                  ", nodes: " + std::to_string(server_->rules().nodes.size()));
    }
    if (subscriptions_[connection].sent_rules == 0) answer(connection, desk_.rules());
    send_rules();
}

void OperatorChannel::send_rules() {
    for (auto& [connection, subscription] : subscriptions_) {
        if (subscription.sent_rules == 0 || subscription.sent_rules == server_->rules_revision())
            continue;
        subscription.sent_rules = server_->rules_revision();
        answer(connection, desk_.rules());
    }
}

ObserverId OperatorChannel::find_observer(std::uint64_t id) const {
    for (const auto& session : internal(*server_).sessions) {
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

void OperatorChannel::watch_held(Subscription& subscription, ObserverId observer) {
    const ObserverId old = std::exchange(subscription.held, observer);
    const auto keep = [&](ObserverId receiver) {
        Session* session = internal(*server_).sessions.find(receiver);
        if (session == nullptr) return;
        session->keep_held_reports =
            std::any_of(subscriptions_.begin(), subscriptions_.end(),
                        [&](const auto& other) { return other.second.held == receiver; });
        session->ghosts.reports().keep(session->keep_held_reports);
        if (!session->keep_held_reports) session->held_reports.clear();
    };
    keep(old);
    keep(observer);
}

/// Returns the coordinate on the second axis of a map.
float OperatorChannel::across(Vec3 position) const noexcept {
    return server_->rules().axes == Axes::xz ? position.z : position.y;
}

void OperatorChannel::closed(std::uint32_t connection) {
    const auto found = subscriptions_.find(connection);
    if (found == subscriptions_.end()) return;
    watch_held(found->second, ObserverId::none);
    subscriptions_.erase(found);
}

void OperatorChannel::send_held(std::uint32_t connection, const Subscription& subscription) {
    const Session* session = internal(*server_).sessions.find(subscription.held);
    if (session == nullptr) return;
    for (const HeldReport& report : session->held_reports) {
        const json message = {{"op", "held"},
                              {"packet", report.sequence},
                              {"tick", report.tick},
                              {"relevant", report.relevant},
                              {"backlog", report.backlog},
                              {"leaves", report.unacknowledged_leaves}};
        answer(connection, message);
    }
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
        if (!internal(world).entities.has_position(index_of(entity))) return;
        const Vec3 at = world.position_of(entity);
        const float y = across(at);
        if (count == truth_entities_max || at.x < subscription.rect[0] ||
            y < subscription.rect[1] || at.x > subscription.rect[2] || y > subscription.rect[3]) {
            return;
        }
        put(frame_, at.x);
        put(frame_, y);
        put(frame_, static_cast<std::uint16_t>(index_of(world.kind_of(entity))));
        put(frame_, internal(world).attributes.flags_at(index_of(entity)));
        ++count;
    });
    std::memcpy(frame_.data() + 8, &count, sizeof count);
    send_(connection, frame_, true);
}

void OperatorChannel::tick_done() {
    send_rules();
    for (auto& [connection, subscription] : subscriptions_) {
        if (subscription.held != ObserverId::none) send_held(connection, subscription);
        if (subscription.truth && server_->current_tick() % subscription.truth_every_ticks == 0) {
            send_truth(connection, subscription);
        }
    }
    for (const auto& session : internal(*server_).sessions) session->held_reports.clear();
}

}  // namespace purview::admin
