// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The reference implementation of relevance: slow and simple. It evaluates every rule for every
// entity, from plain records of the world. It shares no code with `interest`.
//
// It may be called every tick or every N ticks. Between the enter and the leave radius, the result
// of a distance or an area depends on the past. The oracle derives it from recorded positions, so
// results are exact in both cases. Custom kernels with memory and `minimum_relevance_ticks` depend
// on a past that positions do not show. With such rules the oracle must be called every tick.
// NodeDef::every_ticks is ignored: results are those of a node that is evaluated in every tick. A
// line of sight is assumed to be tested for all entities in every tick. what_is_not_followed()
// returns whether rules use one of the last two.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "oracle/truth_kernels.hpp"
#include "oracle/truth_records.hpp"
#include "purview/extend/node.hpp"

namespace purview::check {

/// What decided, in the order of evaluation.
enum class TruthStage : std::uint8_t {
    not_ready,
    denied,
    owned,
    force_hidden,
    shown_to_all,  ///< or of mode global
    allowed,
    explicit_only,
    sees_everything,  ///< or the level is below full
    node,
    stay,      ///< no node, but within the minimum relevance time
    promoted,  ///< no node, but nodes show an independently culled member below it
    no_node,
};

struct Verdict {
    EntityId entity = EntityId::none;  ///< none: no entity has this index
    bool relevant = false;
    /// Whether its cull group is relevant without the rest of its group.
    bool own = false;
    /// A step that reads only attributes of the entity subtracts it. If it leaves now, the reason
    /// is `hidden`.
    bool hides = false;
    TruthStage stage = TruthStage::not_ready;
    std::uint32_t nodes = 0;  ///< bit n: node n of the rules matches
    /// 0: not relevant. In the minimum relevance time: any value above 0.
    float score = 0;
};

/// Returns why the engine may differ from the oracle with these rules and this many entities.
/// Empty: it must not differ.
std::string what_is_not_followed(const Rules& rules, std::size_t entities);

/// Returns whether a custom node matches, by a second implementation of the node in the caller.
using NodeTwin = std::function<bool(const NodeDef&, const ObserverView&, const EntityView&)>;

class TruthOracle {
  public:
    /// `ticks_between_max`: the longest interval between evaluations of an observer.
    TruthOracle(Rules rules, std::uint32_t ticks_between_max, TruthDef def = {});

    /// Sets the second implementation of custom kernels; required for rules with custom kernels.
    void set_custom_twin(CustomTwin twin) { custom_ = std::move(twin); }
    /// Sets the second implementation of custom nodes; required for rules with custom nodes.
    void set_node_twin(NodeTwin twin) { custom_node_ = std::move(twin); }

    /// Applies from the next record on. Bounds and axes stay. The same kernel at the same step of a
    /// node of the same name keeps its memory, unless the node was off or could not match anything.
    void set_rules(const Rules& rules);
    void set_level(InterestLevel level) { def_.level = level; }

    /// Records the world and the observers as of one tick. Call it every tick, in order. [entities]
    /// by index.
    void record(Tick tick, std::vector<TruthEntity> entities,
                const std::vector<TruthObserver>& observers);

    /// Results for the last record, by entity index; a member has those of its group. Valid until
    /// the next record.
    const std::vector<Verdict>& verdicts(ObserverId observer);
    /// Relevant entities of an observer of the last record, ascending by id.
    std::vector<EntityId> relevant(ObserverId observer);
    /// The same for several observers at once: [i] for observers[i]. These must not be evaluated
    /// again in this tick. Twins and dispatchers are called from any thread of the executor;
    /// without `run`, from this one.
    std::vector<std::vector<EntityId>> relevant_all(std::span<const ObserverId> observers,
                                                    const Executor& executor);

    /// The position of an entity in the last record; a member has that of its group.
    const EntityView& unit_view(EntityId entity) const;
    /// Null if the observer is not ready.
    const ObserverView* observer_view(ObserverId observer) const;
    const Frame& frame() const noexcept { return frame_; }
    bool is_member(const NodeDef& node, std::size_t number, const TruthEntity& unit) const;

    /// Whether its moves are ignored: it is a member of at least one enabled node, and all its
    /// enabled nodes are dormant.
    bool is_dormant(const TruthEntity& unit) const;

    /// Pairs (observer, entity) evaluated so far.
    std::uint64_t pairs_evaluated() const noexcept { return pairs_evaluated_; }

