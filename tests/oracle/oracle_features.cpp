// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle_features.hpp"

#include <array>

namespace purview::test {

namespace {

constexpr std::size_t feature_count = static_cast<std::size_t>(Feature::count);
constexpr std::array<std::string_view, feature_count> names{"groups",
                                                            "own_kernels",
                                                            "binding",
                                                            "kinds",
                                                            "combine",
                                                            "dispatchers",
                                                            "custom_nodes",
                                                            "shapes",
                                                            "areas",
                                                            "viewpoints",
                                                            "ranges",
                                                            "axes",
                                                            "values",
                                                            "owner_kernel",
                                                            "cells",
                                                            "hexagons",
                                                            "sight",
                                                            "more_keys",
                                                            "modes",
                                                            "level",
                                                            "minimum_relevance",
                                                            "position_sources",
                                                            "dormant",
                                                            "new_rules",
                                                            "trials",
                                                            "counts",
                                                            "score",
                                                            "changed",
                                                            "inverse",
                                                            "visits",
                                                            "settings",
                                                            "boxes",
                                                            "covering",
                                                            "columns",
                                                            "positions",
                                                            "executors",
                                                            "needs_entity",
                                                            "abstract_sources",
                                                            "moved_steps",
                                                            "custom_trials",
                                                            "chains",

                                                            "other_kind",
                                                            "fewer_nodes",
                                                            "single_area",
                                                            "statuses",
                                                            "nested",
                                                            "reasons",
                                                            "no_adds",
                                                            "splits",
                                                            "bounds",
                                                            "many_nodes"};
static_assert(!names.back().empty(), "every feature needs a name");

bool find(std::string_view name, Feature& out) {
    for (std::size_t i = 0; i < feature_count; ++i) {
        if (names[i] != name) continue;
        out = static_cast<Feature>(i);
        return true;
    }
    return false;
}

}  // namespace

std::string_view to_string(Feature feature) {
    const auto at = static_cast<std::size_t>(feature);
    return at < feature_count ? names[at] : std::string_view("none");
}

Features engine_features() {
    return Features::all();
}

bool parse_features(std::string_view text, Features& out) {
    out = text.starts_with('-') ? Features::all() : Features();
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        std::string_view name = text.substr(0, comma);
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
        Feature feature{};
        if (name == "all") {
            out = Features::all();
        } else if (name == "engine") {
            out = engine_features();
        } else if (name.starts_with('-') && find(name.substr(1), feature)) {
            out = out.without(feature);
        } else if (find(name, feature)) {
            out = out.with(feature);
        } else {
            return false;
        }
    }
    return true;
}

}  // namespace purview::test
