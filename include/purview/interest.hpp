// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// The interest engine: which entities are relevant to which observers. It does not depend on the
/// world or the network.
///
/// - InterestManager: the stand-alone engine; owns entities and observers.
/// - Visibility: the part of it that a game may use on a server (Server::visibility).
///
/// The first of these conditions that holds decides whether an entity is relevant to an observer:
/// - the observer is not ready: not relevant
/// - the entity is denied to the observer: not relevant
/// - the observer owns it or a member of its group: relevant
/// - it is hidden: not relevant
/// - it is global, shown to all or allowed: relevant
/// - it is explicit only: not relevant
/// - the observer is unculled, or interest is off: relevant
/// - otherwise: nodes decide
///
/// One thread calls everything here. Edits take effect in the next tick. A call with a stale id
/// changes nothing, and returns Status::stale_id, false or none. Other errors are listed as
/// "Errors: status (condition)"; after an error nothing has changed, unless noted.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "purview/area.hpp"
#include "purview/explain.hpp"
#include "purview/extend/executor.hpp"
#include "purview/limits.hpp"
#include "purview/log.hpp"
#include "purview/rules.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_interest
/// @{

/// Flags of an entity, for example {cloaked, invulnerable}.
struct FlagSet {
    /// Creates an empty set.
    FlagSet() = default;
    /// Creates a set from a list; none is ignored.
    FlagSet(std::initializer_list<FlagId> flags) {
        for (const FlagId flag : flags)
            if (index_of(flag) < 16) bits = static_cast<std::uint16_t>(bits | 1U << index_of(flag));
    }
    /// Creates a set from bits.
    explicit FlagSet(std::uint16_t its_bits) : bits(its_bits) {}
    std::uint16_t bits = 0;  ///< bit index_of(FlagId)
};

/// A new entity of the stand-alone engine. Spans are read during the call.
struct EntityDef {
    /// none: the engine assigns an id. Otherwise an id of your own, with an index below 2^31 and a
    /// generation of 1 or more. Keep indices dense: tables are as long as the largest index, with
    /// about 8 bytes each. An index may be reused with another generation in the tick in which its
    /// entity is despawned.
    EntityId id = EntityId::none;
    KindId kind = KindId::none;           ///< for Rules::for_kind; none: no kind
    Vec3 position = {};                   ///< finite
    bool has_position = true;             ///< false: abstract; spatial kernels do not match it
    FlagSet flags = {};                   ///< the flags that are set
    std::span<const Key> keys = {};       ///< by index_of(KeyId); missing ones are Key::none
    std::span<const float> values = {};   ///< by index_of(ValueId); missing ones are 0
    EntityMode mode = EntityMode::nodes;  ///< `nodes`: that of its kind
    float range = 0;                      ///< for RangeFrom::entity; 0: its kind's, or the kernel's
    /// Bindings, in addition to those of its kind.
    std::span<const NodeId> nodes = {};
    /// True: `nodes` replace the bindings of the kind.
    bool replaces_kind_nodes = false;
    ObserverId owner = ObserverId::none;  ///< ignored if it does not exist
    std::uint64_t user_data = 0;          ///< returned in events
};

/// A new observer of the stand-alone engine.
struct ObserverDef {
    EntityId viewpoint = EntityId::none;  ///< Visibility::set_viewpoint; ignored if it is stale
    bool is_ready = true;                 ///< false: nothing is relevant to it yet
    float range = 0;                      ///< Visibility::set_range; ignored if it is out of range
    std::uint64_t user_data = 0;          ///< returned in events
};

/// An enter or a leave of an entity for an observer.
struct InterestEvent {
    EntityId entity;      ///< may be despawned by now
    ObserverId observer;  ///< may be removed by now
    Reason reason;        ///< why it entered or left
    /// True: the entity became relevant. False: it is not relevant any more.
    bool enter;
    std::uint64_t observer_data = 0;  ///< ObserverDef::user_data
    std::uint64_t entity_data = 0;    ///< EntityDef::user_data
    /// Compares all members.
    friend bool operator==(const InterestEvent&, const InterestEvent&) = default;
};

