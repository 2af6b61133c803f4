// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Numbers of sessions or connections: total, per host and per network, so that a new connection is
// checked without a search through all of them. Hosts are compared as in is_same_host. A near
// network is a /56 of IPv6; a far network is a /48 of IPv6 or a /24 of IPv4. One internet access
// may have many hosts in such a network. Addresses of carriers other than UDP and WebSocket have no
// network.
#pragma once

#include <cstdint>

#include "core/flat_map.hpp"
#include "link/address.hpp"
#include "purview/connection.hpp"

namespace purview {

/// Limit of an IPv6 /56, as a multiple of the limit of one host.
inline constexpr std::uint32_t near_network_hosts = 4;
/// Limit of an IPv6 /48 or an IPv4 /24, as a multiple of the limit of one host.
inline constexpr std::uint32_t far_network_hosts = 16;

class HostCounts {
  public:
    struct Count {
        std::uint32_t connected = 0;
        std::uint32_t closing = 0;  ///< closed; removed in the next tick
    };

    Count all() const noexcept { return all_; }
    Count of(const Address& host) const noexcept { return find(of_, host_key(host)); }
    /// Returns whether the networks of the host are below their limits. These are multiples of
    /// `per_host_max`.
    bool has_network_room(const Address& host, std::uint32_t per_host_max) const noexcept {
        return has_near_room(host, per_host_max) && has_far_room(host, per_host_max);
    }
    /// The same for a connection that moves between two addresses. A network that contains both is
    /// not checked, because the connection already counts there.
    bool has_network_room(const Address& from, const Address& to,
                          std::uint32_t per_host_max) const noexcept {
        const bool in_networks = has_networks(from);
        const bool nearby_count = in_networks && near_key(from) == near_key(to);
        const bool far_count = in_networks && far_key(from) == far_key(to);
        return (nearby_count || has_near_room(to, per_host_max)) &&
               (far_count || has_far_room(to, per_host_max));
    }
    void came(const Address& from) {
        ++all_.connected;
        change(from, [](Count& count) { ++count.connected; });
    }
    void moved(const Address& from, const Address& to) {
        change(from, [](Count& count) { --count.connected; });
        change(to, [](Count& count) { ++count.connected; });
    }
    void closing(const Address& from) {
        const auto close = [](Count& count) {
            --count.connected;
            ++count.closing;
        };
        close(all_);
        change(from, close);
    }
    void gone(const Address& from) {
        --all_.closing;
        change(from, [](Count& count) { --count.closing; });
    }
    /// Number of hosts with a session.
    std::size_t hosts() const noexcept { return of_.size(); }
    /// Number of near networks plus number of far networks with a session. An IPv6 session counts
    /// in both.
    std::size_t networks() const noexcept { return near_.size() + far_.size(); }

    /// An IPv4 address or a /64 of IPv6. IPv4 keys start with 0:1:..., which no IPv6 network does.
    static std::uint64_t host_key(const Address& host) noexcept {
        return is_ipv4(host) ? key_of(host, 12, 16) : key_of(host, 0, 8);
    }
    /// A /24 of IPv4 or a /48 of IPv6.
    static std::uint64_t far_key(const Address& host) noexcept {
        return is_ipv4(host) ? key_of(host, 12, 15) : key_of(host, 0, 6);
    }

  private:
    using Counts = FlatMap<std::uint64_t, Count>;

    static std::uint64_t near_key(const Address& host) noexcept {
        return is_ipv4(host) ? host_key(host) : key_of(host, 0, 7);
    }
    static std::uint64_t key_of(const Address& host, std::size_t begin, std::size_t end) noexcept {
        constexpr std::uint64_t ipv4 = std::uint64_t{1} << 32;
        std::uint64_t key = begin == 0 ? 0 : 1;
        for (std::size_t i = begin; i < end; ++i) key = key << 8 | host.host[i];
        return key == ~std::uint64_t{0} ? ipv4 : key;  // reserved by the map; no real network
    }
    static bool has_networks(const Address& host) noexcept {
        return host.carrier != Address::Carrier::memory;
    }
    static Count find(const Counts& counts, std::uint64_t key) noexcept {
        const Count* count = counts.find(key);
        return count == nullptr ? Count{} : *count;
    }
    bool has_near_room(const Address& host, std::uint32_t per_host_max) const noexcept {
        const std::uint64_t most = std::uint64_t{near_network_hosts} * per_host_max;
        return !has_networks(host) || is_ipv4(host) || find(near_, near_key(host)).connected < most;
    }
    bool has_far_room(const Address& host, std::uint32_t per_host_max) const noexcept {
        const std::uint64_t most = std::uint64_t{far_network_hosts} * per_host_max;
        return !has_networks(host) || find(far_, far_key(host)).connected < most;
    }
    template <class Change>
    static void change_one(Counts& counts, std::uint64_t key, Change change) {
        Count& count = counts[key];
        change(count);
        if (count.connected + count.closing == 0) counts.erase(key);
    }
    template <class Change>
    void change(const Address& host, Change change) {
        change_one(of_, host_key(host), change);
        if (!has_networks(host)) return;
        if (!is_ipv4(host)) change_one(near_, near_key(host), change);
        change_one(far_, far_key(host), change);
    }

    Count all_;
    Counts of_, near_, far_;
};

}  // namespace purview
