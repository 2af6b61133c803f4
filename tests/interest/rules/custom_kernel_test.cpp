// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Custom kernels that test sixteen entities at a time.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "purview/extend/kernel.hpp"
#include "purview/interest.hpp"

namespace purview::test {

namespace {

/// Matches where |x| + |y| is at most `reach`, or twice that once relevant. The result is unknown
/// where the flag is set.
class Diamond final : public CustomKernel {
  public:
    Diamond(float reach, FlagId blurred)
        : CustomKernel(
              {.name = "diamond", .reach = 2 * reach, .remembers = true, .returns_unknown = true}),
          reach_(reach),
          blurred_(blurred) {}
    void test(const BlockQuery& query, std::span<std::uint16_t> matches,
              std::span<std::uint16_t> unknown) const noexcept override {
        for (std::size_t i = 0; i < query.blocks.size(); ++i) {
            const std::uint32_t block = query.blocks[i];
            unknown[i] = query.entities.with_flag(block, blurred_);
            const unsigned before = query.previous.empty() ? 0U : query.previous[i];
            for (unsigned lane = 0; lane < EntityBlocks::lanes; ++lane) {
                const float limit = (before >> lane & 1U) != 0 ? 2 * reach_ : reach_;
                for (const Vec3& from : query.viewpoints) {
                    const float steps = std::abs(query.entities.x(block)[lane] - from.x) +
                                        std::abs(query.entities.y(block)[lane] - from.y);
                    if (steps <= limit)
                        matches[i] = static_cast<std::uint16_t>(matches[i] | 1U << lane);
                }
            }
        }
    }
    std::string describe(const BlockQuery& query, unsigned lane) const override {
        return "x is " + std::to_string(query.entities.position(query.blocks[0], lane).x);
    }

  private:
    float reach_;
    FlagId blurred_;
};

}  // namespace

TEST_CASE("kernel: a custom kernel tests sixteen entities at a time") {
    for (const Axes axes : {Axes::xy, Axes::xyz}) {
        Rules rules;
        rules.axes = axes;
        rules.max = {1024, 1024, axes == Axes::xyz ? 64.0F : 0.0F};
        const FlagId blurred = rules.flag("blurred");
        rules.node("near").add(std::make_shared<Diamond>(10.0F, blurred));
        InterestManager manager(rules);
        const EntityId center = manager.spawn({.position = {100, 100}});
        std::vector<EntityId> ring;
        for (int i = 0; i < 40; ++i)
            ring.push_back(manager.spawn({.position = {100 + static_cast<float>(i), 100}}));
        const ObserverId observer = manager.add_observer({.viewpoint = center});
        manager.tick();
        CHECK(manager.is_relevant(observer, ring[10]));
        CHECK_FALSE(manager.is_relevant(observer, ring[11]));
        // The leave distance is twice the reach.
        manager.move(ring[10], {120, 100});
        manager.move(ring[9], {120.5F, 100});
        manager.tick();
        CHECK(manager.is_relevant(observer, ring[10]));
        CHECK_FALSE(manager.is_relevant(observer, ring[9]));
        // An unknown result adds nothing.
        manager.set_flag(ring[3], blurred, true);
        manager.tick();
        CHECK_FALSE(manager.is_relevant(observer, ring[3]));
        CHECK(manager.is_relevant(observer, ring[4]));
        CHECK(manager.explain(observer, ring[4]).text().find("x is 104") != std::string::npos);
    }
}

TEST_CASE("kernel: positions in blocks use the axes of the caller") {
    Rules rules;
    rules.axes = Axes::xz;
    rules.max = {1024, 0, 1024};
    rules.node("north").add(
        make_pair_kernel({.name = "north"}, [](Vec3 entity, Vec3 observer) noexcept {
            return entity.z > observer.z && entity.x == observer.x;
        }));
    rules.node("same place")
        .add(make_pair_kernel({.name = "same place"}, [](const Pair& p) noexcept {
            return p.position().x == p.positions()[0].x && p.position().z == p.positions()[0].z;
        }));
    InterestManager manager(rules);
    const EntityId center = manager.spawn({.position = {100, 0, 200}});
    const EntityId north = manager.spawn({.position = {100, 0, 300}});
    const EntityId east = manager.spawn({.position = {300, 0, 200}});
    const ObserverId observer = manager.add_observer({.viewpoint = center});
    manager.tick();
    CHECK(manager.is_relevant(observer, center));
    CHECK(manager.is_relevant(observer, north));
    CHECK_FALSE(manager.is_relevant(observer, east));
}

TEST_CASE("kernel: areas use the axes of the caller") {
    class SeesBox final : public CustomKernel {
      public:
        explicit SeesBox(std::vector<Area>& seen)
            : CustomKernel({.name = "sees box", .every_tick = true}), seen_(seen) {}
        void test(const BlockQuery& query, std::span<std::uint16_t>,
                  std::span<std::uint16_t>) const noexcept override {
            seen_.assign(query.areas.begin(), query.areas.end());
        }
        std::string describe(const BlockQuery&, unsigned) const override { return "sees a box"; }

      private:
        std::vector<Area>& seen_;
    };
    for (const Axes axes : {Axes::xy, Axes::xz, Axes::xyz}) {
        std::vector<Area> seen;
        Rules rules;
        rules.axes = axes;
        rules.max = {1024, axes == Axes::xz ? 0.0F : 1024.0F, axes == Axes::xy ? 0.0F : 1024.0F};
        rules.node("box").add(std::make_shared<SeesBox>(seen));
        InterestManager manager(rules);
        (void)manager.spawn({.position = {100, 100, 100}});
        const ObserverId observer = manager.add_observer({});
        Area area = Area::box({10, 20, 30}, {1, 2, 3});
        area.direction = {0.5F, 0.25F, 0.125F};
        REQUIRE(manager.set_area(observer, 0, area) == Status::ok);
        manager.tick();
        REQUIRE(seen.size() == 1);
        const float y = axes == Axes::xz ? 0 : 1, z = axes == Axes::xy ? 0 : 1;
        CHECK(seen[0].center == Vec3{10, 20 * y, 30 * z});
        CHECK(seen[0].half_size == Vec3{1, 2 * y, 3 * z});
    }
}

}  // namespace purview::test
