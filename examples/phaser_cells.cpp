// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Areas as in Phaser Quest: the world is divided into cells about as large as the screen, and a
// player receives its own cell and the eight cells around it.
//
// Note: entities directly across a border are relevant, so there is no border effect. Crossing a
// border adds the entities of new cells and removes those of old ones; entities in both do not
// enter again. A distant entity is not just hidden: the client has no data about it. The engine
// also returns the observers that cover a position.
#include "example.hpp"
#include "purview/cells.hpp"
#include "purview/presets.hpp"

using namespace purview;
using namespace example;

int main() {
    Rules rules = preset(Preset::phaser);
    const CellGrid grid{.origin = {0, 0, 0}, .width = 34, .height = 20, .columns = 6, .rows = 16};
    rules.max = {172, 314, 0};  // a map of 172 x 314 tiles: the last cells are partial
    InterestManager manager(rules);
    expect(grid.count() == 96, "cells 0 to 95");

    const Names names{"player", "neighbor", "rabbit", "wolf"};
    const EntityId player = manager.spawn({.position = {103, 50}});  // column 3
    manager.spawn({.position = {101, 50}});                          // column 2
    const EntityId rabbit = manager.spawn({.position = {50, 50}});   // column 1
    manager.spawn({.position = {140, 50}});                          // column 4
    const ObserverId observer = manager.add_observer({.viewpoint = player});
    manager.tick();
    std::printf("the player is in cell %u\n", grid.cell_of(manager.entity(player).position()));
    names.expect_seen(manager, observer, "own cell and those around it", "player neighbor wolf");

    manager.move(player, {101, 50, 0});
    manager.tick();
    std::printf("the player is in cell %u\n", grid.cell_of(manager.entity(player).position()));
    names.expect_seen(manager, observer, "two meters to the left", "player neighbor rabbit");
    expect(manager.events().size() == 2, "the rabbit enters, the wolf leaves, nothing else");

    manager.move(player, {150, 300, 0});
    manager.tick();
    names.expect_seen(manager, observer, "twelve cells at once", "player");

    std::vector<ObserverId> listeners;
    manager.observers_covering({130, 280, 0}, listeners);
    expect(listeners.size() == 1, "one observer covers a position in the next cell");
    listeners.clear();
    manager.observers_covering({10, 10, 0}, listeners);
    expect(listeners.empty(), "no observer covers the other end of the world");
    std::vector<EntityId> found;
    manager.entities_in({0, 0, 0}, {102, 100, 0}, found);
    expect(found.size() == 2, "neighbor and rabbit are in the rectangle");
    found.clear();
    const std::uint32_t cell = grid.cell_of(manager.entity(rabbit).position());
    manager.entities_in(grid.min_of(cell), grid.max_of(cell), found);
    expect(found.size() == 1 && found[0] == rabbit, "the rabbit is alone in its cell");
}
