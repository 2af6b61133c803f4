// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Scenes of our own configurations, by what they are about; each runs what the options ask for.
// Figures that compare rows are made afterwards, those that count work where it is counted.
#pragma once

#include "report.hpp"

namespace purview::bench {

/// composed, 3D, radii, strength, cone, los: what a rule may say.
void scenes_of_rules(Report& report, const Options& options);
void figures_of_rules(Report& report);

/// nodes, shared store, cells: how entities are kept.
void scenes_of_nodes(Report& report, const Options& options);
void figures_of_nodes(Report& report);

/// cadence, join, slider, spike: what single ticks may cost, and when answers come. answers: who
/// sees it, who is near it (ADR 20).
void scenes_of_work(Report& report, const Options& options);

/// threads, builds: the same answers on other hardware.
void scenes_of_machine(Report& report, const Options& options);
void figures_of_machine(Report& report);

}  // namespace purview::bench
