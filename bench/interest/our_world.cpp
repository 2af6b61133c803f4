// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "our_world.hpp"

#include "interest/make_manager.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace purview::bench {

Rules near_rule(const Workload& workload) {
    const Scene& scene = workload.scene();
    const auto radius = static_cast<float>(scene.radius);
    const auto side = static_cast<float>(workload.side());
    Rules def;
    def.max = {side, side, scene.three_d ? side : 0};
    if (scene.three_d) def.axes = Axes::xyz;
    def.entities_expected = scene.entities;
    def.node("near").add(within(radius));
    return def;
}

InterestManager fill(const Rules& def, const Workload& workload, const Dress& dress,
                     WindowUpdate window_update) {
    if (!problem_of(def).empty()) {
        std::fprintf(stderr, "invalid rules: %s\n", problem_of(def).c_str());
        std::abort();
    }
    InterestManager manager = make_manager(def, window_update);
    for (std::uint32_t i = 0; i < workload.scene().entities; ++i) {
        EntityDef entity{.id = entity_of(i), .position = workload.positions()[i]};
        if (dress) dress(entity, i);
        if (manager.spawn(entity) != entity.id) std::abort();
    }
    manager.tick();
    manager.tick();  // frees the memory that only the tick with all spawns needed
    return manager;
}

std::vector<ObserverId> add_observers(InterestManager& manager, std::uint32_t count) {
    std::vector<ObserverId> observers;
    for (std::uint32_t o = 0; o < count; ++o) {
        observers.push_back(manager.add_observer({.viewpoint = entity_of(o)}));
    }
    return observers;
}

}  // namespace purview::bench
