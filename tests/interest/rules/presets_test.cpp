// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/presets.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "purview/interest.hpp"

namespace purview {

namespace {

/// Returns which entities are relevant: 0 is the viewpoint, the others are 5, 15 and 40 m away.
std::vector<std::uint32_t> seen_with(const Rules& rules) {
    InterestManager manager(rules);
    const EntityId viewpoint = manager.spawn({.position = {100, 100, 100}});
    for (const float distance : {5.0F, 15.0F, 40.0F})
        manager.spawn({.position = {100 + distance, 100, 100}});
    const ObserverId observer = manager.add_observer({.viewpoint = viewpoint});
    manager.tick();
    std::vector<std::uint32_t> seen;
    for (const InterestEvent& event : manager.events(observer))
        seen.push_back(index_of(event.entity));
    return seen;
}

}  // namespace

TEST_CASE("interest: each preset is valid and selects as its system does") {
    for (const Preset each : {Preset::ngo, Preset::mirror, Preset::fusion, Preset::phaser})
        CHECK(problem_of(preset(each)) == "");
    CHECK(seen_with(preset(Preset::ngo)) == std::vector<std::uint32_t>{0, 1, 2, 3});
    CHECK(seen_with(preset(Preset::mirror)) == std::vector<std::uint32_t>{0, 1});
    CHECK(seen_with(preset(Preset::fusion)).empty());  // no area
    // Cells are 34 m wide: 100 m lies in the third, 140 m in the fifth.
    CHECK(seen_with(preset(Preset::phaser)) == std::vector<std::uint32_t>{0, 1, 2});
}

}  // namespace purview
