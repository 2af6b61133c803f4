// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Rules as data: which entities are relevant to which observers, and how they are sent.
///
///     Rules rules;
///     const FlagId cloaked = rules.flag("cloaked");
///     rules.node("near, not cloaked").add(within(60).leave_at(66)).subtract(cloaked);
///
/// A node selects entities and applies its steps in order. The results of all nodes are united.
/// Without nodes, everything is relevant to every observer. World files contain the same data.
/// Nodes with steps follow Unity's RFC 0015.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "purview/cells.hpp"
#include "purview/settings.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_interest
/// @{

class KernelBase;  // purview/extend/kernel.hpp
class RayTest;     // purview/extend/kernel.hpp
class Dispatcher;  // purview/extend/node.hpp
class CustomNode;  // purview/extend/node.hpp

/// The largest distance, radius or range in rules and areas, in meters. The sum of the squares of
/// three such distances is a finite float.
inline constexpr float reach_max = 1e18F;

/// How the result of a step combines with the result of the steps before it, and the result of a
/// node with that of the nodes before it. A kernel may return "unknown", which adds nothing, fails
/// `require`, and is removed by `subtract`.
enum class Combine : std::uint8_t {
    add = 0,       ///< adds what matches
    subtract = 1,  ///< removes what matches
    require = 2    ///< keeps only what matches
};

/// What a kernel tests.
enum class KernelType : std::uint8_t {
    distance = 0,  ///< within `enter` of a viewpoint; once relevant, up to `leave`
    same_key = 1,  ///< entity and observer share a key other than Key::none
    flag = 2,      ///< the entity has the flag
    custom = 3,    ///< your own (purview/extend/kernel.hpp)
    area = 4,      ///< inside an area of the observer; once relevant, up to `leave` outside of it
    owner = 5,     ///< the observer owns the entity or a member of its group
    value = 6,     ///< min <= value of the entity <= max
    cells = 7,     ///< within `rings` rectangular cells of a viewpoint (purview/cells.hpp)
    hexagons = 8,  ///< within `rings` hexagonal cells of a viewpoint
    line_of_sight = 9,  ///< nothing between a viewpoint and the entity (purview/extend/kernel.hpp)
    everything = 10,    ///< every entity of the node
};

/// Which radius a distance kernel uses. If the other radius is 0, it uses its own.
enum class RangeFrom : std::uint8_t {
    kernel = 0,    ///< its own (Kernel::enter)
    entity = 1,    ///< how far the entity can be seen (KindRules::range, Visibility::set_range)
    observer = 2,  ///< how far the observer can see (ObserverDef::range, Visibility::set_range)
};

/// From which viewpoints of an observer a spatial kernel measures.
enum class Viewpoints : std::uint8_t {
    entity_and_points = 0,  ///< its viewpoint entity, and its areas without a volume
    entity = 1,             ///< its viewpoint entity
    points = 2,             ///< its areas without a volume
    owned = 3,              ///< its viewpoint entity, and every entity that it owns
};

/// A test of one observer and one entity: a step of a node. The functions below create kernels. A
/// kernel ignores the fields that its type does not use.
struct Kernel {
    /// Creates a distance kernel; set `enter` and `leave` afterwards.
    Kernel() = default;
    /// Creates a kernel of a type; set its fields afterwards.
    explicit Kernel(KernelType its_type, Combine its_combine = Combine::add)
        : combine(its_combine), type(its_type) {}
    /// Creates a flag kernel: matches entities with the flag.
    Kernel(FlagId with_flag) : type(KernelType::flag), flag(with_flag) {}  // NOLINT: implicit
    /// Creates a kernel of your own. `own`: not null; shared with the engine, which calls it from
    /// its threads.
    template <class Own>
    requires std::is_convertible_v<std::shared_ptr<Own>, std::shared_ptr<const KernelBase>> Kernel(
        std::shared_ptr<Own> own)  // NOLINT: implicit
        : type(KernelType::custom), custom(std::move(own)) {}

    /// Sets the leave radius: a relevant entity stays relevant up to this distance (hysteresis).
    Kernel leave_at(float radius) && {
        leave = radius;
        return std::move(*this);
    }
    /// Sets the viewpoints to measure from.
    Kernel from(Viewpoints viewpoints) && {
        view_from = viewpoints;
        return std::move(*this);
    }
    /// Sets the source of the radius: the kernel, the entity or the observer. The margin leave -
    /// enter is added.
    Kernel range_from(RangeFrom source) && {
        range = source;
        return std::move(*this);
    }

