// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rooms of a dungeon whose doorways overlap: everybody in the same room is known, however far
// away, and whoever stands in a doorway belongs to both rooms.
//
// Notice: a room is a key, and an entity may have several. Rooms are shared lists, so a hundred
// players in a room cost no more than one. Standing in the doorway one sees into both rooms, and
// is seen from both; those on either side do not see each other.
#include <array>

#include "example.hpp"

using namespace purview;
using namespace example;

constexpr KeyDomain room{0};

struct Room {
    Key key;
    float x0, x1;
    bool holds(Vec3 at) const { return x0 <= at.x && at.x <= x1; }
};
constexpr std::array<Room, 3> rooms{{{Key{1}, 0, 22}, {Key{2}, 20, 42}, {Key{3}, 40, 60}}};

struct Being {
    EntityId entity;
    Vec3 place;
    ObserverId observer = ObserverId::none;  // of a player
};

/// Takes and gives keys where a step crosses the border of a room.
void walk(InterestManager& manager, Being& being, Vec3 to) {
    for (const Room& it : rooms) {
        const bool was = it.holds(being.place), is = it.holds(to);
        if (was == is) continue;
        must(is ? manager.add_key(being.entity, room, it.key)
                : manager.remove_key(being.entity, room, it.key));
        if (being.observer == ObserverId::none) continue;
        must(is ? manager.add_observer_key(being.observer, room, it.key)
                : manager.remove_observer_key(being.observer, room, it.key));
    }
    being.place = to;
    must(manager.move(being.entity, to));
}

int main() {
    InterestDef def;
    def.key_count = 1;
    def.rules.nodes.push_back(
        {.name = "same room", .type = NodeType::grid, .steps = {add(same(room))}});
    InterestManager manager = create(def);
    const Names names{"alice", "rat", "ogre", "ghost"};
    constexpr Vec3 outside{-1, 0, 0};
    std::array<Being, 4> all{};
    for (std::uint32_t i = 0; i < all.size(); ++i) {
        all[i] = {make_entity_id(i, 1), outside};
        must(manager.spawn(all[i].entity, {.place = outside}));
    }
    auto& [alice, rat, ogre, ghost] = all;
    alice.observer = join(manager, alice.entity);
    walk(manager, alice, {5, 0, 0});
    walk(manager, rat, {18, 0, 0});
    walk(manager, ogre, {30, 0, 0});
    walk(manager, ghost, {50, 0, 0});

    manager.tick();
    names.expect_seen(manager, alice.observer, "alice in the first room", "alice rat");
    walk(manager, ogre, {21, 0, 0});
    manager.tick();
    names.expect_seen(manager, alice.observer, "the ogre steps into the doorway", "alice rat ogre");
    walk(manager, ogre, {30, 0, 0});
    walk(manager, alice, {21, 0, 0});
    manager.tick();
    names.expect_seen(manager, alice.observer, "alice in the doorway sees both rooms",
                      "alice rat ogre");
    walk(manager, alice, {30, 0, 0});
    manager.tick();
    names.expect_seen(manager, alice.observer, "and then the second only", "alice ogre");
    walk(manager, alice, {41, 0, 0});
    manager.tick();
    names.expect_seen(manager, alice.observer, "the next doorway", "alice ogre ghost");
}
