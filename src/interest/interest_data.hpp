// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The state of the interest engine and its tick: facts, moves, windows, publish.
//
// relevant(o, e) = ready(o) and (W or X), where W is the bit in o's window and X is everything that
// is not a window: not denied and (owned or (not force hidden and (shown to all, allowed, in a
// row))). Facts change X and are told at once, against last tick's windows: an event where X
// toggled and W was not set. Windows change W, and are told where X, now final, does not hold. What
// a fact took and a window gives back in the same tick cancels. Facts come before moves; `move`
// only queues.
//
//   entities.cpp  places.cpp  attributes.cpp
//   units.cpp  observers.cpp  bindings                 edits: what they mean for X
//   split_members.cpp                                  groups that are judged as a tree of units
//   facts.cpp     edits.hpp                            X itself, and the log of what it did
//   custom_nodes.cpp  live_rules.cpp                   nodes of the caller's own; other rules
//   interest_tick.cpp                                  the tick
//   changed_strengths.cpp  strength_list               and how relevant whoever changed is
//   answers.cpp   explain.cpp                          what it says
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/bitset.hpp"
#include "core/buckets.hpp"
#include "core/finite.hpp"
#include "core/flat_map.hpp"
#include "core/hash.hpp"
#include "core/id_pool.hpp"
#include "interest/pair_table.hpp"
#include "interest/program.hpp"
#include "interest/row_store.hpp"
#include "interest/scan.hpp"
#include "interest/split_members.hpp"
#include "interest/stays.hpp"
#include "interest/strength_list.hpp"
#include "purview/interest.hpp"
#include "purview/schema.hpp"
#include "spatial/region_grid.hpp"

namespace purview {

/// Of the caller, as given; `ends` is the last tick in which it counts.
struct KeyedArea {
    std::uint32_t key = 0;
    Tick ends = 0;
    Area area;
    friend bool operator==(const KeyedArea&, const KeyedArea&) = default;
};

/// What is said of a pair besides its nodes.
struct PairFacts {
    bool ready = false;
    bool denied = false;
    bool owned = false;
    bool force_hidden = false;
    bool shown_to_all = false;
    bool allowed = false;
    bool explicit_only = false;
    bool sees_everything = false;

    /// The one formula, and what decides in it; `nodes`: what windows, rows and custom nodes say.
    Stage decide(bool nodes) const noexcept {
        if (!ready) return Stage::not_ready;
        if (denied) return Stage::denied;
        if (owned) return Stage::owned;
        if (force_hidden) return Stage::force_hidden;
        if (shown_to_all) return Stage::shown_to_all;
        if (allowed) return Stage::allowed;
        if (explicit_only) return Stage::explicit_only;
        if (sees_everything) return Stage::sees_everything;
        return nodes ? Stage::node : Stage::no_node;
    }
    /// What shows a member shows those above it.
    void take_shown(const PairFacts& below) noexcept {
        owned |= below.owned;
        shown_to_all |= below.shown_to_all;
        allowed |= below.allowed;
    }
};
constexpr bool is_yes(Stage stage) noexcept {
    return stage == Stage::owned || stage == Stage::shown_to_all || stage == Stage::allowed ||
           stage == Stage::sees_everything || stage == Stage::node || stage == Stage::promoted;
}

/// A row of a source that an observer reads.
struct SourceRow {
    std::uint32_t source;
    std::uint32_t row;
    friend bool operator==(const SourceRow&, const SourceRow&) = default;
    friend bool operator<(const SourceRow& a, const SourceRow& b) noexcept {
        return a.source != b.source ? a.source < b.source : a.row < b.row;
    }
};

struct alignas(cache_line_bytes) Observer {
    // What every tick reads first.
    EntityId main = EntityId::none;
    std::uint64_t looked_from = 0;  ///< a number of all places and areas at the last scan
    bool ready = false;             ///< and has a main entity, where that is asked for
    bool wants_ready = false;
    bool needs_scan = true;  ///< something of its own changed: areas, keys, readiness
    bool sees_everything = false;
    bool is_held = false;  ///< hold_observer
    float range_m = 0;
    float lookahead_s = 0;
    Tick ready_since = 0;
    ObserverId id = ObserverId::none;
    std::uint32_t next_of_main = IdPool::no_index;  ///< another observer with the same main entity
    Window window;
    std::vector<KeyedArea> areas;
    std::vector<SourceRow> rows;               ///< ascending
    std::array<Key, Schema::keys_max> keys{};  ///< in force: the main entity's, or its own
    std::array<Key, Schema::keys_max> own_keys{};
    std::vector<DomainKey> more_keys;  ///< in force: the main entity's, and its own
    std::uint32_t keys_revision = 0;   ///< of those in force
};

/// Where an observer looks from and into, for one question.
struct Sight {
    std::vector<Vec3> places;  ///< counted axes first: owned, main, areas without a shape
    std::vector<Vec3> outer;   ///< main and areas, where y is up: as the caller knows them
    std::vector<Area> areas;   ///< with a shape
    std::vector<EntityId> owned;
    std::size_t owned_places = 0;
    std::size_t main_places = 0;
};

/// Empty: sound, and they name only flags, keys and values that are there.
std::string problem_of(const InterestRules& rules, const InterestDef& def);

struct Case;
class Judge;

struct StrengthRoom;  // answers.cpp

class InterestData {
  public:
    explicit InterestData(const InterestDef& def);
    InterestData& operator=(const InterestData&) = delete;

