// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/session_table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <random>
#include <vector>

namespace purview::test {

namespace {

std::unique_ptr<Session> session_from(std::uint64_t connection_id, std::uint8_t host) {
    auto session = std::make_unique<Session>();
    session->connection_id = connection_id;
    session->address.carrier = Address::Carrier::udp;
    session->address.host = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, host};
    return session;
}

ObserverId observer_of(std::uint32_t index) {
    return ObserverId{index + 1};
}

}  // namespace

TEST_CASE("session table: indices and counts are right after random operations") {
    SessionTable table;
    std::mt19937 random(7);
    const auto one_of = [&](const std::vector<Session*>& all) -> Session* {
        return all.empty() ? nullptr : all[random() % all.size()];
    };
    std::uint64_t next_id = 1;
    std::uint32_t next_observer = 0;
    std::size_t gone = 0;
    for (int step = 0; step < 3'000; ++step) {
        std::vector<Session*> waiting, connected;
        for (const auto& session : table) {
            if (session->state == Session::State::closing) continue;
            if (session->state == Session::State::probe) continue;
            connected.push_back(session.get());
            if (session->state == Session::State::accepted) waiting.push_back(session.get());
        }
        switch (random() % 6) {
            case 0:
            case 1:
                table.add(session_from(next_id++, static_cast<std::uint8_t>(random() % 4)));
                break;
            case 2:
                if (Session* const its = one_of(waiting); its != nullptr) {
                    its->state = Session::State::joining;
                    table.set_observer(*its, observer_of(next_observer++));
                    table.set_joined(*its);
                }
                break;
            case 3:
                if (Session* const its = one_of(connected); its != nullptr) {
                    const std::uint64_t id = its->connection_id;
                    table.set_closing(*its);
                    CHECK(table.find_connection(id) == nullptr);
                    CHECK(&table.closing(table.closing_count() - 1) == its);
                }
                break;
            case 4:
                if (Session* const its = one_of(connected); its != nullptr) {
                    Address moved = its->address;
                    moved.host[15] = static_cast<std::uint8_t>(random() % 4);
                    table.set_address(*its, moved);
                }
                break;
            default: {
                const std::size_t before = table.size(), closing = table.closing_count();
                table.remove_closed();
                CHECK(table.size() == before - closing);
                CHECK(table.closing_count() == 0);
                gone += closing;
                break;
            }
        }
        // The expected values, counted from the sessions.
        std::size_t unjoined = 0, alive = 0;
        std::array<std::uint32_t, 4> of_host{};
        for (const auto& session : table) {
            if (session->state == Session::State::closing) continue;
            ++alive;
            ++of_host[session->address.host[15]];
            unjoined += session->state != Session::State::joined ? 1 : 0;
            REQUIRE(table.find_connection(session->connection_id) == session.get());
            if (session->observer != ObserverId::none)
                REQUIRE(table.find(session->observer) == session.get());
        }
        REQUIRE(table.unjoined() == unjoined);
        REQUIRE(table.host_counts().all().connected == alive);
        for (std::uint8_t host = 0; host < 4; ++host) {
            const Address address = session_from(0, host)->address;
            REQUIRE(table.host_counts().of(address).connected == of_host[host]);
        }
        table.validate();
    }
    CHECK(gone > 100);
}

TEST_CASE("session table: an unknown observer or connection is not found") {
    SessionTable table;
    CHECK(table.find(ObserverId::none) == nullptr);
    CHECK(table.find(observer_of(3)) == nullptr);
    CHECK(table.find_connection(0) == nullptr);
    CHECK(table.find_connection(~std::uint64_t{0}) == nullptr);  // a peer may send any id
    Session& probe = table.add_reference_client(std::make_unique<Session>(), observer_of(3));
    CHECK(table.find(observer_of(3)) == &probe);
    CHECK(table.find_connection(0) == nullptr);
    table.set_observer(probe, ObserverId::none);
    CHECK(table.find(observer_of(3)) == nullptr);
}

}  // namespace purview::test
