// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Scenes with configurations of Purview, by topic. Figures that compare rows are computed
// afterwards; figures that count work are computed in the scene.
#pragma once

#include "report.hpp"

namespace purview::bench {

/// Name for the command line, and the function.
struct NamedScene {
    const char* name;
    void (*run)(Report& report, const Options& options);
};
using NamedScenes = std::vector<NamedScene>;

/// composed, 3D, radii, score, cone, los: features of rules.
NamedScenes scenes_of_rules();
void figures_of_rules(Report& report);

/// nodes, spatial nodes, shared store, cells: storage of entities.
NamedScenes scenes_of_nodes();
void figures_of_nodes(Report& report);

/// cadence, join, slider, spike: the cost of single ticks and the delay of results. answers:
/// reverse queries (ADR 20).
NamedScenes scenes_of_work();

/// threads, builds: the same results on other hardware.
NamedScenes scenes_of_machine();
void figures_of_machine(Report& report);

}  // namespace purview::bench