    ~InterestData() = default;

    // -- places.cpp
    Status move(EntityId entity, Vec3 place);
    void move(std::span<const Move> moves);
    void move(const PlaceColumns& columns);
    Status set_place_override(EntityId entity, EntityId other);
    Status update(EntityId entity);
    // -- attributes.cpp
    Status set_flag(EntityId entity, FlagId flag, bool value);
    Status set_key(EntityId entity, KeyDomain domain, Key key);
    Status edit_more_keys(EntityId entity, KeyDomain domain, Key key, bool adds);
    Status set_value(EntityId entity, ValueId value, float number);
    Status set_range(EntityId entity, float range_m);
    Status set_bounds(EntityId entity, float radius_m);
    Status set_mode(EntityId entity, EntityMode mode);
    Status set_velocity(EntityId entity, Vec3 velocity);
    Status set_owner(EntityId entity, ObserverId owner);
    Status force_hide(EntityId entity, bool hidden);
    Status show_to_all(EntityId entity, bool shown);
    // -- entities.cpp
    Status spawn(EntityId entity, const EntityDef& def);
    Status despawn(EntityId entity);
    Status add_node(EntityId entity, NodeId node);
    Status remove_node(EntityId entity, NodeId node);
    Status set_nodes(EntityId entity, std::span<const NodeId> nodes);
    Status add_default_node(EntityId entity);
    Status recheck(EntityId entity);
    // -- units.cpp
    Status join_unit(EntityId member, EntityId root, EntityId parent);
    Status leave_unit(EntityId member, const EntityDef& def);
    // -- observers.cpp
    Result<ObserverId> add_observer();
    Status remove_observer(ObserverId observer);
    Status set_ready(ObserverId observer, bool ready);
    Status set_main_entity(ObserverId observer, EntityId entity);
    EntityId main_entity(ObserverId observer) const noexcept {
        return is_observer(observer) ? observers_[index_of(observer)].main : EntityId::none;
    }
    Status set_area(ObserverId observer, std::uint32_t key, const Area& area);
    Status set_areas(ObserverId observer, std::span<const Area> areas);
    Status remove_area(ObserverId observer, std::uint32_t key);
    Status set_observer_key(ObserverId observer, KeyDomain domain, Key key);
    Status edit_more_observer_keys(ObserverId observer, KeyDomain domain, Key key, bool adds);
    Status hold_observer(ObserverId observer, bool held);
    bool has_key(ObserverId observer, KeyDomain domain, Key key) const noexcept;
    std::uint32_t keys_revision(ObserverId observer) const noexcept;
    Status set_observer_range(ObserverId observer, float range_m);
    Status set_lookahead(ObserverId observer, float seconds);
    Status set_sees_everything(ObserverId observer, bool value);
    Status edit_pair(ObserverId observer, EntityId entity, PairMark mark, bool value);
    Status edit_pairs(std::span<const PairEdit> edits, PairMark mark);
    Status rescan(ObserverId observer);
    // -- live_rules.cpp
    InterestRules with_kept(InterestRules rules) const;
    Status set_rules(const InterestRules& rules);
    const std::vector<std::string>& warnings() const noexcept { return program_.warnings; }
    RuleTrial try_rules(const InterestRules& rules, const InterestManager& manager,
                        std::size_t pairs_max) const;
    RuleTrial try_some(const InterestRules& rules, const InterestManager& manager,
                       std::size_t observers_max) const;
    const InterestRules& rules() const noexcept { return def_.rules; }
    void set_level(InterestLevel level);
    // -- custom_nodes.cpp
    Status rescan_node(NodeId node);
    Status set_node_pair(NodeId node, ObserverId observer, EntityId entity, bool value);
    // -- interest_tick.cpp
    void set_executor(const Executor& executor);
    void set_count_tested(bool value) noexcept;
    void tick(const InterestManager& manager);
    std::span<const RelevanceEvent> events() const noexcept { return events_; }
    std::span<const RelevanceEvent> events_of(ObserverId observer) const noexcept;
    // -- answers.cpp
    bool is_relevant(ObserverId observer, EntityId entity) const noexcept;
    bool is_ready(ObserverId observer) const noexcept;
    bool is_denied(ObserverId observer, EntityId entity) const noexcept;
    /// False: is_denied says so of all observers.
    bool is_denied_to_anybody(EntityId entity) const noexcept;
    template <class Visit>
    void for_each_relevant(std::uint32_t observer, Visit&& visit, bool with_gone = false) const;
    void observers_of(EntityId entity, std::vector<ObserverId>& out) const;
    std::uint32_t observer_count(EntityId entity) const noexcept;
    std::span<const ObserverEdge> edges() const noexcept { return edges_; }
    std::span<const EntityId> rebound() const noexcept { return rebound_; }
    bool custom_says(std::size_t custom, std::uint32_t observer, EntityId unit) const;
    void strength(ObserverId observer, std::span<const EntityId> entities,
                  std::span<float> strength, std::span<NodeSettings> settings = {}) const;
    void find_judged(std::uint32_t observer, std::span<const EntityId> entities,
                     std::span<float> strength, bool with_settings, StrengthRoom& room) const;
    void measure_judged(std::uint32_t observer, std::span<float> strength,
                        std::span<NodeSettings> settings, StrengthRoom& room) const;
    Strengths changed_strengths(ObserverId observer);
    /// `by`, if asked for: the names of the nodes that have each setting.
    NodeSettings settings(ObserverId observer, EntityId entity,
                          ExplainedSettings* by = nullptr) const;
    void entities_in(Vec3 min, Vec3 max, std::vector<EntityId>& out, KindId kind) const;
    void entities_of(NodeId node, std::vector<EntityId>& out) const;
    void observers_covering(std::span<const Vec3> places, std::vector<Covering>& out) const;
    Vec3 place_of(EntityId entity) const noexcept;
    bool is_observer(ObserverId observer) const noexcept {
        return observer_pool_.is_live(index_of(observer), generation_of(observer));
    }
    // -- explain.cpp
    Explanation explain(ObserverId observer, EntityId entity) const;

