// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// An area of interest around the entity that a player controls, set again in every tick while it is
// controlled.
//
// Note: the extent is the radius of an exact sphere. An area stays until it is replaced, so the
// area of a released entity must be removed. Alternatively, an area can follow the entity. This
// needs no call per tick (see the last part below).
#include "example.hpp"
#include "purview/presets.hpp"

using namespace purview;
using namespace example;

constexpr float extent_m = 32;
constexpr std::uint32_t around_player = 0;  // area keys are chosen by the caller

struct Avatar {
    EntityId entity;
    Vec3 position;
    ObserverId controller = ObserverId::none;
};

/// The code that a game needs: called on the server once per tick for each avatar.
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
    names.expect_seen(manager, player, "the avatar has no controller", "");
    avatar.controller = player;
    fixed_update(manager, avatar);
    manager.tick();
    names.expect_seen(manager, player, "the player controls it", "avatar near");
    for (int tick = 0; tick < 10; ++tick) {
        avatar.position.x += 8;
        fixed_update(manager, avatar);
        manager.tick();
    }
    names.expect_seen(manager, player, "after 80 m", "avatar far");

    manager.set_area(player, around_player,
                     Area::sphere({0, 0, 0}, extent_m).following(avatar.entity));
    manager.move(avatar.entity, {100, 0, 100});
    manager.tick();
    names.expect_seen(manager, player, "a following area, moved back", "avatar near");
    manager.remove_observer(player);
    expect(manager.set_area(player, around_player, Area::sphere({}, 1)) == Status::stale_id,
           "an area of a removed player is refused");
}
