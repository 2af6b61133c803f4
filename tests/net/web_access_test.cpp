// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Admission by the web server: pages by their origin, operators by their token, with a delay after
// wrong tokens.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "net/failed_tokens.hpp"
#include "net/system.hpp"
#include "net/web_server.hpp"

namespace purview::test {

namespace {

/// The reply to one request, and the time until it arrived.
struct Answered {
    std::string head;
    Micros took_us = 0;
    std::string status() const { return head.size() < 12 ? "none" : head.substr(9, 3); }
};

Answered query(net::WebServer& server, const std::string& request) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(descriptor, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    REQUIRE(::send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(request.size()));
    Answered answered;
    const Micros begin = net::now();
    while (net::now() < begin + 8'000'000 && answered.head.find("\r\n\r\n") == std::string::npos) {
        server.wait_until(net::now() + 2'000);
        char bytes[4096];
        const ssize_t got = ::recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got > 0) answered.head.append(bytes, static_cast<std::size_t>(got));
        if (got == 0) break;
    }
    answered.took_us = net::now() - begin;
    ::close(descriptor);
    server.wait_until(net::now() + 2'000);
    return answered;
}

/// If `origin` is empty, no Origin header is sent.
std::string upgrade(const std::string& target, const std::string& host, const std::string& origin) {
    return "GET " + target + " HTTP/1.1\r\nHost: " + host +
           "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
           (origin.empty() ? "" : "Origin: " + origin + "\r\n") +
           "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n";
}

Address at(std::uint8_t last) {
    Address address;
    address.carrier = Address::Carrier::web_socket;
    address.host = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 203, 0, 113, last};
    return address;
}

}  // namespace

TEST_CASE("web: own pages, allowed origins and programs without an origin may play") {
    net::WebDef def;
    def.operator_token = "token";
    def.origins = {"https://game.example", "http://127.0.0.1:8000"};
    net::WebServer server(def);
    REQUIRE(server.open().empty());
    const std::string host = "127.0.0.1:" + std::to_string(server.port());
    const auto status = [&](const std::string& from, const std::string& to) {
        return query(server, upgrade("/play", to, from)).status();
    };
    CHECK(status("", host) == "101");
    CHECK(status("http://" + host, host) == "101");
    CHECK(status("https://" + host, host) == "101");
    const std::string local = "localhost:" + std::to_string(server.port());
    CHECK(status("http://" + local, local) == "101");
    CHECK(status("https://game.example", host) == "101");
    CHECK(status("http://127.0.0.1:8000", host) == "101");
    CHECK(server.counters().refused_origins == 0);
    for (const char* foreign :
         {"null", "http://evil.example", "http://game.example", "https://game.example.evil.example",
          "https://game.example:444", "https://game.exampl", "http://127.0.0.1:8001", "file://"})
        CHECK_MESSAGE(status(foreign, host) == "403", foreign);
    CHECK(server.counters().refused_origins == 8);
    // A foreign host name that resolves to this server, with a page of the same origin.
    CHECK(status("http://evil.example", "evil.example") == "403");
    // An origin that may play gives no access to the operator channel.
    CHECK(query(server, upgrade("/operator?token=token", host, "https://game.example")).status() ==
          "403");
    server.close();
}

TEST_CASE("web: a wildcard origin allows pages of any origin to play") {
    net::WebDef def;
    def.origins = {"*"};
    net::WebServer server(def);
    REQUIRE(server.open().empty());
    const std::string host = "127.0.0.1:" + std::to_string(server.port());
    CHECK(query(server, upgrade("/play", host, "http://evil.example")).status() == "101");
    CHECK(query(server, upgrade("/play", host, "null")).status() == "101");
    server.close();
}

TEST_CASE("web: wrong tokens delay the replies to a host, even to the right token") {
    net::WebDef def;
    def.operator_token = "token";
    net::WebServer server(def);
    REQUIRE(server.open().empty());
    const std::string host = "127.0.0.1:" + std::to_string(server.port());
    const auto show = [&](const std::string& token) {
        return query(server, upgrade("/operator?token=" + token, host, ""));
    };
    CHECK(show("token").status() == "101");
    std::vector<Micros> took;
    for (int i = 0; i < 4; ++i) {
        const Answered answered = show("guess" + std::to_string(i));
        CHECK(answered.status() == "403");
        took.push_back(answered.took_us);
    }
    CHECK(took[1] >= 100'000);
    CHECK(took[2] >= 200'000);
    CHECK(took[3] >= 400'000);
    CHECK(server.counters().refused_operators == 4);
    // Players of the same host do not wait.
    CHECK(query(server, upgrade("/play", host, "")).took_us < 800'000);
    const Answered right = show("token");
    CHECK(right.status() == "101");
    CHECK(right.took_us >= 800'000);
    CHECK(show("token").took_us < 800'000);  // the delay is reset
    server.close();
}

TEST_CASE("web: a network of many addresses gets no more connections than sixteen hosts") {
    net::WebDef def;
    def.host = "127.0.0.1";
    def.connections_per_host_max = 1;
    net::WebServer server(def);
    REQUIRE(server.open().empty());
    std::vector<int> held;
    const auto connect_from = [&](std::uint32_t host) {
        held.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in from{}, to{};
        from.sin_family = to.sin_family = AF_INET;
        from.sin_addr.s_addr = htonl(host);
        to.sin_port = htons(server.port());
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::bind(held.back(), reinterpret_cast<sockaddr*>(&from), sizeof from) == 0);
        REQUIRE(::connect(held.back(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
        for (int i = 0; i < 4; ++i) server.wait_until(net::now() + 1'000);
    };
    for (std::uint32_t i = 1; i <= 20; ++i) connect_from(0x7f000100 + i);  // 127.0.1.1 and on
    CHECK(server.counters().refused_connections == 4);
    connect_from(0x7f000201);  // of another network
    CHECK(server.counters().refused_connections == 4);
    for (const int one : held) ::close(one);
    server.close();
}

TEST_CASE("web: wrong tokens are remembered for a limited time and number of hosts") {
    net::FailedTokens failed;
    using Failed = net::FailedTokens;
    Micros now = 5'000'000;
    CHECK(failed.delay_us(at(1), now) == 0);
    Micros before = 0;
    for (int i = 0; i < 40; ++i) {
        failed.failed(at(1), now);
        const Micros delay = failed.delay_us(at(1), now);
        CHECK((delay == Failed::delay_us_max || delay >= 2 * before));
        before = delay;
    }
    CHECK(before == Failed::delay_us_max);
    CHECK(failed.delay_us(at(2), now) == 0);
    CHECK(failed.delay_us(at(1), now + Failed::forgotten_after_us + 1) == 0);
    failed.succeeded(at(1));
    CHECK(failed.delay_us(at(1), now) == 0);
    // All IPv6 networks within a /48 count as one.
    Address six;
    six.host = {0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0};
    failed.failed(six, now);
    six.host[6] = 77;
    CHECK(failed.delay_us(six, now) == Failed::first_delay_us);
    // The oldest entries are removed first.
    for (std::uint32_t i = 0; i < 3 * Failed::hosts_max; ++i) {
        Address other = at(static_cast<std::uint8_t>(i));
        other.host[14] = static_cast<std::uint8_t>(i >> 8);
        failed.failed(other, ++now);
        CHECK(failed.hosts() <= Failed::hosts_max);
    }
    CHECK(failed.delay_us(six, now) == 0);
}

TEST_CASE("web: headers forbid referrers, framing and content sniffing") {
    net::WebDef def;
    def.content_policy = "default-src 'self'";
    net::WebServer server(def);
    REQUIRE(server.open().empty());
    server.serve("/", {"text/html", "<p>"});
    for (const char* path : {"/", "/nowhere"}) {
        const std::string head =
            query(server, std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\n\r\n").head;
        CHECK(head.find("Referrer-Policy: no-referrer\r\n") != std::string::npos);
        CHECK(head.find("X-Frame-Options: DENY\r\n") != std::string::npos);
        CHECK(head.find("X-Content-Type-Options: nosniff\r\n") != std::string::npos);
        CHECK(head.find("Content-Security-Policy: default-src 'self'\r\n") != std::string::npos);
    }
    server.close();
    CHECK(net::WebDef{}.content_policy == "frame-ancestors 'none'");
}

TEST_CASE("web: a server beyond loopback requires an operator token") {
    for (const char* host : {"0.0.0.0", "::"}) {
        net::WebDef def;
        def.host = host;
        net::WebServer open_to_all(def);
        CHECK(open_to_all.open() ==
              std::string(host) + " is not a loopback address: an operator token is required");
    }
    net::WebDef def;
    net::WebServer at_home(def);
    CHECK(at_home.open().empty());
    at_home.close();
}

}  // namespace purview::test