    InterestCounters counters;
    std::uint64_t pairs_asked = 0;  ///< of an observer and an entity, by edits; ever
    std::uint32_t shuffle_cells = 0;
    /// By a server, which calls this directly: what follows from its world, and its ticks, are not
    /// for anybody else.
    bool is_driven = false;
    SplitMix shuffle_random{1};

  private:
    /// For what-if questions; `detach` gives it windows of its own.
    InterestData(const InterestData& other) = default;
    void detach();

    /// An event of the facts phase, entity by entity; taken back ones are marked.
    struct Fact {
        std::uint32_t observer;
        EntityId entity;
        bool enter;
        bool cancelled;
    };
    struct Touched {
        std::uint32_t observer;
        bool before;
    };
    struct Override {
        EntityId other = EntityId::none;
        Vec3 own_place;
        bool was_unplaced = false;
    };
    /// What a custom node said last: by observer index, or by entity index if it is entity-centric.
    struct CustomNode {
        InterestNode* node = nullptr;
        std::vector<std::vector<std::uint64_t>>
            said;            ///< ascending; entity ids, or observer indices
        Bitset asked_again;  ///< of the same numbering
        bool asks_all = true;
    };
    /// A bit of a window that differs from last tick's.
    struct WindowChange {
        EntityId unit;
        ObserverId observer;
        bool enter;
        bool is_there;  ///< the unit has not been despawned
    };
    /// What an observer looks from.
    struct Look {
        std::uint32_t observer = 0;
        Sight sight;
        std::vector<const Row*> pulled;
        std::optional<ScanInput> input;  ///< of these
    };
    /// One of the threads that windows are worked on.
    struct Worker {
        Worker() = default;
        Worker(const Worker&) {}  ///< windows are not copied with their memory
        Worker(Worker&&) = default;
        Worker& operator=(const Worker&) = delete;
        Worker& operator=(Worker&&) = delete;
        ~Worker() = default;

        ScanScratch scratch;
        Look look;
        StrengthList strengths;  ///< of whoever changed
        MeasureScratch measure;
        std::vector<EntityId> special;
        std::vector<float> said;           ///< [special]
        std::vector<std::uint32_t> moved;  ///< observers that were scanned in full
        struct Chunk {
            std::uint32_t number;
            std::size_t end;  ///< of its changes
        };
        std::vector<Chunk> chunks;
        std::vector<WindowChange> changes;
    };

