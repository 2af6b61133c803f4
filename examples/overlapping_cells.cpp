// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The graph node described in Unity's RFC 0015: an entity is in every cell that it may reach before
// its cells are updated again, and a client subscribes to the cells around it.
//
// Note: moves are not processed (reads_positions is false), and cells are updated only every
// tenth tick. Still no entity within the view is ever missing, because both sides widen their range
// by speed x cadence. A teleport violates this bound, so it calls recheck.
#include <array>
#include <cmath>

#include "example.hpp"
#include "purview/extend/node.hpp"

using namespace purview;
using namespace example;

constexpr float side_m = 40, view_m = 60, speed_m = 0.5F;  // per tick
constexpr unsigned cadence = 10;
constexpr float widen = speed_m * cadence;

class OverlappingCells final : public Dispatcher {
  public:
    void cells_of(const DispatchedEntity& it, std::vector<CellId>& out) const override {
        add_cells(it.position, widen, out);
    }
    void cover(const DispatchedObserver& it, std::vector<CellId>& out) const override {
        for (const Vec3 position : it.positions) add_cells(position, view_m + widen, out);
    }
    bool reads_positions() const noexcept override { return false; }

  private:
    /// Adds all cells that intersect a square around the position.
    static void add_cells(Vec3 at, float around_m, std::vector<CellId>& out) {
        const auto cell = [](float x) { return static_cast<int>(std::floor(x / side_m)); };
        for (int y = cell(at.y - around_m); y <= cell(at.y + around_m); ++y)
            for (int x = cell(at.x - around_m); x <= cell(at.x + around_m); ++x)
                out.push_back(static_cast<CellId>((y + 1000) * 2000 + x + 1000));
    }
};

struct Walker {
    EntityId entity = EntityId::none;
    Vec3 position, step;
};

int main() {
    Rules rules;
    rules.node("overlapping cells").dispatcher = std::make_shared<OverlappingCells>();
    InterestManager manager(rules);
    std::array<Walker, 300> walkers;
    for (std::uint32_t i = 0; i < walkers.size(); ++i) {
        const auto n = static_cast<float>(i);
        walkers[i].position = {std::fmod(n * 173, 600.0F), std::fmod(n * 619, 600.0F), 0};
        walkers[i].step = {speed_m * std::cos(n), speed_m * std::sin(n), 0};
        walkers[i].entity = manager.spawn({.position = walkers[i].position});
    }
    const EntityId alice = walkers[0].entity;
    const ObserverId observer = manager.add_observer({.viewpoint = alice});

    unsigned near = 0, known = 0, changes = 0;
    for (unsigned tick = 0; tick < 400; ++tick) {
        const bool is_rescan = tick % cadence == 0;
        for (std::uint32_t i = 0; i < walkers.size(); ++i) {
            Vec3& at = walkers[i].position;
            if (tick > 0) at = {at.x + walkers[i].step.x, at.y + walkers[i].step.y, 0};
            bool is_teleport = i == 1 && tick == 205;
            if (is_teleport) at = walkers[0].position;
            manager.move(walkers[i].entity, at);
            if (is_rescan || is_teleport) manager.recheck(walkers[i].entity);
        }
        if (is_rescan) manager.recheck(observer);
        manager.tick();
        expect(is_rescan || tick == 205 || manager.events().empty(), "no events between two scans");
        changes += static_cast<unsigned>(manager.events().size());
        for (std::uint32_t i = 0; i < walkers.size(); ++i) {
            const Vec3 a = walkers[0].position, b = walkers[i].position;
            const bool is_near = std::hypot(a.x - b.x, a.y - b.y) <= view_m;
            const bool is_known = manager.is_relevant(observer, walkers[i].entity);
            expect(!is_near || is_known, "every entity within the view is relevant");
            near += is_near ? 1 : 0;
            known += is_known ? 1 : 0;
        }
    }
    std::printf("400 ticks, cells updated every %u: %.1f in view, %.1f relevant, %u changes\n",
                cadence, near / 400.0, known / 400.0, changes);
    expect(near > 400 && changes > 20, "there are entities in view");
    expect(known < 100 * 400, "most of the 300 stay irrelevant");
}
