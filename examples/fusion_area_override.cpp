// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A carried item is evaluated at the position of its carrier, independent of its own position.
//
// Note: only the position is overridden; mode, per-observer overrides and range remain the item's
// own. The override ends when it is set to none or the carrier is despawned; then the item's own
// position applies again. A cycle is refused.
#include "example.hpp"
#include "purview/presets.hpp"

using namespace purview;
using namespace example;

int main() {
    InterestManager manager(preset(Preset::fusion));
    const Names names{"carrier", "item"};
    const EntityId carrier = manager.spawn({.position = {100, 0, 100}});
    const EntityId item = manager.spawn({.position = {500, 0, 500}});
    const ObserverId player = manager.add_observer();
    manager.set_area(player, 0, Area::sphere({100, 0, 100}, 32));

    manager.tick();
    names.expect_seen(manager, player, "the item is elsewhere", "carrier");
    manager.set_position_source(item, carrier);
    manager.tick();
    names.expect_seen(manager, player, "the item is picked up", "carrier item");
    expect(manager.set_position_source(carrier, item) == Status::would_cycle,
           "a cycle of position sources is refused");

    manager.move(carrier, {300, 0, 300});
    manager.tick();
    names.expect_seen(manager, player, "the carrier leaves with the item", "");
    manager.move(carrier, {100, 0, 100});
    manager.move(item, {110, 0, 100});  // applies after the item is put down
    manager.tick();
    manager.move(carrier, {300, 0, 300});
    manager.set_position_source(item, EntityId::none);
    manager.tick();
    names.expect_seen(manager, player, "put down here, the carrier is gone", "item");

    manager.set_position_source(item, carrier);
    manager.tick();
    names.expect_seen(manager, player, "carried off again", "");
    manager.despawn(carrier);
    manager.tick();
    names.expect_seen(manager, player, "after the carrier's despawn", "item");
}
