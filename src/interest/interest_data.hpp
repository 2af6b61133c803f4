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
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/bitset.hpp"
#include "core/flat_map.hpp"
#include "core/hash.hpp"
#include "core/id_pool.hpp"
#include "interest/pair_table.hpp"
#include "interest/program.hpp"
#include "interest/row_store.hpp"
#include "interest/window.hpp"
#include "purview/interest.hpp"
#include "purview/schema.hpp"
#include "spatial/region_grid.hpp"

namespace purview {

struct KeyedArea {
    std::uint32_t key = 0;
    Area area;
};

/// What is said of a pair besides its nodes.
struct PairFacts {
    bool ready = false;
    bool denied = false;
    bool owned = false;
    bool force_hidden = false;
    bool shown_to_all = false;
    bool allowed = false;
    bool sees_everything = false;

    /// The one formula, and what decides in it; `nodes`: what windows and rows say.
    Stage decide(bool nodes) const noexcept {
        if (!ready) return Stage::not_ready;
        if (denied) return Stage::denied;
        if (owned) return Stage::owned;
        if (force_hidden) return Stage::force_hidden;
        if (shown_to_all) return Stage::shown_to_all;
        if (allowed) return Stage::allowed;
        if (sees_everything) return Stage::sees_everything;
        return nodes ? Stage::node : Stage::no_node;
    }
};
constexpr bool is_yes(Stage stage) noexcept {
    return stage == Stage::owned || stage == Stage::shown_to_all || stage == Stage::allowed ||
           stage == Stage::sees_everything || stage == Stage::node;
}

struct alignas(cache_line_bytes) Observer {
    // What every tick reads first.
    EntityId main = EntityId::none;
    Vec3 looked_from;  ///< the main entity's place at the last scan
    bool ready = false;
    bool needs_scan = true;  ///< something of its own changed: areas, keys, readiness
    bool had_place = false;  ///< at the last scan
    bool sees_everything = false;
    Window window;
    std::uint32_t next_of_main = IdPool::no_index;  ///< another observer with the same main entity
    std::vector<KeyedArea> areas;
    std::vector<std::uint32_t> rows;           ///< [row sources] the row it reads, or no_row
    std::array<Key, Schema::keys_max> keys{};  ///< in force: the main entity's, or its own
    std::array<Key, Schema::keys_max> own_keys{};
};

class InterestData final : private Resolve {
  public:
    explicit InterestData(const InterestDef& def);

    Status spawn(EntityId entity, const EntityDef& def);
    Status despawn(EntityId entity);
    Status move(EntityId entity, Vec3 place);
    void move(std::span<const Move> moves);
    Status set_flag(EntityId entity, FlagId flag, bool value);
    Status set_key(EntityId entity, KeyDomain domain, Key key);
    Status set_owner(EntityId entity, ObserverId owner);
    Status force_hide(EntityId entity, bool hidden);
    Status show_to_all(EntityId entity, bool shown);
    Status join_unit(EntityId member, EntityId root);
    Status leave_unit(EntityId member, const EntityDef& def);

    Result<ObserverId> add_observer();
    Status remove_observer(ObserverId observer);
    Status set_ready(ObserverId observer, bool ready);
    Status set_main_entity(ObserverId observer, EntityId entity);
    Status set_area(ObserverId observer, std::uint32_t key, const Area& area);
    Status remove_area(ObserverId observer, std::uint32_t key);
    Status set_observer_key(ObserverId observer, KeyDomain domain, Key key);
    Status set_sees_everything(ObserverId observer, bool value);
    Status edit_pair(ObserverId observer, EntityId entity, bool PairEntry::*field, bool value);

    Status recheck(EntityId entity);
    Status rescan(ObserverId observer);
    void tick();
    std::span<const RelevanceEvent> events() const noexcept { return events_; }
    std::span<const RelevanceEvent> events_of(ObserverId observer) const noexcept;
    bool is_relevant(ObserverId observer, EntityId entity) const noexcept;
    Explanation explain(ObserverId observer, EntityId entity) const;
    template <class Visit>
    void for_each_relevant(std::uint32_t observer, Visit&& visit) const;
    bool is_observer(ObserverId observer) const noexcept {
        return observer_pool_.is_live(index_of(observer), generation_of(observer));
    }

    void set_count_tested(bool value) noexcept { scratch_.count_tested = value; }

    InterestCounters counters;
    std::uint32_t shuffle_cells = 0;
    SplitMix shuffle_random{1};

  private:
    /// An event of the facts phase, entity by entity; taken back ones are marked.
    struct Fact {
        std::uint32_t observer;
        EntityId entity;
        Reason reason;
        bool enter;
        bool cancelled;
    };
    struct Touched {
        std::uint32_t observer;
        bool before;
    };

