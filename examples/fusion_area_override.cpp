// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A carried item is judged by the place of its carrier, whatever its own place says.
//
// Notice: only the place is borrowed; mode, explicit pairs and range stay the item's own. It
// ends with none, and with the end of the carrier: then the item's own place counts again. A
// circle is refused.
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
    names.expect_seen(manager, player, "the item lies elsewhere", "carrier");
    manager.set_position_source(item, carrier);
    manager.tick();
    names.expect_seen(manager, player, "it is picked up", "carrier item");
    expect(manager.set_position_source(carrier, item) == Status::would_cycle,
           "each by the place of the other is refused");

    manager.move(carrier, {300, 0, 300});
    manager.tick();
    names.expect_seen(manager, player, "the carrier leaves with it", "");
    manager.move(carrier, {100, 0, 100});
    manager.move(item, {110, 0, 100});  // counts when it is put down
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
    names.expect_seen(manager, player, "without its carrier it lies here", "item");
}
