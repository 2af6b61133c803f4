// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relevance/entity_lookup.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "support/interest_parts.hpp"

namespace purview::test::entity_lookup_test {

namespace {

/// The ancestors of an entity, the root last.
std::vector<EntityId> above(const std::map<EntityId, EntityId>& parents, EntityId entity) {
    std::vector<EntityId> out;
    for (auto at = parents.find(entity); at != parents.end(); at = parents.find(at->second))
        out.push_back(at->second);
    return out;
}

}  // namespace

TEST_CASE("entity lookup: parents, roots and members equal a plain map of parents") {
    constexpr std::uint32_t count = 14;
    int splits = 0, deep = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        SplitMix random(seed);
        InterestParts parts(random_rules());
        const EntityLookup& lookup = parts.lookup;
        std::vector<EntityId> all;
        for (std::uint32_t i = 0; i < count; ++i) {
            EntityDef def;
            def.position = {static_cast<float>(i), 50, 0};
            // Culled independently: its own cull group.
            if (i % 3 == 0) def.kind = id_at<KindId>(3);
            all.push_back(parts.spawn(i, def));
        }
        std::map<EntityId, EntityId> parents;
        for (int step = 0; step < 300; ++step) {
            const EntityId one = all[random.below(count)], other = all[random.below(count)];
            if (random.chance(0.7F)) {
                const EntityId parent = lookup.parent_of(one);
                const bool goes_alone =
                    lookup.is_member(one) && lookup.unit_of(one) != lookup.unit_of(other);
                if (parts.groups.join_unit(one, lookup.top_of(other), other) == Status::ok) {
                    parents[one] = other;
                    // A member that joins another cull group leaves its children behind.
                    for (auto& [child, its] : parents) {
                        if (its == one && goes_alone) its = parent;
                    }
                }
            } else {
                EntityDef def;
                if (index_of(one) % 3 == 0) def.kind = id_at<KindId>(3);
                const EntityId parent = lookup.parent_of(one);
                if (parts.groups.leave_unit(one, def, false) == Status::ok) {
                    // A member leaves its children in the group. A cull group takes them along.
                    const bool is_unit = index_of(one) % 3 == 0;
                    parents.erase(one);
                    for (auto& [child, its] : parents) {
                        if (its == one && !is_unit) its = parent;
                    }
                }
            }
            if (step % 10 == 0) parts.tick();
            for (const EntityId entity : all) {
                const std::vector<EntityId> path = above(parents, entity);
                REQUIRE(lookup.parent_of(entity) == (path.empty() ? EntityId::none : path[0]));
                REQUIRE(lookup.top_of(entity) == (path.empty() ? entity : path.back()));
                deep += path.size() > 2 ? 1 : 0;
                for (const EntityId top : all) {
                    REQUIRE(
                        lookup.is_under(entity, top) ==
                        (entity == top || std::find(path.begin(), path.end(), top) != path.end()));
                }
                // Its cull group: the nearest entity above that is a root or culled independently.
                EntityId unit = entity;
                for (const EntityId next : path) {
                    if (lookup.is_split_kind(unit)) break;
                    unit = next;
                }
                REQUIRE(lookup.unit_of(entity) == unit);
                REQUIRE(lookup.is_member(entity) == (unit != entity));
                splits += unit == entity && !path.empty() ? 1 : 0;
            }
        }
    }
    CHECK(splits > 1'000);
    CHECK(deep > 1'000);
}

TEST_CASE("entity lookup: groups and members are visited once, parents first or last") {
    InterestParts parts(random_rules());
    RandomEdits edits(parts, 5);
    std::size_t members = 0;
    for (int step = 0; step < 400; ++step) {
        edits.edit();
        if (step % 8 == 0) parts.tick();
        std::multiset<EntityId> units;
        parts.lookup.for_each_unit([&](EntityId unit) { units.insert(unit); });
        const std::vector<EntityId> expected = edits.units();
        REQUIRE(units == std::multiset<EntityId>(expected.begin(), expected.end()));
        std::size_t entities = 0;
        for (const EntityId unit : expected) {
            std::vector<EntityId> down, up;
            parts.lookup.for_each_member(unit, true, [&](EntityId one) { down.push_back(one); });
            parts.lookup.for_each_member(unit, false, [&](EntityId one) { up.push_back(one); });
            REQUIRE(std::equal(down.begin(), down.end(), up.rbegin(), up.rend()));
            REQUIRE(down.front() == unit);
            for (std::size_t i = 1; i < down.size(); ++i) {
                const EntityId parent = parts.lookup.parent_of(down[i]);
                REQUIRE(std::find(down.begin(), down.begin() + static_cast<std::ptrdiff_t>(i),
                                  parent) != down.begin() + static_cast<std::ptrdiff_t>(i));
            }
            entities += down.size();
        }
        REQUIRE(entities == edits.known().size());
        members += entities - expected.size();
    }
    CHECK(members > 500);
}

TEST_CASE("entity lookup: an unknown entity has no attributes") {
    InterestParts parts(random_rules());
    const EntityId one = parts.spawn(0, 50), gone = make_entity_id(0, 2);
    const EntityLookup& lookup = parts.lookup;
    CHECK(lookup.is_known(one));
    for (const EntityId unknown : {gone, make_entity_id(9, 1), EntityId::none}) {
        CHECK_FALSE(lookup.is_known(unknown));
        CHECK(lookup.position_of(unknown) == Vec3{});
        CHECK(lookup.nodes_of(unknown).empty());
        CHECK_FALSE(lookup.has_flag(unknown, id_at<FlagId>(0)));
        CHECK(lookup.key_of(unknown, id_at<KeyId>(0)) == Key::none);
        CHECK(lookup.value_of(unknown, id_at<ValueId>(0)) == 0);
        CHECK(lookup.owner_of(unknown) == ObserverId::none);
        CHECK(lookup.kind_of(unknown) == KindId::none);
    }
    // Attributes that no rule declares.
    CHECK_FALSE(lookup.has_flag(one, id_at<FlagId>(3)));
    CHECK(lookup.key_of(one, id_at<KeyId>(2)) == Key::none);
    CHECK(lookup.value_of(one, id_at<ValueId>(1)) == 0);
    CHECK(lookup.kind_of(id_at<KindId>(4)) == nullptr);
    CHECK(lookup.kind_of(KindId::none) == nullptr);
}

TEST_CASE("entity lookup: a member has its group's position and flags, and its own keys") {
    InterestParts parts(random_rules());
    const EntityId root = parts.spawn(0, 50), member = parts.spawn(1, 20);
    REQUIRE(parts.attributes.set_key(member, id_at<KeyId>(0), Key{7}) == Status::ok);
    REQUIRE(parts.attributes.set_flag(root, id_at<FlagId>(2), true) == Status::ok);
    parts.attach(member, root);
    CHECK(parts.lookup.position_of(member) == Vec3{50, 50, 0});
    CHECK(parts.lookup.has_flag(member, id_at<FlagId>(2)));
    CHECK(parts.lookup.key_of(member, id_at<KeyId>(0)) == Key{7});
    CHECK(parts.lookup.is_routed(member));
    CHECK_FALSE(parts.lookup.is_routed(root));
}

TEST_CASE("entity lookup: a removed owner counts as no owner") {
    InterestParts parts(random_rules());
    const EntityId one = parts.spawn(0, 50);
    const ObserverId owner = parts.watch();
    REQUIRE(parts.overrides.set_owner(one, owner) == Status::ok);
    CHECK(parts.lookup.owner_of(one) == owner);
    REQUIRE(parts.observers.remove_observer(owner) == Status::ok);
    CHECK(parts.lookup.owner_of(one) == ObserverId::none);
}

TEST_CASE("entity lookup: an entity shares its position with its chain of sources") {
    InterestParts parts(random_rules());
    const EntityId a = parts.spawn(0, 10), b = parts.spawn(1, 20), c = parts.spawn(2, 30);
    const EntityId member = parts.spawn(3, 40), other = parts.spawn(4, 50);
    parts.attach(member, c);
    REQUIRE(parts.positions.set_position_source(a, b) == Status::ok);
    REQUIRE(parts.positions.set_position_source(b, member) == Status::ok);
    for (const EntityId unit : {a, b, c}) CHECK(parts.lookup.stands_with(a, unit));
    CHECK_FALSE(parts.lookup.stands_with(a, other));
    CHECK_FALSE(parts.lookup.stands_with(c, b));
    CHECK(parts.lookup.stands_with(member, c));
    CHECK(parts.lookup.is_routed(a));
}

}  // namespace purview::test::entity_lookup_test
