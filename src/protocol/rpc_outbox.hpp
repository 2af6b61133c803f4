// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Outgoing RPCs to one receiver, on either side. They are sent in data packets. The delivery status
// of each packet is reported exactly once (link/packet_link), so a reliable RPC is sent again if
// its packet is known to be lost, and arrives once.
//
// When a ghost leaves, its RPCs are dropped before its local id can be reused. No later packet
// contains the dropped RPCs, so an RPC never reaches the next ghost with that id. An ordered RPC
// that already has a number is replaced by a void one; otherwise later RPCs would wait forever.
// Must not depend on relevance, worlds or sockets.
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
    LocalId ghost = no_local_id;  ///< none: static, about a position, or forced
    Tick made = 0;
    RpcWords words{};
    // Set by the outbox:
    bool under_way = false;
    bool has_number = false;
    bool is_void = false;
    std::uint32_t number = 0;    ///< of an ordered RPC
    std::uint32_t sequence = 0;  ///< of the packet
};

class RpcOutbox {
  public:
    /// Returns false if limits::rpc_pending_per_observer RPCs are waiting already.
    bool add(const OutgoingRpc& call);
    /// Returns whether an RPC waits to be written.
    bool has_data_to_send() const noexcept;
    /// Calls visit(const OutgoingRpc&) for each RPC that waits to be written.
    template <class Visit>
    void for_each_waiting(Visit&& visit) const {
        for (const OutgoingRpc& call : calls_) {
            if (!call.under_way && !call.is_void) visit(call);
        }
    }
    /// Drops the RPCs of ghosts that have left. Calls `is_gone(call)` for every RPC that is not
    /// void, and `dropped(call)` for each RPC that it drops.
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

    /// Chooses RPCs for the next packet, in order, within `bits`. `cost_bits(call)` returns what
    /// must go into the packet beside the RPC, or `never`. The first RPC may use all bits. Further
    /// RPCs are added only within half of them, so that state is not starved. Returns the bits of
    /// the RPCs alone.
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    std::uint64_t choose(const Schema& schema, std::uint64_t bits,
                         const std::function<std::uint64_t(const OutgoingRpc&)>& cost_bits);
    bool has_chosen() const noexcept { return !chosen_.empty(); }
    /// Returns whether, in the last choice, the RPC that has waited longest did not fit but would
    /// fit with more bits.
    bool oldest_lacks_room() const noexcept { return oldest_lacks_room_; }
    /// Calls visit(const OutgoingRpc&) for the chosen RPCs.
    template <class Visit>
    void for_each_chosen(Visit&& visit) const {
        for (const std::size_t at : chosen_) visit(calls_[at]);
    }
    /// Writes the chosen RPCs for which may_go returns true, and the closing zero bit. Returns
    /// their number.
    std::uint32_t write(const Schema& schema, std::uint32_t sequence, BitWriter& out,
                        const std::function<bool(const OutgoingRpc&)>& may_go);
    /// Drops unreliable RPCs that were not written.
    template <class Dropped>
    void drop_unreliable(const Schema& schema, Dropped&& dropped) {
        std::erase_if(calls_, [&](const OutgoingRpc& call) {
            const bool goes = delivery(schema, call) == RpcDelivery::unreliable;
            if (goes) dropped(call);
            return goes;
        });
    }
    /// Reports the delivery status of a packet. Packets must be in order, each once.
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

    std::vector<OutgoingRpc> calls_;  ///< in send order
    std::vector<std::size_t> chosen_;
    bool oldest_lacks_room_ = false;
    std::uint32_t next_number_ = 0;
};

/// Number of bits of an RPC type index.
unsigned rpc_index_bits(const Schema& schema) noexcept;
/// Returns whether an RPC may have no ghost. One more bit on the wire indicates whether it has one.
inline bool may_lack_ghost(const RpcDesc& desc) noexcept {
    return desc.policy == RpcPolicy::force;
}
inline constexpr unsigned rpc_number_bits = 8;

}  // namespace purview
