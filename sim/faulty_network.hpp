// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// An in-memory network in one direction. Driven by a seed, it drops datagrams singly and in bursts,
// and duplicates, delays, reorders, corrupts and truncates them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "core/hash.hpp"
#include "purview/connection.hpp"
#include "purview/types.hpp"

namespace purview::test {

struct Faults {
    float loss = 0;
    float duplicate = 0;
    float corrupt = 0;
    Micros delay_us = 0;
    Micros jitter_us = 0;
    float burst = 0;                  ///< probability that a datagram starts a burst of losses
    std::uint32_t burst_length = 10;  ///< datagrams
};

/// Counts of injected faults, to verify that a run had enough of them.
struct FaultCounts {
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
    std::uint64_t doubled = 0;
    std::uint64_t reordered = 0;  ///< arrived after a later one
    std::uint64_t damaged = 0;
    std::uint64_t cut_short = 0;
};

class FaultyNetwork {
  public:
    FaultyNetwork(std::uint64_t seed, Faults with) : random_(seed), faults(with) {}

    void send(std::span<const std::byte> bytes, Micros now, const Address& from = {}) {
        ++counts.sent;
        if (burst_left_ == 0 && faults.burst > 0 && random_.chance(faults.burst))
            burst_left_ = faults.burst_length;
        if (random_.chance(faults.loss) || blackout || burst_left_ > 0) {
            ++counts.lost;
            if (burst_left_ > 0) --burst_left_;
            return;
        }
        const unsigned copies = random_.chance(faults.duplicate) ? 2 : 1;
        counts.doubled += copies - 1;
        for (unsigned i = 0; i < copies; ++i) {
            Flight flight;
            flight.arrives =
                now + faults.delay_us +
                static_cast<Micros>(random_.unit() * static_cast<float>(faults.jitter_us));
            flight.order = next_order_++;
            flight.bytes.assign(bytes.begin(), bytes.end());
            flight.from = from;
            if (random_.chance(faults.corrupt)) {
                ++counts.damaged;
                auto& byte =
                    flight.bytes[random_.below(static_cast<std::uint32_t>(flight.bytes.size()))];
                byte ^= static_cast<std::byte>(1U << random_.below(8));
                if (random_.chance(0.3F)) {
                    flight.bytes.resize(
                        random_.below(static_cast<std::uint32_t>(flight.bytes.size())) + 1);
                    ++counts.cut_short;
                }
            }
            flights_.push(std::move(flight));
        }
    }
    /// `from`: receives the sender's address at the time of sending; may be null.
    bool receive(std::vector<std::byte>& bytes, Micros now, Address* from = nullptr) {
        if (flights_.empty() || flights_.top().arrives > now) return false;
        bytes = flights_.top().bytes;
        if (from != nullptr) *from = flights_.top().from;
        if (flights_.top().order < newest_) ++counts.reordered;
        newest_ = std::max(newest_, flights_.top().order);
        flights_.pop();
        return true;
    }

  private:
    struct Flight {
        Micros arrives = 0;
        std::uint64_t order = 0;
        std::vector<std::byte> bytes;
        Address from;
        bool operator<(const Flight& other) const {
            return arrives != other.arrives ? arrives > other.arrives : order > other.order;
        }
    };
    SplitMix random_;
    std::priority_queue<Flight> flights_;
    std::uint64_t next_order_ = 0;
    std::uint64_t newest_ = 0;
    std::uint32_t burst_left_ = 0;

  public:
    Faults faults;
    bool blackout = false;
    FaultCounts counts;
};

}  // namespace purview::test
