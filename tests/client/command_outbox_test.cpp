// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/command_outbox.hpp"

#include <doctest/doctest.h>

#include "protocol/bit_reader.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

/// Writes a packet. Returns the numbers of its first and last command, or zeros if it has none.
std::pair<unsigned, unsigned> send(CommandOutbox& outbox, std::uint64_t bits_max = 8'000) {
    std::vector<std::byte> bytes(2'000);
    BitWriter out(bytes);
    outbox.write(outbox.choose(bits_max).count, out);
    REQUIRE(out.ok());
    BitReader in(bytes);
    const auto count = static_cast<unsigned>(in.varint_max(100));
    if (count == 0) return {0, 0};
    const auto last = static_cast<unsigned>(in.u16());
    return {last - count + 1, last};
}

}  // namespace

TEST_CASE("commands: each command is sent in three packets and then dropped") {
    CommandOutbox outbox;
    const std::byte data[3] = {};
    CHECK(outbox.empty());
    CHECK(outbox.add(data) == Status::ok);
    CHECK(send(outbox) == std::pair{1U, 1U});
    CHECK(outbox.add(data) == Status::ok);
    CHECK(send(outbox) == std::pair{1U, 2U});
    CHECK(send(outbox) == std::pair{1U, 2U});
    CHECK(send(outbox) == std::pair{2U, 2U});
    CHECK(outbox.empty());
    CHECK(send(outbox) == std::pair{0U, 0U});
}

TEST_CASE("commands: a packet takes what fits; excess or large commands are refused") {
    CommandOutbox outbox;
    const std::vector<std::byte> large(limits::command_bytes + 1);
    CHECK(outbox.add(large) == Status::too_large);
    const std::span<const std::byte> largest(large.data(), limits::command_bytes);
    for (std::size_t i = 0; i < CommandOutbox::waiting_max; ++i)
        CHECK(outbox.add(largest) == Status::ok);
    CHECK(outbox.add(largest) == Status::capacity);
    CHECK(outbox.choose(0).count == 0);
    const std::uint64_t two = 32 + 2 * (limits::command_bytes + 2) * 8;
    CHECK(outbox.choose(two).count == 2);
    CHECK(outbox.choose(two).bits == two);
    CHECK(outbox.choose(two - 1).count == 1);
    for (std::uint32_t i = 0; i < CommandOutbox::repeats; ++i) CHECK(send(outbox, two).second == 2);
    CHECK(send(outbox, two).first == 3);
}

}  // namespace purview
