// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The interest engine in a game with its own ECS and main loop, without a World and without
// network.
//
// In each tick, the systems of the game run first. Then move() reads the positions in place, with
// the stride of the game's struct, and tick() evaluates the rules. events() returns the ECS
// handles, so the game needs no map from ids to handles. There are no callbacks. Builds with
// -fno-exceptions and -fno-rtti. own_ecs_server.cpp adds replication.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "purview/interest.hpp"

using namespace purview;

struct Body {  // the game's own layout
    float x, y, speed_x;
    std::uint64_t handle;  // of the game's ECS
};

int main() {
    Rules rules;
    rules.count_observers = true;  // for newly_observed and no_longer_observed
    rules.node("near").add(within(60).leave_at(66));
    InterestManager interest(rules);

    std::vector<Body> bodies;
    std::vector<EntityId> ids;
    for (std::uint32_t i = 0; i < 5; ++i) {
        bodies.push_back({100 + 100 * static_cast<float>(i), 500, i == 0 ? 10.0F : 0.0F, 7000 + i});
        // With an id of your own: {.id = make_entity_id(index, generation), ...}
        ids.push_back(interest.spawn(
            {.position = {bodies[i].x, bodies[i].y}, .user_data = bodies[i].handle}));
    }
    interest.add_observer({.viewpoint = ids[0], .user_data = 1});

    unsigned enters = 0, leaves = 0, firsts = 0, lasts = 0;
    for (unsigned tick = 0; tick <= 40; ++tick) {
        interest.move(
            {.entities = ids, .x = &bodies[0].x, .y = &bodies[0].y, .stride_bytes = sizeof(Body)});
        interest.tick();
        for (const InterestEvent& event : interest.events()) {
            std::printf("tick %2u: observer %llu, body %llu %s\n", tick,
                        static_cast<unsigned long long>(event.observer_data),
                        static_cast<unsigned long long>(event.entity_data),
                        to_string(event.reason).data());
            ++(event.enter ? enters : leaves);
        }
        firsts += static_cast<unsigned>(interest.newly_observed().size());
        lasts += static_cast<unsigned>(interest.no_longer_observed().size());
        for (Body& body : bodies) body.x += body.speed_x;
    }
    const bool is_expected = enters == 5 && leaves == 3 && firsts == 5 && lasts == 3;
    if (!is_expected) std::printf("FAILED: all five bodies must enter, and three must leave\n");
    return is_expected ? 0 : 1;
}
