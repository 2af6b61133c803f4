// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// HTTP and WebSocket with unauthenticated peers, over plain sockets on loopback.
#include "net/web_server.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "net/system.hpp"

namespace purview::test {

namespace {

/// A TCP connection without a client library. It never blocks.
class Outsider {
  public:
    explicit Outsider(std::uint16_t port)
        : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        is_open_ = descriptor_ >= 0 &&
                   ::connect(descriptor_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
    ~Outsider() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    Outsider(const Outsider&) = delete;
    Outsider& operator=(const Outsider&) = delete;
    bool is_open() const { return is_open_; }
    std::size_t send(const std::string& bytes) {
        const ssize_t sent =
            ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        return sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }
    std::string receive() {
        std::string bytes(1 << 16, '\0');
        const ssize_t count = ::recv(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT);
        bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return bytes;
    }
    /// Returns whether the peer closed the connection and nothing is left to read.
    bool is_closed() const {
        char byte = 0;
        const ssize_t count = ::recv(descriptor_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
        return count == 0 || (count < 0 && errno == ECONNRESET);
    }

  private:
    int descriptor_;
    bool is_open_ = false;
};

/// Sends a request, runs the server, and returns the whole reply.
std::string answer_to(net::WebServer& server, const std::string& request) {
    Outsider outsider(server.port());
    REQUIRE(outsider.is_open());
    CHECK(outsider.send(request) == request.size());
    std::string all;
    for (int i = 0; i < 50; ++i) {
        server.wait_until(net::now() + 2'000);
        all += outsider.receive();
    }
    return all;
}

std::string upgrade_to(const std::string& target, const std::string& host,
                       const std::string& origin) {
    return "GET " + target + " HTTP/1.1\r\nHost: " + host +
           "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: " + origin +
           "\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
           "Sec-WebSocket-Version: 13\r\n\r\n";
}

}  // namespace

TEST_CASE("web: a client that floods the server with requests does not delay the tick") {
    net::WebServer server({});
    REQUIRE(server.open().empty());
    server.serve("/", {"text/plain", "here"});
    std::atomic<bool> is_over{false}, is_received{false};
    std::thread flood([&] {
        Outsider outsider(server.port());
        std::string requests;
        for (int i = 0; i < 500; ++i) requests += "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n";
        std::string left;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (!is_over && std::chrono::steady_clock::now() < end) {
            if (left.empty()) left = requests;
            left.erase(0, outsider.send(left));
            if (!outsider.receive().empty()) is_received = true;
        }
        is_over = true;
    });
    int turns = 0;
    while (turns < 10 || (!is_received && !is_over)) {
        server.wait_until(net::now() + 20'000);
        ++turns;
    }
    CHECK(is_received);
    CHECK_FALSE(is_over.exchange(true));  // each turn ended during the flood
    flood.join();
    CHECK(server.counters().requests > 100);
    server.close();
}

TEST_CASE("web: without free descriptors the server continues and accepts later") {
    net::WebServer server({});
    REQUIRE(server.open().empty());
    server.serve("/", {"text/plain", "here"});
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    Outsider waiting(server.port());
    std::vector<int> taken;
    rlimit few = before;
    few.rlim_cur = 40;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (int one = ::dup(0); one >= 0; one = ::dup(0)) taken.push_back(one);
    for (int i = 0; i < 20; ++i) server.wait_until(net::now() + 1'000);
    const net::WebCounters counted = server.counters();
    for (const int one : taken) ::close(one);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(counted.accept_failed >= 1);
    CHECK(counted.accept_failed <= 3);  // no busy loop
    CHECK(counted.refused_connections == 0);
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    CHECK(waiting.send(request) == request.size());
    std::string answer;
    for (const Micros end = net::now() + 5'000'000; net::now() < end && answer.empty();) {
        server.wait_until(net::now() + 2'000);
        answer = waiting.receive();
    }
    CHECK(answer.find("200 OK") != std::string::npos);
    server.close();
}

TEST_CASE("web: connections beyond the cap per host are closed and counted") {
    net::WebDef def;
    def.connections_per_host_max = 2;
    net::WebServer server(def);
    REQUIRE(server.open().empty());
    Outsider first(server.port()), second(server.port()), third(server.port());
    for (int i = 0; i < 20; ++i) server.wait_until(net::now() + 1'000);
    CHECK_FALSE(first.is_closed());
    CHECK_FALSE(second.is_closed());
    CHECK(third.is_closed());
    CHECK(server.counters().refused_connections == 1);
    CHECK(server.counters().accept_failed == 0);
    server.close();
}

TEST_CASE("web: HEAD returns the head of GET, and requests with a body are closed") {
    net::WebServer server({});
    REQUIRE(server.open().empty());
    const std::string body(100'000, 'b');
    server.serve("/big", {"text/plain", body});
    const std::string tail = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const std::string get = answer_to(server, "GET /big" + tail);
    const std::string head = answer_to(server, "HEAD /big" + tail);
    CHECK(head.find("Content-Length: 100000\r\n") != std::string::npos);
    CHECK(get == head + body);
    // A request with a body, in any encoding, is closed without a reply. The body is neither
    // awaited nor stored.
    const std::string chunked = " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    CHECK(answer_to(server, "GET /big" + chunked + "0;a\r\n\r\n").empty());
    CHECK(answer_to(server, "GET /big" + chunked).empty());
    CHECK(answer_to(server, "GET /small" + tail).find("404") != std::string::npos);
    server.close();
}

TEST_CASE("web: a player's WebSocket without a session is closed despite its traffic") {
    net::WebDef def;
    def.operator_token = "token";
    def.session_wait_ms = 600;
    net::WebServer server(def);
    REQUIRE(server.open().empty());
    const std::string host = "127.0.0.1:" + std::to_string(server.port());
    std::vector<Address> talking;
    server.on_datagram = [&](std::span<const std::byte>, const Address& from) {
        if (std::find(talking.begin(), talking.end(), from) == talking.end())
            talking.push_back(from);
    };
    std::uint32_t closed = 0;
    server.on_play_closed = [&](const Address&) { ++closed; };
    Outsider first(server.port()), second(server.port()), looking(server.port());
    const auto turns = [&](Micros us, const auto& each) {
        for (const Micros end = net::now() + us; net::now() < end;) {
            server.wait_until(net::now() + 5'000);
            (void)first.receive();
            (void)second.receive();
            (void)looking.receive();
            each();
        }
    };
    const std::string frame("\x82\x85\0\0\0\0hello", 11);
    first.send(upgrade_to("/play", host, "http://" + host));
    turns(50'000, [] {});
    second.send(upgrade_to("/play", host, "http://" + host));
    looking.send(upgrade_to("/operator?token=token", host, "http://" + host));
    turns(50'000, [&] { first.send(frame); });
    second.send(frame);
    turns(20'000, [] {});
    REQUIRE(talking.size() == 2);
    // One gets a challenge, like any unauthenticated peer. The other gets data, like a client with
    // a session.
    const std::array<std::byte, 5> challenge{std::byte{2}}, data{std::byte{6}};
    turns(1'600'000, [&] {
        first.send(frame);
        second.send(frame);
        server.send(challenge, talking[0]);
        server.send(data, talking[1]);
    });
    CHECK(first.is_closed());
    CHECK_FALSE(second.is_closed());
    CHECK(server.counters().without_session == 1);
    CHECK(closed == 1);
    // The second one's session ends.
    turns(1'600'000, [&] { second.send(frame); });
    CHECK(second.is_closed());
    CHECK_FALSE(looking.is_closed());
    CHECK(server.counters().without_session == 2);
    CHECK(closed == 2);
    server.close();
}

TEST_CASE("web: an operator token may have any characters, and its page may use TLS") {
    net::WebDef def;
    def.operator_token = "a/b+c=d%";
    net::WebServer server(def);
    REQUIRE(server.open().empty());
    const std::string host = "127.0.0.1:" + std::to_string(server.port());
    const auto status = [&](const std::string& token, const std::string& origin) {
        std::string answer;  // after wrong tokens the next reply is delayed
        const std::string request = upgrade_to("/operator?token=" + token, host, origin);
        Outsider outsider(server.port());
        CHECK(outsider.send(request) == request.size());
        for (int i = 0; i < 4'000 && answer.empty(); ++i) {
            server.wait_until(net::now() + 2'000);
            answer = outsider.receive();
        }
        return answer.substr(0, answer.find("\r\n")).substr(9, 3);
    };
    CHECK(status("a%2Fb%2Bc%3Dd%25", "http://" + host) == "101");
    CHECK(status("a/b+c=d%25", "https://" + host) == "101");
    CHECK(status("a%2Fb%2Bc%3Dd", "http://" + host) == "403");
    CHECK(status("a%2Fb%2Bc%3Dd%2", "http://" + host) == "403");
    CHECK(status("a%2Fb%2Bc%3Dd%25", "http://else.where") == "403");
    CHECK(status(net::url_encoded(def.operator_token), "http://" + host) == "101");
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    CHECK(net::url_decoded(net::url_encoded(all)) == all);
    server.close();
}

}  // namespace purview::test
