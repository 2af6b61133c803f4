// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The parts of the interest engine with access to their stores, and random edits of a small world.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "core/observer_ids.hpp"
#include "interest/engine.hpp"
#include "purview/interest.hpp"

namespace purview::test {

/// The engine of engine.cpp, with access to its stores and all parts.
struct InterestParts {
    explicit InterestParts(const Rules& rules, WindowUpdate window_update = WindowUpdate::automatic,
                           const LogSink& log = LogSink::none())
        : stores(rules, log, window_update) {
        live_rules.compile_rules({});
        custom_nodes.set_custom_nodes();
    }
    InterestParts(const InterestParts&) = delete;
    InterestParts& operator=(const InterestParts&) = delete;

    void begin_tick() {
        ++stores.tick;
        stores.validate();
        const auto is_known = [&](EntityId entity) { return lookup.is_known(entity); };
        stores.rebound.last.swap(stores.rebound.pending);
        stores.rebound.pending.clear();
        stores.observers.expire_areas(stores.tick, is_known);
        positions.apply_position_sources();
        membership.update_moved_cells();
        observers.update_cells();
        custom_nodes.update_custom_nodes(visibility);
        edits.check_hides();
        stores.table.settle_moves();
        stores.new_units.locate(stores.table);
        if (stores.rules.measure_scores) changed_scores.begin_changed();
    }
    void end_tick() {
        tick_events.report_changes();
        edits.expire_minimum_relevance();
        split_groups.settle_split_groups();
        tick_events.publish();
        stores.observer_counts.begin_tick();
        if (stores.rules.count_observers) {
            stores.observer_counts.count(stores.events.all(),
                                         [&](EntityId entity) { return lookup.is_known(entity); });
        }
        if (stores.rules.measure_scores && changed_scores.is_late())
            changed_scores.measure_changed_late();
        stores.has_custom_queries = false;
        stores.new_units.clear();
        stores.table.end_tick();
        stores.observers.recycle();
    }
    /// Runs the steps of InterestEngine::tick.
    void tick() {
        begin_tick();
        windows.update_windows();
        end_tick();
    }

    // -- short forms of edits that must succeed
    EntityId spawn(std::uint32_t index, const EntityDef& def, std::uint32_t generation = 1) {
        const EntityId entity = make_entity_id(index, generation);
        REQUIRE(entities.spawn(entity, def) == Status::ok);
        return entity;
    }
    EntityId spawn(std::uint32_t index, float x, float y = 50) {
        EntityDef def;
        def.position = {x, y, 0};
        return spawn(index, def);
    }
    void attach(EntityId child, EntityId parent) {
        const EntityId root = lookup.top_of(parent);
        REQUIRE(groups.join_unit(child, root, parent) == Status::ok);
    }
    ObserverId watch(EntityId viewpoint = EntityId::none, bool is_ready = true) {
        const ObserverId observer = *observers.add_observer();
        if (viewpoint != EntityId::none)
            REQUIRE(observers.set_viewpoint(observer, viewpoint) == Status::ok);
        if (is_ready) REQUIRE(observers.set_ready(observer, true) == Status::ok);
        return observer;
    }

    // -- reads
    Slot slot(EntityId unit) const { return stores.table.slot_of(unit); }
    bool flag(std::uint32_t column, EntityId unit) const {
        return stores.table.flag(column, slot(unit));
    }
    /// The relevant set, ascending, each entity once.
    std::vector<EntityId> relevant(ObserverId observer) const {
        std::vector<EntityId> out;
        relevance.for_each_relevant(index_of(observer), [&](EntityId e) { out.push_back(e); });
        std::sort(out.begin(), out.end());
        REQUIRE(std::adjacent_find(out.begin(), out.end()) == out.end());
        return out;
    }
    /// The relevant sets of all live observers.
    std::map<ObserverId, std::vector<EntityId>> all_relevant() const {
        std::map<ObserverId, std::vector<EntityId>> out;
        for (std::uint32_t o = 0; o < stores.observers.size(); ++o) {
            if (!stores.observers.is_live(o)) continue;
            out[stores.observers.id_of(o)] = relevant(stores.observers.id_of(o));
        }
        return out;
    }

