// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/entities/entity_ids.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <vector>

#include "core/hash.hpp"

namespace purview {

TEST_CASE("interest: an assigned id was never used before, also with ids of the caller") {
    SplitMix random(3);
    for (int round = 0; round < 50; ++round) {
        EntityIds ids;
        std::map<std::uint32_t, EntityId> alive;  // by index
        std::set<EntityId> used;
        std::uint32_t end = 0;
        for (int step = 0; step < 400; ++step) {
            if (random.chance(0.4F) && !alive.empty()) {
                auto at = alive.begin();
                std::advance(at, random.below(static_cast<std::uint32_t>(alive.size())));
                ids.despawned(at->second);
                alive.erase(at);
            } else if (random.chance(0.3F)) {  // an id of the caller
                const std::uint32_t index = random.below(60);
                if (alive.count(index) != 0) continue;
                const EntityId own = make_entity_id(index, 1'000'000 + static_cast<unsigned>(step));
                ids.spawned(own);
                alive[index] = own;
                used.insert(own);
                end = std::max(end, index + 1);
            } else {
                const EntityId id = ids.next();
                CHECK(alive.count(index_of(id)) == 0);
                CHECK(used.insert(id).second);
                CHECK(index_of(id) <= end);  // dense
                ids.spawned(id);
                alive[index_of(id)] = id;
                end = std::max(end, index_of(id) + 1);
            }
        }
    }
}

TEST_CASE("interest: an index is reused with the next generation") {
    EntityIds ids;
    const EntityId first = ids.next();
    CHECK(first == make_entity_id(0, 1));
    ids.spawned(first);
    ids.despawned(first);
    CHECK(ids.next() == make_entity_id(0, 2));
}

}  // namespace purview