    Combine combine = Combine::add;          ///< set by NodeDef::add, subtract and require
    KernelType type = KernelType::distance;  ///< what it tests
    float enter = 0;          ///< distance: radius, above 0; line_of_sight: radius, or 0: no limit
    float leave = 0;          ///< distance: radius, at least `enter`; area: margin, 0 or more
    KeyId key = KeyId::none;  ///< for same_key
    FlagId flag = FlagId::none;                           ///< for flag
    ValueId value = ValueId::none;                        ///< for value
    float min = -std::numeric_limits<float>::infinity();  ///< value: the least that matches
    float max = std::numeric_limits<float>::infinity();   ///< value: the most that matches
    RangeFrom range = RangeFrom::kernel;                  ///< for distance
    /// For distance, line_of_sight, cells and hexagons.
    Viewpoints view_from = Viewpoints::entity_and_points;
    /// cells: width, height, depth (0: the third axis does not count). hexagons: x is the side, and
    /// z the depth. Sizes are along the axes that count (Rules::axes), in their order.
    Vec3 cell_size = {};
    std::uint16_t rings = 1;                        ///< for cells and hexagons; 0: one cell
    std::shared_ptr<const RayTest> rays = nullptr;  ///< for line_of_sight; not null
    /// line_of_sight: entities tested per observer and tick, at least 1; further ones wait.
    std::uint32_t ray_entities_per_tick = 64;
    std::uint32_t ray_valid_ticks = 20;  ///< line_of_sight: how long a result is used; at least 2
    /// line_of_sight: result for an entity that was not tested in time.
    bool visible_when_unknown = false;
    /// line_of_sight: also tests the positions after Visibility::set_lookahead, and matches if one
    /// of the two lines is free.
    bool predicts_sight = false;
    std::shared_ptr<const KernelBase> custom = nullptr;  ///< for custom; not null
    /// Compares all members; two kernels of your own are equal if they are the same object.
    friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// Matches entities within `radius` of a viewpoint, the border included. Hysteresis:
/// Kernel::leave_at.
inline Kernel within(float radius) {
    Kernel kernel;
    kernel.enter = kernel.leave = radius;
    return kernel;
}
/// Matches entities that share a key with the observer.
inline Kernel same(KeyId key) {
    Kernel kernel(KernelType::same_key);
    kernel.key = key;
    return kernel;
}
/// Matches entities with min <= value <= max.
inline Kernel between(ValueId value, float min, float max) {
    Kernel kernel(KernelType::value);
    kernel.value = value;
    kernel.min = min;
    kernel.max = max;
    return kernel;
}
/// Matches entities inside an area of the observer; relevant ones up to `margin` outside of it.
inline Kernel in_area(float margin = 0) {
    Kernel kernel(KernelType::area);
    kernel.leave = margin;
    return kernel;
}
/// Matches entities if the observer owns them or a member of their group.
inline Kernel owned() {
    return Kernel(KernelType::owner);
}
/// Matches every entity of the node; for example as the base of "all but cloaked".
inline Kernel everything() {
    return Kernel(KernelType::everything);
}
/// Matches entities at most `rings` cells away from the cell of a viewpoint. Cells begin at
/// Rules::min. `depth`: size of a cell along the third axis; 0: that axis does not count.
inline Kernel cells(float width, float height, std::uint16_t rings = 1, float depth = 0) {
    Kernel kernel(KernelType::cells);
    kernel.cell_size = {width, height, depth};
    kernel.rings = rings;
    return kernel;
}
/// Matches the same with hexagonal cells.
inline Kernel hexagons(float side, std::uint16_t rings = 1) {
    Kernel kernel(KernelType::hexagons);
    kernel.cell_size = {side, 0, 0};
    kernel.rings = rings;
    return kernel;
}
/// Matches entities with an unobstructed line of sight to a viewpoint. `rays`: not null; shared
/// with the engine, which calls it from its threads.
inline Kernel in_sight(std::shared_ptr<const RayTest> rays,
                       std::uint32_t ray_entities_per_tick = 64) {
    Kernel kernel(KernelType::line_of_sight);
    kernel.rays = std::move(rays);
    kernel.ray_entities_per_tick = ray_entities_per_tick;
    return kernel;
}

/// Which entities a node evaluates.
enum class Members : std::uint8_t {
    all = 0,      ///< all entities
    bound = 1,    ///< those bound to it, by their kind or individually
    unbound = 2,  ///< those bound to no node; this makes it a default node
};

/// Where updates of a node's entities are encoded (docs/shared.md). Shared payloads need an adding
/// node with a first step that adds `cells` (without depth, at most 3 rings, at most 2^20 cells in
/// the bounds), followed only by flag and value steps that subtract or require; evaluated and sent
/// in every tick. The kinds of its entities must not have a relative position, send intervals, a
/// limit_per_tick, a restricted audience or dead-reckoned fields.
enum class Payload : std::uint8_t {
    per_observer = 0,  ///< for each observer
    update_many = 1,   ///< into each cell around; an observer receives one cell
    read_many = 2,     ///< into its own cell; an observer receives the cells around
};

/// A node: entities, steps, and how the result is used.
struct NodeDef {
    std::string name = {};  ///< for messages and for Rules::node
    /// Steps, in order; at most 32. None: all entities of the node match.
    std::vector<Kernel> steps = {};
    Members members = Members::all;  ///< which entities it evaluates
    /// How the result combines with the nodes before it. If all nodes add, the results are united.
    /// Otherwise nodes apply in order, and no result is shared between observers.
    Combine combine = Combine::add;
    // The next settings delay the evaluation. Denials, hides, nodes that subtract, and subtracting
    // steps without memory always take effect at once.

