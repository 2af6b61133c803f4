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
#include "purview/profile.hpp"

using namespace purview;
using namespace example;

constexpr float extent_m = 32;
constexpr std::uint32_t around_player = 0;  // keys of areas are the caller's

struct Avatar {
    EntityId entity;
    Vec3 place;
    ObserverId controller = ObserverId::none;
};

/// The snippet: called once a tick for each avatar, on the server.
void fixed_update(InterestManager& manager, const Avatar& avatar) {
    must(manager.move(avatar.entity, avatar.place));
    if (avatar.controller == ObserverId::none) return;
    must(manager.set_area(avatar.controller, around_player, Area::sphere(avatar.place, extent_m)));
}

int main() {
    InterestManager manager = create(profile(Profile::fusion));
    const Names names{"avatar", "near", "far"};
    constexpr KindId thing{0};  // the profile's kind: owning one shows nothing
    Avatar avatar{make_entity_id(0, 1), {100, 0, 100}};
    const EntityId near = make_entity_id(1, 1), far = make_entity_id(2, 1);
    must(manager.spawn(avatar.entity, {.place = avatar.place, .kind = thing}));
    must(manager.spawn(near, {.place = {132, 0, 100}, .kind = thing}));
    must(manager.spawn(far, {.place = {200, 0, 100}, .kind = thing}));
    const ObserverId player = manager.add_observer().value();
    must(manager.set_ready(player, true));

    fixed_update(manager, avatar);
    manager.tick();
    names.expect_seen(manager, player, "nobody controls the avatar", "");
    avatar.controller = player;
    fixed_update(manager, avatar);
    manager.tick();
    names.expect_seen(manager, player, "the player controls it", "avatar near");
    for (int tick = 0; tick < 10; ++tick) {
        avatar.place.x += 8;
        fixed_update(manager, avatar);
        manager.tick();
    }
    names.expect_seen(manager, player, "80 m on", "avatar far");

    must(manager.set_area(player, around_player,
                          Area::sphere({0, 0, 0}, extent_m).following(avatar.entity)));
    must(manager.move(avatar.entity, {100, 0, 100}));
    manager.tick();
    names.expect_seen(manager, player, "an area that follows, and back", "avatar near");
    must(manager.remove_observer(player));
    expect(manager.set_area(player, around_player, Area::sphere({}, 1)) == Status::stale_id,
           "an area of a player who is gone is refused");
}
