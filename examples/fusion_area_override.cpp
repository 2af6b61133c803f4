// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A carried item is judged by the place of its carrier, whatever its own place says.
//
// Notice: only the place is borrowed; mode, explicit pairs and range stay the item's own. It
// ends with none, and with the end of the carrier: then the item's own place counts again. A
// circle is refused.
#include "example.hpp"
#include "purview/profile.hpp"

using namespace purview;
using namespace example;

int main() {
    InterestManager manager = create(profile(Profile::fusion));
    const EntityId carrier = make_entity_id(0, 1), item = make_entity_id(1, 1);
    const Names names{"carrier", "item"};
    must(manager.spawn(carrier, {.place = {100, 0, 100}}));
    must(manager.spawn(item, {.place = {500, 0, 500}}));
    const ObserverId player = manager.add_observer().value();
    must(manager.set_ready(player, true));
    must(manager.set_area(player, 0, Area::sphere({100, 0, 100}, 32)));

    manager.tick();
    names.expect_seen(manager, player, "the item lies elsewhere", "carrier");
    must(manager.set_place_override(item, carrier));
    manager.tick();
    names.expect_seen(manager, player, "it is picked up", "carrier item");
    expect(manager.set_place_override(carrier, item) == Status::would_cycle,
           "each by the place of the other is refused");

    must(manager.move(carrier, {300, 0, 300}));
    manager.tick();
    names.expect_seen(manager, player, "the carrier leaves with it", "");
    must(manager.move(carrier, {100, 0, 100}));
    must(manager.move(item, {110, 0, 100}));  // counts when it is put down
    manager.tick();
    must(manager.move(carrier, {300, 0, 300}));
    must(manager.set_place_override(item, EntityId::none));
    manager.tick();
    names.expect_seen(manager, player, "put down here, the carrier is gone", "item");

    must(manager.set_place_override(item, carrier));
    manager.tick();
    names.expect_seen(manager, player, "carried off again", "");
    must(manager.despawn(carrier));
    manager.tick();
    names.expect_seen(manager, player, "without its carrier it lies here", "item");
}
