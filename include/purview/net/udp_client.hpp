// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Sends and receives the datagrams of a Client over UDP. Part of purview::net. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "purview/types.hpp"

namespace purview {
class Client;
}

namespace purview::net {

/// @addtogroup api_net
/// @{

/// Runs a client.
class UdpClient {
  public:
    /// Opens a socket. `host`: a numeric address. `client` is not owned, outlives this object, and
    /// is not moved meanwhile.
    UdpClient(Client& client, const std::string& host, std::uint16_t port);
    /// Closes the socket.
    ~UdpClient();
    UdpClient(const UdpClient&) = delete;
    UdpClient& operator=(const UdpClient&) = delete;

    /// Returns why there is no socket; empty: there is one.
    const std::string& problem() const noexcept;
    /// Receives, ticks the client and sends. Call it every frame; the client ticks at most 60 times
    /// per second. Returns the time of a monotonic clock that was passed to the client. Never
    /// blocks. After Client::leave, call it once more to send the disconnect packet.
    Micros update();

  private:
    struct Data;
    std::unique_ptr<Data> data_;
};

/// @}

}  // namespace purview::net
