// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Compiled rules: the steps that run over every window, and the rows that observers share. An `add`
// becomes a row source if its result depends on the entity or its key alone, and so do the later
// steps of the node. Everything else stays in the window program. Filtering each add by the later
// steps gives the same result as filtering their union, so both parts together are the node's
// result. A node without steps needs neither: its members are shown to all observers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "interest/entities/columns.hpp"
#include "interest/rules/kernel.hpp"

namespace purview {

inline constexpr std::uint32_t no_plane = 0xffffffffU;

struct InnerNodes;

/// Caches the kernel's properties, because a scan takes about 300 ns and a virtual call 2 ns.
struct Step {
    Step() = default;
    Step(Combine step_op, const InterestKernel& step_kernel, std::uint32_t first_plane = no_plane)
        : combine(step_op),
          from(step_kernel.looks_from()),
          needs_position(step_kernel.needs_position()),
          into_areas(step_kernel.looks_into_areas()),
          answers_unknown(step_kernel.answers_unknown()),
          uses_requested(step_kernel.uses_requested()),
          planes(static_cast<std::uint8_t>(step_kernel.planes())),
          kernel(&step_kernel),
          plane(first_plane) {}

    Combine combine = Combine::add;
    Viewpoints from = Viewpoints::entity_and_points;
    bool needs_position = false;
    bool into_areas = false;
    bool answers_unknown = true;
    bool uses_requested = false;
    std::uint8_t planes = 0;
    const InterestKernel* kernel = nullptr;
    std::uint32_t plane = no_plane;  ///< first plane of the kernel's memory, if it has one
    /// For the bucket step of a dispatcher that has steps in its inner nodes: these are evaluated
    /// instead of the kernel. Null for every other step.
    const InnerNodes* inner = nullptr;
};

/// Returns whether enters wait for the next tick in which the node is evaluated.
inline bool waits(const NodeDef& node) noexcept {
    return node.every_ticks > 1 && node.combine != Combine::subtract;
}

/// The steps of one node that run over windows, in order. The result starts empty.
struct NodeProgram {
    std::vector<Step> steps;
    Combine combine = Combine::add;
    std::uint32_t member_column = no_column;  ///< flag of its members; none: all entities
    std::uint32_t every_ticks = 1;            ///< as in NodeDef
    bool lazy_leave = false;
    std::uint32_t result_plane = no_plane;  ///< its last result, if enters have to wait
    bool is_near = false;                   ///< it shows nothing beyond the reach of its steps
};

/// Steps of the inner nodes of a dispatcher, indexed by Dispatcher::steps_of. If the first step of
/// a list does not add, a step that adds everything comes before it.
struct InnerNodes {
    const Dispatcher* dispatcher = nullptr;
    std::vector<NodeProgram> programs;
};

/// A node as it was written, rows and windows together, for explain and what-if queries.
struct WholeNode {
    NodeId id{};
    bool everything = false;  ///< it has no steps
    bool is_custom = false;   ///< a custom node, without steps
    NodeProgram program;
};

/// Which observers share a row of a source.
enum class RowsBy : std::uint8_t { all, key, cell };

/// Rows of entities that several observers share.
struct RowSource {
    RowsBy by = RowsBy::all;
    KeyId domain = KeyId::none;              ///< by key
    const Dispatcher* dispatcher = nullptr;  ///< by cell
    const InterestKernel* member = nullptr;  ///< matches the members; null: all entities
    NodeId node{};
    std::vector<Step> filters;  ///< require and subtract steps after the add
    /// A later step is evaluated per pair: the row is no result, its members are candidates for the
    /// windows.
    bool pulled = false;
};

/// How far windows extend from some positions of the observer.
struct Spread {
    Viewpoints from = Viewpoints::entity_and_points;
    RangeFrom range = RangeFrom::kernel;
    float enter = 0;     ///< the radius of the rule
    float margin_m = 0;  ///< beyond that, and beyond an entity's or observer's own range
};

struct Program {
    /// Nodes with something to evaluate per window. Bound nodes with equal steps count as one:
    /// their members share a column.
    std::vector<NodeProgram> nodes;
    /// By class: bound nodes with equal steps. Used if there are so many classes that a column for
    /// each would be too expensive. Each is evaluated only for the entities of a window that are
    /// bound to it. Either empty, or more than dense_classes_max.
    std::vector<NodeProgram> classes;
    std::vector<std::uint32_t> class_of_node;  ///< by node, or Bindings::no_class; or empty
    static constexpr std::size_t dense_classes_max = 16;
    std::vector<RowSource> rows;
    std::vector<WholeNode> whole;
    std::vector<NodeId> open_nodes;    ///< without steps: their members are shown to all
    std::vector<NodeId> custom_nodes;  ///< enabled ones
    /// Nodes are combined in order, so everything is evaluated in windows.
    bool is_pipeline = false;
    std::uint32_t plane_count = 0;
    bool everywhere = false;  ///< some add has no reach: windows hold all cells
    std::vector<Spread> spreads;
    bool looks_into_areas = false;
    float area_margin_m = 0;
    bool looks_from_owned = false;
    bool needs_owned = false;       ///< some step reads what the observer owns
    bool pulls_owned = false;       ///< owned entities are candidates at any distance
    bool needs_every_tick = false;  ///< some kernel must be evaluated in every tick
    bool all_wait = false;          ///< all window nodes let enters wait, none has memory
    bool skips_empty = false;       ///< no window node matches an empty lane
    bool is_pushable = false;       ///< radii around positions decide whether a move matters
    /// The kernel with the largest range that can use the number of blocks that lie wholly inside
    /// its range. Null if there is none.
    const InterestKernel* inside_kernel = nullptr;
    /// Above 0: every entity in a window has the score 1 - distance / nearness_m, by the nearest of
    /// the positions `nearness_from`.
    float nearness_m = 0;
    Viewpoints nearness_from = Viewpoints::entity_and_points;
    /// Radii at which some result changes. A move that crosses none of them around the positions of
    /// an observer changes nothing for it.
    std::vector<float> edges_m;
    /// Any move within this distance of an observer's position may change some kernel's result.
    /// Negative: no move may; infinite: any move may.
    float any_move_m = -1;
    std::vector<float> all_edges_m;     ///< also from steps outside windows
    std::vector<std::string> warnings;  ///< what the dry run reports
    std::vector<std::shared_ptr<const InterestKernel>> kernels;
    std::vector<std::shared_ptr<const InnerNodes>> inner_nodes;
    /// [node][step] of the rules.
    struct Written {
        std::shared_ptr<const InterestKernel> kernel;
        std::uint32_t plane = no_plane;
    };
    std::vector<std::vector<Written>> written;

    /// Returns how far a window extends at most from a position, by the radii of the rules.
    float reach() const noexcept;
    bool has_windows() const noexcept { return !nodes.empty() || !classes.empty(); }
};

/// Kernels of older rules, reused where node and step are the same.
struct OldKernels {
    const Rules* rules = nullptr;
    const Program* program = nullptr;
};

/// Returns the same step at the same index of the same node in older rules, or null.
const Program::Written* written_before(const Rules& rules, std::size_t node, std::size_t step,
                                       const Rules& old_rules, const Program& old);

/// Returns a new flag column for the members of these nodes, which are evaluated together.
using MemberColumnOf = std::function<std::uint32_t(std::span<const NodeId>)>;

/// Compiles rules, which must be valid (problem_of).
Program compile(const Rules& rules, const AttributeNames& names,
                const MemberColumnOf& member_column_of, OldKernels old = {});

}  // namespace purview
