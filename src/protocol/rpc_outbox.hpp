// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Calls on their way to one receiver, on either side. They ride in data packets; a packet's fate is
// told once and exactly (link/packet_link), so a reliable call is sent again when its packet is
// known to be lost, and arrives once.
//
// A ghost that leaves takes its calls with it, before its local id can be used again: from then on
// no packet names it, so a call never reaches the next ghost under that id. An ordered call that
// has a number already is replaced by a void one, or those after it would wait for ever.
// Must not know: relevance, worlds, sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "protocol/local_id.hpp"
#include "protocol/rpc_args.hpp"

namespace purview {

struct OutgoingRpc {
    CallId call = CallId::none;
    RpcId rpc = RpcId::none;
    EntityId target = EntityId::none;
    LocalId ghost = no_local_id;  ///< none: static, about a place, or forced
    Tick made = 0;
    RpcWords words{};
    // Kept by the outbox:
    bool under_way = false;
    bool has_number = false;
    bool is_void = false;
    std::uint32_t number = 0;    ///< of an ordered call
    std::uint32_t sequence = 0;  ///< of the packet
};

class RpcOutbox {
  public:
    /// False: limits::rpc_pending_per_observer are waiting already.
    bool add(const OutgoingRpc& call);
    /// Something waits to be written.
    bool wants_to_send() const noexcept;
    /// visit(const OutgoingRpc&) for those that wait to be written.
    template <class Visit>
    void for_each_waiting(Visit&& visit) const {
        for (const OutgoingRpc& call : calls_) {
            if (!call.under_way && !call.is_void) visit(call);
        }
    }
    /// The ghosts of these calls are gone: nothing of them is written any more. `is_gone(call)` is
    /// asked for every call that is not void; `dropped(call)` told for each that goes.
    template <class IsGone, class Dropped>
    void drop_gone(const Schema& schema, IsGone&& is_gone, Dropped&& dropped) {
        for (std::size_t i = 0; i < calls_.size();) {
            if (calls_[i].is_void || !is_gone(calls_[i])) {
                ++i;
                continue;
            }
            const OutgoingRpc gone = calls_[i];
            if (!make_void(schema, i))
                calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(i));
            dropped(gone);
        }
    }

    /// Chooses what the next packet carries, in order, within `bits`. `cost_bits(call)`: what must
    /// go into the packet beside it, or never. The first may take everything, the rest together
    /// half: state must not starve. Returns the bits of the calls alone.
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    std::uint64_t choose(const Schema& schema, std::uint64_t bits,
                         const std::function<std::uint64_t(const OutgoingRpc&)>& cost_bits);
    bool has_chosen() const noexcept { return !chosen_.empty(); }
    /// Of the last choice: the call that has waited longest was left out, and would go with more.
    bool oldest_lacks_room() const noexcept { return oldest_lacks_room_; }
    /// Of those chosen: visit(const OutgoingRpc&).
    template <class Visit>
    void for_each_chosen(Visit&& visit) const {
        for (const std::size_t at : chosen_) visit(calls_[at]);
    }
    /// Writes what was chosen and may go after all, and the closing zero bit. Returns how many.
    std::uint32_t write(const Schema& schema, std::uint32_t sequence, BitWriter& out,
                        const std::function<bool(const OutgoingRpc&)>& may_go);
    /// What is unreliable and was not written is gone.
    template <class Dropped>
    void drop_unreliable(const Schema& schema, Dropped&& dropped) {
        std::erase_if(calls_, [&](const OutgoingRpc& call) {
            const bool goes = delivery(schema, call) == RpcDelivery::unreliable;
            if (goes) dropped(call);
            return goes;
        });
    }
    /// The fate of a packet; in order, each once.
    void resolve(std::uint32_t sequence, bool delivered);

    std::size_t size() const noexcept { return calls_.size(); }

  private:
    static RpcDelivery delivery(const Schema& schema, const OutgoingRpc& call) noexcept {
        return schema.rpcs()[index_of(call.rpc)].desc.delivery;
    }
    bool make_void(const Schema& schema, std::size_t at) noexcept;
    bool window_is_open(std::uint32_t more) const noexcept;
    void write_one(const Schema& schema, const OutgoingRpc& call, BitWriter& out) const;
    std::uint64_t bits_of(const Schema& schema, const OutgoingRpc& call) const noexcept;

    std::vector<OutgoingRpc> calls_;  ///< in the order of sending
    std::vector<std::size_t> chosen_;
    bool oldest_lacks_room_ = false;
    std::uint32_t next_number_ = 0;
};

/// Bits of the index of a call type.
unsigned rpc_index_bits(const Schema& schema) noexcept;
/// Calls name their ghost with one more bit where they may have none.
inline bool may_lack_ghost(const RpcDesc& desc) noexcept {
    return desc.policy == RpcPolicy::force;
}
inline constexpr unsigned rpc_number_bits = 8;

}  // namespace purview
