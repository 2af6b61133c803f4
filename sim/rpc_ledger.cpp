// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "rpc_ledger.hpp"

#include <algorithm>

#include "core/internal_access.hpp"
#include "server/server_data.hpp"

namespace purview::test {

RpcLedger::RpcLedger(Server& server, ReplicationTap* inner, IsDenied is_denied, Covers covers)
    : server_(&server),
      inner_(inner),
      is_denied_(std::move(is_denied)),
      covers_(std::move(covers)) {
    internal(*server_).tap = this;
}

void RpcLedger::fail(const std::string& what) {
    if (trouble_.empty()) {
        trouble_ = "calls, tick " + std::to_string(server_->current_tick()) + ": " + what;
    }
}

const RpcDesc& RpcLedger::desc(RpcId rpc) const {
    return server_->world().schema().rpcs()[index_of(rpc)].desc;
}

// -- to observers -------------------------------------------------------------------------------

void RpcLedger::made(CallId call, RpcId rpc, EntityId target, Ping args, Vec3 position) {
    ++counts_.made;
    calls_[static_cast<std::uint32_t>(call)] = {call, rpc, target, args, position};
    by_number_[args.number] = static_cast<std::uint32_t>(call);
}

void RpcLedger::check_report(const RpcReport& report) {
    const auto found = calls_.find(static_cast<std::uint32_t>(report.call));
    if (found == calls_.end()) return;  // a call that is not registered here
    const Call& call = found->second;
    if (report.status != Status::ok) {
        if (server_->world().is_alive(call.target)) fail("a live entity is reported as stale");
        return;
    }
    std::uint32_t promised = 0;
    for (const auto& session : internal(*server_).sessions) {
        if (session->state != Session::State::joined) continue;
        const ObserverId observer = session->observer;
        const auto is_it = [observer](const RpcCulled& culled) {
            return culled.observer == observer;
        };
        const auto culled = std::find_if(report.culled.begin(), report.culled.end(), is_it);
        const bool about_entity = desc(call.rpc).target == RpcTarget::entity;
        const bool relevant =
            about_entity && server_->visibility().is_relevant(observer, call.target);
        const bool is_forced = desc(call.rpc).policy == RpcPolicy::force;
        // No call is queued for an observer that is denied the entity.
        const bool is_denied = about_entity && !relevant && !is_forced && is_denied_ &&
                               is_denied_(observer, call.target);
        const bool must_get =
            about_entity ? relevant || (desc(call.rpc).policy != RpcPolicy::cull && !is_denied)
                         : desc(call.rpc).target == RpcTarget::none;
        std::optional<bool> covers;
        if (desc(call.rpc).target == RpcTarget::position && covers_)
            covers = covers_(observer, call.position);
        counts_.covered += covers == true ? 1 : 0;
        counts_.uncovered += covers == false ? 1 : 0;
        if (culled != report.culled.end()) {
            ++counts_.culled;
            if (covers == true && culled->reason == CullReason::out_of_reach)
                fail("a call does not reach an observer that covers its position");
            if ((culled->reason == CullReason::denied) != is_denied)
                fail("call " + std::to_string(call.args.number) +
                     " is culled for the wrong reason");
            if (must_get && culled->reason != CullReason::capacity) {
                fail("call " + std::to_string(call.args.number) + " is culled as " +
                     std::string(to_string(culled->reason)) + " for observer " +
                     std::to_string(index_of(observer)));
            }
            continue;
        }
        if (about_entity && !must_get) fail("a call about an irrelevant entity is promised");
        if (covers == false) fail("a call reaches an observer that does not cover its position");
        ++promised;
        const bool held = about_entity && !relevant && desc(call.rpc).policy == RpcPolicy::hold;
        counts_.held += held ? 1 : 0;
        promises_[static_cast<std::uint32_t>(observer)][static_cast<std::uint32_t>(call.call)] =
            held ? Promise::held : Promise::sent;
    }
    counts_.promised += promised;
    if (promised != report.sent + report.held) fail("a report has a wrong count of observers");
}

void RpcLedger::check_tick() {
    for (const RpcReport& report : server_->rpc_reports()) check_report(report);
    for (const RpcLateCull& late : server_->rpc_late_culls()) check_late(late);
}

/// A promised call may be dropped, but the reported reason must be true.
void RpcLedger::check_late(const RpcLateCull& late) {
    ++counts_.late;
    auto& promises = promises_[static_cast<std::uint32_t>(late.culled.observer)];
    const auto promise = promises.find(static_cast<std::uint32_t>(late.call));
    if (promise == promises.end())
        return fail("a call that was not promised is dropped after queueing");
    const Call& call = calls_.at(promise->first);
    const RpcDesc& type = desc(call.rpc);
    bool has_cause = false;
    switch (late.culled.reason) {
        case CullReason::left:
            has_cause = type.target == RpcTarget::entity && type.policy != RpcPolicy::force &&
                        !server_->visibility().is_relevant(late.culled.observer, call.target);
            break;
        case CullReason::expired:
        case CullReason::capacity:  // queued, possibly also sent already
            has_cause = type.policy == RpcPolicy::hold;
            break;
        case CullReason::denied:
            has_cause = type.policy == RpcPolicy::hold && is_denied_ &&
                        is_denied_(late.culled.observer, call.target);
            break;
        case CullReason::no_room:
            has_cause = type.delivery == RpcDelivery::unreliable;
            break;
        default:
            break;
    }
    if (!has_cause) {
        fail("call " + std::to_string(call.args.number) + " is dropped after queueing as " +
             std::string(to_string(late.culled.reason)));
    }
    if (promise->second != Promise::delivered) promise->second = Promise::late;
}

void RpcLedger::call_written(const Session& session, std::uint32_t sequence,
                             const OutgoingRpc& call) {
    inner_->call_written(session, sequence, call);
    const bool about_entity = desc(call.rpc).target == RpcTarget::entity;
    if (about_entity && call.ghost == no_local_id && desc(call.rpc).policy != RpcPolicy::force) {
        fail("a call without the force policy is sent without a ghost");
    }
    if (about_entity && call.ghost != no_local_id &&
        (!server_->visibility().is_relevant(session.observer, call.target) ||
         session.ghosts.slots().entity(call.ghost) != call.target)) {
        fail("a call about an entity that is not relevant is sent");
    }
    const auto pair = std::pair(static_cast<std::uint32_t>(session.observer),
                                static_cast<std::uint32_t>(call.call));
    counts_.repeated += written_.insert(pair).second ? 0 : 1;
}

void RpcLedger::take(Client& client, ObserverId observer, ComponentId body, std::size_t tag_field) {
    ReceivedRpc received;
    while (client.next_rpc(received)) {
        ++counts_.delivered;
        const auto tag = static_cast<std::uint32_t>(received.number(0));
        const auto number = static_cast<std::uint32_t>(received.number(1));
        const std::string name = "call " + std::to_string(number);
        const auto known = by_number_.find(number);
        if (known == by_number_.end()) return fail(name + " was never made");
        const Call& call = calls_[known->second];
        if (call.rpc != received.rpc || call.args.tag != tag)
            return fail(name + " arrived modified");
        auto& promises = promises_[static_cast<std::uint32_t>(observer)];
        const auto promise = promises.find(known->second);
        if (promise == promises.end())
            return fail(name + " arrived at a client that it was not promised to");
        if (promise->second == Promise::delivered) return fail(name + " arrived twice");
        promise->second = Promise::delivered;
        if (received.ghost != GhostId::none) {
            const double there = client.value_of(received.ghost, body, tag_field);
            if (!client.is_held(received.ghost) || there != received.number(0)) {
                return fail(name + " arrived with the wrong ghost");
            }
        }
        const RpcDesc& type = desc(call.rpc);
        if (type.delivery != RpcDelivery::reliable_ordered || type.policy == RpcPolicy::hold) {
            continue;
        }
        std::uint32_t& newest = newest_ordered_[static_cast<std::uint32_t>(observer)];
        if (number <= newest) return fail(name + " arrived after " + std::to_string(newest));
        newest = number;
    }
}

std::uint64_t RpcLedger::missing(ObserverId observer, std::uint64_t dropped) const {
    const auto promises = promises_.find(static_cast<std::uint32_t>(observer));
    if (promises == promises_.end() || closed_.contains(promises->first)) return 0;
    std::uint64_t missing = 0;
    for (const auto& [call, promise] : promises->second) {
        const bool open = promise == Promise::sent || promise == Promise::held;
        missing += open && desc(calls_.at(call).rpc).delivery != RpcDelivery::unreliable ? 1 : 0;
    }
    return missing > dropped ? missing - dropped : 0;
}

// -- to the server ------------------------------------------------------------------------------

void RpcLedger::client_made(std::uint64_t client, RpcId rpc, std::uint32_t number) {
    from_clients_[client].made[index_of(rpc)].insert(number);
}

void RpcLedger::server_got(std::uint64_t client, RpcId rpc, EntityId target, std::uint32_t tag,
                           Ping args) {
    ++counts_.to_server;
    FromClient& from = from_clients_[client];
    const std::string name = "call " + std::to_string(args.number) + " of a client";
    if (!from.made[index_of(rpc)].contains(args.number)) return fail(name + " was never made");
    auto& got = from.got[index_of(rpc)];
    if (desc(rpc).delivery == RpcDelivery::reliable_ordered && !got.empty() &&
        *got.rbegin() > args.number) {
        return fail(name + " arrived out of order");
    }
    if (!got.insert(args.number).second) return fail(name + " arrived twice");
    if (target != EntityId::none && tag != args.tag) fail(name + " arrived for the wrong entity");
}

std::uint64_t RpcLedger::missing_at_server(std::uint64_t client) const {
    const auto from = from_clients_.find(client);
    if (from == from_clients_.end()) return 0;
    std::uint64_t missing = 0;
    for (const auto& [rpc, made] : from->second.made) {
        const RpcDesc& type = desc(id_at<RpcId>(rpc));
        if (type.target != RpcTarget::none || type.delivery == RpcDelivery::unreliable) continue;
        const auto got = from->second.got.find(rpc);
        missing += made.size() - (got == from->second.got.end() ? 0 : got->second.size());
    }
    return missing;
}

// -- forwarded to the inner observer ------------------------------------------------------------

void RpcLedger::packet_sent(const Session& session, const PacketRecord& record) {
    inner_->packet_sent(session, record);
}
void RpcLedger::packet_resolved(const Session& session, DeliveryNotice notice) {
    inner_->packet_resolved(session, notice);
}
void RpcLedger::digest_received(const Session& session, std::uint32_t sequence,
                                std::uint64_t digest) {
    inner_->digest_received(session, sequence, digest);
}
void RpcLedger::state_received(const Session& session, std::span<const std::byte> state) {
    inner_->state_received(session, state);
}
void RpcLedger::session_closed(const Session& session) {
    inner_->session_closed(session);
    closed_.insert(static_cast<std::uint32_t>(session.observer));
}

}  // namespace purview::test
