// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// ./dev bench interest: compares Purview with other engines on the same moves, and checks the
// gates.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "report.hpp"
#include "scenes.hpp"

namespace purview::bench {
namespace {

std::uint32_t sample_of(const std::string& engine, const Scene& scene) {
    const double pairs = 1.0 * scene.entities * scene.observers;
    if (engine == "brute" && pairs > 1e9) return 200;
    if (engine == "rfc-node" && pairs > 1e8) return 20;
    return 0;
}

void add_limit(Report& report, const std::string& scene) {
    const Row* row = report.find(scene, "purview");
    if (row == nullptr) return;
    const Scene s = scene_named(scene);
    // Lower bound of the memory traffic of a tick: 256 bytes per move, 8 per entity that is
    // relevant to any observer, one bit per relevant pair, and 8 bytes per event.
    const double bytes = row->moves_per_tick * 256 + row->distinct_relevant * 8 +
                         s.observers * row->relevant_mean / 8 + row->events_per_tick * 8;
    const double ms = bytes / copy_bandwidth(bytes) * 1e3;
    report.limits[scene] = ms;
    std::printf("          limit %.3f ms (%.1f MB); Purview takes %.1f times as long\n", ms,
                bytes / 1e6, row->ms_p50 / ms);
}

void scene_with_peers(Report& report, const std::string& name, const Options& options,
                      std::uint32_t ticks) {
    Plan plan = plan_of(name, options, ticks);
    plan.entries.push_back(ours("purview", {}));
    for (const std::string& peer : peer_names()) {
        if (!wanted(options.engines, peer)) continue;
        // No gate uses these peers at this size, and each takes more than a second per tick.
        if (options.quick && plan.scene.entities > 100'000 &&
            (peer == "box2d" || peer == "bullet" || peer == "rfc-node")) {
            continue;
        }
        plan.entries.push_back(
            {peer, [peer] { return make_peer(peer); }, sample_of(peer, plan.scene), true});
    }
    run_plan(report, plan);
    add_limit(report, name);
}

/// Runs several configurations of Purview together. The first entry is the baseline.
void scene_of_ours(Report& report, const std::string& name, const std::string& base,
                   std::vector<Entry> entries, const Options& options, std::uint32_t ticks) {
    Plan plan = plan_of(base, options, ticks);
    plan.name = name;
    plan.entries = std::move(entries);
    run_plan(report, plan);
}

void checks(Report& report, const Options& options) {
    scene_of_ours(report, "checks", "W1",
                  {ours("purview", {}), ours("counted", {.count_tested = true})}, options, 60);
}

void scalar(Report& report, const Options& options) {
    scene_of_ours(report, "scalar", "W1",
                  {ours("purview", {}),
                   ours("scalar", {.scalar = true}),
                   ours("static node", {.scalar = true, .static_node = true}),
                   {"rfc-node", [] { return make_peer("rfc-node"); }, 0, true}},
                  options, 8);
}

void shape(Report& report, const Options& options) {
    std::vector<Plan> plans;
    for (const std::uint32_t n : {100'000U, 1'000'000U}) {
        Plan& plan = plans.emplace_back(plan_of("W2", options, 24));
        plan.name = n == 100'000U ? "100 k" : "1 M";
        plan.scene.entities = n;
        plan.scene.observers = n / 100;
        plan.entries = {ours("purview", {})};
    }
    for (const auto& rows : run_together(plans)) add_rows(report, rows);
    Plan plan = plan_of("W2", options, 24);
    plan.name = "still";
    plan.scene.entities_move = plan.scene.observers_move = 0;
    plan.entries = {ours("purview", {})};
    run_plan(report, plan);
}

/// Compares the view update strategies of ADR 6.
void update(Report& report, const Options& options) {
    scene_of_ours(report, "update", "W4",
                  {ours("purview", {}), ours("pull", {.window_update = WindowUpdate::pull}),
                   ours("push", {.window_update = WindowUpdate::push})},
                  options, 60);
}

/// In the order of execution.
NamedScenes all_scenes() {
    NamedScenes all{
        {"W1", [](Report& r, const Options& o) { scene_with_peers(r, "W1", o, 60); }},
        {"W2", [](Report& r, const Options& o) { scene_with_peers(r, "W2", o, 8); }},
        {"W3", [](Report& r, const Options& o) { scene_with_peers(r, "W3", o, 24); }},
        {"W4", [](Report& r, const Options& o) { scene_with_peers(r, "W4", o, 12); }},
        {"W5", [](Report& r, const Options& o) { scene_with_peers(r, "W5", o, 8); }},
        {"checks", checks},
        {"scalar", scalar},
        {"shape", shape},
        {"update", update},
    };
    for (const NamedScenes& more :
         {scenes_of_rules(), scenes_of_nodes(), scenes_of_work(), scenes_of_machine()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

void add_figures(Report& report) {
    report.faster_than("W1", "textbook", 8, 15);
    report.faster_than("W1", "rfc-node", 300, 650);
    report.faster_than("W2", "textbook", 10, 22);
    report.faster_than("W2", "boost-rtree", 35, 80);
    report.faster_than("W2", "nanoflann", 35, 80);
    report.faster_than("W3", "textbook", 20, 50);
    report.faster_than("W3", "boost-rtree", 40, 70);
    report.faster_than("W4", "textbook", 40, 95);
    report.faster_than("W4", "boost-rtree", 50, 125);
    report.faster_than("W5", "textbook", 15, 30);
    if (const Row* w5 = report.find("W5", "purview")) {
        if (const Row* w2 = report.find("W2", "purview")) {
            report.at_most("W5 ours/W2 ours", ratio(*w5, *w2), 2.5, 1.5);
        }
    }
    if (const Row* counted = report.find("checks", "counted")) {
        // The RFC's algorithm tests every pair: 50,000 entities x 100 observers in W1.
        report.count_at_most("checks on W1, % of the RFC's",
                             counted->lanes_tested_per_tick / 5e6 * 100, 1, 1);
    }
    if (const Row* scalar = report.find("scalar", "scalar")) {
        const Row* rfc = report.find("scalar", "rfc-node");
        report.at_least("scalar rfc-node/ours", ratio(*rfc, *scalar), 20, 60);
        report.at_least("scalar in a static node",
                        ratio(*rfc, *report.find("scalar", "static node")), 3, 3);
    }
    if (const Row* small = report.find("100 k", "purview")) {
        const Row* large = report.find("1 M", "purview");
        report.at_most("shape 1 M/100 k", ratio(*large, *small), 18, 16);
        const Row* still = report.find("still", "purview");
        report.at_most("shape nothing moves, ns per observer", still->ms_p50 * 1e6 / 10'000, 5, 1);
    }
    if (const Row* w2 = report.find("W2", "purview")) {
        report.count_at_most("memory W2, B per entity", w2->bytes_entities, 32, 30);
        report.count_at_most("memory W2, B per observer", w2->bytes_observers, 1024, 700);
    }
    if (const Row* w1 = report.find("W1", "purview")) {
        report.count_at_most("memory W1, MB",
                             (w1->bytes_entities * 50'000 + w1->bytes_observers * 100) / 1e6, 2,
                             1.8);
    }
    for (const char* scene : {"W1", "W2"}) {
        const Row* row = report.find(scene, "purview");
        if (row == nullptr) continue;
        report.count_at_most(std::string(scene) + " allocations per tick",
                             row->allocations_per_tick, 0, 0);
    }
    figures_of_rules(report);
    figures_of_nodes(report);
    figures_of_machine(report);
    std::size_t different = 0;
    for (const Row& row : report.rows) different += row.hash_agrees.value_or(true) ? 0 : 1;
    report.count_at_most("rows with a different hash", static_cast<double>(different), 0, 0);
    // A reference implementation that is too slow proves nothing.
    const auto anchor = [&](const char* scene, const char* ours, double bound) {
        const Row* a = report.find(scene, ours);
        const Row* b = report.find(scene, "boost-rtree");
        if (a == nullptr || b == nullptr) return;
        const double value = ratio(*a, *b);
        report.at_most(std::string(scene) + " anchor " + ours + "/boost-rtree", value, bound,
                       bound);
        if (value <= bound) return;
        for (Figure& f : report.figures) {
            if (f.name == std::string(scene) + " " + ours + "/ours") f.counts = "baseline too slow";
        }
    };
    anchor("W2", "textbook", 0.35);
    anchor("W3", "textbook", 0.9);
    anchor("W1", "rfc-node", 10);
}

}  // namespace
}  // namespace purview::bench

int main(int argc, char** argv) {
    using namespace purview::bench;
    Options options;
    const NamedScenes scenes = all_scenes();
    std::vector<std::string> names;
    for (const NamedScene& scene : scenes) names.emplace_back(scene.name);
    CLI::App app{"Compares Purview's interest engine with others on the same moves"};
    app.add_option("--scene", options.scenes, "run only these scenes")->check(CLI::IsMember(names));
    app.add_option("--engine", options.engines, "run only these peers")
        ->check(CLI::IsMember(peer_names()));
    app.add_flag("--quick", options.quick,
                 "fewer ticks and rounds, no peers that take more than a second per tick; checks "
                 "only counted figures");
    app.add_flag("--small-pages", options.small_pages, "do not use pages of 2 MB");
    app.add_option("--ticks", options.ticks, "ticks per turn of one engine");
    app.add_option("--json", options.json_path, "report file");
    CLI11_PARSE(app, argc, argv);
    std::string command = "bench interest";
    for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
    use_counted_memory(!options.small_pages);
    Report report;
    for (const NamedScene& scene : scenes) {
        if (wanted(options.scenes, scene.name)) scene.run(report, options);
    }
    add_figures(report);
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
