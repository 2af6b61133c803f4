// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rules as text, both ways: a step is a line of words, a node a handful of texts and numbers (a
// table of a world file, or of an operator's message). What is printed reads back as the same rule.
// Must not know: files, JSON. Whatever the text, the answer is a rule or a Problem.
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

/// Names that steps may use.
struct RuleNames {
    std::map<std::string, FlagId> flags;
    std::map<std::string, KeyId> keys;
    std::map<std::string, ValueId> values;
    /// Kernels of the host's own: `add kernel NAME`.
    std::map<std::string, std::shared_ptr<const InterestKernel>> kernels;
    std::shared_ptr<const RayTest> sight;  ///< none: this world has no line of sight
    Kernel sight_def;                      ///< where a step does not say
};

/// Flags, keys and values of a schema.
RuleNames names_of(const Schema& schema);

/// A node in words; what is not given is unchanged, or the default.
struct NodeText {
    std::string name;
    std::optional<std::string> type;     ///< everything, grid; dispatcher, custom: can be kept only
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
inline constexpr float rule_side_min_m = 0.01F;  ///< of a cell

/// For a terminal, or a line of a file: control characters other than those of `kept` as \u and
/// four digits. Of texts that come from elsewhere, which would write what they like.
std::string plain_text(std::string_view text, std::string_view kept = {});

/// One step. A problem has the column of the word that is wrong.
///
///   add|subtract|require, then one of
///   within R [leave R] [of entity|observer] [from main|areas|owned]
///   same KEY            flag NAME            value NAME [from A] [to B]
///   owner               everything           area [leave R]       kernel NAME
///   neighbourhood WxH[xD] [rings N] [from ...]
///   hexagons SIDE[xD] [rings N] [from ...]
///   sight [within R] [from ...] [tests N] [grace N] [unknown shown|hidden] [predict yes|no]
///
/// Names with blanks stand in single quotes, a quote in them is doubled.
Loaded<Kernel> parse_step(const std::string& text, const RuleNames& names);
std::string print_step(const Kernel& step, const RuleNames& names);

/// `before`: what the node was, whose ray tests its steps keep; null: a new one, of type grid.
Loaded<NodeDef> compile_node(const NodeText& text, const RuleNames& names,
                             const NodeDef* before = nullptr);
NodeText print_node(const NodeDef& node, const RuleNames& names);

/// Rules like `around`, with these nodes. A node that is called like one of `around` is that node,
/// changed, when `keep` says so. What the engine would refuse is a problem, with its place.
Loaded<Rules> compile_nodes(const std::vector<NodeText>& nodes, const RuleNames& names,
                            const Rules& around, bool keep);

/// The same with defaults for all that is not given: nothing of it is left as it was.
NodeText with_defaults(NodeText text);

/// Nodes as the [interest] of a world file.
std::string print_toml(const std::vector<NodeText>& nodes);

}  // namespace purview::scene
