// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What an observer may know, decided sixteen entities at a time.
//
// Feed the manager entities, observers and what changed; call tick(); read who entered and who
// left, for whom and why. It needs no world, no threads, no sockets. One thread calls it. That of a
// server is fed and ticked by the server alone (Server::interest).
//
//   relevant = ready and not denied and
//              (owned or (not force hidden and (shown to all or allowed or
//                                               (not explicit only and (interest is off or
//                                               nodes)))))
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
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

struct RelevanceEvent {
    ObserverId observer;
    EntityId entity;
    Reason reason;
    bool enter;
};

/// How an entity takes part (Fusion's three modes).
enum class EntityMode : std::uint8_t {
    nodes = 0,          ///< nodes decide; in set_mode also where its kind says otherwise
    global = 1,         ///< shown to every ready observer
    explicit_only = 2,  ///< shown to owners and allowed pairs only
};

/// What interest needs to know of an entity when it appears. Spans are read during the call.
struct EntityDef {
    Vec3 place;
    bool placed = true;       ///< false: works in every node that does not ask for a place (N54)
    std::uint16_t flags = 0;  ///< bit f: FlagId f
    /// Values by KeyDomain; missing ones are Key::none.
    std::span<const Key> keys = {};
    /// Values by ValueId; missing ones are 0.
    std::span<const float> values = {};
    KindId kind = no_kind;
    EntityMode mode = EntityMode::nodes;
    /// Its own range for RangeOf::entity; 0: its kind's, or the rule's.
    float range_m = 0;
    /// Nodes of its own, beside those of its kind or instead of them (N40).
    std::span<const NodeId> nodes = {};
    bool replaces_kind_nodes = false;

    static constexpr KindId no_kind{0xffff};
};

/// What entities of a kind have in common, from their spawn on.
struct KindInterest {
    std::vector<NodeId> nodes;  ///< bound to them; none: the default node's (NodeMembers::unbound)
    /// Without a node it is relevant to nobody, instead of belonging to the default node (N42).
    /// Nodes that take everything (NodeMembers::all) take it all the same; what no node may show
    /// is EntityMode::explicit_only.
    bool never_default = false;
    EntityMode mode = EntityMode::nodes;  ///< where the entity's own is `nodes`
    bool owner_sees = true;  ///< false: owning it shows nothing. See InterestDef::owner_sees
    float range_m = 0;
    /// As a member of a group it is judged by itself, with the members below it: by its own place,
    /// flags, keys and nodes. It is relevant only where its parent is.
    bool split = false;
    /// Where nodes show such a split member its ancestors are relevant too, however far. That
    /// overcomes no denial, force hide or explicit-only of an ancestor, and no step or node that
    /// subtracts what an ancestor says of itself.
    bool promote_ancestors = false;
    /// As the root of a group it counts by the bounds of the group (set_bounds): steps about
    /// distance and areas measure to the nearest point of that sphere. Needs
    /// InterestRules::group_bounds_max_m. Cells, hexagons and line of sight take its place.
    bool by_bounds = false;
};

/// How much of interest is in force (F7, F29). Deny, force hide and explicit-only hold always.
enum class InterestLevel : std::uint8_t {
    none = 0,        ///< nodes answer "all"
    scheduling = 1,  ///< and settings of nodes count
    full = 2,        ///< nodes decide
};

/// How windows are brought up to date. Both give the same answers; for tests and measurements.
enum class WindowUpdate : std::uint8_t {
    automatic = 0,  ///< by what a tick would cost
    pull = 1,       ///< every observer looks at what changed in its window
    push = 2,       ///< every mover looks up the observers to whom its move matters
};

