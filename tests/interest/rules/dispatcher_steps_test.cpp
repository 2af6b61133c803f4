// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The steps of a dispatching node run over the chosen bucket. Inner nodes may have their own steps.
// The oracle covers the rest with random worlds (oracle_rules.cpp).
#include <memory>
#include <vector>

#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

/// Odd and even entities: an observer reads the inner node of its main entity's parity.
struct Parity : Dispatcher {
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        out.push_back(index_of(entity.entity) % 2);
    }
    void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const override {
        if (observer.main != EntityId::none) out.push_back(index_of(observer.main) % 2);
    }
    bool reads_positions() const noexcept override { return false; }
};

/// Ten entities, ten meters apart. The observer's main entity is number 2. 4 and 5 have the flag.
Set shown_by(NodeDef desc) {
    InterestManager manager = make(std::vector{std::move(desc)});
    for (std::uint32_t i = 0; i < 10; ++i) spawn(manager, i, static_cast<float>(i) * 10);
    for (const std::uint32_t i : {4U, 5U})
        CHECK(manager.set_flag(id(i), id_at<FlagId>(0), true) == Status::ok);
    const ObserverId observer = watch(manager, id(2));
    return ticked(manager, observer);
}

}  // namespace

TEST_CASE("dispatcher: steps run over the bucket, and nothing else is relevant" *
          doctest::test_suite("N12 N56")) {
    const auto parity = std::make_shared<Parity>();
    const auto with = [&](std::vector<Kernel> steps) {
        return shown_by(dispatched("odd and even", parity, std::move(steps)));
    };
    const Kernel everything =
        own_kernel(Combine::add, make_pair_kernel({.name = "all", .reads_positions = false},
                                                  [](const Pair&) noexcept { return true; }));
    CHECK(with({}) == Set{0, 2, 4, 6, 8});
    CHECK(with({within(Combine::add, 20)}) == Set{0, 2, 4});
    CHECK(with({within(Combine::require, 20)}) == Set{0, 2, 4});
    CHECK(with({flag(Combine::subtract, 0)}) == Set{0, 2, 6, 8});
    CHECK(with({within(Combine::add, 20), flag(Combine::subtract, 0)}) == Set{0, 2});
    CHECK(with({everything, flag(Combine::subtract, 0)}) == Set{0, 2, 6, 8});
    CHECK(with({flag(Combine::add, 0)}) == Set{4});
    // "Near or flagged, in my bucket" needs more than one step.
    CHECK(with({within(Combine::add, 10), flag(Combine::add, 0)}) == Set{2, 4});
    // Later steps that add are limited to the bucket, too.
    CHECK(with({flag(Combine::subtract, 0), within(Combine::add, 30)}) == Set{0, 2, 4, 6, 8});
}

TEST_CASE("dispatcher: an inner node may have its own steps" * doctest::test_suite("N56")) {
    struct Floors final : Parity {
        void cover(const DispatchedObserver&, std::vector<CellId>& out) const override {
            out = {0, 1};
        }
        std::size_t steps_of(CellId cell) const noexcept override {
            return cell == 0 ? 0 : no_steps;
        }
    };
    NodeDef desc = dispatched("floors", std::make_shared<Floors>());
    desc.inner = {{within(Combine::add, 20)}};
    CHECK(shown_by(desc) == Set{0, 1, 2, 3, 4, 5, 7, 9});
    desc.inner = {{flag(Combine::subtract, 0)}};
    CHECK(shown_by(desc) == Set{0, 1, 2, 3, 5, 6, 7, 8, 9});
    desc.inner = {{within(Combine::require, 20), flag(Combine::subtract, 0)}};
    CHECK(shown_by(desc) == Set{0, 1, 2, 3, 5, 7, 9});
    // Steps of the node itself run over the results of the inner nodes.
    desc.steps = {within(Combine::add, 30)};
    CHECK(shown_by(desc) == Set{0, 1, 2, 3, 5});
}

TEST_CASE("dispatcher: an entity in several inner nodes needs only one that matches" *
          doctest::test_suite("N24 N56")) {
    struct Overlapping final : Dispatcher {
        void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
            out = {index_of(entity.entity) < 5 ? CellId{0} : CellId{1}, CellId{2}};
        }
        void cover(const DispatchedObserver&, std::vector<CellId>& out) const override {
            out = {0, 2};
        }
        std::size_t steps_of(CellId cell) const noexcept override {
            return static_cast<std::size_t>(cell);
        }
    };
    NodeDef desc = dispatched("overlapping", std::make_shared<Overlapping>());
    desc.inner = {{within(Combine::add, 10)}, {}, {flag(Combine::add, 0)}};
    CHECK(shown_by(desc) == Set{1, 2, 3, 4, 5});
}

TEST_CASE("dispatcher: an inner node that hides an entity hides it at once" *
          doctest::test_suite("N22 N56")) {
    struct One final : Parity {
        std::size_t steps_of(CellId) const noexcept override { return 0; }
    };
    NodeDef desc = dispatched("one", std::make_shared<One>());
    desc.inner = {{flag(Combine::subtract, 0)}};
    Rules def = def_of({desc});
    def.minimum_relevance_ticks = 50;
    InterestManager manager = make(def);
    for (const std::uint32_t i : {0U, 2U}) spawn(manager, i, 50);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 2});
    CHECK(manager.set_flag(id(2), id_at<FlagId>(0), true) == Status::ok);
    manager.tick();
    REQUIRE(manager.events().size() == 1);
    CHECK(manager.events()[0].reason == Reason::hidden);
    CHECK(seen(manager, observer) == Set{0});
}

TEST_CASE("dispatcher: inner steps that cannot be evaluated are refused with a reason" *
          doctest::test_suite("N56")) {
    const auto problem = [](const NodeDef& desc) { return problem_of(def_of({desc})); };
    NodeDef desc = dispatched("d", std::make_shared<Parity>());
    desc.inner = {{within(Combine::add, 10, 5)}};
    CHECK(problem(desc).find("inner steps 0, step 1: a step of an inner node cannot have memory") !=
          std::string::npos);
    desc.inner = {{}, {within(Combine::add, -1)}};
    CHECK(problem(desc).find("inner steps 1, step 1: a distance needs") != std::string::npos);
    desc.inner = {{flag(Combine::add, 9)}};
    CHECK(problem(desc).find("uses a flag that is not declared") != std::string::npos);
    NodeDef grid = node("grid", {within(Combine::add, 10)});
    grid.inner = {{}};
    CHECK(problem(grid).find("only a dispatcher has inner nodes") != std::string::npos);
}

TEST_CASE("dispatcher: recheck of a main entity also updates its observers' buckets" *
          doctest::test_suite("N52")) {
    struct ByNumber final : Dispatcher {
        explicit ByNumber(const std::vector<std::uint32_t>& numbers) : numbers_(numbers) {}
        void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
            out.push_back(numbers_[index_of(entity.entity)] % 2);
        }
        void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const override {
            out.push_back(numbers_[index_of(observer.main)] % 2);
        }
        const std::vector<std::uint32_t>& numbers_;
    };
    std::vector<std::uint32_t> numbers{0, 1, 2, 3};
    InterestManager manager =
        make(std::vector{dispatched("numbers", std::make_shared<ByNumber>(numbers))});
    for (std::uint32_t i = 0; i < 4; ++i) spawn(manager, i, 50);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 2});
    numbers[0] = 1;  // changes what the main entity's observer sees, and which observers see it
    CHECK(manager.recheck(id(0)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1, 3});
}

}  // namespace purview::test::lines
