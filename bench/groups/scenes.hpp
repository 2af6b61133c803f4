// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The group scenes and their report: measured rows, and figures with their gates.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/figures.hpp"

namespace purview::bench {

struct GroupsOptions {
    std::vector<std::string> scenes;  ///< empty: all
    bool quick = false;
    std::string json_path;
};

struct GroupsReport : Figures {
    nlohmann::json rows = nlohmann::json::array();

    /// Prints and stores the row.
    void add(const std::string& scene, const std::string& row, nlohmann::json values);
};

// scenes_relation.cpp
void scene_rebuild(GroupsReport& report, const GroupsOptions& options);
void scene_membership(GroupsReport& report, const GroupsOptions& options);
void scene_passenger(GroupsReport& report, const GroupsOptions& options);
// scene_trains.cpp
void scene_trains(GroupsReport& report, const GroupsOptions& options);
// scenes_prediction.cpp
void scene_command(GroupsReport& report, const GroupsOptions& options);
void scene_rewind(GroupsReport& report, const GroupsOptions& options);

}  // namespace purview::bench