/// Relevance scores of some entities for one observer: above 0, at most 1.
struct Scores {
    std::span<const std::uint32_t> entities;  ///< [n] indices of entities
    std::span<const float> score;             ///< [n] their scores
};

/// Positions in columns with the layout of the caller: entity i is at x[i], y[i], z[i]. All columns
/// have the same stride. Read during the call.
struct PositionColumns {
    std::span<const EntityId> entities;  ///< [n]; `none` entries are skipped
    const float* x = nullptr;            ///< null: 0
    const float* y = nullptr;            ///< null: 0
    const float* z = nullptr;            ///< null: 0
    /// Bytes between two entities in a column; sizeof(Vec3) for an array of Vec3.
    std::size_t stride_bytes = sizeof(float);
    /// [(n + 63) / 64] bit i: entity i may have moved. Empty: all positions are compared.
    std::span<const std::uint64_t> changed = {};
};

/// The relevant pairs that other rules would add and remove: the result of try_rules.
struct RuleTrial {
    /// An observer and an entity.
    struct Pair {
        ObserverId observer;  ///< the observer
        EntityId entity;      ///< the entity
    };
    std::vector<Pair> gains;   ///< relevant with the new rules only, by observer index
    std::vector<Pair> losses;  ///< relevant with the rules in force only, by observer index
    /// Number of ready observers that were evaluated, the first ones by index.
    std::uint32_t observers_evaluated = 0;
    /// Number of ready observers that were not evaluated; see try_rules.
    std::uint32_t observers_skipped = 0;
    std::uint64_t pairs_now = 0;   ///< relevant pairs of evaluated observers now
    std::uint64_t pairs_then = 0;  ///< relevant pairs of evaluated observers with the new rules
    std::vector<std::string> warnings;  ///< rules that are expensive, never match or have no effect
    std::string problem;                ///< why the rules are unsound; empty: sound
};

class InterestEngine;
struct InternalAccess;

/// The attributes of one entity that rules use (Visibility::entity). For a group member, position,
/// flags and values are those of its root. A stale id has no values. Valid as long as the engine; a
/// span until the next edit.
class EntityView {
  public:
    /// Returns whether the entity exists.
    bool is_alive() const noexcept;
    /// Returns the kind.
    KindId kind() const noexcept;
    /// Returns the position that rules use: that of its root, or of its position source; for an
    /// entity of dormant nodes only, that of the last Visibility::update. {0, 0, 0}: it has none.
    Vec3 position() const noexcept;
    /// Returns the owner, or none.
    ObserverId owner() const noexcept;
    /// Returns whether the flag is set.
    bool has_flag(FlagId flag) const noexcept;
    /// Returns the key; none if there is none. Additional keys: has_key.
    Key key(KeyId id) const noexcept;
    /// Returns whether it has the key, also as an additional key (Visibility::add_key).
    bool has_key(KeyId id, Key key) const noexcept;
    /// Returns the value; 0 if there is none.
    float value(ValueId id) const noexcept;
    /// Returns the nodes that it is bound to, ascending; empty for a group member.
    std::span<const NodeId> nodes() const noexcept;
    /// Returns EntityDef::user_data.
    std::uint64_t user_data() const noexcept;

  private:
    friend class Visibility;
    EntityView(const InterestEngine& data, EntityId entity) noexcept
        : data_(&data), entity_(entity) {}
    const InterestEngine* data_;
    EntityId entity_;
};

/// Controls relevance while a server runs: observers, overrides, bindings and queries. Entities,
/// owners, flags, and keys of entities follow from the world.
class Visibility {
  public:
    Visibility(const Visibility&) = delete;
    Visibility& operator=(const Visibility&) = delete;

    /// @name Observers
    /// @{

