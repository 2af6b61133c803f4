// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The interest engine: which entities are relevant to which observers. No world, no network, no
// sockets.
//
//   InterestManager   the stand-alone engine; it owns entities and observers
//   Visibility        the part of it that a game may use on a server (Server::visibility)
//
// Order of decisions for a pair of an observer and an entity: observer not ready: no; denied: no;
// owner: yes; hidden: no; global or allowed: yes; explicit only: no; interest off: yes; nodes
// decide.
//
// One thread calls everything here. Edits take effect in the next tick. A stale id changes nothing:
// Status::stale_id, false, or none.
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
#include "purview/executor.hpp"
#include "purview/explain.hpp"
#include "purview/limits.hpp"
#include "purview/log.hpp"
#include "purview/rules.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// Flags of an entity, for example {cloaked, invulnerable}.
struct FlagSet {
    FlagSet() = default;
    FlagSet(std::initializer_list<FlagId> flags) {
        for (const FlagId flag : flags)
            if (index_of(flag) < 16) bits = static_cast<std::uint16_t>(bits | 1U << index_of(flag));
    }
    explicit FlagSet(std::uint16_t its_bits) : bits(its_bits) {}
    std::uint16_t bits = 0;  ///< bit index_of(FlagId)
};

/// An entity of the stand-alone engine. Spans are read during the call.
struct EntityDef {
    /// none: the engine assigns an id. Or an id of your own: an index below 2^31, a generation of 1
    /// or more. Indices are dense: tables are as long as the largest index, some 8 bytes for each.
    /// An index may be used again in the tick in which the old entity is despawned, with another
    /// generation.
    EntityId id = EntityId::none;
    KindId kind = KindId::none;
    Vec3 position = {};
    bool has_position = true;  ///< false: abstract; spatial kernels do not match it
    FlagSet flags = {};
    std::span<const Key> keys = {};      ///< by index_of(KeyId); missing ones are Key::none
    std::span<const float> values = {};  ///< by index_of(ValueId); missing ones are 0
    EntityMode mode = EntityMode::nodes;
    float range = 0;  ///< for RangeFrom::entity; 0: its kind's, or the kernel's
    /// Bindings, beside those of its kind or instead of them.
    std::span<const NodeId> nodes = {};
    bool replaces_kind_nodes = false;
    ObserverId owner = ObserverId::none;
    std::uint64_t user_data = 0;  ///< returned in events
};

/// An observer of the stand-alone engine.
struct ObserverDef {
    EntityId viewpoint = EntityId::none;  ///< see Visibility::set_viewpoint
    bool is_ready = true;                 ///< false: nothing is relevant to it yet
    float range = 0;                      ///< for RangeFrom::observer; 0: the kernel's
    std::uint64_t user_data = 0;          ///< returned in events
};

/// A change of relevance.
struct InterestEvent {
    EntityId entity;  ///< may be despawned by now
    ObserverId observer;
    Reason reason;
    bool enter;
    std::uint64_t observer_data = 0;  ///< ObserverDef::user_data
    std::uint64_t entity_data = 0;    ///< EntityDef::user_data
    friend bool operator==(const InterestEvent&, const InterestEvent&) = default;
};

/// Scores of some entities for one observer: above 0, up to 1.
struct Scores {
    std::span<const std::uint32_t> entities;  ///< [n] indices
    std::span<const float> score;             ///< [n]
};

/// Positions in columns of the caller's own layout: entity i is at x[i], y[i], z[i], each column
/// read with the same stride. Read during the call.
struct PositionColumns {
    std::span<const EntityId> entities;  ///< [n]; `none` entries are skipped
    const float* x = nullptr;
    const float* y = nullptr;
    const float* z = nullptr;  ///< null: 0
    std::size_t stride_bytes = sizeof(float);
    /// [(n + 63) / 64] bit i: entity i may have moved. Empty: all are compared.
    std::span<const std::uint64_t> changed = {};
};

/// The pairs that other rules would add and remove.
struct RuleTrial {
    struct Pair {
        ObserverId observer;
        EntityId entity;
    };
    std::vector<Pair> gains;
    std::vector<Pair> losses;
    std::uint32_t observers_asked = 0;     ///< evaluated: ready ones, the first by index
    std::uint32_t observers_left_out = 0;  ///< the other ready ones: see try_rules
    std::uint64_t pairs_now = 0;        ///< relevant ones of the evaluated, by the rules in force
    std::uint64_t pairs_then = 0;       ///< and by these
    std::vector<std::string> warnings;  ///< what is expensive, never true or without effect
    std::string problem;                ///< not empty: the rules are unsound; all else is empty
};

