// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/net/udp_client.hpp"

#include <span>

#include "net/system.hpp"
#include "net/udp_socket.hpp"
#include "purview/client.hpp"

namespace purview::net {

namespace {

constexpr Micros tick_us = 1'000'000 / 60;
/// Small, so that a flood does not delay a frame.
constexpr std::size_t datagrams_per_update = 256;

}  // namespace

struct UdpClient::Data {
    Client& client;
    UdpSocket socket;
    std::string problem;
    Micros next_tick = 0;
};

UdpClient::UdpClient(Client& client, const std::string& host, std::uint16_t port)
    : data_(new Data{client, {}, {}, 0}) {
    data_->problem = data_->socket.connect(host, port);
}
UdpClient::~UdpClient() = default;

const std::string& UdpClient::problem() const noexcept {
    return data_->problem;
}

Micros UdpClient::update() {
    const Micros now = net::now();
    if (!data_->problem.empty()) return now;
    data_->socket.receive(datagrams_per_update,
                          [&](std::span<const std::byte> bytes, const Address&) {
                              data_->client.receive(bytes, now);
                          });
    if (now >= data_->next_tick) {
        data_->client.tick(now);
        data_->next_tick = now + tick_us;
    }
    std::span<const std::byte> bytes;
    while (data_->client.next_datagram(bytes)) data_->socket.send(bytes, {});
    data_->socket.flush();
    return now;
}

}  // namespace purview::net