    /// Sets whether the observer is ready. Nothing is relevant to an observer that is not ready.
    Status set_ready(ObserverId observer, bool ready);
    /// Returns whether the observer is ready.
    bool is_ready(ObserverId observer) const noexcept;
    /// Sets the viewpoint entity, which also determines the keys of the observer; none: no entity.
    /// With a group member, the observer views from the position of the root and has the keys of
    /// the member.
    Status set_viewpoint(ObserverId observer, EntityId entity);
    /// Returns the viewpoint entity, or none.
    EntityId viewpoint(ObserverId observer) const noexcept;
    /// Inserts or replaces the area with this number. Errors: capacity (Rules::areas_max),
    /// bad_position (not finite), bad_argument (a radius, side or angle out of range), stale_id (no
    /// entity to follow).
    Status set_area(ObserverId observer, std::uint32_t number, const Area& area);
    /// Removes an area. Errors: not_found.
    Status remove_area(ObserverId observer, std::uint32_t number);
    /// Replaces all areas; the new ones have the numbers 0, 1, 2 and so on. Errors: as for
    /// set_area.
    Status set_areas(ObserverId observer, std::span<const Area> areas);
    /// Adds a key, in addition to those of the viewpoint entity (overlapping rooms). Keys are
    /// counted: each add_key needs its own remove_key. Errors: bad_argument (no such key attribute,
    /// or Key::none).
    Status add_key(ObserverId observer, KeyId id, Key key);
    /// Removes a key once. Errors: not_found, bad_argument (as for add_key).
    Status remove_key(ObserverId observer, KeyId id, Key key);
    /// Sets the key that the observer has while it has no viewpoint entity. Errors: bad_argument
    /// (no such key attribute).
    Status set_key(ObserverId observer, KeyId id, Key key);
    /// Returns whether the observer has a key, of its viewpoint entity or of its own.
    bool has_key(ObserverId observer, KeyId id, Key key) const noexcept;
    /// Sets the range for RangeFrom::observer; 0: that of the kernel. Errors: bad_argument
    /// (negative, or above Rules::observer_range_max).
    Status set_range(ObserverId observer, float range);
    /// Sets how far ahead line of sight is predicted, in seconds; a value near the RTT is useful.
    /// Errors: bad_argument (not 0 to 10).
    Status set_lookahead(ObserverId observer, float seconds);
    /// Switches interest off for one observer: every node matches everything.
    Status set_unculled(ObserverId observer, bool unculled);
    /// Sets a number that events return.
    Status set_user_data(ObserverId observer, std::uint64_t user_data);
    /// Returns the number that set_user_data set; 0: none.
    std::uint64_t user_data(ObserverId observer) const noexcept;
    /// @}

    /// @name Per-observer overrides
    /// @{

    /// Makes an entity, with its group, relevant to an observer, unless it is denied or hidden.
    /// `value` false removes the override. hidden_by_root: the override is stored, but has no
    /// effect while the root is denied or hidden.
    Status allow(ObserverId observer, EntityId entity, bool value = true);
    /// Makes an entity, with everything below it, irrelevant to an observer, even to its owner.
    /// `value` false removes the override.
    Status deny(ObserverId observer, EntityId entity, bool value = true);
    /// Sets many overrides; faster than single calls from some thousands on. Skips stale ids.
    /// Returns the first status that is not ok.
    Status allow(std::span<const PairEdit> edits);
    /// The same for denials.
    Status deny(std::span<const PairEdit> edits);
    /// @}

    /// @name Entities
    /// @{

    /// Sets how the relevance of an entity is decided.
    Status set_mode(EntityId entity, EntityMode mode);
    /// Hides an entity, with everything below it, from all observers but its owners.
    Status set_hidden(EntityId entity, bool hidden);
    /// Makes an entity relevant to every ready observer, in any mode. hidden_by_root: stored, but
    /// has no effect while the root is hidden.
    Status show_to_all(EntityId entity, bool shown);
    /// Sets the range for RangeFrom::entity; 0: that of its kind or of the kernel. Errors:
    /// bad_argument (negative, or above the last of Rules::range_classes), refused (a group
    /// member).
    Status set_range(EntityId entity, float range);
    /// Adds a key, in addition to the entity's own (overlapping rooms). Keys are counted, as for
    /// observers. The key of a group member applies to observers that view from it. Errors:
    /// bad_argument (no such key attribute, or Key::none).
    Status add_key(EntityId entity, KeyId id, Key key);
    /// Removes a key once. Errors: not_found, bad_argument (as for add_key).
    Status remove_key(EntityId entity, KeyId id, Key key);
    /// Sets a velocity in units per second, for predictive line of sight. Errors: bad_position (not
    /// finite).
    Status set_velocity(EntityId entity, Vec3 velocity);
    /// Evaluates the entity at the position of `source`; none: its own position. Ends when `source`
    /// is despawned, when the entity joins a group, and when a group would close a cycle. Errors:
    /// would_cycle, too_deep (more than 8 links in a chain), refused (a group member).
    Status set_position_source(EntityId entity, EntityId source);
    /// @}

