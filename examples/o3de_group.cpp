// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A tank with a turret and a gun is one group: it is relevant or not as a whole, parents enter
// before children, a cycle is refused, and a part that breaks off becomes an entity of its own.
//
// Note: World stores the parents, and its queries take constant time at any depth. Interest
// evaluates the group at the position of its root. A Purview server passes the relations on to
// interest; here this is done by hand, as in a game without World.
#include "example.hpp"
#include "purview/world.hpp"

using namespace purview;
using namespace example;

void show_parents() {
    struct Hull {
        std::int32_t armor;
    };
    Schema schema;
    auto hull = schema.component<Hull>("hull");
    hull.integer("armor", &Hull::armor, 0, 1000);
    const KindId part = schema.kind("part", {hull.id()});
    World world = World::create({.schema = &schema}).value();
    const EntityId tank = world.spawn({.kind = part}), turret = world.spawn({.kind = part}),
                   gun = world.spawn({.kind = part});
    must(world.attach(gun, turret));
    must(world.attach(turret, tank));  // with everything attached to it
    expect(world.parent_of(gun) == turret && world.root_of(gun) == tank, "one lookup each");
    expect(world.attach(tank, gun) == Status::would_cycle, "a cycle is refused");
    must(world.detach(turret));
    expect(world.children_of(tank).empty() && world.children_of(turret).size() == 1, "children");
    expect(world.root_of(gun) == turret, "the turret breaks off with its gun");
}

int main() {
    show_parents();
    Rules rules;
    rules.node("near").add(within(60).leave_at(66));
    InterestManager manager(rules);
    const Names names{"alice", "tank", "turret", "gun"};
    const EntityId alice = manager.spawn({.position = {100, 100}});
    const EntityId tank = manager.spawn({.position = {500, 500}});
    const EntityId turret = manager.spawn({.position = {500, 500}});
    const EntityId gun = manager.spawn({.position = {500, 500}});
    manager.attach(turret, tank);
    manager.attach(gun, tank);
    const ObserverId observer = manager.add_observer({.viewpoint = alice});

    manager.tick();
    names.expect_seen(manager, observer, "the tank is far away", "alice");
    manager.move(tank, {150, 100, 0});
    manager.tick();
    names.expect_seen(manager, observer, "the group enters as a whole", "alice tank turret gun");
    expect(manager.events().size() == 3 && manager.events()[0].entity == tank,
           "one enter each, the root first");

    manager.detach(gun, {.position = {150, 100, 0}});
    manager.move(tank, {500, 500, 0});
    manager.tick();
    names.expect_seen(manager, observer, "the gun breaks off and stays", "alice gun");
}
