// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/message_inbox.hpp"

#include <doctest/doctest.h>

#include "purview/limits.hpp"

namespace purview {

TEST_CASE("messages: received messages are read in order, each once") {
    MessageInbox inbox;
    std::span<const std::byte> out;
    CHECK_FALSE(inbox.next(out));
    for (const std::size_t size : {3U, 0U, 7U}) CHECK(inbox.add(std::vector<std::byte>(size)) == 0);
    for (const std::size_t size : {3U, 0U, 7U}) {
        REQUIRE(inbox.next(out));
        CHECK(out.size() == size);
    }
    CHECK_FALSE(inbox.next(out));
    CHECK(inbox.bytes() == 0);
}

TEST_CASE("messages: unread messages are bounded in memory, and the oldest are dropped") {
    MessageInbox inbox;
    const std::vector<std::byte> message(limits::message_bytes, std::byte{1});
    std::size_t added = 0, dropped = 0;
    for (; dropped < 5; ++added) {
        dropped += inbox.add(message);
        REQUIRE(inbox.bytes() <= limits::messages_received_bytes);
    }
    dropped += inbox.add({});
    std::size_t left = 0;
    for (std::span<const std::byte> out; inbox.next(out); ++left) continue;
    CHECK(left == added + 1 - dropped);
    CHECK(left > 1);
}

}  // namespace purview
