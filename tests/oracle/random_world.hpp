// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A random world in two copies: the interest engine, and plain records for the oracle. Every
// operation is applied to both. After every tick all results of the engine are compared. Each
// operation has its own random numbers: leaving one out changes no other (oracle_run.hpp: reduce).
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "interest/queries/covering.hpp"
#include "interest/windows/window_update.hpp"
#include "oracle/truth.hpp"
#include "oracle_compare.hpp"
#include "oracle_features.hpp"
#include "oracle_rules.hpp"
#include "purview/interest.hpp"

namespace purview::test {

/// Faults injected into the results of the engine before the checks. Each must be detected.
enum class InjectedFault : std::uint8_t {
    none,
    other_rules,    ///< the oracle has a larger radius
    lose_entity,    ///< a set lacks one entity
    add_entity,     ///< a set has one entity too many
    double_entity,  ///< a set lists one entity twice
    flip_pair,      ///< is_relevant returns the opposite
    lose_event,
    double_event,
    turn_event,  ///< an enter becomes a leave, or the reverse
    lie_reason,  ///< an event has another reason
    count,       ///< a count has one observer too many
    lose_edge,
    score,
    changed,  ///< one changed score is missing
    inverse,
    explain,     ///< the explanation has the opposite result
    suggestion,  ///< the suggested change is not made
    range,       ///< an entity within the radius is missing
    flicker,     ///< an entity within the margin is missing
    box,
    position,
    covering,
    settings,
    trial,  ///< the trial omits a pair
    end     ///< the number of faults
};

struct RandomWorldDef {
    std::uint64_t seed = 1;
    RuleSpace space;
    Rules rules;
    std::vector<KindRules> kinds;
    std::uint32_t entities = 120;
    std::uint32_t observers = 6;
    std::uint32_t edits_max = 12;  ///< per tick
    WindowUpdate window_update = WindowUpdate::automatic;
    std::uint32_t shuffle_cells = 0;
    float step_m = 3;          ///< step of a moving entity
    float move_chance = 0.4F;  ///< per entity and tick
    bool needs_entity = false;
    bool single_area = false;
    bool measures_changed = false;
    bool threads = false;  ///< executors may use threads
    InjectedFault injected_fault = InjectedFault::none;
    std::set<std::string> left_out;                           ///< operations by name
    std::set<std::pair<Tick, std::uint32_t>> left_out_edits;  ///< by tick and number within it
    std::set<std::uint32_t> left_out_observers;               ///< initial observers, by number
    std::set<std::uint32_t> left_out_movers;                  ///< indices that do not move
    std::set<std::uint32_t> left_out_entities;                ///< indices that stay unused
    bool keeps_log = false;                                   ///< logs all operations
};

/// Returns the definition of the world with this seed.
RandomWorldDef random_def(std::uint64_t seed, Features features);

class RandomWorld {
  public:
    explicit RandomWorld(const RandomWorldDef& def);

    /// Runs one tick of random edits and compares the results. Returns an empty text, or the first
    /// difference with the data to analyze it.
    std::string step();
    /// Explains random pairs and applies one suggested change of each, in a tick of its own.
    std::string check_explain(std::uint32_t pairs);

    std::uint64_t explained = 0;
    std::uint64_t explained_without_change = 0;
    std::uint64_t turned_by_pair = 0;
    std::uint64_t turned_split_group = 0;  ///< in partly split groups
    std::uint64_t turned_split_group_by_pair = 0;
    std::map<WhatIfType, std::uint64_t> turned_by;
    std::uint64_t pairs_compared = 0;  ///< in ticks with at least one operation
    std::uint64_t pairs_relevant = 0;  ///< relevant ones of `pairs_compared`
    std::uint64_t events_seen = 0;
    std::map<std::string, std::uint64_t> operations;
    std::map<std::string, std::uint64_t> stages;  ///< the deciding stages of `pairs_compared`
    std::string trace;                            ///< operations of the last tick without moves
    std::string log;                              ///< operations of all ticks with moves
    std::set<std::string> complaints;             ///< names of the checks that failed
    std::set<std::string> shapes;                 ///< shapes of all rules that are deep enough
    std::uint32_t edits_of_tick = 0;

  private:
    struct Operation;
    static const std::vector<Operation>& all_operations();
    struct ObserverResults;
    struct QueryResults;
    bool has(Feature feature) const { return def_.space.features.has(feature); }

    // -- state
    check::TruthEntity* random_entity();
    check::TruthEntity* random_unit();
    check::TruthObserver* random_observer();
    bool has_members(EntityId root) const;
    std::vector<EntityId> members_of(EntityId root) const;
    bool is_split(const check::TruthEntity& entity) const;
    std::vector<EntityId> splits_below(EntityId entity) const;
    EntityId top_of(EntityId entity) const;
    bool is_below(EntityId entity, EntityId top) const;
    const check::TruthEntity* alive(EntityId entity) const;
    float length(float low, float high);
    float range_max() const;
    Vec3 random_position();
    Vec3 random_step();
    Area random_area();
    Key random_key(bool or_none);
    KeyId random_domain();
    static NodeId node_at(std::size_t number);
    NodeId random_node();
    std::size_t node_count() const;

