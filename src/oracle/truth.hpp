// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The obviously right, slow answer to "what may this observer know?": every rule evaluated for
// every entity, from plain records of the world. Shares no code with `interest`.
//
// It may be asked every tick or every N ticks; what a distance or an area said in between (it
// counts between enter and leave) is then found by looking back through recorded places, so the
// answer is exact all the same. Two things have a past that places do not tell, so that rules with
// them must be asked every tick: kernels of the caller's own that remember, and
// `minimum_relevance_ticks`. Refresh::every is not followed: answers are those of an exact node. A
// line of sight is taken to have budget enough. what_is_not_followed() says whether rules have any
// of that.
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
#include "purview/node.hpp"

namespace purview::check {

/// What decided, in the order in which it is asked.
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
    stay,      ///< no node, but it came a short while ago
    promoted,  ///< no node, but nodes show a split member below it
    no_node,
};

struct Verdict {
    EntityId entity = EntityId::none;  ///< none: nobody lives under this index
    bool relevant = false;
    /// What is true of its unit without the rest of its group.
    bool own = false;
    /// A step that subtracts by the entity alone applies to it: whoever leaves now is hidden.
    bool hides = false;
    TruthStage stage = TruthStage::not_ready;
    std::uint32_t nodes = 0;  ///< bit n: node n of the rules says yes
    /// 0: not relevant. Of a stay: any above 0.
    float score = 0;
};

/// Why these rules may make something else of so many entities than the oracle does, in words;
/// empty: they do not.
std::string what_is_not_followed(const Rules& rules, std::size_t entities);

/// What a node of the caller's own says, by the caller's own twin of it.
using NodeTwin = std::function<bool(const NodeDef&, const ObserverView&, const EntityView&)>;

class TruthOracle {
  public:
    /// `ticks_between_max`: an observer is asked about at least this often.
    TruthOracle(Rules rules, std::uint32_t ticks_between_max, TruthDef def = {});

    /// Rules with custom kernels need one.
    void set_custom_twin(CustomTwin twin) { custom_ = std::move(twin); }
    /// Rules with custom nodes need one.
    void set_node_twin(NodeTwin twin) { custom_node_ = std::move(twin); }

    /// From the next record on. Bounds and axes stay. The same kernel at the same step of a node of
    /// the same name keeps what it remembers, unless the node was off or could not say yes.
    void set_rules(const Rules& rules);
    void set_level(InterestLevel level) { def_.level = level; }

    /// The world and the observers as of one tick; every tick, in order. [entities] by index.
    void record(Tick tick, std::vector<TruthEntity> entities,
                const std::vector<TruthObserver>& observers);

    /// Of the last record, by index of the entity; a member's is its group's. Valid until the next
    /// record.
    const std::vector<Verdict>& judge(ObserverId observer);
    /// Relevant entities of an observer of the last record, ascending by id.
    std::vector<EntityId> relevant(ObserverId observer);
    /// The same of several at once, [i] of observers[i], who are then not asked about in this tick
    /// again. Twins and dispatchers are asked from any thread of the executor; without `run`, from
    /// this one.
    std::vector<std::vector<EntityId>> relevant_all(std::span<const ObserverId> observers,
                                                    const Executor& executor);

    /// Where an entity stood in the last record, by index; of a member: its group's.
    const EntityView& unit_view(EntityId entity) const;
    /// Null: not ready.
    const ObserverView* observer_view(ObserverId observer) const;
    const Frame& frame() const noexcept { return frame_; }
    bool is_member(const NodeDef& node, std::size_t number, const TruthEntity& unit) const;

    /// A member of at least one node that is on, and of dormant ones only: moves are not heard of.
    bool is_dormant(const TruthEntity& unit) const;

    /// Pairs (observer, entity) evaluated so far.
    std::uint64_t pairs_evaluated() const noexcept { return pairs_evaluated_; }

