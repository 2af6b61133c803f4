// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "protocol/rpc_outbox.hpp"

#include <algorithm>

#include "core/mutate.hpp"
#include "purview/limits.hpp"

namespace purview {

std::string_view to_string(CullReason reason) noexcept {
    switch (reason) {
        case CullReason::not_ready:
            return "not ready";
        case CullReason::not_relevant:
            return "not relevant";
        case CullReason::denied:
            return "denied";
        case CullReason::out_of_reach:
            return "out of range";
        case CullReason::capacity:
            return "capacity";
        case CullReason::expired:
            return "expired";
        case CullReason::left:
            return "left";
        case CullReason::no_room:
            return "no room";
    }
    return "unknown";
}

unsigned rpc_index_bits(const Schema& schema) noexcept {
    return schema.rpcs().empty() ? 0 : bits_for(schema.rpcs().size() - 1);
}

bool RpcOutbox::add(const OutgoingRpc& call) {
    if (calls_.size() >= limits::rpc_pending_per_observer) return false;
    PURVIEW_ASSERT(!call.under_way && !call.has_number && !call.is_void);
    calls_.push_back(call);
    return true;
}

bool RpcOutbox::has_data_to_send() const noexcept {
    return std::any_of(calls_.begin(), calls_.end(),
                       [](const OutgoingRpc& call) { return !call.under_way; });
}

/// Returns true if the RPC remains as a void RPC, because the receiver waits for its number.
bool RpcOutbox::make_void(const Schema& schema, std::size_t at) noexcept {
    OutgoingRpc& call = calls_[at];
    if (!call.has_number || delivery(schema, call) != RpcDelivery::reliable_ordered) return false;
    call.is_void = true;
    call.words = {};
    call.ghost = no_local_id;
    call.target = EntityId::none;
    return true;
}

/// Returns whether so few numbers are in flight that the receiver can distinguish them by their low
/// bits.
bool RpcOutbox::window_is_open(std::uint32_t more) const noexcept {
    const auto oldest = std::find_if(calls_.begin(), calls_.end(),
                                     [](const OutgoingRpc& call) { return call.has_number; });
    const bool is_open =
        oldest == calls_.end() || next_number_ + more - oldest->number < limits::rpc_window;
    return PURVIEW_GUARD(call_window, is_open);
}

std::uint64_t RpcOutbox::bits_of(const Schema& schema, const OutgoingRpc& call) const noexcept {
    const RpcDef& rpc = schema.rpcs()[index_of(call.rpc)];
    std::uint64_t bits = 1 + rpc_index_bits(schema);
    if (rpc.desc.delivery == RpcDelivery::reliable_ordered) bits += rpc_number_bits + 1;
    if (call.is_void) return bits;
    if (may_lack_ghost(rpc.desc)) ++bits;
    if (call.ghost != no_local_id) bits += BitWriter::varint_bits(call.ghost);
    return bits + words_bits(rpc, call.words);
}

std::uint64_t RpcOutbox::choose(const Schema& schema, std::uint64_t bits,
                                const std::function<std::uint64_t(const OutgoingRpc&)>& cost_bits) {
    chosen_.clear();
    oldest_lacks_room_ = false;
    bool is_oldest = true;
    std::uint64_t own = 0;
    std::uint64_t taken = 0;
    std::uint32_t new_numbers = 0;
    bool ordered_wait = false;  // an ordered RPC cannot be sent, so later ordered RPCs must wait
    for (std::size_t i = 0; i < calls_.size() && chosen_.size() < limits::rpc_per_packet; ++i) {
        const OutgoingRpc& call = calls_[i];
        if (call.under_way) continue;
        const bool needs_number =
            !call.has_number && delivery(schema, call) == RpcDelivery::reliable_ordered;
        if (needs_number && ordered_wait) continue;
        const std::uint64_t size = bits_of(schema, call);
        const std::uint64_t beside = call.is_void ? 0 : cost_bits(call);
        const std::uint64_t room = chosen_.empty() ? bits : bits / 2;
        const bool has_room = beside != never && taken + size + beside <= room;
        oldest_lacks_room_ |= is_oldest && beside != never && !has_room;
        is_oldest = false;
        if (!has_room || (needs_number && !window_is_open(new_numbers))) {
            ordered_wait |= needs_number;
            continue;
        }
        new_numbers += needs_number ? 1 : 0;
        own += size;
        taken += size + beside;
        chosen_.push_back(i);
    }
    PURVIEW_ASSERT(own <= taken && taken <= bits);
    return own;
}

void RpcOutbox::write_one(const Schema& schema, const OutgoingRpc& call, BitWriter& out) const {
    const RpcDef& rpc = schema.rpcs()[index_of(call.rpc)];
    PURVIEW_ASSERT(call.has_number == (rpc.desc.delivery == RpcDelivery::reliable_ordered));
    PURVIEW_ASSERT(!call.is_void || call.has_number);
    out.boolean(true);
    out.bits(index_of(call.rpc), rpc_index_bits(schema));
    if (rpc.desc.delivery == RpcDelivery::reliable_ordered) {
        out.bits(call.number & ((1U << rpc_number_bits) - 1), rpc_number_bits);
        out.boolean(call.is_void);
        if (call.is_void) return;
    }
    if (rpc.desc.target == RpcTarget::entity) {
        if (may_lack_ghost(rpc.desc)) out.boolean(call.ghost != no_local_id);
        if (call.ghost != no_local_id) out.varint(call.ghost);
    }
    write_words(rpc, call.words, out);
}

std::uint32_t RpcOutbox::write(const Schema& schema, std::uint32_t sequence, BitWriter& out,
                               const std::function<bool(const OutgoingRpc&)>& may_go) {
    std::uint32_t written = 0;
    bool ordered_wait = false;
    for (const std::size_t at : chosen_) {
        PURVIEW_ASSERT(at < calls_.size() && !calls_[at].under_way);  // unchanged since choose()
        OutgoingRpc& call = calls_[at];
        const bool needs_number =
            !call.has_number && delivery(schema, call) == RpcDelivery::reliable_ordered;
        if ((needs_number && ordered_wait) || (!call.is_void && !may_go(call))) {
            ordered_wait |= needs_number;
            continue;
        }
        if (needs_number) {
            call.has_number = true;
            call.number = next_number_++;
        }
        write_one(schema, call, out);
        call.under_way = true;
        call.sequence = sequence;
        ++written;
    }
    out.boolean(false);
    chosen_.clear();
    // The delivery status of an unreliable RPC does not matter.
    std::erase_if(calls_, [&](const OutgoingRpc& call) {
        return call.under_way && delivery(schema, call) == RpcDelivery::unreliable;
    });
    return written;
}

void RpcOutbox::resolve(std::uint32_t sequence, bool delivered) {
    std::erase_if(calls_, [&](OutgoingRpc& call) {
        if (!call.under_way || call.sequence != sequence) return false;
        call.under_way = false;
        return delivered;
    });
}

}  // namespace purview
