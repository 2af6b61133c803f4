// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Group members change parents while the old or the new parent leaves the view. Members are also
// hidden and shown again while attached.
#include <array>
#include <string>
#include <vector>

#include "net.hpp"

namespace purview::test::passengers {

namespace {

constexpr float near_m = 30;

ServerDef viewed(const TagSchema& schema) {
    ServerDef def = schema.def;
    NodeDef near;
    near.name = "near";
    near.add(within(near_m));
    def.rules.nodes = {near};
    return def;
}

constexpr std::array<Faults, 2> networks{Faults{}, Faults{0.3F, 0.05F, 0, 20'000, 60'000}};

}  // namespace

TEST_CASE("scenario: a passenger changes its parent while one of them leaves the view" *
          doctest::test_suite("O7 O10 O35 O42")) {
    const TagSchema schema;
    for (const Faults& faults : networks) {
        Net net(schema, 1, viewed(schema), faults, 3);
        const EntityId me = net.spawn(schema.thing, {0, 0, 0});
        CHECK(net.visibility().set_viewpoint(net.observer(), me) == Status::ok);
        constexpr Vec3 in{10, 10, 0}, out{200, 200, 0};
        // Bits: the positions of the two ships before and after, and the order of calls.
        for (unsigned bits = 0; bits < 32; ++bits) {
            for (unsigned from = 0; from < 3; ++from) {
                for (unsigned to = 0; to < 3; ++to) {
                    CAPTURE(faults.loss);
                    CAPTURE(bits);
                    CAPTURE(from);
                    CAPTURE(to);
                    const auto position = [&](unsigned bit) {
                        return (bits >> bit & 1U) != 0 ? in : out;
                    };
                    const std::array<EntityId, 2> ships{net.spawn(schema.thing, position(0)),
                                                        net.spawn(schema.thing, position(1))};
                    const EntityId passenger = net.spawn(schema.rider, {12, 10, 0});
                    const EntityId bag = net.spawn(schema.rider, {12, 11, 0});
                    CHECK(net.world().attach(bag, passenger) == Status::ok);
                    if (from < 2) CHECK(net.world().attach(passenger, ships[from]) == Status::ok);
                    if (faults.loss == 0) {
                        net.step(2);
                        CHECK(net.difference() == "");
                    } else {
                        net.step(3 + bits % 4);
                    }
                    const auto change_parent = [&] {
                        if (to < 2) {
                            CHECK(net.world().attach(passenger, ships[to]) == Status::ok);
                        } else if (from < 2) {
                            CHECK(net.world().detach(passenger) == Status::ok);
                        }
                    };
                    const bool parent_first = (bits >> 4 & 1U) != 0;
                    if (parent_first) change_parent();
                    CHECK(net.world().move(ships[0], position(2)) == Status::ok);
                    CHECK(net.world().move(ships[1], position(3)) == Status::ok);
                    if (!parent_first) change_parent();
                    if (faults.loss == 0) {
                        net.step();
                        CHECK(net.difference() == "");
                    }
                    CHECK(net.settle() == "");
                    for (const EntityId one : {ships[0], ships[1], passenger, bag})
                        CHECK(net.world().despawn(one) == Status::ok);
                }
            }
        }
        CHECK(net.settle() == "");
        net.check_streams();
    }
}

TEST_CASE("scenario: a passenger that is hidden and shown again has its former parent" *
          doctest::test_suite("O35 O22")) {
    const TagSchema schema;
    enum class Means { deny, force_hide };
    for (const Faults& faults : networks) {
        for (const Means means : {Means::deny, Means::force_hide}) {
            Net net(schema, 2, viewed(schema), faults, 5);
            // The second client has no denials.
            const EntityId me = net.spawn(schema.thing), other = net.spawn(schema.thing);
            CHECK(net.visibility().set_viewpoint(net.observer(0), me) == Status::ok);
            CHECK(net.visibility().set_viewpoint(net.observer(1), other) == Status::ok);
            const EntityId ship = net.spawn(schema.thing, {5, 5, 0});
            std::array<EntityId, 3> crew{};  // each is a child of the one before
            for (std::size_t i = 0; i < crew.size(); ++i) {
                crew[i] = net.spawn(schema.rider, {6 + static_cast<float>(i), 5, 0});
                CHECK(net.world().attach(crew[i], i == 0 ? ship : crew[i - 1]) == Status::ok);
            }
            CHECK(net.settle() == "");
            const auto hide = [&](EntityId entity, bool hidden) {
                CHECK((means == Means::deny
                           ? net.visibility().deny(net.observer(0), entity, hidden)
                           : net.visibility().set_hidden(entity, hidden)) == Status::ok);
            };
            for (std::size_t which = 0; which < crew.size(); ++which) {
                for (const std::uint32_t hidden_ticks : {0U, 1U, 2U, 5U, 20U}) {
                    for (const bool ship_moves : {false, true}) {
                        CAPTURE(faults.loss);
                        CAPTURE(static_cast<int>(means));
                        CAPTURE(which);
                        CAPTURE(hidden_ticks);
                        CAPTURE(ship_moves);
                        (void)net.take_news(0);
                        hide(crew[which], true);
                        const auto sail = [&](float x) {
                            if (ship_moves) CHECK(net.world().move(ship, {x, 5, 0}) == Status::ok);
                        };
                        for (std::uint32_t t = 0; t < hidden_ticks; ++t) {
                            sail(6 + static_cast<float>(t % 7));
                            net.step();
                            if (faults.loss > 0) continue;
                            // Members above it in the chain remain visible. Those below are hidden.
                            CHECK(net.difference(0) == "");
                            for (std::size_t i = 0; i < crew.size(); ++i)
                                CHECK((net.ghost(0, crew[i]) != GhostId::none) == (i < which));
                            CHECK((net.ghost(1, crew[which]) != GhostId::none) ==
                                  (means == Means::deny));
                        }
                        hide(crew[which], false);
                        sail(9);
                        if (faults.loss == 0) {
                            net.step();
                            CHECK(net.difference(0) == "");
                            CHECK(net.difference(1) == "");
                            const std::size_t moved = hidden_ticks == 0 ? 0 : crew.size() - which;
                            CHECK(net.take_news(0).size() == 2 * moved);
                        }
                        CHECK(net.settle() == "");
                        sail(5);
                    }
                }
            }
            // The ship leaves while its passenger is hidden. It returns before or after the show.
            for (const bool back_first : {false, true}) {
                hide(crew[1], true);
                net.step(2);
                CHECK(net.world().move(ship, {250, 250, 0}) == Status::ok);
                CHECK(net.settle() == "");
                CHECK(net.ghost(0, ship) == GhostId::none);
                if (!back_first) hide(crew[1], false);
                CHECK(net.world().move(ship, {5, 5, 0}) == Status::ok);
                if (back_first) {
                    net.step();
                    hide(crew[1], false);
                }
                CHECK(net.settle() == "");
                CHECK(net.ghost(0, crew[2]) != GhostId::none);
            }
            net.check_streams();
        }
    }
}

TEST_CASE("scenario: passengers change ships at random while ships enter and leave" *
          doctest::test_suite("O7 O35")) {
    const TagSchema schema;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        CAPTURE(seed);
        Net net(schema, 1, viewed(schema), {0.2F, 0.05F, 0, 30'000, 60'000}, seed);
        const EntityId me = net.spawn(schema.thing);
        CHECK(net.visibility().set_viewpoint(net.observer(), me) == Status::ok);
        SplitMix random(seed);
        std::vector<EntityId> ships, crew;
        for (int i = 0; i < 4; ++i) ships.push_back(net.spawn(schema.thing));
        for (int i = 0; i < 6; ++i) crew.push_back(net.spawn(schema.rider));
        for (int round = 0; round < 150; ++round) {
            for (const EntityId ship : ships) {
                if (random.chance(0.3F))
                    CHECK(net.world().move(ship, {random.between(-60, 60), 0, 0}) == Status::ok);
            }
            const EntityId one = crew[random.below(6)];
            switch (random.below(5)) {
                case 0:
                    (void)net.world().detach(one);
                    break;
                case 1:
                    (void)net.world().attach(one, crew[random.below(6)]);
                    break;
                case 2:
                    CHECK(net.visibility().deny(net.observer(), one, random.chance(0.5F)) ==
                          Status::ok);
                    break;
                default:
                    (void)net.world().attach(one, ships[random.below(4)]);
            }
            net.edit(one, random.below(1'000));
            net.step(1 + random.below(2));
        }
        CHECK(net.settle() == "");
        net.check_streams();
    }
}

}  // namespace purview::test::passengers
