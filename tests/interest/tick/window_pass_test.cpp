// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/tick/window_pass.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "core/observer_ids.hpp"
#include "core/run_chunks.hpp"
#include "purview/status.hpp"
#include "support/interest_parts.hpp"

namespace purview::test::window_pass_test {

namespace {

constexpr std::uint32_t entities = 300, observers = 200;  // several chunks

Rules window_rules() {
    Rules rules;
    rules.max = {400, 400, 0};
    rules.flag_names.resize(1);
    rules.node("near").add(within(40).leave_at(50)).subtract(id_at<FlagId>(0));
    return rules;
}

/// Runs each task on its own thread. All tasks start together.
Executor threaded(std::uint32_t workers) {
    Executor executor;
    executor.run = [](void*, std::uint32_t count, void (*task)(void*, std::uint32_t),
                      void* context) {
        std::latch begin(count);
        std::vector<std::thread> threads;
        for (std::uint32_t i = 0; i < count; ++i) {
            threads.emplace_back([&begin, task, context, i] {
                begin.arrive_and_wait();
                task(context, i);
            });
        }
        for (std::thread& thread : threads) thread.join();
    };
    executor.workers = workers;
    return executor;
}

/// Many observers that view from moving entities.
struct Crowd {
    Crowd(const Rules& rules, WindowUpdate update) : parts(rules, update) {
        for (std::uint32_t i = 0; i < entities; ++i)
            parts.spawn(i, random.between(0, 400), random.between(0, 400));
        for (std::uint32_t o = 0; o < observers; ++o) parts.watch(make_entity_id(o, 1));
    }
    void step() {
        for (int i = 0; i < 30; ++i) {
            const EntityId one = make_entity_id(random.below(entities), 1);
            const Vec3 to{random.between(0, 400), random.between(0, 400), 0};
            REQUIRE(parts.positions.move(one, to) == Status::ok);
            REQUIRE(parts.attributes.set_flag(make_entity_id(random.below(entities), 1),
                                              id_at<FlagId>(0), random.chance(0.3F)) == Status::ok);
        }
        const ObserverId observer = make_observer_id(random.below(observers), 1);
        REQUIRE(parts.observers.set_ready(observer, random.chance(0.7F)) == Status::ok);
        parts.tick();
    }
    SplitMix random{17};
    InterestParts parts;
};

void check_equal(const Crowd& a, const Crowd& b) {
    for (std::uint32_t o = 0; o < observers; ++o) {
        const Window& l = a.parts.stores.observers[o].window;
        const Window& r = b.parts.stores.observers[o].window;
        REQUIRE(
            std::equal(l.blocks().begin(), l.blocks().end(), r.blocks().begin(), r.blocks().end()));
        REQUIRE(std::equal(l.masks().begin(), l.masks().end(), r.masks().begin(), r.masks().end()));
    }
    const auto l = a.parts.stores.events.all(), r = b.parts.stores.events.all();
    REQUIRE(std::equal(l.begin(), l.end(), r.begin(), r.end()));
}

}  // namespace

TEST_CASE("window pass: one worker and four workers give the same results and events") {
    Crowd one(window_rules(), WindowUpdate::pull), four(window_rules(), WindowUpdate::pull);
    std::size_t events = 0, shared_ticks = 0;
    for (int tick = 0; tick < 150; ++tick) {  // observers are re-sorted meanwhile
        if (tick == 3) {
            four.parts.windows.set_executor(threaded(4));
            REQUIRE(four.parts.stores.workers.size() == 4);
        }
        if (tick == 100) four.parts.windows.set_executor({});
        one.step();
        four.step();
        CAPTURE(tick);
        check_equal(one, four);
        events += one.parts.stores.events.all().size();
        if (tick > 3 && tick < 100) {
            std::size_t used = 0;
            for (const WindowWorker& worker : four.parts.stores.workers)
                used += worker.chunks.empty() ? 0 : 1;
            shared_ticks += used > 1 ? 1 : 0;
        }
    }
    CHECK(events > 1'000);
    CHECK(shared_ticks > 0);
    CHECK(four.parts.stores.workers.size() ==
          4);  // never removed: visible block sets use their memory
}

TEST_CASE("window pass: push and pull updates equal a plain distance test") {
    Crowd pulled(window_rules(), WindowUpdate::pull), pushed(window_rules(), WindowUpdate::push);
    std::size_t relevant = 0;
    for (int tick = 0; tick < 25; ++tick) {
        CAPTURE(tick);
        pulled.step();
        pushed.step();
        for (std::uint32_t o = 0; o < observers; ++o) {
            const ObserverId observer = make_observer_id(o, 1);
            const std::vector<EntityId> found = pulled.parts.relevant(observer);
            REQUIRE(found == pushed.parts.relevant(observer));
            if (!pulled.parts.answers.is_ready(observer)) continue;
            const Vec3 from = pulled.parts.lookup.position_of(make_entity_id(o, 1));
            for (std::uint32_t i = 0; i < entities; ++i) {
                const EntityId entity = make_entity_id(i, 1);
                const bool is_in = std::binary_search(found.begin(), found.end(), entity);
                const Vec3 at = pulled.parts.lookup.position_of(entity);
                const float x = at.x - from.x, y = at.y - from.y, square = x * x + y * y;
                const bool is_flagged = pulled.parts.lookup.has_flag(entity, id_at<FlagId>(0));
                if (is_flagged || square > 50 * 50) REQUIRE_FALSE(is_in);
                if (!is_flagged && square < 40 * 40) REQUIRE(is_in);
            }
            relevant += found.size();
        }
    }
    CHECK(pushed.parts.stores.push.is_on());
    CHECK_FALSE(pulled.parts.stores.push.is_on());
    CHECK(relevant > 5'000);
}

TEST_CASE("window pass: observers are scanned after a move, and not while idle") {
    Rules rules = window_rules();
    rules.cell_size = 25;  // cells that are wholly inside the radius are not tested
    InterestParts parts(rules);
    parts.windows.set_count_tested(true);
    const EntityId one = parts.spawn(0, 50), other = parts.spawn(1, 85);
    parts.watch(one);
    parts.watch(other);
    const InterestCounters& counters = parts.stores.counters;
    const auto scanned = [&] {
        const std::uint64_t before = counters.windows_scanned;
        parts.tick();
        return counters.windows_scanned - before;
    };
    CHECK(scanned() == 2);
    CHECK(counters.lanes_tested > 0);
    const std::uint64_t tested = counters.lanes_tested;
    CHECK(scanned() == 0);
    CHECK(counters.lanes_tested == tested);
    REQUIRE(parts.positions.move(one, {51, 50, 0}) == Status::ok);
    CHECK(scanned() == 1);
    CHECK(counters.lanes_tested > tested);
    REQUIRE(parts.observers.rescan(make_observer_id(1, 1)) == Status::ok);
    CHECK(scanned() == 1);
    parts.windows.set_count_tested(false);
    const std::uint64_t last = counters.lanes_tested;
    REQUIRE(parts.positions.move(one, {52, 50, 0}) == Status::ok);
    CHECK(scanned() == 1);
    CHECK(counters.lanes_tested == last);
}

TEST_CASE("window pass: an executor is limited to the maximum number of workers") {
    InterestParts parts(window_rules());
    parts.windows.set_executor(threaded(100'000));
    CHECK(parts.stores.workers.size() == workers_max);
    parts.windows.set_executor(threaded(2));
    CHECK(parts.stores.workers.size() == workers_max);
    InterestParts few(window_rules());
    few.windows.set_executor(threaded(0));
    CHECK(few.stores.workers.size() == 1);
}

}  // namespace purview::test::window_pass_test
