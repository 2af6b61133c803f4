// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Sockets on loopback, which has 16 million addresses.
#include "net/udp_socket.hpp"
#include "link/address.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace purview::test {

namespace {

using net::UdpSocket;

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

/// Returns the first datagram that arrives within 300 ms, and its sender.
std::string next_text(UdpSocket& socket, Address* from = nullptr) {
    pollfd waiting{socket.descriptor(), POLLIN, 0};
    (void)::poll(&waiting, 1, 300);
    std::string text;
    socket.receive(1, [&](std::span<const std::byte> bytes, const Address& its) {
        text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        if (from != nullptr) *from = its;
    });
    return text;
}

void send(UdpSocket& socket, const std::string& text, const Address& to = {}) {
    socket.send(bytes_of(text), to);
    socket.flush();
}

/// Returns a socket bound to all addresses of the loopback device, or a closed one if that is not
/// allowed.
UdpSocket everywhere(const std::string& host) {
    UdpSocket socket;
    const std::string device = "lo";
    if (!socket.bind(host, 0).empty() ||
        ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_BINDTODEVICE, device.c_str(),
                     static_cast<socklen_t>(device.size() + 1)) != 0) {
        std::printf("SKIPPED: no socket on all addresses of loopback (%s)\n", host.c_str());
        return {};
    }
    return socket;
}

}  // namespace

TEST_CASE("udp: a reply is sent from the address that the client used") {
    for (const std::string host : {"0.0.0.0", "::"}) {
        CAPTURE(host);
        UdpSocket server = everywhere(host);
        if (!server.is_open()) continue;
        UdpSocket first, second, third;
        REQUIRE(first.connect("127.0.0.1", server.port()).empty());
        REQUIRE(second.connect("127.0.0.2", server.port()).empty());
        REQUIRE(third.connect("127.0.0.2", server.port()).empty());
        Address from_first, from_second, from_third;
        send(first, "first");
        CHECK(next_text(server, &from_first) == "first");
        send(second, "second");
        CHECK(next_text(server, &from_second) == "second");
        send(third, "third");
        CHECK(next_text(server, &from_third) == "third");
        CHECK(from_first.channel != from_second.channel);
        CHECK(from_third.channel == from_second.channel);
        CHECK(is_ipv4(from_second));
        // A connected client receives from its server's address only.
        send(server, "to the second", from_second);
        CHECK(next_text(second) == "to the second");
        send(server, "to the third", from_third);
        CHECK(next_text(third) == "to the third");
        send(server, "to the first", from_first);
        CHECK(next_text(first) == "to the first");
        // With an unknown channel, the system chooses the source address.
        from_first.channel = 99;
        send(server, "again", from_first);
        CHECK(next_text(first) == "again");
        CHECK(server.counters().refused == 0);
    }
    if (UdpSocket sixth; sixth.bind("::1", 0).empty()) {
        UdpSocket server = everywhere("::");
        if (!server.is_open()) return;
        REQUIRE(sixth.connect("::1", server.port()).empty());
        Address from;
        send(sixth, "sixth");
        CHECK(next_text(server, &from) == "sixth");
        send(server, "to the sixth", from);
        CHECK(next_text(sixth) == "to the sixth");
    }
}

TEST_CASE("udp: a datagram to a broadcast address gets a reply from another address") {
    UdpSocket server = everywhere("::"), client;
    if (!server.is_open()) return;
    REQUIRE(client.bind("127.0.0.1", 0).empty());
    const int on = 1;
    REQUIRE(::setsockopt(client.descriptor(), SOL_SOCKET, SO_BROADCAST, &on, sizeof on) == 0);
    Address to_all;
    to_all.host = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 255, 255, 255};
    to_all.port = server.port();
    send(client, "first datagram", to_all);
    Address from;
    CHECK(next_text(server, &from) == "first datagram");
    CHECK(from.channel != 0);
    send(server, "yes", from);
    CHECK(next_text(client) == "yes");
    CHECK(server.counters().refused == 0);
}

TEST_CASE("udp: a socket bound to one address has no channels") {
    UdpSocket server, client;
    REQUIRE(server.bind("127.0.0.1", 0).empty());
    REQUIRE(client.connect("127.0.0.1", server.port()).empty());
    Address from;
    send(client, "hello");
    CHECK(next_text(server, &from) == "hello");
    CHECK(from.channel == 0);
}

TEST_CASE("udp: datagrams to a closed port are counted, whether send or receive fails") {
    UdpSocket receiver, sender, listener;
    REQUIRE(receiver.bind("127.0.0.1", 0).empty());
    REQUIRE(sender.connect("127.0.0.1", receiver.port()).empty());
    REQUIRE(listener.connect("127.0.0.1", receiver.port()).empty());
    receiver = {};
    send(sender, "first datagram");
    send(sender, "second");
    CHECK(sender.counters().refused == 1);
    send(listener, "first datagram");
    CHECK(next_text(listener).empty());
    CHECK(listener.counters().refused == 1);
}

TEST_CASE("udp: datagrams that the system's receive buffer drops are counted") {
    UdpSocket server, client;
    REQUIRE(server.bind("127.0.0.1", 0).empty());
    REQUIRE(client.connect("127.0.0.1", server.port()).empty());
    CHECK(server.buffer_bytes() > 0);
    CHECK(server.counters().dropped == 0);
    const std::string large(1'200, 'x');
    const std::size_t count = 2 * server.buffer_bytes() / large.size();
    for (std::size_t i = 0; i < count; ++i) client.send(bytes_of(large), {});
    client.flush();
    std::size_t arrived = 0;
    server.receive(count, [&](std::span<const std::byte>, const Address&) { ++arrived; });
    const std::uint64_t dropped = server.counters().dropped;
    CHECK(dropped > 0);
    CHECK(client.counters().refused == 0);
    CHECK(dropped + arrived + client.counters().no_room == count);
}

}  // namespace purview::test