    /// Ticks between two evaluations of enters, 1 to 65,535. New entities are evaluated at once.
    std::uint32_t every_ticks = 1;
    /// Added to the radii of distance and area steps; 0 or more. For `every_ticks` above 1: with
    /// maximum speed x ticks no enter is missed.
    float widen = 0;
    /// Delays leaves as well: a relevant entity stays relevant until the next evaluation, unless it
    /// is hidden. Not for steps that are evaluated every tick, such as line of sight.
    bool lazy_leave = false;
    /// Uses the positions of the last Visibility::update. `every_ticks` must be 1.
    bool dormant = false;
    Replication replication = {};             ///< how the entities are sent
    Payload payload = Payload::per_observer;  ///< where their updates are encoded
    /// Selects candidates: the entities of the inner nodes that the observer covers (the bucket).
    /// Only candidates can match. Without steps, or if the first step does not add, all candidates
    /// match at first.
    std::shared_ptr<const Dispatcher> dispatcher = nullptr;
    /// Steps of inner nodes, by the result of Dispatcher::steps_of. An entity is in the bucket if
    /// an inner node that it shares with the observer has no steps, or if those steps match. No
    /// step may have memory: no leave radius above the enter radius, no line of sight. At most
    /// 4,096 lists of at most 32 steps. Needs a dispatcher.
    std::vector<std::vector<Kernel>> inner = {};
    /// A node of your own that decides alone: the node must have no steps and no dispatcher, and
    /// all nodes of the rules must add.
    std::shared_ptr<CustomNode> custom = nullptr;
    /// False: the node has no effect; it adds, subtracts and requires nothing.
    bool enabled = true;

    /// Appends a step that adds its matches.
    NodeDef& add(Kernel kernel) { return append(Combine::add, std::move(kernel)); }
    /// Appends a step that removes its matches.
    NodeDef& subtract(Kernel kernel) { return append(Combine::subtract, std::move(kernel)); }
    /// Appends a step that keeps only its matches.
    NodeDef& require(Kernel kernel) { return append(Combine::require, std::move(kernel)); }

  private:
    NodeDef& append(Combine how, Kernel kernel) {
        kernel.combine = how;
        steps.push_back(std::move(kernel));
        return *this;
    }
};

/// How the relevance of an entity is decided.
enum class EntityMode : std::uint8_t {
    nodes = 0,          ///< nodes decide
    global = 1,         ///< relevant to every ready observer
    explicit_only = 2,  ///< relevant to owners and allowed observers only
};

/// Settings of all entities of a kind, from their spawn on.
struct KindRules {
    EntityMode mode = EntityMode::nodes;  ///< unless EntityDef::mode is another
    std::vector<NodeId> nodes = {};       ///< bindings; none: the default nodes (Members::unbound)
    /// Without a binding, default nodes do not evaluate it; nodes of Members::all do.
    bool needs_node = false;
    /// False: owning it does not make it relevant.
    bool owner_sees = true;
    float range = 0;  ///< for RangeFrom::entity; 0: the kernel's; at most the last range class
    /// As a group member, it is culled independently, with the members below it, by its own
    /// position, flags, keys and nodes. It is relevant only if its parent is.
    bool culled_independently = false;
    /// If nodes make such a member relevant, its ancestors are relevant too, at any distance. This
    /// does not override a denial, hide or EntityMode::explicit_only of an ancestor, nor a step
    /// that subtracts by the ancestor's own attributes.
    bool keeps_ancestors = false;
    /// As the root of a group, distance and area steps measure to the bounding sphere of the group
    /// (set_group_radius). Needs Rules::group_radius_max. Cells, hexagons and line of sight use its
    /// position.
    bool uses_group_radius = false;
    /// Compares all members.
    friend bool operator==(const KindRules&, const KindRules&) = default;
};

/// Which coordinates rules use.
enum class Axes : std::uint8_t {
    xy = 0,   ///< z is up, and ignored
    xz = 1,   ///< y is up, and ignored
    xyz = 2,  ///< all
};

/// How much of the rules is in force. Denials, hides and EntityMode::explicit_only always are.
enum class InterestLevel : std::uint8_t {
    none = 0,         ///< every node matches everything
    replication = 1,  ///< as `none`, with the Replication of nodes
    full = 2,         ///< all of the rules
};

/// The configuration of the interest engine. Plain data, copyable.
struct Rules {
    /// @name Names
    /// A server declares the names of its schema itself. O(names).
    /// @{

