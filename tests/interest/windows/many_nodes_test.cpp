// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Thousands of spatial nodes over one storage. Results are exact, no entity is stored twice, and
// few entities are tested.
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "interest/rules/interest_kernel.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines::many_nodes {

namespace {

constexpr float side_m = 600;

/// The nodes have `kinds` different radii.
float radius_of(std::uint32_t node, std::uint32_t kinds) {
    return 30 + 0.001F * static_cast<float>(node % kinds);
}

Rules with_nodes(std::uint32_t nodes, std::uint32_t kinds, std::uint32_t entities) {
    std::vector<NodeDef> all;
    for (std::uint32_t n = 0; n < nodes; ++n) {
        all.push_back(node("node " + std::to_string(n), {within(Combine::add, radius_of(n, kinds))},
                           Members::bound));
    }
    Rules def = def_of(std::move(all));
    def.max = {side_m, side_m, 0};
    def.entities_expected = entities;
    def.cell_size = 20;
    return def;
}

/// A radius as a custom kernel, which counts the entities that it tests.
class CountingRadius final : public InterestKernel {
  public:
    CountingRadius(float radius, std::shared_ptr<std::uint64_t> queried)
        : radius_m_(radius), queried_(std::move(queried)) {}
    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < q.blocks.size(); ++i) {
            unsigned lanes = q.slots.occupied()[q.blocks[i]];
            if (!q.requested.empty()) lanes &= q.requested[i];
            for (; lanes != 0; lanes &= lanes - 1) {
                const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
                const Vec3 at = q.slots.position(slot_at(q.blocks[i], lane));
                for (const Vec3& from : q.positions) {
                    const float dx = at.x - from.x, dy = at.y - from.y;
                    if (dx * dx + dy * dy <= radius_m_ * radius_m_)
                        out[i] = static_cast<Mask>(out[i] | lane_bit(lane));
                }
                ++*queried_;
            }
        }
    }
    std::string describe(const KernelQuery&, unsigned) const override { return "radius"; }
    float reach() const noexcept override { return radius_m_; }
    bool answers_unknown() const noexcept override { return false; }

  private:
    float radius_m_;
    std::shared_ptr<std::uint64_t> queried_;
};

struct Crowd {
    Crowd(InterestManager& manager, std::uint32_t nodes, std::uint32_t count, std::uint64_t seed)
        : manager_(&manager), random(seed) {
        for (std::uint32_t i = 0; i < count; ++i) {
            positions.push_back({random.between(0, side_m), random.between(0, side_m), 0});
            node_of.push_back(random.below(nodes));
            const std::array bound{id_at<NodeId>(node_of[i])};
            EntityDef def;
            def.id = id(i);
            def.position = positions[i];
            def.nodes = bound;
            REQUIRE(manager.spawn(def) == id(i));
        }
    }
    void move(std::uint32_t i, Vec3 position) {
        positions[i] = position;
        REQUIRE(manager_->move(id(i), position) == Status::ok);
    }
    /// Moves all entities a little, or far.
    void move_all(bool far) {
        for (std::uint32_t i = 0; i < positions.size(); ++i) {
            const Vec3 to{random.between(0, side_m), random.between(0, side_m), 0};
            move(i, far ? to : Vec3{positions[i].x + random.between(-1, 1), positions[i].y, 0});
        }
    }
    Set expected(Vec3 from, std::uint32_t kinds) const {
        Set out;
        for (std::uint32_t i = 0; i < positions.size(); ++i) {
            const float r = radius_of(node_of[i], kinds);
            const float dx = positions[i].x - from.x, dy = positions[i].y - from.y;
            if (dx * dx + dy * dy <= r * r) out.insert(i);
        }
        return out;
    }
    InterestManager* manager_;
    SplitMix random;
    std::vector<Vec3> positions;
    std::vector<std::uint32_t> node_of;
};

}  // namespace

