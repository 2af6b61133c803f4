// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// ./dev bench replication: time and bytes of a whole server for its clients.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "replication/scenes.hpp"

namespace purview::bench {
namespace {

struct Scene {
    const char* name;
    void (*run)(Report&, const Options&);
    void (*figures)(Report&);
};

constexpr Scene scenes[] = {
    {"colyseus", scene_colyseus, figures_of_colyseus},
    {"one place", scene_one_place, figures_of_one_place},
    {"forest", scene_forest, figures_of_forest},
    {"crowd", scene_crowd, figures_of_crowd},
    {"cubes", scene_cubes, figures_of_cubes},
    {"asteroids", scene_asteroids, figures_of_asteroids},
    {"shared", scene_shared, figures_of_shared},
    {"alloc", scene_alloc, figures_of_alloc},
};

int run(int argc, char** argv) {
    Options options;
    std::vector<std::string> names;
    for (const Scene& scene : scenes) names.emplace_back(scene.name);
    CLI::App app{"Runs a whole server and its clients in one process on a virtual clock"};
    app.add_option("--scene", options.scenes, "run only these scenes")->check(CLI::IsMember(names));
    app.add_option("--row", options.row,
                   "scenes colyseus and cubes: only rows with this in their name");
    app.add_option("--ticks", options.ticks, "ticks per round, in scenes without a fixed length")
        ->check(CLI::Range(1, 100'000));
    app.add_flag("--quick", options.quick, "fewer ticks; checks only counted figures");
    app.add_flag("--small-pages", options.small_pages, "do not use pages of 2 MB");
    app.add_option("--peer", options.peer_script,
                   "script of the scene colyseus; without it the peer does not run")
        ->check(CLI::ExistingFile);
    app.add_option("--json", options.json_path, "report file");
    CLI11_PARSE(app, argc, argv);
    std::string command = "bench replication";
    for (int i = 1; i < argc; ++i) {
        if (std::string(argv[i]) == "--peer") {
            ++i;  // only ./dev passes it
            continue;
        }
        command += std::string(" ") + argv[i];
    }
    use_counted_memory(!options.small_pages);
    Report report;
    for (const Scene& scene : scenes) {
        if (!wanted(options.scenes, scene.name)) continue;
        scene.run(report, options);
        scene.figures(report);
    }
    // Input of the byte tables. The meter does not support shared cell payloads and RPCs.
    double unread = 0;
    for (const Row& row : report.rows) {
        const auto found = row.more.find("packets_unread");
        if (found != row.more.end()) unread += found->second;
    }
    report.count_at_most("packets that the byte meter could not parse", unread, 0, 0);
    const bool holds =
        print_figures(report, options.quick ? GatedFigures::counted : GatedFigures::all);
    if (!options.json_path.empty()) {
        std::ofstream out(options.json_path);
        out << to_json(report, command).dump(2) << '\n';
        if (!out.good()) {
            std::fprintf(stderr, "%s could not be written\n", options.json_path.c_str());
            return 2;
        }
    }
    return holds ? 0 : 3;
}

}  // namespace
}  // namespace purview::bench

int main(int argc, char** argv) {
    return purview::bench::run(argc, argv);
}