  private:
    struct Snapshot {
        Tick tick = 0;
        std::vector<EntityView> entities;
        std::unordered_map<std::uint32_t, ObserverView> observers;  ///< ready ones only
    };
    /// A kernel that remembers, in a node that can say yes.
    struct Slot {
        std::size_t node = 0;
        std::string node_name;
        std::size_t step = 0;
        Kernel kernel;
        Tick born = 0;  ///< it remembers nothing from before this tick
    };
    struct ObserverState {
        bool asked = false;
        Tick tick = 0;  ///< that it was asked in
        std::uint32_t times_ready = 0;
        std::vector<std::vector<std::uint8_t>> yes;  ///< [slot][entity index]
        std::vector<std::uint8_t> own;               ///< [entity index] as of the verdict
        struct Stay {
            Tick from = 0;   ///< it came
            Tick until = 0;  ///< the last tick in which it stays; 0: no stay
        };
        std::vector<Stay> stays;  ///< [entity index]; empty without a stay
    };
    struct Judged {
        Tick tick = 0;
        std::vector<Verdict> verdicts;  ///< [entity index]
    };
    /// Where an entity stood when it was not dormant, or new.
    struct Heard {
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
    /// One observer, asked in one tick.
    struct Asking {
        const ObserverView* observer = nullptr;
        ObserverState* now = nullptr;
        ObserverState before;  ///< its last answers
        bool has_past = false;
        std::vector<std::vector<CellId>> cover;    ///< [node], ascending
        std::vector<std::uint8_t> owned;           ///< [entity index] units it owns a member of
        std::vector<std::uint8_t> shown_as_owned;  ///< of them, those with one that its owner sees
        std::vector<Verdict> verdicts;             ///< [entity index]
    };

    std::vector<Slot> slots_of(const Rules& rules, Tick born) const;
    const TruthEntity* alive(EntityId entity) const;
    Vec3 own_position(const TruthEntity& unit);
    void stand(std::uint32_t unit, std::vector<EntityView>& views, unsigned depth);
    void stand_all(std::vector<EntityView>& views);
    ObserverView view_of(const TruthObserver& observer, Tick tick,
                         const std::vector<EntityView>& entities) const;
    void spread();
    void gather();

    bool was_yes(const Asking& asking, std::size_t slot, std::uint32_t index) const;
    bool counts(std::size_t node, std::uint32_t index) const;
    /// What the inner nodes of a dispatcher that observer and unit share say of it.
    NodeAnswer ask_inner(const Asking& asking, std::size_t node, const EntityView& unit) const;
    // Of some units at once: [i] of units[i].
    using Units = std::span<const EntityView* const>;
    void ask_step(const Asking& asking, std::size_t node, std::size_t step, Units units,
                  std::vector<Said>& said) const;
    void ask_node(const Asking& asking, std::size_t node, Units units,
                  std::vector<NodeAnswer>& answers) const;
    void ask_nodes(const Asking& asking, Units units, std::vector<NodeAnswer>& all) const;
    void decide(const Asking& asking, const EntityView& unit, const NodeAnswer& nodes,
                Verdict& verdict) const;
    bool is_below(const TruthEntity& member, EntityId top) const;
    bool owner_sees(KindId kind) const;
    bool has_entry(const Asking& asking, EntityId root, EntityId top, bool owners_only) const;
    TruthStage hidden_member(const Asking& asking, const TruthEntity& member) const;
    EntityId parent_of(const TruthEntity& entity) const;
    bool promotes(const Asking& asking, const std::vector<Verdict>& own, std::uint32_t unit) const;
    bool is_promoted(const Asking& asking, const std::vector<Verdict>& own,
                     std::uint32_t unit) const;
    Verdict in_group(const Asking& asking, const std::vector<Verdict>& own,
                     std::uint32_t unit) const;
    std::size_t begin_asking(std::size_t at, const ObserverView& observer, ObserverState& state);
    void ask(std::span<Asking> all, const Executor& executor);
    void decide_units(Asking& asking, Units units) const;
    void decide_groups(Asking& asking) const;
    void hold(const Asking& asking, Verdict& verdict, std::uint32_t index) const;

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
    std::vector<std::uint32_t> members_;    ///< indices of those that are not their group's root
    std::vector<std::uint32_t> splits_;     ///< indices of units that are below somebody
    std::vector<std::uint8_t> leads_;       ///< by index: some of them are below it
    std::vector<const EntityView*> units_;  ///< of the last record
    std::vector<std::vector<std::uint8_t>> in_node_;  ///< [node][entity index]: a member of it
    std::vector<TruthObserver> observers_;
    std::vector<Heard> heard_;                             ///< [entity index]
    std::deque<Snapshot> history_;                         ///< newest last
    std::vector<std::vector<std::vector<CellId>>> cells_;  ///< [node][entity index], ascending
    std::unordered_map<std::uint32_t, ObserverState> states_;
    std::unordered_map<std::uint32_t, Judged> judged_;  ///< whom judge() was asked about
    std::vector<Asking> asking_;                        ///< their memory is used again
    std::uint64_t pairs_evaluated_ = 0;
};

}  // namespace purview::check
