// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// ./dev bench groups: measures the cost of groups: relations, membership in interest, relative
// positions.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "common/machine.hpp"
#include "groups/scenes.hpp"

namespace purview::bench {

void GroupsReport::add(const std::string& scene, const std::string& row, nlohmann::json values) {
    nlohmann::json out{{"scene", scene}, {"row", row}};
    out.update(values);
    std::printf("%-12s %-32s", scene.c_str(), row.c_str());
    for (const auto& [name, value] : values.items())
        std::printf(" %s %s", name.c_str(), value.dump().c_str());
    std::printf("\n");
    std::fflush(stdout);
    rows.push_back(std::move(out));
}

namespace {

struct Scene {
    const char* name;
    void (*run)(GroupsReport&, const GroupsOptions&);
};

constexpr Scene scenes[] = {
    {"rebuild", scene_rebuild}, {"membership", scene_membership}, {"passenger", scene_passenger},
    {"trains", scene_trains},   {"command", scene_command},       {"rewind", scene_rewind},
};

int run(int argc, char** argv) {
    GroupsOptions options;
    std::vector<std::string> names;
    for (const Scene& scene : scenes) names.emplace_back(scene.name);
    CLI::App app{"Groups: relations, membership, relative positions"};
    app.add_option("--scene", options.scenes, "run only these scenes")->check(CLI::IsMember(names));
    app.add_flag("--quick", options.quick, "fewer rounds; checks only counted figures");
    app.add_option("--json", options.json_path, "report file");
    CLI11_PARSE(app, argc, argv);
    std::string command = "bench groups";
    for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
    use_counted_memory(true);
    GroupsReport report;
    for (const Scene& scene : scenes) {
        if (wanted(options.scenes, scene.name)) scene.run(report, options);
    }
    const bool holds =
        print_figures(report, options.quick ? GatedFigures::counted : GatedFigures::all);
    if (!options.json_path.empty()) {
        std::ofstream out(options.json_path);
        out << report_json(report, report.rows, nlohmann::json::object(), command).dump(2) << '\n';
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
