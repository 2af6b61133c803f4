// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Converts a world file to the configuration of the game, the server and the web page.
#pragma once

#include <memory>
#include <string>

#include "purview/rules.hpp"
#include "scene/world_file.hpp"
#include "vale.hpp"

namespace purview::app {

enum class WorldSource { toml, map, trace };

struct WorldSetup {
    scene::WorldFile file;
    vale::Setup setup;
    std::unique_ptr<vale::ValeSchema> schema;
    scene::RuleNames names;  ///< names that rules may use
    Rules rules;
    std::vector<KindRules> kinds;
    std::string page_json;  ///< data of the map for the page: bounds, ground, radii
};

/// Loads a TOML world, or a bare map or trace with the built-in rules for that format.
scene::Loaded<std::unique_ptr<WorldSetup>> load_world(WorldSource source, const std::string& path);

}  // namespace purview::app
