// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A network in memory: loses, doubles, delays, reorders and damages datagrams on a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "core/hash.hpp"
#include "purview/link.hpp"

namespace purview::test {

struct Faults {
    float loss = 0;
    float duplicate = 0;
    float corrupt = 0;
    Micros delay_us = 0;
    Micros jitter_us = 0;
};

class FaultyNetwork {
  public:
    FaultyNetwork(std::uint64_t seed, Faults with) : random_(seed), faults(with) {}

    void send(std::span<const std::byte> bytes, Micros now) {
        if (random_.chance(faults.loss) || blackout) return;
        const unsigned copies = random_.chance(faults.duplicate) ? 2 : 1;
        for (unsigned i = 0; i < copies; ++i) {
            Flight flight;
            flight.arrives =
                now + faults.delay_us +
                static_cast<Micros>(random_.unit() * static_cast<float>(faults.jitter_us));
            flight.order = next_order_++;
            flight.bytes.assign(bytes.begin(), bytes.end());
            if (random_.chance(faults.corrupt)) {
                auto& byte =
                    flight.bytes[random_.below(static_cast<std::uint32_t>(flight.bytes.size()))];
                byte ^= static_cast<std::byte>(1U << random_.below(8));
                if (random_.chance(0.3F))
                    flight.bytes.resize(
                        random_.below(static_cast<std::uint32_t>(flight.bytes.size())) + 1);
            }
            flights_.push(std::move(flight));
        }
    }
    bool receive(std::vector<std::byte>& bytes, Micros now) {
        if (flights_.empty() || flights_.top().arrives > now) return false;
        bytes = flights_.top().bytes;
        flights_.pop();
        return true;
    }

  private:
    struct Flight {
        Micros arrives = 0;
        std::uint64_t order = 0;
        std::vector<std::byte> bytes;
        bool operator<(const Flight& other) const {
            return arrives != other.arrives ? arrives > other.arrives : order > other.order;
        }
    };
    SplitMix random_;
    std::priority_queue<Flight> flights_;
    std::uint64_t next_order_ = 0;

  public:
    Faults faults;
    bool blackout = false;
};

}  // namespace purview::test