struct InterestDef {
    InterestRules rules;
    std::uint32_t flag_count = 0;   ///< at most 16
    std::uint32_t key_count = 0;    ///< at most 8
    std::uint32_t value_count = 0;  ///< at most 8
    /// For explanations and problem_of; those that are missing are called by number.
    std::vector<std::string> flag_names;
    std::vector<std::string> key_names;
    std::vector<std::string> value_names;
    std::vector<std::string> kind_names;
    std::vector<KindInterest> kinds;  ///< by KindId
    /// False: owning an entity shows nothing, whatever its kind says.
    bool owner_sees = true;
    std::uint32_t observers_max = 65'536;
    /// Areas of interest of one observer, the place of its main entity not counted; at most
    /// limits::areas_per_observer.
    std::uint32_t areas_max = 16;
    /// set_area replaces whatever other area there is (Fusion's shared mode).
    bool single_area = false;
    /// An observer without a main entity counts as not ready (M7).
    bool ready_requires_entity = false;
    InterestLevel level = InterestLevel::full;
    /// Keeps observer_count and edges: some 5 to 20 % more for each event.
    bool count_observers = false;
    /// Measures with every tick how relevant is whoever moved: changed_strengths. A tick takes
    /// about a fifth longer, and windows are always pulled.
    bool measure_changed = false;
    LogSink log;  ///< receives why create refuses, and warnings
    WindowUpdate window_update = WindowUpdate::automatic;
};

/// Empty, or why InterestManager::create answers bad_configuration: unsound rules (problem_of); a
/// step names a flag, key or value at or beyond `flag_count`, `key_count` or `value_count`; a kind
/// names a node that is not there, has a `range_m` beyond `range_classes_m`, or goes `by_bounds`
/// without `group_bounds_max_m`; a count above its bound.
std::string problem_of(const InterestDef& def);

/// How relevant some entities are to one observer: of each its index (index_of), 0 exclusive to 1.
struct Strengths {
    std::span<const std::uint32_t> entities;  ///< [n]
    std::span<const float> strength;          ///< [n]
};

struct InterestCounters {
    std::uint64_t bad_positions = 0;  ///< moves refused because not finite
    std::uint64_t stale_ids = 0;      ///< moves of entities that are not there
    std::uint64_t blocks_tested =
        0;                           ///< blocks that kernels were asked about; see set_count_tested
    std::uint64_t lanes_tested = 0;  ///< entities in them
    std::uint64_t windows_scanned = 0;
};

/// The first observer of an entity came, or the last one went.
struct ObserverEdge {
    EntityId entity;
    bool first;
};

/// Something at the place with this number would be relevant to the observer.
struct Covering {
    std::uint32_t place;
    ObserverId observer;
    // NOLINTNEXTLINE(modernize-use-nullptr): the 0 of <=> is none.
    friend auto operator<=>(const Covering&, const Covering&) = default;
};

/// Places in columns of the caller's own: entity i stands at x[i], y[i], z[i], each column with a
/// stride of its own. Read during the call.
struct PlaceColumns {
    std::span<const EntityId> entities;  ///< [n]; none: left out
    const float* x = nullptr;
    const float* y = nullptr;
    const float* z = nullptr;  ///< null: 0
    std::size_t stride_bytes = sizeof(float);
    /// [(n + 63) / 64] bit i: i may have moved. Empty: all are compared with what is known.
    std::span<const std::uint64_t> changed = {};
};

/// Who would gain and who would lose with other rules.
struct RuleTrial {
    struct Pair {
        ObserverId observer;
        EntityId entity;
    };
    std::vector<Pair> gains;
    std::vector<Pair> losses;
    std::uint32_t observers_asked = 0;     ///< ready ones, the first by index
    std::uint32_t observers_left_out = 0;  ///< the other ready ones: see try_rules
    std::uint64_t pairs_now = 0;           ///< relevant ones of those asked, by the rules that run
    std::uint64_t pairs_then = 0;          ///< and by these
    std::vector<std::string> warnings;     ///< what about the rules is dear, or never true
    std::string problem;                   ///< not empty: the rules are unsound; all else is empty
};

class InterestData;  // src/interest

/// The one place where nodes, explicit pairs and ownership meet (the RFC's InterestManager).
class InterestManager {
  public:
    /// bad_configuration: problem_of(def) says why.
    static Result<InterestManager> create(const InterestDef& def);
    InterestManager(InterestManager&&) noexcept;
    InterestManager& operator=(InterestManager&&) noexcept;
    ~InterestManager();

