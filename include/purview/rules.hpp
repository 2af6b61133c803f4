// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rules as data: which entities are relevant to which observers, and how they are sent.
//
//     Rules rules;
//     const FlagId cloaked = rules.flag("cloaked");
//     rules.node("near, not cloaked").add(within(60).leave_at(66)).subtract(cloaked);
//
// A node selects entities and applies its steps in order. The results of all nodes are united.
// Without nodes everything is relevant to every observer. World files contain the same data. The
// node with steps is that of Unity's RFC 0015.
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

class InterestKernel;  // purview/kernel.hpp
class RayTest;         // purview/sight.hpp
class Dispatcher;      // purview/node.hpp
class CustomNode;      // purview/node.hpp

/// The largest distance, radius or range in rules and areas, in meters. The sum of three squares of
/// it is still a finite float.
inline constexpr float reach_max = 1e18F;

/// How a step combines with the steps before it, and a node with the nodes before it. A kernel may
/// return "unknown": that adds nothing, fails `require`, and is removed by `subtract`.
enum class Combine : std::uint8_t { add = 0, subtract = 1, require = 2 };

enum class KernelType : std::uint8_t {
    distance = 0,  ///< within `enter` of a viewpoint; once relevant, up to `leave`
    same_key = 1,  ///< entity and observer share a key other than Key::none
    flag = 2,      ///< the entity has the flag
    custom = 3,    ///< your own (purview/kernel.hpp)
    area = 4,      ///< inside an area of the observer; once relevant, up to `leave` outside of it
    owner = 5,     ///< the observer owns the entity or a member of its group
    value = 6,     ///< min <= value of the entity <= max
    cells = 7,     ///< within `rings` rectangular cells of a viewpoint (purview/cells.hpp)
    hexagons = 8,  ///< within `rings` hexagonal cells of a viewpoint
    line_of_sight = 9,  ///< nothing between a viewpoint and the entity (purview/sight.hpp)
    everything = 10,    ///< every entity of the node
};

/// Which radius a distance kernel uses. The kernel's own radius is used where the other one is 0.
enum class RangeFrom : std::uint8_t {
    kernel = 0,
    entity = 1,    ///< how far the entity can be seen (KindRules::range, Visibility::set_range)
    observer = 2,  ///< how far the observer can see (ObserverDef::range, Visibility::set_range)
};

/// Which viewpoints of an observer a spatial kernel measures from.
enum class Viewpoints : std::uint8_t {
    entity_and_points = 0,  ///< its viewpoint entity, and its areas without a shape
    entity = 1,             ///< its viewpoint entity
    points = 2,             ///< its areas without a shape
    owned = 3,              ///< its viewpoint entity, and every entity that it owns
};

/// A test of one observer and one entity, and a step of a node. Made by the functions below. Fields
/// that a type does not use are ignored.
struct Kernel {
    Kernel() = default;
    explicit Kernel(KernelType its_type, Combine its_combine = Combine::add)
        : combine(its_combine), type(its_type) {}
    Kernel(FlagId with_flag) : type(KernelType::flag), flag(with_flag) {}  // NOLINT: implicit
    /// `own`: not null; shared with the engine, which calls it from its threads.
    template <class Own>
    requires std::is_convertible_v<std::shared_ptr<Own>, std::shared_ptr<const InterestKernel>>
    Kernel(std::shared_ptr<Own> own)  // NOLINT: implicit
        : type(KernelType::custom), custom(std::move(own)) {}

    /// Keeps an entity relevant until it is farther than `radius` (hysteresis).
    Kernel leave_at(float radius) && {
        leave = radius;
        return std::move(*this);
    }
    /// Measures from other viewpoints.
    Kernel from(Viewpoints viewpoints) && {
        view_from = viewpoints;
        return std::move(*this);
    }
    /// Uses the range of the entity or of the observer. The margin leave - enter stays.
    Kernel range_from(RangeFrom source) && {
        range = source;
        return std::move(*this);
    }

