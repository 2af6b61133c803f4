// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/group_bounds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/hash.hpp"

namespace purview::test {

TEST_CASE("world: group bounds are the largest distance of a member and are reported once") {
    constexpr std::uint32_t entities = 60, roots = 4;
    SplitMix random(5);
    GroupBounds bounds;
    std::map<std::uint32_t, std::pair<EntityId, float>> members;  // by entity index
    std::map<EntityId, float> reported;
    std::uint32_t changes_seen = 0;
    const auto largest = [&](EntityId root) {
        float radius = 0;
        for (const auto& [index, its] : members)
            if (its.first == root) radius = std::max(radius, its.second);
        return radius;
    };
    for (int tick = 0; tick < 400; ++tick) {
        for (std::uint32_t edit = random.below(12); edit-- > 0;) {
            const std::uint32_t index = 100 + random.below(entities);
            const EntityId root = make_entity_id(random.below(roots), 1);
            if (random.chance(0.6F)) {
                const auto distance = static_cast<float>(random.below(50));
                bounds.set(index, root, distance);
                members[index] = {root, distance};
            } else {
                bounds.remove(index);
                members.erase(index);
            }
        }
        if (tick % 40 == 39) {  // all members leave
            for (std::uint32_t index = 100; index < 100 + entities; ++index) bounds.remove(index);
            members.clear();
        }
        std::vector<GroupBounds::Change> changes;
        bounds.take_changes(changes);
        for (const GroupBounds::Change& change : changes) {
            CHECK(change.radius != reported[change.root]);
            reported[change.root] = change.radius;
            ++changes_seen;
        }
        for (std::uint32_t r = 0; r < roots; ++r) {
            const EntityId root = make_entity_id(r, 1);
            REQUIRE(bounds.radius(root) == largest(root));
            REQUIRE(reported[root] == largest(root));
        }
        bounds.validate();
    }
    CHECK(changes_seen > 100);
}

TEST_CASE("world: requested bounds are reported even if they did not change") {
    GroupBounds bounds;
    const EntityId root = make_entity_id(1, 1);
    bounds.report_again(root);  // it has no bounds
    bounds.set(5, root, 3);
    std::vector<GroupBounds::Change> changes;
    bounds.take_changes(changes);
    CHECK(changes.size() == 1);
    bounds.take_changes(changes);
    CHECK(changes.size() == 1);
    bounds.report_again(root);
    bounds.take_changes(changes);
    REQUIRE(changes.size() == 2);
    CHECK(changes[1].radius == 3);
    // The index of the root now belongs to another entity.
    CHECK(bounds.radius(make_entity_id(1, 2)) == 0);
}

}  // namespace purview::test