    InterestStores stores;
    EntityLookup lookup{stores};
    ExplicitRelevance explicit_relevance{stores, lookup};
    Relevance relevance{stores, lookup, explicit_relevance};
    ObserverViews observer_views{stores, lookup};
    RelevanceEdits edits{stores, lookup, explicit_relevance, relevance};
    SplitGroups split_groups{stores, lookup, relevance, edits};
    CustomNodes custom_nodes{stores, lookup, explicit_relevance, edits};
    Positions positions{stores, lookup};
    Overrides overrides{stores, lookup, explicit_relevance, edits, custom_nodes};
    Membership membership{stores, explicit_relevance, custom_nodes, positions, edits};
    Placement placement{stores, lookup, custom_nodes, positions, overrides, membership};
    ObserverEdits observers{stores,       lookup,    explicit_relevance, relevance,   edits,
                            split_groups, overrides, observer_views,     custom_nodes};
    GroupEdits groups{stores,       lookup,    explicit_relevance, edits,     split_groups,
                      custom_nodes, overrides, membership,         placement, observers};
    EntityEdits entities{stores,    lookup,     edits,     split_groups, custom_nodes,
                         overrides, membership, placement, observers,    groups};
    AttributeEdits attributes{stores, lookup, edits, positions, membership, observers};
    NodeEdits nodes{stores, lookup, edits, custom_nodes, positions, membership, observers};
    LiveRules live_rules{stores, lookup, edits, split_groups, custom_nodes, membership, observers};
    Answers answers{stores, lookup, explicit_relevance, relevance, observer_views};
    Explainer explainer{stores, lookup, explicit_relevance, relevance, observer_views, answers};
    ChangedScores changed_scores{stores, lookup, explicit_relevance, relevance, answers};
    WindowPass windows{stores, observer_views, changed_scores};
    TickEvents tick_events{stores, lookup, explicit_relevance, relevance, edits};
    InterestManager visibility{Rules()};  ///< for custom nodes
};

/// Rules with one node of each type: by distance, by key with a filter, by area, and for
/// everything. Kinds: plain, not relevant to its owner, bound to the second node, culled
/// independently.
inline Rules random_rules() {
    Rules rules;
    rules.max = {100, 100, 0};
    rules.entities_expected = 32;
    rules.flag_names.resize(3);
    rules.key_names.resize(2);
    rules.value_names.resize(1);
    rules.observer_range_max = 60;
    rules.node("near")
        .add(within(20).leave_at(30).range_from(RangeFrom::observer))
        .subtract(id_at<FlagId>(1));
    NodeDef& team = rules.node("team").add(same(id_at<KeyId>(0))).subtract(id_at<FlagId>(0));
    team.members = Members::bound;
    rules.node("all").members = Members::bound;
    NodeDef& area = rules.node("area").add(in_area(5)).require(between(id_at<ValueId>(0), -1, 1));
    area.members = Members::unbound;
    rules.kinds.resize(4);
    rules.kinds[1].owner_sees = false;
    rules.kinds[2].nodes = {id_at<NodeId>(1)};
    rules.kinds[3].culled_independently = true;
    return rules;
}

/// Random edits of entities, groups and observers through the parts of an engine.
template <class Parts>
class BasicRandomEdits {
  public:
    static constexpr std::uint32_t indices = 20;
    static constexpr std::uint32_t observers_most = 6;

    BasicRandomEdits(Parts& parts, std::uint64_t seed, bool splits = true)
        : parts_(parts), random(seed), splits_(splits) {
        for (int i = 0; i < 12; ++i) spawn();
        for (int i = 0; i < 4; ++i) add_observer();
    }

    void edit() {
        switch (random.below(22)) {
            case 0:
                return spawn();
            case 1:
                if (random.chance(0.5F)) despawn();
                return;
            case 2:
            case 3:
            case 4:
                return move();
            case 5:
            case 6:
                return attach();
            case 7:
                return detach();
            case 8:
                return edit_attribute();
            case 9:
                return edit_nodes();
            case 10:
                return count(parts_.overrides.force_hide(any(), random.chance(0.4F)));
            case 11:
                return count(parts_.overrides.show_to_all(any(), random.chance(0.4F)));
            case 12:
                return count(parts_.overrides.set_mode(any(), mode()));
            case 13:
            case 14:
                return count(parts_.overrides.set_owner(
                    any(), random.chance(0.7F) ? observer() : ObserverId::none));
            case 15:
            case 16:
                return count(parts_.overrides.edit_pair(observer(), any(), PairMark::allow,
                                                        random.chance(0.6F)));
            case 17:
                return count(parts_.overrides.edit_pair(observer(), any(), PairMark::deny,
                                                        random.chance(0.5F)));
            case 18:
                if (random.chance(0.3F)) return add_observer();
                if (random.chance(0.2F)) return remove_observer();
                return count(parts_.observers.set_ready(observer(), random.chance(0.8F)));
            default:
                return edit_observer();
        }
    }
    void edit_all(int count) {
        for (int i = 0; i < count; ++i) edit();
    }

    /// A known entity, or none.
    EntityId any() {
        const std::vector<EntityId> all = known();
        return all.empty() ? EntityId::none
                           : all[random.below(static_cast<std::uint32_t>(all.size()))];
    }
    /// A live observer, or none.
    ObserverId observer() {
        const std::vector<ObserverId> all = live();
        return all.empty() ? ObserverId::none
                           : all[random.below(static_cast<std::uint32_t>(all.size()))];
    }
    /// All known entities, ascending by index.
    std::vector<EntityId> known() const {
        std::vector<EntityId> out;
        for (const EntityId entity : entities_) {
            if (parts_.lookup.is_known(entity)) out.push_back(entity);
        }
        return out;
    }
    std::vector<EntityId> units() const {
        std::vector<EntityId> out;
        for (const EntityId entity : known()) {
            if (!parts_.lookup.is_member(entity)) out.push_back(entity);
        }
        return out;
    }
    std::vector<ObserverId> live() const {
        std::vector<ObserverId> out;
        for (const ObserverId observer : observers_) {
            if (parts_.lookup.is_observer(observer)) out.push_back(observer);
        }
        return out;
    }

