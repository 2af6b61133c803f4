// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A player looks through a remote camera: a second area of interest besides the one around the
// player.
//
// Note: areas have keys, so adding the camera's area does not change the other one. An entity in
// both areas enters once. With single_area, a new area replaces any other, as in Fusion's shared
// mode.
#include "example.hpp"
#include "purview/presets.hpp"

using namespace purview;
using namespace example;

constexpr std::uint32_t around_player = 0, around_camera = 1;

void show(bool is_single) {
    Rules rules = preset(Preset::fusion);
    rules.single_area = is_single;
    InterestManager manager(rules);
    const Names names{"at home", "between", "at the camera"};
    manager.spawn({.position = {100, 0, 100}});
    manager.spawn({.position = {125, 0, 100}});
    manager.spawn({.position = {150, 0, 100}});
    const ObserverId player = manager.add_observer();

    manager.set_area(player, around_player, Area::sphere({100, 0, 100}, 30));
    manager.tick();
    names.expect_seen(manager, player, "the player's own area", "at home between");
    manager.set_area(player, around_camera, Area::sphere({150, 0, 100}, 30));
    manager.tick();
    if (is_single) {
        names.expect_seen(manager, player, "single: only the camera's area",
                          "between at the camera");
        return;
    }
    names.expect_seen(manager, player, "with the camera's area", "at home between at the camera");
    expect(manager.events().size() == 1, "an entity that is already relevant does not enter again");
    manager.remove_area(player, around_camera);
    manager.tick();
    names.expect_seen(manager, player, "the camera is switched off", "at home between");
}

int main() {
    show(false);
    show(true);
}
