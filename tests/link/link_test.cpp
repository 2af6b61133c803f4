// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <string>

#include "core/hash.hpp"
#include "link/address.hpp"
#include "link/handshake.hpp"
#include "link/packet_link.hpp"
#include "link/stream.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

struct End {
    PacketLink link;
    StreamSender out;
    StreamReceiver in;
    std::map<std::uint32_t, bool>
        applied_by_other;  ///< by sequence number: whether the other end accepted it
    std::uint32_t next_notice = 1;
    std::vector<std::string> sent;
    std::size_t received = 0;
};

std::vector<std::byte> write_packet(End& end) {
    std::vector<std::byte> bytes(600);
    BitWriter out(bytes);
    const std::uint32_t sequence = end.link.write_header(out);
    end.out.write(sequence, out.bits_left() - 8, out);
    out.boolean(false);
    REQUIRE(out.ok());
    end.applied_by_other[sequence] = false;
    bytes.resize(out.bytes_written());
    return bytes;
}

void read_packet(End& to, End& from, std::uint32_t sequence, const std::vector<std::byte>& bytes) {
    BitReader in(bytes);
    if (to.link.read_header(in) != PacketLink::Verdict::accepted) return;
    REQUIRE(to.in.read(in));
    std::vector<DeliveryNotice> notices;
    to.link.accept(notices);
    to.in.accept();
    from.applied_by_other[sequence] = true;
    for (const DeliveryNotice notice : notices) {
        REQUIRE(notice.sequence == to.next_notice++);  // each once, in order
        REQUIRE(notice.delivered == to.applied_by_other[notice.sequence]);
        to.out.resolve(notice.sequence, notice.delivered);
    }
    std::span<const std::byte> message;
    while (to.in.next_message(message)) {
        REQUIRE(to.received < from.sent.size());
        const std::string text(reinterpret_cast<const char*>(message.data()), message.size());
        REQUIRE(text == from.sent[to.received]);
        ++to.received;
    }
}

}  // namespace

TEST_CASE("link: each packet's status is reported once and in order, and so are messages") {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        SplitMix random(seed);
        End a;
        End b;
        struct InFlight {
            int due;
            bool to_b;
            std::uint32_t sequence;
            std::vector<std::byte> bytes;
        };
        std::vector<InFlight> in_flight;
        const float loss = random.between(0, 0.5F);
        bool open_ab = true;
        bool open_ba = true;
        for (int tick = 0; tick < 6000; ++tick) {
            if (random.chance(0.005F)) open_ab = !open_ab;
            if (random.chance(0.005F)) open_ba = !open_ba;
            if (tick > 5500) open_ab = open_ba = true;
            for (const bool to_b : {true, false}) {
                End& end = to_b ? a : b;
                if (random.chance(0.1F) && tick < 5000) {
                    std::string text(random.below(random.chance(0.1F) ? 9000 : 60), 'x');
                    for (char& c : text) c = static_cast<char>(random.next());
                    if (end.out.send(std::as_bytes(std::span(text))) == Status::ok)
                        end.sent.push_back(text);
                }
                if (!end.link.can_send() || (!random.chance(0.8F) && tick < 5500)) continue;
                auto bytes = write_packet(end);
                const std::uint32_t sequence = end.applied_by_other.rbegin()->first;
                if (!(to_b ? open_ab : open_ba) || random.chance(loss)) continue;
                const int copies = random.chance(0.1F) ? 2 : 1;
                for (int c = 0; c < copies; ++c) {
                    in_flight.push_back(
                        {tick + static_cast<int>(random.below(6)), to_b, sequence, bytes});
                }
            }
            for (std::size_t i = 0; i < in_flight.size();) {
                if (in_flight[i].due > tick) {
                    ++i;
                    continue;
                }
                const InFlight packet = std::move(in_flight[i]);
                in_flight.erase(in_flight.begin() + static_cast<std::ptrdiff_t>(i));
                End& to = packet.to_b ? b : a;
                End& from = packet.to_b ? a : b;
                read_packet(to, from, packet.sequence, packet.bytes);
            }
        }
        CHECK(a.received == b.sent.size());
        CHECK(b.received == a.sent.size());
        CHECK(a.next_notice > 3000);
        CHECK(a.sent.size() > 300);
    }
}