    // -- entities. Ids are the caller's: an index below 2^31 and a generation of 1 or more. Indices
    // are dense: tables are as long as the largest is large, some 8 bytes for each. An index may be
    // used again at once: despawn, then spawn with another generation, in one tick.
    /// bad_argument (none, generation 0, or an index of 2^31 or more), bad_position, or duplicate
    /// when an entity with this index is alive.
    Status spawn(EntityId entity, const EntityDef& def);
    /// refused while it has members: they leave its unit first (World does so).
    Status despawn(EntityId entity);
    /// Takes effect with the next tick. The last of several wins. Members of a group, and who was
    /// spawned without a place, have none of their own here: Status::ok, ignored.
    Status move(EntityId entity, Vec3 place);
    /// As move, for many; what is stale or not finite is counted and skipped.
    void move(std::span<const Move> moves);
    Status set_flag(EntityId entity, FlagId flag, bool value);
    /// Of a member of a group: who looks out of it has that key; its group is judged by the root's.
    Status set_key(EntityId entity, KeyDomain domain, Key key);
    /// The owner sees it, and it counts as owned for its whole group; none takes the owner away.
    Status set_owner(EntityId entity, ObserverId owner);
    /// A further key of a domain (overlapping rooms); each is counted, and taken back by
    /// remove_key. Of a member of a group as set_key. not_found.
    Status add_key(EntityId entity, KeyDomain domain, Key key);
    Status remove_key(EntityId entity, KeyDomain domain, Key key);
    /// bad_position: not finite.
    Status set_value(EntityId entity, ValueId value, float number);
    /// How far it is seen by kernels with RangeOf::entity; 0: as the rule says. bad_argument:
    /// negative, not finite, or beyond the last of range_classes_m.
    Status set_range(EntityId entity, float range_m);
    /// Bounds of its group: the radius of a sphere around it that holds all members; 0: none. A
    /// server sets it. refused: it is a member. bad_argument: negative, not finite, or its kind
    /// does not count by bounds.
    Status set_bounds(EntityId entity, float radius_m);
    Status set_mode(EntityId entity, EntityMode mode);
    /// In the interest of nodes it stands where `other` stands, and goes where that goes; none
    /// ends it, and so do the end of `other`, joining a group, and a group that closes a circle of
    /// them: everybody in it stands at his own then (F12). would_cycle; too_deep: more than 8 of
    /// them in a row. Members of a group: refused.
    Status set_place_override(EntityId entity, EntityId other);
    /// For predictive line of sight, in metres a second.
    Status set_velocity(EntityId entity, Vec3 velocity);

    /// Binds it to a node of NodeMembers::bound; twice is once. The default node is for those that
    /// are bound to none (N3). bad_argument: there is no such node.
    Status add_node(EntityId entity, NodeId node);
    /// not_found, or orphaned: it was the last one, so no default node is about it until
    /// add_default_node or add_node (N8). Nodes of NodeMembers::all are about everything all the
    /// same.
    Status remove_node(EntityId entity, NodeId node);
    /// Exactly these from now on, in one step: who sees it before and after hears nothing (N45).
    /// None: orphaned.
    Status set_nodes(EntityId entity, std::span<const NodeId> nodes);
    /// Bound to nothing: the default node's.
    Status add_default_node(EntityId entity);
    /// Nodes that the entity is bound to, ascending; empty also for an entity that is not there or
    /// is a member of a group. Valid until the next edit.
    std::span<const NodeId> nodes_of(EntityId entity) const noexcept;

    // What an entity has, for custom nodes and kernels. Of an id that is not there: false,
    // Key::none, 0, none, EntityDef::no_kind. Of a member of a group: flags and values are those of
    // its root.
    bool is_known(EntityId entity) const noexcept;
    bool has_flag(EntityId entity, FlagId flag) const noexcept;
    Key key_of(EntityId entity, KeyDomain domain) const noexcept;
    /// Its key of the domain, or a further one (add_key).
    bool has_key(EntityId entity, KeyDomain domain, Key key) const noexcept;
    float value_of(EntityId entity, ValueId value) const noexcept;
    ObserverId owner_of(EntityId entity) const noexcept;
    KindId kind_of(EntityId entity) const noexcept;
    /// Entities (roots of groups) whose nodes were edited before the last tick; some may be gone.
    /// Valid until the next tick.
    std::span<const EntityId> rebound() const noexcept;

