// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Remote calls, the client's side. Calls of the server are handed out after the property changes of
// the packet that carried them, and never before the enter of their ghost. What the client calls
// about a ghost that has gone is not sent any more.
#include "client/client_data.hpp"

namespace purview {

namespace {

/// Of one packet: commands and the stream must not starve.
constexpr std::uint64_t call_bits_max = 400 * 8;

}  // namespace

bool ClientData::read_calls(BitReader& in) {
    if (ghosts.has_value()) return calls_in_.read(ghosts->schema(), RpcDirection::to_observers, in);
    return !in.boolean() && in.ok();  // without a schema there are none
}

void ClientData::accept_calls(bool has_snapshot, Micros now) {
    PURVIEW_ASSERT(ghosts.has_value());
    if (has_snapshot) {
        for (const LocalId ghost : ghosts->ignored_leaves())
            calls_in_.ghost_left(ghosts->schema(), ghost, false);
        bool any_left = false;
        for (const GhostEvent& event : ghosts->events()) {
            if (is_enter(event.copy, EventMode::paired)) continue;
            calls_in_.ghost_left(ghosts->schema(), event.ghost, true);
            any_left = true;
        }
        ghosts->clear_events();
        if (any_left) {
            calls_out_.drop_gone(
                ghosts->schema(),
                [&](OutgoingRpc& call) {
                    return call.ghost != no_local_id && !ghosts->is_shown(call.ghost);
                },
                [](const OutgoingRpc&) {});
        }
    }
    calls_in_.accept(ghosts->schema(), now,
                     [this](LocalId ghost) { return ghosts->is_shown(ghost); });
    release_calls(now);
}

void ClientData::release_calls(Micros now) {
    if (!ghosts.has_value()) return;
    calls_in_.release(now, [this](LocalId ghost) { return ghosts->is_shown(ghost); });
    const RpcInboxCounters& counters = calls_in_.counters();
    stats.calls_received = counters.arrived;
    stats.calls_waited = counters.waited;
    stats.calls_dropped = counters.dropped_late + counters.dropped_gone + counters.dropped_untaken;
}

bool ClientData::next_rpc(ReceivedRpc& out) {
    ArrivedRpc call;
    if (!calls_in_.next(call)) return false;
    PURVIEW_ASSERT(ghosts.has_value());  // by whose schema it was read
    const RpcDef& rpc = ghosts->schema().rpcs()[index_of(call.rpc)];
    values_of_words(rpc, call.words, call_values_);
    call_words_ = call.words;
    out = {call.rpc, call.ghost, call.ghost_left,
           std::span<const double>(call_values_).first(rpc.args.fields.size()), call_words_};
    return true;
}

ClientData::FoundField ClientData::find_argument(const ReceivedRpc& received,
                                                 std::size_t argument) const noexcept {
    const bool is_ours = ghosts.has_value() && received.words.data() == call_words_.data() &&
                         index_of(received.rpc) < ghosts->schema().rpcs().size();
    if (!is_ours) return {nullptr, nullptr};
    const auto& fields = ghosts->schema().rpcs()[index_of(received.rpc)].args.fields;
    if (argument >= fields.size()) return {nullptr, nullptr};
    const std::uint32_t* words = received.words.data();
    for (std::size_t f = 0; f < argument; ++f) words += fields[f].words;
    return {&fields[argument], words};
}

Status ClientData::call(RpcId rpc, GhostId ghost, const RpcWords& words) {
    if (state != ClientState::joined) return Status::not_ready;
    PURVIEW_ASSERT(ghosts.has_value() && index_of(rpc) < ghosts->schema().rpcs().size());
    const RpcDesc& desc = ghosts->schema().rpcs()[index_of(rpc)].desc;
    if (desc.direction != RpcDirection::to_server) return Status::bad_argument;
    if (desc.target == RpcTarget::entity) {
        if (!ghosts->is_shown(ghost)) return Status::not_found;
        if (desc.callers == RpcCallers::owner && !ghosts->owned(ghost)) return Status::refused;
    }
    if (desc.callers == RpcCallers::players && def.role != Role::player) return Status::refused;
    return call_unchecked(rpc, ghost, words) ? Status::ok : Status::capacity;
}

bool ClientData::call_unchecked(RpcId rpc, GhostId ghost, const RpcWords& words) {
    OutgoingRpc call;
    call.rpc = rpc;
    const bool about_entity =
        ghosts->schema().rpcs()[index_of(rpc)].desc.target == RpcTarget::entity;
    call.ghost = about_entity ? ghost : no_local_id;
    call.words = words;
    return calls_out_.add(call);
}

std::uint64_t ClientData::choose_calls() {
    if (!ghosts.has_value()) return 0;
    // Half of the bound for all but the first: see RpcOutbox::choose.
    return calls_out_.choose(ghosts->schema(), call_bits_max,
                             [](const OutgoingRpc&) { return std::uint64_t{0}; });
}

void ClientData::write_calls(std::uint32_t sequence, BitWriter& out) {
    if (!ghosts.has_value()) return out.boolean(false);
    (void)calls_out_.write(ghosts->schema(), sequence, out,
                           [](const OutgoingRpc&) { return true; });
    calls_out_.drop_unreliable(ghosts->schema(),
                               [this](const OutgoingRpc&) { ++stats.calls_unsent; });
}

}  // namespace purview
