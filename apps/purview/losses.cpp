// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace purview::app {

using nlohmann::json;

json json_of(const net::UdpCounters& udp, const net::WebCounters& web) {
    return {{"udp_not_sent", udp.no_room},
            {"udp_refused", udp.refused},
            {"udp_dropped", udp.dropped},
            {"web_requests", web.requests},
            {"web_refused", web.refused_connections},
            {"web_accept_failed", web.accept_failed},
            {"web_oversized_frames", web.oversized_frames},
            {"web_dropped_frames", web.dropped_frames},
            {"operators_refused", web.refused_operators},
            {"origins_refused", web.refused_origins},
            {"play_without_session", web.without_session}};
}

bool Losses::is_due(std::size_t kind, std::uint64_t count) {
    if (count < std::max<std::uint64_t>(1, told_[kind] * 10)) return false;
    told_[kind] = count;
    return true;
}

std::vector<std::string> Losses::look(const net::UdpCounters& udp, const net::WebCounters& web,
                                      std::size_t udp_buffer_bytes) {
    std::vector<std::string> lines;
    if (is_due(0, udp.no_room + udp.dropped)) {
        lines.push_back(fmt::format(
            "UDP: the system had no room for {} datagrams on their way out and dropped {} on their "
            "way in; its buffers are {} KiB: with many clients, raise net.core.wmem_max and "
            "net.core.rmem_max",
            udp.no_room, udp.dropped, udp_buffer_bytes / 1024));
    }
    if (is_due(1, udp.refused)) {
        lines.push_back(
            fmt::format("UDP: the system refused to send {} datagrams: is there a way to their "
                        "clients, and does a firewall let them pass?",
                        udp.refused));
    }
    if (is_due(2, web.refused_connections)) {
        lines.push_back(fmt::format(
            "HTTP and WebSocket: connections that were refused, because there were too many or too "
            "many of one host: {}; behind a proxy all browsers are one host: raise "
            "--sessions-per-host-max",
            web.refused_connections));
    }
    if (is_due(3, web.refused_operators)) {
        lines.push_back(
            fmt::format("operators that were refused for a wrong token or origin: {}; if nobody of "
                        "yours mistyped it, somebody guesses",
                        web.refused_operators));
    }
    if (is_due(4, web.refused_origins)) {
        lines.push_back(
            fmt::format("pages of other origins that wanted to play and were refused: {}; "
                        "--origin names those that may",
                        web.refused_origins));
    }
    return lines;
}

}  // namespace purview::app