    /// Hidden from everybody but owners, whatever the nodes say; of a group's root: its group, but
    /// not from owners of its members; of a member: all below it, but not from owners of the root
    /// or of somebody there.
    Status force_hide(EntityId entity, bool hidden);
    /// Shown to every ready observer, whatever the nodes say. A member takes its group along.
    /// hidden_by_root: not as long as the root is force hidden.
    Status show_to_all(EntityId entity, bool shown);
    /// From now on `member` (with its own members, if it is a root) is judged with `root`, which
    /// must be a unit of its own. `parent`: the member of that group that it is below; none: the
    /// root. A split member (KindInterest::split) stays a unit. What is said of it by hand stays: a
    /// denied, force hidden or explicit-only member is hidden with all below it, and one that is
    /// allowed, shown to all or global makes its whole group relevant, as one that is owned does.
    /// bad_argument: `root` is itself a member, or the parent is not in the group or is below the
    /// member.
    Status join_unit(EntityId member, EntityId root, EntityId parent = EntityId::none);
    /// A unit of its own again, with these values, and what is said of it by hand.
    /// A split member is one already: it takes all below it along, and keeps its values.
    /// `is_orphan`: what is above it is about to be despawned, which must not reveal it; of several
    /// orphans those deeper down leave first. What hides
    /// it by way of those above hides it by itself from now on, until the game says otherwise: it
    /// is force hidden where one of them is, explicit only where one of them is (or where the root
    /// is bound to no node), and denied to whom one of them is denied. Pairs that allow one of them
    /// are not inherited, nor are flags, keys and nodes.
    Status leave_unit(EntityId member, const EntityDef& def, bool is_orphan = false);

    /// A kernel or node of the game's own may answer otherwise about this entity, for a reason that
    /// the engine cannot see. If it is the main entity of observers, they are rescanned as well.
    /// Custom nodes that are about it are told (InterestNode::updated).
    Status recheck(EntityId entity);
    /// Its place of now counts for dormant nodes, too (N5, N23).
    Status update(EntityId entity);
    void move(const PlaceColumns& columns);

    // -- observers ------------------------------------------------------------------------------
    /// Not ready, nowhere, in no group. capacity: observers_max.
    Result<ObserverId> add_observer();
    /// Its pairs leave with Reason::disconnected at the next tick; the id is stale at once.
    /// refused: it is held; so are those of a Server's clients, views and probes (Server::close).
    Status remove_observer(ObserverId observer);
    /// Somebody relies on it: it is not removed before he lets go.
    Status hold_observer(ObserverId observer, bool held);
    /// Readiness starts false. Twice the same costs nothing (M32).
    Status set_ready(ObserverId observer, bool ready);
    /// The entity that stands for the observer: it looks from there and has its keys; as a member
    /// of a group it looks from the root's place, with its own keys all the same. none: nowhere.
    Status set_main_entity(ObserverId observer, EntityId entity);
    /// none: it has none, or the observer is not there.
    EntityId main_entity(ObserverId observer) const noexcept;
    /// An area of interest under a key of the caller; replaces the one with that key. capacity:
    /// areas_max. bad_position: not finite. bad_argument: a radius, side or angle out of range.
    /// stale_id: it follows nobody. Nothing was changed then.
    Status set_area(ObserverId observer, std::uint32_t area_key, const Area& area);
    /// A further place to look from.
    Status set_area(ObserverId observer, std::uint32_t area_key, Vec3 centre) {
        return set_area(observer, area_key, Area::at(centre));
    }
    Status remove_area(ObserverId observer, std::uint32_t area_key);
    /// All of its areas at once, under the keys 0, 1, 2 ...: Fusion's add-each-tick style.
    Status set_areas(ObserverId observer, std::span<const Area> areas);
    /// A further key, beside that of its main entity (overlapping rooms); counted, see add_key.
    Status add_observer_key(ObserverId observer, KeyDomain domain, Key key);
    Status remove_observer_key(ObserverId observer, KeyDomain domain, Key key);
    /// How far it sees by kernels with RangeOf::observer; 0: as the rule says. bad_argument: beyond
    /// InterestRules::observer_range_max_m, which is 0 unless it is set.
    Status set_observer_range(ObserverId observer, float range_m);
    /// By how much predictive line of sight looks ahead: its ping, about. 0 to 10 seconds.
    Status set_lookahead(ObserverId observer, float seconds);
    /// A key of its own, used while it has no main entity.
    Status set_observer_key(ObserverId observer, KeyDomain domain, Key key);
    /// As kernels see it: its main entity's keys, or its own, and further ones. Key::none: false.
    bool has_key(ObserverId observer, KeyDomain domain, Key key) const noexcept;
    /// Another number than before wherever has_key may answer otherwise about this observer.
    std::uint32_t keys_revision(ObserverId observer) const noexcept;
    /// Interest switched off for this observer: nodes answer "all" (F7).
    Status set_sees_everything(ObserverId observer, bool value);
    /// A kernel or node of your own may answer otherwise about anything, for this observer.
    Status rescan(ObserverId observer);
    Status rescan_node(NodeId node);
    /// Explicit pair: always relevant, unless denied or force hidden. A member takes its group
    /// along. hidden_by_root: not as long as the root is denied or force hidden.
    Status allow(ObserverId observer, EntityId entity, bool value);
    /// As allow, one after the other, and faster where there are thousands. `edits`: of any
    /// length, read during the call only. What is refused (stale_id) is skipped, the rest is done;
    /// the answer is the first Status that was not ok.
    Status allow(std::span<const PairEdit> edits);
    /// Explicit pair: never relevant, not even for the owner; with the group of a root, and with
    /// all below a member.
    Status deny(ObserverId observer, EntityId entity, bool value);
    /// For many, as allow.
    Status deny(std::span<const PairEdit> edits);

