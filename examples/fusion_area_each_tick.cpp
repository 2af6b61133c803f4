// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// An area of interest around the entity that a player controls, set anew in every tick, as long
// as somebody controls it.
//
// Notice: the extent is the radius of an exact sphere; an area stays until it is replaced, so an
// entity that nobody controls any more must be looked at once (or the area followed the entity
// from the start, which needs no call per tick and is the last part below).
#include "example.hpp"
#include "purview/presets.hpp"

using namespace purview;
using namespace example;

constexpr float extent_m = 32;
constexpr std::uint32_t around_player = 0;  // keys of areas are the caller's

struct Avatar {
    EntityId entity;
    Vec3 position;
    ObserverId controller = ObserverId::none;
};

/// The snippet: called once a tick for each avatar, on the server.
void fixed_update(InterestManager& manager, const Avatar& avatar) {
    manager.move(avatar.entity, avatar.position);
    if (avatar.controller == ObserverId::none) return;
    manager.set_area(avatar.controller, around_player, Area::sphere(avatar.position, extent_m));
}

int main() {
    InterestManager manager(preset(Preset::fusion));
    const Names names{"avatar", "near", "far"};
    Avatar avatar{EntityId::none, {100, 0, 100}};
    avatar.entity = manager.spawn({.position = avatar.position});
    manager.spawn({.position = {132, 0, 100}});
    manager.spawn({.position = {200, 0, 100}});
    const ObserverId player = manager.add_observer();

    fixed_update(manager, avatar);
    manager.tick();
    names.expect_seen(manager, player, "nobody controls the avatar", "");
    avatar.controller = player;
    fixed_update(manager, avatar);
    manager.tick();
    names.expect_seen(manager, player, "the player controls it", "avatar near");
    for (int tick = 0; tick < 10; ++tick) {
        avatar.position.x += 8;
        fixed_update(manager, avatar);
        manager.tick();
    }
    names.expect_seen(manager, player, "80 m on", "avatar far");

    manager.set_area(player, around_player,
                     Area::sphere({0, 0, 0}, extent_m).following(avatar.entity));
    manager.move(avatar.entity, {100, 0, 100});
    manager.tick();
    names.expect_seen(manager, player, "an area that follows, and back", "avatar near");
    manager.remove_observer(player);
    expect(manager.set_area(player, around_player, Area::sphere({}, 1)) == Status::stale_id,
           "an area of a player who is gone is refused");
}
