// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A random world in two copies: the interest engine, and plain records for the oracle. Every
// operation is made on both; after every tick all that the engine tells is compared. Each operation
// draws from numbers of its own, so that leaving one out changes no other (oracle_run.hpp: reduce).
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

/// Ways to spoil what the engine told, before it is checked: each must be noticed.
enum class Spoil : std::uint8_t {
    none,
    other_rules,    ///< the oracle is given a larger radius
    lose_entity,    ///< one is missing in a set
    add_entity,     ///< one too many
    double_entity,  ///< one is listed twice
    flip_pair,      ///< is_relevant says the opposite
    lose_event,
    double_event,
    turn_event,  ///< enter for leave
    lie_reason,  ///< another reason
    count,       ///< one observer too many
    lose_edge,
    score,
    changed,  ///< one of those that changed is missing
    inverse,
    explain,     ///< the explanation says the opposite
    suggestion,  ///< what it suggests is not done
    range,       ///< whoever is within the radius is not shown
    flicker,     ///< whoever is in the margin is not shown
    box,
    position,
    covering,
    settings,
    trial,  ///< it leaves out a pair
    end     ///< how many there are
};

struct RandomWorldDef {
    std::uint64_t seed = 1;
    RuleSpace space;
    Rules rules;
    std::vector<KindRules> kinds;
    std::uint32_t entities = 120;
    std::uint32_t observers = 6;
    std::uint32_t edits_max = 12;  ///< in a tick
    WindowUpdate window_update = WindowUpdate::automatic;
    std::uint32_t shuffle_cells = 0;
    float step_m = 3;          ///< of a wandering entity
    float move_chance = 0.4F;  ///< of an entity, in a tick
    bool needs_entity = false;
    bool single_area = false;
    bool measures_changed = false;
    bool threads = false;  ///< executors may have threads
    Spoil spoil = Spoil::none;
    std::set<std::string> left_out;                           ///< operations by name
    std::set<std::pair<Tick, std::uint32_t>> left_out_edits;  ///< by tick and number in it
    std::set<std::uint32_t> left_out_observers;               ///< of the first ones, by number
    std::set<std::uint32_t> left_out_movers;                  ///< indices that do not wander
    std::set<std::uint32_t> left_out_entities;                ///< indices that nobody gets
    bool keeps_log = false;                                   ///< of all operations
};

/// A world as its seed says.
RandomWorldDef random_def(std::uint64_t seed, Features features);

class RandomWorld {
  public:
    explicit RandomWorld(const RandomWorldDef& def);

    /// One tick of random edits, then the comparison. Empty when all is equal, else what is not,
    /// with what is needed to find out why.
    std::string step();
    /// Explains random pairs, and carries one suggestion of each out, a tick each.
    std::string check_explain(std::uint32_t pairs);

    std::uint64_t explained = 0;
    std::uint64_t explained_without_change = 0;
    std::uint64_t turned_by_pair = 0;
    std::uint64_t turned_mixed = 0;  ///< in groups with split members
    std::uint64_t turned_mixed_by_pair = 0;
    std::map<WhatIfType, std::uint64_t> turned_by;
    std::uint64_t pairs_compared = 0;  ///< in ticks in which something was done
    std::uint64_t pairs_relevant = 0;  ///< of them
    std::uint64_t events_seen = 0;
    std::map<std::string, std::uint64_t> operations;
    std::map<std::string, std::uint64_t> stages;  ///< what decided, of pairs_compared
    std::string trace;                            ///< the operations of the last tick but moves
    std::string log;                              ///< of all ticks, moves too
    std::set<std::string> complaints;             ///< checks that found something, by name
    std::set<std::string> shapes;                 ///< of all rules deep enough to count
    std::uint32_t edits_of_tick = 0;

  private:
    struct Operation;
    static const std::vector<Operation>& all_operations();
    struct ToldOfObserver;
    struct Told;
    bool has(Feature feature) const { return def_.space.features.has(feature); }

    // -- what there is
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

    // -- operations: each does nothing where it makes no sense
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
    unsigned overrides_in_a_row() const;
    unsigned overrides_behind(const check::TruthEntity& unit) const;
    unsigned overrides_before(EntityId unit) const;
    void ask_again(EntityId entity);
    void ask_again(ObserverId observer);
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
    /// The tick of both copies.
    void decide();
    std::string compare();
    void apply(const WhatIf& change, check::TruthObserver& observer, check::TruthEntity& entity);

    // -- what is told, and what should be
    void expect(Status got, Status should, const char* what);
    void expect(Status got, const char* what) { expect(got, Status::ok, what); }
    void count(const char* name, EntityId entity = EntityId::none,
               ObserverId observer = ObserverId::none);
    /// All operations that this world may make stand in the table, though none was made yet.
    void begin_counting();
    /// It moved; dormant nodes do not know.
    void hear_of(check::TruthEntity& entity);
    void note(const std::string& text);
    void note_nodes(const check::TruthEntity& entity);
    static std::string text_of(Vec3 position);
    static std::string text_of(const Area& area);
    void ask(Told& told);
    void spoil(Told& told);
    bool spoil_observer(ToldOfObserver& told);
    bool has_moved(EntityId entity) const;
    bool is_hidden_by_root(const check::TruthObserver& observer, EntityId root) const;
    bool is_hidden(const check::TruthObserver& observer, const check::TruthEntity& unit) const;
    void check_events(const Told& told, std::vector<Difference>& wrong);
    void check_sets(const Told& told, std::vector<Difference>& wrong);
    void check_changed(const Told& told, std::vector<Difference>& wrong);
    void check_counts(const Told& told, std::vector<Difference>& wrong);
    void check_inverse(const Told& told, std::vector<Difference>& wrong);
    void check_promises(const Told& told, std::vector<Difference>& wrong);
    void check_positions(const Told& told, std::vector<Difference>& wrong);
    void check_covering(std::vector<Difference>& wrong);
    void check_settings(std::vector<Difference>& wrong);
    void check_trial(const Told& told, std::vector<Difference>& wrong);
    void check_one_explanation(std::vector<Difference>& wrong);
    std::string report(const Difference& difference);
    const check::Verdict& verdict(ObserverId observer, EntityId entity);

    RandomWorldDef def_;
    SplitMix random_;
    InterestManager manager_;
    check::TruthOracle oracle_;
    Rules rules_;  ///< in force
    InterestLevel level_ = InterestLevel::full;
    std::shared_ptr<Roster> roster_;
    Promise promise_;
    EventReplay replay_;
    std::vector<check::TruthEntity> entities_;
    std::vector<std::uint32_t> generations_;
    std::vector<std::uint32_t> resting_;  ///< indices freed this tick
    std::vector<check::TruthObserver> observers_;
    std::vector<ObserverId> removed_;
    std::set<EntityId> born_;             ///< this tick
    std::set<EntityId> touched_;          ///< this tick, by any operation
    std::set<EntityId> let_go_;           ///< this tick: where they stood despawned
    std::map<EntityId, Vec3> stood_;      ///< the tick before, units that are placed
    std::vector<std::uint32_t> counted_;  ///< observers of the tick before, by entity index
    std::vector<EntityId> counted_who_;
    std::map<std::uint32_t, std::set<EntityId>> told_before_;  ///< kept for trials
    std::map<std::uint32_t, std::set<EntityId>> stays_before_;
    RuleTrial trial_;
    bool in_trial_ = false;
    bool rules_changed_ = false;
    bool spoiled_ = false;
    bool did_something_ = false;
    std::string trouble_;  ///< a status that should not be
    Tick tick_ = 0;
};

}  // namespace purview::test
