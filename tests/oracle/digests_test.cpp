// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The text of a digest check that finds a wrong client state.
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
    std::uint8_t color = 0;
};

/// Explains the state of one ghost with these replicated components. Only the first is expected.
std::string explained(std::uint32_t component_mask) {
    Schema schema;
    const Component<Look> look =
        schema.component<Look>("look").integer("color", &Look::color, 0, 255);
    const Component<Purse> purse =
        schema.component<Purse>("purse").integer("coins", &Purse::coins, 0, 999);
    schema.audience(purse.id, {AudienceType::owner});
    const KindId kind = schema.kind("thing", {look.id, purse.id});
    DigestChecker checker(schema);
    checker.keep_states();
    ManifestItem item;
    item.type = ManifestItem::Type::enter;
    item.slot = 3;
    item.entity = make_entity_id(7, 1);
    item.kind = kind;
    item.values = Words({5, 100});
    item.allowed = 1U << index_of(look.id);
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
    out.u32(component_mask);
    out.u32(5);
    out.u32(component_mask == 0 ? 0 : 100);
    out.boolean(false);
    return checker.explain(std::span(bytes).first(out.bytes_written()));
}

}  // namespace

TEST_CASE("oracle: a digest report lists actual and expected components of a ghost") {
    CHECK(explained(0) == "the client's state matches");
    CHECK(explained(2) == "entity 7#1 (slot 3) at tick 10: replicated components are 2, must be 0");
}

}  // namespace purview::check