    void spawn() {
        const std::uint32_t index = random.below(indices);
        if (parts_.lookup.is_known(entities_[index])) return;
        const std::array keys{key(), key()};
        const float value = random.between(-2, 2);
        EntityDef def;
        def.position = place();
        def.has_position = random.chance(0.9F);
        def.kind = kind();
        def.flags = FlagSet(static_cast<std::uint16_t>(random.below(8)));
        def.keys = keys;
        def.values = {&value, 1};
        if (random.chance(0.2F)) def.mode = mode();
        entities_[index] = make_entity_id(index, ++generations_[index]);
        count(parts_.entities.spawn(entities_[index], def));
    }
    /// Refused for an entity with members.
    void despawn() { count(parts_.entities.despawn(any())); }
    void move() { count(parts_.positions.move(any(), place())); }
    Vec3 place() { return {random.between(0, 100), random.between(0, 100), 0}; }
    Key key() { return Key{static_cast<std::uint16_t>(random.below(4))}; }

  private:
    KindId kind() {
        return random.chance(0.4F) ? KindId::none : id_at<KindId>(random.below(splits_ ? 4 : 3));
    }
    EntityMode mode() { return static_cast<EntityMode>(random.below(3)); }
    void attach() {
        const EntityId child = any(), parent = any();
        if (child == EntityId::none) return;
        const EntityId root = parts_.lookup.top_of(parent);
        count(parts_.groups.join_unit(child, root, parent));
    }
    void detach() {
        EntityDef def;
        def.position = place();
        count(parts_.groups.leave_unit(any(), def, random.chance(0.3F)));
    }
    void edit_attribute() {
        const EntityId entity = any();
        const KeyId domain = id_at<KeyId>(random.below(2));
        switch (random.below(4)) {
            case 0:
                return count(parts_.attributes.set_flag(entity, id_at<FlagId>(random.below(3)),
                                                        random.chance(0.5F)));
            case 1:
                return count(parts_.attributes.set_key(entity, domain, key()));
            case 2:
                return count(
                    parts_.attributes.edit_more_keys(entity, domain, key(), random.chance(0.5F)));
            default:
                return count(
                    parts_.attributes.set_value(entity, id_at<ValueId>(0), random.between(-2, 2)));
        }
    }
    void edit_nodes() {
        const NodeId node = id_at<NodeId>(random.below(4));
        switch (random.below(3)) {
            case 0:
                return count(parts_.nodes.add_node(any(), node));
            case 1:
                return count(parts_.nodes.remove_node(any(), node));
            default:
                return count(parts_.nodes.add_default_node(any()));
        }
    }
    void add_observer() {
        if (live().size() >= observers_most) return;
        const ObserverId added = *parts_.observers.add_observer();
        observers_.push_back(added);
        if (random.chance(0.7F)) count(parts_.observers.set_viewpoint(added, any()));
        count(parts_.observers.set_ready(added, true));
    }
    void remove_observer() { count(parts_.observers.remove_observer(observer())); }
    void edit_observer() {
        const ObserverId one = observer();
        const KeyId domain = id_at<KeyId>(random.below(2));
        switch (random.below(7)) {
            case 0:
                return count(parts_.observers.set_viewpoint(
                    one, random.chance(0.8F) ? any() : EntityId::none));
            case 1: {
                Area area = random.chance(0.5F) ? Area::at(place())
                                                : Area::sphere(place(), random.between(5, 40));
                area.ticks = random.below(4);
                if (random.chance(0.3F)) area = area.following(any());
                return count(parts_.observers.set_area(one, random.below(3), area));
            }
            case 2:
                return count(parts_.observers.remove_area(one, random.below(3)));
            case 3:
                return count(parts_.observers.set_observer_key(one, domain, key()));
            case 4:
                return count(parts_.observers.edit_more_observer_keys(one, domain, key(),
                                                                      random.chance(0.5F)));
            case 5:
                return count(parts_.observers.set_observer_range(one, random.between(0, 60)));
            default:
                return count(parts_.observers.set_unculled(one, random.chance(0.2F)));
        }
    }
    void count(Status status) { ++statuses[status]; }

    Parts& parts_;
    std::vector<ObserverId> observers_;  ///< all observers that were ever added
    std::array<EntityId, indices> entities_{};
    std::array<std::uint32_t, indices> generations_{};

  public:
    SplitMix random;
    std::map<Status, std::uint32_t> statuses;  ///< counts of the statuses of all edits

  private:
    bool splits_;
};
using RandomEdits = BasicRandomEdits<InterestParts>;
using EngineEdits = BasicRandomEdits<InterestEngine>;

}  // namespace purview::test
