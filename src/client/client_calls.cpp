// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/client_calls.hpp"

#include "core/rotation.hpp"
#include "protocol/quantize.hpp"

namespace purview {

namespace {

/// Limit per packet, so that commands and the stream do not starve.
constexpr std::uint64_t call_bits_max = 400 * 8;

}  // namespace

bool ClientCalls::read(BitReader& in) {
    if (replica_.has_value())
        return calls_in_.read(replica_->ghosts.schema(), RpcDirection::to_observers, in);
    return !in.boolean() && in.ok();  // without a schema there are no calls
}

void ClientCalls::accept(bool has_snapshot, Micros now) {
    PURVIEW_ASSERT(replica_.has_value());
    if (has_snapshot) {
        for (const LocalId ghost : replica_->ignored_leaves())
            calls_in_.ghost_left(replica_->ghosts.schema(), ghost, false);
        bool any_left = false;
        for (const ClientEvent& event : replica_->events.of_packet()) {
            if (!event.is_leave() && event.change != Change::dropped) continue;
            calls_in_.ghost_left(replica_->ghosts.schema(), local_id_of(event.ghost), true);
            any_left = true;
        }
        if (any_left) {
            calls_out_.drop_gone(
                replica_->ghosts.schema(),
                [&](OutgoingRpc& call) {
                    return call.ghost != no_local_id && !replica_->ghosts.is_shown(call.ghost);
                },
                [](const OutgoingRpc&) {});
        }
    }
    calls_in_.accept(replica_->ghosts.schema(), now,
                     [this](LocalId ghost) { return replica_->ghosts.is_shown(ghost); });
    release(now);
}

void ClientCalls::release(Micros now) {
    if (!replica_.has_value()) return;
    calls_in_.release(now, [this](LocalId ghost) { return replica_->ghosts.is_shown(ghost); });
    const RpcInboxCounters& counters = calls_in_.counters();
    stats_.calls_received = counters.arrived;
    stats_.calls_waited = counters.waited;
    stats_.calls_dropped = counters.dropped_late + counters.dropped_gone + counters.dropped_untaken;
}

bool ClientCalls::next(const Schema* own, ReceivedRpc& out) {
    ArrivedRpc call;
    if (!calls_in_.next(call)) return false;
    PURVIEW_ASSERT(replica_.has_value());  // the call was read by its schema
    const std::vector<FieldDef>& fields =
        replica_->ghosts.schema().rpcs()[index_of(call.rpc)].args.fields;
    PURVIEW_ASSERT(fields.size() <= values_.size());
    const std::uint32_t* words = call.words.data();
    for (std::size_t f = 0; f < fields.size(); words += fields[f++].words) {
        switch (fields[f].type) {
            case FieldType::text:
                texts_[f] = text_of_words(fields[f], words);
                values_[f] = std::string_view(texts_[f]);
                break;
            case FieldType::rotation:
                values_[f] = unpack_rotation(*words);
                break;
            default:
                values_[f] = dequantized_value(fields[f], *words);
                break;
        }
    }
    arguments_.clear();
    if (own != nullptr) {
        const RpcDef& its = own->rpcs()[index_of(call.rpc)];
        arguments_.resize(its.args.size_bytes);
        struct_of_words(its, call.words, arguments_.data());
    }
    out = {call.rpc, ghost_id_of(call.ghost), call.ghost_left, arguments_,
           std::span<const FieldValue>(values_).first(fields.size())};
    return true;
}

Status ClientCalls::call(Role role, RpcId rpc, LocalId ghost, const RpcWords& words) {
    PURVIEW_ASSERT(replica_.has_value() && index_of(rpc) < replica_->ghosts.schema().rpcs().size());
    const RpcDesc& desc = replica_->ghosts.schema().rpcs()[index_of(rpc)].desc;
    if (desc.direction != RpcDirection::to_server) return Status::bad_argument;
    if (desc.target == RpcTarget::entity) {
        if (!replica_->ghosts.is_shown(ghost)) return Status::not_found;
        if (desc.callers == RpcCallers::owner && !replica_->ghosts.owned(ghost))
            return Status::refused;
    }
    if (desc.callers == RpcCallers::players && role != Role::player) return Status::refused;
    return add(rpc, ghost, words) ? Status::ok : Status::capacity;
}

bool ClientCalls::add(RpcId rpc, LocalId ghost, const RpcWords& words) {
    OutgoingRpc call;
    call.rpc = rpc;
    const bool about_entity =
        replica_->ghosts.schema().rpcs()[index_of(rpc)].desc.target == RpcTarget::entity;
    call.ghost = about_entity ? ghost : no_local_id;
    call.words = words;
    return calls_out_.add(call);
}

std::uint64_t ClientCalls::choose() {
    if (!replica_.has_value()) return 0;
    // RpcOutbox::choose limits all calls but the first to half of this.
    return calls_out_.choose(replica_->ghosts.schema(), call_bits_max,
                             [](const OutgoingRpc&) { return std::uint64_t{0}; });
}

void ClientCalls::write(std::uint32_t sequence, BitWriter& out) {
    if (!replica_.has_value()) return out.boolean(false);
    (void)calls_out_.write(replica_->ghosts.schema(), sequence, out,
                           [](const OutgoingRpc&) { return true; });
    calls_out_.drop_unreliable(replica_->ghosts.schema(),
                               [this](const OutgoingRpc&) { ++stats_.calls_unsent; });
}

}  // namespace purview
