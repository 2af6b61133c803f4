// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/udp_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace purview::net {

namespace {

/// ::ffff:a.b.c.d
void map_ipv4(const in_addr& from, std::array<std::uint8_t, 16>& to) {
    to.fill(0);
    to[10] = to[11] = 0xff;
    std::memcpy(&to[12], &from, 4);
}

enum class HostType : std::uint8_t { none, ipv4, ipv6 };

/// A numeric address; none: it is none.
HostType read_host(const std::string& text, std::array<std::uint8_t, 16>& host) {
    in_addr v4{};
    if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
        map_ipv4(v4, host);
        return HostType::ipv4;
    }
    return inet_pton(AF_INET6, text.c_str(), host.data()) == 1 ? HostType::ipv6 : HostType::none;
}

Address from_system(const sockaddr_storage& system) {
    Address address;
    address.carrier = Address::Carrier::udp;
    if (system.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(system);
        map_ipv4(v4.sin_addr, address.host);
        address.port = ntohs(v4.sin_port);
    } else {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(system);
        std::memcpy(address.host.data(), &v6.sin6_addr, 16);
        address.port = ntohs(v6.sin6_port);
    }
    return address;
}

socklen_t to_system(const Address& address, bool ipv6, sockaddr_storage& out) {
    out = {};
    if (!ipv6) {
        auto& v4 = reinterpret_cast<sockaddr_in&>(out);
        v4.sin_family = AF_INET;
        v4.sin_port = htons(address.port);
        std::memcpy(&v4.sin_addr, &address.host[12], 4);
        return sizeof v4;
    }
    auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    std::memcpy(&v6.sin6_addr, address.host.data(), 16);
    return sizeof v6;
}

}  // namespace

UdpSocket::UdpSocket(UdpSocket&& other) noexcept {
    *this = std::move(other);
}

UdpSocket& UdpSocket::operator=(UdpSocket&& other) noexcept {
    if (this == &other) return *this;
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    batch_ = other.batch_;
    port_ = other.port_;
    connected_ = other.connected_;
    ipv6_ = other.ipv6_;
    in_ = std::move(other.in_);
    received_ = std::move(other.received_);
    from_ = std::move(other.from_);
    out_ = std::move(other.out_);
    queued_ = std::move(other.queued_);
    send_failures_ = other.send_failures_;
    return *this;
}

UdpSocket::~UdpSocket() {
    close();
}

void UdpSocket::close() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
}

std::string UdpSocket::open(const std::string& host, std::uint16_t port, bool connected) {
    Address address;
    const HostType type = read_host(host, address.host);
    if (type == HostType::none) return "'" + host + "' is not a numeric address";
    if (type == HostType::ipv6) ipv6_ = true;
    address.port = port;
    descriptor_ =
        ::socket(ipv6_ ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) return std::string("no UDP socket: ") + std::strerror(errno);
    const int buffer = 4 << 20;  // a tick of thousands of clients must fit
    (void)::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    (void)::setsockopt(descriptor_, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    sockaddr_storage system;
    const socklen_t size = to_system(address, ipv6_, system);
    const int result = connected
                           ? ::connect(descriptor_, reinterpret_cast<sockaddr*>(&system), size)
                           : ::bind(descriptor_, reinterpret_cast<sockaddr*>(&system), size);
    if (result != 0) {
        const std::string reason = std::strerror(errno);
        close();
        return std::string(connected ? "connect to " : "bind to ") + host + ":" +
               std::to_string(port) + ": " + reason;
    }
    connected_ = connected;
    sockaddr_storage own{};
    socklen_t own_size = sizeof own;
    ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&own), &own_size);
    port_ = from_system(own).port;
    batch_ = connected ? client_batch : batch_max;
    in_.resize(batch_ * buffer_bytes);
    received_.resize(batch_);
    from_.resize(batch_);
    return {};
}

std::string UdpSocket::bind(const std::string& host, std::uint16_t port) {
    return open(host, port, false);
}
std::string UdpSocket::connect(const std::string& host, std::uint16_t port) {
    return open(host, port, true);
}

std::size_t UdpSocket::receive_batch() {
    std::array<mmsghdr, batch_max> messages;
    std::array<iovec, batch_max> parts;
    std::array<sockaddr_storage, batch_max> names;
    for (std::size_t i = 0; i < batch_; ++i) {
        parts[i] = {in_.data() + i * buffer_bytes, buffer_bytes};
        messages[i] = {};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_name = &names[i];
        messages[i].msg_hdr.msg_namelen = sizeof names[i];
    }
    const int count =
        ::recvmmsg(descriptor_, messages.data(), static_cast<unsigned>(batch_), 0, nullptr);
    if (count <= 0) return 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        received_[i] =
            std::span<const std::byte>(in_.data() + i * buffer_bytes, messages[i].msg_len);
        from_[i] = connected_ ? Address{} : from_system(names[i]);
    }
    return static_cast<std::size_t>(count);
}

void UdpSocket::send(std::span<const std::byte> bytes, const Address& to) {
    queued_.push_back({out_.size(), bytes.size(), to});
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    if (queued_.size() == batch_max) flush();
}

void UdpSocket::flush() {
    std::array<mmsghdr, batch_max> messages;
    std::array<iovec, batch_max> parts;
    std::array<sockaddr_storage, batch_max> names;
    for (std::size_t i = 0; i < queued_.size(); ++i) {
        messages[i] = {};
        parts[i] = {out_.data() + queued_[i].offset, queued_[i].size};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        if (!connected_) {
            if (ipv6_ || is_ipv4(queued_[i].to)) {
                messages[i].msg_hdr.msg_namelen = to_system(queued_[i].to, ipv6_, names[i]);
            }
            messages[i].msg_hdr.msg_name = &names[i];
        }
    }
    std::size_t sent = 0;
    while (sent < queued_.size()) {
        const int count = ::sendmmsg(descriptor_, messages.data() + sent,
                                     static_cast<unsigned>(queued_.size() - sent), 0);
        if (count > 0) {
            sent += static_cast<std::size_t>(count);
        } else {  // this one cannot go: it counts as lost, like any datagram
            ++send_failures_;
            ++sent;
        }
    }
    queued_.clear();
    out_.clear();
}

std::string to_text(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (is_ipv4(address)) {
        inet_ntop(AF_INET, &address.host[12], text.data(), text.size());
        return std::string(text.data()) + ":" + std::to_string(address.port);
    }
    inet_ntop(AF_INET6, address.host.data(), text.data(), text.size());
    return "[" + std::string(text.data()) + "]:" + std::to_string(address.port);
}

bool is_numeric_address(const std::string& host) {
    std::array<std::uint8_t, 16> ignored{};
    return read_host(host, ignored) != HostType::none;
}

bool is_loopback(const std::string& host) {
    std::array<std::uint8_t, 16> bytes{};
    const HostType type = read_host(host, bytes);
    if (type == HostType::ipv4) return bytes[12] == 127;
    in6_addr v6{};
    std::memcpy(&v6, bytes.data(), sizeof v6);
    return type == HostType::ipv6 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace purview::net
