// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/groups/group_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/hash.hpp"

namespace purview {

namespace {

EntityId id(std::uint32_t index) {
    return make_entity_id(index, 1);
}

/// The expected groups: a map from members to parents, and a list of members for each cull group.
struct PlainGroups {
    std::map<EntityId, EntityId> parent;
    std::map<EntityId, EntityId> unit;
    std::map<EntityId, std::vector<EntityId>> members;

    bool is_below(EntityId one, EntityId top) const {
        for (; one != top; one = parent.at(one)) {
            if (parent.find(one) == parent.end()) return false;
        }
        return true;
    }
};

void check_equal(const GroupStore& store, const PlainGroups& plain, std::uint32_t entities) {
    store.validate();
    for (std::uint32_t i = 0; i < entities; ++i) {
        const EntityId one = id(i);
        const auto parent = plain.parent.find(one);
        const bool is_member = parent != plain.parent.end();
        REQUIRE(store.is_member(one) == is_member);
        REQUIRE(store.is_member_index(i) == is_member);
        REQUIRE(store.parent_of(one) == (is_member ? parent->second : EntityId::none));
        REQUIRE(store.unit_of(one) == (is_member ? plain.unit.at(one) : one));
        const auto list = plain.members.find(one);
        const std::vector<EntityId> expected =
            list == plain.members.end() ? std::vector<EntityId>{} : list->second;
        const auto members = store.members_of(one);
        REQUIRE(std::equal(members.begin(), members.end(), expected.begin(), expected.end()));
        REQUIRE(store.has_members(one) == !expected.empty());
    }
}

}  // namespace

TEST_CASE("group store: random joins, moves and leaves equal a plain map") {
    constexpr std::uint32_t units = 4, entities = 24;
    SplitMix random(7);
    GroupStore store;
    PlainGroups plain;
    std::uint32_t joins = 0, moves = 0, leaves = 0;
    for (int step = 0; step < 4'000; ++step) {
        const EntityId one = id(units + random.below(entities - units));
        const bool is_member = plain.parent.count(one) != 0;
        if (!is_member) {
            const EntityId unit = id(random.below(units));
            auto& list = plain.members[unit];
            const std::uint32_t at = random.below(static_cast<std::uint32_t>(list.size()) + 1);
            const EntityId parent = at == list.size() ? unit : list[at];
            store.add(one, unit, parent);
            plain.parent[one] = parent;
            plain.unit[one] = unit;
            list.push_back(one);
            ++joins;
        } else if (random.below(3) == 0) {
            const EntityId unit = plain.unit[one];
            auto& list = plain.members[unit];
            const EntityId parent = list[random.below(static_cast<std::uint32_t>(list.size()))];
            if (plain.is_below(parent, one)) continue;
            const auto goes = [&](EntityId other) { return plain.is_below(other, one); };
            store.move_within(one, parent, goes);
            std::vector<EntityId> stay, go;
            for (const EntityId other : list) (goes(other) ? go : stay).push_back(other);
            plain.parent[one] = parent;
            stay.insert(stay.end(), go.begin(), go.end());
            list = stay;
            ++moves;
        } else {
            const EntityId parent = plain.parent[one];
            REQUIRE(store.remove(one) == parent);
            for (auto& [other, its] : plain.parent) {
                if (its == one) its = parent;
            }
            std::erase(plain.members[plain.unit[one]], one);
            plain.parent.erase(one);
            plain.unit.erase(one);
            ++leaves;
        }
        check_equal(store, plain, entities);
    }
    CHECK(std::min({joins, moves, leaves}) > 300);
}

TEST_CASE("group store: empty member overrides are not stored, and counts add up") {
    GroupStore store;
    store.add(id(1), id(0), id(0));
    CHECK(store.marks_of(id(1)) == nullptr);
    store.set_marks(id(1), {.force_hidden = true});
    REQUIRE(store.marks_of(id(1)) != nullptr);
    CHECK(store.marks_of(id(1))->cuts());
    CHECK_FALSE(store.marks_of(id(1))->shows());
    store.set_marks(id(1), {});
    CHECK(store.marks_of(id(1)) == nullptr);

    CHECK_FALSE(store.has_cuts(id(0)));
    CHECK(store.add_unit_marks(id(0), 2, 1).cuts == 2);
    CHECK(store.has_cuts(id(0)));
    CHECK(store.add_unit_marks(id(0), -2, 0).shows == 1);
    CHECK_FALSE(store.has_cuts(id(0)));
    store.forget_unit(id(0));
    CHECK(store.add_unit_marks(id(0), 0, 1).shows == 1);

    CHECK(store.keys_of(id(1)) == nullptr);
    store.set_key(id(1), 2, Key{5});
    REQUIRE(store.keys_of(id(1)) != nullptr);
    CHECK((*store.keys_of(id(1)))[2] == Key{5});
    store.forget_member(id(1));
    CHECK(store.keys_of(id(1)) == nullptr);
}

}  // namespace purview
