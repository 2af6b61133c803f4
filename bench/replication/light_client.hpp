// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A client that handshakes, joins and acknowledges without decoding packets, so that thousands of
// them are cheap. It acknowledges unchecked data, so it verifies nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "link/handshake.hpp"
#include "link/packet_link.hpp"
#include "link/stream.hpp"

namespace purview::bench {

class LightClient {
  public:
    LightClient(std::uint64_t nonce, std::string name) : nonce_(nonce), name_(std::move(name)) {}

    void receive(std::span<const std::byte> datagram);
    /// Returns the next datagram to send. Valid until the next call.
    std::span<const std::byte> next_datagram();

  private:
    void send_join();
    std::span<const std::byte> acknowledge();

    std::uint64_t nonce_;
    std::string name_;
    std::optional<Answer> answer_;
    std::uint64_t connection_id_ = 0;
    PacketLink link_;
    StreamSender stream_;
    std::vector<DeliveryNotice> notices_;
    std::array<std::byte, 512> out_{};
};

}  // namespace purview::bench
