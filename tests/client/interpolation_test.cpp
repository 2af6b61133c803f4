// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Positions between two ticks: interpolated, or the old position until a jump ends.
#include <cmath>

#include "purview/prediction.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct JumpSchema {
    JumpSchema() {
        position = add_position(schema, 0, 1'000);
        ball = schema.kind("ball", {position.id});
        wizard = schema.kind("wizard", {position.id});
        schema.edit_kind(wizard).teleport_distance = 5;
        REQUIRE(schema.problem().empty());
    }
    Schema schema;
    Component<Position> position;
    KindId ball{}, wizard{};
};

float meters_between(Vec3 a, Vec3 b) {
    return std::hypot(a.x - b.x, a.y - b.y, a.z - b.z);
}

}  // namespace

TEST_CASE("client: a move beyond the teleport distance is not interpolated") {
    const JumpSchema setup;
    Stage stage(setup.schema, 1);
    SplitMix random(5);
    const EntityId clock = stage.spawn(setup.ball, {0, 0, 0});  // causes a packet in every tick
    for (const KindId kind : {setup.ball, setup.wizard}) {
        CAPTURE(index_of(kind));
        const EntityId entity = stage.spawn(kind, {500, 500, 0});
        stage.step(3);
        const GhostId ghost = stage.ghost(0, entity);
        REQUIRE(ghost != GhostId::none);
        Vec3 before{500, 500, 0};
        std::uint32_t ways = 0, jumps = 0;
        for (int tick = 0; tick < 600; ++tick) {
            Vec3 now = before;
            const std::uint32_t what = random.below(4);
            if (what == 0) now = {random.between(0, 1'000), random.between(0, 1'000), 0};
            if (what < 3) now.x += now.x < 500 ? 3.0F : -3.0F;
            REQUIRE(stage.world().move(entity, now) == Status::ok);
            REQUIRE(stage.world().move(clock, {static_cast<float>(tick + 1), 0, 0}) == Status::ok);
            stage.step();
            const bool is_jump = kind == setup.wizard && meters_between(before, now) > 5;
            const Tick newest = stage.client().newest_tick();
            for (const double part : {0.25, 0.75, 1.0}) {
                const auto t = static_cast<float>(is_jump && part < 1 ? 0 : part);
                const Vec3 expected{before.x + (now.x - before.x) * t,
                                    before.y + (now.y - before.y) * t, 0};
                const Vec3 drawn = stage.client().position_of(ghost, newest - 1 + part);
                REQUIRE(meters_between(drawn, expected) < 0.1F);
            }
            ways += what != 0 && what < 3 ? 1 : 0;
            jumps += is_jump ? 1 : 0;
            before = now;
        }
        CHECK(ways > 100);
        CHECK((jumps > 100) == (kind == setup.wizard));
    }
}

TEST_CASE("client: an idle ghost starts to interpolate only when its next update arrives") {
    const JumpSchema setup;
    Stage stage(setup.schema, 1);
    SplitMix random(6);
    const EntityId entity = stage.spawn(setup.ball, {500, 500, 0});
    stage.step(3);
    const GhostId ghost = stage.ghost(0, entity);
    REQUIRE(ghost != GhostId::none);
    Vec3 before{500, 500, 0};
    std::uint32_t idle_walks = 0;
    for (int walk = 0; walk < 60; ++walk) {
        const std::uint32_t pause = random.below(120);  // no snapshots are sent during it
        const Tick newest_before = stage.client().newest_tick();
        stage.step(pause);
        idle_walks += stage.client().newest_tick() < newest_before + pause ? 1 : 0;
        for (std::uint32_t tick = random.below(3) + 1; tick > 0; --tick) {
            const Vec3 now{before.x + (before.x < 500 ? 3.0F : -3.0F), before.y, 0};
            REQUIRE(stage.world().move(entity, now) == Status::ok);
            stage.step();
            const Tick newest = stage.client().newest_tick();
            REQUIRE(newest == stage.server->current_tick());
            for (const double part : {0.0, 0.25, 0.75, 1.0}) {
                const auto t = static_cast<float>(part);
                const Vec3 expected{before.x + (now.x - before.x) * t, before.y, 0};
                const Vec3 drawn = stage.client().position_of(ghost, newest - 1 + part);
                REQUIRE(meters_between(drawn, expected) < 0.1F);
            }
            before = now;
        }
    }
    CHECK(idle_walks > 30);
}

