// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Carries the datagrams of a Client over UDP. Part of purview::net. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "purview/types.hpp"

namespace purview {
class Client;
}

namespace purview::net {

class UdpClient {
  public:
    /// `host`: a numeric address. `client` is not owned, outlives this, and is not moved meanwhile.
    UdpClient(Client& client, const std::string& host, std::uint16_t port);
    ~UdpClient();
    UdpClient(const UdpClient&) = delete;
    UdpClient& operator=(const UdpClient&) = delete;

    /// Returns why there is no socket; empty: there is one.
    const std::string& problem() const noexcept;
    /// Receives and sends what is due. Call it every frame; the client ticks at most 60 times a
    /// second. Returns the time that it gave the client. Never blocks.
    Micros update();

  private:
    struct Data;
    std::unique_ptr<Data> data_;
};

}  // namespace purview::net