TEST_CASE("link: 16-bit sequence numbers wrap without a wrong delivery status") {
    End a;
    End b;
    std::uint32_t back = 0;
    for (std::uint32_t i = 1; i <= 140'000; ++i) {
        auto bytes = write_packet(a);
        if (i % 7 != 3) read_packet(b, a, i, bytes);
        if (i % 5 == 0) read_packet(a, b, ++back, write_packet(b));
    }
    CHECK(a.next_notice > 139'000);
}

TEST_CASE("link: acknowledgements of unsent packets, or with a gap, are malformed") {
    PacketLink link;
    std::vector<std::byte> bytes(64);
    BitWriter out(bytes);
    (void)link.write_header(out);
    const auto header = [&](std::uint16_t sequence, std::uint16_t newest, std::uint32_t count) {
        std::vector<std::byte> packet(64);
        BitWriter writer(packet);
        writer.u16(sequence);
        writer.boolean(true);
        writer.u16(newest);
        writer.varint(count);
        for (std::uint32_t i = 0; i < count; ++i) writer.boolean(true);
        BitReader in(packet);
        return link.read_header(in);
    };
    CHECK(header(1, 2, 1) == PacketLink::Verdict::malformed);  // 2 was never sent
    CHECK(header(1, 1, 5) ==
          PacketLink::Verdict::malformed);  // more acknowledgement bits than packets sent
    CHECK(header(1, 1, 0) == PacketLink::Verdict::accepted);
    CHECK(header(5000, 1, 0) ==
          PacketLink::Verdict::malformed);  // further ahead than the packets in flight allow
}

TEST_CASE("link: without acknowledgements sending stops at the limit, then resumes") {
    End a;
    End b;
    std::uint32_t sent = 0;
    std::vector<std::byte> last;
    while (a.link.can_send()) {
        last = write_packet(a);
        ++sent;
    }
    CHECK(sent == PacketLink::under_way_max);
    read_packet(b, a, sent, last);
    read_packet(a, b, 1, write_packet(b));
    CHECK(a.link.can_send());
    CHECK(a.next_notice == sent + 1);
}

TEST_CASE("link: a stream refuses a message that is too large or exceeds its capacity") {
    StreamSender out;
    std::vector<std::byte> large(message_bytes_max + 1);
    CHECK(out.send(large) == Status::too_large);
    large.pop_back();
    int taken = 0;
    while (out.send(large) == Status::ok) ++taken;
    CHECK(taken == 3);
    CHECK(out.send(large) == Status::capacity);
}

TEST_CASE("link: a lost fragment of a large packet is resent in small packets") {
    StreamSender out;
    StreamReceiver in;
    const std::vector<std::byte> message(300, std::byte{7});
    REQUIRE(out.send(message) == Status::ok);
    const auto transfer = [&](std::uint32_t sequence, std::size_t packet_bytes, bool arrives) {
        std::vector<std::byte> bytes(packet_bytes);
        BitWriter writer(bytes);
        const bool wrote = out.write(sequence, writer.bits_left() - 16, writer);
        writer.boolean(false);
        REQUIRE(writer.ok());
        if (arrives) {
            BitReader reader(bytes);
            REQUIRE(in.read(reader));
            in.accept();
        }
        out.resolve(sequence, arrives);
        return wrote;
    };
    CHECK(transfer(1, 600, false));
    std::span<const std::byte> got;
    std::uint32_t sequence = 2;
    while (!in.next_message(got) && sequence < 40) CHECK(transfer(sequence++, 64, true));
    REQUIRE(got.size() == message.size());
    CHECK(std::equal(got.begin(), got.end(), message.begin()));
    CHECK(!out.has_data_to_send());
    CHECK(!transfer(sequence, 64, true));  // nothing is left to write
}

TEST_CASE("link: handshake packets are read as written, and other bytes are refused") {
    SplitMix random(2);
    std::array<std::byte, hello_bytes> bytes{};
    const Hello hello{7, 123456789, 42};
    REQUIRE(write(hello, bytes) == hello_bytes);
    const auto read = read_hello(bytes);
    REQUIRE(read.has_value());
    CHECK(read->version == 7);
    CHECK(read->schema_hash == 123456789);
    CHECK(read->nonce == 42);
    CHECK_FALSE(read_hello(std::span(bytes).first(63)).has_value());
    CHECK_FALSE(read_answer(bytes).has_value());
    for (int i = 0; i < 2000; ++i) {
        auto damaged = bytes;
        damaged[random.below(64)] ^= static_cast<std::byte>(1U << random.below(8));
        CHECK_FALSE(read_hello(damaged).has_value());
    }
}

TEST_CASE("link: a cookie is valid only for its address, nonce and time") {
    std::array<std::byte, 32> key{};
    CookieJar jar(key, &test_mac);
    Address here;
    here.carrier = Address::Carrier::udp;
    here.port = 1000;
    Address there = here;
    there.port = 1001;
    const Cookie cookie = jar.make(here, 5, 100'000'000);
    CHECK(jar.is_genuine(cookie, here, 5));
    CHECK_FALSE(jar.is_genuine(cookie, there, 5));
    CHECK_FALSE(jar.is_genuine(cookie, here, 6));
    Cookie later = cookie;
    later.seconds = 101;
    CHECK_FALSE(jar.is_genuine(later, here, 5));
    CHECK(jar.is_fresh(cookie, 110'999'999));
    CHECK_FALSE(jar.is_fresh(cookie, 111'000'000));
    CHECK_FALSE(jar.is_fresh(cookie, 99'999'999));
}

TEST_CASE("link: a host is an IPv4 address or a 64-bit IPv6 network") {
    const auto ipv6 = [](std::uint8_t network, std::uint8_t host) {
        Address address;
        address.host[0] = network;
        address.host[15] = host;
        return address;
    };
    const auto ipv4 = [](std::uint8_t host) {
        Address address;
        address.host[10] = address.host[11] = 0xff;
        address.host[15] = host;
        return address;
    };
    Address elsewhere = ipv4(1);
    elsewhere.port = 5;
    elsewhere.carrier = Address::Carrier::udp;
    CHECK(is_same_host(ipv4(1), elsewhere));
    CHECK_FALSE(is_same_host(ipv4(1), ipv4(2)));
    CHECK(is_same_host(ipv6(0x20, 1), ipv6(0x20, 2)));
    CHECK_FALSE(is_same_host(ipv6(0x20, 1), ipv6(0x21, 1)));
    const Address loopback = ipv6(0, 1);  // ::1, in the network of mapped IPv4
    CHECK_FALSE(is_same_host(loopback, ipv4(1)));
    CHECK_FALSE(is_same_host(ipv4(1), loopback));
}

TEST_CASE("link: a connection that ended cannot restart while its cookie is valid") {
    const std::array<std::byte, 32> key{};
    CookieJar jar(key, &test_mac);
    SplitMix random(8);
    std::map<std::uint64_t, Micros> spent;
    for (Micros now = 0; now < 200'000'000; now += random.below(400'000)) {
        const std::uint64_t id = random.below(1'000) + 1;
        if (const auto was = spent.find(id); was != spent.end()) {
            if (now - was->second <= CookieJar::lifetime_seconds * 1'000'000ULL)
                REQUIRE(jar.is_spent(id, now));
            if (now - was->second > 3 * (CookieJar::lifetime_seconds + 1) * 1'000'000ULL)
                REQUIRE_FALSE(jar.is_spent(id, now));
        } else {
            REQUIRE_FALSE(jar.is_spent(id, now));
        }
        jar.spend(id, now);
        spent[id] = now;
        if (random.chance(0.01F)) now += 25'000'000;
    }
}

TEST_CASE("link: a connection that ended stays ended if time goes back slightly") {
    const std::array<std::byte, 32> key{};
    CookieJar jar(key, &test_mac);
    jar.spend(1, 100'001'000);
    CHECK(jar.is_spent(1, 99'999'000));
    jar.spend(2, 99'999'000);
    CHECK(jar.is_spent(1, 100'001'000));
    CHECK(jar.is_spent(2, 100'001'000));
}

}  // namespace purview::test
