// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Hosts that sent wrong operator tokens, and the delay before the next token of such a host is
// checked. The table is bounded: the host with the oldest last failure is evicted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "link/address.hpp"
#include "link/handshake.hpp"
#include "link/host_counts.hpp"

namespace purview::net {

class FailedTokens {
  public:
    static constexpr Micros first_delay_us = 100'000, delay_us_max = 4'000'000;
    static constexpr Micros forgotten_after_us = 600'000'000;
    static constexpr std::size_t hosts_max = 1'024;

    /// Returns 0 if the host sent no wrong token in the last ten minutes.
    Micros delay_us(const Address& host, Micros now) const {
        const auto found = hosts_.find(key_of(host));
        if (found == hosts_.end() || now > found->second.last + forgotten_after_us) return 0;
        const std::uint32_t doublings = std::min(found->second.count - 1, 10U);
        return std::min(first_delay_us << doublings, delay_us_max);
    }
    void failed(const Address& host, Micros now) {
        const std::uint64_t key = key_of(host);
        if (hosts_.size() == hosts_max && hosts_.find(key) == hosts_.end()) {
            hosts_.erase(std::min_element(hosts_.begin(), hosts_.end(),
                                          [](const auto& left, const auto& right) {
                                              return left.second.last < right.second.last;
                                          }));
        }
        Failures& its = hosts_[key];
        if (now > its.last + forgotten_after_us) its.count = 0;
        ++its.count;
        its.last = now;
    }
    void succeeded(const Address& host) { hosts_.erase(key_of(host)); }
    std::size_t hosts() const noexcept { return hosts_.size(); }

  private:
    struct Failures {
        std::uint32_t count = 0;
        Micros last = 0;
    };
    /// For IPv6 the key is the /48 network, because one internet connection may have a whole /48
    /// (65,536 /64 networks).
    static std::uint64_t key_of(const Address& host) noexcept {
        return is_ipv4(host) ? HostCounts::host_key(host) : HostCounts::far_key(host);
    }
    std::map<std::uint64_t, Failures> hosts_;
};

}  // namespace purview::net