class InterestData;
struct InternalAccess;

/// What a game may do about relevance while its server runs: observers, overrides, bindings,
/// queries. Entities, ownership, keys of entities and flags follow from the world.
class Visibility {
  public:
    Visibility(const Visibility&) = delete;
    Visibility& operator=(const Visibility&) = delete;

    // -- observers
    Status set_ready(ObserverId observer, bool ready);
    bool is_ready(ObserverId observer) const noexcept;
    /// Sets the entity that the observer views from, and whose keys it has; none: nowhere. From a
    /// group member it views from the position of the root, with the keys of the member.
    Status set_viewpoint(ObserverId observer, EntityId entity);
    EntityId viewpoint(ObserverId observer) const noexcept;
    /// Inserts or replaces the area with this number. capacity: Rules::areas_max. bad_position: not
    /// finite. bad_argument: a radius, side or angle out of range. stale_id: it follows no entity.
    /// Nothing was changed then.
    Status set_area(ObserverId observer, std::uint32_t number, const Area& area);
    Status remove_area(ObserverId observer, std::uint32_t number);
    /// Replaces all areas; they get the numbers 0, 1, 2 ...
    Status set_areas(ObserverId observer, std::span<const Area> areas);
    /// Adds a key beside those of its viewpoint entity (overlapping rooms). Counted: each needs its
    /// own remove_key.
    Status add_key(ObserverId observer, KeyId id, Key key);
    Status remove_key(ObserverId observer, KeyId id, Key key);
    /// Sets a key of its own, used while it has no viewpoint entity.
    Status set_key(ObserverId observer, KeyId id, Key key);
    bool has_key(ObserverId observer, KeyId id, Key key) const noexcept;
    /// Sets how far the observer sees with RangeFrom::observer, up to Rules::observer_range_max; 0:
    /// as the kernel defines.
    Status set_range(ObserverId observer, float range);
    /// Sets how far line of sight predicts, 0 to 10 seconds; about the round trip.
    Status set_lookahead(ObserverId observer, float seconds);
    /// Switches interest off for one observer: every node matches everything.
    Status set_unculled(ObserverId observer, bool unculled);
    /// Sets a number that events return.
    Status set_user_data(ObserverId observer, std::uint64_t user_data);
    std::uint64_t user_data(ObserverId observer) const noexcept;

    // -- per-observer overrides
    /// Makes an entity, with its group, relevant to an observer unless it is denied or hidden.
    /// hidden_by_root: stored, without effect while its root is denied or hidden.
    Status allow(ObserverId observer, EntityId entity, bool value = true);
    /// Makes an entity, with everything below it, irrelevant to an observer, even to its owner.
    Status deny(ObserverId observer, EntityId entity, bool value = true);
    /// Many at once: faster from thousands on. Stale ids are skipped; returns the first status that
    /// was not ok.
    Status allow(std::span<const PairEdit> edits);
    Status deny(std::span<const PairEdit> edits);

    // -- entities
    /// hidden_by_root: as for allow.
    Status set_mode(EntityId entity, EntityMode mode);
    /// Hides an entity, with everything below it, from all but its owners.
    Status set_hidden(EntityId entity, bool hidden);
    /// Makes it relevant to every ready observer, beside its mode. hidden_by_root: as for allow.
    Status show_to_all(EntityId entity, bool shown);
    /// Sets how far it is seen with RangeFrom::entity, up to the last of Rules::range_classes; 0:
    /// as its kind or the kernel defines.
    Status set_range(EntityId entity, float range);
    /// Adds a further key (overlapping rooms), counted. For a group member, it applies to observers
    /// that view from it.
    Status add_key(EntityId entity, KeyId id, Key key);
    Status remove_key(EntityId entity, KeyId id, Key key);
    /// Sets a velocity in units per second, for predictive line of sight.
    Status set_velocity(EntityId entity, Vec3 velocity);
    /// Evaluates the entity at the position of `source`; none: its own. Ends with `source`, with
    /// joining a group, and with a group that closes a cycle. would_cycle; too_deep: more than 8 in
    /// a chain; refused: a group member.
    Status set_position_source(EntityId entity, EntityId source);

