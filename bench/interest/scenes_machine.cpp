// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scenes.hpp"

#ifdef PURVIEW_BENCH_HIGHWAY
#include <hwy/highway.h>
#endif

namespace purview::bench {

namespace {

void threads(Report& report, const Options& options) {
    Plan plan = plan_of("W2", options, 24);
    plan.name = "threads";
    plan.entries = {ours("1 worker", {}), ours("2 workers", {.workers = 2})};
    run_plan(report, plan);
}

#ifdef PURVIEW_BENCH_HIGHWAY
/// `targets` 0: all that the machine supports.
void choose(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// The same program restricted to one instruction set after the other, best first.
void builds(Report& report, const Options& options) {
    Plan plan = plan_of("W2", options, 12);
    plan.name = "builds";
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        plan.entries.push_back(
            ours(hwy::TargetName(target), {.before_tick = [target] { choose(target); }}));
    }
    // The baseline that every machine supports.
    if ((hwy::SupportedTargets() & HWY_STATIC_TARGET) == 0) {
        plan.entries.push_back(ours(hwy::TargetName(HWY_STATIC_TARGET),
                                    {.before_tick = [] { choose(HWY_STATIC_TARGET); }}));
    }
    run_plan(report, plan);
    choose(0);
}
#endif

}  // namespace

NamedScenes scenes_of_machine() {
    NamedScenes scenes{{"threads", threads}};
#ifdef PURVIEW_BENCH_HIGHWAY
    scenes.push_back({"builds", builds});
#endif
    return scenes;
}

void figures_of_machine(Report& report) {
    if (const Row* two = report.find("threads", "2 workers")) {
        // The gate is the equal hash of both rows, which is required for all rows of a scene.
        report.aim_at_least("threads 2 on W2", ratio(*report.find("threads", "1 worker"), *two),
                            1.6);
    }
    const Row* best = nullptr;
    const Row* least = nullptr;
    for (const Row& row : report.rows) {
        if (row.scene != "builds") continue;
        if (best == nullptr) best = &row;
        least = &row;
    }
    if (best == nullptr) return;
    if (const Row* avx2 = report.find("builds", "AVX2")) {
        report.at_most("builds AVX2/" + best->engine, ratio(*avx2, *best), 1.15, 1.15);
    }
    report.at_most("builds portable (" + least->engine + ")/" + best->engine, ratio(*least, *best),
                   2.5, 2.5);
}

}  // namespace purview::bench
