// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// An entity or its observer leaves the range in each of eight directions, in steps and in one jump,
// with grid cells of several sizes.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "net.hpp"

namespace purview::test::leaving_range {

namespace {

constexpr float enter = 20, leave = 24;

ServerDef ranged(const TagSchema& schema, float cell_size) {
    ServerDef def = schema.def;
    def.rules.cell_size = cell_size;
    NodeDef near;
    near.name = "near";
    near.add(within(enter).leave_at(leave));
    def.rules.nodes = {near};
    return def;
}

float distance(Vec3 a, Vec3 b) {
    return std::hypot(a.x - b.x, a.y - b.y);
}

std::array<Vec3, 8> directions() {
    std::array<Vec3, 8> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const float angle = static_cast<float>(i) * 0.785398163F;
        all[i] = {std::cos(angle), std::sin(angle), 0};
    }
    return all;
}

Vec3 moved(Vec3 from, Vec3 direction, float meters) {
    return {from.x + direction.x * meters, from.y + direction.y * meters, 0};
}

}  // namespace

TEST_CASE("scenario: an entity or its observer leaves the range in all eight directions" *
          doctest::test_suite("P12 P15 M11")) {
    const TagSchema schema;
    for (const float cell_size : {4.0F, 20.0F, 64.0F}) {
        Net net(schema, 1, ranged(schema, cell_size));
        const EntityId me = net.spawn(schema.thing), other = net.spawn(schema.thing);
        CHECK(net.visibility().set_viewpoint(net.observer(), me) == Status::ok);
        // In the middle, on a border of cells, at a corner of the bounds, and outside of them.
        for (const Vec3 home :
             {Vec3{1.5F, -2.5F, 0}, Vec3{64, 0, 0}, Vec3{-299, 299, 0}, Vec3{400, -350, 0}}) {
            for (const bool observer_moves : {false, true}) {
                for (const Vec3 direction : directions()) {
                    for (const float pace_m : {0.7F, 3.0F, 19.0F, 150.0F}) {
                        CAPTURE(cell_size);
                        CAPTURE(home.x);
                        CAPTURE(observer_moves);
                        CAPTURE(direction.x);
                        CAPTURE(direction.y);
                        CAPTURE(pace_m);
                        CHECK(net.world().move(me, home) == Status::ok);
                        CHECK(net.world().move(other, home) == Status::ok);
                        net.step();
                        REQUIRE(net.ghost(0, other) != GhostId::none);
                        (void)net.take_news();
                        const EntityId mover = observer_moves ? me : other;
                        bool is_in = true;
                        std::size_t changes = 0;
                        float way = 0;
                        const auto go = [&](float meters) {
                            way += meters;
                            CHECK(net.world().move(mover, moved(home, direction, way)) ==
                                  Status::ok);
                            net.step();
                            const float d = distance(net.world().position_of(me),
                                                     net.world().position_of(other));
                            // At the border either result is right because of rounding.
                            const float border = is_in ? leave : enter;
                            const bool now = net.ghost(0, other) != GhostId::none;
                            if (std::abs(d - border) > 1e-3F) REQUIRE(now == (d <= border));
                            changes += now != is_in ? 1 : 0;
                            is_in = now;
                        };
                        while (way < 40) go(pace_m);
                        CHECK_FALSE(is_in);
                        while (way > 0) go(-pace_m);
                        CHECK(is_in);
                        CHECK(changes == 2);
                        CHECK(net.take_news().size() == 2);
                    }
                }
            }
        }
        CHECK(net.difference() == "");
        net.check_streams();
    }
}

TEST_CASE("scenario: entities that leave the range are removed on a network with faults" *
          doctest::test_suite("P15")) {
    const TagSchema schema;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        CAPTURE(seed);
        Net net(schema, 1, ranged(schema, 20), {0.3F, 0.05F, 0, 40'000, 60'000}, seed);
        const EntityId me = net.spawn(schema.thing);
        CHECK(net.visibility().set_viewpoint(net.observer(), me) == Status::ok);
        std::vector<EntityId> around;
        for (int i = 0; i < 8; ++i) around.push_back(net.spawn(schema.thing));
        SplitMix random(seed);
        const auto all = directions();
        for (int round = 0; round < 60; ++round) {
            for (std::size_t i = 0; i < around.size(); ++i) {
                const Vec3 to = moved(net.world().position_of(me), all[i],
                                      random.chance(0.5F) ? 10.0F : random.between(10, 120));
                CHECK(net.world().move(around[i], to) == Status::ok);
                net.edit(around[i], random.below(1'000));
            }
            if (random.chance(0.3F)) {
                const Vec3 from = net.world().position_of(me);
                CHECK(net.world().move(me, moved(from, all[random.below(8)], 25)) == Status::ok);
            }
            net.step(1 + random.below(3));
        }
        CHECK(net.settle() == "");
        for (const EntityId one : around) CHECK(net.world().move(one, {900, 900, 0}) == Status::ok);
        CHECK(net.settle() == "");
        CHECK(net.held().size() == 1);
        net.check_streams();
    }
}

}  // namespace purview::test::leaving_range
