// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The interest engine: its stores, and the algorithms that need several of them. It is being
// dissolved; what concerns one store belongs into that store.
//
// relevant(o, e) = ready(o) and (spatial or explicit). Spatial relevance is the bit in the window
// of o. Explicit relevance is all else: not denied and (owned or (not force hidden and (shown to
// all, allowed, or in a row))). An edit changes explicit relevance against the windows of the last
// tick and becomes a change where the window bit is not set. Windows are updated afterwards, and
// become events where explicit relevance, which is final then, does not hold. Two contrary changes
// of a pair in one tick cancel. `move` only queues.
//
//   entities/   edits of entities: attributes, positions, bindings of nodes
//   groups/     units and members; partly split groups
//   observers/  edits of observers, and where they view from
//   relations/  explicit relevance, custom nodes; rows and pairs
//   rules/      other rules, warnings
//   queries/    answers, explanations, scores of what changed
//   interest_tick.cpp  the tick; edits.hpp  templates that the sources above share
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/bitset.hpp"
#include "core/entity_map.hpp"
#include "core/finite.hpp"
#include "core/flat_map.hpp"
#include "core/hash.hpp"
#include "core/id_pool.hpp"
#include "interest/entities/entity_ids.hpp"
#include "interest/entities/entity_kinds.hpp"
#include "interest/entities/ownership.hpp"
#include "interest/entities/position_sources.hpp"
#include "interest/entities/spawned_entities.hpp"
#include "interest/events/event_list.hpp"
#include "interest/events/explicit_change_log.hpp"
#include "interest/events/observer_counts.hpp"
#include "interest/events/touched_observers.hpp"
#include "interest/events/user_data.hpp"
#include "interest/groups/group_store.hpp"
#include "interest/groups/split_members.hpp"
#include "interest/groups/split_queue.hpp"
#include "interest/observers/observer_store.hpp"
#include "interest/queries/changed_units.hpp"
#include "interest/queries/covering.hpp"
#include "interest/queries/score_list.hpp"
#include "interest/relations/minimum_relevance.hpp"
#include "interest/relations/pair_table.hpp"
#include "interest/relations/row_store.hpp"
#include "interest/rules/member_columns.hpp"
#include "interest/rules/program.hpp"
#include "interest/rules/program_summary.hpp"
#include "interest/windows/new_units.hpp"
#include "interest/windows/observer_order.hpp"
#include "interest/windows/push_update.hpp"
#include "interest/windows/scan.hpp"
#include "interest/windows/window_update.hpp"
#include "purview/interest.hpp"
#include "purview/schema.hpp"
#include "spatial/move.hpp"

namespace purview {

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

/// Where an observer looks from and into, for one question.
struct Sight {
    std::vector<Vec3> positions;  ///< counted axes first: owned, main, areas without a shape
    std::vector<Vec3> outer;      ///< main and areas, where y is up: as the caller knows them
    std::vector<Area> areas;      ///< with a shape
    std::vector<EntityId> owned;
    std::size_t owned_positions = 0;
    std::size_t main_positions = 0;
};

struct Case;
class Judge;

struct ScoreRoom;  // answers.cpp

/// Adds what is sound and yet probably not meant about the bindings of kinds.
void warn_of_kinds(const Rules& def, std::vector<std::string>& out);

class InterestData {
  public:
    InterestData(const Rules& rules, const LogSink& log,
                 WindowUpdate window_update = WindowUpdate::automatic);
    InterestData& operator=(const InterestData&) = delete;

    ~InterestData() = default;

