// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "random_world.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "purview/kernel.hpp"

namespace purview::test {

namespace {

constexpr float side_m = 200;

InterestManager make_manager(const RandomWorldDef& def) {
    InterestDef interest;
    interest.rules = def.rules;
    interest.flag_count = def.flags;
    interest.key_count = def.keys;
    interest.observers_max = 64;
    interest.window_update = def.window_update;
    auto made = InterestManager::create(interest);
    if (!made) std::abort();
    return std::move(made).value();
}

void must(Status status) {
    if (status != Status::ok) {
        std::printf("unexpected status %s\n", std::string(to_string(status)).c_str());
        std::abort();
    }
}

}  // namespace

namespace {

/// Kernels of our own. What the twin needs to know stands in fields that a custom step does not
/// use: enter_m > 0: within that by the sum of both axes; else: every (flag + 2)nd entity.
KernelDesc random_custom(SplitMix& random) {
    KernelDesc kernel;
    kernel.type = KernelType::custom;
    if (random.chance(0.6F)) {
        const float reach = kernel.enter_m = random.between(5, 60);
        kernel.custom = make_pair_kernel(
            {.name = "both axes", .reach_m = reach}, [reach](const Pair& p) noexcept {
                for (const Vec3 place : p.places()) {
                    if (std::fabs(p.place().x - place.x) + std::fabs(p.place().y - place.y) <=
                        reach)
                        return true;
                }
                return false;
            });
        return kernel;
    }
    const auto every = static_cast<std::uint8_t>(random.below(3));
    kernel.flag = FlagId{every};
    kernel.custom = make_pair_kernel(
        {.name = "every so many", .reads_places = false},
        [every](const Pair& p) noexcept { return index_of(p.entity()) % (every + 2U) == 0; });
    return kernel;
}

check::CustomAnswer custom_twin(const KernelDesc& kernel, const check::TruthObserver&,
                                const std::vector<Vec3>& places, const check::TruthEntity& unit) {
    using check::CustomAnswer;
    if (!(kernel.enter_m > 0)) {
        const bool yes = index_of(unit.id) % (index_of(kernel.flag) + 2U) == 0;
        return yes ? CustomAnswer::yes : CustomAnswer::no;
    }
    if (places.empty() || !unit.placed) return CustomAnswer::unknown;
    for (const Vec3 place : places) {
        const float dx = unit.place.x - place.x, dy = unit.place.y - place.y;
        if (std::fabs(dx) + std::fabs(dy) <= kernel.enter_m) return CustomAnswer::yes;
    }
    return CustomAnswer::no;
}

}  // namespace

InterestRules random_rules(SplitMix& random, std::uint32_t flags, std::uint32_t keys) {
    InterestRules rules;
    rules.bounds_min = {0, 0, 0};
    rules.bounds_max = {side_m, side_m, 0};
    rules.entities_expected = 200;
    rules.cell_m = random.chance(0.5F) ? random.between(4, 60) : 0;
    const std::uint32_t nodes = 1 + random.below(3);
    for (std::uint32_t n = 0; n < nodes; ++n) {
        NodeDesc node;
        node.name = "node" + std::to_string(n);
        node.type = NodeType::grid;
        const std::uint32_t steps = 1 + random.below(5);
        for (std::uint32_t s = 0; s < steps; ++s) {
            StepDesc step;
            step.op = s == 0 ? StepOp::add : StepOp{static_cast<std::uint8_t>(random.below(3))};
            if (random.chance(0.12F)) {
                step.kernel = random_custom(random);
                node.steps.push_back(step);
                continue;
            }
            switch (random.below(s == 0 ? 4 : 5)) {
                case 0:
                case 1:
                    step.kernel.type = KernelType::distance;
                    step.kernel.enter_m = random.between(3, 60);
                    step.kernel.leave_m = step.kernel.enter_m *
                                          (random.chance(0.7F) ? random.between(1, 1.5F) : 1.0F);
                    break;
                case 2:
                    step.kernel.type = KernelType::same_group;
                    step.kernel.domain = KeyDomain{static_cast<std::uint8_t>(random.below(keys))};
                    break;
                default:
                    step.kernel.type = KernelType::flag;
                    step.kernel.flag = FlagId{static_cast<std::uint8_t>(random.below(flags))};
                    break;
            }
            node.steps.push_back(step);
        }
        rules.nodes.push_back(std::move(node));
    }
    return rules;
}

RandomWorld::RandomWorld(const RandomWorldDef& def)
    : def_(def), random_(def.seed), manager_(make_manager(def)), oracle_(def.rules, 1) {
    manager_.set_lane_shuffle(def.shuffle_cells, def.seed);
    oracle_.set_custom_twin(custom_twin);
    for (std::uint32_t i = 0; i < def.entities; ++i) spawn();
    for (std::uint32_t i = 0; i < def.observers; ++i) add_observer();
}

Vec3 RandomWorld::random_place() {
    // Beyond the bounds too, and often exactly on cell borders.
    Vec3 place{random_.between(-30, side_m + 30), random_.between(-30, side_m + 30), 0};
    if (random_.chance(0.3F)) {
        place.x = static_cast<float>(static_cast<int>(place.x));
        place.y = static_cast<float>(static_cast<int>(place.y));
    }
    return place;
}

check::TruthEntity* RandomWorld::random_entity() {
    if (entities_.empty()) return nullptr;
    auto& entity = entities_[random_.below(static_cast<std::uint32_t>(entities_.size()))];
    return entity.id == EntityId::none ? nullptr : &entity;
}

check::TruthObserver* RandomWorld::random_observer() {
    if (observers_.empty()) return nullptr;
    return &observers_[random_.below(static_cast<std::uint32_t>(observers_.size()))];
}

bool RandomWorld::has_members(EntityId root) const {
    return std::any_of(entities_.begin(), entities_.end(), [&](const check::TruthEntity& e) {
        return e.id != EntityId::none && e.root == root && e.id != root;
    });
}

EntityDef RandomWorld::def_of(const check::TruthEntity& entity) {
    EntityDef def;
    def.place = entity.place;
    def.placed = entity.placed;
    def.flags = entity.flags;
    def.keys = std::span(entity.keys).first(def_.keys);
    return def;
}

void RandomWorld::count(const char* name, EntityId entity, ObserverId observer) {
    ++operations[name];
    trace += std::string(" ") + name;
    if (entity != EntityId::none) trace += " e" + std::to_string(index_of(entity));
    if (observer != ObserverId::none) trace += " o" + std::to_string(index_of(observer));
    trace += ";";
}

void RandomWorld::spawn() {
    std::uint32_t index = 0;
    while (index < entities_.size() &&
           (entities_[index].id != EntityId::none ||
            std::find(resting_.begin(), resting_.end(), index) != resting_.end())) {
        ++index;
    }
    if (index == entities_.size()) {
        entities_.emplace_back();
        generations_.push_back(0);
    }
    auto& entity = entities_[index];
    entity = {};
    entity.id = entity.root = make_entity_id(index, ++generations_[index]);
    entity.place = random_place();
    entity.placed = random_.chance(0.95F);
    entity.flags = static_cast<std::uint16_t>(random_.below(1U << def_.flags)) &
                   static_cast<std::uint16_t>(random_.below(1U << def_.flags));
    for (std::uint32_t d = 0; d < def_.keys; ++d) {
        entity.keys[d] = Key{static_cast<std::uint16_t>(random_.below(4))};
    }
    must(manager_.spawn(entity.id, def_of(entity)));
    count("spawn", entity.id);
}

void RandomWorld::detach(check::TruthEntity& entity) {
    entity.root = entity.id;
    must(manager_.leave_unit(entity.id, def_of(entity)));
    count("detach", entity.id);
}

void RandomWorld::despawn(EntityId id) {
    for (auto& entity : entities_) {
        if (entity.id != EntityId::none && entity.root == id && entity.id != id) detach(entity);
    }
    for (auto& observer : observers_) {
        if (observer.main == id) observer.main = EntityId::none;
        std::erase(observer.allowed, id);
        std::erase(observer.denied, id);
    }
    must(manager_.despawn(id));
    entities_[index_of(id)] = {};
    resting_.push_back(index_of(id));
    count("despawn", id);
}

void RandomWorld::attach() {
    auto* member = random_entity();
    auto* root = random_entity();
    if (member == nullptr || root == nullptr || member == root) return;
    if (root->root != root->id || root->root == member->id || has_members(member->id)) return;
    if (member->root == member->id) ++member->joins;
    // Pairs and marks of a unit end when it joins another one.
    for (auto& observer : observers_) {
        std::erase(observer.allowed, member->id);
        std::erase(observer.denied, member->id);
    }
    member->force_hidden = member->shown_to_all = member->explicit_only = false;
    member->root = root->id;
    must(manager_.join_unit(member->id, root->id));
    count("attach", member->id);
}

void RandomWorld::add_observer() {
    if (observers_.size() >= 32) return;
    auto made = manager_.add_observer();
    if (!made) std::abort();
    check::TruthObserver observer;
    observer.id = *made;
    observer.ready = random_.chance(0.8F);
    must(manager_.set_ready(observer.id, observer.ready));
    if (auto* entity = random_entity(); entity != nullptr && random_.chance(0.8F)) {
        observer.main = entity->id;
        must(manager_.set_main_entity(observer.id, entity->id));
        if (random_.chance(0.7F)) {
            entity->owner = observer.id;
            must(manager_.set_owner(entity->id, observer.id));
        }
    }
    observers_.push_back(observer);
    count("add_observer", observer.main, observer.id);
}

void RandomWorld::remove_observer(std::size_t at) {
    const ObserverId id = observers_[at].id;
    must(manager_.remove_observer(id));
    for (auto& entity : entities_) {
        if (entity.owner == id) entity.owner = ObserverId::none;
    }
    removed_.push_back(id);
    observers_.erase(observers_.begin() + static_cast<std::ptrdiff_t>(at));
    count("remove_observer", EntityId::none, id);
}

void RandomWorld::edit() {
    auto* entity = random_entity();
    auto* observer = random_observer();
    if (entity == nullptr) return spawn();
    const bool is_unit = entity->root == entity->id;
    switch (random_.below(observer == nullptr ? 9 : 20)) {
        case 0:
            return spawn();
        case 1:
            return despawn(entity->id);
        case 2:
            if (def_.groups) attach();
            return;
        case 3:
            if (!is_unit) detach(*entity);
            return;
        case 4: {
            const std::uint32_t flag = random_.below(def_.flags);
            entity->flags ^= static_cast<std::uint16_t>(1U << flag);
            must(manager_.set_flag(entity->id, FlagId{static_cast<std::uint8_t>(flag)},
                                   ((entity->flags >> flag) & 1U) != 0));
            return count("flag", entity->id);
        }
        case 5: {
            const std::uint32_t domain = random_.below(def_.keys);
            entity->keys[domain] = Key{static_cast<std::uint16_t>(random_.below(4))};
            must(manager_.set_key(entity->id, KeyDomain{static_cast<std::uint8_t>(domain)},
                                  entity->keys[domain]));
            return count("key", entity->id);
        }
        case 6:
            if (!is_unit) return;
            entity->force_hidden = random_.chance(0.4F);
            must(manager_.force_hide(entity->id, entity->force_hidden));
            return count("force_hide", entity->id);
        case 7:
            if (!is_unit) return;
            entity->shown_to_all = random_.chance(0.2F);
            must(manager_.show_to_all(entity->id, entity->shown_to_all));
            return count("show_to_all", entity->id);
        case 8:
            return add_observer();
        case 9:
            if (observers_.size() > 2) {
                remove_observer(random_.below(static_cast<std::uint32_t>(observers_.size())));
            }
            return;
        case 10:
            if (const bool ready = random_.chance(0.85F); ready != observer->ready) {
                observer->ready = ready;
                observer->times_ready += ready ? 1 : 0;
            }
            must(manager_.set_ready(observer->id, observer->ready));
            return count("ready", EntityId::none, observer->id);
        case 11:
            observer->main = random_.chance(0.2F) ? EntityId::none : entity->id;
            must(manager_.set_main_entity(observer->id, observer->main));
            return count("main", entity->id, observer->id);
        case 12:
            if (observer->areas.empty() || random_.chance(0.5F)) {
                if (observer->areas.size() >= 4) return;
                observer->areas.push_back(random_place());
                must(manager_.set_area(observer->id,
                                       static_cast<std::uint32_t>(observer->areas.size()),
                                       observer->areas.back()));
                return count("area", EntityId::none, observer->id);
            }
            must(manager_.remove_area(observer->id,
                                      static_cast<std::uint32_t>(observer->areas.size())));
            observer->areas.pop_back();
            return count("area", EntityId::none, observer->id);
        case 13: {
            const std::uint32_t domain = random_.below(def_.keys);
            observer->own_keys[domain] = Key{static_cast<std::uint16_t>(random_.below(4))};
            must(manager_.set_observer_key(observer->id,
                                           KeyDomain{static_cast<std::uint8_t>(domain)},
                                           observer->own_keys[domain]));
            return count("observer_key", EntityId::none, observer->id);
        }
        case 14:
            observer->sees_everything = random_.chance(0.15F);
            must(manager_.set_sees_everything(observer->id, observer->sees_everything));
            return count("sees_everything", EntityId::none, observer->id);
        case 15:
        case 16: {
            if (!is_unit) return;
            auto& list = random_.chance(0.5F) ? observer->allowed : observer->denied;
            const bool is_allow = &list == &observer->allowed;
            const auto found = std::find(list.begin(), list.end(), entity->id);
            const bool value = found == list.end();
            if (value) {
                list.push_back(entity->id);
            } else {
                list.erase(found);
            }
            must(is_allow ? manager_.allow(observer->id, entity->id, value)
                          : manager_.deny(observer->id, entity->id, value));
            return count(is_allow ? "allow" : "deny", entity->id, observer->id);
        }
        case 17:
            entity->owner = random_.chance(0.3F) ? ObserverId::none : observer->id;
            must(manager_.set_owner(entity->id, entity->owner));
            return count("owner", entity->id, observer->id);
        default: {
            entity->place = random_place();
            must(manager_.move(entity->id, entity->place));
            return count("teleport", entity->id);
        }
    }
}

std::string RandomWorld::step() {
    ++tick_;
    trace.clear();
    resting_.clear();
    removed_.clear();
    for (auto& entity : entities_) {
        if (entity.id == EntityId::none || !random_.chance(def_.move_chance)) continue;
        entity.place.x += random_.between(-def_.step_m, def_.step_m);
        entity.place.y += random_.between(-def_.step_m, def_.step_m);
        must(manager_.move(entity.id, entity.place));
        ++operations["move"];
    }
    const std::uint32_t edits = random_.below(12);
    for (std::uint32_t i = 0; i < edits; ++i) edit();
    manager_.tick();
    return compare();
}

void RandomWorld::apply(const Change& change, check::TruthObserver& observer,
                        check::TruthEntity& entity) {
    const auto edit_list = [&](std::vector<EntityId>& list) {
        if (change.value) {
            list.push_back(entity.id);
        } else {
            list.erase(std::find(list.begin(), list.end(), entity.id));
        }
    };
    switch (change.type) {
        case ChangeType::ready:
            observer.ready = change.value;
            observer.times_ready += change.value ? 1 : 0;
            return must(manager_.set_ready(observer.id, change.value));
        case ChangeType::deny:
            edit_list(observer.denied);
            return must(manager_.deny(observer.id, entity.id, change.value));
        case ChangeType::allow:
            edit_list(observer.allowed);
            return must(manager_.allow(observer.id, entity.id, change.value));
        case ChangeType::owner:
            entity.owner = change.value ? observer.id : ObserverId::none;
            return must(manager_.set_owner(entity.id, entity.owner));
        case ChangeType::force_hide:
            entity.force_hidden = change.value;
            return must(manager_.force_hide(entity.id, change.value));
        case ChangeType::show_to_all:
            entity.shown_to_all = change.value;
            return must(manager_.show_to_all(entity.id, change.value));
        case ChangeType::sees_everything:
            observer.sees_everything = change.value;
            return must(manager_.set_sees_everything(observer.id, change.value));
        case ChangeType::flag:
            entity.flags ^= static_cast<std::uint16_t>(1U << index_of(change.flag));
            return must(manager_.set_flag(entity.id, change.flag, change.value));
        case ChangeType::key:
            entity.keys[index_of(change.domain)] = change.key;
            return must(manager_.set_key(entity.id, change.domain, change.key));
        case ChangeType::explicit_only:
            entity.explicit_only = change.value;
            return must(manager_.set_mode(
                entity.id, change.value ? EntityMode::explicit_only : EntityMode::nodes));
        case ChangeType::number:
            return;
        case ChangeType::move:
            entity.place = change.place;
            return must(manager_.move(entity.id, change.place));
    }
}

std::string RandomWorld::check_explain(std::uint32_t pairs) {
    for (std::uint32_t i = 0; i < pairs; ++i) {
        auto* entity = random_entity();
        auto* observer = random_observer();
        if (entity == nullptr || observer == nullptr) return {};
        const Explanation why = manager_.explain(observer->id, entity->id);
        const bool is = manager_.is_relevant(observer->id, entity->id);
        ++explained;
        if (why.relevant != is) return "explain says otherwise than the set:\n" + why.text();
        bool any_node = false;
        for (const ExplainedNode& node : why.nodes) {
            any_node |= node.result;
            if (!node.steps.empty() && node.steps.back().so_far != node.result)
                return "a node is not what its last step leaves:\n" + why.text();
        }
        if (why.stage == Stage::node && !any_node) return "no node decided:\n" + why.text();
        if (why.single.empty() && why.pair.empty()) {
            ++explained_without_change;
            continue;
        }
        // One suggestion is carried out, nothing else; the answer must turn.
        auto* unit = &entities_[index_of(why.unit)];
        if (why.single.empty()) {
            for (const Change& change : why.pair) apply(change, *observer, *unit);
            ++turned_by_pair;
        } else {
            const auto at = random_.below(static_cast<std::uint32_t>(why.single.size()));
            apply(why.single[at], *observer, *unit);
            ++turned_by[why.single[at].type];
        }
        ++tick_;
        removed_.clear();
        manager_.tick();
        if (std::string wrong = compare(); !wrong.empty()) return wrong;
        if (manager_.is_relevant(observer->id, entity->id) == is)
            return "the suggestion does not turn the answer:\n" + why.text();
    }
    return {};
}

std::string RandomWorld::compare() {
    const auto describe = [](EntityId e) {
        return std::to_string(index_of(e)) + "#" + std::to_string(generation_of(e));
    };
    std::set<std::pair<std::uint32_t, EntityId>> once;
    for (const RelevanceEvent& event : manager_.events()) {
        ++events_seen;
        auto& set = replayed_[static_cast<std::uint32_t>(event.observer)];
        if (!once.insert({static_cast<std::uint32_t>(event.observer), event.entity}).second) {
            return "two events of one pair, entity " + describe(event.entity);
        }
        if (event.enter ? !set.insert(event.entity).second : set.erase(event.entity) == 0) {
            return std::string(event.enter ? "enter" : "leave") + " twice, entity " +
                   describe(event.entity) + " reason " + std::string(to_string(event.reason));
        }
    }
    for (const ObserverId id : removed_) {
        if (!replayed_[static_cast<std::uint32_t>(id)].empty())
            return "a removed observer keeps entities";
    }
    oracle_.record(tick_, entities_, observers_);
    for (const auto& observer : observers_) {
        const std::vector<EntityId> expected = oracle_.relevant(observer.id);
        std::vector<EntityId> got;
        manager_.relevant(observer.id, got);
        std::sort(got.begin(), got.end());
        pairs_compared += entities_.size();
        pairs_relevant += expected.size();
        const std::string where = " (tick " + std::to_string(tick_) + ", observer " +
                                  std::to_string(index_of(observer.id)) + ", seed " +
                                  std::to_string(def_.seed) + ")";
        if (got != expected) {
            std::vector<EntityId> wrong;
            std::set_symmetric_difference(got.begin(), got.end(), expected.begin(), expected.end(),
                                          std::back_inserter(wrong));
            if (wrong.empty()) return "an entity is listed twice" + where;
            const bool extra = std::find(got.begin(), got.end(), wrong[0]) != got.end();
            return std::string(extra ? "shown but should not be: " : "should be shown: ") +
                   describe(wrong[0]) + where;
        }
        const auto& replayed = replayed_[static_cast<std::uint32_t>(observer.id)];
        if (!std::equal(replayed.begin(), replayed.end(), expected.begin(), expected.end())) {
            return "events do not add up to the set" + where;
        }
        for (const auto& entity : entities_) {
            if (entity.id == EntityId::none) continue;
            const bool expect = std::binary_search(expected.begin(), expected.end(), entity.id);
            if (manager_.is_relevant(observer.id, entity.id) != expect) {
                return "is_relevant disagrees with relevant" + where;
            }
        }
    }
    return {};
}

}  // namespace purview::test
