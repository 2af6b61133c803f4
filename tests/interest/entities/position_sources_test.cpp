// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/entities/position_sources.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/hash.hpp"

namespace purview {

TEST_CASE("position sources: followers are the inverse of the sources after random edits") {
    constexpr std::uint32_t entities = 12;
    const auto id = [](std::uint32_t index) { return make_entity_id(index, 1); };
    SplitMix random(11);
    PositionSources sources;
    std::map<EntityId, EntityId> plain;
    std::vector<EntityId> order;
    for (int step = 0; step < 3'000; ++step) {
        const EntityId one = id(random.below(entities)), other = id(random.below(entities));
        if (one == other) continue;
        if (random.below(3) == 0) {
            sources.erase(one);  // also without a source
            if (plain.erase(one) != 0) std::erase(order, one);
        } else if (plain.count(one) != 0) {
            sources.change(one, other);
            plain[one] = other;
        } else {
            sources.add(one, {other, {1, 2, 3}, step % 2 == 0});
            plain[one] = other;
            order.push_back(one);
        }
        sources.validate();
        REQUIRE(sources.size() == plain.size());
        REQUIRE(sources.empty() == plain.empty());
        REQUIRE(std::equal(order.begin(), order.end(), sources.entities().begin(),
                           sources.entities().end()));
        std::size_t following = 0;
        for (std::uint32_t i = 0; i < entities; ++i) {
            const PositionSource* source = sources.find(id(i));
            const auto its = plain.find(id(i));
            REQUIRE((source != nullptr) == (its != plain.end()));
            REQUIRE(sources.contains(id(i)) == (source != nullptr));
            if (source != nullptr) {
                REQUIRE(source->other == its->second);
                REQUIRE(source->own_position == Vec3{1, 2, 3});
            }
            for (const EntityId follower : sources.followers(id(i)))
                REQUIRE(plain.at(follower) == id(i));
            following += sources.followers(id(i)).size();
        }
        REQUIRE(following == plain.size());
    }
}

}  // namespace purview
