// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The operations of a random world: every manager call that changes something, applied to the
// engine and to the records.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "core/observer_ids.hpp"
#include "random_world.hpp"

#include "core/internal_access.hpp"
#include "interest/engine.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t area_keys = 6;
constexpr std::size_t observers_at_most = 32;
constexpr unsigned chain_links_max = 8;

/// Runs the tasks on one thread, last to first.
void run_backwards(void*, std::uint32_t count, void (*task)(void*, std::uint32_t), void* context) {
    for (std::uint32_t i = count; i > 0; --i) task(context, i - 1);
}

/// Runs the odd tasks first.
void run_odd_first(void*, std::uint32_t count, void (*task)(void*, std::uint32_t), void* context) {
    for (std::uint32_t i = 1; i < count; i += 2) task(context, i);
    for (std::uint32_t i = 0; i < count; i += 2) task(context, i);
}

/// Runs the tasks on several threads, each of which takes the next one. `workers` is their number.
void run_on_threads(void* workers, std::uint32_t count, void (*task)(void*, std::uint32_t),
                    void* context) {
    std::atomic<std::uint32_t> next{0};
    const auto work = [&] {
        for (std::uint32_t i = next++; i < count; i = next++) task(context, i);
    };
    std::vector<std::thread> threads;
    for (std::uintptr_t i = 1; i < reinterpret_cast<std::uintptr_t>(workers); ++i)
        threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

struct RandomWorld::Operation {
    const char* name;
    std::uint32_t weight;
    void (RandomWorld::*run)();
    Feature needs = Feature::count;  ///< count: none
};

const std::vector<RandomWorld::Operation>& RandomWorld::all_operations() {
    using W = RandomWorld;
    static const std::vector<Operation> operations{
        {"spawn", 8, &W::spawn},
        {"despawn", 7, &W::despawn},
        {"join_unit", 10, &W::join_unit, Feature::groups},
        {"leave_unit", 14, &W::leave_unit, Feature::groups},
        {"set_flag", 7, &W::set_flag},
        {"set_key", 7, &W::set_key},
        {"set_owner", 6, &W::set_owner},
        {"add_key", 6, &W::add_key, Feature::more_keys},
        {"remove_key", 8, &W::remove_key, Feature::more_keys},
        {"set_value", 8, &W::set_value, Feature::values},
        {"set_range", 6, &W::set_range, Feature::ranges},
        {"set_group_radius", 12, &W::set_group_radius, Feature::bounds},
        {"set_mode", 4, &W::set_mode, Feature::modes},
        {"set_position_source", 6, &W::set_position_source, Feature::position_sources},
        {"set_velocity", 5, &W::set_velocity, Feature::sight},
        {"add_node", 6, &W::add_node, Feature::binding},
        {"remove_node", 6, &W::remove_node, Feature::binding},
        {"set_nodes", 4, &W::set_nodes, Feature::binding},
        {"add_default_node", 4, &W::add_default_node, Feature::binding},
        {"set_hidden", 6, &W::force_hide},
        {"show_to_all", 5, &W::show_to_all},
        {"recheck", 5, &W::recheck, Feature::own_kernels},
        {"update", 6, &W::update, Feature::dormant},
        {"teleport", 8, &W::teleport},
        {"add_observer", 5, &W::add_observer},
        {"remove_observer", 4, &W::remove_observer},
        {"set_ready", 6, &W::set_ready},
        {"set_viewpoint", 6, &W::set_viewpoint},
        {"set_area", 8, &W::set_area},
        {"remove_area", 5, &W::remove_area},
        {"set_areas", 4, &W::set_areas, Feature::areas},
        {"add_observer_key", 5, &W::add_observer_key, Feature::more_keys},
        {"remove_observer_key", 6, &W::remove_observer_key, Feature::more_keys},
        {"set_observer_range", 5, &W::set_observer_range, Feature::ranges},
        {"set_lookahead", 4, &W::set_lookahead, Feature::sight},
        {"set_observer_key", 5, &W::set_observer_key},
        {"set_unculled", 4, &W::set_unculled},
        {"rescan", 4, &W::rescan, Feature::own_kernels},
        {"rescan_node", 12, &W::rescan_node, Feature::custom_nodes},
        {"allow or deny", 9, &W::allow_or_deny},
        {"set_rules", 3, &W::set_rules, Feature::new_rules},
        {"set_level", 2, &W::set_level, Feature::level},
        {"set_node_pair", 14, &W::set_node_pair, Feature::custom_nodes},
        {"set_executor", 3, &W::set_executor, Feature::executors},
        {"invalid call", 5, &W::bad_call},
    };
    return operations;
}

void RandomWorld::begin_counting() {
    for (const Operation& one : all_operations()) {
        if (one.needs == Feature::count || has(one.needs)) operations[one.name] = 0;
    }
    operations.erase("allow or deny");
    for (const char* name : {"allow", "deny", "move", "move (list)", "is_relevant", "relevant",
                             "query_for", "relevant_count", "explain"})
        operations[name] = 0;
    struct Query {
        const char* name;
        Feature needs;
    };
    for (const Query& one : std::initializer_list<Query>{{"move (columns)", Feature::columns},
                                                         {"try_rules", Feature::trials},
                                                         {"for_each_relevant", Feature::visits},
                                                         {"scores", Feature::score},
                                                         {"observer_count", Feature::counts},
                                                         {"observer edges", Feature::counts},
                                                         {"observers_of", Feature::inverse},
                                                         {"entities_in", Feature::boxes},
                                                         {"position_of", Feature::positions},
                                                         {"observers_covering", Feature::covering},
                                                         {"settings", Feature::settings}}) {
        if (has(one.needs)) operations[one.name] = 0;
    }
}

void RandomWorld::edit(std::uint32_t number) {
    reseed(6'000'000 + number);
    std::uint32_t total = 0;
    for (const Operation& one : all_operations()) total += one.weight;
    // Drawn independently of the state: the same number gives the same operation.
    std::uint32_t at = random_.below(total);
    for (const Operation& one : all_operations()) {
        if (at >= one.weight) {
            at -= one.weight;
            continue;
        }
        const bool is_there = one.needs == Feature::count || has(one.needs);
        if (is_there && def_.left_out.count(one.name) == 0) (this->*one.run)();
        return;
    }
}

// -- entities -----------------------------------------------------------------------------------

Key RandomWorld::random_key(bool or_none) {
    return Key{static_cast<std::uint16_t>(or_none ? random_.below(5) : 1 + random_.below(4))};
}

KeyId RandomWorld::random_domain() {
    return id_at<KeyId>(random_.below(def_.space.twins.keys));
}

NodeId RandomWorld::node_at(std::size_t number) {
    return id_at<NodeId>(number);
}

NodeId RandomWorld::random_node() {
    return node_at(random_.below(static_cast<std::uint32_t>(node_count())));
}

/// The definition of an entity that spawns or leaves a group: partly its current state, partly new.
EntityDef RandomWorld::def_of(check::TruthEntity& entity, std::vector<NodeId>& own, bool leaves) {
    EntityDef def;
    def.position = entity.position;
    def.has_position = entity.has_position;
    def.flags = FlagSet(entity.flags);
    def.keys = std::span(entity.keys).first(def_.space.twins.keys);
    if (has(Feature::values)) def.values = std::span(entity.values).first(def_.space.values);
    if (!def_.kinds.empty() && random_.chance(0.7F)) {
        def.kind = id_at<KindId>(random_.below(static_cast<std::uint32_t>(def_.kinds.size())));
    }
    if (leaves && !has(Feature::other_kind)) def.kind = entity.kind;
    if (has(Feature::modes) && random_.chance(0.1F))
        def.mode = random_.chance(0.3F) ? EntityMode::global : EntityMode::explicit_only;
    if (range_max() > 0 && random_.chance(0.4F)) def.range = length(2, range_max() - 1);
    if (has(Feature::binding) && node_count() > 0 && random_.chance(0.4F)) {
        for (std::uint32_t i = random_.below(3); i > 0; --i) own.push_back(random_node());
        def.nodes = own;
        def.replaces_kind_nodes = random_.chance(0.3F);
    }
    const bool has_kind = index_of(def.kind) < def_.kinds.size();
    const EntityMode mode_before = entity.mode;
    entity.kind = def.kind;
    entity.mode = def.mode;
    entity.range = def.range;
    entity.group_radius_m = 0;
    if (!(def.range > 0) && has_kind) entity.range = def_.kinds[index_of(def.kind)].range;
    // An entity that leaves a group keeps its mode.
    if (def.mode == EntityMode::nodes && leaves) entity.mode = mode_before;
    if (def.mode == EntityMode::nodes && has_kind && !leaves)
        entity.mode = def_.kinds[index_of(def.kind)].mode;
    entity.received_position = entity.position;
    check::bind_new(entity, def_.kinds, def.nodes, def.replaces_kind_nodes);
    return def;
}

void RandomWorld::spawn() {
    if (static_cast<float>(entities_.size()) > static_cast<float>(def_.entities) * 1.2F + 20 &&
        random_.chance(0.5F))
        return;
    std::uint32_t index = 0;
    while (index < entities_.size() &&
           (entities_[index].id != EntityId::none || def_.left_out_entities.count(index) != 0 ||
            std::find(quarantined_.begin(), quarantined_.end(), index) != quarantined_.end())) {
        ++index;
    }
    if (index == entities_.size()) {
        entities_.emplace_back();
        generations_.push_back(0);
    }
    if (def_.left_out_entities.count(index) != 0) return;
    auto& entity = entities_[index];
    entity = {};
    entity.id = entity.root = make_entity_id(index, ++generations_[index]);
    entity.position = random_position();
    entity.has_position = random_.chance(0.95F);
    entity.flags = static_cast<std::uint16_t>(random_.below(1U << def_.space.twins.flags) &
                                              random_.below(1U << def_.space.twins.flags));
    for (std::uint32_t d = 0; d < def_.space.twins.keys; ++d) entity.keys[d] = random_key(true);
    if (has(Feature::values)) {
        for (std::uint32_t v = 0; v < def_.space.values; ++v)
            entity.values[v] = std::floor(random_.between(-8, 9));
    }
    std::vector<NodeId> own;
    const EntityDef def = def_of(entity, own, false);
    EntityDef with_id = def;
    with_id.id = entity.id;
    expect(manager_.spawn(with_id) == entity.id ? Status::ok : Status::bad_argument, "spawn");
    born_.insert(entity.id);
    count("spawn", entity.id);
    if (def_.keeps_log) {
        note("at " + text_of(entity.position) + (entity.has_position ? "" : ", abstract") +
             ", flags " + std::to_string(entity.flags) + ", keys " +
             std::to_string(index_of(entity.keys[0])) + " " +
             std::to_string(index_of(entity.keys[1])) + ", values " +
             std::to_string(entity.values[0]) + " " + std::to_string(entity.values[1]) +
             ", range " + std::to_string(entity.range) +
             (counts_by_bounds(entity) ? ", by bounds" : "") + ", mode " +
             std::to_string(static_cast<int>(entity.mode)) + ", kind " +
             std::to_string(index_of(entity.kind)));
        note_nodes(entity);
    }
    query_again(entity.id);
}

void RandomWorld::note_nodes(const check::TruthEntity& entity) {
    std::string text = entity.orphaned ? "orphaned" : "bound to";
    for (const NodeId node : entity.nodes) text += " " + std::to_string(index_of(node));
    note(text);
}

/// Custom nodes that are not evaluated every tick need a recheck.
void RandomWorld::query_again(EntityId entity) {
    if (has(Feature::custom_nodes)) expect(manager_.recheck(entity), "recheck");
}

void RandomWorld::query_again(ObserverId observer) {
    if (has(Feature::custom_nodes)) expect(manager_.recheck(observer), "rescan");
}

void RandomWorld::despawn() {
    if (auto* entity = random_entity(); entity != nullptr) despawn(entity->id);
}

void RandomWorld::despawn(EntityId id) {
    for (const EntityId member : members_of(id)) detach(entities_[index_of(member)]);
    if (entities_[index_of(id)].root == id) {
        for (const EntityId split : splits_below(id)) detach(entities_[index_of(split)]);
    }
    rehang_children(entities_[index_of(id)]);
    for (auto& observer : observers_) {
        if (observer.main == id) observer.main = EntityId::none;
        std::erase(observer.allowed, id);
        std::erase(observer.denied, id);
        std::erase_if(observer.areas,
                      [&](const check::TruthArea& area) { return area.area.follow == id; });
    }
    expect(manager_.despawn(id), "despawn");
    for (auto& entity : entities_) {
        if (entity.stands_at != id) continue;
        entity.stands_at = EntityId::none;
        let_go_.insert(entity.id);
    }
    entities_[index_of(id)] = {};
    quarantined_.push_back(index_of(id));
    count("despawn", id);
}

void RandomWorld::join_unit() {
    auto* member = random_entity();
    auto* root = random_unit();
    if (member == nullptr || root == nullptr || member == root) return;
    if (!has(Feature::nested) && has_members(member->id)) return;
    if (member->root == member->id && is_split(*member)) {
        const std::vector<EntityId> members = members_of(root->id);
        const auto some = static_cast<std::uint32_t>(members.size());
        const bool is_deep = some > 0 && random_.chance(0.5F);
        return join_split(*member, is_deep ? members[random_.below(some)] : root->id);
    }
    if (member->root == root->id || is_below(root->id, member->id)) return;
    std::vector<std::pair<EntityId, EntityId>> old_roots{{member->id, member->root}};
    for (const EntityId other : members_of(member->id)) old_roots.emplace_back(other, member->id);
    // A member cannot have a position source, so it is removed before the join.
    const EntityId stood_at = std::exchange(member->stands_at, EntityId::none);
    for (const auto& [client, old] : old_roots) entities_[index_of(client)].root = root->id;
    const bool would_circle = is_circular();  // its source is its own member
    for (const auto& [client, old] : old_roots) entities_[index_of(client)].root = old;
    if (would_circle) {
        member->stands_at = stood_at;
        return;
    }
    if (stood_at != EntityId::none)
        expect(manager_.set_position_source(member->id, EntityId::none), "set_position_source");
    rehang_children(*member);
    for (const auto& [client, old] : old_roots) entities_[index_of(client)].root = root->id;
    if (old_roots.front().second == member->id) ++member->joins;
    // Joins below the root or below one of its members.
    const std::vector<EntityId> below = members_of(root->id);
    EntityId parent = root->id;
    if (random_.chance(0.5F)) {
        const EntityId one = below[random_.below(static_cast<std::uint32_t>(below.size()))];
        const bool moves = one == member->id ||
                           std::any_of(old_roots.begin(), old_roots.end(),
                                       [&](const auto& client) { return client.first == one; });
        if (!moves) parent = one;
    }
    for (const auto& [client, old] : old_roots) {
        check::TruthEntity& moved = entities_[index_of(client)];
        if (client != member->id && moved.parent == EntityId::none) moved.parent = member->id;
    }
    member->parent = parent;
    expect(manager_.attach(member->id, parent), "join_unit");
    count("join_unit", member->id);
    note("to " + name_of(root->id) + " below " + name_of(parent));
    query_again(root->id);
}

/// An independently culled entity remains a cull group and keeps its state.
void RandomWorld::join_split(check::TruthEntity& member, EntityId parent) {
    const bool is_circle = is_below(parent, member.id);
    expect(manager_.attach(member.id, parent), is_circle ? Status::bad_argument : Status::ok,
           "join_unit");
    if (is_circle) return;
    member.parent = parent;
    count("join_unit", member.id);
    note("culled independently, below " + name_of(parent));
}

/// Moves the children of a member that leaves to its parent.
void RandomWorld::rehang_children(const check::TruthEntity& member) {
    if (member.root == member.id) return;
    for (check::TruthEntity& one : entities_) {
        if (one.id != EntityId::none && one.parent == member.id) one.parent = member.parent;
    }
}

void RandomWorld::detach(check::TruthEntity& entity) {
    const EntityId root = entity.root;
    if (root == entity.id) {  // independently culled: keeps its state and its children
        entity.parent = EntityId::none;
        expect(manager_.detach(entity.id, {}), "leave_unit");
        return count("leave_unit", entity.id);
    }
    rehang_children(entity);
    entity.root = entity.id;
    entity.parent = EntityId::none;
    std::vector<NodeId> own;
    const EntityDef def = def_of(entity, own, true);
    expect(manager_.detach(entity.id, def), "leave_unit");
    if (has(Feature::sight))
        expect(manager_.set_velocity(entity.id, entity.velocity), "set_velocity");
    count("leave_unit", entity.id);
    if (def_.keeps_log) note("kind " + std::to_string(index_of(entity.kind)));
    query_again(entity.id);
    query_again(root);
}

void RandomWorld::leave_unit() {
    auto* entity = random_entity();
    if (entity == nullptr) return;
    if (entity->root != entity->id || entity->parent != EntityId::none) detach(*entity);
}

void RandomWorld::set_flag() {
    auto* entity = random_entity();
    if (entity == nullptr) return;
    const std::uint32_t flag = random_.below(def_.space.twins.flags);
    entity->flags ^= static_cast<std::uint16_t>(1U << flag);
    expect(manager_.set_flag(entity->id, id_at<FlagId>(flag), ((entity->flags >> flag) & 1U) != 0),
           "set_flag");
    count("set_flag", entity->id);
    note("flags " + std::to_string(entity->flags));
}

void RandomWorld::set_key() {
    auto* entity = random_entity();
    if (entity == nullptr) return;
    const KeyId domain = random_domain();
    entity->keys[index_of(domain)] = random_key(true);
    expect(manager_.set_key(entity->id, domain, entity->keys[index_of(domain)]), "set_key");
    count("set_key", entity->id);
    note(std::to_string(index_of(domain)) + " to " +
         std::to_string(index_of(entity->keys[index_of(domain)])));
}

void RandomWorld::set_owner() {
    auto* entity = random_entity();
    auto* observer = random_observer();
    if (entity == nullptr || observer == nullptr) return;
    entity->owner = random_.chance(0.3F) ? ObserverId::none : observer->id;
    expect(manager_.set_owner(entity->id, entity->owner), "set_owner");
    count("set_owner", entity->id, entity->owner);
}

void RandomWorld::add_key() {
    auto* entity = random_entity();
    if (entity == nullptr) return;
    const check::TruthKey more{random_domain(), random_key(false)};
    entity->more_keys.push_back(more);
    expect(manager_.add_key(entity->id, more.domain, more.key), "add_key");
    count("add_key", entity->id);
}

void RandomWorld::remove_key() {
    // Continues to the next entity that has any.
    auto* entity = random_entity();
    while (entity != nullptr && entity->more_keys.empty())
        entity = entity == &entities_.back() ? nullptr : entity + 1;
    if (entity == nullptr) return;
    auto& keys = entity->more_keys;
    const auto at = keys.begin() + random_.below(static_cast<std::uint32_t>(keys.size()));
    const check::TruthKey more = *at;
    keys.erase(at);
    expect(manager_.remove_key(entity->id, more.domain, more.key), "remove_key");
    count("remove_key", entity->id);
}

void RandomWorld::set_value() {
    auto* unit = random_unit();
    if (unit == nullptr) return;
    const std::uint32_t value = random_.below(def_.space.values);
    unit->values[value] = std::floor(random_.between(-8, 9));
    expect(manager_.set_value(unit->id, id_at<ValueId>(value), unit->values[value]), "set_value");
    count("set_value", unit->id);
    note(std::to_string(value) + " to " + std::to_string(unit->values[value]));
}

void RandomWorld::set_range() {
    auto* unit = random_unit();
    if (unit == nullptr || !(range_max() > 0)) return;
    unit->range = random_.chance(0.25F) ? 0 : length(2, range_max() - 1);
    expect(manager_.set_range(unit->id, unit->range), "set_range");
    count("set_range", unit->id);
    note("to " + std::to_string(unit->range));
}

void RandomWorld::set_group_radius() {
    auto* unit = random_unit();
    for (int tries = 0; tries < 8 && unit != nullptr && !counts_by_bounds(*unit); ++tries)
        unit = random_unit();
    if (unit == nullptr || !counts_by_bounds(*unit)) return;
    const float most = def_.rules.group_radius_max;
    const float wanted = random_.chance(0.2F) ? 0 : length(0, most * 1.2F);
    unit->group_radius_m = std::min(wanted, most);
    expect(manager_.set_group_radius(unit->id, wanted), "set_group_radius");
    count("set_group_radius", unit->id);
    note("to " + std::to_string(wanted));
}

bool RandomWorld::counts_by_bounds(const check::TruthEntity& unit) const {
    return index_of(unit.kind) < def_.kinds.size() &&
           def_.kinds[index_of(unit.kind)].uses_group_radius;
}

void RandomWorld::set_mode() {
    auto* unit = random_entity();
    if (unit == nullptr) return;
    unit->mode = EntityMode::nodes;
    if (random_.chance(0.3F))
        unit->mode = random_.chance(0.4F) ? EntityMode::global : EntityMode::explicit_only;
    expect(manager_.set_mode(unit->id, unit->mode), "set_mode");
    count("set_mode", unit->id);
    note("to " + std::to_string(static_cast<int>(unit->mode)));
}

unsigned RandomWorld::chain_limit() const {
    return has(Feature::chains) ? chain_links_max : 1;
}

/// Returns the number of position sources in the chain that starts at a cull group.
unsigned RandomWorld::chain_from(const check::TruthEntity& unit) const {
    const check::TruthEntity* at = &unit;
    unsigned found = 0;
    while (found <= entities_.size()) {
        const check::TruthEntity* other = alive(at->stands_at);
        if (other == nullptr) return found;
        at = &entities_[index_of(other->root)];
        ++found;
    }
    return ~0U;
}

/// Returns the length of the longest chain of position sources that ends at a cull group.
unsigned RandomWorld::chain_to(EntityId unit) const {
    unsigned longest = 0;
    for (const auto& entity : entities_) {
        const check::TruthEntity* other = alive(entity.stands_at);
        if (other == nullptr || other->root != unit) continue;
        longest = std::max(longest, 1 + chain_to(entity.id));
    }
    return longest;
}

/// Returns whether position sources form a cycle, a chain that is too long, or a source without a
/// position.
bool RandomWorld::is_circular() const {
    if (!has(Feature::position_sources)) return false;
    return std::any_of(entities_.begin(), entities_.end(), [&](const check::TruthEntity& entity) {
        if (entity.id == EntityId::none) return false;
        const check::TruthEntity* other = alive(entity.stands_at);
        if (!has(Feature::abstract_sources) && other != nullptr &&
            !(entity.has_position && entities_[index_of(other->root)].has_position))
            return true;
        return chain_from(entity) > chain_limit();
    });
}

void RandomWorld::set_position_source() {
    auto* unit = random_unit();
    auto* other = random_entity();
    if (unit == nullptr || other == nullptr) return;
    const EntityId before = unit->stands_at;
    unit->stands_at = random_.chance(0.3F) ? EntityId::none : other->id;
    Status should = Status::ok;
    if (chain_from(*unit) == ~0U) {
        should = Status::would_cycle;
    } else if (chain_from(*unit) + chain_to(unit->id) > chain_limit()) {
        unit->stands_at = before;  // position_source_limits_test.cpp covers how links are counted
        return;
    } else if (is_circular()) {
        unit->stands_at = before;
        return;
    }
    expect(manager_.set_position_source(unit->id, unit->stands_at), should, "set_position_source");
    note("position source " + name_of(unit->stands_at));
    if (should != Status::ok) unit->stands_at = before;
    if (unit->stands_at == EntityId::none && before != EntityId::none)
        unit->received_position = unit->position;
    count("set_position_source", unit->id);
}

void RandomWorld::set_velocity() {
    auto* unit = random_unit();
    if (unit == nullptr) return;
    unit->velocity = {length(-20, 20), length(-20, 20), length(-20, 20)};
    expect(manager_.set_velocity(unit->id, unit->velocity), "set_velocity");
    count("set_velocity", unit->id);
    note("to " + text_of(unit->velocity));
}

void RandomWorld::add_node() {
    auto* unit = random_unit();
    if (unit == nullptr || node_count() == 0) return;
    const NodeId node = random_node();
    check::bind(*unit, node);
    expect(manager_.bind(unit->id, node), "add_node");
    count("add_node", unit->id);
    note_nodes(*unit);
    note_entity(*unit);
    query_again(unit->id);
}

void RandomWorld::remove_node() {
    auto* unit = random_unit();
    if (unit == nullptr || node_count() == 0) return;
    NodeId node = random_node();
    if (!unit->nodes.empty() && random_.chance(0.7F)) node = unit->nodes.front();
    if (index_of(node) >= node_count()) return;
    Status should = Status::not_found;
    if (check::unbind(*unit, node)) should = unit->orphaned ? Status::orphaned : Status::ok;
    expect(manager_.unbind(unit->id, node), should, "remove_node");
    count("remove_node", unit->id);
    note_nodes(*unit);
    note_entity(*unit);
    query_again(unit->id);
}

void RandomWorld::set_nodes() {
    auto* unit = random_unit();
    if (unit == nullptr || node_count() == 0) return;
    std::vector<NodeId> nodes;
    for (std::uint32_t i = random_.below(4); i > 0; --i) nodes.push_back(random_node());
    check::bind_exactly(*unit, nodes);
    const Status got = manager_.rebind(unit->id, nodes);
    if (!nodes.empty() || got != Status::orphaned) expect(got, "set_nodes");
    count("set_nodes", unit->id);
    note_nodes(*unit);
    note_entity(*unit);
    query_again(unit->id);
}

void RandomWorld::add_default_node() {
    auto* unit = random_unit();
    if (unit == nullptr) return;
    if (!unit->orphaned && random_.chance(0.5F)) return;
    check::bind_default(*unit);
    expect(manager_.bind_default(unit->id), "add_default_node");
    count("add_default_node", unit->id);
    note_nodes(*unit);
    note_entity(*unit);
    query_again(unit->id);
}

void RandomWorld::force_hide() {
    auto* unit = random_entity();
    if (unit == nullptr) return;
    unit->force_hidden = random_.chance(0.4F);
    expect(manager_.set_hidden(unit->id, unit->force_hidden), "set_hidden");
    count("set_hidden", unit->id);
    note(unit->force_hidden ? "yes" : "no");
}

void RandomWorld::show_to_all() {
    auto* unit = random_entity();
    if (unit == nullptr) return;
    unit->shown_to_all = random_.chance(0.2F);
    const bool is_cut_off = unit->root != unit->id && unit->shown_to_all &&
                            entities_[index_of(unit->root)].force_hidden;
    expect(manager_.show_to_all(unit->id, unit->shown_to_all),
           is_cut_off ? Status::hidden_by_root : Status::ok, "show_to_all");
    count("show_to_all", unit->id);
    note(unit->shown_to_all ? "yes" : "no");
}

void RandomWorld::recheck() {
    auto* entity = random_entity();
    if (entity == nullptr) return;
    auto& marks = choice_->entity_marks;
    const std::uint32_t index = index_of(entity->root);
    if (marks.size() <= index) marks.resize(index + 1, 0);
    marks[index] ^= 1U;
    expect(manager_.recheck(entity->root), "recheck");
    count("recheck", entity->root);
}

void RandomWorld::update() {
    auto* entity = random_entity();
    if (entity == nullptr) return;
    // An update of a member applies to its group.
    check::TruthEntity& unit = entities_[index_of(entity->root)];
    unit.received_position = unit.position;
    expect(manager_.update(entity->id), "update");
    count("update", entity->id);
}

void RandomWorld::teleport() {
    auto* entity = random_entity();
    if (entity == nullptr) return;
    entity->position = random_position();
    note_entity(*entity);
    expect(manager_.move(entity->id, entity->position), "move");
    count("teleport", entity->id);
    note("to " + text_of(entity->position));
}

// -- observers ----------------------------------------------------------------------------------

void RandomWorld::add_observer() {
    if (observers_.size() >= observers_at_most) return;
    const ObserverId made = manager_.add_observer({.is_ready = false});
    expect(made != ObserverId::none ? Status::ok : Status::capacity, "add_observer");
    if (made == ObserverId::none) return;
    check::TruthObserver observer;
    observer.id = made;
    observer.ready = random_.chance(0.85F);
    expect(manager_.set_ready(observer.id, observer.ready), "set_ready");
    if (auto* entity = random_entity(); entity != nullptr && random_.chance(0.8F)) {
        observer.main = entity->id;
        expect(manager_.set_viewpoint(observer.id, entity->id), "set_viewpoint");
        if (random_.chance(0.7F)) {
            entity->owner = observer.id;
            expect(manager_.set_owner(entity->id, observer.id), "set_owner");
        }
    }
    observers_.push_back(observer);
    count("add_observer", observer.main, observer.id);
    query_again(observer.id);
}

void RandomWorld::remove_observer() {
    if (observers_.size() <= 2) return;
    const std::uint32_t at = random_.below(static_cast<std::uint32_t>(observers_.size()));
    const ObserverId id = observers_[at].id;
    expect(manager_.remove_observer(id), "remove_observer");
    for (auto& entity : entities_) {
        if (entity.owner == id) entity.owner = ObserverId::none;
    }
    removed_.push_back(id);
    observers_.erase(observers_.begin() + at);
    count("remove_observer", EntityId::none, id);
}

void RandomWorld::set_ready() {
    auto* observer = random_observer();
    if (observer == nullptr) return;
    if (const bool ready = random_.chance(0.85F); ready != observer->ready) {
        observer->ready = ready;
        observer->times_ready += ready ? 1 : 0;
    }
    expect(manager_.set_ready(observer->id, observer->ready), "set_ready");
    count("set_ready", EntityId::none, observer->id);
    note(observer->ready ? "yes" : "no");
    query_again(observer->id);
}

void RandomWorld::set_viewpoint() {
    auto* observer = random_observer();
    auto* entity = random_entity();
    if (observer == nullptr || entity == nullptr) return;
    const bool had_none = observer->main == EntityId::none;
    observer->main = random_.chance(0.2F) ? EntityId::none : entity->id;
    // Without a viewpoint it was not ready, at least for a moment within this tick.
    if (def_.needs_entity && had_none && observer->main != EntityId::none) ++observer->times_ready;
    expect(manager_.set_viewpoint(observer->id, observer->main), "set_viewpoint");
    count("set_viewpoint", observer->main, observer->id);
    query_again(observer->id);
}

Area RandomWorld::random_area() {
    Area area = Area::at(random_position());
    if (has(Feature::shapes) && random_.chance(0.7F)) {
        const Vec3 center = area.center;
        switch (random_.below(3)) {
            case 0:
                area = Area::sphere(center, length(4, 50));
                break;
            case 1: {
                Vec3 half{length(4, 40), length(4, 40), length(4, 40)};
                // The size along an unused axis may be anything.
                const float sign = random_.chance(0.3F) ? -1.0F : 1.0F;
                if (rules_.axes == Axes::xy) half.z *= sign;
                if (rules_.axes == Axes::xz) half.y *= sign;
                area = Area::box(center, half);
                break;
            }
            default: {
                Vec3 towards{random_.between(-3, 3), random_.between(-3, 3),
                             random_.between(-3, 3)};
                towards.x += towards.x < 0 ? -0.1F : 0.1F;  // never of length 0
                area = Area::cone(center, towards, random_.between(10, 170), length(8, 80));
                break;
            }
        }
    }
    if (!has(Feature::areas)) return area;
    if (auto* entity = random_entity(); entity != nullptr && random_.chance(0.3F)) {
        area.center = {length(-12, 12), length(-12, 12), length(-12, 12)};
        area = area.following(entity->id);
    }
    if (random_.chance(0.25F)) area = area.lasting(1 + random_.below(8));
    return area;
}

void RandomWorld::put_area(check::TruthObserver& observer, std::uint32_t key, const Area& area) {
    std::erase_if(observer.areas,
                  [&](const check::TruthArea& one) { return def_.single_area || one.key == key; });
    observer.areas.emplace_back(area, key, tick_);
}

void RandomWorld::set_area() {
    auto* observer = random_observer();
    if (observer == nullptr) return;
    const std::uint32_t key = random_.below(area_keys);
    const Area area = random_area();
    put_area(*observer, key, area);
    expect(manager_.set_area(observer->id, key, area), "set_area");
    count("set_area", EntityId::none, observer->id);
    note("key " + std::to_string(key) + " " + text_of(area));
}

void RandomWorld::remove_area() {
    auto* observer = random_observer();
    if (observer == nullptr) return;
    // Removes only areas without a time limit: a timed one may have just ended.
    const auto found =
        std::find_if(observer->areas.begin(), observer->areas.end(),
                     [](const check::TruthArea& area) { return area.area.ticks == 0; });
    if (found == observer->areas.end()) return;
    expect(manager_.remove_area(observer->id, found->key), "remove_area");
    observer->areas.erase(found);
    count("remove_area", EntityId::none, observer->id);
}

void RandomWorld::set_areas() {
    auto* observer = random_observer();
    if (observer == nullptr) return;
    std::vector<Area> areas;
    for (std::uint32_t i = random_.below(def_.single_area ? 2 : 4); i > 0; --i)
        areas.push_back(random_area());
    observer->areas.clear();
    for (const Area& area : areas)
        observer->areas.emplace_back(area, static_cast<std::uint32_t>(observer->areas.size()),
                                     tick_);
    expect(manager_.set_areas(observer->id, areas), "set_areas");
    count("set_areas", EntityId::none, observer->id);
    for (const Area& area : areas) note(text_of(area));
}

void RandomWorld::add_observer_key() {
    auto* observer = random_observer();
    if (observer == nullptr) return;
    const check::TruthKey more{random_domain(), random_key(false)};
    observer->more_keys.push_back(more);
    expect(manager_.add_key(observer->id, more.domain, more.key), "add_observer_key");
    count("add_observer_key", EntityId::none, observer->id);
}

void RandomWorld::remove_observer_key() {
    auto* observer = random_observer();
    if (observer == nullptr || observer->more_keys.empty()) return;
    const check::TruthKey more = observer->more_keys.front();
    observer->more_keys.erase(observer->more_keys.begin());
    expect(manager_.remove_key(observer->id, more.domain, more.key), "remove_observer_key");
    count("remove_observer_key", EntityId::none, observer->id);
}

void RandomWorld::set_observer_range() {
    auto* observer = random_observer();
    if (observer == nullptr || !(def_.rules.observer_range_max > 0)) return;
    observer->range = random_.chance(0.25F) ? 0 : length(2, def_.rules.observer_range_max - 1);
    expect(manager_.set_range(observer->id, observer->range), "set_observer_range");
    count("set_observer_range", EntityId::none, observer->id);
}

void RandomWorld::set_lookahead() {
    auto* observer = random_observer();
    if (observer == nullptr) return;
    observer->lookahead_s = random_.between(0, 2);
    expect(manager_.set_lookahead(observer->id, observer->lookahead_s), "set_lookahead");
    count("set_lookahead", EntityId::none, observer->id);
}

void RandomWorld::set_observer_key() {
    auto* observer = random_observer();
    if (observer == nullptr) return;
    const KeyId domain = random_domain();
    observer->own_keys[index_of(domain)] = random_key(true);
    expect(manager_.set_key(observer->id, domain, observer->own_keys[index_of(domain)]),
           "set_observer_key");
    count("set_observer_key", EntityId::none, observer->id);
}

void RandomWorld::set_unculled() {
    auto* observer = random_observer();
    if (observer == nullptr) return;
    observer->sees_everything = random_.chance(0.15F);
    expect(manager_.set_unculled(observer->id, observer->sees_everything), "set_unculled");
    count("set_unculled", EntityId::none, observer->id);
    note(observer->sees_everything ? "yes" : "no");
}

void RandomWorld::rescan() {
    auto* observer = random_observer();
    if (observer == nullptr) return;
    auto& marks = choice_->observer_marks;
    const std::uint32_t index = index_of(observer->id);
    if (marks.size() <= index) marks.resize(index + 1, 0);
    marks[index] ^= 1U;
    expect(manager_.recheck(observer->id), "rescan");
    count("rescan", EntityId::none, observer->id);
}

bool RandomWorld::is_hidden_by_root(const check::TruthObserver& observer, EntityId root) const {
    const auto& denied = observer.denied;
    if (std::find(denied.begin(), denied.end(), root) != denied.end()) return true;
    if (!entities_[index_of(root)].force_hidden) return false;
    return std::none_of(entities_.begin(), entities_.end(), [&](const check::TruthEntity& one) {
        const bool has_kind = index_of(one.kind) < def_.kinds.size();
        return one.id != EntityId::none && one.root == root && one.owner == observer.id &&
               (!has_kind || def_.kinds[index_of(one.kind)].owner_sees);
    });
}

void RandomWorld::allow_or_deny() {
    auto* observer = random_observer();
    auto* unit = random_entity();
    if (observer == nullptr || unit == nullptr) return;
    const bool is_allow = random_.chance(0.5F);
    auto& list = is_allow ? observer->allowed : observer->denied;
    const auto found = std::find(list.begin(), list.end(), unit->id);
    const bool value = found == list.end();
    if (value) {
        list.push_back(unit->id);
    } else {
        list.erase(found);
    }
    const bool is_cut_off =
        is_allow && value && unit->root != unit->id && is_hidden_by_root(*observer, unit->root);
    expect(is_allow ? manager_.allow(observer->id, unit->id, value)
                    : manager_.deny(observer->id, unit->id, value),
           is_cut_off ? Status::hidden_by_root : Status::ok, "allow or deny");
    count(is_allow ? "allow" : "deny", unit->id, observer->id);
    note(value ? "yes" : "no");
}

// -- rules and nodes ----------------------------------------------------------------------------

void RandomWorld::set_rules() {
    if (rules_changed_) return;  // once a tick: states between two changes are not compared
    rules_changed_ = true;
    if (has(Feature::level) && random_.chance(0.2F)) {  // rules include their level
        level_ = random_.chance(0.5F) ? InterestLevel::full : InterestLevel::none;
        oracle_.set_level(level_);
    }
    take_rules(changed_rules(random_, def_.space, rules_));
    count("set_rules");
}

void RandomWorld::set_level() {
    level_ = random_.chance(0.9F) ? InterestLevel::full
                                  : InterestLevel{static_cast<std::uint8_t>(random_.below(2))};
    manager_.set_level(level_);
    oracle_.set_level(level_);
    count("set_level");
    note("to " + std::to_string(static_cast<int>(level_)));
}

bool RandomWorld::is_table(std::size_t node) const {
    return rules_.nodes[node].custom != nullptr && rules_.nodes[node].enabled &&
           static_cast<const TwinnedNode&>(*rules_.nodes[node].custom).is_table();
}

/// Changes a pair of the table that custom nodes read, and notifies each node.
void RandomWorld::set_node_pair() {
    auto* observer = random_observer();
    auto* unit = random_unit();
    if (observer == nullptr || unit == nullptr) return;
    bool any = false;
    for (std::size_t n = 0; n < node_count(); ++n) any = any || is_table(n);
    if (!any) return;
    const std::pair key{index_of(observer->id), index_of(unit->id)};
    const bool value = choice_->pairs.erase(key) == 0;
    if (value) choice_->pairs.insert(key);
    for (std::size_t n = 0; n < node_count(); ++n) {
        // A node refuses entities that are not its members. It is queried again once they are.
        if (is_table(n) && oracle_.is_member(rules_.nodes[n], n, *unit))
            expect(manager_.set_node_pair(node_at(n), observer->id, unit->id, value),
                   "set_node_pair");
    }
    count("set_node_pair", unit->id, observer->id);
}

/// Changes many pairs of the table, then rescans the nodes.
void RandomWorld::rescan_node() {
    std::vector<NodeId> nodes;
    for (std::size_t n = 0; n < node_count(); ++n) {
        if (rules_.nodes[n].custom != nullptr && rules_.nodes[n].enabled)
            nodes.push_back(node_at(n));
    }
    if (nodes.empty()) return;
    for (int i = 0; i < 20; ++i) {
        const auto* observer = random_observer();
        const auto* unit = random_unit();
        if (observer == nullptr || unit == nullptr) continue;
        const std::pair key{index_of(observer->id), index_of(unit->id)};
        if (choice_->pairs.erase(key) == 0) choice_->pairs.insert(key);
    }
    for (const NodeId node : nodes) expect(manager_.recheck(node), "rescan_node");
    count("rescan_node");
}

void RandomWorld::set_executor() {
    Executor executor;
    executor.workers = 1 + random_.below(4);
    const std::uint32_t how = random_.below(3);
    if (how == 0) executor = {};
    if (how == 1) executor.run = run_backwards;
    if (how == 2) executor.run = run_odd_first;
    if (def_.threads) {
        executor.workers = 2 + random_.below(3);
        executor.run = run_on_threads;
        executor.context = reinterpret_cast<void*>(std::uintptr_t{executor.workers});
    }
    manager_.set_executor(executor);
    count("set_executor");
}

// -- calls that must be refused and change nothing ----------------------------------------------

void RandomWorld::bad_call() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    auto* unit = random_unit();
    auto* observer = random_observer();
    if (unit == nullptr || observer == nullptr) return;
    const EntityId e = unit->id;
    const ObserverId o = observer->id;
    const EntityId gone = make_entity_id(index_of(e), generation_of(e) + 1000);
    const ObserverId no_one = make_observer_id(index_of(o), generation_of(o) + 1000);
    const auto must = [&](Status got, Status should, const char* what) {
        expect(got, should, what);
    };
    const bool extra = random_.chance(0.5F);
    switch (random_.below(14)) {
        case 0:
            must(internal(manager_).entities.spawn(EntityId::none, {}), Status::bad_argument,
                 "spawn none");
            must(internal(manager_).entities.spawn(e, {}), Status::duplicate, "spawn twice");
            break;
        case 1:
            must(manager_.despawn(gone), Status::stale_id, "despawn stale");
            if (has_members(e)) must(manager_.despawn(e), Status::refused, "despawn of a root");
            break;
        case 2:
            must(manager_.move(e, {nan, 0, 0}), Status::bad_position,
                 "move to an invalid position");
            must(manager_.move(gone, {0, 0, 0}), Status::stale_id, "move stale");
            break;
        case 3:
            must(manager_.set_flag(e, id_at<FlagId>(15), true), Status::bad_argument, "set_flag");
            must(manager_.set_key(e, id_at<KeyId>(7), Key{1}), Status::bad_argument, "set_key");
            break;
        case 4:
            must(manager_.set_ready(no_one, true), Status::stale_id, "set_ready stale");
            must(manager_.remove_observer(no_one), Status::stale_id, "remove_observer stale");
            break;
        case 5:
            must(manager_.set_area(o, 3, Area::at(Vec3{0, nan, 0})), Status::bad_position,
                 "set_area at an invalid position");
            must(manager_.remove_area(o, 77), Status::not_found, "remove_area");
            break;
        case 6:
            must(manager_.set_viewpoint(o, gone), Status::stale_id, "set_viewpoint stale");
            must(manager_.allow(o, gone, true), Status::stale_id, "allow stale");
            must(manager_.deny(no_one, e, true), Status::stale_id, "deny stale");
            break;
        case 7:
            if (!has(Feature::shapes)) return;
            must(manager_.set_area(o, 2, Area::sphere({1, 1, 1}, -1)), Status::bad_argument,
                 "set_area with a negative radius");
            must(manager_.set_area(o, 2, Area::cone({1, 1, 1}, {0, 0, 0}, 30, 10)),
                 Status::bad_argument, "set_area without a direction");
            must(manager_.set_area(o, 2, Area::cone({1, 1, 1}, {1, 0, 0}, 180, 10)),
                 Status::bad_argument, "set_area with too wide an angle");
            break;
        case 8:
            if (!has(Feature::areas)) return;
            must(manager_.set_area(o, 2, Area::at({1, 1, 1}).following(gone)), Status::stale_id,
                 "set_area that follows an unknown entity");
            break;
        case 9:
            if (!has(Feature::binding) || node_count() == 0) return;
            must(manager_.bind(e, id_at<NodeId>(1000)), Status::bad_argument, "add_node");
            must(manager_.bind(gone, id_at<NodeId>(0)), Status::stale_id, "add_node stale");
            break;
        case 10:
            if (has(Feature::values) && has(Feature::statuses))
                must(manager_.set_value(e, id_at<ValueId>(0), nan), Status::bad_position,
                     "set_value");
            if (has(Feature::ranges)) {
                must(manager_.set_range(e, -1), Status::bad_argument, "set_range");
                must(manager_.set_range(e, 1e9F), Status::bad_argument, "set_range too far");
                must(manager_.set_range(o, -1), Status::bad_argument, "set_observer_range");
            }
            break;
        case 11:
            if (!has(Feature::position_sources)) return;
            must(manager_.set_position_source(e, e), Status::would_cycle,
                 "set_position_source of itself");
            for (const EntityId member : members_of(e))
                must(manager_.set_position_source(member, EntityId::none), Status::refused,
                     "set_position_source of a member");
            break;
        case 12:
            if (has(Feature::more_keys) && extra)
                must(manager_.remove_key(e, id_at<KeyId>(0), Key{99}), Status::not_found,
                     "remove_key");
            if (has(Feature::custom_nodes))
                must(manager_.set_node_pair(id_at<NodeId>(1000), o, e, true), Status::bad_argument,
                     "set_node_pair");
            break;
        default: {
            if (!has(Feature::new_rules)) return;
            Rules unsound = rules_;
            unsound.node("unsound").add(within(-1));
            if (manager_.set_rules(unsound).empty())
                must(Status::ok, Status::bad_configuration, "set_rules");
            break;
        }
    }
    count("invalid call");
}

}  // namespace purview::test