    // -- nodes of an entity
    /// Binds it to a node of Members::bound. Twice is once. bad_argument: no such node.
    Status bind(EntityId entity, NodeId node);
    /// not_found. orphaned: it was the last one; default nodes do not apply until bind or
    /// bind_default.
    Status unbind(EntityId entity, NodeId node);
    /// Replaces all bindings in one step: observers that see it before and after get no event.
    Status rebind(EntityId entity, std::span<const NodeId> nodes);
    /// Removes all bindings; the default nodes apply.
    Status bind_default(EntityId entity);
    /// Returns the nodes that it is bound to, ascending; none for a group member. Valid until the
    /// next edit.
    std::span<const NodeId> nodes(EntityId entity) const noexcept;
    /// Sets one pair of a custom node, for a scheme that knows what changed. bad_argument: not a
    /// custom node, or disabled. refused: a group member, or an entity that the node does not
    /// evaluate.
    Status set_node_pair(NodeId node, ObserverId observer, EntityId entity, bool value);

    // -- evaluate again, where a kernel or node of your own depends on something else
    /// Evaluates one entity again, and the observers that view from it. Custom nodes are notified
    /// (CustomNode::updated).
    Status recheck(EntityId entity);
    Status recheck(ObserverId observer);
    Status recheck(NodeId node);
    /// Gives dormant nodes its current position, and evaluates it again.
    Status update(EntityId entity);

    // -- queries, as of the last tick; overrides, owners, modes, and flags and keys where a node
    //    needs nothing else, count at once
    /// Returns whether an entity is relevant to an observer. Constant time.
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
    /// Appends all observers to which the entity is relevant, by index. Linear in the number of
    /// observers.
    void observers_of(EntityId entity, std::vector<ObserverId>& out) const;
    /// Returns the number of observers. Constant time. Needs Rules::count_observers.
    std::uint32_t observer_count(EntityId entity) const noexcept;
    /// Return the entities that gained their first, or lost their last, observer in the last tick;
    /// despawned ones are not among them. Need Rules::count_observers. Valid until the next tick.
    std::span<const EntityId> newly_observed() const noexcept;
    std::span<const EntityId> no_longer_observed() const noexcept;
    /// Writes the relevance score of each entity: 0 if it is not relevant, otherwise above 0 and up
    /// to 1. For a distance, 1 - distance / (2 x leave radius); 1 where nothing measures.
    /// out.size() >= entities.size(). Any thread between ticks; keeps working memory for each
    /// thread.
    void scores(ObserverId observer, std::span<const EntityId> entities,
                std::span<float> out) const;
    /// Returns the scores of relevant entities that moved or spawned in the last tick, or whose
    /// group did. Needs Rules::measure_scores. Valid until the next tick.
    Scores changed_scores(ObserverId observer);
    /// Appends entities (roots of groups) with a position in the box, borders included. `kind`:
    /// only these.
    void entities_in(Vec3 min, Vec3 max, std::vector<EntityId>& out,
                     KindId kind = KindId::none) const;
    /// Appends the entities (roots of groups) that a node evaluates. Linear in the number of
    /// entities.
    void entities_of(NodeId node, std::vector<EntityId>& out) const;
    /// Appends the ready observers whose spatial rules cover a position: within a step that adds by
    /// position, of a node that adds, and of every later node that requires by position. What
    /// subtracts does not count. To your own kernels, the entity there is index 0, generation 1.
    /// Linear in the number of observers.
    void observers_covering(Vec3 position, std::vector<ObserverId>& out) const;
    /// Returns the position that rules use: that of its root, or of its position source.
    Vec3 position(EntityId entity) const noexcept;
    /// Attributes of an entity, for custom nodes and kernels. For a group member, flags and values
    /// are those of its root. A stale id has none.
    bool is_alive(EntityId entity) const noexcept;
    bool has_flag(EntityId entity, FlagId flag) const noexcept;
    Key key(EntityId entity, KeyId id) const noexcept;
    bool has_key(EntityId entity, KeyId id, Key key) const noexcept;
    float value(EntityId entity, ValueId id) const noexcept;
    ObserverId owner(EntityId entity) const noexcept;
    KindId kind(EntityId entity) const noexcept;
    std::uint64_t user_data(EntityId entity) const noexcept;
    /// Returns why an entity is relevant to an observer or not, and what would change that.
    /// Positions and attributes are the current ones: call it before the edits of the next tick.
    Explanation explain(ObserverId observer, EntityId entity) const;
    const Rules& rules() const noexcept;
    /// Returns what about the rules in force is expensive, never true or without effect, and which
    /// kinds no node covers; in words.
    const std::vector<std::string>& warnings() const noexcept;
    /// Returns how many moves were ignored: stale ids, and positions that are not finite.
    std::uint64_t ignored_moves() const noexcept;

  protected:
    explicit Visibility(std::unique_ptr<InterestData> data) noexcept;
    Visibility(Visibility&&) noexcept;
    Visibility& operator=(Visibility&&) noexcept;
    ~Visibility();

    std::unique_ptr<InterestData> data_;

