// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A team shares its eyes: you see your whole team, and whoever is near any of its members.
//
// Notice: for each team mate the observer gets a further place to look from, which follows the
// mate and ends with him; the same distance rule then holds around all of them. Nothing is
// looked up by tick. areas_max bounds the team, to at most 63 mates.
#include "example.hpp"

using namespace purview;
using namespace example;

/// Once for each pair of team mates, when the second one joins.
void share_eyes(Visibility& manager, ObserverId observer, EntityId mate) {
    manager.set_area(observer, index_of(mate), Area::at({0, 0, 0}).following(mate));
}

int main() {
    Rules rules;
    const KeyId team = rules.key("team");
    rules.node("team, and around the team").add(same(team)).add(within(30).leave_at(33));
    InterestManager manager(rules);
    const Names names{"alice", "bob", "wolf", "bear", "eve"};
    const Key red{1}, blue{2};
    const EntityId alice = manager.spawn({.position = {100, 100}, .keys = {&red, 1}});
    const EntityId bob = manager.spawn({.position = {800, 800}, .keys = {&red, 1}});
    manager.spawn({.position = {110, 100}});  // the wolf
    manager.spawn({.position = {810, 800}});  // the bear
    const EntityId eve = manager.spawn({.position = {500, 500}, .keys = {&blue, 1}});
    const ObserverId alices = manager.add_observer({.viewpoint = alice}),
                     bobs = manager.add_observer({.viewpoint = bob}),
                     eves = manager.add_observer({.viewpoint = eve});
    share_eyes(manager, alices, bob);
    share_eyes(manager, bobs, alice);

    manager.tick();
    names.expect_seen(manager, alices, "alice sees what bob is near to", "alice bob wolf bear");
    names.expect_seen(manager, bobs, "and bob what alice is near to", "alice bob wolf bear");
    names.expect_seen(manager, eves, "eve is of another team", "eve");

    manager.move(bob, {500, 520, 0});
    manager.tick();
    names.expect_seen(manager, alices, "bob runs into eve", "alice bob wolf eve");
    names.expect_seen(manager, eves, "who sees him, too, but not alice", "bob eve");

    manager.despawn(bob);
    manager.tick();
    names.expect_seen(manager, alices, "bob is gone, and his eyes", "alice wolf");
}
