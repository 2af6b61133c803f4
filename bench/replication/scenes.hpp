// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The scenes. Each one runs completely; figures are computed from the rows afterwards.
#pragma once

#include "replication/report.hpp"

namespace purview::bench {

void scene_colyseus(Report& report, const Options& options);
void figures_of_colyseus(Report& report);

void scene_one_place(Report& report, const Options& options);
void figures_of_one_place(Report& report);

void scene_forest(Report& report, const Options& options);
void figures_of_forest(Report& report);

void scene_crowd(Report& report, const Options& options);
void figures_of_crowd(Report& report);

void scene_cubes(Report& report, const Options& options);
void figures_of_cubes(Report& report);

void scene_asteroids(Report& report, const Options& options);
void figures_of_asteroids(Report& report);

void scene_shared(Report& report, const Options& options);
void figures_of_shared(Report& report);

/// Runs last: evaluates the measurements of the other scenes.
void scene_alloc(Report& report, const Options& options);
void figures_of_alloc(Report& report);

}  // namespace purview::bench
