// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/server_counters.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "support/rpc_support.hpp"

namespace purview {

namespace {

/// Writes 1, 2, 3... into the fields, and requires that each is listed once, in their order.
template <class Counters, class Field>
void check_list(const std::string& prefix) {
    constexpr std::size_t count = sizeof(Counters) / sizeof(Field);
    std::vector<Field> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Field>(i + 1);
    Counters counters;
    std::memcpy(static_cast<void*>(&counters), values.data(), sizeof(counters));
    std::vector<Counter> list;
    append_counters(counters, list);
    REQUIRE(list.size() == count);
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < count; ++i) {
        CHECK(list[i].value == i + 1);
        CHECK(list[i].name.substr(0, prefix.size()) == prefix);
        CHECK(names.insert(list[i].name).second);
    }
}

}  // namespace

TEST_CASE("counters: every field of every part is listed once, under its name") {
    check_list<TickProfile, std::uint32_t>("tick.");
    check_list<DropCounters, std::uint64_t>("drop.");
    check_list<InputCounters, std::uint64_t>("input.");
    check_list<RewindCounters, std::uint64_t>("rewind.");
    check_list<RpcCounters, std::uint64_t>("rpc.");
}

TEST_CASE("counters: a server lists what its parts counted") {
    test::CallWorld world(1);
    world.run(5);
    CHECK(world.server().call({}, world.schema().news[2], test::Ping{0, 1}));
    world.run(5);
    std::uint64_t sent = 0;
    std::set<std::string_view> names;
    for (const Counter& counter : world.server().counters()) {
        CHECK(names.insert(counter.name).second);
        if (counter.name == "rpc.sent") sent = counter.value;
    }
    CHECK(sent == 1);
    CHECK(names.size() == world.server().counters().size());
}

}  // namespace purview
