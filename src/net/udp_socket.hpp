// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A UDP socket that moves datagrams in batches (recvmmsg, sendmmsg). Never blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "purview/connection.hpp"

struct msghdr;

namespace purview::net {

/// Datagrams that the system dropped.
struct UdpCounters {
    std::uint64_t no_room = 0;  ///< outgoing, the send buffer was full
    std::uint64_t refused = 0;  ///< outgoing, for other reasons: no route, port unreachable
    std::uint64_t dropped = 0;  ///< incoming, the receive buffer was full or the datagram damaged
};

class UdpSocket {
  public:
    UdpSocket() = default;
    UdpSocket(UdpSocket&& other) noexcept;
    UdpSocket& operator=(UdpSocket&& other) noexcept;
    UdpSocket(const UdpSocket&) = delete;
    UdpSocket& operator=(const UdpSocket&) = delete;
    ~UdpSocket();

    /// Binds to a numeric address; port 0 selects any. Returns an error text, or an empty string.
    /// If bound to all addresses of the machine (0.0.0.0, ::), `channel` of a sender's address
    /// identifies the local address that received the datagram, and answers are sent from that one.
    std::string bind(const std::string& host, std::uint16_t port);
    /// Opens a client's socket, which exchanges datagrams with this address only.
    std::string connect(const std::string& host, std::uint16_t port);
    bool is_open() const noexcept { return descriptor_ >= 0; }
    int descriptor() const noexcept { return descriptor_; }
    std::uint16_t port() const noexcept { return port_; }

    /// Calls take(bytes, from) for every pending datagram, at most `limit`.
    template <class Take>
    std::size_t receive(std::size_t limit, Take&& take) {
        std::size_t taken = 0;
        while (taken < limit) {
            const std::size_t count = receive_batch();
            for (std::size_t i = 0; i < count; ++i) take(received_[i], from_[i]);
            taken += count;
            if (count < batch_) break;
        }
        return taken;
    }
    /// Queues a datagram until flush() or until a batch is full.
    void send(std::span<const std::byte> bytes, const Address& to);
    void flush();

    /// Current counters, including the system's.
    const UdpCounters& counters() noexcept;
    /// Size of the smaller of the system's two buffers.
    std::size_t buffer_bytes() const noexcept;

  private:
    static constexpr std::size_t batch_max = 64;
    static constexpr std::size_t client_batch = 8;
    static constexpr std::size_t datagram_bytes = 2048;
    /// Number of local addresses that are distinguished. For others, the system chooses the source
    /// address of answers.
    static constexpr std::size_t locals_max = 256;
    using Host = std::array<std::uint8_t, 16>;

    std::string open(const std::string& host, std::uint16_t port, bool connected);
    std::size_t receive_batch();
    std::uint32_t channel_of(const msghdr& message);
    void close() noexcept;

    int descriptor_ = -1;
    std::size_t batch_ = batch_max;
    std::uint16_t port_ = 0;
    bool connected_ = false;
    bool ipv6_ = false;
    bool has_channels_ = false;
    std::vector<Host> locals_;  ///< [channel - 1] local address; channel 0: unknown
    std::vector<std::byte> in_;
    std::vector<std::span<const std::byte>> received_;
    std::vector<Address> from_;
    std::vector<std::byte> out_;
    struct Queued {
        std::size_t offset;
        std::size_t size;
        Address to;
    };
    std::vector<Queued> queued_;
    UdpCounters counters_;
    std::uint32_t drops_reported_ = 0;  ///< last drop count of the system for this socket
};

/// "127.0.0.1:7777" or "[::1]:7777".
std::string to_text(const Address& address);
bool is_numeric_address(const std::string& host);
/// True for 127.0.0.0/8 and ::1.
bool is_loopback(const std::string& host);

}  // namespace purview::net
