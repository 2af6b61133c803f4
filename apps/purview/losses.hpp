// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What carriers lost or turned away: figures for a report, and when that is worth a word.
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

/// Tells of each kind when it begins, and whenever it is ten times as much.
class Losses {
  public:
    /// Lines for the log, most often none.
    std::vector<std::string> look(const net::UdpCounters& udp, const net::WebCounters& web,
                                  std::size_t udp_buffer_bytes);

  private:
    bool is_due(std::size_t kind, std::uint64_t count);
    std::array<std::uint64_t, 5> told_{};
};

}  // namespace purview::app
