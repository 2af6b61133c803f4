// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Calls as they arrive, on either side: read with the packet and nothing kept before all of it is
// sound; ordered ones put back into order; those about a ghost that has not arrived wait for it, a
// bounded time and a bounded number of them, then they are dropped and counted. When a ghost
// leaves, no call names it any more, because its id may be used again. Must not know: what a call
// does, worlds, sockets.
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
    EntityId target = EntityId::none;  ///< the server's: whose ghost that was when it arrived
    bool was_gone = false;             ///< the server's: it was on its way out
    bool was_his = false;              ///< the server's: the caller's, then or a moment before
    bool is_void = false;
    bool ghost_left = false;  ///< the client's: it arrived in time, and the ghost went before it
    std::uint8_t number = 0;  ///< of an ordered one: low bits
    RpcWords words{};
    Micros since = 0;
};

struct RpcInboxCounters {
    std::uint64_t arrived = 0;
    std::uint64_t waited = 0;        ///< came before their ghosts
    std::uint64_t dropped_late = 0;  ///< whose ghosts did not come in time, or too many of them
    std::uint64_t dropped_gone = 0;  ///< whose ghosts will never come
    std::uint64_t dropped_untaken = 0;
};

class RpcInbox {
  public:
    /// Reads a packet's calls up to the closing zero bit and keeps nothing but a list. False: a
    /// call of another direction, a number twice, or no call at all.
    bool read(const Schema& schema, RpcDirection direction, BitReader& in);
    /// What was read last, to be looked at before accept().
    std::vector<ArrivedRpc>& staged() noexcept { return staged_; }
    /// What was read last has arrived. is_here(ghost): it is held.
    template <class IsHere>
    void accept(const Schema& schema, Micros now, IsHere&& is_here) {
        release(now, is_here);  // what waited for this packet's enters comes before its calls
        for (ArrivedRpc& call : staged_) {
            call.since = now;
            if (is_ordered(schema, call.rpc)) {
                insert_ordered(call);
                release_ordered(now, is_here);  // what waits for nothing keeps the packet's order
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
    /// Hands out what may be: ghosts have come, or the time of those that wait is over.
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
    /// The ghost is gone, or will never come: its id will speak of another. Calls that had their
    /// ghost, or may be without one, are handed out without it; others that still waited for it are
    /// dropped.
    void ghost_left(const Schema& schema, LocalId ghost, bool was_held);
    /// The next call that may be handed out, in order; false when there is none.
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
    /// The sender goes on while the front waits for its ghost: numbers must stay apart.
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
    std::vector<ArrivedRpc> orphans_;  ///< not ordered, without their ghosts; oldest first
    std::deque<ArrivedRpc> ordered_;   ///< ascending from next_, with holes
    std::uint8_t next_ = 0;
    std::deque<ArrivedRpc> ready_;
    RpcInboxCounters counters_;
};

}  // namespace purview
