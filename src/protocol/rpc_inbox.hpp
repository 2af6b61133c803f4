// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// RPCs that arrive, on either side. They are read with the packet, and stored only if the whole
// packet is valid. Ordered RPCs are put back into order. RPCs about a ghost that has not arrived
// wait for it. The number and the time of waiting RPCs are limited; RPCs beyond the limits are
// dropped and counted. When a ghost leaves, no RPC refers to it any more, because its id may be
// reused.
// Must not depend on the effect of RPCs, worlds or sockets.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "protocol/local_id.hpp"
#include "protocol/rpc_args.hpp"
#include "purview/limits.hpp"

namespace purview {

struct ArrivedRpc {
    RpcId rpc = RpcId::none;
    LocalId ghost = no_local_id;
    EntityId target = EntityId::none;  ///< server: entity of the ghost when the RPC arrived
    bool was_gone = false;             ///< server: that entity was leaving
    bool was_owned = false;            ///< server: the caller owned it, then or shortly before
    bool is_void = false;
    bool ghost_left = false;  ///< client: it arrived in time, but its ghost left first
    std::uint8_t number = 0;  ///< of an ordered RPC; low bits
    RpcWords words{};
    Micros since = 0;
};

struct RpcInboxCounters {
    std::uint64_t arrived = 0;
    std::uint64_t waited = 0;        ///< arrived before their ghosts
    std::uint64_t dropped_late = 0;  ///< ghosts did not arrive in time, or too many waited
    std::uint64_t dropped_gone = 0;  ///< ghosts will never arrive
    std::uint64_t dropped_untaken = 0;
};

class RpcInbox {
  public:
    /// Reads a packet's RPCs up to the closing zero bit into a list and changes nothing else.
    /// Returns false for an RPC of another direction, a repeated number or a malformed RPC.
    bool read(const Schema& schema, RpcDirection direction, BitReader& in);
    /// Returns the RPCs that were read last, for inspection before accept().
    std::vector<ArrivedRpc>& staged() noexcept { return staged_; }
    /// Accepts what was read last. is_here(ghost) returns whether the ghost has arrived.
    template <class IsHere>
    void accept(const Schema& schema, Micros now, IsHere&& is_here) {
        release(now, is_here);  // RPCs that waited for this packet's enters come first
        for (ArrivedRpc& call : staged_) {
            call.since = now;
            if (is_ordered(schema, call.rpc)) {
                insert_ordered(call);
                release_ordered(now, is_here);  // those that need not wait keep the packet's order
            } else if (call.ghost == no_local_id || is_here(call.ghost)) {
                ready_.push_back(call);
            } else {
                ++counters_.waited;
                orphans_.push_back(call);
            }
            counters_.arrived += call.is_void ? 0 : 1;
        }
        staged_.clear();
        release(now, is_here);
    }
    /// Releases RPCs with a ghost that has arrived, and drops those that have waited too long.
    template <class IsHere>
    void release(Micros now, IsHere&& is_here) {
        for (std::size_t i = 0; i < orphans_.size();) {
            const bool here = is_here(orphans_[i].ghost);
            if (!here && !is_over(orphans_[i], now) && orphans_.size() <= limits::rpc_orphans) {
                ++i;
                continue;
            }
            here ? ready_.push_back(orphans_[i]) : void(++counters_.dropped_late);
            orphans_.erase(orphans_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        release_ordered(now, is_here);
        for (; ready_.size() > limits::rpc_received; ready_.pop_front())
            ++counters_.dropped_untaken;
    }
    /// Call when the ghost left or will never arrive: its id will refer to another entity. RPCs
    /// that had their ghost, or do not need one, are released without it. RPCs that still wait for
    /// the ghost are dropped.
    void ghost_left(const Schema& schema, LocalId ghost, bool was_held);
    /// Gets the next released RPC, in order. Returns false if there is none.
    bool next(ArrivedRpc& out);

    const RpcInboxCounters& counters() const noexcept { return counters_; }
    std::size_t waiting() const noexcept { return orphans_.size() + ordered_.size(); }

  private:
    static bool is_ordered(const Schema& schema, RpcId rpc) noexcept {
        return schema.rpcs()[index_of(rpc)].desc.delivery == RpcDelivery::reliable_ordered;
    }
    static bool is_over(const ArrivedRpc& call, Micros now) noexcept {
        return now > call.since && now - call.since > limits::rpc_orphan_us;
    }
    std::uint8_t ahead(std::uint8_t number) const noexcept {
        return static_cast<std::uint8_t>(number - next_);
    }
    /// Returns whether the first RPC must stop waiting for its ghost. The sender continues, and
    /// otherwise the low bits of RPC numbers would become ambiguous.
    bool is_far_ahead() const noexcept {
        return ahead(ordered_.back().number) + limits::rpc_window >= 256;
    }
    void insert_ordered(const ArrivedRpc& call);
    template <class IsHere>
    void release_ordered(Micros now, IsHere&& is_here) {
        while (!ordered_.empty() && ordered_.front().number == next_) {
            const ArrivedRpc& front = ordered_.front();
            const bool here = front.ghost == no_local_id || is_here(front.ghost);
            if (!here && !is_over(front, now) && !is_far_ahead()) break;
            if (!here) {
                ++counters_.dropped_late;
            } else if (!front.is_void) {
                ready_.push_back(front);
            }
            ordered_.pop_front();
            ++next_;
        }
    }
    bool has_number(std::uint8_t number) const noexcept;

    std::vector<ArrivedRpc> staged_;
    std::vector<ArrivedRpc> orphans_;  ///< unordered, without their ghosts; oldest first
    std::deque<ArrivedRpc> ordered_;   ///< ascending from next_, with holes
    std::uint8_t next_ = 0;
    std::deque<ArrivedRpc> ready_;
    RpcInboxCounters counters_;
};

}  // namespace purview