    // -- answers.cpp
    struct SpatialSteps {
        std::vector<NodeProgram> nodes;
        float reach_m = 0;
        bool is_bounded = true;
    };
    SpatialSteps spatial_steps() const;
    // -- explain.cpp
    friend class Judge;
    Case case_of(std::uint32_t observer, EntityId unit) const;
    Explanation explain_hidden(std::uint32_t observer, EntityId entity, Explanation out) const;
    std::vector<Change> changes_of(std::uint32_t observer, EntityId unit, const Case& now,
                                   std::span<const Vec3> places) const;
    // -- facts.cpp
    ObserverId id_of(std::uint32_t observer) const noexcept { return observers_[observer].id; }
    EntityId unit_of(EntityId entity) const noexcept;
    bool is_known(EntityId entity) const noexcept;
    bool is_member(EntityId entity) const noexcept;
    bool in_window(std::uint32_t observer, EntityId unit) const noexcept;
    bool x_holds(std::uint32_t observer, EntityId unit) const noexcept;
    bool x_holds(std::uint32_t observer, EntityId unit, Slot slot, const PairEntry* pair,
                 const PairFacts& facts) const noexcept;
    bool in_rows(std::uint32_t observer, EntityId unit) const noexcept;
    bool in_rows_of(NodeId node, std::uint32_t observer, EntityId unit) const noexcept;
    bool is_seen(std::uint32_t observer, EntityId unit) const noexcept {
        return observers_[observer].ready && (in_window(observer, unit) || x_holds(observer, unit));
    }
    PairFacts facts_of(std::uint32_t observer, EntityId unit, Slot slot) const noexcept;
    PairFacts facts_of(std::uint32_t observer, Slot slot, const PairEntry* pair) const noexcept;
    void note(std::uint32_t observer, EntityId unit, bool before, bool after);
    void log_fact(std::uint32_t observer, EntityId entity, bool enter);
    void settle_facts();
    void sort_facts();
    Fact* find_fact(std::uint32_t observer, std::size_t end, EntityId entity) noexcept;
    Fact* fact_of(std::uint32_t observer, EntityId entity);
    bool cancel_fact(std::uint32_t observer, EntityId entity, bool enter);
    template <class Visit>
    void for_each_member(EntityId unit, bool enter, Visit&& visit) const;
    template <class Visit>
    void for_each_visible(std::uint32_t observer, EntityId unit, bool enter, Visit&& visit) const;
    /// It is shown to everybody: by its flags, or because nobody is kept away from anything.
    bool is_open_to_all(Slot slot) const noexcept;
    bool has_open_flag(Slot slot) const noexcept;
    Mask open_lanes(BlockIndex block) const noexcept;
    bool sees_all(const Observer& observer) const noexcept;
    template <class Visit>
    void for_each_unit(Visit&& visit) const;
    template <class Visit>
    void for_each_open_unit(Visit&& visit) const;
    /// Visits every observer for which X may hold: rows, pairs, who sees everything; or everybody.
    /// Some twice.
    template <class Visit>
    void for_each_x_candidate(EntityId unit, Visit&& visit) const;
    /// Visits every unit for which X may hold. Some twice.
    template <class Visit>
    void for_each_x_unit(std::uint32_t observer, Visit&& visit) const;
    void touch(std::uint32_t observer, EntityId unit);
    void touch_all(EntityId unit);
    void tell_touched(EntityId unit);
    /// Runs an edit that may change X between one unit and many observers, and tells what changed.
    template <class Edit>
    void edit_unit(EntityId unit, Edit&& edit);
    template <class Edit>
    void edit_groups(std::initializer_list<EntityId> units, Edit&& edit);
    template <class Edit>
    void edit_group_of(std::uint32_t observer, EntityId unit, Edit&& edit);
    /// Those who are asked: from `begin` on, up to `end`.
    struct ObserverRange {
        std::uint32_t begin;
        std::uint32_t end;
    };
    ObserverRange everybody() const noexcept {
        return {0, static_cast<std::uint32_t>(observers_.size())};
    }
    template <class Edit>
    void edit_views(ObserverRange whose, std::initializer_list<EntityId> units, Edit&& edit);
    /// The same between one observer and all units of its rows.
    template <class Edit>
    void edit_observer(std::uint32_t observer, Edit&& edit);
    // -- minimum stay
    bool hold(std::uint32_t observer, EntityId unit);
    static bool hides(const WholeNode& node, const Slots& slots, Slot slot);
    bool is_hidden_by_rules(EntityId unit) const;
    void note_hide(EntityId unit);
    void check_hides();
    bool has_stay(std::uint32_t o, EntityId unit, Tick at) const;
    void end_hold(std::uint32_t observer, EntityId unit);
    void expire_stays();
    // -- entities.cpp
    Status check_def(const EntityDef& def) const noexcept;
    Vec3 inner(Vec3 place) const noexcept { return exchanged(facts_table_.axes, place); }
    void set_kind(EntityId entity, KindId kind);
    void bind(EntityId entity, const EntityDef& def);
    /// visit(node) for nodes that may be about it: those that are not for bound ones only, its own,
    /// and `others`.
    template <class Visit>
    void for_each_node_of(EntityId unit, std::span<const NodeId> others, Visit&& visit) const {
        for (const NodeId node : unbound_nodes_) visit(node);
        const auto bound = [&](NodeId node) {
            if (index_of(node) < def_.rules.nodes.size() &&
                def_.rules.nodes[index_of(node)].members == NodeMembers::bound) {
                visit(node);
            }
        };
        for (const NodeId node : facts_table_.bindings.nodes_of(unit)) bound(node);
        for (const NodeId node : others) bound(node);
    }
    /// visit(source) for the row sources of these nodes.
    template <class Visit>
    void for_each_source_of(EntityId unit, std::span<const NodeId> others, Visit&& visit) const {
        if (rows_.empty()) return;
        for_each_node_of(unit, others, [&](NodeId node) {
            for (const std::uint32_t source : sources_of_node_[index_of(node)]) visit(source);
        });
    }
    void update_membership(EntityId unit, std::span<const NodeId> left = {});
    void update_bound(EntityId unit, std::span<const NodeId> left = {});
    Status edit_nodes(EntityId entity, std::span<const NodeId> nodes, bool is_unbound);
    void update_rows(EntityId unit, std::span<const NodeId> left = {});
    bool find_wanted_rows_of(EntityId unit, std::uint32_t source);
    bool is_in_its_rows(EntityId unit);
    void drop_rows(EntityId unit);
    void update_special(EntityId unit);
    void update_no_window(EntityId unit);
    void forget_entity(EntityId entity);
    void drop_pairs(EntityId unit);
    void drop_override(EntityId entity);
    Slot place_unit(EntityId unit, const EntityDef& def);
    std::uint32_t layer_for(const KindInterest* kind, float range_m) const noexcept;
    std::uint32_t layer_of(EntityId unit) const noexcept;
    void write_bounds(Slot slot, float radius_m);
    const KindInterest* kind_of(KindId kind) const noexcept {
        return index_of(kind) < def_.kinds.size() ? &def_.kinds[index_of(kind)] : nullptr;
    }
    // -- places.cpp
    bool is_routed(EntityId entity) const noexcept;
    /// Where the unit stands, by itself or through overrides of places.
    bool stands_with(EntityId entity, EntityId unit) const noexcept;
    void write_place(EntityId entity, Vec3 inner_place);
    void end_override(EntityId entity, Override was);
    void apply_overrides();
    void update_cells();
    // -- attributes.cpp
    void add_owned(EntityId unit, EntityId owned, ObserverId owner, int delta);
    // -- units.cpp
    /// The observer has the member with this number of a list.
    struct View {
        std::uint32_t observer;
        std::uint32_t member;
        friend bool operator==(const View&, const View&) = default;
        friend bool operator<(const View& a, const View& b) noexcept {
            return a.observer != b.observer ? a.observer < b.observer : a.member < b.member;
        }
    };
    /// What is said by hand of a member of a group.
    struct MemberMarks {
        bool force_hidden = false;
        bool shown = false;
        EntityMode mode = EntityMode::nodes;
        bool cuts() const noexcept { return force_hidden || mode == EntityMode::explicit_only; }
        bool shows() const noexcept { return shown || mode == EntityMode::global; }
        bool is_empty() const noexcept {
            return !force_hidden && !shown && mode == EntityMode::nodes;
        }
    };
    struct UnitMarks {
        std::uint32_t cuts = 0;   ///< marks and denied pairs of members
        std::uint32_t shows = 0;  ///< members that are shown to all
    };
    bool has_cuts(EntityId unit) const noexcept {
        if (unit_marks_.size() == 0) return false;
        const UnitMarks* marks = unit_marks_.find(index_of(unit));
        return marks != nullptr && marks->cuts > 0;
    }
    bool is_cut(std::uint32_t observer, EntityId unit, EntityId member) const noexcept {
        return cut_by(observer, unit, member) != EntityId::none;
    }
    EntityId cut_by(std::uint32_t observer, EntityId unit, EntityId member) const noexcept;
    Stage cut_of(std::uint32_t observer, EntityId unit, EntityId one) const noexcept;
    bool has_entry(std::uint32_t observer, EntityId unit, EntityId top,
                   bool owners_only) const noexcept;
    bool has_entry_below(std::uint32_t observer, EntityId unit, EntityId top,
                         bool owners_only) const noexcept;
    bool is_below(EntityId member, EntityId top) const noexcept;
    bool is_visible(std::uint32_t observer, EntityId entity) const noexcept;
    void collect_views(std::span<const EntityId> who, ObserverRange whose, std::vector<View>& out);
    void tell_views(std::span<const EntityId> who, ObserverRange whose,
                    const std::vector<View>& before);
    void count_marks(EntityId unit, EntityId member, int delta);
    void add_marks(EntityId unit, int cuts, int shows);
    void add_member_allow(std::uint32_t observer, EntityId unit, int delta);
    void set_member_pair(std::uint32_t observer, EntityId member, PairMark mark, bool value);
    Status mark_member(EntityId member, bool MemberMarks::*field, bool value);
    /// The same of an entity that is no member: a flag of its lane; `also()` with the edit.
    template <class Edit>
    Status mark(EntityId entity, bool MemberMarks::*of_member, std::uint32_t column, bool value,
                Edit&& also);
    Status mark_mode(EntityId member, EntityMode mode);
    Status edit_member_pair(std::uint32_t observer, EntityId member, PairMark mark, bool value);
    void forget_member_pair(std::uint32_t observer, EntityId member);
    bool is_hidden_by_root(std::uint32_t observer, EntityId unit) const noexcept;
    bool is_plain_member(EntityId entity) const noexcept;
    void join(EntityId member, EntityId root, EntityId parent);
    void leave(EntityId member, const EntityDef& def);
    void take_marks_along(EntityId unit);
    void keep_keys(EntityId unit);
    void forget_member(EntityId member);
    void dissolve_unit(EntityId unit);
    void leave_group(EntityId member, EntityId root);
    std::vector<EntityId>& members_of(EntityId root);
    void drop_members_list(EntityId root);
    // -- split_members.cpp
    /// A unit of a group with split members; those above it come before it.
    struct MixedUnit {
        EntityId unit;
        EntityId parent;      ///< whom it is below; none: nobody
        std::uint32_t above;  ///< the unit of that one, by its number here
        bool hides;           ///< a step subtracts what it says of itself
        bool promotes;
    };
    struct MixedAnswer {
        PairFacts facts;  ///< its own, and what shows those below it
        Stage stage = Stage::no_node;
        bool own = false;     ///< without the rest of its group
        bool shown = false;   ///< with it
        bool hidden = false;  ///< by hand or by what it says of itself, it or one above it
        EntityId promoted_by = EntityId::none;
    };
    bool is_split_kind(EntityId entity) const noexcept;
    EntityId parent_of(EntityId entity) const noexcept;
    EntityId top_of(EntityId entity) const noexcept;
    bool is_under(EntityId entity, EntityId top) const noexcept;
    /// It is told by settle_mixed, and by nobody else.
    bool is_mixed(EntityId unit) const noexcept {
        return (splits_.any() || released_.size() > 0) && is_mixed_unit(unit);
    }
    bool is_mixed_unit(EntityId unit) const noexcept;
    void gather_mixed(EntityId top, std::vector<MixedUnit>& out) const;
    PairFacts facts_with_below(std::uint32_t observer, EntityId unit) const;
    bool is_open_way(std::uint32_t observer, EntityId unit, EntityId member) const noexcept;
    /// What one unit says of itself.
    struct UnitSays {
        PairFacts facts;
        bool nodes = false;
        bool hides = false;  ///< a step subtracts what it says of itself
    };
    template <class Ask>
    void judge_group(std::uint32_t observer, std::span<const MixedUnit> group,
                     std::vector<MixedAnswer>& out, Ask&& ask) const;
    void judge_mixed(std::uint32_t observer, std::span<const MixedUnit> group,
                     std::vector<MixedAnswer>& out) const;
    std::size_t judge_mixed(std::uint32_t observer, EntityId unit, std::vector<MixedUnit>& group,
                            std::vector<MixedAnswer>& answers) const;
    Reason reason_in_mixed(std::uint32_t observer, EntityId entity, const MixedAnswer& unit,
                           bool is_cut_off, bool enter) const;
    Reason reason_in_mixed(std::uint32_t observer, EntityId entity, bool enter) const;
    void take_views(EntityId entity);
    bool keep_stays(std::uint32_t observer, std::span<const MixedUnit> group,
                    std::span<const MixedAnswer> answers);
    void tell_mixed(std::uint32_t observer, std::span<const MixedUnit> group);
    void touch_mixed(std::uint32_t observer, EntityId unit) {
        mixed_touched_.emplace_back(unit, observer);
    }
    void touch_all_mixed();
    void touch_all_mixed(std::uint32_t observer);
    void settle_mixed();
    void release_mixed();
    template <class Edit>
    void edit_mixed(std::initializer_list<EntityId> units, Edit&& edit);
    Status join_split(EntityId member, EntityId root, EntityId parent);
    void leave_split(EntityId member);
    void explain_mixed(std::uint32_t observer, EntityId entity, Explanation& out) const;
    // -- observers.cpp
    void apply_ready(std::uint32_t observer);
    void update_observer_keys(std::uint32_t observer);
    void edit_observer_rows(std::uint32_t observer);
    void find_wanted_rows(std::uint32_t observer);
    void take_wanted_rows(std::uint32_t observer);
    void update_observers_of_main(EntityId entity);
    void take_relevant(std::uint32_t observer);
    void forget_pairs(std::uint32_t observer);
    void forget_holds(std::uint32_t observer);
    Key key_of(EntityId entity, std::size_t domain) const noexcept;
    Status check_area(const Area& area) const noexcept;
    Area inner(const Area& given) const noexcept;
    void put_area(std::uint32_t observer, std::uint32_t key, const Area& area);
    void keep_areas(std::uint32_t observer, std::uint64_t begin, std::uint64_t end);
    void expire_areas();
    void set_watched(EntityId entity);
    template <class Visit>
    void for_each_watcher(EntityId main, Visit&& visit) const {
        const std::uint32_t* first = mains_.find(index_of(main));
        for (std::uint32_t o = first == nullptr ? IdPool::no_index : *first; o != IdPool::no_index;
             o = observers_[o].next_of_main) {
            if (observers_[o].main == main) visit(o);
        }
    }
    void must_scan(std::uint32_t observer) {
        observers_[observer].needs_scan = any_needs_scan_ = true;
        if (woken_.size() <= observer) woken_.resize(observer + 1);
        woken_.set(observer);
    }
    void collect(std::uint32_t observer, Sight& sight) const { collect(observer, sight, tick_); }
    void collect(std::uint32_t observer, Sight& sight, Tick tick) const;
    void collect_owned(std::uint32_t observer, std::vector<EntityId>& out) const;
    ScanInput input_of(std::uint32_t observer, const Sight& sight) const noexcept;
    // -- live_rules.cpp
    void summarise_program();
    std::vector<std::vector<EntityId>> x_outside_windows() const;
    void tell_difference(const std::vector<std::vector<EntityId>>& before);
    void replace_planes(const InterestRules& old_rules, const Program& old);
    std::uint32_t member_column_of(NodeId node);
    // -- custom_nodes.cpp
    void set_custom_nodes();
    void ask_again(EntityId unit);
    void update_custom_nodes(const InterestManager& manager);
    void ask_custom_node(std::size_t c, std::uint32_t asked, const InterestManager& manager);
    void drop_custom_pairs(CustomNode& custom);
    void edit_node_pair(std::uint32_t observer, EntityId unit, bool value);
    void drop_from_custom_nodes(std::uint32_t observer, EntityId unit);
    // -- interest_tick.cpp
    Reason reason_of(std::uint32_t observer, EntityId entity, bool enter) const;
    void shuffle_lanes();
    void update_windows();
    void order_observers();
    void repack_windows();
    void update_chunk(Worker& worker, std::size_t chunk);
    void look_from(std::uint32_t observer, Look& look) const;
    void update_window(const Look& look, Worker& worker);
    void resolve_toggles(Worker& worker);
    // -- changed_strengths.cpp
    bool has_changed(Slot slot) const noexcept;
    void begin_changed();
    template <class Visit>
    void for_each_changed_x(std::uint32_t observer, Visit&& visit) const;
    void measure_changed_late();
    void measure_changed(const Look& look, Worker& worker);
    void measure_together(Worker& worker);
    void settle_special(StrengthList::Part& part, Worker& worker);
    void add_known(StrengthList::Part& part, Worker& worker);
    void name_changed();
    void tell_changes();
    void tell_change(const WindowChange& change, bool x_possible);
    bool is_window_all() const noexcept;
    void prefetch_window(const Observer& observer) const noexcept;
    bool can_push() const noexcept;
    void choose_update();
    void wake();
    void wake_cell(BlockIndex cell);
    void wake_watchers(EntityId main);
    void set_regions(std::uint32_t observer);
    bool is_x_possible() const noexcept;
    void begin_stay(std::uint32_t observer, EntityId unit);
    void publish();
    void count_observers();

