// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "our_world.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace purview::bench {

InterestDef near_rule(const Workload& workload) {
    const Scene& scene = workload.scene();
    const auto radius = static_cast<float>(scene.radius);
    const auto side = static_cast<float>(workload.side());
    InterestDef def;
    def.rules.bounds_max = {side, side, scene.three_d ? side : 0};
    if (scene.three_d) def.rules.axes = Axes::xyz;
    def.rules.entities_expected = scene.entities;
    def.rules.nodes = {{"near", NodeType::grid, {add(within(radius))}}};
    return def;
}

InterestManager fill(const InterestDef& def, const Workload& workload, const Dress& dress) {
    auto made = InterestManager::create(def);
    if (!made) {
        std::fprintf(stderr, "unsound rules: %s\n", problem_of(def.rules).c_str());
        std::abort();
    }
    InterestManager manager = std::move(made).value();
    for (std::uint32_t i = 0; i < workload.scene().entities; ++i) {
        EntityDef entity{.place = workload.places()[i]};
        if (dress) dress(entity, i);
        if (manager.spawn(entity_of(i), entity) != Status::ok) std::abort();
    }
    manager.tick();
    manager.tick();  // what a tick of spawns alone needs is given back
    return manager;
}

std::vector<ObserverId> add_observers(InterestManager& manager, std::uint32_t count) {
    std::vector<ObserverId> observers;
    for (std::uint32_t o = 0; o < count; ++o) {
        observers.push_back(*manager.add_observer());
        (void)manager.set_main_entity(observers[o], entity_of(o));
        (void)manager.set_ready(observers[o], true);
    }
    return observers;
}

}  // namespace purview::bench
