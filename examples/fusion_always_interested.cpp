// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Always interested: each player that joins receives the flag at any distance. The orders are
// relevant only to the players of one side.
//
// Note: an entity in area mode is relevant by areas or by `allow`. An explicit entity is relevant
// only by `allow`, so at first it is relevant to no observer.
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
    names.expect_seen(manager, alice, "no allow yet: only the tree, in the area", "tree");
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