    Combine combine = Combine::add;  ///< set by NodeDef::add, subtract and require
    KernelType type = KernelType::distance;
    float enter = 0;  ///< distance, line_of_sight: radius
    float leave = 0;  ///< distance: radius, at least `enter`; area: margin outside of the area
    KeyId key = KeyId::none;
    FlagId flag = FlagId::none;
    ValueId value = ValueId::none;
    float min = -std::numeric_limits<float>::infinity();
    float max = std::numeric_limits<float>::infinity();
    RangeFrom range = RangeFrom::kernel;
    Viewpoints view_from = Viewpoints::entity_and_points;
    /// cells: width, height, depth (0: the third axis does not count); hexagons: x is the side, and
    /// z the depth.
    Vec3 cell_size = {};
    std::uint16_t rings = 1;  ///< cells, hexagons
    std::shared_ptr<const RayTest> rays = nullptr;
    std::uint32_t ray_entities_per_tick = 64;  ///< of one observer; further ones wait
    std::uint32_t ray_valid_ticks = 20;        ///< a result is used no longer than this; at least 2
    bool visible_when_unknown = false;         ///< result for an entity not tested in time
    bool predicts_sight = false;  ///< also tests the positions after Visibility::set_lookahead
    std::shared_ptr<const InterestKernel> custom = nullptr;
    friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// Matches entities within `radius` of a viewpoint, the border included. See Kernel::leave_at.
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
/// Matches entities inside an area of the observer; once relevant, up to `margin` outside of it.
inline Kernel in_area(float margin = 0) {
    Kernel kernel(KernelType::area);
    kernel.leave = margin;
    return kernel;
}
/// Matches entities of which the observer owns a member of the group.
inline Kernel owned() {
    return Kernel(KernelType::owner);
}
/// Matches every entity of the node, for example for "all but cloaked".
inline Kernel everything() {
    return Kernel(KernelType::everything);
}
/// Matches entities at most `rings` cells away from the cell of a viewpoint. `depth`: size along
/// the third axis; 0: that axis does not count.
inline Kernel cells(float width, float height, std::uint16_t rings = 1, float depth = 0) {
    Kernel kernel(KernelType::cells);
    kernel.cell_size = {width, height, depth};
    kernel.rings = rings;
    return kernel;
}
/// The same with hexagonal cells.
inline Kernel hexagons(float side, std::uint16_t rings = 1) {
    Kernel kernel(KernelType::hexagons);
    kernel.cell_size = {side, 0, 0};
    kernel.rings = rings;
    return kernel;
}
/// Matches entities with nothing between them and a viewpoint. `rays`: not null; shared with the
/// engine, which calls it from its threads.
inline Kernel in_sight(std::shared_ptr<const RayTest> rays,
                       std::uint32_t ray_entities_per_tick = 64) {
    Kernel kernel(KernelType::line_of_sight);
    kernel.rays = std::move(rays);
    kernel.ray_entities_per_tick = ray_entities_per_tick;
    return kernel;
}

/// Which entities a node evaluates.
enum class Members : std::uint8_t {
    all = 0,
    bound = 1,    ///< those bound to it by their kind or one by one
    unbound = 2,  ///< those bound to no node (a default node)
};

/// Where updates of a node's entities are encoded (docs/shared.md). The shared payloads need a node
/// whose first step adds `cells`, followed by flag and value steps only.
enum class Payload : std::uint8_t {
    per_observer = 0,
    update_many = 1,  ///< encoded into every cell around; an observer receives one cell
    read_many = 2,    ///< encoded into its own cell; an observer receives the cells around
};

/// One node: which entities, which steps, and how the result is used.
struct NodeDef {
    std::string name = {};
    /// In order. None: all entities of the node match.
    std::vector<Kernel> steps = {};
    Members members = Members::all;
    /// With the results of the nodes before it. If all nodes add, the results are united. Otherwise
    /// nodes apply in order, and no result is shared between observers.
    Combine combine = Combine::add;
    // How current the result is. Denials, hides, nodes that subtract, and subtracting steps without
    // memory never wait.
    /// Enters are evaluated once in this many ticks, 1 to 65,535; entities that spawn, at once.
    std::uint32_t every_ticks = 1;
    /// Added to radii while `every_ticks` is above 1: maximum speed x ticks misses nothing.
    float widen = 0;
    /// Leaves wait as well: what was relevant stays relevant until the node is evaluated again,
    /// unless something hides it. Not for steps that are evaluated every tick, such as line of
    /// sight.
    bool lazy_leave = false;
    /// The position of an entity is that of its last Visibility::update.
    bool dormant = false;
    Replication replication = {};
    Payload payload = Payload::per_observer;
    /// Candidates are the bucket: the entities of the inner nodes that the observer looks into.
    /// Steps run over the bucket. Nothing outside of it matches. Without steps, or if the first
    /// step does not add, all of the bucket matches at first.
    std::shared_ptr<const Dispatcher> dispatcher = nullptr;
    /// Steps of inner nodes, by the result of Dispatcher::steps_of. An entity is in the bucket if
    /// an inner node that it shares with the observer has no steps, or if those steps match. No
    /// step may have memory: no leave radius above the enter radius, no line of sight.
    std::vector<std::vector<Kernel>> inner = {};
    /// Decides everything; there are no steps then.
    std::shared_ptr<CustomNode> custom = nullptr;
    /// False: an adding node adds nothing, a requiring node is met, a subtracting node subtracts
    /// nothing.
    bool enabled = true;

    NodeDef& add(Kernel kernel) { return append(Combine::add, std::move(kernel)); }
    NodeDef& subtract(Kernel kernel) { return append(Combine::subtract, std::move(kernel)); }
    NodeDef& require(Kernel kernel) { return append(Combine::require, std::move(kernel)); }

