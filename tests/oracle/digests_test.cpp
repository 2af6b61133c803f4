// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What is said of a client's state that is not what it must be.
#include "oracle/digests.hpp"

#include <doctest/doctest.h>

#include <array>

#include "protocol/bit_writer.hpp"

namespace purview::check {

namespace {

struct Purse {
    std::uint16_t coins = 0;
};
struct Look {
    std::uint8_t colour = 0;
};

/// What is said of a state in which these parts of one ghost are told, of which the first must be.
std::string explained(std::uint32_t told) {
    Schema schema;
    const Component<Look> look =
        schema.component<Look>("look").integer("colour", &Look::colour, 0, 255);
    const Component<Purse> purse =
        schema.component<Purse>("purse").integer("coins", &Purse::coins, 0, 999);
    schema.audience(purse.id, {AudienceType::owner});
    const KindId kind = schema.kind("thing", {look.id, purse.id});
    DigestChecker checker(schema);
    checker.keep_states();
    ManifestItem item;
    item.type = ManifestItem::Type::enter;
    item.lane = 3;
    item.entity = make_entity_id(7, 1);
    item.kind = kind;
    item.values = Words({5, 100});
    item.told = 1U << index_of(look.id);
    Manifest manifest{1, 10, {}};
    manifest.items.push_back(std::move(item));
    CHECK(checker.sent(std::move(manifest)).empty());
    checker.resolved(1, true);

    std::array<std::byte, 64> bytes{};
    BitWriter out(bytes);
    out.u32(1);
    out.boolean(true);
    out.u32(3);
    out.u16(static_cast<std::uint16_t>(index_of(kind)));
    out.u32(0);
    out.u32(told);
    out.u32(5);
    out.u32(told == 0 ? 0 : 100);
    out.boolean(false);
    return checker.explain(std::span(bytes).first(out.bytes_written()));
}

}  // namespace

TEST_CASE("check: of a state that differs only in what is told it is said what is, and must be") {
    CHECK(explained(0) == "the client's state is right by now");
    CHECK(explained(2) == "entity 7#1 (lane 3) as of tick 10: parts told are 2, must be 0");
}

}  // namespace purview::check
