// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rooms of a dungeon with overlapping doorways: all entities in the same room are relevant at any
// distance, and an entity in a doorway belongs to both rooms.
//
// Note: a room is a key, and an entity may have several keys. Rooms are shared lists, so a
// hundred players in a room cost no more than one. An observer in the doorway sees both rooms and
// is seen from both. Observers on either side do not see each other.
#include <array>

#include "example.hpp"

using namespace purview;
using namespace example;

struct Room {
    Key key;
    float x0, x1;
    bool contains(Vec3 at) const { return x0 <= at.x && at.x <= x1; }
};
constexpr std::array<Room, 3> rooms{{{Key{1}, 0, 22}, {Key{2}, 20, 42}, {Key{3}, 40, 60}}};

struct Being {
    EntityId entity;
    Vec3 position;
    ObserverId observer = ObserverId::none;  // for players only
};

/// Moves a being. Adds and removes room keys when it crosses the border of a room.
void walk(InterestManager& manager, KeyId room, Being& being, Vec3 to) {
    for (const Room& it : rooms) {
        const bool was = it.contains(being.position), is = it.contains(to);
        if (was == is) continue;
        is ? manager.add_key(being.entity, room, it.key)
           : manager.remove_key(being.entity, room, it.key);
        if (being.observer == ObserverId::none) continue;
        is ? manager.add_key(being.observer, room, it.key)
           : manager.remove_key(being.observer, room, it.key);
    }
    being.position = to;
    manager.move(being.entity, to);
}

int main() {
    Rules rules;
    const KeyId room = rules.key("room");
    rules.node("same room").add(same(room));
    InterestManager manager(rules);
    const Names names{"alice", "rat", "ogre", "ghost"};
    constexpr Vec3 outside{-1, 0, 0};
    std::array<Being, 4> all{};
    for (std::uint32_t i = 0; i < all.size(); ++i) {
        all[i] = {manager.spawn({.position = outside}), outside};
    }
    auto& [alice, rat, ogre, ghost] = all;
    alice.observer = manager.add_observer({.viewpoint = alice.entity});
    walk(manager, room, alice, {5, 0, 0});
    walk(manager, room, rat, {18, 0, 0});
    walk(manager, room, ogre, {30, 0, 0});
    walk(manager, room, ghost, {50, 0, 0});

    manager.tick();
    names.expect_seen(manager, alice.observer, "alice in the first room", "alice rat");
    walk(manager, room, ogre, {21, 0, 0});
    manager.tick();
    names.expect_seen(manager, alice.observer, "the ogre steps into the doorway", "alice rat ogre");
    walk(manager, room, ogre, {30, 0, 0});
    walk(manager, room, alice, {21, 0, 0});
    manager.tick();
    names.expect_seen(manager, alice.observer, "alice in the doorway sees both rooms",
                      "alice rat ogre");
    walk(manager, room, alice, {30, 0, 0});
    manager.tick();
    names.expect_seen(manager, alice.observer, "then only the second room", "alice ogre");
    walk(manager, room, alice, {41, 0, 0});
    manager.tick();
    names.expect_seen(manager, alice.observer, "the next doorway", "alice ogre ghost");
}