    // -- operations: each does nothing where it is not applicable
    void spawn();
    void despawn();
    void join_unit();
    void leave_unit();
    void set_flag();
    void set_key();
    void set_owner();
    void add_key();
    void remove_key();
    void set_value();
    void set_range();
    void set_group_radius();
    bool counts_by_bounds(const check::TruthEntity& unit) const;
    void set_mode();
    void set_position_source();
    void set_velocity();
    void add_node();
    void remove_node();
    void set_nodes();
    void add_default_node();
    void force_hide();
    void show_to_all();
    void recheck();
    void update();
    void teleport();
    void add_observer();
    void remove_observer();
    void set_ready();
    void set_viewpoint();
    void set_area();
    void remove_area();
    void set_areas();
    void add_observer_key();
    void remove_observer_key();
    void set_observer_range();
    void set_lookahead();
    void set_observer_key();
    void set_unculled();
    void rescan();
    void rescan_node();
    void allow_or_deny();
    void set_rules();
    void set_level();
    void set_node_pair();
    void set_executor();
    void bad_call();

    void despawn(EntityId id);
    void join_split(check::TruthEntity& member, EntityId parent);
    void detach(check::TruthEntity& entity);
    void rehang_children(const check::TruthEntity& member);
    EntityDef def_of(check::TruthEntity& entity, std::vector<NodeId>& own, bool leaves);
    bool is_circular() const;
    unsigned chain_limit() const;
    unsigned chain_from(const check::TruthEntity& unit) const;
    unsigned chain_to(EntityId unit) const;
    void query_again(EntityId entity);
    void query_again(ObserverId observer);
    void put_area(check::TruthObserver& observer, std::uint32_t key, const Area& area);
    bool is_table(std::size_t node) const;
    void take_rules(const Rules& rules);

    // -- a tick
    void reseed(std::uint64_t salt);
    void move_some();
    void edit(std::uint32_t number);
    std::vector<EntityId> kept_by_time(const std::vector<check::Verdict>& verdicts) const;
    bool begin_trial();
    void tick();
    /// Runs the tick of both copies.
    void decide();
    std::string compare();
    void apply(const WhatIf& change, check::TruthObserver& observer, check::TruthEntity& entity);

    // -- actual and expected results
    void expect(Status got, Status should, const char* what);
    void expect(Status got, const char* what) { expect(got, Status::ok, what); }
    void count(const char* name, EntityId entity = EntityId::none,
               ObserverId observer = ObserverId::none);
    /// Adds all operations that this world may use to the table, with a count of 0.
    void begin_counting();
    /// Records a move. A dormant entity keeps its previous position.
    void note_entity(check::TruthEntity& entity);
    void note(const std::string& text);
    void note_nodes(const check::TruthEntity& entity);
    static std::string text_of(Vec3 position);
    static std::string text_of(const Area& area);
    void query(QueryResults& results);
    void injected_fault(QueryResults& results);
    bool faulty_observer(ObserverResults& results);
    bool has_moved(EntityId entity) const;
    bool is_hidden_by_root(const check::TruthObserver& observer, EntityId root) const;
    bool is_hidden(const check::TruthObserver& observer, const check::TruthEntity& unit) const;
    void check_events(const QueryResults& results, std::vector<Difference>& wrong);
    void check_sets(const QueryResults& results, std::vector<Difference>& wrong);
    void check_changed(const QueryResults& results, std::vector<Difference>& wrong);
    void check_counts(const QueryResults& results, std::vector<Difference>& wrong);
    void check_inverse(const QueryResults& results, std::vector<Difference>& wrong);
    void check_promises(const QueryResults& results, std::vector<Difference>& wrong);
    void check_positions(const QueryResults& results, std::vector<Difference>& wrong);
    void check_covering(std::vector<Difference>& wrong);
    void check_settings(std::vector<Difference>& wrong);
    void check_trial(const QueryResults& results, std::vector<Difference>& wrong);
    void check_one_explanation(std::vector<Difference>& wrong);
    std::string report(const Difference& difference);
    const check::Verdict& verdict(ObserverId observer, EntityId entity);

    RandomWorldDef def_;
    SplitMix random_;
    InterestManager manager_;
    check::TruthOracle oracle_;
    Rules rules_;  ///< the current rules
    InterestLevel level_ = InterestLevel::full;
    std::shared_ptr<PairChoice> choice_;
    Promise promise_;
    EventReplay replay_;
    std::vector<check::TruthEntity> entities_;
    std::vector<std::uint32_t> generations_;
    std::vector<std::uint32_t> quarantined_;  ///< indices freed this tick
    std::vector<check::TruthObserver> observers_;
    std::vector<ObserverId> removed_;
    std::set<EntityId> born_;             ///< spawned in this tick
    std::set<EntityId> touched_;          ///< by any operation in this tick
    std::set<EntityId> let_go_;           ///< in this tick their position source despawned
    std::map<EntityId, Vec3> stood_;      ///< positions in the previous tick, by cull group
    std::vector<std::uint32_t> counted_;  ///< observers in the previous tick, by entity index
    std::vector<EntityId> counted_clients_;
    std::map<std::uint32_t, std::set<EntityId>> relevant_before_;  ///< for trials
    std::map<std::uint32_t, std::set<EntityId>> stays_at_;
    RuleTrial trial_;
    bool in_trial_ = false;
    bool rules_changed_ = false;
    bool injected_count_ = false;
    bool did_something_ = false;
    std::string trouble_;  ///< an unexpected status
    Tick tick_ = 0;
};

}  // namespace purview::test
