// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Independently culled members on clients: they enter after their ancestors and leave before them
// under any loss, and they are culled at the position to which their ship carries them.
#include "support/stage.hpp"
#include "support/steps.hpp"

namespace purview::test {

namespace {

struct CrewSchema {
    CrewSchema() {
        position = add_position(schema, 0, 2000);
        ship = schema.kind("ship", {position.id});
        sailor = schema.kind("sailor", {position.id});
        schema.edit_kind(sailor).relative_position = true;
        REQUIRE(schema.problem().empty());
    }
    ServerDef def(bool promotes) const {
        ServerDef def;
        def.rules.max = {2000, 2000, 0};
        def.rules.nodes = {lines::node("near", {within(100)})};
        def.rules.kinds.resize(2);
        def.rules.kinds[index_of(sailor)].culled_independently = true;
        def.rules.kinds[index_of(sailor)].keeps_ancestors = promotes;
        return def;
    }
    Schema schema;
    Component<Position> position;
    KindId ship{}, sailor{};
};

void look_from(Stage& stage, Vec3 position) {
    REQUIRE(stage.visibility().set_area(stage.observers[0], 0, Area::at(position)) == Status::ok);
}

}  // namespace

TEST_CASE("server: an independently culled member is evaluated where it is carried (O22)") {
    CrewSchema setup;
    Stage stage(setup.schema, 1, setup.def(true));
    look_from(stage, {1000, 1000, 0});
    const EntityId ship = stage.spawn(setup.ship, {200, 1000, 0});
    const EntityId sailor = stage.spawn(setup.sailor, {350, 1000, 0});
    REQUIRE(stage.world().attach(sailor, ship) == Status::ok);
    stage.step(5);
    CHECK(stage.ghost(0, ship) == GhostId::none);
    // The sailor is 150 m ahead of its ship: it gets relevant while the ship is out of range, and
    // makes the ship relevant.
    for (float x = 200; x <= 780; x += 20) {
        REQUIRE(stage.world().move(ship, {x, 1000, 0}) == Status::ok);
        stage.step();
    }
    stage.step(5);
    CHECK(stage.ghost(0, sailor) != GhostId::none);
    CHECK(stage.ghost(0, ship) != GhostId::none);
    REQUIRE(stage.world().move(ship, {500, 1000, 0}) == Status::ok);
    stage.step(5);
    CHECK(stage.ghost(0, sailor) == GhostId::none);
    CHECK(stage.ghost(0, ship) == GhostId::none);
}

TEST_CASE("client: independently culled members keep the ancestor order (O22 X10)") {
    CrewSchema setup;
    ServerDef def = setup.def(true);
    def.group_members_max = 255;
    def.group_depth_max = 16;
    def.budget_bytes_per_tick = 160;  // groups take several packets
    Stage stage(setup.schema, 1, def);
    stage.loss = 0.3F;
    look_from(stage, {1000, 1000, 0});
    SplitMix random(5);
    std::vector<EntityId> ships, sailors;
    for (int i = 0; i < 6; ++i)
        ships.push_back(stage.spawn(setup.ship, {static_cast<float>(100 + 300 * i), 1000, 0}));
    for (int i = 0; i < 60; ++i) {
        const auto at = static_cast<std::size_t>(i % 6);
        sailors.push_back(stage.spawn(setup.sailor, {static_cast<float>(100 + 300 * at), 1000, 0}));
        const EntityId parent =
            i >= 6 && i % 3 == 0 ? sailors[static_cast<std::size_t>(i - 6)] : ships[at];
        REQUIRE(stage.world().attach(sailors.back(), parent) == Status::ok);
    }
    std::uint64_t orphans = 0, shown = 0, promoted = 0;
    for (int tick = 0; tick < 1500; ++tick) {
        for (int edits = 0; edits < 3; ++edits) {
            const EntityId index = sailors[random.below(60)];
            const float x =
                random.chance(0.4F) ? random.between(920, 1080) : random.between(10, 1990);
            REQUIRE(stage.world().move(index, {x, 1000, 0}) == Status::ok);
        }
        if (random.chance(0.1F)) {
            const EntityId index = sailors[random.below(60)];
            (void)stage.world().attach(index, ships[random.below(6)]);
        }
        stage.step();
        for (const EntityId index : sailors) {
            const GhostId ghost = stage.ghost(0, index);
            if (ghost == GhostId::none) continue;
            ++shown;
            if (stage.client().parent_of(ghost) == GhostId::none) ++orphans;
        }
        for (const InterestEvent& event :
             internal(*stage.server).manager.events(stage.observers[0]))
            promoted += event.reason == Reason::promoted ? 1 : 0;
        stage.client().clear_events();
    }
    CHECK(stage.client().stats().order_violations == 0);
    CHECK(orphans == 0);
    CHECK(shown > 5'000);
    CHECK(promoted > 100);
    // Without loss and moves, the client converges to the relevant set.
    stage.loss = 0;
    stage.step(400);
    for (const auto* list : {&ships, &sailors}) {
        for (const EntityId index : *list) {
            CHECK((stage.ghost(0, index) != GhostId::none) ==
                  stage.visibility().is_relevant(stage.observers[0], index));
        }
    }
}

}  // namespace purview::test
