// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// RPCs in flight: numbers, windows and dropped calls, with an outbox that sends to an inbox.
#include <doctest/doctest.h>

#include <array>

#include "protocol/rpc_args.hpp"
#include "protocol/rpc_inbox.hpp"
#include "protocol/rpc_outbox.hpp"
#include "purview/limits.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

struct Pair {
    SmallSchema schema;
    RpcOutbox out;
    RpcInbox in;
    std::uint32_t sequence = 0;

    bool add(Rpc<Ping> rpc, std::uint32_t number, LocalId ghost = no_local_id) {
        OutgoingRpc call;
        call.rpc = rpc.id;
        call.ghost = ghost;
        call.words[1] = number;
        return out.add(call);
    }
    /// Sends one packet and returns the numbers of the received calls. `keeps`: a call that must
    /// not be sent.
    std::vector<std::uint32_t> packet(bool arrives, std::uint32_t keeps = 0) {
        std::array<std::byte, limits::datagram_bytes> bytes{};
        BitWriter writer(bytes);
        (void)out.choose(schema.schema, bytes.size() * 8, [&](const OutgoingRpc& call) {
            return call.words[1] == keeps && keeps != 0 ? RpcOutbox::never : std::uint64_t{0};
        });
        written =
            out.write(schema.schema, ++sequence, writer, [](const OutgoingRpc&) { return true; });
        REQUIRE(writer.ok());
        if (arrives) {
            BitReader reader(writer.written());
            REQUIRE(in.read(schema.schema, RpcDirection::to_observers, reader));
            in.accept(schema.schema, 0, [](LocalId) { return true; });
        }
        std::vector<std::uint32_t> handed_out;
        ArrivedRpc call;
        while (in.next(call)) handed_out.push_back(call.words[1]);
        return handed_out;
    }
    std::uint32_t written = 0;
};

using Numbers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("rpc: a blocked ordered call delays ordered calls only") {
    Pair pair;
    pair.add(pair.schema.news[2], 1);
    pair.add(pair.schema.news[1], 2);
    pair.add(pair.schema.news[2], 3);
    CHECK(pair.packet(true, 1) == Numbers{2});
    CHECK(pair.packet(true) == Numbers{1, 3});
}

TEST_CASE("rpc: lost calls are sent again, received calls are not, and order is kept") {
    Pair pair;
    pair.add(pair.schema.news[2], 1);
    pair.add(pair.schema.news[1], 2);
    pair.add(pair.schema.news[0], 3);
    CHECK(pair.packet(false).empty());
    CHECK(pair.out.size() == 2);  // the unreliable call is not kept
    pair.add(pair.schema.news[2], 4);
    CHECK(pair.packet(true).empty());  // 4 waits for 1
    pair.out.resolve(1, false);
    pair.out.resolve(2, true);
    CHECK(pair.packet(true) == Numbers{1, 4, 2});
    pair.out.resolve(3, true);
    CHECK(pair.out.size() == 0);
    CHECK_FALSE(pair.out.has_data_to_send());
}

TEST_CASE("rpc: an ordered call that is dropped after sending does not block others") {
    Pair pair;
    pair.add(pair.schema.ping(RpcDelivery::reliable_ordered, RpcPolicy::cull), 1, 5);
    pair.add(pair.schema.ping(RpcDelivery::reliable_unordered, RpcPolicy::cull), 2, 5);
    CHECK(pair.packet(false).empty());
    pair.add(pair.schema.news[2], 3);
    pair.add(pair.schema.ping(RpcDelivery::reliable_ordered, RpcPolicy::cull), 4, 5);
    std::uint32_t dropped = 0;
    pair.out.drop_gone(
        pair.schema.schema, [](const OutgoingRpc& call) { return call.ghost == 5; },
        [&](const OutgoingRpc&) { ++dropped; });
    CHECK(dropped == 3);
    CHECK(pair.out.size() == 2);  // a void call and the news
    CHECK(pair.packet(true).empty());
    pair.out.resolve(1, false);
    CHECK(pair.packet(true) == Numbers{3});
    CHECK(pair.written == 1);
}

