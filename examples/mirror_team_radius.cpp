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

constexpr KeyDomain team{0};
constexpr EntityId alice = make_entity_id(0, 1), bob = make_entity_id(1, 1),
                   wolf = make_entity_id(2, 1), bear = make_entity_id(3, 1),
                   eve = make_entity_id(4, 1);

/// Once for each pair of team mates, when the second one joins.
void share_eyes(InterestManager& manager, ObserverId observer, EntityId mate) {
    must(manager.set_area(observer, index_of(mate), Area::at({0, 0, 0}).following(mate)));
}

int main() {
    InterestDef def;
    def.key_count = 1;
    def.rules.nodes.push_back({.name = "team, and around the team",
                               .type = NodeType::grid,
                               .steps = {add(same(team)), add(within(30, 33))}});
    InterestManager manager = create(def);
    const Names names{"alice", "bob", "wolf", "bear", "eve"};
    const Key red{1}, blue{2};
    must(manager.spawn(alice, {.place = {100, 100, 0}, .keys = {&red, 1}}));
    must(manager.spawn(bob, {.place = {800, 800, 0}, .keys = {&red, 1}}));
    must(manager.spawn(eve, {.place = {500, 500, 0}, .keys = {&blue, 1}}));
    must(manager.spawn(wolf, {.place = {110, 100, 0}}));
    must(manager.spawn(bear, {.place = {810, 800, 0}}));
    const ObserverId alices = join(manager, alice), bobs = join(manager, bob),
                     eves = join(manager, eve);
    share_eyes(manager, alices, bob);
    share_eyes(manager, bobs, alice);

    manager.tick();
    names.expect_seen(manager, alices, "alice sees what bob is near to", "alice bob wolf bear");
    names.expect_seen(manager, bobs, "and bob what alice is near to", "alice bob wolf bear");
    names.expect_seen(manager, eves, "eve is of another team", "eve");

    must(manager.move(bob, {500, 520, 0}));
    manager.tick();
    names.expect_seen(manager, alices, "bob runs into eve", "alice bob wolf eve");
    names.expect_seen(manager, eves, "who sees him, too, but not alice", "bob eve");

    must(manager.despawn(bob));
    manager.tick();
    names.expect_seen(manager, alices, "bob is gone, and his eyes", "alice wolf");
}