    // -- rules while running --------------------------------------------------------------------
    /// Other rules from the next tick on, in one step. Bounds, axes, cells, range classes,
    /// observer_range_max_m, group_bounds_max_m and entities_expected stay.
    /// Bindings keep their node by its number. A kernel that is the same at the same place of the
    /// same node keeps what it remembers. bad_configuration: see problem_of; nothing was changed.
    Status set_rules(const InterestRules& rules);
    /// What set_rules and a tick would change, without doing it. Nodes of the caller's own are
    /// asked, during this call, about the world as it is. On the caller's thread, with copies of
    /// all that there is: where a million pairs change that takes seconds. No more observers are
    /// asked than are likely to gain and lose `pairs_max` together (one at least).
    RuleTrial try_rules(const InterestRules& rules, std::size_t pairs_max = ~std::size_t{0}) const;
    /// What about the rules in force is expensive, never true or without effect, and which kinds no
    /// node covers; in words. create and set_rules write them to InterestDef::log as well.
    const std::vector<std::string>& warnings() const noexcept;
    const InterestRules& rules() const noexcept;
    void set_level(InterestLevel level);
    /// One pair of a custom node, for schemes that know what changed (M31); counted by nobody: true
    /// or false. bad_argument: not a custom node, or one that is off. refused: a member of a group,
    /// which is judged by its root, or whom the node is not about.
    Status set_node_pair(NodeId node, ObserverId observer, EntityId entity, bool value);
    /// Windows are worked on in parallel, with the same result for any number of workers.
    void set_executor(const Executor& executor);

    // -- the tick -------------------------------------------------------------------------------
    void tick();
    /// What changed with the last tick, at most one event a pair. Grouped by observer index; the
    /// leaves of an observer come before its enters. Valid until the next tick.
    std::span<const RelevanceEvent> events() const noexcept;
    std::span<const RelevanceEvent> events_of(ObserverId observer) const noexcept;

