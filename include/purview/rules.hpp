// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rules as plain data: what a world file or a program says about interest. The interest engine
// compiles them; the truth check reads the same text with other eyes. One `InterestRules` holds
// nodes (which entities, and where to look for them); each node holds steps that count in order
// (Unity RFC 0015; N13-N18, N48 of
// docs/coverage.md).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "purview/cells.hpp"
#include "purview/settings.hpp"
#include "purview/types.hpp"

namespace purview {

class InterestKernel;      // purview/kernel.hpp: a kernel of your own
class SightTest;           // purview/sight.hpp: who stands in the way
class InterestDispatcher;  // purview/node.hpp: a node of nodes
class InterestNode;        // purview/node.hpp: a node of your own

/// The largest distance, radius, range or reach that rules and areas may have, in meters: its
/// square, summed over three axes, is still a finite float.
inline constexpr float reach_max_m = 1e18F;

/// What a step does with its kernel's answer. add: result |= yes; require: result &= yes;
/// subtract: result &= ~(yes or unknown).
enum class StepOp : std::uint8_t { add = 0, subtract = 1, require = 2 };

enum class KernelType : std::uint8_t {
    distance = 0,    ///< within enter_m of a place of the observer; once in, up to leave_m
    same_group = 1,  ///< entity and observer share a key of the domain, not Key::none
    flag = 2,        ///< the entity has the flag
    custom = 3,      ///< a kernel of your own (purview/kernel.hpp)
    area = 4,        ///< inside a sphere, box or cone of the observer; once in, up to leave_m out
    owner = 5,       ///< the observer owns it, or a member of its group
    value = 6,       ///< value_min <= a value of the entity <= value_max
    neighbourhood = 7,  ///< its cell is at most so many rings of cells away from a place's
    hexagons = 8,       ///< the same with hexagonal cells
    line_of_sight = 9,  ///< nothing stands between a place and it (purview/sight.hpp)
};

/// Whose radius a distance kernel takes; where that one has none, the rule's.
enum class RangeOf : std::uint8_t {
    rule = 0,
    entity = 1,    ///< how far it is seen (EntityDef::range_m, set_range)
    observer = 2,  ///< how far he sees (set_observer_range)
};

/// From where a kernel looks.
enum class LookFrom : std::uint8_t {
    main_and_areas = 0,  ///< the main entity, and areas without a shape
    main = 1,
    areas = 2,  ///< areas without a shape
    owned = 3,  ///< the main entity, and every entity that the observer owns
};

/// Cells of a neighbourhood, counted from the rules' bounds_min: cell i of an axis holds
/// [i * side, (i + 1) * side), also below zero. Hexagons: width_m is a side, pointed along y.
struct CellShape {
    float width_m = 0;
    float height_m = 0;  ///< along the second axis; hexagons: not used
    float depth_m = 0;   ///< along the third axis; 0: it does not matter
    std::uint16_t rings = 1;
    friend bool operator==(const CellShape&, const CellShape&) = default;
};

/// Line of sight: what is asked of the SightTest, and what holds when it was not asked.
struct SightDef {
    std::uint32_t tests_per_tick = 64;  ///< entities, for one observer; the rest waits its turn
    std::uint32_t grace_ticks = 20;     ///< an answer holds no longer, at least 2
    bool shown_when_unknown = false;    ///< what is said of whoever was not tested in time
    bool predict = false;               ///< also from and to where both will be (set_lookahead)
    friend bool operator==(const SightDef&, const SightDef&) = default;
};

struct KernelDesc {
    KernelType type = KernelType::distance;
    float enter_m = 0;  ///< distance; line of sight: how far it is tested
    /// distance: >= enter_m. area: how far outside whoever was inside stays in.
    float leave_m = 0;
    KeyDomain domain = KeyDomain::none;  ///< same_group
    FlagId flag = FlagId::none;          ///< flag
    std::shared_ptr<const InterestKernel> custom = nullptr;
    RangeOf range = RangeOf::rule;             ///< distance; the margin leave_m - enter_m stays
    LookFrom from = LookFrom::main_and_areas;  ///< distance, neighbourhood, hexagons, line of sight
    ValueId value = ValueId::none;             ///< value
    float value_min = -std::numeric_limits<float>::infinity();
    float value_max = std::numeric_limits<float>::infinity();
    CellShape cells = {};                              ///< neighbourhood, hexagons
    std::shared_ptr<const SightTest> sight = nullptr;  ///< line of sight
    SightDef sight_def = {};
    friend bool operator==(const KernelDesc&, const KernelDesc&) = default;
};

struct StepDesc {
    StepOp op = StepOp::add;
    KernelDesc kernel;
    friend bool operator==(const StepDesc&, const StepDesc&) = default;
};

// Steps as one reads them, nearly in the words of world files: {add(within(60, 66)),
// add(same(team)), subtract(flagged(cloaked))}. What is not named here is set in the KernelDesc
// that they return; what is unsound about one, problem_of says of the rules (purview/interest.hpp).
inline StepDesc add(KernelDesc kernel) {
    return {StepOp::add, std::move(kernel)};
}
inline StepDesc subtract(KernelDesc kernel) {
    return {StepOp::subtract, std::move(kernel)};
}
inline StepDesc require(KernelDesc kernel) {
    return {StepOp::require, std::move(kernel)};
}
/// Without a leave radius: the same as the enter radius.
inline KernelDesc within(float enter_m, float leave_m = 0) {
    if (leave_m == 0) leave_m = enter_m;
    return {.type = KernelType::distance, .enter_m = enter_m, .leave_m = leave_m};
}
inline KernelDesc same(KeyDomain domain) {
    return {.type = KernelType::same_group, .domain = domain};
}
inline KernelDesc flagged(FlagId flag) {
    return {.type = KernelType::flag, .flag = flag};
}
inline KernelDesc between(float min, ValueId value, float max) {
    return {.type = KernelType::value, .value = value, .value_min = min, .value_max = max};
}
/// Once in an area, up to `leave_m` outside of it.
inline KernelDesc in_area(float leave_m = 0) {
    return {.type = KernelType::area, .leave_m = leave_m};
}
inline KernelDesc owned() {
    return {.type = KernelType::owner};
}
inline KernelDesc neighbourhood(CellShape cells) {
    return {.type = KernelType::neighbourhood, .cells = cells};
}
inline KernelDesc hexagons(float side_m, std::uint16_t rings = 1) {
    return {.type = KernelType::hexagons, .cells = {.width_m = side_m, .rings = rings}};
}
/// `test`: not null; shared with the engine, asked from its threads.
inline KernelDesc in_sight(std::shared_ptr<const SightTest> test, SightDef def = {}) {
    return {.type = KernelType::line_of_sight, .sight = std::move(test), .sight_def = def};
}
/// A kernel of your own: not null; shared with the engine, asked from its threads.
inline KernelDesc ask(std::shared_ptr<const InterestKernel> kernel) {
    return {.type = KernelType::custom, .custom = std::move(kernel)};
}

enum class NodeType : std::uint8_t {
    everything = 0,  ///< all its entities are candidates (the static node)
    grid = 1,        ///< candidates are found by place, distances are exact
    /// Candidates are the bucket: the entities of the inner nodes that an observer looks into.
    /// Steps run over the bucket, and nothing outside of it is ever relevant by this node. Without
    /// steps all of the bucket is; where the first step does not add, the result starts with it.
    dispatcher = 2,
    custom = 3,  ///< a node of your own says it all
};

/// Which entities a node is about.
enum class NodeMembers : std::uint8_t {
    all = 0,
    bound = 1,    ///< those that are bound to it, by their kind or by themselves
    unbound = 2,  ///< those that are bound to no node (the default node)
};

enum class RefreshType : std::uint8_t {
    exact = 0,
    every = 1,    ///< enters are looked for in every Nth tick only, but for what spawns
    dormant = 2,  ///< an entity's place is the one of its last update(entity)
};

/// How fresh a node's answer is. Hides (deny, force hidden, a node that
/// subtracts, a step that subtracts and remembers nothing) never wait.
struct Refresh {
    RefreshType type = RefreshType::exact;
    std::uint32_t every_ticks = 1;  ///< 1 to 65,535
    /// every: added to radii, max speed x ticks, so that nobody is missed in between.
    float widen_m = 0;
    /// every: leaves wait as well. What the node showed in its last tick stays relevant until its
    /// next one, however far it goes, unless something hides it. Not of a node with a step that
    /// must be evaluated every tick, such as line of sight.
    bool lazy_leave = false;
};

/// How updates of a node's entities are written (docs/shared.md). The two shared ways are for nodes
/// whose rule and audiences do not depend on who asks: one step `add neighbourhood`, then steps
/// about flags and values alone.
enum class NodeMode : std::uint8_t {
    per_observer = 0,
    update_many = 1,  ///< into one section for each cell around; an observer is sent one of them
    read_many = 2,    ///< into the section of its own cell; an observer is sent those around him
};

struct NodeDesc {
    std::string name;
    NodeType type = NodeType::everything;
    /// Without steps: all candidates of the node (N13).
    std::vector<StepDesc> steps;
    NodeMembers members = NodeMembers::all;
    /// With what the nodes before it say. add, for all: union (N11). Otherwise nodes count in
    /// order, and no result is shared between observers.
    StepOp combine = StepOp::add;
    Refresh refresh = {};
    NodeSettings settings = {};
    NodeMode mode = NodeMode::per_observer;
    std::shared_ptr<const InterestDispatcher> dispatcher = nullptr;
    /// Dispatcher: steps of inner nodes, by what InterestDispatcher::steps_of answers. An entity is
    /// in the bucket if an inner node that it shares with the observer has no steps, or if its
    /// steps match. As in the node itself, the result starts with all of the inner node where the
    /// first step does not add. No step may remember: no leave radius above the enter radius, no
    /// line of sight.
    std::vector<std::vector<StepDesc>> inner = {};
    std::shared_ptr<InterestNode> custom = nullptr;
    /// False: it has no say. One that adds adds nothing, one that requires is met, one that
    /// subtracts takes nothing away.
    bool enabled = true;