TEST_CASE("client: an entity that reuses a child's index gets its parent when attached") {
    const JumpSchema setup;
    Stage stage(setup.schema, 1);
    const EntityId parent = stage.spawn(setup.ball, {500, 500, 0});
    const EntityId before = stage.spawn(setup.ball, {501, 500, 0});
    REQUIRE(stage.world().attach(before, parent) == Status::ok);
    stage.step(3);
    REQUIRE(stage.world().despawn(before) == Status::ok);
    stage.step(3);
    const EntityId after = stage.spawn(setup.ball, {501, 500, 0});
    REQUIRE(index_of(after) == index_of(before));
    stage.step(3);
    CHECK(stage.client().parent_of(stage.ghost(0, after)) == GhostId::none);
    REQUIRE(stage.world().attach(after, parent) == Status::ok);
    stage.step(3);
    CHECK(stage.client().parent_of(stage.ghost(0, after)) == stage.ghost(0, parent));
}

TEST_CASE("prediction: a jump is not extrapolated when no packets arrive") {
    const JumpSchema setup;
    for (const bool jumps : {false, true}) {
        CAPTURE(jumps);
        Stage stage(setup.schema, 1);
        const EntityId entity = stage.spawn(setup.wizard, {100, 500, 0});
        Prediction prediction =
            std::move(Prediction::create(stage.client(), {.schema = &setup.schema})).value();
        float x = 100;
        for (int tick = 0; tick < 30; ++tick) {
            x += jumps && tick == 29 ? 300.0F : 2.0F;
            REQUIRE(stage.world().move(entity, {x, 500, 0}) == Status::ok);
            stage.step();
            (void)prediction.ticks_due(stage.now);
            (void)prediction.run_tick();
        }
        const GhostId ghost = stage.ghost(0, entity);
        float farthest = 0;
        for (int i = 0; i < 100; ++i)
            farthest =
                std::max(farthest, prediction.position_of(ghost, stage.now + i * 10'000).x - x);
        CHECK(farthest < (jumps ? 0.1F : 6.1F));
        CHECK(farthest > (jumps ? -0.1F : 5.9F));  // extrapolated by three ticks
    }
}

TEST_CASE("prediction: an entity sent every fourth tick is extrapolated at its real speed") {
    JumpSchema setup;
    setup.schema.edit_kind(setup.ball).intervals = {{0, 4}};
    Stage stage(setup.schema, 1);
    const EntityId clock = stage.spawn(setup.wizard);  // causes a packet in every tick
    const EntityId entity = stage.spawn(setup.ball, {100, 500, 0});
    Prediction prediction =
        std::move(Prediction::create(stage.client(), {.schema = &setup.schema})).value();
    float x = 100;
    Tick newest_update = 0;
    for (int tick = 0; tick < 60 || newest_update < stage.client().newest_tick(); ++tick) {
        REQUIRE(tick < 70);
        x += 1;
        REQUIRE(stage.world().move(entity, {x, 500, 0}) == Status::ok);
        REQUIRE(stage.world().move(clock, {static_cast<float>(tick) / 2, 0, 0}) == Status::ok);
        stage.step();
        (void)prediction.ticks_due(stage.now);
        newest_update = stage.client().updated_of(stage.ghost(0, entity));
    }
    float farthest = 0;  // drawn while no packets arrive
    for (int i = 0; i < 100; ++i) {
        const Vec3 drawn = prediction.position_of(stage.ghost(0, entity), stage.now + i * 10'000);
        farthest = std::max(farthest, drawn.x - x);
    }
    CHECK(farthest == doctest::Approx(3).epsilon(0.05));  // extrapolated by three ticks
}

}  // namespace purview::test
