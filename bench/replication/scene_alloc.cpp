// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Does a server allocate when nothing new happens? The scenes count operator new and the library's
// own memory hooks within every timed tick; here the last round of each is looked at, when whatever
// grows has grown. A scene that has not run yet runs for it, without its peer.
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
