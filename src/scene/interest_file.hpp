// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The [interest] of a TOML file: rules as they are written, with the place of every part, so that
// whatever turns out to be wrong with them can be pointed at.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "purview/interest.hpp"
#include "scene/rule_text.hpp"

namespace purview::scene {

/// A place in a file, both from 1 on; columns count characters.
struct FilePlace {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
};

/// A node as written, before names are known.
struct NodeEntry {
    NodeText text;
    FilePlace position;
    std::map<std::string, FilePlace> keys;  ///< the value of each key that was given
    std::vector<FilePlace> steps;
};

struct InterestEntry {
    std::string path;
    std::string source;  ///< the whole file
    FilePlace position;
    float cell_size = 0;
    Axes axes = Axes::xy;
    std::vector<float> range_classes;
    float observer_range_max = 0;
    float group_radius_max = 0;
    std::uint32_t minimum_relevance_ticks = 0;
    InterestLevel level = InterestLevel::full;
    Kernel sight;  ///< for steps that do not say otherwise
    std::vector<NodeEntry> nodes;
    std::vector<std::string> keys;  ///< what was given beside nodes

    std::vector<NodeText> texts() const;
    /// "file:line:column: what is wrong", for a problem of texts().
    std::string describe(const Problem& problem) const;
};

inline constexpr std::size_t range_classes_max = 6;

/// Whatever else is in the file; there must be an [interest].
Loaded<InterestEntry> load_interest(const std::string& path);
/// As a file with this text at this path would be.
Loaded<InterestEntry> parse_interest(const std::string& path, const std::string& text);

/// These nodes and times; bounds, axes, cells and ranges are those of `running`.
Loaded<Rules> compile_rules(const InterestEntry& interest, RuleNames names, const Rules& running);

}  // namespace purview::scene
