// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests that the checks of the simulator detect a server with faults.
#include <doctest/doctest.h>

#include "event_pairs.hpp"
#include "mail.hpp"

namespace purview::test {

TEST_CASE("sim checks: server events that do not strictly alternate are found") {
    constexpr ObserverId observer{1U << 20 | 3};
    constexpr EntityId entity{std::uint64_t{1} << 32 | 7};
    EventPairs pairs;
    const auto is_right = [&](Change copy) {
        return pairs.take({observer, entity, id_at<KindId>(0), Reason::entered, copy}).empty();
    };
    CHECK_FALSE(EventPairs()
                    .take({observer, entity, id_at<KindId>(0), Reason::left, Change::left})
                    .empty());
    CHECK(is_right(Change::entered));
    CHECK(pairs.held(observer) == 1);
    CHECK_FALSE(is_right(Change::entered));
    CHECK(pairs.held(observer) == 1);
    CHECK(is_right(Change::retained));
    CHECK(pairs.held(observer) == 0);
    CHECK_FALSE(is_right(Change::entered));
    CHECK(is_right(Change::retained));
    CHECK(is_right(Change::resumed));
    CHECK_FALSE(is_right(Change::dropped));
    CHECK_FALSE(is_right(Change::resumed));
    CHECK(is_right(Change::retained));
    CHECK_FALSE(is_right(Change::left));
    std::size_t open = 0;
    pairs.for_each_observer([&](ObserverId) { ++open; });
    CHECK(open == 0);
    CHECK(pairs.count() == 10);
}

TEST_CASE("sim checks: lost, duplicate or changed messages and commands are found") {
    for (const Mail::Way way : {Mail::Way::to_client, Mail::Way::to_game}) {
        const auto mail_after = [&](auto&& what) {
            Mail mail;
            const auto first = mail.next_message(way, 5);
            mail.message_sent(way, 5);
            const auto second = mail.next_message(way, 5);
            mail.message_sent(way, 5);
            mail.message_arrived(way, 5, first);
            what(mail, first, second);
            return mail;
        };
        const Mail good = mail_after([&](Mail& mail, const auto&, const auto& second) {
            mail.message_arrived(way, 5, second);
        });
        CHECK(good.trouble().empty());
        CHECK(good.missing(5) == 0);
        CHECK(mail_after([](const auto&...) {}).missing(5) == 1);
        const Mail twice = mail_after([&](Mail& mail, const auto& first, const auto&) {
            mail.message_arrived(way, 5, first);
        });
        CHECK_FALSE(twice.trouble().empty());
        const Mail altered = mail_after([&](Mail& mail, const auto&, auto second) {
            second.back() ^= std::byte{1};
            mail.message_arrived(way, 5, second);
        });
        CHECK_FALSE(altered.trouble().empty());
        const Mail astray = mail_after([&](Mail& mail, const auto&, const auto& second) {
            const bool is_up = way == Mail::Way::to_game;
            mail.message_arrived(is_up ? Mail::Way::to_client : Mail::Way::to_game, 5, second);
        });
        CHECK_FALSE(astray.trouble().empty());
    }

    Mail mail;
    std::vector<std::vector<std::byte>> commands;
    for (int i = 0; i < 3; ++i) {
        commands.push_back(mail.next_command(5));
        mail.command_given(5);
    }
    mail.command_arrived(5, commands[0]);
    mail.command_arrived(5, commands[2]);
    CHECK(mail.trouble().empty());  // one may be missing
    Mail late = mail, doubled = mail, changed = mail;
    late.command_arrived(5, commands[1]);
    CHECK_FALSE(late.trouble().empty());
    doubled.command_arrived(5, commands[2]);
    CHECK_FALSE(doubled.trouble().empty());
    changed.command_arrived(5, changed.next_command(5));
    CHECK_FALSE(changed.trouble().empty());
}

}  // namespace purview::test