    // -- positions.cpp
    Status move(EntityId entity, Vec3 position);
    void move(std::span<const Move> moves);
    void move(const PositionColumns& columns);
    Status set_position_source(EntityId entity, EntityId other);
    Status update(EntityId entity);
    // -- attributes.cpp
    Status set_flag(EntityId entity, FlagId flag, bool value);
    Status set_key(EntityId entity, KeyId domain, Key key);
    Status edit_more_keys(EntityId entity, KeyId domain, Key key, bool adds);
    Status set_value(EntityId entity, ValueId value, float number);
    Status set_range(EntityId entity, float range);
    Status set_group_radius(EntityId entity, float radius);
    Status set_mode(EntityId entity, EntityMode mode);
    Status set_velocity(EntityId entity, Vec3 velocity);
    Status set_owner(EntityId entity, ObserverId owner);
    Status force_hide(EntityId entity, bool hidden);
    Status show_to_all(EntityId entity, bool shown);
    // -- entities.cpp
    /// `def.id` and `def.owner` are not read.
    Status spawn(EntityId entity, const EntityDef& def);
    Status despawn(EntityId entity);
    Status add_node(EntityId entity, NodeId node);
    Status remove_node(EntityId entity, NodeId node);
    Status set_nodes(EntityId entity, std::span<const NodeId> nodes);
    Status add_default_node(EntityId entity);
    Status recheck(EntityId entity);
    // -- units.cpp
    EntityId top_of(EntityId entity) const noexcept;
    Status join_unit(EntityId member, EntityId root, EntityId parent);
    Status leave_unit(EntityId member, const EntityDef& def, bool is_orphan);
    void keep_hides(EntityId member);
    // -- observers.cpp
    Result<ObserverId> add_observer();
    Status remove_observer(ObserverId observer);
    Status set_ready(ObserverId observer, bool ready);
    Status set_viewpoint(ObserverId observer, EntityId entity);
    EntityId viewpoint(ObserverId observer) const noexcept {
        return is_observer(observer) ? observers_[index_of(observer)].main : EntityId::none;
    }
    Status set_area(ObserverId observer, std::uint32_t key, const Area& area);
    Status set_areas(ObserverId observer, std::span<const Area> areas);
    Status remove_area(ObserverId observer, std::uint32_t key);
    Status set_observer_key(ObserverId observer, KeyId domain, Key key);
    Status edit_more_observer_keys(ObserverId observer, KeyId domain, Key key, bool adds);
    bool has_key(ObserverId observer, KeyId domain, Key key) const noexcept;
    std::uint32_t keys_revision(ObserverId observer) const noexcept;
    Status set_observer_range(ObserverId observer, float range);
    Status set_lookahead(ObserverId observer, float seconds);
    Status set_unculled(ObserverId observer, bool value);
    Status edit_pair(ObserverId observer, EntityId entity, PairMark mark, bool value);
    Status edit_pairs(std::span<const PairEdit> edits, PairMark mark);
    Status rescan(ObserverId observer);
    // -- live_rules.cpp
    Rules with_fixed(const Rules& wanted) const;
    std::string set_rules(const Rules& rules);
    const std::vector<std::string>& warnings() const noexcept { return program_.warnings; }
    void log_warnings() const;
    void warn_of_uncovered(EntityId entity);
    RuleTrial try_rules(const Rules& rules, const Visibility& visibility,
                        std::size_t pairs_max) const;
    RuleTrial try_some(const Rules& rules, const Visibility& visibility,
                       std::size_t observers_max) const;
    const Rules& rules() const noexcept { return rules_; }
    void set_level(InterestLevel level);
    // -- custom_nodes.cpp
    Status rescan_node(NodeId node);
    Status set_node_pair(NodeId node, ObserverId observer, EntityId entity, bool value);
    // -- interest_tick.cpp
    void set_executor(const Executor& executor);
    void set_count_tested(bool value) noexcept;
    void tick(const Visibility& visibility);
    std::span<const InterestEvent> events() const noexcept { return events_.all(); }
    std::span<const InterestEvent> events_of(ObserverId observer) const noexcept;
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
    std::span<const EntityId> newly_observed() const noexcept {
        return observer_counts_.newly_observed();
    }
    std::span<const EntityId> no_longer_observed() const noexcept {
        return observer_counts_.no_longer_observed();
    }
    std::span<const EntityId> rebound() const noexcept { return rebound_; }
    bool custom_says(std::size_t custom, std::uint32_t observer, EntityId unit) const;
    void score(ObserverId observer, std::span<const EntityId> entities, std::span<float> score,
               std::span<Replication> settings = {}) const;
    void find_judged(std::uint32_t observer, std::span<const EntityId> entities,
                     std::span<float> score, bool with_settings, ScoreRoom& room) const;
    void measure_judged(std::uint32_t observer, std::span<float> score,
                        std::span<Replication> settings, ScoreRoom& room) const;
    Scores changed_scores(ObserverId observer);
    /// `by`, if asked for: the names of the nodes that have each setting.
    Replication settings(ObserverId observer, EntityId entity,
                         ExplainedSettings* by = nullptr) const;
    void entities_in(Vec3 min, Vec3 max, std::vector<EntityId>& out, KindId kind) const;
    void entities_of(NodeId node, std::vector<EntityId>& out) const;
    void observers_covering(std::span<const Vec3> positions, std::vector<Covering>& out) const;
    Vec3 position_of(EntityId entity) const noexcept;
    std::span<const NodeId> nodes_of(EntityId entity) const noexcept;
    bool has_flag(EntityId entity, FlagId flag) const noexcept;
    Key key_of(EntityId entity, KeyId domain) const noexcept;
    bool has_key(EntityId entity, KeyId domain, Key key) const noexcept;
    float value_of(EntityId entity, ValueId value) const noexcept;
    ObserverId owner_of(EntityId entity) const noexcept;
    KindId kind_of(EntityId entity) const noexcept;
    bool is_known(EntityId entity) const noexcept;
    bool is_observer(ObserverId observer) const noexcept { return observers_.is_live(observer); }
    // -- explain.cpp
    Explanation explain(ObserverId observer, EntityId entity) const;

