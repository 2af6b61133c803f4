// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A shot into the past at a target that despawned and respawned in one tick: it hits neither the
// old entity again, nor the new one at the old position.
#include <functional>
#include <set>
#include <vector>

#include "net.hpp"

namespace purview::test::respawn_shot {

TEST_CASE("scenario: a shot hits neither a dead target nor the one respawned there" *
          doctest::test_suite("O19")) {
    for (const bool reuses_index : {false, true}) {
        for (const bool is_far : {false, true}) {
            CAPTURE(reuses_index);
            CAPTURE(is_far);
            TagSchema setup;
            setup.schema.rewind(setup.position.id);
            setup.schema.rewind(setup.tag.id);
            ServerDef def = setup.def;
            def.rewind.ticks = 40;
            // A full world reuses indices within the history.
            if (reuses_index) def.entities_max = 2;
            Net net(setup, 1, def);
            const EntityId bystander = net.spawn(setup.thing, {-50, 0, 0});
            EntityId old = net.spawn(setup.thing, {10, 0, 0});
            const Vec3 respawn = is_far ? Vec3{100, 0, 0} : Vec3{10, 0, 0};
            const auto step_with = [&](const std::function<void(Server&, Tick)>& what) {
                net.when_tick = what;
                net.step();
                net.when_tick = {};
            };
            const auto hits = [](PastView view, Vec3 at) {
                std::vector<PastHit> along, within;
                CHECK(view.find_along({at.x, -5, 0}, {at.x, 5, 0}, 0.5F, along) == Status::ok);
                CHECK(view.find_within(at, 0.5F, within) == Status::ok);
                CHECK(along.size() == within.size());
                return within;
            };
            std::set<std::uint32_t> used{index_of(bystander), index_of(old)};
            int reused = 0;
            for (int round = 0; round < 5; ++round) {
                CAPTURE(round);
                net.step(20);
                const Vec3 before = net.world().position_of(old);
                EntityId next = EntityId::none;
                Tick died = 0;
                step_with([&](Server& server, Tick tick) {
                    // Before it despawns, it is hit now and in the past.
                    for (const double back : {1.0, 2.5, 10.0}) {
                        const auto view = server.rewind(net.observer(), tick - back);
                        REQUIRE(view);
                        const auto found = hits(*view, before);
                        REQUIRE(found.size() == 1);
                        CHECK(found[0].entity == old);
                    }
                    CHECK(server.world().despawn(old) == Status::ok);
                    next = server.world().spawn({.kind = setup.thing, .position = respawn});
                    REQUIRE(next != EntityId::none);
                    server.world().edit(next, setup.tag)->number = 1'000 + tick;
                    CHECK(next != old);
                    reused += used.insert(index_of(next)).second ? 0 : 1;
                    died = tick;
                    // A second shot in the same tick at the position that the client saw: no hit.
                    for (const double back : {0.5, 1.0, 2.5, 10.0}) {
                        CAPTURE(back);
                        const auto view = server.rewind(net.observer(), tick - back);
                        REQUIRE(view);
                        CHECK(hits(*view, before).empty());
                        CHECK(hits(*view, respawn).empty());
                        for (const EntityId one : {old, next}) {
                            CHECK_FALSE(view->sees(one));
                            CHECK(view->get(one, setup.tag) == nullptr);
                            CHECK(view->position_of(one) == Vec3{});
                            CHECK(view->write(one, setup.tag.id) == Status::refused);
                        }
                        CHECK(view->sees(bystander));
                    }
                });
                // Later shots hit the new entity only from its spawn tick on.
                for (int later = 1; later < 12; ++later) {
                    step_with([&](Server& server, Tick tick) {
                        for (double at = static_cast<double>(died) - 4;
                             at < static_cast<double>(tick); at += 0.5) {
                            CAPTURE(later);
                            CAPTURE(at - static_cast<double>(died));
                            const auto view = server.rewind(net.observer(), at);
                            REQUIRE(view);
                            const bool is_there = at >= static_cast<double>(died);
                            CHECK(view->sees(next) == is_there);
                            CHECK_FALSE(view->sees(old));
                            const auto found = hits(*view, respawn);
                            REQUIRE(found.size() == (is_there ? 1 : 0));
                            if (is_there) CHECK(found[0].entity == next);
                            if (is_far) CHECK(hits(*view, before).empty());
                            const Tag* tag = view->get(next, setup.tag);
                            CHECK((tag != nullptr) == is_there);
                            if (tag != nullptr) CHECK(tag->number == 1'000 + died);
                        }
                    });
                }
                // The client agrees.
                CHECK(net.difference() == "");
                CHECK(net.held().size() == 2);
                old = next;
                if (is_far) CHECK(net.world().move(old, {10, 0, 0}) == Status::ok);
            }
            if (reuses_index) CHECK(reused > 1);
            net.check_streams();
        }
    }
}

}  // namespace purview::test::respawn_shot
