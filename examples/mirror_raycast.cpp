// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// An entity hidden by a wall or a bush is not replicated, so there is nothing for a wallhack to
// show.
//
// Note: the rule is data (near, and in sight). Your physics engine tests batches of rays, one
// observer at a time. A bush is opaque from outside and transparent between entities inside it.
// An opened door takes effect in the next tick. tests_per_tick limits the rays per observer; an
// entity that was not tested in time is hidden.
#include <algorithm>
#include <array>

#include "example.hpp"
#include "purview/extend/kernel.hpp"

using namespace purview;
using namespace example;

struct Obstacle {
    float x0, y0, x1, y1;
    bool is_bush = false;
    bool is_open = false;
};

bool contains(const Obstacle& it, Vec3 at) {
    return it.x0 <= at.x && at.x <= it.x1 && it.y0 <= at.y && at.y <= it.y1;
}

/// Returns whether the line from a to b touches the rectangle.
bool is_hit(const Obstacle& it, Vec3 a, Vec3 b) {
    float enter = 0, leave = 1;
    const auto cut = [&](float from, float to, float low, float high) {
        const float d = to - from;
        if (d == 0) return low <= from && from <= high;
        const float t0 = (low - from) / d, t1 = (high - from) / d;
        enter = std::max(enter, std::min(t0, t1));
        leave = std::min(leave, std::max(t0, t1));
        return enter <= leave;
    };
    return cut(a.x, b.x, it.x0, it.x1) && cut(a.y, b.y, it.y0, it.y1);
}

class Level final : public RayTest {
  public:
    void test(ObserverId, std::span<const Ray> queries,
              std::span<std::uint8_t> visible) const noexcept override {
        for (std::size_t n = 0; n < queries.size(); ++n)
            visible[n] = is_free(queries[n].from, queries[n].to) ? 1 : 0;
    }
    std::array<Obstacle, 3> obstacles{{{20, 0, 21, 40}, {0, 50, 40, 51}, {5, 20, 10, 30, true}}};

  private:
    bool is_free(Vec3 from, Vec3 to) const noexcept {
        return std::none_of(obstacles.begin(), obstacles.end(), [&](const Obstacle& it) {
            const bool is_inside = it.is_bush && contains(it, from);
            return !it.is_open && !is_inside && is_hit(it, from, to);
        });
    }
};

int main() {
    const auto level = std::make_shared<Level>();
    Rules rules;
    rules.node("near and in sight").add(within(60)).require(in_sight(level));
    InterestManager manager(rules);
    const Names names{"alice", "open", "walled", "ambush", "indoors"};
    const EntityId alice = manager.spawn({.position = {15, 25, 0}});
    manager.spawn({.position = {15, 45}});  // in the open
    manager.spawn({.position = {25, 25}});  // behind a wall
    manager.spawn({.position = {8, 25}});   // in the bush
    manager.spawn({.position = {15, 55}});  // behind the door
    const ObserverId observer = manager.add_observer({.viewpoint = alice});

    manager.tick();
    names.expect_seen(manager, observer, "from the open", "alice open");
    level->obstacles[1].is_open = true;
    manager.tick();
    names.expect_seen(manager, observer, "the door opens", "alice open indoors");
    level->obstacles[1].is_open = false;
    manager.move(alice, {7, 22, 0});
    manager.tick();
    names.expect_seen(manager, observer, "alice is in the bush", "alice open ambush");
    manager.move(alice, {22, 30, 0});
    manager.tick();
    names.expect_seen(manager, observer, "behind the wall", "alice walled");
}
