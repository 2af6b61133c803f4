// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the transports dropped or refused: counters for the report, and warnings for the log.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "net/udp_socket.hpp"
#include "net/web_server.hpp"

namespace purview::app {

nlohmann::json json_of(const net::UdpCounters& udp, const net::WebCounters& web);

/// Reports each kind of loss when it first occurs and again whenever its count is ten times as
/// large.
class Losses {
  public:
    /// Returns the lines for the log, usually none.
    std::vector<std::string> check(const net::UdpCounters& udp, const net::WebCounters& web,
                                   std::size_t udp_buffer_bytes);

  private:
    bool is_due(std::size_t kind, std::uint64_t count);
    std::array<std::uint64_t, 5> reported_{};
};

}  // namespace purview::app
