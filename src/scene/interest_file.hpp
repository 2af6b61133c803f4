// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The [interest] table of a TOML file: the rules as written, with the position of every part for
// error messages.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "purview/interest.hpp"
#include "scene/rule_text.hpp"

namespace purview::scene {

/// A position in a file; both numbers start at 1, and columns count characters.
struct FilePlace {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
};

/// A node as written, before names are resolved.
struct NodeEntry {
    NodeText text;
    FilePlace position;
    std::map<std::string, FilePlace> keys;  ///< position of the value of each given key
    std::vector<FilePlace> steps;
};

struct InterestEntry {
    std::string path;
    std::string source;  ///< contents of the whole file
    FilePlace position;
    float cell_size = 0;
    Axes axes = Axes::xy;
    std::vector<float> range_classes;
    float observer_range_max = 0;
    float group_radius_max = 0;
    std::uint32_t minimum_relevance_ticks = 0;
    InterestLevel level = InterestLevel::full;
    Kernel sight;  ///< defaults of line-of-sight steps
    std::vector<NodeEntry> nodes;
    std::vector<std::string> keys;  ///< the keys in the file, except `node`

    std::vector<NodeText> texts() const;
    /// "file:line:column: error text" for a problem in texts().
    std::string describe(const Problem& problem) const;
};

inline constexpr std::size_t range_classes_max = 6;

/// Ignores other tables in the file. An [interest] table is required.
Loaded<InterestEntry> load_interest(const std::string& path);
/// Like load_interest for a file with this text at this path.
Loaded<InterestEntry> parse_interest(const std::string& path, const std::string& text);

/// Compiles the nodes and times; bounds, axes, cells and ranges are taken from `running`.
Loaded<Rules> compile_rules(const InterestEntry& interest, RuleNames names, const Rules& running);

}  // namespace purview::scene
