// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/client_calls.hpp"

#include <doctest/doctest.h>

#include "support/written_snapshot.hpp"

namespace purview::test {

namespace {

struct Note {
    std::uint8_t number = 0;
};

struct Calls {
    Calls() {
        Schema schema = schema_of_things();
        const auto declare = [&](const char* name, RpcDesc desc) {
            return schema.rpc<Note>(name, desc).integer("number", &Note::number, 0, 200).id();
        };
        use = declare("use", {.direction = RpcDirection::to_server, .callers = RpcCallers::owner});
        play = declare("play", {.direction = RpcDirection::to_server,
                                .target = RpcTarget::none,
                                .callers = RpcCallers::players});
        boom = declare("boom", {});
        REQUIRE(schema.problem().empty());
        replica.emplace(std::move(schema));
    }
    RpcId use{}, play{}, boom{};
    std::optional<Replica> replica;
    ClientStats stats;
    ClientCalls calls{replica, stats};
    Tick newest = 0;
};

}  // namespace

TEST_CASE("calls: a client may call only server RPCs that its role and ownership permit") {
    Calls its;
    const RpcWords words{};
    REQUIRE(WrittenSnapshot{.tick = 1, .enters = {{3}}}.apply(*its.replica, its.newest));
    CHECK(its.calls.call(Role::player, its.boom, 3, words) == Status::bad_argument);
    CHECK(its.calls.call(Role::player, its.use, 4, words) == Status::not_found);
    CHECK(its.calls.call(Role::player, its.use, 3, words) == Status::refused);
    CHECK(its.calls.call(Role::spectator, its.play, no_local_id, words) == Status::refused);
    CHECK(its.calls.choose() == 0);
    CHECK(its.calls.call(Role::player, its.play, no_local_id, words) == Status::ok);
    CHECK(its.calls.choose() > 0);
}

TEST_CASE("calls: excess pending calls are refused, and a lost call is written again") {
    Calls its;
    const RpcWords words{};
    std::size_t added = 0;
    while (its.calls.add(its.play, no_local_id, words)) ++added;
    CHECK(added == limits::rpc_pending_per_observer);
    CHECK(its.calls.call(Role::player, its.play, no_local_id, words) == Status::capacity);
    const std::uint64_t bits = its.calls.choose();
    std::vector<std::byte> bytes(2'000);
    BitWriter first(bytes), second(bytes);
    its.calls.write(1, first);
    CHECK(first.bits_written() > 1);
    its.calls.resolve(1, false);
    CHECK(its.calls.choose() == bits);
    its.calls.write(2, second);
    CHECK(second.bits_written() == first.bits_written());
    CHECK(its.stats.calls_unsent == 0);
}

TEST_CASE("calls: without a schema, a packet contains no calls") {
    const std::optional<Replica> none;
    ClientStats stats;
    ClientCalls calls(none, stats);
    std::vector<std::byte> bytes(4);
    BitWriter out(bytes);
    calls.write(1, out);
    CHECK(out.bits_written() == 1);
    BitReader in(bytes);
    CHECK(calls.read(in));
    bytes[0] = std::byte{0xff};
    BitReader wrong(bytes);
    CHECK_FALSE(calls.read(wrong));
    calls.release(0);
    ReceivedRpc received;
    CHECK_FALSE(calls.next(nullptr, received));
    CHECK(received.number(0) == 0);
}

}  // namespace purview::test
