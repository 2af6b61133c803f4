// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The scenes. Each runs all of itself; figures are computed from the rows afterwards.
#pragma once

#include "replication/report.hpp"

namespace purview::bench {

void scene_colyseus(Report& report, const Options& options);
void figures_of_colyseus(Report& report);

}  // namespace purview::bench