    /// @name Nodes of an entity
    /// @{

    /// Binds the entity to a node of Members::bound. A second call has no effect. Errors:
    /// bad_argument (no such node), refused (a group member).
    Status bind(EntityId entity, NodeId node);
    /// Removes a binding. Errors: not_found, refused (a group member). Returns orphaned if it was
    /// the last one: it is removed, and default nodes do not apply until bind or bind_default.
    Status unbind(EntityId entity, NodeId node);
    /// Replaces all bindings in one step: observers to which it stays relevant get no event. Errors
    /// and results: as for bind and unbind.
    Status rebind(EntityId entity, std::span<const NodeId> nodes);
    /// Removes all bindings; the default nodes apply. Errors: refused (a group member).
    Status bind_default(EntityId entity);
    /// Sets one pair in the result of a custom node, for a scheme that knows what changed. Errors:
    /// bad_argument (not a custom node, or disabled), refused (a group member, or an entity that
    /// the node does not evaluate).
    Status set_node_pair(NodeId node, ObserverId observer, EntityId entity, bool value);
    /// @}

    /// @name Evaluate again
    /// For kernels and nodes of your own, when data changes on which they depend.
    /// @{

    /// Evaluates an entity again, and the observers that view from it. Calls CustomNode::updated.
    Status recheck(EntityId entity);
    /// Evaluates all entities for an observer again.
    Status recheck(ObserverId observer);
    /// Evaluates a node again, for all observers. Errors: bad_argument (no such node).
    Status recheck(NodeId node);
    /// Sets the position that dormant nodes use to the current one, and evaluates the entity again.
    Status update(EntityId entity);
    /// @}

    /// @name Queries
    /// Results are those of the last tick. Overrides, owners and modes take effect at once; so do
    /// flags and keys in nodes that depend only on them.
    /// @{

