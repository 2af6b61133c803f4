// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Interest for a game that has entities, columns and a loop of its own: no world, no network.
//
// Notice: places are read where the game keeps them, with the stride of its own struct; nothing
// is registered for a callback, events are read after the tick; it builds with -fno-exceptions
// and -fno-rtti; the edges say which entities have gained their first observer or lost their
// last.
#include <cstdio>
#include <vector>

#include "purview/interest.hpp"

using namespace purview;

struct Body {  // the game's own, in its own layout
    float x, y, speed_x;
};

int main() {
    InterestDef def;
    def.count_observers = true;  // for edges
    def.rules.nodes.push_back(
        {.name = "near", .type = NodeType::grid, .steps = {add(within(60, 66))}});
    auto created = InterestManager::create(def);
    if (!created) return 1;
    InterestManager& interest = *created;

    std::vector<Body> bodies;
    std::vector<EntityId> ids;
    for (std::uint32_t i = 0; i < 5; ++i) {
        bodies.push_back({100 + 100 * static_cast<float>(i), 500, i == 0 ? 10.0F : 0.0F});
        ids.push_back(make_entity_id(i, 1));
        if (interest.spawn(ids[i], {.place = {bodies[i].x, bodies[i].y, 0}}) != Status::ok)
            return 1;
    }
    const ObserverId observer = interest.add_observer().value();
    if (interest.set_main_entity(observer, ids[0]) != Status::ok) return 1;
    if (interest.set_ready(observer, true) != Status::ok) return 1;

    unsigned enters = 0, leaves = 0, firsts = 0, lasts = 0;
    for (unsigned tick = 0; tick <= 40; ++tick) {
        interest.move(
            {.entities = ids, .x = &bodies[0].x, .y = &bodies[0].y, .stride_bytes = sizeof(Body)});
        interest.tick();
        for (const RelevanceEvent& event : interest.events()) {
            std::printf("tick %2u: entity %u %s\n", tick, index_of(event.entity),
                        to_string(event.reason).data());
            ++(event.enter ? enters : leaves);
        }
        for (const ObserverEdge& edge : interest.edges()) ++(edge.first ? firsts : lasts);
        for (Body& body : bodies) body.x += body.speed_x;
    }
    const bool is_so = enters == 5 && leaves == 3 && firsts == 5 && lasts == 3;
    if (!is_so) std::printf("FAILED: it passes all five, and the last one stays in sight\n");
    return is_so ? 0 : 1;
}
