// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Work for entities that nobody looks at is switched off: animation of NPCs stops when the last
// observer leaves, and starts when the first one comes.
//
// Notice: with count_observers the manager lists both edges after each tick; nobody counts by
// hand, and a disconnected player counts as gone. An explicit entity begins with no observers at
// all.
#include <array>

#include "example.hpp"
#include "purview/profile.hpp"

using namespace purview;
using namespace example;

int main() {
    InterestDef def = profile(Profile::fusion);
    def.count_observers = true;
    InterestManager manager = create(def);
    constexpr EntityId guard = make_entity_id(0, 1), smith = make_entity_id(1, 1),
                       spirit = make_entity_id(2, 1);
    const Names names{"guard", "smith", "spirit"};
    std::array<bool, 3> is_animated{};
    const auto tick_and_expect = [&](const char* when, std::array<bool, 3> expected) {
        manager.tick();
        std::printf("%s\n", when);
        for (const ObserverEdge& edge : manager.edges()) {
            is_animated[index_of(edge.entity)] = edge.first;
            std::printf("    %s %s\n", names.of(edge.entity), edge.first ? "wakes" : "sleeps");
        }
        expect(is_animated == expected, "who is animated");
    };
    must(manager.spawn(guard, {.place = {100, 0, 100}}));
    must(manager.spawn(smith, {.place = {300, 0, 100}}));
    must(manager.spawn(spirit, {.place = {100, 0, 100}, .mode = EntityMode::explicit_only}));
    const ObserverId alice = manager.add_observer().value(), bob = manager.add_observer().value();
    for (const ObserverId player : {alice, bob}) {
        must(manager.set_ready(player, true));
        must(manager.set_area(player, 0, Area::sphere({100, 0, 100}, 32)));
    }

    tick_and_expect("both stand at the gate", {true, false, false});
    must(manager.set_area(alice, 0, Area::sphere({300, 0, 100}, 32)));
    tick_and_expect("alice goes to the smith, bob stays", {true, true, false});
    must(manager.allow(alice, spirit, true));
    tick_and_expect("alice may see the spirit", {true, true, true});
    must(manager.remove_observer(bob));
    tick_and_expect("bob disconnects", {false, true, true});
    expect(manager.observer_count(guard) == 0 && manager.observer_count(smith) == 1, "counts");
    must(manager.set_ready(alice, false));
    tick_and_expect("alice loads the next level", {false, false, false});
}
