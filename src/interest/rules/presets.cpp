// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/presets.hpp"

namespace purview {

Rules preset(Preset preset) {
    Rules rules;
    rules.axes = Axes::xyz;
    rules.max = {1024, 1024, 1024};
    switch (preset) {
        case Preset::ngo:
            // An object without a node belongs to the default node, which shows it to all
            // observers. Radii use the distance of Vector3.
            rules.node("default").members = Members::unbound;
            break;
        case Preset::mirror:
            rules.node("distance")
                .add(within(10).from(Viewpoints::entity).range_from(RangeFrom::entity));
            rules.range_classes = {10, 100, 1000};
            rules.ready_requires_viewpoint = true;
            break;
        case Preset::fusion:
            rules.node("area of interest").add(in_area()).replication.leave = Retention::freeze;
            rules.owner_sees = false;  // only areas, lists and global objects show anything
            break;
        case Preset::phaser:
            rules.axes = Axes::xy;
            rules.max = {1024, 1024, 0};
            rules.node("neighborhood").add(cells(34, 20));
            break;
    }
    return rules;
}

}  // namespace purview