  private:
    NodeDef& append(Combine how, Kernel kernel) {
        kernel.combine = how;
        steps.push_back(std::move(kernel));
        return *this;
    }
};

/// Whether nodes decide about an entity.
enum class EntityMode : std::uint8_t {
    nodes = 0,          ///< nodes decide
    global = 1,         ///< relevant to every ready observer
    explicit_only = 2,  ///< relevant to owners and allowed observers only
};

/// What entities of one kind have in common from their spawn on.
struct KindRules {
    EntityMode mode = EntityMode::nodes;
    std::vector<NodeId> nodes = {};  ///< bindings; none: the default nodes (Members::unbound)
    /// Without a binding, the default nodes do not evaluate it. Nodes of Members::all do.
    bool needs_node = false;
    /// False: owning it does not make it relevant.
    bool owner_sees = true;
    float range = 0;  ///< for RangeFrom::entity; 0: the kernel's
    /// As a group member it is culled independently, with the members below it: by its own
    /// position, flags, keys and nodes. It is relevant only where its parent is.
    bool culled_independently = false;
    /// Where nodes make such a member relevant, its ancestors are relevant too, at any distance. It
    /// overrides no denial, hide or EntityMode::explicit_only of an ancestor, and no subtracting
    /// step about the ancestor's own attributes.
    bool keeps_ancestors = false;
    /// As the root of a group, distance and area steps measure to the sphere around its group
    /// (set_group_radius). Needs Rules::group_radius_max. Cells, hexagons and line of sight use its
    /// position.
    bool uses_group_radius = false;
};

/// Which coordinates count.
enum class Axes : std::uint8_t {
    xy = 0,
    xz = 1,  ///< y is up, and ignored
    xyz = 2,
};

/// How much of the rules is in force. Denials, hides and EntityMode::explicit_only always are.
enum class InterestLevel : std::uint8_t {
    none = 0,         ///< every node matches everything
    replication = 1,  ///< the same, with the nodes' Replication
    full = 2,
};

/// Everything that the interest engine is configured with. Plain data, copyable.
struct Rules {
    /// Returns the attribute or kind with this name. Declares it if there is none. At most 16
    /// flags, 8 keys and 8 values. A server declares the names of its schema itself.
    FlagId flag(std::string_view name);
    KeyId key(std::string_view name);
    ValueId value(std::string_view name);
    KindId kind(std::string_view name);
    /// Returns the node with this name. Appends it if there is none. Valid until the next call.
    NodeDef& node(std::string_view name);
    /// Returns the id of the node with this name, for KindRules::nodes and Visibility::bind.
    /// Appends it if there is none.
    NodeId node_id(std::string_view name);
    /// Returns the rules of a kind. Valid until the next call. KindId::none is asserted; what is
    /// written to it then has no effect.
    KindRules& for_kind(KindId kind);

    // -- fixed when an engine is made
    Axes axes = Axes::xy;
    /// Where entities are. Positions outside work, but are slower.
    Vec3 min{0, 0, 0};
    Vec3 max{1024, 1024, 0};
    /// Side of a cell of the spatial index; 0: derived from the radii and `entities_expected`. An
    /// axis has at most 16,384 cells, a grid 4 million; cells are larger in a larger world. A cell
    /// takes some 200 bytes, also where nothing is.
    float cell_size = 0;
    std::uint32_t entities_expected = 10'000;
    /// Ranges of entities, ascending, at most 6. Entities are kept in one grid for each, so that
    /// large ranges do not slow small ones. The last one is the largest that an entity may set.
    std::vector<float> range_classes = {};
    float observer_range_max = 0;  ///< largest range that an observer may set
    float group_radius_max = 0;    ///< largest group radius that counts (KindRules)
    std::uint32_t observers_max = 65'536;
    std::uint32_t areas_max = 16;  ///< of one observer, up to limits::areas_per_observer
    bool single_area = false;      ///< set_area replaces all other areas (Fusion's shared mode)
    /// An observer without a viewpoint entity is not ready (Mirror).
    bool ready_requires_viewpoint = false;
    /// False: owning an entity does not make it relevant, whatever its kind says.
    bool owner_sees = true;
    /// Keeps observer_count and first and last observers: 5 to 20 % more for each event.
    bool count_observers = false;
    /// Keeps changed_scores: a tick takes about a fifth longer.
    bool measure_scores = false;
    std::vector<KindRules> kinds = {};  ///< by index_of(KindId)
    std::vector<std::string> flag_names = {};
    std::vector<std::string> key_names = {};
    std::vector<std::string> value_names = {};
    std::vector<std::string> kind_names = {};

    // -- may change while an engine runs (set_rules)
    /// None: everything is relevant to every observer.
    std::vector<NodeDef> nodes = {};
    InterestLevel level = InterestLevel::full;
    /// An entity that nodes made relevant stays relevant for this many ticks, unless it is hidden.
    std::uint32_t minimum_relevance_ticks = 0;
};

/// Returns why the rules are unsound, with the names of node and step; empty: they are sound.
std::string problem_of(const Rules& rules);

/// Returns the grid of a `cells` kernel: as many cells as cover the bounds, along the first two
/// axes that count.
CellGrid cell_grid_of(const Rules& rules, const Kernel& cells);

}  // namespace purview
