// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rules compiled: what runs over every window, and what is shared in rows. An `add` whose answer
// depends on the entity or its key alone, and whose later steps of the node do so too, becomes a
// row source; everything else stays in the window program. Each add passes through the filters
// behind it, and union and filters distribute, so the two parts united are the node's result
// (N13-N16). A node without steps needs neither: its members are open to everybody.
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

/// What the kernel says of itself is asked once: a scan takes some 300 ns, a virtual call two.
struct Step {
    Step() = default;
    Step(Combine step_op, const InterestKernel& step_kernel, std::uint32_t first_plane = no_plane)
        : combine(step_op),
          from(step_kernel.looks_from()),
          needs_position(step_kernel.needs_position()),
          into_areas(step_kernel.looks_into_areas()),
          answers_unknown(step_kernel.answers_unknown()),
          takes_asked(step_kernel.takes_asked()),
          planes(static_cast<std::uint8_t>(step_kernel.planes())),
          kernel(&step_kernel),
          plane(first_plane) {}

    Combine combine = Combine::add;
    Viewpoints from = Viewpoints::entity_and_points;
    bool needs_position = false;
    bool into_areas = false;
    bool answers_unknown = true;
    bool takes_asked = false;
    std::uint8_t planes = 0;
    const InterestKernel* kernel = nullptr;
    std::uint32_t plane = no_plane;  ///< where the kernel's memory lies, if it has one
    /// Of the step that is a dispatcher's bucket, if its inner nodes have steps: these are
    /// evaluated, not the kernel. Null for every other step.
    const InnerNodes* inner = nullptr;
};

/// Enters wait for the next tick in which the node is evaluated.
inline bool waits(const NodeDef& node) noexcept {
    return node.every_ticks > 1 && node.combine != Combine::subtract;
}

/// The steps of one node that judge windows, in order. Its result starts empty.
struct NodeProgram {
    std::vector<Step> steps;
    Combine combine = Combine::add;
    std::uint32_t member_column = no_column;  ///< flag of its members; none: all are
    std::uint32_t every_ticks = 1;            ///< as NodeDef's
    bool lazy_leave = false;
    std::uint32_t result_plane = no_plane;  ///< its own last result, where enters have to wait
    bool is_near = false;                   ///< it shows nothing beyond the reach of its steps
};

/// Steps of the inner nodes of a dispatcher, by what Dispatcher::steps_of answers. One
/// whose first step does not add begins with a step that adds everything.
struct InnerNodes {
    const Dispatcher* dispatcher = nullptr;
    std::vector<NodeProgram> programs;
};

/// A node as it was written, rows and windows together: what explain and what-if questions ask.
struct WholeNode {
    NodeId id{};
    bool everything = false;  ///< it has no steps
    bool is_custom = false;   ///< it says everything itself
    NodeProgram program;
};

/// Who shares a row of a source.
enum class RowsBy : std::uint8_t { all, key, cell };

/// Rows of entities that several observers share.
struct RowSource {
    RowsBy by = RowsBy::all;
    KeyId domain = KeyId::none;              ///< by key
    const Dispatcher* dispatcher = nullptr;  ///< by cell
    const InterestKernel* member = nullptr;  ///< who belongs; null: everybody
    NodeId node{};
    std::vector<Step> filters;  ///< require and subtract steps behind the add
    /// A later step judges pairs: the row is not an answer, its members are candidates of the
    /// windows.
    bool pulled = false;
};

/// How far windows must look from some places of the observer.
struct Spread {
    Viewpoints from = Viewpoints::entity_and_points;
    RangeFrom range = RangeFrom::kernel;
    float enter = 0;     ///< of the rule
    float margin_m = 0;  ///< beyond that, and beyond somebody's own range
};

struct Program {
    /// Only those with something to do per window. Bound nodes with equal steps are one of these:
    /// their members share a column.
    std::vector<NodeProgram> nodes;
    /// By class: bound nodes with equal steps, where there are so many classes that a column for
    /// each would be too expensive. Each is evaluated for the entities of a window that are bound
    /// to it, and for no others. Either empty, or more than dense_classes_max.
    std::vector<NodeProgram> classes;
    std::vector<std::uint32_t> class_of_node;  ///< by node, or Bindings::no_class; or empty
    static constexpr std::size_t dense_classes_max = 16;
    std::vector<RowSource> rows;
    std::vector<WholeNode> whole;
    std::vector<NodeId> open_nodes;    ///< without steps: their members are shown to everybody
    std::vector<NodeId> custom_nodes;  ///< enabled ones
    /// Nodes do not simply unite: everything is judged in windows.
    bool is_pipeline = false;
    std::uint32_t plane_count = 0;
    bool everywhere = false;  ///< some add looks nowhere in particular: windows hold all cells
    std::vector<Spread> spreads;
    bool looks_into_areas = false;
    float area_margin_m = 0;
    bool looks_from_owned = false;
    bool needs_owned = false;       ///< somebody asks what the observer owns
    bool pulls_owned = false;       ///< what the observer owns is a candidate wherever it is
    bool needs_every_tick = false;  ///< some kernel must be asked in every tick
    bool all_wait = false;          ///< all window nodes let enters wait, none remembers
    bool skips_empty = false;       ///< no window node says yes of an empty lane
    bool is_pushable = false;       ///< all that matters of a move is known by radii around places
    /// The kernel that is told which blocks lie wholly inside of its range: the farthest.
    const InterestKernel* inside_kernel = nullptr;
    /// Above 0: whoever windows say yes to is 1 - distance / nearness_m strong, to the nearest of
    /// these places.
    float nearness_m = 0;
    Viewpoints nearness_from = Viewpoints::entity_and_points;
    /// Radii at which some answer changes: whoever moved without crossing one of them around a
    /// place of the observer looks the same to him.
    std::vector<float> edges_m;
    /// Some kernel's answer may change with any move this far from a place of the observer.
    /// Negative: with none; infinite: wherever the entity is.
    float any_move_m = -1;
    std::vector<float> all_edges_m;     ///< of steps outside of windows, too
    std::vector<std::string> warnings;  ///< what the dry run reports
    std::vector<std::shared_ptr<const InterestKernel>> kernels;
    std::vector<std::shared_ptr<const InnerNodes>> inner_nodes;
    /// [node][step] of the rules.
    struct Written {
        std::shared_ptr<const InterestKernel> kernel;
        std::uint32_t plane = no_plane;
    };
    std::vector<std::vector<Written>> written;

    /// The farthest that a window looks from a place by a rule's own radius.
    float reach() const noexcept;
    bool has_windows() const noexcept { return !nodes.empty() || !classes.empty(); }
};

/// Kernels of older rules that are used again where node and step are the same.
struct OldKernels {
    const Rules* rules = nullptr;
    const Program* program = nullptr;
};

/// The same step at the same place of the same node of older rules; null: there is none.
const Program::Written* written_before(const Rules& rules, std::size_t node, std::size_t step,
                                       const Rules& old_rules, const Program& old);

/// Makes a flag column for the members of these nodes, which are judged together.
using MemberColumnOf = std::function<std::uint32_t(std::span<const NodeId>)>;

/// The rules must be sound (problem_of).
Program compile(const Rules& rules, const AttributeNames& names,
                const MemberColumnOf& member_column_of, OldKernels old = {});

}  // namespace purview
