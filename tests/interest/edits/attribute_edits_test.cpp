// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/attribute_edits.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "support/interest_parts.hpp"

namespace purview::test::attribute_edits_test {

namespace {

Rules attribute_rules() {
    Rules rules = random_rules();
    rules.range_classes = {10, 40};
    rules.group_radius_max = 20;
    rules.kinds[0].uses_group_radius = true;
    return rules;
}

constexpr FlagId flag0 = id_at<FlagId>(0), flag_out = id_at<FlagId>(3);
constexpr KeyId key0 = id_at<KeyId>(0), key_out = id_at<KeyId>(2);
constexpr ValueId value0 = id_at<ValueId>(0), value_out = id_at<ValueId>(1);

}  // namespace

TEST_CASE("attributes: unknown ids and numbers out of range are refused") {
    InterestParts parts(attribute_rules());
    AttributeEdits& attributes = parts.attributes;
    const EntityId one = parts.spawn(0, 50), gone = make_entity_id(9, 1);
    EntityDef with_bounds;
    with_bounds.kind = id_at<KindId>(0);
    const EntityId root = parts.spawn(1, with_bounds), member = parts.spawn(2, with_bounds);
    parts.attach(member, root);
    CHECK(attributes.set_flag(one, flag_out, true) == Status::bad_argument);
    CHECK(attributes.set_key(one, key_out, Key{1}) == Status::bad_argument);
    CHECK(attributes.edit_more_keys(one, key_out, Key{1}, true) == Status::bad_argument);
    CHECK(attributes.edit_more_keys(one, key0, Key::none, true) == Status::bad_argument);
    CHECK(attributes.edit_more_keys(one, key0, Key{1}, false) == Status::not_found);
    CHECK(attributes.set_value(one, value_out, 1) == Status::bad_argument);
    CHECK(attributes.set_value(one, value0, NAN) == Status::bad_position);
    CHECK(attributes.set_range(one, 41) == Status::bad_argument);
    CHECK(attributes.set_range(one, NAN) == Status::bad_argument);
    CHECK(attributes.set_range(member, 5) == Status::refused);
    CHECK(attributes.set_group_radius(one, 5) == Status::bad_argument);
    CHECK(attributes.set_group_radius(root, -1) == Status::bad_argument);
    CHECK(attributes.set_group_radius(root, INFINITY) == Status::bad_argument);
    CHECK(attributes.set_group_radius(member, 5) == Status::refused);
    CHECK(attributes.set_velocity(one, {NAN, 0, 0}) == Status::bad_position);
    CHECK(attributes.set_flag(gone, flag0, true) == Status::stale_id);
    CHECK(attributes.set_key(gone, key0, Key{1}) == Status::stale_id);
    CHECK(attributes.edit_more_keys(gone, key0, Key{1}, true) == Status::stale_id);
    CHECK(attributes.set_value(gone, value0, 1) == Status::stale_id);
    CHECK(attributes.set_range(gone, 1) == Status::stale_id);
    CHECK(attributes.set_velocity(gone, {}) == Status::stale_id);
}

TEST_CASE("attributes: random edits give the same values as a plain table") {
    InterestParts parts(attribute_rules());
    SplitMix random(6);
    struct Plain {
        std::set<std::uint8_t> flags;
        std::map<std::uint8_t, Key> keys;
        std::multiset<std::pair<std::uint8_t, Key>> more;
        float value = 0;
    };
    std::map<EntityId, Plain> plain;
    for (std::uint32_t i = 0; i < 12; ++i) plain[parts.spawn(i, 50)];
    for (int step = 0; step < 3'000; ++step) {
        const EntityId one = make_entity_id(random.below(12), 1);
        Plain& its = plain[one];
        const auto domain = static_cast<std::uint8_t>(random.below(2));
        switch (random.below(4)) {
            case 0: {
                const auto flag = static_cast<std::uint8_t>(random.below(3));
                const bool value = random.chance(0.5F);
                REQUIRE(parts.attributes.set_flag(one, id_at<FlagId>(flag), value) == Status::ok);
                value ? void(its.flags.insert(flag)) : void(its.flags.erase(flag));
                break;
            }
            case 1:
                its.keys[domain] = Key{static_cast<std::uint16_t>(random.below(3))};
                REQUIRE(parts.attributes.set_key(one, id_at<KeyId>(domain), its.keys[domain]) ==
                        Status::ok);
                break;
            case 2: {
                const Key key{static_cast<std::uint16_t>(1 + random.below(3))};
                const auto at = its.more.find({domain, key});
                const bool adds = random.chance(0.5F);
                const Status expected =
                    adds || at != its.more.end() ? Status::ok : Status::not_found;
                REQUIRE(parts.attributes.edit_more_keys(one, id_at<KeyId>(domain), key, adds) ==
                        expected);
                if (adds) {
                    its.more.insert({domain, key});  // extra keys are counted: one for each add
                } else if (at != its.more.end()) {
                    its.more.erase(at);
                }
                break;
            }
            default:
                its.value = random.between(-3, 3);
                REQUIRE(parts.attributes.set_value(one, value0, its.value) == Status::ok);
        }
        for (std::uint8_t f = 0; f < 3; ++f)
            REQUIRE(parts.lookup.has_flag(one, id_at<FlagId>(f)) == its.flags.contains(f));
        for (std::uint8_t d = 0; d < 2; ++d) {
            REQUIRE(parts.lookup.key_of(one, id_at<KeyId>(d)) == its.keys[d]);
            for (std::uint16_t k = 1; k < 4; ++k) {
                REQUIRE(parts.answers.has_key(one, id_at<KeyId>(d), Key{k}) ==
                        (its.keys[d] == Key{k} || its.more.contains({d, Key{k}})));
            }
        }
        REQUIRE(parts.lookup.value_of(one, value0) == its.value);
        REQUIRE(parts.flag(parts.stores.facts_table.columns.more_keys, one) == !its.more.empty());
    }
}

TEST_CASE("attributes: an edit that changes nothing marks nothing for the next tick") {
    InterestParts parts(attribute_rules());
    const EntityId one = parts.spawn(0, 50);
    REQUIRE(parts.attributes.set_flag(one, flag0, true) == Status::ok);
    REQUIRE(parts.attributes.set_key(one, key0, Key{2}) == Status::ok);
    REQUIRE(parts.attributes.set_value(one, value0, 2) == Status::ok);
    parts.tick();
    REQUIRE(parts.attributes.set_flag(one, flag0, true) == Status::ok);
    REQUIRE(parts.attributes.set_key(one, key0, Key{2}) == Status::ok);
    REQUIRE(parts.attributes.set_value(one, value0, 2) == Status::ok);
    CHECK_FALSE(parts.stores.table.is_any_dirty());
    REQUIRE(parts.attributes.set_flag(one, flag0, false) == Status::ok);
    CHECK(parts.stores.table.is_any_dirty());
}

TEST_CASE("attributes: an observer has the keys of its viewpoint, also inside a group") {
    InterestParts parts(attribute_rules());
    const EntityId root = parts.spawn(0, 50), member = parts.spawn(1, 50);
    parts.attach(member, root);
    const ObserverId observer = parts.watch(member);
    const std::uint32_t revision = parts.observers.keys_revision(observer);
    REQUIRE(parts.attributes.set_key(member, key0, Key{3}) == Status::ok);
    CHECK(parts.observers.has_key(observer, key0, Key{3}));
    CHECK(parts.observers.keys_revision(observer) > revision);
    REQUIRE(parts.attributes.edit_more_keys(member, key0, Key{4}, true) == Status::ok);
    CHECK(parts.observers.has_key(observer, key0, Key{4}));
    // The group is evaluated with the keys of its root.
    CHECK(parts.lookup.key_of(root, key0) == Key::none);
    CHECK(parts.stores.rows[0].memberships(root).empty());
    REQUIRE(parts.attributes.edit_more_keys(member, key0, Key{4}, false) == Status::ok);
    CHECK_FALSE(parts.observers.has_key(observer, key0, Key{4}));
}

TEST_CASE("attributes: the next tick moves an entity to the layer of its new range class") {
    InterestParts parts(attribute_rules());
    const EntityId one = parts.spawn(0, 50);
    EntityDef def;
    def.has_position = false;
    const EntityId abstract = parts.spawn(1, def);
    const auto layer = [&](EntityId entity) {
        return parts.stores.table.layer_of(block_of(parts.slot(entity)));
    };
    for (const float range : {40.0F, 5.0F, 11.0F, 0.0F}) {
        REQUIRE(parts.attributes.set_range(one, range) == Status::ok);
        REQUIRE(parts.attributes.set_range(abstract, range) == Status::ok);
        parts.tick();
        CHECK(layer(one) == (range > 10 ? 1 : 0));
        CHECK(layer(abstract) == parts.stores.layers.abstract);
        CHECK(parts.lookup.position_of(one) == Vec3{50, 50, 0});
    }
    def.has_position = true;
    def.kind = id_at<KindId>(0);
    const EntityId root = parts.spawn(2, def);
    REQUIRE(parts.attributes.set_group_radius(root, 500) == Status::ok);
    parts.tick();
    CHECK(layer(root) == parts.stores.layers.bounds);
    const std::uint32_t bounds = parts.stores.facts_table.columns.bounds;
    CHECK(parts.stores.table.number(bounds, parts.slot(root)) == 20);
    CHECK(parts.stores.counts.bounded == 1);
}

TEST_CASE("attributes: velocities are stored per entity, with the active axes first") {
    Rules rules = attribute_rules();
    rules.axes = Axes::xz;
    rules.max = {100, 0, 100};
    InterestParts parts(rules);
    const EntityId one = parts.spawn(3, 50), other = parts.spawn(7, 50);
    REQUIRE(parts.attributes.set_velocity(other, {1, 2, 3}) == Status::ok);
    CHECK(parts.stores.facts_table.velocity(other) == Vec3{1, 3, 2});
    CHECK(parts.stores.facts_table.velocity(one) == Vec3{});
    REQUIRE(parts.entities.despawn(other) == Status::ok);
    CHECK(parts.stores.facts_table.velocity(other) == Vec3{});
}

}  // namespace purview::test::attribute_edits_test
