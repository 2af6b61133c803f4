// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/placement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/interest_parts.hpp"

namespace purview::test::placement_test {

namespace {

Rules placement_rules() {
    Rules rules = random_rules();
    rules.range_classes = {10, 40};
    rules.group_radius_max = 20;
    rules.kinds[0].range = 30;
    rules.kinds[1].mode = EntityMode::global;
    rules.kinds[2].needs_node = true;
    rules.kinds[3].uses_group_radius = true;
    return rules;
}

}  // namespace

TEST_CASE("placement: definitions with numbers out of range are refused") {
    InterestParts parts(placement_rules());
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const auto checked = [&](const EntityDef& def) { return parts.placement.check_def(def); };
    CHECK(checked({}) == Status::ok);
    CHECK(checked({.position = {nan, 0, 0}}) == Status::bad_position);
    CHECK(checked({.position = {0, INFINITY, 0}}) == Status::bad_position);
    CHECK(checked({.range = 40}) == Status::ok);
    CHECK(checked({.range = 40.5F}) == Status::bad_argument);
    CHECK(checked({.range = -1}) == Status::bad_argument);
    CHECK(checked({.range = nan}) == Status::bad_argument);
    const std::array bad_value{nan};
    CHECK(checked({.values = bad_value}) == Status::bad_argument);
    const std::array node{id_at<NodeId>(3)}, no_node{id_at<NodeId>(4)};
    CHECK(checked({.nodes = node}) == Status::ok);
    CHECK(checked({.nodes = no_node}) == Status::bad_argument);
}

TEST_CASE("placement: an entity has the attributes, mode, layer and nodes of its definition") {
    const Rules rules = placement_rules();
    InterestParts parts(rules);
    const Columns& columns = parts.stores.facts_table.columns;
    SplitMix random(3);
    std::array<int, 5> layers{};
    for (std::uint32_t i = 0; i < 400; ++i) {
        CAPTURE(i);
        EntityDef def;
        def.position = {random.between(0, 100), random.between(0, 100), 7};
        def.has_position = random.chance(0.8F);
        if (random.chance(0.8F)) def.kind = id_at<KindId>(random.below(4));
        def.flags = FlagSet(static_cast<std::uint16_t>(random.below(8)));
        std::vector<Key> keys(random.below(3));
        for (Key& key : keys) key = Key{static_cast<std::uint16_t>(random.below(3))};
        def.keys = keys;
        const float value = random.between(-1, 1);
        if (random.chance(0.5F)) def.values = {&value, 1};
        def.mode = static_cast<EntityMode>(random.below(3));
        if (random.chance(0.5F)) def.range = random.between(0, 40);
        std::vector<NodeId> nodes;
        if (random.chance(0.5F)) nodes.push_back(id_at<NodeId>(random.below(4)));
        def.nodes = nodes;
        def.replaces_kind_nodes = random.chance(0.3F);
        const EntityId unit = make_entity_id(i, 1);
        parts.placement.set_kind(unit, def.kind);
        const Slot slot = parts.placement.place_unit(unit, def);
        REQUIRE(parts.slot(unit) == slot);

        const KindRules* kind =
            def.kind == KindId::none ? nullptr : &rules.kinds[index_of(def.kind)];
        for (std::uint8_t f = 0; f < 3; ++f)
            REQUIRE(parts.lookup.has_flag(unit, id_at<FlagId>(f)) ==
                    ((def.flags.bits >> f & 1) != 0));
        for (std::uint8_t k = 0; k < 2; ++k)
            REQUIRE(parts.lookup.key_of(unit, id_at<KeyId>(k)) ==
                    (k < keys.size() ? keys[k] : Key::none));
        REQUIRE(parts.lookup.value_of(unit, id_at<ValueId>(0)) == (def.values.empty() ? 0 : value));
        const EntityMode mode =
            def.mode == EntityMode::nodes && kind != nullptr ? kind->mode : def.mode;
        REQUIRE(parts.flag(columns.global_mode, unit) == (mode == EntityMode::global));
        REQUIRE(parts.flag(columns.explicit_only, unit) == (mode == EntityMode::explicit_only));
        REQUIRE(parts.flag(columns.no_window, unit) == (mode == EntityMode::explicit_only));

        const float range = def.range > 0 || kind == nullptr ? def.range : kind->range;
        REQUIRE(parts.stores.table.number(columns.range, slot) == range);
        const std::uint32_t layer = !def.has_position                            ? 3
                                    : kind != nullptr && kind->uses_group_radius ? 2
                                    : range > 10                                 ? 1
                                                                                 : 0;
        REQUIRE(parts.stores.table.layer_of(block_of(slot)) == layer);
        ++layers[layer];
        if (def.has_position) {
            REQUIRE(parts.lookup.position_of(unit) == Vec3{def.position.x, def.position.y, 0});
        }

        std::vector<NodeId> expected;
        if (kind != nullptr && !def.replaces_kind_nodes) expected = kind->nodes;
        expected.insert(expected.end(), nodes.begin(), nodes.end());
        std::sort(expected.begin(), expected.end());
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        const auto found = parts.lookup.nodes_of(unit);
        REQUIRE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
        REQUIRE(parts.stores.facts_table.bindings.is_unbound(unit) ==
                (expected.empty() && (kind == nullptr || !kind->needs_node)));
        REQUIRE(parts.lookup.kind_of(unit) == def.kind);
    }
    CHECK(*std::min_element(layers.begin(), layers.begin() + 4) > 20);
    parts.stores.validate();
}

TEST_CASE("placement: ownership shows an entity only if the kind and the rules allow it") {
    Rules rules = placement_rules();
    rules.kinds[0].owner_sees = false;
    rules.kinds[1].owner_sees = true;
    for (const bool owner_sees : {true, false}) {
        rules.owner_sees = owner_sees;
        InterestParts parts(rules);
        for (const KindId kind : {id_at<KindId>(0), id_at<KindId>(1), KindId::none}) {
            parts.placement.set_kind(make_entity_id(4, 1), kind);
            CHECK(parts.stores.ownership.is_blind(make_entity_id(4, 1)) ==
                  (!owner_sees || kind == id_at<KindId>(0)));
        }
    }
}

TEST_CASE("placement: a viewpoint that leaves a group is marked as watched again") {
    InterestParts parts(placement_rules());
    const EntityId root = parts.spawn(0, 50), member = parts.spawn(1, 50);
    const std::uint32_t watched = parts.stores.facts_table.columns.watched;
    const ObserverId observer = parts.watch(member);
    CHECK(parts.flag(watched, member));
    CHECK_FALSE(parts.flag(watched, root));
    parts.attach(member, root);
    REQUIRE(parts.groups.leave_unit(member, {.position = {10, 10, 0}}, false) == Status::ok);
    CHECK(parts.flag(watched, member));
    REQUIRE(parts.observers.set_viewpoint(observer, root) == Status::ok);
    CHECK_FALSE(parts.flag(watched, member));
    CHECK(parts.flag(watched, root));
}

}  // namespace purview::test::placement_test
