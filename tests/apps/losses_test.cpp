// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "losses.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace purview::app {

TEST_CASE("losses: each kind is logged when it begins and at each tenfold increase") {
    net::UdpCounters udp;
    net::WebCounters web;
    Losses losses;
    const auto lines = [&] { return losses.check(udp, web, 4096); };
    const auto only_of = [&](const char* text) {
        const auto reported = lines();
        return reported.size() == 1 && reported[0].find(text) != std::string::npos &&
               lines().empty();
    };
    CHECK(lines().empty());
    web.refused_connections = 1;
    CHECK(
        only_of("connections refused by the total limit or the limit per "
                "host: 1; "));
    web.refused_connections = 9;
    CHECK(lines().empty());
    udp.no_room = 2;
    udp.dropped = 3;
    CHECK(
        only_of("no buffer space for 2 outgoing datagrams and dropped 3 incoming ones; "
                "the buffers have 4 KiB"));
    web.refused_connections = 10;
    CHECK(
        only_of("host: 10; behind a proxy all browsers share one host: raise "
                "--sessions-per-host-max"));
    udp.refused = 1;
    CHECK(only_of("refused to send 1 datagrams"));
    udp.refused = 9;
    udp.no_room = 46;
    CHECK(lines().empty());
    udp.no_room = 47;
    udp.refused = 10;
    web.refused_connections = 1000;
    CHECK(lines().size() == 3);
    web.refused_operators = 1;
    CHECK(only_of("refused for a wrong token or origin: 1; "));
    web.refused_operators = 9;
    web.refused_origins = 2;
    CHECK(only_of(
        "connections refused from pages of other origins: 2; allow an origin with --origin"));
    web.refused_operators = 10;
    CHECK(only_of("refused for a wrong token or origin: 10; "));
}

TEST_CASE("losses: the report has a figure for every counter") {
    net::UdpCounters udp{1, 2, 4};
    net::WebCounters web;
    web.requests = 8;
    web.refused_connections = 16;
    web.accept_failed = 32;
    web.oversized_frames = 64;
    web.dropped_frames = 128;
    web.refused_operators = 256;
    web.without_session = 512;
    web.refused_origins = 1024;
    const nlohmann::json report = json_of(udp, web);
    CHECK(report.size() == 11);
    std::uint64_t sum = 0;
    for (const auto& figure : report) sum += figure.get<std::uint64_t>();
    CHECK(sum == 2047);  // each counter once, and alone
}

}  // namespace purview::app