  private:
    struct Snapshot {
        Tick tick = 0;
        std::vector<EntityView> entities;
        std::unordered_map<std::uint32_t, ObserverView> observers;  ///< ready ones only
    };
    /// A kernel with memory, in a node that can match.
    struct Slot {
        std::size_t node = 0;
        std::string node_name;
        std::size_t step = 0;
        Kernel kernel;
        Tick born = 0;  ///< it has no memory from before this tick
    };
    struct ObserverState {
        bool was_evaluated = false;
        Tick tick = 0;  ///< last evaluation
        std::uint32_t times_ready = 0;
        std::vector<std::vector<std::uint8_t>> yes;  ///< [slot][entity index]
        std::vector<std::uint8_t> own;               ///< [entity index] as of the verdict
        struct Stay {
            Tick from = 0;   ///< it became relevant
            Tick until = 0;  ///< the last tick in which it stays relevant; 0: none
        };
        std::vector<Stay> stays;  ///< [entity index]; empty without a minimum relevance time
    };
    struct EvaluatedObserver {
        Tick tick = 0;
        std::vector<Verdict> verdicts;  ///< [entity index]
    };
    /// The last position of an entity when it was new or not dormant.
    struct ReceivedPosition {
        EntityId id = EntityId::none;
        std::uint32_t joins = 0;
        Vec3 position;
    };
    struct NodeAnswer {
        bool yes = false;
        bool hides = false;
        float score = 0;
        std::uint32_t nodes = 0;
    };
    /// The evaluation of one observer in one tick.
    struct ObserverQuery {
        const ObserverView* observer = nullptr;
        ObserverState* now = nullptr;
        ObserverState before;  ///< its last results
        bool has_past = false;
        std::vector<std::vector<CellId>> cover;    ///< [node], ascending
        std::vector<std::uint8_t> owned;           ///< [entity index] groups with an owned member
        std::vector<std::uint8_t> shown_as_owned;  ///< [entity index] groups shown by ownership
        std::vector<Verdict> verdicts;             ///< [entity index]
    };

    std::vector<Slot> slots_of(const Rules& rules, Tick born) const;
    const TruthEntity* alive(EntityId entity) const;
    Vec3 own_position(const TruthEntity& unit);
    void set_position(std::uint32_t unit, std::vector<EntityView>& views, unsigned depth);
    void set_positions(std::vector<EntityView>& views);
    ObserverView view_of(const TruthObserver& observer, Tick tick,
                         const std::vector<EntityView>& entities) const;
    void find_cells();
    void gather();

    bool was_yes(const ObserverQuery& query, std::size_t slot, std::uint32_t index) const;
    bool counts(std::size_t node, std::uint32_t index) const;
    /// Evaluates the inner nodes of a dispatcher that observer and cull group share.
    NodeAnswer query_inner(const ObserverQuery& query, std::size_t node,
                           const EntityView& unit) const;
    // For some cull groups at once: [i] of units[i].
    using Units = std::span<const EntityView* const>;
    void query_step(const ObserverQuery& query, std::size_t node, std::size_t step, Units units,
                    std::vector<StepResult>& results) const;
    void query_node(const ObserverQuery& query, std::size_t node, Units units,
                    std::vector<NodeAnswer>& answers) const;
    void query_nodes(const ObserverQuery& query, Units units, std::vector<NodeAnswer>& all) const;
    void decide(const ObserverQuery& query, const EntityView& unit, const NodeAnswer& nodes,
                Verdict& verdict) const;
    bool is_below(const TruthEntity& member, EntityId top) const;
    bool owner_sees(KindId kind) const;
    bool has_entry(const ObserverQuery& query, EntityId root, EntityId top, bool owners_only) const;
    TruthStage hidden_member(const ObserverQuery& query, const TruthEntity& member) const;
    EntityId parent_of(const TruthEntity& entity) const;
    bool promotes(const ObserverQuery& query, const std::vector<Verdict>& own,
                  std::uint32_t unit) const;
    bool is_promoted(const ObserverQuery& query, const std::vector<Verdict>& own,
                     std::uint32_t unit) const;
    Verdict in_group(const ObserverQuery& query, const std::vector<Verdict>& own,
                     std::uint32_t unit) const;
    std::size_t begin_query(std::size_t at, const ObserverView& observer, ObserverState& state);
    void evaluate_all(std::span<ObserverQuery> all, const Executor& executor);
    void decide_units(ObserverQuery& query, Units units) const;
    void decide_groups(ObserverQuery& query) const;
    void hold(const ObserverQuery& query, Verdict& verdict, std::uint32_t index) const;

    Rules rules_;
    TruthDef def_;
    Frame frame_;
    CustomTwin custom_;
    NodeTwin custom_node_;
    std::uint32_t ticks_between_max_;
    std::vector<Slot> slots_;
    std::vector<std::vector<std::size_t>> slot_at_;  ///< [node][step], or no_slot
    std::vector<TruthEntity> entities_;
    std::vector<std::uint32_t> owned_;      ///< indices of entities with an owner
    std::vector<std::uint32_t> members_;    ///< indices of members: not their group's root
    std::vector<std::uint32_t> splits_;     ///< indices of cull groups below another entity
    std::vector<std::uint8_t> leads_;       ///< by index: members or cull groups are below it
    std::vector<const EntityView*> units_;  ///< cull groups of the last record
    std::vector<std::vector<std::uint8_t>> in_node_;  ///< [node][entity index]: a member of it
    std::vector<TruthObserver> observers_;
    std::vector<ReceivedPosition> received_positions_;     ///< [entity index]
    std::deque<Snapshot> history_;                         ///< newest last
    std::vector<std::vector<std::vector<CellId>>> cells_;  ///< [node][entity index], ascending
    std::unordered_map<std::uint32_t, ObserverState> states_;
    std::unordered_map<std::uint32_t, EvaluatedObserver> evaluated_;  ///< results of verdicts()
    std::vector<ObserverQuery> queries_;                              ///< memory is reused
    std::uint64_t pairs_evaluated_ = 0;
};

}  // namespace purview::check
