// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Always interested: every joining player receives the flag wherever it is, and the orders of its
// own side, which no other player receives.
//
// Notice: for an entity with area mode, `allow` adds to what areas give. For an explicit entity it
// is the only source: such an entity starts irrelevant to all.
#include "example.hpp"
#include "purview/presets.hpp"

using namespace purview;
using namespace example;

/// The code that a game needs: called on the server when a player has joined.
void player_joined(Visibility& visibility, ObserverId player, EntityId flag) {
    visibility.allow(player, flag);
}

int main() {
    InterestManager manager(preset(Preset::fusion));
    const Names names{"flag", "orders", "tree"};
    const EntityId flag = manager.spawn({.position = {900, 0, 900}});
    const EntityId orders =
        manager.spawn({.position = {100, 0, 100}, .mode = EntityMode::explicit_only});
    manager.spawn({.position = {110, 0, 100}});
    const ObserverId alice = manager.add_observer(), bob = manager.add_observer();
    for (const ObserverId player : {alice, bob})
        manager.set_area(player, 0, Area::sphere({100, 0, 100}, 32));

    manager.tick();
    names.expect_seen(manager, alice, "explicit: not relevant at any distance", "tree");
    player_joined(manager, alice, flag);
    player_joined(manager, bob, flag);
    manager.allow(alice, orders, true);
    manager.tick();
    names.expect_seen(manager, alice, "alice: the flag and the orders", "flag orders tree");
    names.expect_seen(manager, bob, "bob: the flag", "flag tree");
    manager.set_area(bob, 0, Area::sphere({880, 0, 900}, 32));
    manager.tick();
    names.expect_seen(manager, bob, "bob moves near the flag", "flag");
    manager.allow(bob, flag, false);
    manager.tick();
    names.expect_seen(manager, bob, "still relevant by area alone", "flag");
    for (const InterestEvent& event : manager.events(bob))
        expect(event.entity != flag, "no longer allowed but in the area: no event");
}