    /// Returns whether an entity is relevant to an observer. O(1).
    bool is_relevant(ObserverId observer, EntityId entity) const noexcept;
    /// Appends all relevant entities, each once, in no particular order.
    void relevant(ObserverId observer, std::vector<EntityId>& out) const;
    /// Calls visit(EntityId) for all relevant entities, without a copy.
    template <class Visit>
    void for_each_relevant(ObserverId observer, Visit&& visit) const {
        using Function = std::remove_reference_t<Visit>;
        visit_relevant(
            observer,
            [](void* context, EntityId entity) { (*static_cast<Function*>(context))(entity); },
            const_cast<void*>(static_cast<const void*>(&visit)));
    }
    /// Appends all observers to which the entity is relevant, by index. O(observers).
    void observers_of(EntityId entity, std::vector<ObserverId>& out) const;
    /// Returns the number of observers to which the entity is relevant. O(1). Needs
    /// Rules::count_observers.
    std::uint32_t observer_count(EntityId entity) const noexcept;
    /// Returns the entities that gained their first observer in the last tick. Needs
    /// Rules::count_observers. Valid until the next tick.
    std::span<const EntityId> newly_observed() const noexcept;
    /// Returns the entities that lost their last observer in the last tick, without despawned ones.
    /// Needs Rules::count_observers. Valid until the next tick.
    std::span<const EntityId> no_longer_observed() const noexcept;
    /// Writes the relevance score of each entity: 0 if it is not relevant, otherwise above 0 and at
    /// most 1. For a distance it is 1 - distance / (2 x leave radius); 1 if nothing is measured.
    /// out.size() == entities.size(). May be called on any thread between ticks; each thread keeps
    /// working memory.
    void scores(ObserverId observer, std::span<const EntityId> entities,
                std::span<float> out) const;
    /// Returns the scores of relevant entities that moved or spawned in the last tick, or belong to
    /// a group that did. Needs Rules::measure_scores. Valid until the next tick.
    Scores changed_scores(ObserverId observer);
    /// Appends the entities (roots of groups) with a position in the box, its border included, each
    /// once, in no particular order. `kind`: only entities of this kind; none: all. Appends nothing
    /// if the box is not finite. O(cells that the box touches, and their entities).
    void entities_in(Vec3 min, Vec3 max, std::vector<EntityId>& out,
                     KindId kind = KindId::none) const;
    /// Appends the entities (roots of groups) that a node evaluates. O(entities).
    void entities_of(NodeId node, std::vector<EntityId>& out) const;
    /// Appends the ready observers that cover a position with their spatial rules. A position is
    /// covered if an adding step of an adding node contains it, and one of every later node that
    /// requires by position. Steps that subtract do not count. Custom kernels are called for it
    /// with an entity of index 0 and generation 1. O(observers).
    void observers_covering(Vec3 position, std::vector<ObserverId>& out) const;
    /// Returns the attributes of an entity that rules use, for example
    /// `visibility.entity(wolf).position()`.
    EntityView entity(EntityId entity) const noexcept;
    /// Returns why an entity is relevant to an observer or not, and what would change that. Uses
    /// the current positions and attributes: call it before the edits of the next tick.
    Explanation explain(ObserverId observer, EntityId entity) const;
    /// Returns the rules in force.
    const Rules& rules() const noexcept;
    /// Returns warnings about the rules in force: rules that are expensive, never match or have no
    /// effect, and kinds that no node evaluates.
    const std::vector<std::string>& warnings() const noexcept;
    /// Returns the number of ignored moves: stale ids, and positions that are not finite.
    std::uint64_t ignored_moves() const noexcept;
    /// @}

  protected:
    /// @cond
    explicit Visibility(std::unique_ptr<InterestEngine> data) noexcept;
    Visibility(Visibility&&) noexcept;
    Visibility& operator=(Visibility&&) noexcept;
    ~Visibility();

    std::unique_ptr<InterestEngine> data_;
    /// @endcond

  private:
    friend struct InternalAccess;
    void visit_relevant(ObserverId observer, void (*visit)(void*, EntityId), void* context) const;
};

/// The stand-alone interest engine. Add entities and observers, apply edits, call tick(), read
/// events(). All edits of an entity before a tick count as one step.
class InterestManager : public Visibility {
  public:
    /// Creates an engine. Unsound rules are asserted; in release builds nothing is relevant then,
    /// and problem() returns why. `log` receives that text and warnings; by default they go to
    /// standard error.
    explicit InterestManager(const Rules& rules, const LogSink& log = {});
    /// Moves an engine. The other one can then only be destroyed or assigned to.
    InterestManager(InterestManager&&) noexcept;
    /// Moves an engine over this one.
    InterestManager& operator=(InterestManager&&) noexcept;
    /// Destroys the engine.
    ~InterestManager();
    /// Returns why the rules are unsound; empty: they are sound.
    const std::string& problem() const noexcept;

    /// @name Entities
    /// @{

    /// Adds an entity and returns its id. Asserts, and returns none in release builds: an id that
    /// is in use or out of range; a position or value that is not finite; a range above the last of
    /// Rules::range_classes; an unknown node.
    EntityId spawn(const EntityDef& def);
    /// Removes an entity. Errors: refused (it has members; detach them first).
    Status despawn(EntityId entity);
    /// Sets the position. The last call before a tick counts. Ignored for group members and for
    /// entities without a position. Errors: bad_position (not finite).
    Status move(EntityId entity, Vec3 position);
    /// Sets many positions. Counts and skips stale ids and positions that are not finite.
    void move(const PositionColumns& columns);
    /// Sets or clears a flag. Has no effect on a group member: the root's flags count. Errors:
    /// bad_argument (no such flag).
    Status set_flag(EntityId entity, FlagId flag, bool value);
    using Visibility::set_key;
    /// Sets a key of an entity. The key of a group member applies to observers that view from it;
    /// its group uses the root's key. Errors: bad_argument (no such key attribute).
    Status set_key(EntityId entity, KeyId id, Key key);
    /// Sets a value. Has no effect on a group member: the root's values count. Errors: bad_position
    /// (not finite), bad_argument (no such value).
    Status set_value(EntityId entity, ValueId id, float value);
    /// Sets the owner, to which the entity and its whole group are relevant; none: no owner.
    Status set_owner(EntityId entity, ObserverId owner);
    using Visibility::set_user_data;
    /// Sets a number that events return.
    Status set_user_data(EntityId entity, std::uint64_t user_data);
    /// @}

