// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Always interested: whoever joins is told of the flag wherever it is, and of the orders of his
// own side, which nobody else may know.
//
// Notice: allow adds to what areas give where an entity is a matter of areas, and is the only
// source where it is explicit: such an entity begins unknown to all.
#include "example.hpp"
#include "purview/profile.hpp"

using namespace purview;
using namespace example;

constexpr EntityId flag = make_entity_id(0, 1), orders = make_entity_id(1, 1),
                   tree = make_entity_id(2, 1);

/// The snippet: called on the server when a player has joined.
void player_joined(InterestManager& manager, ObserverId player) {
    must(manager.allow(player, flag, true));
}

int main() {
    InterestManager manager = create(profile(Profile::fusion));
    const Names names{"flag", "orders", "tree"};
    must(manager.spawn(flag, {.place = {900, 0, 900}}));
    must(manager.spawn(orders, {.place = {100, 0, 100}, .mode = EntityMode::explicit_only}));
    must(manager.spawn(tree, {.place = {110, 0, 100}}));
    const ObserverId alice = manager.add_observer().value(), bob = manager.add_observer().value();
    for (const ObserverId player : {alice, bob}) {
        must(manager.set_ready(player, true));
        must(manager.set_area(player, 0, Area::sphere({100, 0, 100}, 32)));
    }

    manager.tick();
    names.expect_seen(manager, alice, "explicit: unknown, however near", "tree");
    player_joined(manager, alice);
    player_joined(manager, bob);
    must(manager.allow(alice, orders, true));
    manager.tick();
    names.expect_seen(manager, alice, "alice: the flag, and her orders", "flag orders tree");
    names.expect_seen(manager, bob, "bob: the flag", "flag tree");
    must(manager.set_area(bob, 0, Area::sphere({880, 0, 900}, 32)));
    manager.tick();
    names.expect_seen(manager, bob, "bob goes to where it is", "flag");
    must(manager.allow(bob, flag, false));
    manager.tick();
    names.expect_seen(manager, bob, "and sees it by his area alone", "flag");
    for (const RelevanceEvent& event : manager.events_of(bob))
        expect(event.entity != flag, "allowed no more, in the area still: nothing to tell");
}