    InterestCounters counters;
    std::uint64_t pairs_asked = 0;  ///< of an observer and an entity, by edits; ever
    /// What the caller keeps with entities and observers, and gets from here.
    struct Caller {
        EntityIds ids;
        InterestUserData user_data;
    };
    Caller caller;
    /// Debug: so many cells have their lanes shuffled every tick. No result may change.
    struct LaneShuffle {
        std::uint32_t cells = 0;
        SplitMix random{1};
    };
    LaneShuffle shuffle;

  private:
    /// For what-if questions; `detach` gives it windows of its own.
    InterestData(const InterestData& other) = default;
    void detach();

    /// What a custom node said last: by observer index, or by entity index if it is entity-centric.
    struct CustomNodeState {
        std::shared_ptr<CustomNode> node;
        NodeId id{};  ///< and which entities it is about
        Members members = Members::all;
        std::vector<std::vector<std::uint64_t>>
            said;            ///< ascending; entity ids, or observer indices
        Bitset asked_again;  ///< of the same numbering
        bool asks_all = true;
    };
    /// What a custom node is told with the next tick.
    struct Notice {
        enum class Type : std::uint8_t { added, removed, updated };
        std::shared_ptr<CustomNode> node;
        EntityId entity;
        Type type;
    };
    /// A bit of a window that differs from last tick's.
    struct WindowChange {
        EntityId unit;
        ObserverId observer;
        bool enter;
        bool is_there;             ///< the unit has not been despawned
        std::uint16_t wait_ticks;  ///< see Toggle
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
        ScoreList scores;  ///< of whoever changed
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
        float reach = 0;
        bool is_bounded = true;
    };
    SpatialSteps spatial_steps() const;
    // -- explain.cpp
    friend class Judge;
    Case case_of(std::uint32_t observer, EntityId unit) const;
    Explanation explain_hidden(std::uint32_t observer, EntityId entity, Explanation out) const;
    std::vector<WhatIf> changes_of(std::uint32_t observer, EntityId unit, const Case& now,
                                   std::span<const Vec3> positions) const;
    // -- explicit_relevance.cpp
    ObserverId id_of(std::uint32_t observer) const noexcept { return observers_[observer].id; }
    EntityId unit_of(EntityId entity) const noexcept { return groups_.unit_of(entity); }
    bool is_member(EntityId entity) const noexcept { return groups_.is_member(entity); }
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
    /// Cancels a contrary explicit change of the pair in this tick; true: there was one.
    bool cancel_change(std::uint32_t observer, EntityId entity, bool enter) {
        return changes_.cancel(observer, entity, enter, observers_.size());
    }
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
    /// Some pair may stay relevant for a while: minimum relevance time, or lazy leaves.
    bool keeps_stays() const noexcept {
        return rules_.minimum_relevance_ticks > 0 || summary_.has_lazy;
    }
    bool hold(std::uint32_t observer, EntityId unit);
    bool defer_leave(std::uint32_t observer, EntityId unit, Tick wait_ticks);
    static bool hides(const WholeNode& node, const Slots& slots, Slot slot);
    static bool hides(const InnerNodes& inner, const Slots& slots, Slot slot);
    bool is_hidden_by_rules(EntityId unit) const;
    void note_hide(EntityId unit);
    void check_hides();
    bool has_stay(std::uint32_t o, EntityId unit, Tick at) const;
    void end_hold(std::uint32_t observer, EntityId unit);
    void expire_stays();
    // -- entities.cpp
    Status check_def(const EntityDef& def) const noexcept;
    Vec3 inner(Vec3 position) const noexcept { return exchanged(facts_table_.axes, position); }
    void set_kind(EntityId entity, KindId kind);
    void bind(EntityId entity, const EntityDef& def);
    /// visit(node) for nodes that may be about it: those that are not for bound ones only, its own,
    /// and `others`.
    template <class Visit>
    void for_each_node_of(EntityId unit, std::span<const NodeId> others, Visit&& visit) const {
        for (const NodeId node : summary_.unbound_nodes) visit(node);
        const auto bound = [&](NodeId node) {
            if (index_of(node) < rules_.nodes.size() &&
                rules_.nodes[index_of(node)].members == Members::bound) {
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
            for (const std::uint32_t source : summary_.sources_of_node[index_of(node)])
                visit(source);
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
    Slot place_unit(EntityId unit, const EntityDef& def);
    std::uint32_t layer_for(const KindRules* kind, float range) const noexcept;
    std::uint32_t layer_of(EntityId unit) const noexcept;
    void write_bounds(Slot slot, float radius);
    const KindRules* kind_of(KindId kind) const noexcept {
        return index_of(kind) < rules_.kinds.size() ? &rules_.kinds[index_of(kind)] : nullptr;
    }
    /// What is said of the entity's kind; null: nothing.
    const KindRules* rules_of_kind(EntityId entity) const noexcept {
        return kind_of(kinds_.of(index_of(entity)));
    }
    // -- positions.cpp
    bool is_routed(EntityId entity) const noexcept;
    /// Where the unit stands, by itself or through overrides of places.
    std::size_t links_behind(EntityId unit, std::size_t most) const;
    bool stands_with(EntityId entity, EntityId unit) const noexcept;
    void write_position(EntityId entity, Vec3 inner_position);
    void end_position_source(EntityId entity, PositionSource was);
    void apply_position_sources();
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
    bool has_cuts(EntityId unit) const noexcept { return groups_.has_cuts(unit); }
    bool is_cut(std::uint32_t observer, EntityId unit, EntityId member) const noexcept {
        return cut_by(observer, unit, member) != EntityId::none;
    }
    EntityId cut_by(std::uint32_t observer, EntityId unit, EntityId member) const noexcept;
    Stage cut_of(std::uint32_t observer, EntityId unit, EntityId one) const noexcept;
    bool has_entry(std::uint32_t observer, EntityId unit, EntityId top,
                   bool owners_only) const noexcept;
    bool has_entry_below(std::uint32_t observer, EntityId unit, EntityId top,
                         bool owners_only) const noexcept;
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
    void leave_group(EntityId member);
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
    bool is_under(EntityId entity, EntityId top) const noexcept;
    /// It is told by settle_mixed, and by nobody else.
    bool is_mixed(EntityId unit) const noexcept {
        return (splits_.any() || split_queue_.any_released()) && is_mixed_unit(unit);
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
    void touch_mixed(std::uint32_t observer, EntityId unit) { split_queue_.touch(unit, observer); }
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
    KeyedArea keyed(std::uint32_t key, const Area& inner_area) const noexcept;
    void set_watched(EntityId entity);
    void collect(std::uint32_t observer, Sight& sight) const { collect(observer, sight, tick_); }
    void collect(std::uint32_t observer, Sight& sight, Tick tick) const;
    void collect_owned(std::uint32_t observer, std::vector<EntityId>& out) const;
    ScanInput input_of(std::uint32_t observer, const Sight& sight) const noexcept;
    // -- live_rules.cpp
    void compile_rules(OldKernels old);
    std::vector<std::vector<EntityId>> x_outside_windows() const;
    void tell_difference(const std::vector<std::vector<EntityId>>& before);
    void replace_planes(const Rules& old_rules, const Program& old);
    // -- custom_nodes.cpp
    void set_custom_nodes();
    bool is_about(const CustomNodeState& custom, EntityId unit) const noexcept {
        return facts_table_.bindings.is_member(custom.id, custom.members, unit);
    }
    void notify_nodes(EntityId unit, Notice::Type type);
    void deliver_notices(const Visibility& visibility);
    void ask_again(EntityId unit);
    void update_custom_nodes(const Visibility& visibility);
    void ask_custom_node(std::size_t c, std::uint32_t asked, const Visibility& visibility);
    void drop_custom_pairs(CustomNodeState& custom);
    void edit_node_pair(std::uint32_t observer, EntityId unit, bool value);
    void drop_from_custom_nodes(std::uint32_t observer, EntityId unit);
    // -- interest_tick.cpp
    /// Asserts the invariants of the stores, in builds with assertions.
    void validate() const;
    Reason reason_of(std::uint32_t observer, EntityId entity, bool enter) const;
    void shuffle_lanes();
    void update_windows();
    void order_observers();
    void repack_windows();
    void update_chunk(Worker& worker, std::size_t chunk);
    void look_from(std::uint32_t observer, Look& look) const;
    bool may_meet_new(const Look& look) const noexcept;
    void update_window(const Look& look, Worker& worker);
    void resolve_toggles(Worker& worker);
    // -- changed_scores.cpp
    bool has_changed(Slot slot) const noexcept;
    void begin_changed();
    template <class Visit>
    void for_each_changed_x(std::uint32_t observer, Visit&& visit) const;
    void measure_changed_late();
    void measure_scores(const Look& look, Worker& worker);
    void measure_together(Worker& worker);
    void settle_special(ScoreList::Part& part, Worker& worker);
    void add_known(ScoreList::Part& part, Worker& worker);
    void name_changed();
    void tell_changes();
    void tell_change(const WindowChange& change, bool x_possible);
    bool is_window_all() const noexcept;
    void prefetch_window(const Observer& observer) const noexcept;
    bool can_push() const noexcept;
    void choose_update();
    void set_region(std::uint32_t observer);
    bool is_x_possible() const noexcept;
    void begin_stay(std::uint32_t observer, EntityId unit);
    void publish();

    Rules rules_;
    WindowUpdate window_update_;
    AttributeNames names_;
    BlockTable table_;
    EntityFacts facts_table_;
    Program program_;
    std::uint64_t rules_revision_ = 1;
    std::uint32_t abstract_layer_ = 0;
    std::uint32_t bounds_layer_ = ~0U;  ///< of kinds that count by the bounds of their group
    std::uint32_t bounded_count_ = 0;   ///< whose bounds are not 0
    Tick tick_ = 0;
    std::uint32_t shown_count_ = 0;  ///< by hand or by mode
    std::uint32_t open_count_ = 0;
    std::uint32_t no_window_count_ = 0;
    bool is_anybody_asked_ = false;  ///< recheck of some entity: no enter waits in this tick
    ProgramSummary summary_;         ///< of program_
    MemberColumns member_columns_;
    std::vector<RowStore> rows_;
    PairTable pairs_;
    std::vector<CustomNodeState> custom_;
    std::vector<Notice> notices_;
    bool notifies_nodes_ = true;  ///< false: a copy for a trial, whose nodes are those of the world
    MinimumRelevance minimum_relevance_;
    PositionSources position_sources_;
    EntityMap<Vec3> dormant_;  ///< the current position
    std::vector<EntityId> cell_movers_;
    std::vector<Move> moves_;  ///< scratch
    EntityKinds kinds_;
    Ownership ownership_;
    struct Warnings {
        LogSink log;
        bool of_uncovered = false;  ///< it was given since the rules changed last
    };
    Warnings warnings_;
    GroupStore groups_;
    std::vector<View> views_before_;  ///< scratch
    std::vector<View> views_after_;
    std::vector<EntityId> moving_;
    SplitLinks splits_;
    GroupViews views_;  ///< of mixed groups
    SplitQueue split_queue_;
    std::vector<MixedUnit> mixed_group_;  ///< scratch
    std::vector<MixedAnswer> mixed_answers_;
    NewUnits new_units_;
    SpawnedEntities spawned_;

    ObserverStore observers_;
    ObserverOrder order_;
    std::vector<std::uint32_t> active_;  ///< those of order_ whose window may change in this tick

    ExplicitChangeLog changes_;
    TouchedObservers touched_;
    std::vector<EntityId> edit_before_;  ///< of edits of observers, of which none runs in another
    std::vector<EntityId> edit_after_;
    FlatMap<std::uint32_t, std::uint8_t> edit_seen_;  ///< by index, of units that are there
    std::vector<std::uint32_t> wanted_rows_;
    std::vector<SourceRow> wanted_sources_;
    std::vector<CellId> cells_;
    Sight sight_;

    /// Observers that are worked on together; results are joined by these.
    static constexpr std::size_t chunk_observers = 64;
    PushUpdate push_;

    /// What one chunk of observers brought.
    struct Part {
        std::uint32_t chunk;
        std::span<const WindowChange> changes;
    };
    std::vector<Part> parts_;
    Executor executor_;
    std::vector<Worker> workers_;
    std::vector<Scores> scores_;      ///< by observer, once they are asked for
    Tick named_tick_ = 0;             ///< that scores_ is of
    bool measures_together_ = false;  ///< in this tick, whom one place sees
    bool measures_late_ = false;      ///< in this tick, after windows
    ChangedUnits changed_;
    EventList events_;
    ObserverCounts observer_counts_;
    std::vector<EntityId> rebinding_;  ///< since the last tick
    std::vector<EntityId> rebound_;    ///< before it
};

/// O(relevant entities).
std::size_t relevant_count(const InterestData& interest, ObserverId observer) noexcept;

}  // namespace purview
