// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Predictive line of sight: an entity that comes around a corner is replicated shortly before it is
// visible, so it does not pop up.
//
// Note: `predicts_sight` adds a second ray, from the future position of the observer to the
// future position of the entity. Pass about the client's ping to set_lookahead. The game sets
// the velocity. An entity that is neither visible nor about to be is unknown to the client.
#include "example.hpp"
#include "purview/extend/kernel.hpp"

using namespace purview;
using namespace example;

/// A wall along x = 10, from y = 0 up to y = 20.
class Wall final : public RayTest {
  public:
    static bool is_free(Vec3 from, Vec3 to) noexcept {
        if ((from.x < 10) == (to.x < 10)) return true;
        const float y = from.y + (to.y - from.y) * (10 - from.x) / (to.x - from.x);
        return y < 0 || y > 20;
    }
    void test(ObserverId, std::span<const Ray> queries,
              std::span<std::uint8_t> visible) const noexcept override {
        for (std::size_t n = 0; n < queries.size(); ++n)
            visible[n] = is_free(queries[n].from, queries[n].to) ? 1 : 0;
    }
};

int main() {
    constexpr float tick_s = 0.05F, ping_s = 0.22F;
    Kernel soon_in_sight = in_sight(std::make_shared<Wall>());
    soon_in_sight.predicts_sight = true;
    Rules rules;
    rules.min = {-100, -100, 0};
    rules.max = {100, 100, 0};
    rules.node("in sight soon").add(within(80)).require(soon_in_sight);
    InterestManager manager(rules);
    const Vec3 eye{0, 10, 0}, velocity{0, 6, 0};
    Vec3 at{20, -30, 0};  // the runner disappears behind the wall and comes out again
    const EntityId alice = manager.spawn({.position = eye});
    const EntityId runner = manager.spawn({.position = at});
    manager.set_velocity(runner, velocity);
    const ObserverId observer = manager.add_observer({.viewpoint = alice});
    manager.set_lookahead(observer, ping_s);

    int hidden = -1, relevant = -1, visible = -1, unknown_ticks = 0;
    for (int tick = 0; visible < 0; ++tick) {
        expect(tick < 1000, "the runner comes out within 1000 ticks");
        manager.tick();
        const bool is_visible = Wall::is_free(eye, at);
        const bool is_known = manager.is_relevant(observer, runner);
        expect(is_known || !is_visible, "a visible runner is relevant");
        if (!is_visible && hidden < 0) hidden = tick;
        if (!is_known) ++unknown_ticks;
        if (unknown_ticks > 0 && is_known && relevant < 0) relevant = tick;
        if (hidden >= 0 && is_visible) visible = tick;
        at.y += velocity.y * tick_s;
        manager.move(runner, at);
    }
    std::printf("behind the wall from tick %d, relevant again at %d, visible at %d\n", hidden,
                relevant, visible);
    expect(unknown_ticks > 50, "the hidden runner is not relevant");
    expect(relevant > hidden, "the runner is relevant again after it was hidden");
    const int lead = visible - relevant;
    expect(lead == 4 || lead == 5, "relevant 0.22 s ahead: 4 to 5 ticks of 0.05 s");
}
