// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Reliable messages that are larger than a packet, or more than a connection can carry at once.
#include <string>
#include <vector>

#include "net.hpp"
#include "purview/limits.hpp"

namespace purview::test::messages {

namespace {

std::vector<std::byte> numbered(std::uint32_t number, std::size_t size) {
    std::vector<std::byte> bytes(size);
    SplitMix random(number + 1);
    for (std::byte& one : bytes) one = static_cast<std::byte>(random.next());
    return bytes;
}

void take_messages(Client& client, std::vector<std::vector<std::byte>>& out) {
    std::span<const std::byte> message;
    while (client.next_message(message)) out.emplace_back(message.begin(), message.end());
}

}  // namespace

TEST_CASE("scenario: a message larger than a packet arrives whole at every budget and loss") {
    const TagSchema schema;
    const std::vector<std::size_t> sizes{1,
                                         limits::datagram_bytes - 1,
                                         limits::datagram_bytes,
                                         limits::datagram_bytes + 1,
                                         5'000,
                                         0,
                                         17'000};
    for (const std::uint32_t budget : {200U, 512U, 1'200U, 4'800U}) {
        for (const float loss : {0.0F, 0.1F, 0.3F, 0.5F}) {
            CAPTURE(budget);
            CAPTURE(loss);
            ServerDef def = schema.def;
            def.budget_bytes_per_tick = budget;
            Net net(schema, 1, def);
            net.set_faults({loss, 0.02F, 0, 10'000, loss > 0 ? 60'000U : 0});
            const EntityId clock = net.spawn(schema.thing);
            for (std::uint32_t i = 0; i < sizes.size(); ++i) {
                const auto bytes = numbered(i, sizes[i]);
                CHECK(net.server->send_message(net.observer(), bytes) == Status::ok);
                CHECK(net.client().send_message(bytes) == Status::ok);
            }
            std::vector<std::vector<std::byte>> received;
            std::uint32_t ticks = 0;
            while ((received.size() < sizes.size() || net.messages.size() < sizes.size()) &&
                   ++ticks < 6'000) {
                net.edit(clock, ticks);  // the world changes meanwhile
                net.step();
                REQUIRE(net.peers[0]->bytes_in_tick <= budget);
                take_messages(net.client(), received);
            }
            net.step(40);
            take_messages(net.client(), received);
            REQUIRE(received.size() == sizes.size());
            REQUIRE(net.messages.size() == sizes.size());
            for (std::uint32_t i = 0; i < sizes.size(); ++i) {
                CHECK(received[i] == numbered(i, sizes[i]));
                CHECK(net.messages[i] == numbered(i, sizes[i]));
            }
            CHECK(net.settle() == "");
            CHECK(net.client().state() == ClientState::joined);
        }
    }
}

TEST_CASE("scenario: a message beyond the limit is refused, and nothing of it arrives") {
    const TagSchema schema;
    Net net(schema, 1, schema.def);
    const auto largest = numbered(1, limits::message_bytes);
    const auto larger = numbered(2, limits::message_bytes + 1);
    CHECK(net.server->send_message(net.observer(), larger) == Status::too_large);
    CHECK(net.client().send_message(larger) == Status::too_large);
    CHECK(net.server->send_message(net.observer(), largest) == Status::ok);
    CHECK(net.client().send_message(largest) == Status::ok);
    net.step(200);
    std::vector<std::vector<std::byte>> received;
    take_messages(net.client(), received);
    REQUIRE(received.size() == 1);
    REQUIRE(net.messages.size() == 1);
    CHECK(received[0] == largest);
    CHECK(net.messages[0] == largest);
}

TEST_CASE("scenario: thousands of reliable messages pass a slow connection in order") {
    const TagSchema schema;
    constexpr std::uint32_t count = 4'000;
    for (const float loss : {0.0F, 0.15F}) {
        CAPTURE(loss);
        ServerDef def = schema.def;
        def.budget_bytes_per_tick = 400;
        Net net(schema, 1, def);
        net.set_faults({loss, 0.02F, 0, 100'000, loss > 0 ? 50'000U : 0});
        const EntityId clock = net.spawn(schema.thing);
        net.step(20);
        const auto size_of = [](std::uint32_t number) { return number % 24; };
        for (std::uint32_t i = 0; i < count; ++i) {
            REQUIRE(net.server->send_message(net.observer(), numbered(i, size_of(i))) ==
                    Status::ok);
            REQUIRE(net.client().send_message(numbered(i, size_of(i))) == Status::ok);
        }
        std::vector<std::vector<std::byte>> received;
        std::uint32_t ticks = 0, oldest = 0;
        while ((received.size() < count || net.messages.size() < count) && ++ticks < 6'000) {
            net.edit(clock, ticks);
            net.step();
            REQUIRE(net.peers[0]->bytes_in_tick <= 400);
            take_messages(net.client(), received);
            // Waiting messages do not starve the state.
            const GhostId ghost = net.ghost(0, clock);
            if (ghost == GhostId::none || ticks < 20) continue;
            const double value = net.client().value_of(ghost, schema.tag.id, 1);
            oldest = std::max(oldest, ticks - static_cast<std::uint32_t>(value));
        }
        net.step(40);
        take_messages(net.client(), received);
        REQUIRE(received.size() == count);
        REQUIRE(net.messages.size() == count);
        bool is_equal = true;
        for (std::uint32_t i = 0; i < count; ++i) {
            is_equal = is_equal && received[i] == numbered(i, size_of(i));
            is_equal = is_equal && net.messages[i] == numbered(i, size_of(i));
        }
        CHECK(is_equal);
        CHECK(oldest < 40);
        CHECK(net.settle() == "");
        CHECK(net.client().state() == ClientState::joined);
    }
}

}  // namespace purview::test::messages