    /// @name Groups
    /// @{

    /// Adds `child`, with its members, to the group of `parent`; a member of the group gets another
    /// parent. Its overrides stay: a denied, hidden or explicit-only member is hidden with
    /// everything below it; an allowed, shown, global or owned one makes its whole group relevant.
    /// A kind with KindRules::culled_independently stays a cull group of its own. Errors:
    /// bad_argument (`parent` is below `child`, or the member `child` is in another group),
    /// too_large (more than 65,535 members beside the root).
    Status attach(EntityId child, EntityId parent);
    /// Makes a member a group of its own with the values of `def`; `def.id` is not read. Its
    /// overrides stay. Errors: not_found (not a member), bad_position, bad_argument (as for spawn).
    ///
    /// `is_orphan`: its parent is about to be despawned, which must not reveal the member. It then
    /// inherits hides, denials and EntityMode::explicit_only from all ancestors. Of several
    /// orphans, detach the deepest first.
    Status detach(EntityId child, const EntityDef& def, bool is_orphan = false);
    /// Sets the radius of the bounding sphere of a group around its root
    /// (KindRules::uses_group_radius), in units; a larger one is clamped to
    /// Rules::group_radius_max. Errors: refused (a member), bad_argument (negative or not finite,
    /// or a kind without uses_group_radius).
    Status set_group_radius(EntityId root, float radius);
    /// @}

    /// @name Observers
    /// @{

    /// Adds an observer and returns its id; none: there are Rules::observers_max.
    ObserverId add_observer(const ObserverDef& def = {});
    /// Removes an observer. Its entities leave with Reason::disconnected in the next tick.
    Status remove_observer(ObserverId observer);
    /// @}

    /// @name Rules
    /// @{

    /// Replaces nodes, level and minimum_relevance_ticks from the next tick on, in one step. Start
    /// from a copy of rules(): everything else is fixed at creation. Returns why the rules are
    /// unsound, or which fixed setting differs (default values are not compared); then nothing
    /// changes. Empty: accepted. Bindings keep the number of their node. A kernel that is equal, at
    /// the same step of the same node, keeps its memory.
    std::string set_rules(const Rules& rules);
    /// Computes what set_rules and a tick would change, without changing anything. Calls custom
    /// nodes. Runs on the caller's thread, with copies: takes seconds if millions of pairs change.
    /// Evaluates only as many observers as are likely to gain and lose `pairs_max` pairs together,
    /// at least one.
    RuleTrial try_rules(const Rules& rules, std::size_t pairs_max = ~std::size_t{0}) const;
    /// Sets how much of the rules is in force.
    void set_level(InterestLevel level);
    /// @}

    /// @name The tick
    /// @{

    /// Sets threads for tick(), at most 64 workers. The result is the same for any number of them.
    /// `executor.context` must outlive the engine or be replaced; {} uses the caller's thread only.
    void set_executor(const Executor& executor);
    /// Applies all edits and evaluates the rules.
    void tick();
    /// Returns the changes of the last tick: at most one event per pair, grouped by observer index,
    /// leaves before enters. Valid until the next tick.
    std::span<const InterestEvent> events() const;
    /// Returns the events of one observer; empty for a stale id. Valid until the next tick.
    std::span<const InterestEvent> events(ObserverId observer) const;
    /// @}

  private:
    std::string problem_;
};

/// @}

}  // namespace purview