TEST_CASE("rpc: unacknowledged ordered calls are bounded, as numbers have eight bits") {
    Pair pair;
    std::uint32_t next = 1, expected = 1;
    SplitMix random(3);
    std::vector<std::pair<std::uint32_t, bool>> in_flight;
    for (int round = 0; round < 2'000; ++round) {
        while (pair.out.size() < 200) pair.add(pair.schema.news[2], next++);
        const bool arrives = random.chance(0.5F);
        for (const std::uint32_t number : pair.packet(arrives)) CHECK(number == expected++);
        CHECK(pair.written <= limits::rpc_window);
        in_flight.emplace_back(pair.sequence, arrives);
        if (in_flight.size() < 4) continue;
        pair.out.resolve(in_flight.front().first, in_flight.front().second);
        in_flight.erase(in_flight.begin());
    }
    CHECK(expected > 5'000);
}

TEST_CASE("rpc: a packet with a duplicate number is malformed and wholly discarded") {
    Pair pair;
    std::array<std::byte, 64> bytes{};
    BitWriter writer(bytes);
    for (int i = 0; i < 2; ++i) {
        writer.boolean(true);
        writer.bits(index_of(pair.schema.news[2].id), rpc_index_bits(pair.schema.schema));
        writer.u8(9);
        writer.boolean(true);
    }
    writer.boolean(false);
    BitReader reader(writer.written());
    CHECK_FALSE(pair.in.read(pair.schema.schema, RpcDirection::to_observers, reader));
    BitReader wrong_way(writer.written());
    CHECK_FALSE(pair.in.read(pair.schema.schema, RpcDirection::to_server, wrong_way));
    pair.in.staged().clear();
    CHECK(pair.in.waiting() == 0);
}

TEST_CASE("rpc: a text takes packet space for its length, not for its maximum") {
    struct Words {
        char a[31] = {}, b[31] = {}, c[31] = {}, d[31] = {};
    };
    Schema schema;
    RpcDesc desc;
    desc.target = RpcTarget::none;
    const Rpc<Words> send = schema.rpc<Words>("say", desc)
                                .text("a", &Words::a)
                                .text("b", &Words::b)
                                .text("c", &Words::c)
                                .text("d", &Words::d);
    REQUIRE(schema.problem().empty());
    Words cut;
    std::fill_n(cut.a, 31, 'z');
    set_text(cut.a, "hallo");
    CHECK(std::string_view(cut.a) == "hallo");
    CHECK(cut.a[30] == '\0');
    set_text(cut.b, std::string(30, 'x') + "\xc3\xa9");  // a partial character is cut off
    CHECK(std::string_view(cut.b) == std::string(30, 'x'));
    const RpcDef& rpc = schema.rpcs()[index_of(send.id)];
    SplitMix random(3);
    RpcOutbox out;
    std::size_t calls = 0;
    for (; calls < 20; ++calls) {
        Words words;
        for (char* text : {words.a, words.b, words.c, words.d})
            std::fill_n(text, random.below(calls < 10 ? 32 : 3), 'x');
        OutgoingRpc call;
        call.rpc = send.id;
        call.words = words_of_struct(rpc, reinterpret_cast<const std::byte*>(&words));
        std::array<std::byte, limits::datagram_bytes> bytes{};
        BitWriter writer(bytes);
        write_words(rpc, call.words, writer);
        CHECK(words_bits(rpc, call.words) == writer.bits_written());
        if (calls >= 10) CHECK(out.add(call));
    }
    std::array<std::byte, limits::datagram_bytes> bytes{};
    BitWriter writer(bytes);
    const std::uint64_t bits = out.choose(schema, 3'200, [](const OutgoingRpc&) { return 0U; });
    CHECK(out.write(schema, 1, writer, [](const OutgoingRpc&) { return true; }) == 10);
    CHECK(writer.bits_written() <= bits + 1);
}

}  // namespace purview::test