    ObserverId id_of(std::uint32_t observer) const noexcept {
        return make_observer_id(observer, observer_pool_.generation(observer));
    }
    EntityId unit_of(EntityId entity) const noexcept;
    bool is_known(EntityId entity) const noexcept;
    bool is_member(EntityId entity) const noexcept;
    bool in_window(std::uint32_t observer, EntityId unit) const noexcept;
    bool x_holds(std::uint32_t observer, EntityId unit) const noexcept;
    bool in_rows(std::uint32_t observer, EntityId unit) const noexcept;
    PairFacts facts_of(std::uint32_t observer, EntityId unit, Slot slot) const noexcept;
    void note(std::uint32_t observer, EntityId unit, bool before, bool after, Reason enter,
              Reason leave);
    void log_fact(std::uint32_t observer, EntityId entity, bool enter, Reason reason);
    bool cancel_fact(std::uint32_t observer, EntityId entity, bool enter);
    template <class Visit>
    void for_each_member(EntityId unit, bool enter, Visit&& visit) const;

    /// Visits every observer for which X may hold: rows, pairs, everybody. Some twice.
    template <class Visit>
    void for_each_x_candidate(EntityId unit, Visit&& visit) const;
    /// Runs an edit that may change X between one unit and many observers, and tells what changed.
    template <class Edit>
    void edit_unit(EntityId unit, Reason enter, Reason leave, Edit&& edit);
    /// The same between one observer and all units of its rows.
    template <class Edit>
    void edit_observer(std::uint32_t observer, Reason enter, Reason leave, Edit&& edit);
    void touch(std::uint32_t observer, EntityId unit);
    void update_rows(EntityId unit);
    void drop_from_rows(EntityId unit);
    void update_special(EntityId unit);
    void add_owned(EntityId unit, ObserverId owner, int delta);
    std::vector<std::uint8_t> who_has(EntityId unit) const;
    void log_change(EntityId entity, const std::vector<std::uint8_t>& before,
                    const std::vector<std::uint8_t>& after);
    void dissolve_unit(EntityId unit);
    void drop_pairs(EntityId unit);
    std::vector<EntityId>& members_of(EntityId root);
    void drop_members_list(EntityId root);
    Slot place_unit(EntityId unit, const EntityDef& def);
    void update_observer_keys(std::uint32_t observer);
    void update_observers_of_main(EntityId entity);
    void take_relevant(std::uint32_t observer, Reason reason);
    Key key_of(EntityId entity, std::size_t domain) const noexcept;
    Reason leave_reason(std::uint32_t observer, EntityId unit) const noexcept;

    Mask resolve(std::uint32_t observer, BlockIndex block, Mask mask) const noexcept override;
    void shuffle_lanes();
    void update_windows();
    void order_observers();
    void update_window(std::uint32_t observer);
    void tell_toggles();
    void prefetch_window(const Observer& observer) const noexcept;
    bool can_push() const noexcept;
    void choose_update();
    void wake();
    void wake_cell(BlockIndex cell);
    void wake_watchers(EntityId main);
    template <class Visit>
    void for_each_watcher(EntityId main, Visit&& visit) const {
        const std::uint32_t* first = mains_.find(index_of(main));
        for (std::uint32_t o = first == nullptr ? IdPool::no_index : *first; o != IdPool::no_index;
             o = observers_[o].next_of_main) {
            if (observers_[o].main == main) visit(o);
        }
    }
    void set_watched(EntityId entity);
    void must_scan(std::uint32_t observer) {
        observers_[observer].needs_scan = any_needs_scan_ = true;
        if (woken_.size() <= observer) woken_.resize(observer + 1);
        woken_.set(observer);
    }
    bool is_x_possible() const noexcept {
        return program_.everything || everything_count_ > 0 || global_count_ > 0 ||
               pairs_.size() > 0 || has_shared_rows_;
    }
    void collect_places(const Observer& observer, std::vector<Vec3>& out) const;
    void publish();

    InterestDef def_;
    AttributeNames names_;
    Program program_;
    BlockTable table_;
    std::uint32_t unplaced_layer_ = 0;
    std::uint32_t force_hidden_ = 0;  ///< flag columns beyond those of the schema
    std::uint32_t global_ = 0;
    std::uint32_t special_ = 0;
    std::uint32_t watched_ = 0;  ///< it is the main entity of some observer
    std::uint32_t global_count_ = 0;
    std::uint32_t everything_count_ = 0;  ///< observers that see everything
    std::uint32_t force_hidden_count_ = 0;
    bool has_shared_rows_ = false;  ///< some row is an answer, not only candidates
    bool has_pulled_rows_ = false;
    bool has_hiding_flags_ = false;  ///< some step subtracts what an entity says of itself
    bool any_needs_scan_ = false;    ///< of some observer
    std::vector<RowStore> rows_;
    PairTable pairs_;
    FlatMap<std::uint32_t, ObserverId> owners_;           ///< by entity index
    FlatMap<std::uint32_t, EntityId> unit_of_member_;     ///< by index of the member: its root
    FlatMap<std::uint32_t, EntityId> member_ids_;         ///< by index of the member: its full id
    FlatMap<std::uint32_t, std::uint32_t> members_list_;  ///< by index of the root
    std::vector<std::vector<EntityId>> members_;          ///< parents first, without the root
    std::vector<std::uint32_t> free_members_;
    /// Entity index -> the first of the observers it stands for; Observer::next_of_main is the
    /// next.
    FlatMap<std::uint32_t, std::uint32_t> mains_;
    Bitset spawned_;  ///< this tick, by index
    std::vector<std::uint32_t> spawned_list_;