    /// Returns the flag with this name; declares it if there is none. problem_of refuses more than
    /// 16.
    FlagId flag(std::string_view name);
    /// Returns the key attribute with this name; declares it if there is none. problem_of refuses
    /// more than 8.
    KeyId key(std::string_view name);
    /// Returns the value with this name; declares it if there is none. problem_of refuses more than
    /// 8.
    ValueId value(std::string_view name);
    /// Returns the kind with this name; declares it if there is none.
    KindId kind(std::string_view name);
    /// @}

    /// Returns the node with this name; appends it if there is none. Valid until the next node() or
    /// node_id().
    NodeDef& node(std::string_view name);
    /// Returns the id of the node with this name, for KindRules::nodes and Visibility::bind;
    /// appends the node if there is none.
    NodeId node_id(std::string_view name);
    /// Returns the rules of a kind. Valid until the next for_kind(). KindId::none is asserted; the
    /// result then has no effect.
    KindRules& for_kind(KindId kind);

    /// @name Fixed at the creation of an engine
    /// @{

    Axes axes = Axes::xy;  ///< which coordinates rules use
    /// Lower bounds of the world; finite. Positions outside of the bounds work, but are slower.
    Vec3 min{0, 0, 0};
    /// Upper bounds of the world; finite, and above `min` on every axis that counts.
    Vec3 max{1024, 1024, 0};
    /// Side of a cell of the spatial index; 0: derived from the radii and `entities_expected`. At
    /// most 16,384 cells per axis and 4 million per grid; in a larger world cells are made larger.
    /// A cell takes about 200 bytes, also if it is empty.
    float cell_size = 0;
    std::uint32_t entities_expected = 10'000;  ///< more are possible
    /// Range classes of entities, ascending, at most 6. Each class has its own grid, so that large
    /// ranges do not slow down small ones. The last class is the largest range of an entity.
    std::vector<float> range_classes = {};
    float observer_range_max = 0;  ///< largest range of an observer
    float group_radius_max = 0;    ///< limit of group radii (KindRules::uses_group_radius)
    /// At most 1,048,575. A server sets it to ServerDef::sessions_max + 16.
    std::uint32_t observers_max = 65'536;
    std::uint32_t areas_max = 16;  ///< per observer; at most limits::areas_per_observer
    bool single_area = false;      ///< set_area replaces all other areas (Fusion's shared mode)
    /// An observer without a viewpoint entity is not ready (as in Mirror).
    bool ready_requires_viewpoint = false;
    /// False: ownership never makes an entity relevant, even with KindRules::owner_sees.
    bool owner_sees = true;
    /// Counts observers of entities, for observer_count and newly_observed. Costs 5 to 20 % per
    /// event.
    bool count_observers = false;
    /// Computes changed_scores. A tick takes about a fifth longer.
    bool measure_scores = false;
    std::vector<KindRules> kinds = {};          ///< by index_of(KindId); for_kind
    std::vector<std::string> flag_names = {};   ///< by index_of(FlagId); flag()
    std::vector<std::string> key_names = {};    ///< by index_of(KeyId); key()
    std::vector<std::string> value_names = {};  ///< by index_of(ValueId); value()
    std::vector<std::string> kind_names = {};   ///< by index_of(KindId); kind()
    /// @}

    /// @name May change while an engine runs (set_rules)
    /// @{

    /// Nodes, by index_of(NodeId); at most 4,096. None: everything is relevant to every observer.
    ///
    /// The memory of the steps of all nodes is limited to 30 masks: 1 for a distance with a leave
    /// radius above `enter`, an area with a margin, a kernel of your own that remembers, and a node
    /// with `every_ticks` above 1 that does not subtract; 3 for line of sight.
    std::vector<NodeDef> nodes = {};
    InterestLevel level = InterestLevel::full;  ///< how much of the rules is in force
    /// Minimum relevance time in ticks: an entity that nodes made relevant stays relevant for this
    /// long, unless it is hidden.
    std::uint32_t minimum_relevance_ticks = 0;
    /// @}
};

/// Returns why the rules are unsound, with the names of node and step; empty: sound.
std::string problem_of(const Rules& rules);

/// Returns the grid of a `cells` kernel: as many cells as cover the bounds, along the first two
/// axes that count.
CellGrid cell_grid_of(const Rules& rules, const Kernel& cells);

/// @}

}  // namespace purview