    InterestDef def_;
    AttributeNames names_;
    BlockTable table_;
    EntityFacts facts_table_;
    Program program_;
    std::uint64_t rules_revision_ = 1;
    std::uint32_t unplaced_layer_ = 0;
    std::uint32_t bounds_layer_ = ~0U;  ///< of kinds that count by the bounds of their group
    std::uint32_t bounded_count_ = 0;   ///< whose bounds are not 0
    Tick tick_ = 0;
    std::uint32_t shown_count_ = 0;  ///< by hand or by mode
    std::uint32_t open_count_ = 0;
    std::vector<std::uint32_t> see_everything_;  ///< observers, in no order
    std::uint32_t no_window_count_ = 0;
    std::uint32_t following_count_ = 0;  ///< areas that follow somebody
    bool has_shared_rows_ = false;       ///< some row is an answer, not only candidates
    bool has_pulled_rows_ = false;
    bool any_cells_ = false;             ///< some rows belong to cells of a dispatcher
    bool has_cells_ = false;             ///< and that one reads places
    bool has_hiding_flags_ = false;      ///< some step subtracts what an entity says of itself
    bool has_waiting_ = false;           ///< some node lets enters wait
    bool any_needs_scan_ = false;        ///< of some observer
    bool is_anybody_asked_ = false;      ///< recheck of some entity: no enter waits in this tick
    std::vector<NodeId> unbound_nodes_;  ///< nodes that are about more than those bound to them
    std::vector<std::vector<std::uint32_t>> sources_of_node_;  ///< row sources by node
    Bitset open_nodes_;                                        ///< by node: it has no steps
    std::vector<std::uint32_t> member_columns_;                ///< by node, or no_column
    std::vector<std::uint32_t> free_columns_;
    std::vector<RowStore> rows_;
    PairTable pairs_;
    std::vector<CustomNode> custom_;
    Stays stays_;
    std::vector<EntityId> hide_checks_;  ///< units whose facts changed this tick
    std::vector<std::pair<std::uint32_t, EntityId>> denial_checks_;  ///< observers, units: denied
    std::vector<Tick> hidden_at_;                 ///< by entity index: the last tick of a hide
    FlatMap<std::uint32_t, Override> overrides_;  ///< by entity index
    std::vector<EntityId> overriding_;
    FlatMap<std::uint32_t, Vec3> dormant_;  ///< by entity index: where it is by now
    std::vector<EntityId> cell_movers_;
    std::vector<Move> moves_;                     ///< scratch
    std::vector<KindId> kinds_;                   ///< by entity index; shorter: none
    FlatMap<std::uint32_t, std::uint8_t> blind_;  ///< by entity index: its owner does not see it
    FlatMap<std::uint32_t, ObserverId> owners_;   ///< by entity index
    FlatMap<std::uint32_t, EntityId> unit_of_member_;    ///< by index of the member: its root
    FlatMap<std::uint32_t, EntityId> member_ids_;        ///< by index of the member: its full id
    FlatMap<std::uint32_t, EntityId> parent_of_member_;  ///< by index of the member
    FlatMap<std::uint32_t, MemberMarks> member_marks_;   ///< by index of the member; or none
    /// By index of the member, where it has any: those of whoever looks out of it.
    FlatMap<std::uint32_t, std::array<Key, Schema::keys_max>> member_keys_;
    FlatMap<std::uint32_t, UnitMarks> unit_marks_;  ///< by index of the root; or none
    std::vector<View> views_before_;                ///< scratch
    std::vector<View> views_after_;
    std::vector<EntityId> moving_;
    FlatMap<std::uint32_t, std::uint32_t> members_list_;  ///< by index of the root
    std::vector<std::vector<EntityId>> members_;          ///< parents first, without the root
    std::vector<std::uint32_t> free_members_;
    SplitLinks splits_;
    GroupViews views_;                                               ///< of mixed groups
    std::vector<std::pair<EntityId, std::uint32_t>> mixed_touched_;  ///< units, and for whom
    std::vector<EntityId> mixed_units_;                              ///< touched for everybody
    std::vector<EntityId> mixed_gone_;                               ///< despawned this tick
    FlatMap<std::uint32_t, EntityId> released_;  ///< by index: units mixed until the tick ends
    std::vector<EntityId> released_units_;
    std::vector<MixedUnit> mixed_group_;  ///< scratch
    std::vector<MixedAnswer> mixed_answers_;
    /// Entity index -> the first of the observers it stands for; Observer::next_of_main is the
    /// next.
    FlatMap<std::uint32_t, std::uint32_t> mains_;
    Bitset spawned_;  ///< this tick, by index
    std::vector<std::uint32_t> spawned_list_;

