// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "interest/rules/interest_kernel.hpp"
#include "purview/interest.hpp"
#include "support/make_manager.hpp"

namespace purview::test {

TEST_CASE("interest: push equals pull while crowds move around idle observers") {
    constexpr std::uint32_t crowds = 10, each = 120, observers = 300;
    constexpr float side = 400, near = 45;
    const auto make = [](WindowUpdate update) {
        Rules def;
        def.max = {side, side, 0};
        def.cell_size = 40;
        def.node("near").add(within(near));
        return make_manager(def, update);
    };
    InterestManager pull = make(WindowUpdate::pull), push = make(WindowUpdate::push);
    SplitMix random(77);
    const auto anywhere = [&] { return Vec3{random.between(0, side), random.between(0, side), 0}; };
    std::vector<Vec3> positions;
    for (std::uint32_t i = 0; i < crowds * each; ++i) {
        positions.push_back(anywhere());
        const EntityId id = make_entity_id(i, 1);
        for (InterestManager* manager : {&pull, &push})
            REQUIRE(manager->spawn({.id = id, .position = positions[i]}) == id);
    }
    std::vector<ObserverId> ids;
    std::vector<Vec3> looks_from;
    for (std::uint32_t o = 0; o < observers; ++o) {
        const Vec3 at = anywhere();
        looks_from.push_back(at);
        for (InterestManager* manager : {&pull, &push}) {
            const ObserverId id = manager->add_observer({.is_ready = false});
            REQUIRE(manager->set_area(id, 0, Area::at(at)) == Status::ok);
            REQUIRE(manager->set_ready(id, true) == Status::ok);
            if (manager == &push) ids.push_back(id);
        }
    }
    std::vector<EntityId> expected, got;
    std::uint64_t relevant = 0;
    for (std::uint32_t tick = 0; tick < 400; ++tick) {
        // One crowd at a time gathers at a spot for a while.
        const std::uint32_t crowd = random.below(crowds);
        const Vec3 spot{random.between(30, side - 30), random.between(30, side - 30), 0};
        for (std::uint32_t i = crowd * each; i < (crowd + 1) * each; ++i) {
            positions[i] = {spot.x + random.between(-25, 25), spot.y + random.between(-25, 25), 0};
            for (InterestManager* manager : {&pull, &push})
                REQUIRE(manager->move(make_entity_id(i, 1), positions[i]) == Status::ok);
        }
        // Some observers move a little: most of their blocks stay, only cells at the rim come into
        // range.
        for (std::uint32_t o = tick % 10; o < observers; o += 10) {
            Vec3& at = looks_from[o];
            at.x += random.between(-4, 4);
            at.y += random.between(-4, 4);
            for (InterestManager* manager : {&pull, &push})
                REQUIRE(manager->set_area(ids[o], 0, Area::at(at)) == Status::ok);
        }
        pull.tick();
        push.tick();
        for (const ObserverId id : ids) {
            expected.clear();
            got.clear();
            pull.relevant(id, expected);
            push.relevant(id, got);
            std::sort(expected.begin(), expected.end());
            std::sort(got.begin(), got.end());
            REQUIRE_MESSAGE(got == expected, "tick ", tick, ", observer ", index_of(id));
            relevant += got.size();
        }
    }
    CHECK(relevant > 100'000);
}

TEST_CASE("interest: push wakes an observer that moves toward a new block in a known cell") {
    Rules def;
    def.max = {400, 400, 0};
    def.cell_size = 40;
    def.node("near").add(within(45));
    InterestManager manager = make_manager(def, WindowUpdate::push);
    // Fills the block of cell [0, 40) x [0, 40).
    for (std::uint32_t i = 0; i < 16; ++i) {
        const EntityId id = make_entity_id(i, 1);
        REQUIRE(manager.spawn({.id = id, .position = {5, 5, 0}}) == id);
    }
    const ObserverId observer = manager.add_observer({.is_ready = false});
    REQUIRE(manager.set_area(observer, 0, Area::at({74, 74, 0})) == Status::ok);
    REQUIRE(manager.set_ready(observer, true) == Status::ok);
    for (int tick = 0; tick < 3; ++tick) manager.tick();
    // The next entity gets a new block, 48.8 m away. The box that the observer's block set was made
    // for is 43.1 m from that cell.
    const EntityId late = make_entity_id(16, 1);
    REQUIRE(manager.spawn({.id = late, .position = {39.5F, 39.5F, 0}}) == late);
    manager.tick();
    CHECK(!manager.is_relevant(observer, late));
    REQUIRE(manager.set_area(observer, 0, Area::at({70.5F, 70.5F, 0})) == Status::ok);
    manager.tick();
    CHECK(manager.is_relevant(observer, late));
}

}  // namespace purview::test
