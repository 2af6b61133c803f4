// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Switches off work for entities without observers: the animation of an NPC stops when its last
// observer leaves, and starts when the first one enters.
//
// Note: with count_observers, the manager lists both changes after each tick, so the game does
// not need to count. A disconnected player counts as left. An explicit entity starts without
// observers.
#include <array>

#include "example.hpp"
#include "purview/presets.hpp"

using namespace purview;
using namespace example;

int main() {
    Rules rules = preset(Preset::fusion);
    rules.count_observers = true;
    InterestManager manager(rules);
    const Names names{"guard", "smith", "spirit"};
    std::array<bool, 3> is_animated{};
    const auto tick_and_expect = [&](const char* when, std::array<bool, 3> expected) {
        manager.tick();
        std::printf("%s\n", when);
        for (const EntityId entity : manager.newly_observed()) {
            is_animated[index_of(entity)] = true;
            std::printf("    %s wakes\n", names.of(entity));
        }
        for (const EntityId entity : manager.no_longer_observed()) {
            is_animated[index_of(entity)] = false;
            std::printf("    %s sleeps\n", names.of(entity));
        }
        expect(is_animated == expected, "animated NPCs");
    };
    const EntityId guard = manager.spawn({.position = {100, 0, 100}});
    const EntityId smith = manager.spawn({.position = {300, 0, 100}});
    const EntityId spirit =
        manager.spawn({.position = {100, 0, 100}, .mode = EntityMode::explicit_only});
    const ObserverId alice = manager.add_observer(), bob = manager.add_observer();
    for (const ObserverId player : {alice, bob}) {
        manager.set_area(player, 0, Area::sphere({100, 0, 100}, 32));
    }

    tick_and_expect("both stand at the gate", {true, false, false});
    manager.set_area(alice, 0, Area::sphere({300, 0, 100}, 32));
    tick_and_expect("alice goes to the smith, bob stays", {true, true, false});
    manager.allow(alice, spirit, true);
    tick_and_expect("alice may see the spirit", {true, true, true});
    manager.remove_observer(bob);
    tick_and_expect("bob disconnects", {false, true, true});
    expect(manager.observer_count(guard) == 0 && manager.observer_count(smith) == 1, "counts");
    manager.set_ready(alice, false);
    tick_and_expect("alice loads the next level", {false, false, false});
}
