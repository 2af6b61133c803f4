// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How many sessions or connections there are, in all and of each host: whoever asks to be let in is
// answered without looking through all of them. Hosts are told apart as by is_same_host.
#pragma once

#include <cstdint>

#include "core/flat_map.hpp"
#include "purview/link.hpp"

namespace purview {

class HostCounts {
  public:
    struct Count {
        std::uint32_t connected = 0;
        std::uint32_t closing = 0;  ///< that the next tick ends
    };

    Count all() const noexcept { return all_; }
    Count of(const Address& host) const noexcept {
        const Count* count = of_.find(key_of(host));
        return count == nullptr ? Count{} : *count;
    }
    void came(const Address& from) {
        ++all_.connected;
        ++of_[key_of(from)].connected;
    }
    void moved(const Address& from, const Address& to) {
        --of_[key_of(from)].connected;
        drop_if_none(from);
        ++of_[key_of(to)].connected;
    }
    void closing(const Address& from) {
        for (Count* count : {&all_, &of_[key_of(from)]}) {
            --count->connected;
            ++count->closing;
        }
    }
    void gone(const Address& from) {
        --all_.closing;
        --of_[key_of(from)].closing;
        drop_if_none(from);
    }
    /// Hosts that have a session.
    std::size_t hosts() const noexcept { return of_.size(); }

  private:
    /// An IPv4 address, or the network of an IPv6 one. No network has the numbers 0:1:... that are
    /// IPv4's here.
    static std::uint64_t key_of(const Address& host) noexcept {
        constexpr std::uint64_t ipv4 = std::uint64_t{1} << 32;
        const bool is_short = is_ipv4(host);
        const std::size_t begin = is_short ? 12 : 0, end = is_short ? 16 : 8;
        std::uint64_t key = is_short ? 1 : 0;
        for (std::size_t i = begin; i < end; ++i) key = key << 8 | host.host[i];
        return key == ~std::uint64_t{0} ? ipv4 : key;  // the table's own mark: no host's network
    }
    void drop_if_none(const Address& host) {
        const Count& count = of_[key_of(host)];
        if (count.connected + count.closing == 0) of_.erase(key_of(host));
    }

    Count all_;
    FlatMap<std::uint64_t, Count> of_;
};

}  // namespace purview