  private:
    friend struct InternalAccess;
    void visit_relevant(ObserverId observer, void (*visit)(void*, EntityId), void* context) const;
};

/// The stand-alone engine. Feed it entities, observers and what changed; call tick(); read
/// events(). Everything done to an entity before a tick counts as one step.
class InterestManager : public Visibility {
  public:
    /// Unsound rules are asserted. In release builds nothing is relevant then, and problem()
    /// returns why. `log` receives that text, and warnings; without it they go to standard error.
    explicit InterestManager(const Rules& rules, const LogSink& log = {});
    InterestManager(InterestManager&&) noexcept;
    InterestManager& operator=(InterestManager&&) noexcept;
    ~InterestManager();
    /// Returns why the rules are unsound; empty: they are sound.
    const std::string& problem() const noexcept;

    // -- entities
    /// Adds an entity and returns its id. none, and asserted: an id in use or out of range, a
    /// position or value that is not finite, a range beyond Rules::range_classes, or no such node.
    EntityId spawn(const EntityDef& def);
    /// refused: it has members; detach them first.
    Status despawn(EntityId entity);
    /// Sets the position. The last of several counts. Ignored for group members and for entities
    /// without a position. bad_position: not finite.
    Status move(EntityId entity, Vec3 position);
    /// Many at once. Stale ids and positions that are not finite are counted and skipped.
    void move(const PositionColumns& columns);
    Status set_flag(EntityId entity, FlagId flag, bool value);
    using Visibility::set_key;
    /// Sets the key of an entity. For a group member, it applies to observers that view from it;
    /// the group uses the root's key.
    Status set_key(EntityId entity, KeyId id, Key key);
    /// bad_position: not finite.
    Status set_value(EntityId entity, ValueId id, float value);
    /// Sets the owner; none: nobody. The owner sees it, and its whole group.
    Status set_owner(EntityId entity, ObserverId owner);
    using Visibility::set_user_data;
    /// Sets a number that events return.
    Status set_user_data(EntityId entity, std::uint64_t user_data);

    // -- groups
    /// Evaluates `child`, with its members, as part of the group of `parent` from now on. Its
    /// overrides stay: a denied, hidden or explicit-only member is hidden with everything below it;
    /// an allowed, shown or global one makes its whole group relevant, as an owned one does. A kind
    /// with KindRules::culled_independently stays a unit of its own. A member changes its
    /// parent. bad_argument: `parent` is below `child`, or in another group than the member
    /// `child`. too_large: a group has at most 65,535 members beside its root.
    Status attach(EntityId child, EntityId parent);
    /// Makes a member a group of its own with these values; `def.id` is not read. Its overrides
    /// stay. `is_orphan`: what is above it is about to be despawned, which must not reveal it. It
    /// then inherits hides, denials and EntityMode::explicit_only from those above; of several
    /// orphans detach the deepest first.
    Status detach(EntityId child, const EntityDef& def, bool is_orphan = false);
    /// Sets the radius of a sphere around a root that holds its group
    /// (KindRules::uses_group_radius). refused: a member. bad_argument: not a finite radius of 0 or
    /// more.
    Status set_group_radius(EntityId root, float radius);

    // -- observers
    /// Adds an observer and returns its id; none: Rules::observers_max are there.
    ObserverId add_observer(const ObserverDef& def = {});
    /// Removes an observer. Its entities leave with Reason::disconnected in the next tick.
    Status remove_observer(ObserverId observer);

    // -- rules
    /// Replaces nodes, level and minimum_relevance_ticks from the next tick on, in one step. Start
    /// from a copy of rules(); all else stays as it was at creation. Bindings keep their node by
    /// its number. An equal kernel at the same place of the same node keeps its memory.
    /// Returns why the rules are unsound, and changes nothing; empty: they were taken.
    std::string set_rules(const Rules& rules);
    /// Computes what set_rules and a tick would change. Changes nothing. Custom nodes are called.
    /// On the caller's thread, with copies: takes seconds where millions of pairs change. Evaluates
    /// no more observers than are likely to gain and lose `pairs_max` together, one at least.
    RuleTrial try_rules(const Rules& rules, std::size_t pairs_max = ~std::size_t{0}) const;
    void set_level(InterestLevel level);

    // -- the tick
    /// Evaluates on several threads. The result is the same for any number of workers.
    void set_executor(const Executor& executor);
    void tick();
    /// Returns what changed in the last tick, at most one event for a pair, grouped by observer
    /// index; for an observer, leaves come before enters. Valid until the next tick.
    std::span<const InterestEvent> events() const;
    std::span<const InterestEvent> events(ObserverId observer) const;

  private:
    std::string problem_;
};

}  // namespace purview