    IdPool observer_pool_;
    LineVector<Observer> observers_;
    std::vector<std::uint32_t> order_;   ///< observers, neighbours in the world one after another
    std::vector<std::uint32_t> active_;  ///< those of them that have something to look at this tick
    std::vector<std::uint64_t> order_keys_;
    std::uint32_t ticks_to_order_ = 0;

    std::vector<Fact> facts_;
    FlatMap<std::uint64_t, std::uint32_t> fact_index_;  ///< pair -> its last uncancelled fact
    std::vector<Touched> touched_;
    std::vector<EntityId> edit_before_;  ///< of edit_observer, which never runs within itself
    std::vector<EntityId> edit_after_;
    FlatMap<std::uint32_t, std::uint8_t> edit_seen_;
    std::vector<std::uint32_t> touch_stamp_;
    std::uint32_t stamp_ = 0;

    RegionGrid regions_;
    bool is_pushing_ = false;  ///< this tick's moves were kept as nudges
    bool wakes_all_ = false;
    Bitset woken_;  ///< by observer: has something to look at
    std::size_t moved_observers_ = 0;

    ScanScratch scratch_;
    std::vector<Vec3> places_;
    std::vector<const Row*> pulled_;
    struct Pending {
        std::uint32_t observer;
        EntityId entity;
        Reason reason;
        bool enter;
    };
    std::vector<Pending> pending_;
    std::vector<RelevanceEvent> events_;
    std::vector<std::uint32_t> event_begin_;  ///< [observers + 1]
    std::vector<std::uint32_t> event_next_;
};

template <class Visit>
void InterestData::for_each_member(EntityId unit, bool enter, Visit&& visit) const {
    const std::uint32_t* list = members_list_.find(index_of(unit));
    if (list == nullptr) return visit(unit);
    const auto& members = members_[*list];
    if (enter) {
        visit(unit);
        for (const EntityId member : members) visit(member);
    } else {
        for (std::size_t i = members.size(); i > 0; --i) visit(members[i - 1]);
        visit(unit);
    }
}

template <class Visit>
void InterestData::for_each_relevant(std::uint32_t o, Visit&& visit) const {
    const Observer& observer = observers_[o];
    if (!observer.ready) return;
    const auto tell = [&](EntityId unit) { for_each_member(unit, true, visit); };
    const Window& window = observer.window;
    window.for_each_block([&](std::size_t at, BlockIndex block) {
        for (Mask rest = window.masks()[at]; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const Slot slot = slot_at(block, static_cast<unsigned>(std::countr_zero(rest)));
            if (!table_.is_vacated(slot)) {
                tell(table_.entity(slot));
            } else if (const Displaced& gone = table_.displaced_from(slot); !gone.silent) {
                visit(gone.entity);  // despawned since the last tick, and not told yet
            }
        }
    });
    if (program_.everything || observer.sees_everything || global_count_ > 0) {
        for (BlockIndex block = 0; block < table_.block_end(); ++block) {
            for (Mask rest = table_.occupied(block); rest != 0;
                 rest &= static_cast<Mask>(rest - 1)) {
                const EntityId unit =
                    table_.entity(slot_at(block, static_cast<unsigned>(std::countr_zero(rest))));
                if (!in_window(o, unit) && x_holds(o, unit)) tell(unit);
            }
        }
        return;
    }
    for (std::size_t s = 0; s < rows_.size(); ++s) {
        if (observer.rows[s] == no_row || rows_[s].source().pulled) continue;
        const Row& row = rows_[s].row(observer.rows[s]);
        for (std::size_t lane = 0; lane < row.members.size(); ++lane) {
            const EntityId unit = row.members[lane];
            if (row.live[lane] == 0 || in_window(o, unit) || !x_holds(o, unit)) continue;
            bool told = false;  // by an earlier source
            for (std::size_t e = 0; e < s && !told; ++e) {
                if (rows_[e].source().pulled) continue;
                const auto at = rows_[e].membership(unit);
                told = rows_[e].is_live(at) && at.row == observer.rows[e];
            }
            if (!told) tell(unit);
        }
    }
    for (const EntityId unit : pairs_.entities_of(o)) {
        if (!in_window(o, unit) && !in_rows(o, unit) && x_holds(o, unit)) tell(unit);
    }
}

}  // namespace purview
