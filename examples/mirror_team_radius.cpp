// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A team shares its view: a player sees its whole team, and every entity near any team member.
//
// Note: for each team mate the observer gets an additional viewpoint that follows the mate and
// ends with it. The same distance rule applies around all viewpoints, without per-tick calls.
// areas_max limits a team to 63 mates.
#include "example.hpp"

using namespace purview;
using namespace example;

/// Call once for each pair of team mates, when the second one joins.
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
    names.expect_seen(manager, alices, "alice, with the area around bob", "alice bob wolf bear");
    names.expect_seen(manager, bobs, "bob, with the area around alice", "alice bob wolf bear");
    names.expect_seen(manager, eves, "eve is in another team", "eve");

    manager.move(bob, {500, 520, 0});
    manager.tick();
    names.expect_seen(manager, alices, "bob runs into eve", "alice bob wolf eve");
    names.expect_seen(manager, eves, "bob is relevant to eve, alice is not", "bob eve");

    manager.despawn(bob);
    manager.tick();
    names.expect_seen(manager, alices, "bob is removed, and the area with it", "alice wolf");
}
