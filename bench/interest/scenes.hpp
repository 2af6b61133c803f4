// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Scenes of our own configurations, by what they are about.
// Figures that compare rows are made afterwards, those that count work where it is counted.
#pragma once

#include "report.hpp"

namespace purview::bench {

/// As the command line asks for it.
struct NamedScene {
    const char* name;
    void (*run)(Report& report, const Options& options);
};
using NamedScenes = std::vector<NamedScene>;

/// composed, 3D, radii, strength, cone, los: what a rule may say.
NamedScenes scenes_of_rules();
void figures_of_rules(Report& report);

/// nodes, spatial nodes, shared store, cells: how entities are kept.
NamedScenes scenes_of_nodes();
void figures_of_nodes(Report& report);

/// cadence, join, slider, spike: what single ticks may cost, and when answers come. answers: who
/// sees it, who is near it (ADR 20).
NamedScenes scenes_of_work();

/// threads, builds: the same answers on other hardware.
NamedScenes scenes_of_machine();
void figures_of_machine(Report& report);

}  // namespace purview::bench