    // -- answers, as of the last tick; but what was said since of a pair, an owner or an entity by
    // hand to show it counts at once, ahead of its event, and so do keys and flags of entities
    // where a node's answer follows from nothing else (same, flagged)
    bool is_relevant(ObserverId observer, EntityId entity) const noexcept;
    /// False for a stale id, too.
    bool is_ready(ObserverId observer) const noexcept;
    /// An explicit pair says never, of it or of somebody above it in its group.
    bool is_denied(ObserverId observer, EntityId entity) const noexcept;
    /// Appends all relevant entities, each once, in no particular order.
    void relevant(ObserverId observer, std::vector<EntityId>& out) const;
    /// The same in the RFC's words.
    void query_for(ObserverId observer, std::vector<EntityId>& out) const {
        relevant(observer, out);
    }
    /// The same without a copy: visit(EntityId) for all.
    template <class Visit>
    void for_each_relevant(ObserverId observer, Visit&& visit) const {
        using Function = std::remove_reference_t<Visit>;
        visit_relevant(
            observer,
            [](void* context, EntityId entity) { (*static_cast<Function*>(context))(entity); },
            const_cast<void*>(static_cast<const void*>(&visit)));
    }
    std::size_t relevant_count(ObserverId observer) const noexcept;
    /// Appends everybody to whom the entity is relevant, by index of observers. Looks at every
    /// observer; observer_count does not.
    void observers_of(EntityId entity, std::vector<ObserverId>& out) const;
    /// With count_observers.
    std::uint32_t observer_count(EntityId entity) const noexcept;
    /// With count_observers: who got its first observer with the last tick, or lost its last (F18).
    /// Whoever is despawned has no edge.
    std::span<const ObserverEdge> edges() const noexcept;
    /// strength[n]: how relevant, 0 exclusive to 1; 0 for those that are not relevant. By distance:
    /// 1 - d / (2 x leave radius); 1 where nothing measures (N51). Keeps its working memory, one
    /// for each thread that asks, until the thread ends.
    /// `settings`: empty, or [n]: what settings() says of each, with the same look at the nodes.
    void strength(ObserverId observer, std::span<const EntityId> entities,
                  std::span<float> strength, std::span<NodeSettings> settings = {}) const;
    /// With measure_changed, as of the last tick: what strength() says of everybody relevant who
    /// was moved or spawned since the tick before, or whose group was; each once, in no particular
    /// order. Valid until the next tick. The first call after a tick looks up who they are, for all
    /// observers. With groups of split members, or a minimum stay, it costs what strength() does.
    Strengths changed_strengths(ObserverId observer);
    /// Of the nodes that want the pair, the most generous settings; defaults for one that is
    /// relevant by other means (N43).
    NodeSettings settings(ObserverId observer, EntityId entity) const;
    /// Appends entities (roots of groups) whose place is within the box, borders included (P28).
    /// `kind`: only these.
    void entities_in(Vec3 min, Vec3 max, std::vector<EntityId>& out,
                     KindId kind = EntityDef::no_kind) const;
    /// Appends the entities (roots of groups) that this node of the rules is about, whatever it
    /// says of them (N31). Looks at every entity.
    void entities_of(NodeId node, std::vector<EntityId>& out) const;
    /// Appends the ready observers to whom something at this place would be relevant by place alone
    /// (P25): the place is within reach of a step that adds by place, of a node that adds, and of
    /// every node behind it that requires and has such steps. Steps and nodes that take away do not
    /// count: of what, is not known. To kernels of your own the thing there is entity 0 of
    /// generation 1, whoever that is. Looks at every observer.
    void observers_covering(Vec3 place, std::vector<ObserverId>& out) const;
    /// The same of places[n], in one pass over the observers (docs/adr/0020): many at once cost
    /// less than one by one. Appended by place, of each by observer. A place that is not finite has
    /// nobody.
    void observers_covering(std::span<const Vec3> places, std::vector<Covering>& out) const;
    /// The place that counts, or {0, 0, 0}; of a member: its group's.
    Vec3 place_of(EntityId entity) const noexcept;
    /// The whole path to the answer, and what would turn it. The code that decides gives it, on a
    /// copy of the entity. Places and facts are those of now: ask before the next
    /// tick's changes.
    Explanation explain(ObserverId observer, EntityId entity) const;
    const InterestCounters& counters() const noexcept;

    /// Counts blocks and entities that were tested, for measurements.
    void set_count_tested(bool value) noexcept;
    /// Debug: this many cells have their lanes shuffled every tick. No answer may change.
    void set_lane_shuffle(std::uint32_t cells_per_tick, std::uint64_t seed) noexcept;

    /// For the other rooms of the library.
    InterestData& data() noexcept { return *data_; }

  private:
    void visit_relevant(ObserverId observer, void (*visit)(void*, EntityId), void* context) const;
    explicit InterestManager(std::unique_ptr<InterestData> data) noexcept;
    std::unique_ptr<InterestData> data_;
};

}  // namespace purview