    IdPool observer_pool_;
    LineVector<Observer> observers_;
    MoreKeys observer_keys_;            ///< beside the main entity's, by observer index
    Bitset timed_;                      ///< observers with areas that end
    std::vector<std::uint32_t> order_;  ///< observers, neighbours in the world one after another
    Bitset in_order_;
    std::uint32_t appended_ = 0;         ///< to order_ since it was sorted
    std::vector<std::uint32_t> active_;  ///< those of them that have something to look at this tick
    std::vector<std::uint64_t> order_keys_;
    std::uint32_t ticks_to_order_ = 0;

    LineVector<Fact> facts_;
    std::size_t facts_settled_ = 0;         ///< so many, from the first on, are sorted and compared
    Buckets facts_of_observer_;             ///< of the settled ones
    LineVector<Fact> facts_unsorted_;       ///< scratch
    std::vector<std::uint32_t> last_fact_;  ///< by entity index: of the observer looked at last
    std::uint32_t last_facts_of_ = 0;       ///< that observer
    std::vector<Touched> touched_;
    std::size_t touched_before_ = 0;
    std::vector<EntityId> edit_before_;  ///< of edits of observers, of which none runs in another
    std::vector<EntityId> edit_after_;
    FlatMap<std::uint32_t, std::uint8_t> edit_seen_;
    std::vector<std::uint64_t> touch_stamp_;
    std::uint64_t stamp_ = 0;
    std::vector<std::uint32_t> wanted_rows_;
    std::vector<SourceRow> wanted_sources_;
    std::vector<CellId> cells_;
    Sight sight_;

