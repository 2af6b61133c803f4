// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Session counts per host, compared with a linear search.
#include "link/host_counts.hpp"
#include "link/address.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/hash.hpp"

namespace purview::test {

namespace {

struct Known {
    Address address;
    bool is_closing = false;
};

/// Returns one of few addresses, so that hosts repeat: IPv4, IPv6, and addresses that resemble
/// either.
Address some_address(SplitMix& random) {
    Address address;
    address.port = static_cast<std::uint16_t>(random.below(3));
    address.channel = random.below(2);
    const auto last = static_cast<std::uint8_t>(random.below(3));
    switch (random.below(4)) {
        case 0:
            address.host[10] = address.host[11] = 0xff;
            address.host[15] = last;
            break;
        case 1:  // one 64-bit network, different hosts
            address.host[0] = 0x20;
            address.host[7] = 1;
            address.host[15] = last;
            break;
        case 2:
            address.host[0] = 0x20;
            address.host[7] = last;
            break;
        default:  // in the network of ::, like IPv4
            address.host[15] = last;
    }
    return address;
}

HostCounts::Count counted(const std::vector<Known>& list, const Address& host, bool all) {
    HostCounts::Count count;
    for (const Known& known : list) {
        if (!all && !is_same_host(known.address, host)) continue;
        ++(known.is_closing ? count.closing : count.connected);
    }
    return count;
}

}  // namespace

TEST_CASE("link: session counts per host equal a linear count") {
    SplitMix random(7);
    HostCounts counts;
    std::vector<Known> list;
    for (int i = 0; i < 20'000; ++i) {
        const std::uint32_t at =
            list.empty() ? 0 : random.below(static_cast<std::uint32_t>(list.size()));
        switch (list.empty() ? 0 : random.below(4)) {
            case 0:
                if (list.size() == 30) break;
                list.push_back({some_address(random)});
                counts.came(list.back().address);
                break;
            case 1: {
                if (list[at].is_closing) break;
                const Address to = some_address(random);
                counts.moved(list[at].address, to);
                list[at].address = to;
                break;
            }
            case 2:
                if (list[at].is_closing) break;
                list[at].is_closing = true;
                counts.closing(list[at].address);
                break;
            default:
                if (!list[at].is_closing) break;
                counts.gone(list[at].address);
                list.erase(list.begin() + at);
        }
        const Address queried = some_address(random);
        for (const bool all : {false, true}) {
            const HostCounts::Count actual = all ? counts.all() : counts.of(queried);
            const HostCounts::Count expected = counted(list, queried, all);
            CHECK(actual.connected == expected.connected);
            CHECK(actual.closing == expected.closing);
        }
    }
    while (!list.empty()) {
        if (!list.back().is_closing) counts.closing(list.back().address);
        counts.gone(list.back().address);
        list.pop_back();
    }
    CHECK(counts.hosts() == 0);
}

}  // namespace purview::test
