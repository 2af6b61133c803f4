// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// From a world file to what the game, the server and the page need.
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
    scene::RuleNames names;  ///< that rules may use
    Rules rules;
    std::vector<KindRules> kinds;
    std::string page_json;  ///< what the page may know of the place: bounds, ground, radii
};

/// A TOML world, or a bare map or trace with the built-in rules for such.
scene::Loaded<std::unique_ptr<WorldSetup>> load_world(WorldSource source, const std::string& path);

}  // namespace purview::app
