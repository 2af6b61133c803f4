// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "protocol/rpc_inbox.hpp"

#include <algorithm>

#include "protocol/rpc_outbox.hpp"
#include "purview/limits.hpp"

namespace purview {

bool RpcInbox::has_number(std::uint8_t number) const noexcept {
    const auto is_it = [number](const ArrivedRpc& call) { return call.number == number; };
    return std::any_of(ordered_.begin(), ordered_.end(), is_it);
}

bool RpcInbox::read(const Schema& schema, RpcDirection direction, BitReader& in) {
    staged_.clear();
    while (in.boolean() && in.ok()) {
        const auto index = static_cast<std::size_t>(in.bits(rpc_index_bits(schema)));
        if (index >= schema.rpcs().size() || staged_.size() == limits::rpc_per_packet) in.fail();
        if (!in.ok()) return false;
        const RpcDef& rpc = schema.rpcs()[index];
        if (rpc.desc.direction != direction) in.fail();
        ArrivedRpc call;
        call.rpc = id_at<RpcId>(index);
        if (rpc.desc.delivery == RpcDelivery::reliable_ordered) {
            call.number = static_cast<std::uint8_t>(in.bits(rpc_number_bits));
            call.is_void = in.boolean();
            // Every packet is applied once, so no number arrives twice.
            if (has_number(call.number)) in.fail();
            for (const ArrivedRpc& other : staged_) {
                if (is_ordered(schema, other.rpc) && other.number == call.number) in.fail();
            }
        }
        if (!call.is_void) {
            const bool has_ghost =
                rpc.desc.target == RpcTarget::entity && (!may_lack_ghost(rpc.desc) || in.boolean());
            if (has_ghost) {
                call.ghost = static_cast<LocalId>(in.varint_max(local_ids_max - 1));
            }
            call.words = read_words(rpc, in);
        }
        staged_.push_back(call);
    }
    return in.ok();
}

void RpcInbox::insert_ordered(const ArrivedRpc& call) {
    PURVIEW_ASSERT(!has_number(call.number));  // read() refuses a repeated number
    const auto after = std::find_if(ordered_.begin(), ordered_.end(), [&](const ArrivedRpc& other) {
        return ahead(other.number) > ahead(call.number);
    });
    ordered_.insert(after, call);
}

void RpcInbox::ghost_left(const Schema& schema, LocalId ghost, bool was_held) {
    PURVIEW_ASSERT(ghost != no_local_id);  // an RPC without a target has no ghost that could leave
    const auto is_handed_out = [&](const ArrivedRpc& call) {
        return was_held || may_lack_ghost(schema.rpcs()[index_of(call.rpc)].desc);
    };
    std::erase_if(orphans_, [&](ArrivedRpc& call) {
        if (call.ghost != ghost) return false;
        if (is_handed_out(call)) {
            call.ghost = no_local_id;
            ready_.push_back(call);
        } else {
            ++counters_.dropped_gone;
        }
        return true;
    });
    for (std::deque<ArrivedRpc>* queue : {&ordered_, &ready_}) {
        for (ArrivedRpc& call : *queue) {
            if (call.ghost != ghost) continue;
            call.ghost = no_local_id;
            call.ghost_left = was_held;
            call.is_void = !is_handed_out(call);  // its number is still needed
            counters_.dropped_gone += call.is_void ? 1 : 0;
        }
    }
}

bool RpcInbox::next(ArrivedRpc& out) {
    if (ready_.empty()) return false;
    out = ready_.front();
    ready_.pop_front();
    return true;
}

}  // namespace purview