    /// Observers that are worked on together; results are joined by these.
    static constexpr std::size_t chunk_observers = 64;
    RegionGrid regions_;
    std::uint64_t regions_rules_ = 0;  ///< the revision of the rules that they were made for
    bool is_pushing_ = false;          ///< this tick's moves were kept as nudges
    bool wakes_all_ = false;
    Bitset woken_;  ///< by observer: has something to look at
    std::size_t moved_observers_ = 0;

    /// What one chunk of observers brought.
    struct Part {
        std::uint32_t chunk;
        std::span<const WindowChange> changes;
    };
    std::vector<Part> parts_;
    Executor executor_;
    std::vector<Worker> workers_;
    std::vector<Strengths> strengths_;    ///< by observer, once they are asked for
    Tick named_tick_ = 0;                 ///< strengths_ is of
    bool measures_together_ = false;      ///< in this tick, whom one place sees
    bool measures_late_ = false;          ///< in this tick, after windows
    std::vector<EntityId> changed_;       ///< units, while somebody sees everything
    std::vector<EntityId> changed_open_;  ///< those that are open to all
    std::vector<std::vector<std::vector<EntityId>>> changed_rows_;  ///< by source and row
    std::vector<SourceRow> changed_rows_touched_;                   ///< that are not empty
    struct Pending {
        ObserverId observer;
        EntityId entity;
        Reason reason;
        bool enter;
        bool is_mixed = false;  ///< its minimum stay is kept already
    };
    LineVector<Pending> pending_;
    LineVector<RelevanceEvent> events_;
    Buckets events_of_observer_;
    std::vector<std::uint32_t> observer_counts_;  ///< by entity index
    std::vector<ObserverEdge> edges_;
    std::vector<EntityId> rebinding_;               ///< since the last tick
    std::vector<EntityId> rebound_;                 ///< before it
    FlatMap<std::uint64_t, std::uint32_t> gained_;  ///< observers in this tick, by whole id; wraps
};

}  // namespace purview

#include "interest/edits.hpp"
