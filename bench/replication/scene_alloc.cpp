// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Checks that a server allocates no memory in a steady state. The scenes count operator new and the
// library's memory hooks within every timed tick. This scene evaluates the last round of each, when
// containers have reached their final size. A scene that has not run yet is run without its peer.
#include "replication/scenes.hpp"

namespace purview::bench {

namespace {

struct Steady {
    const char* scene;
    const char* row;
    void (*run)(Report&, const Options&);
};

constexpr Steady all[] = {
    {"colyseus", "colyseus 1000", scene_colyseus},
    {"one place", "one place", scene_one_place},
    {"forest", "forest", scene_forest},
    {"crowd", "crowd", scene_crowd},
    {"cubes", "cubes, 0 % loss", scene_cubes},
    {"asteroids", "asteroids", scene_asteroids},
};

}  // namespace

void scene_alloc(Report& report, const Options& options) {
    Options alone = options;
    alone.peer_script.clear();
    for (const Steady& one : all) {
        if (report.find(one.row, "purview") == nullptr) one.run(report, alone);
    }
}

void figures_of_alloc(Report& report) {
    for (const Steady& one : all) {
        const Row* row = report.find(one.row, "purview");
        if (row == nullptr) continue;
        report.at_most(std::string("alloc, ") + one.scene + ", a tick",
                       row->more.at("allocations_last_round"), 0, 0);
    }
}

}  // namespace purview::bench