TEST_CASE("many nodes: two thousand kernels over one storage equal separate kernels" *
          doctest::test_suite("N10 N57")) {
    constexpr std::uint32_t nodes = 2'000, count = 3'000;
    for (const std::uint32_t kinds : {1U, 5U, 40U, 2'000U}) {
        CAPTURE(kinds);
        InterestManager manager = make(with_nodes(nodes, kinds, count));
        Crowd crowd(manager, nodes, count, 3);
        std::vector<ObserverId> observers;
        for (std::uint32_t o = 0; o < 8; ++o) observers.push_back(watch(manager, id(o)));
        for (int t = 0; t < 12; ++t) {
            CAPTURE(t);
            if (t % 3 == 1) crowd.move_all(false);
            if (t % 3 == 2) crowd.move_all(true);
            // Some are bound to another node.
            for (std::uint32_t i = 100; t > 3 && i < 160; ++i) {
                crowd.node_of[i] = crowd.random.below(nodes);
                const std::array bound{id_at<NodeId>(crowd.node_of[i])};
                REQUIRE(manager.rebind(id(i), bound) == Status::ok);
            }
            manager.tick();
            for (std::uint32_t o = 0; o < observers.size(); ++o)
                CHECK(seen(manager, observers[o]) == crowd.expected(crowd.positions[o], kinds));
        }
    }
}

TEST_CASE("many nodes: a thousand more nodes store no entity again" * doctest::test_suite("N10")) {
    const auto memory_of = [](std::uint32_t nodes, std::uint32_t count) {
        constexpr std::uint32_t kinds = 40;
        CountedMemory memory;
        InterestManager manager = make(with_nodes(nodes, kinds, count));
        Crowd crowd(manager, nodes, count, 5);
        manager.tick();
        return memory.held;
    };
    // The memory of 3,600 entities with one node, and with a thousand.
    const auto with_one =
        static_cast<double>(memory_of(1, 4'000)) - static_cast<double>(memory_of(1, 400));
    const auto with_many =
        static_cast<double>(memory_of(1'000, 4'000)) - static_cast<double>(memory_of(1'000, 400));
    CAPTURE(with_one);
    CAPTURE(with_many);
    CHECK(with_one > 3'600 * 2.0 * sizeof(float));
    CHECK(with_many < 2 * with_one);
}

TEST_CASE("many nodes: four thousand nodes test no more entities than the RFC's algorithm" *
          doctest::test_suite("N57")) {
    constexpr std::uint32_t count = 10'000, watchers = 50;
    // The number of entities that kernels test in a tick in which all move.
    const auto tests_per_tick = [](std::uint32_t nodes, std::uint32_t kinds, bool far) {
        const auto tested = std::make_shared<std::uint64_t>(0);
        std::vector<std::shared_ptr<const InterestKernel>> kernels;
        for (std::uint32_t k = 0; k < kinds; ++k)
            kernels.push_back(std::make_shared<CountingRadius>(radius_of(k, kinds), tested));
        Rules def = with_nodes(nodes, kinds, count);
        for (std::uint32_t n = 0; n < nodes; ++n)
            def.nodes[n].steps = {own_kernel(Combine::add, kernels[n % kinds])};
        InterestManager manager = make(def);
        Crowd crowd(manager, nodes, count, 9);
        std::vector<ObserverId> observers;
        for (std::uint32_t o = 0; o < watchers; ++o) observers.push_back(watch(manager, id(o)));
        manager.tick();
        *tested = 0;
        for (int t = 0; t < 3; ++t) {
            crowd.move_all(far);
            manager.tick();
        }
        const auto per_tick = static_cast<double>(*tested) / 3;
        CHECK(seen(manager, observers[7]) == crowd.expected(crowd.positions[7], kinds));
        return per_tick;
    };
    for (const bool far : {false, true}) {
        for (const std::uint32_t kinds : {1U, 40U, 4'000U}) {
            CAPTURE(far);
            CAPTURE(kinds);
            const double one = tests_per_tick(1, 1, far), many = tests_per_tick(4'000, kinds, far);
            CAPTURE(one);
            CAPTURE(many);
            CHECK(one > 0);
            // Equal steps are evaluated once. A benchmark measures the time of different ones.
            if (kinds == 1) CHECK(many <= 5 * one);
            // The RFC's algorithm tests each entity of a node with its kernel, for each client.
            CHECK(many <= static_cast<double>(count) * watchers);
        }
    }
}

}  // namespace purview::test::lines::many_nodes