    /// Enters wait for the next tick in which it is refreshed. What a node takes away goes at once.
    bool waits() const noexcept {
        return refresh.type == RefreshType::every && refresh.every_ticks > 1 &&
               combine != StepOp::subtract;
    }
};

/// Which coordinates count.
enum class Axes : std::uint8_t {
    xy = 0,
    xz = 1,  ///< y is up, and ignored
    xyz = 2,
};

struct InterestRules {
    /// Where entities are. What lies outside is found all the same, only slower.
    Vec3 bounds_min{0, 0, 0};
    Vec3 bounds_max{1024, 1024, 0};
    /// Side of a grid cell; 0 = derived from the radius and the expected number of entities. An
    /// axis has 16,384 cells at most, a grid 4 million: in a larger world they are larger than
    /// this. Each takes some 200 bytes, also where nobody is.
    float cell_m = 0;
    std::uint32_t entities_expected = 10'000;
    /// Empty = the default node: everybody is told everything (N2, M1).
    std::vector<NodeDesc> nodes;
    Axes axes = Axes::xy;
    /// Ranges that entities may have of their own, ascending, at most 6: entities are kept in one
    /// grid per class, so that far ones cost near ones nothing. Larger than the last is refused.
    std::vector<float> range_classes_m;
    /// Largest range that an observer may have of its own.
    float observer_range_max_m = 0;
    /// Largest bounds of a group that count (KindInterest::by_bounds); larger ones count as this.
    float group_bounds_max_m = 0;
    /// A pair that nodes made relevant stays so for this many ticks, unless it is hidden.
    std::uint32_t min_stay_ticks = 0;
};

/// Empty when the rules are sound, else what is wrong with them.
std::string problem_of(const InterestRules& rules);

/// The cells of a neighbourhood as numbers: as many as cover the bounds (P1), along the two axes
/// that count first.
CellGrid cell_grid_of(const InterestRules& rules, const CellShape& cells);

}  // namespace purview
