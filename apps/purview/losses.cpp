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
    if (count < std::max<std::uint64_t>(1, reported_[kind] * 10)) return false;
    reported_[kind] = count;
    return true;
}

std::vector<std::string> Losses::check(const net::UdpCounters& udp, const net::WebCounters& web,
                                       std::size_t udp_buffer_bytes) {
    std::vector<std::string> lines;
    if (is_due(0, udp.no_room + udp.dropped)) {
        lines.push_back(fmt::format(
            "UDP: the system had no buffer space for {} outgoing datagrams and dropped {} incoming "
            "ones; the buffers have {} KiB; with many clients, raise net.core.wmem_max and "
            "net.core.rmem_max",
            udp.no_room, udp.dropped, udp_buffer_bytes / 1024));
    }
    if (is_due(1, udp.refused)) {
        lines.push_back(
            fmt::format("UDP: the system refused to send {} datagrams: check the route to their "
                        "clients and the firewall",
                        udp.refused));
    }
    if (is_due(2, web.refused_connections)) {
        lines.push_back(fmt::format(
            "HTTP and WebSocket: connections refused by the total limit or the limit per "
            "host: {}; behind a proxy all browsers share one host: raise "
            "--sessions-per-host-max",
            web.refused_connections));
    }
    if (is_due(3, web.refused_operators)) {
        lines.push_back(fmt::format(
            "operator connections refused for a wrong token or origin: {}; if it was not "
            "a typing error, someone is guessing tokens",
            web.refused_operators));
    }
    if (is_due(4, web.refused_origins)) {
        lines.push_back(
            fmt::format("connections refused from pages of other origins: {}; "
                        "allow an origin with --origin",
                        web.refused_origins));
    }
    return lines;
}

}  // namespace purview::app
