// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests which data a custom kernel may read, when it is evaluated again, and in which dimensions
// the preset of the RFC measures distances.
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "purview/presets.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines::kernel_facts {

TEST_CASE("kernel: it reads attributes of the entity and of the observer's main entity" *
          doctest::test_suite("N59 N41")) {
    // Relevant: the same key as the main entity, at least its level, and the same flag.
    const auto evaluate =
        make_pair_kernel({.name = "game", .reads_positions = false}, [](const Pair& pair) noexcept {
            return pair.main() != EntityId::none &&
                   pair.key(id_at<KeyId>(1)) == pair.observer_key(id_at<KeyId>(1)) &&
                   pair.value(id_at<ValueId>(1)) >= pair.main_value(id_at<ValueId>(1)) &&
                   pair.has(id_at<FlagId>(2)) == pair.main_has(id_at<FlagId>(2));
        });
    InterestManager manager = make(std::vector{node("own", {own_kernel(Combine::add, evaluate)})});
    struct Fact {
        std::uint16_t key;
        float level;
        bool flag;
    };
    std::vector<Fact> facts;
    for (const std::uint16_t key : {std::uint16_t{1}, std::uint16_t{2}}) {
        for (const float level : {1.0F, 2.0F, 3.0F}) {
            for (const bool flag : {false, true}) facts.push_back({key, level, flag});
        }
    }
    for (std::uint32_t i = 0; i < facts.size(); ++i) {
        const std::array keys{Key::none, Key{facts[i].key}};
        const std::array values{0.0F, facts[i].level};
        EntityDef def = bound_to(static_cast<float>(i), {}, facts[i].flag ? 4 : 0);
        def.keys = keys;
        def.values = values;
        spawn(manager, i, def);
    }
    const auto expected = [&](std::uint32_t main) {
        Set out;
        for (std::uint32_t i = 0; i < facts.size(); ++i) {
            if (facts[i].key == facts[main].key && facts[i].level >= facts[main].level &&
                facts[i].flag == facts[main].flag)
                out.insert(i);
        }
        return out;
    };
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer).empty());  // without a main entity
    for (std::uint32_t main = 0; main < facts.size(); ++main) {
        CAPTURE(main);
        CHECK(manager.set_viewpoint(observer, id(main)) == Status::ok);
        CHECK(ticked(manager, observer) == expected(main));
        // A change of the candidate takes effect in its tick. A change of the main entity needs a
        // recheck of it.
        const std::uint32_t other = (main + 2) % 12;
        const Fact was = facts[other], mine = facts[main];
        facts[other] = mine;
        CHECK(manager.set_key(id(other), id_at<KeyId>(1), Key{mine.key}) == Status::ok);
        CHECK(manager.set_value(id(other), id_at<ValueId>(1), mine.level) == Status::ok);
        CHECK(manager.set_flag(id(other), id_at<FlagId>(2), mine.flag) == Status::ok);
        CHECK(ticked(manager, observer) == expected(main));
        facts[main] = {static_cast<std::uint16_t>(3 - mine.key), 2, !mine.flag};
        CHECK(manager.set_key(id(main), id_at<KeyId>(1), Key{facts[main].key}) == Status::ok);
        CHECK(manager.set_value(id(main), id_at<ValueId>(1), 2) == Status::ok);
        CHECK(manager.set_flag(id(main), id_at<FlagId>(2), facts[main].flag) == Status::ok);
        CHECK(manager.recheck(id(main)) == Status::ok);
        CHECK(ticked(manager, observer) == expected(main));
        for (const auto& [which, fact] : {std::pair{other, was}, std::pair{main, mine}}) {
            facts[which] = fact;
            CHECK(manager.set_key(id(which), id_at<KeyId>(1), Key{fact.key}) == Status::ok);
            CHECK(manager.set_value(id(which), id_at<ValueId>(1), fact.level) == Status::ok);
            CHECK(manager.set_flag(id(which), id_at<FlagId>(2), fact.flag) == Status::ok);
        }
    }
}

TEST_CASE("kernel: a kernel that reads game data runs as declared or on a recheck" *
          doctest::test_suite("N59 N52")) {
    for (const bool every_tick : {false, true}) {
        for (const bool is_spatial : {false, true}) {
            CAPTURE(every_tick);
            CAPTURE(is_spatial);
            const auto cloaked = std::make_shared<std::atomic<bool>>(false);
            KernelTraits kernel;
            kernel.name = "not cloaked";
            kernel.reach = is_spatial ? 30 : 0;
            kernel.reads_positions = is_spatial;
            kernel.every_tick = every_tick;
            const auto sees =
                make_pair_kernel(kernel, [cloaked](const Pair&) noexcept { return !*cloaked; });
            InterestManager manager =
                make(std::vector{node("own", {own_kernel(Combine::add, sees)})});
            spawn(manager, 0, 50);
            spawn(manager, 1, 55);
            const ObserverId observer = watch(manager, id(0));
            CHECK(ticked(manager, observer) == Set{0, 1});
            // The game's own data changes, without any change in the engine.
            *cloaked = true;
            if (every_tick) {
                CHECK(tick_news(manager, observer) == News{{}, {0, 1}});
                *cloaked = false;
                CHECK(tick_news(manager, observer) == News{{0, 1}, {}});
                continue;
            }
            for (int t = 0; t < 5; ++t) CHECK(ticked(manager, observer) == Set{0, 1});
            CHECK(manager.recheck(id(1)) == Status::ok);
            CHECK(ticked(manager, observer).count(1) == 0);
            CHECK(manager.recheck(observer) == Status::ok);
            CHECK(ticked(manager, observer).empty());
            *cloaked = false;
            CHECK(ticked(manager, observer).empty());
            CHECK(manager.recheck(observer) == Status::ok);
            CHECK(ticked(manager, observer) == Set{0, 1});
        }
    }
}

TEST_CASE("preset: the preset of the RFC measures distance in three dimensions" *
          doctest::test_suite("N60")) {
    Rules def = preset(Preset::ngo);
    NodeDef near = node("near", {within(Combine::add, 10)}, Members::bound);
    def.nodes.push_back(near);
    InterestManager manager = make(def);
    const std::array bound{id_at<NodeId>(1)};
    const Vec3 home{500, 500, 500};
    std::uint32_t count = 0;
    Set expected;
    // In and out of range along each axis, and along the diagonals.
    for (int x = -1; x <= 1; ++x) {
        for (int y = -1; y <= 1; ++y) {
            for (int z = -1; z <= 1; ++z) {
                for (const float distance_m : {9.9F, 10.1F, 400.0F}) {
                    const auto length = std::sqrt(static_cast<float>(x * x + y * y + z * z));
                    if (length == 0) continue;
                    const float by = distance_m / length;
                    EntityDef one;
                    one.position = {home.x + static_cast<float>(x) * by,
                                    home.y + static_cast<float>(y) * by,
                                    home.z + static_cast<float>(z) * by};
                    one.nodes = bound;
                    if (distance_m < 10) expected.insert(count);
                    spawn(manager, count++, one);
                }
            }
        }
    }
    const ObserverId observer = watch(manager);
    CHECK(manager.set_area(observer, 0, Area::at(home)) == Status::ok);
    CHECK(ticked(manager, observer) == expected);
}

}  // namespace purview::test::lines::kernel_facts
