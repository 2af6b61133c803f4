// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Parses and prints rules. A step is a line of words. A node is a set of texts and numbers (a table
// of a world file, or of an operator's message). Printed rules parse to the same rules. Any text
// yields a rule or a Problem.
//
// Must not depend on files or JSON.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "purview/rules.hpp"
#include "purview/schema.hpp"
#include "scene/loaded.hpp"

namespace purview::scene {

/// Names that may be used in steps.
struct RuleNames {
    std::map<std::string, FlagId> flags;
    std::map<std::string, KeyId> keys;
    std::map<std::string, ValueId> values;
    /// Custom kernels of the program: `add kernel NAME`.
    std::map<std::string, std::shared_ptr<const KernelBase>> kernels;
    std::shared_ptr<const RayTest> sight;  ///< null: this world has no line of sight
    Kernel sight_def;                      ///< defaults of line-of-sight steps
};

/// Flags, keys and values of a schema.
RuleNames names_of(const Schema& schema);

/// A node as text. A missing value keeps its current value in an existing node, and is the default
/// in a new one.
struct NodeText {
    std::string name;
    /// grid; dispatcher and custom: only for an existing node
    std::optional<std::string> type;
    std::optional<std::string> members;  ///< all, bound, unbound
    std::optional<std::string> combine;  ///< add, subtract, require
    std::optional<std::string> refresh;  ///< exact, every N, dormant
    std::optional<float> widen;
    std::optional<bool> lazy_leave;
    std::optional<bool> enabled;
    std::optional<float> priority;
    std::optional<std::uint32_t> every_ticks;
    std::optional<std::string> leave;  ///< despawn, freeze, stale, deactivate
    std::optional<std::string> mode;   ///< per observer, update many, read many
    std::vector<std::string> steps;
};

inline constexpr std::size_t rule_nodes_max = 64;
inline constexpr std::size_t node_steps_max = 32;
inline constexpr std::size_t step_bytes_max = 500;
inline constexpr std::size_t node_name_bytes_max = 63;
inline constexpr float rule_meters_max = 1e6F;
inline constexpr float rule_side_min_m = 0.01F;  ///< side of a cell

/// Escapes control characters, except those in `kept`, as \u and four digits. For untrusted texts
/// that are written to a terminal or a line of a file.
std::string plain_text(std::string_view text, std::string_view kept = {});

/// Parses one step. A problem contains the column of the wrong word.
///
///   add|subtract|require, then one of
///   within R [leave R] [of entity|observer] [from main|areas|owned]
///   same KEY            flag NAME            value NAME [from A] [to B]
///   owner               everything           area [leave R]       kernel NAME
///   neighborhood WxH[xD] [rings N] [from ...]
///   hexagons SIDE[xD] [rings N] [from ...]
///   sight [within R] [from ...] [tests N] [grace N] [unknown shown|hidden] [predict yes|no]
///
/// Names with blanks are in single quotes; a quote within them is doubled.
Loaded<Kernel> parse_step(const std::string& text, const RuleNames& names);
std::string print_step(const Kernel& step, const RuleNames& names);

/// `before`: the existing node, from which the steps take their ray tests. Null: a new node of type
/// grid.
Loaded<NodeDef> compile_node(const NodeText& text, const RuleNames& names,
                             const NodeDef* before = nullptr);
NodeText print_node(const NodeDef& node, const RuleNames& names);

/// Returns `around` with these nodes. If `keep`, a node with the name of an existing one modifies
/// it. A problem that the engine reports contains its position.
Loaded<Rules> compile_nodes(const std::vector<NodeText>& nodes, const RuleNames& names,
                            const Rules& around, bool keep);

/// Returns the text with defaults for all missing values, so that it does not keep current values.
NodeText with_defaults(NodeText text);

/// Prints nodes as the [interest] table of a world file.
std::string print_toml(const std::vector<NodeText>& nodes);

}  // namespace purview::scene
