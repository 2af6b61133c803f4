// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/udp_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "link/address.hpp"

namespace purview::net {

namespace {

/// Maps to ::ffff:a.b.c.d.
void map_ipv4(const in_addr& from, std::array<std::uint8_t, 16>& to) {
    to.fill(0);
    to[10] = to[11] = 0xff;
    std::memcpy(&to[12], &from, 4);
}

enum class HostType : std::uint8_t { none, ipv4, ipv6 };

/// Parses a numeric address; `none` if it is not one.
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

/// Storage for the ancillary data of a datagram.
struct alignas(cmsghdr) Control {
    std::array<std::byte, CMSG_SPACE(sizeof(in6_pktinfo))> bytes;
};

template <class Info>
void append(msghdr& message, Control& control, int level, int type, const Info& info) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(sizeof info);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = level;
    header->cmsg_type = type;
    header->cmsg_len = CMSG_LEN(sizeof info);
    std::memcpy(CMSG_DATA(header), &info, sizeof info);
}

/// Sets the source address of the datagram.
void append_source(msghdr& message, Control& control, bool ipv6,
                   const std::array<std::uint8_t, 16>& local) {
    control = {};
    if (ipv6) {
        in6_pktinfo info{};
        std::memcpy(&info.ipi6_addr, local.data(), local.size());
        append(message, control, IPPROTO_IPV6, IPV6_PKTINFO, info);
    } else {
        in_pktinfo info{};
        std::memcpy(&info.ipi_spec_dst, &local[12], 4);
        append(message, control, IPPROTO_IP, IP_PKTINFO, info);
    }
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
    has_channels_ = other.has_channels_;
    locals_ = std::move(other.locals_);
    in_ = std::move(other.in_);
    received_ = std::move(other.received_);
    from_ = std::move(other.from_);
    out_ = std::move(other.out_);
    queued_ = std::move(other.queued_);
    counters_ = other.counters_;
    drops_reported_ = other.drops_reported_;
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
    close();
    drops_reported_ = 0;
    ipv6_ = type == HostType::ipv6;
    address.port = port;
    descriptor_ =
        ::socket(ipv6_ ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) return std::string("cannot open a UDP socket: ") + std::strerror(errno);
    const int buffer = 4 << 20;  // must hold one tick for thousands of clients
    (void)::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    (void)::setsockopt(descriptor_, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    const auto is_any = std::all_of(address.host.begin() + (ipv6_ ? 0 : 12), address.host.end(),
                                    [](std::uint8_t byte) { return byte == 0; });
    has_channels_ = !connected && is_any;
    if (has_channels_) {
        const int on = 1;
        (void)::setsockopt(descriptor_, ipv6_ ? IPPROTO_IPV6 : IPPROTO_IP,
                           ipv6_ ? IPV6_RECVPKTINFO : IP_PKTINFO, &on, sizeof on);
    }
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
    in_.resize(batch_ * datagram_bytes);
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

const UdpCounters& UdpSocket::counters() noexcept {
    std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
    socklen_t size = sizeof info;
    if (::getsockopt(descriptor_, SOL_SOCKET, SO_MEMINFO, info.data(), &size) == 0) {
        const std::uint32_t drops = info[SK_MEMINFO_DROPS];
        counters_.dropped += drops - drops_reported_;  // the system's counter wraps at 2^32
        drops_reported_ = drops;
    }
    return counters_;
}

std::size_t UdpSocket::buffer_bytes() const noexcept {
    int least = 0;
    for (const int option : {SO_RCVBUF, SO_SNDBUF}) {
        int bytes = 0;
        socklen_t size = sizeof bytes;
        if (::getsockopt(descriptor_, SOL_SOCKET, option, &bytes, &size) != 0) return 0;
        bytes /= 2;  // the kernel reports twice the requested size
        least = least == 0 ? bytes : std::min(least, bytes);
    }
    return static_cast<std::size_t>(least);
}

/// Returns the channel of the local address to which the datagram was sent.
std::uint32_t UdpSocket::channel_of(const msghdr& message) {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(const_cast<msghdr*>(&message), header)) {
        Host local{};
        if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
            in_pktinfo info;
            std::memcpy(&info, CMSG_DATA(header), sizeof info);
            map_ipv4(info.ipi_spec_dst, local);
        } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
            in6_pktinfo info;
            std::memcpy(&info, CMSG_DATA(header), sizeof info);
            std::memcpy(local.data(), &info.ipi6_addr, local.size());
        } else {
            continue;
        }
        const auto found = std::find(locals_.begin(), locals_.end(), local);
        if (found == locals_.end()) {
            if (locals_.size() == locals_max) return 0;
            locals_.push_back(local);
            return static_cast<std::uint32_t>(locals_.size());
        }
        return static_cast<std::uint32_t>(found - locals_.begin()) + 1;
    }
    return 0;
}

std::size_t UdpSocket::receive_batch() {
    std::array<mmsghdr, batch_max> messages;
    std::array<Control, batch_max> controls;
    std::array<iovec, batch_max> parts;
    std::array<sockaddr_storage, batch_max> names;
    for (std::size_t i = 0; i < batch_; ++i) {
        parts[i] = {in_.data() + i * datagram_bytes, datagram_bytes};
        messages[i] = {};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_name = &names[i];
        messages[i].msg_hdr.msg_namelen = sizeof names[i];
        if (!has_channels_) continue;
        messages[i].msg_hdr.msg_control = controls[i].bytes.data();
        messages[i].msg_hdr.msg_controllen = controls[i].bytes.size();
    }
    const int count =
        ::recvmmsg(descriptor_, messages.data(), static_cast<unsigned>(batch_), 0, nullptr);
    if (count < 0 && errno == ECONNREFUSED) ++counters_.refused;  // reports an earlier send
    if (count <= 0) return 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        received_[i] =
            std::span<const std::byte>(in_.data() + i * datagram_bytes, messages[i].msg_len);
        from_[i] = connected_ ? Address{} : from_system(names[i]);
        if (has_channels_) from_[i].channel = channel_of(messages[i].msg_hdr);
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
    std::array<Control, batch_max> controls;
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
            if (const std::uint32_t channel = queued_[i].to.channel;
                channel > 0 && channel <= locals_.size())
                append_source(messages[i].msg_hdr, controls[i], ipv6_, locals_[channel - 1]);
        }
    }
    std::size_t sent = 0;
    while (sent < queued_.size()) {
        const int count = ::sendmmsg(descriptor_, messages.data() + sent,
                                     static_cast<unsigned>(queued_.size() - sent), 0);
        const bool is_full = errno == EAGAIN || errno == ENOBUFS;
        if (count > 0) {
            sent += static_cast<std::size_t>(count);
        } else if (messages[sent].msg_hdr.msg_controllen != 0 && !is_full) {
            // The address may be unable to send, or no longer exist: let the system choose.
            messages[sent].msg_hdr.msg_control = nullptr;
            messages[sent].msg_hdr.msg_controllen = 0;
        } else {  // cannot be sent: counts as lost, like any datagram
            ++(is_full ? counters_.no_room : counters_.refused);
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
