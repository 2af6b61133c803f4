// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The creation and the tick of a random world. oracle_operations.cpp has the operations and
// oracle_checks.cpp the comparisons.
#include "random_world.hpp"
#include "core/internal_access.hpp"
#include "interest/make_manager.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace purview::test {

namespace {

constexpr std::uint32_t kinds_max = 5;

InterestManager manager_of(const RandomWorldDef& def) {
    Rules rules = def.rules;
    rules.flag_names.resize(def.space.twins.flags);
    rules.key_names.resize(def.space.twins.keys);
    rules.value_names.resize(def.space.values);
    rules.kinds = def.kinds;
    rules.observers_max = 64;
    rules.single_area = def.single_area;
    rules.ready_requires_viewpoint = def.needs_entity;
    rules.count_observers = def.space.features.has(Feature::counts);
    rules.measure_scores = def.measures_changed;
    if (const std::string wrong = problem_of(rules); !wrong.empty()) {
        std::printf("cannot create the manager: %s\n%s\n", wrong.c_str(),
                    text_of(def.rules).c_str());
        (void)std::fflush(stdout);
        std::abort();
    }
    return purview::make_manager(rules, def.window_update, LogSink::none());
}

/// The rules of the oracle: those of the engine, or deliberately wrong ones.
Rules oracle_rules(const RandomWorldDef& def) {
    Rules rules = def.rules;
    if (def.injected_fault != InjectedFault::other_rules) return rules;
    for (NodeDef& node : rules.nodes) {
        for (Kernel& step : node.steps) {
            step.enter += 1;
            step.leave += 1;
        }
    }
    return rules;
}

KindRules random_kind(SplitMix& random, const RuleSpace& space, const Rules& rules) {
    KindRules kind;
    const auto has = [&](Feature feature) { return space.features.has(feature); };
    const auto nodes = static_cast<std::uint32_t>(rules.nodes.size());
    if (has(Feature::binding) && nodes > 0) {
        for (std::uint32_t i = random.below(3); i > 0; --i)
            kind.nodes.push_back(id_at<NodeId>(random.below(nodes)));
        kind.needs_node = random.chance(0.3F);
    }
    if (has(Feature::modes) && random.chance(0.12F))
        kind.mode = random.chance(0.3F) ? EntityMode::global : EntityMode::explicit_only;
    kind.owner_sees = random.chance(0.7F);
    if (!rules.range_classes.empty() && random.chance(0.5F))
        kind.range = random.between(3, rules.range_classes.back());
    if (rules.group_radius_max > 0) kind.uses_group_radius = random.chance(0.5F);
    if (has(Feature::splits)) {
        kind.culled_independently = random.chance(0.5F);
        kind.keeps_ancestors = random.chance(0.7F);
    }
    return kind;
}

}  // namespace

RandomWorldDef random_def(std::uint64_t seed, Features features) {
    SplitMix random(seed);
    RandomWorldDef def;
    def.seed = seed;
    def.space.features = features;
    TwinSpace& twins = def.space.twins;
    if (features.has(Feature::axes) && random.chance(0.6F))
        twins.axes = random.chance(0.5F) ? Axes::xz : Axes::xyz;
    twins.flags = 2;
    twins.keys = 2;
    twins.side_m = random.chance(0.3F) ? 120 : 200;
    twins.lattice = random.chance(0.3F);
    twins.choice = std::make_shared<PairChoice>();
    def.rules = random_rules(random, def.space);
    if (features.has(Feature::kinds)) {
        for (std::uint32_t i = random.below(kinds_max); i > 0; --i)
            def.kinds.push_back(random_kind(random, def.space, def.rules));
    }
    def.entities = 20 + random.below(random.chance(0.2F) ? 700 : 260);
    def.observers = 3 + random.below(14);
    def.edits_max = 6 + random.below(20);
    def.window_update = static_cast<WindowUpdate>(random.below(3));
    def.shuffle_cells = random.chance(0.25F) ? 50 : 0;
    def.step_m = random.chance(0.3F) ? 60.0F : 3.0F;
    def.move_chance = random.chance(0.5F) ? 0.4F : 0.05F;
    def.needs_entity = features.has(Feature::needs_entity) && random.chance(0.2F);
    def.single_area = features.has(Feature::single_area) && random.chance(0.15F);
    def.measures_changed = features.has(Feature::changed) && random.chance(0.3F);
    return def;
}

RandomWorld::RandomWorld(const RandomWorldDef& def)
    : def_(def),
      random_(def.seed),
      manager_(manager_of(def)),
      oracle_(oracle_rules(def), 1,
              check::TruthDef{def.kinds, def.needs_entity, InterestLevel::full}),
      rules_(def.rules),
      choice_(def.space.twins.choice) {
    *choice_ = {};
    begin_counting();
    internal(manager_).shuffle.cells = def.shuffle_cells;
    internal(manager_).shuffle.random = SplitMix(def.seed);
    oracle_.set_custom_twin(evaluate_kernel_twin);
    oracle_.set_node_twin(evaluate_node_twin);
    promise_.set_rules(rules_);
    for (std::uint32_t i = 0; i < def.entities; ++i) {
        reseed(1'000'000 + i);
        if (def.left_out_entities.count(i) == 0) {
            spawn();
        } else {
            entities_.emplace_back();
            generations_.push_back(0);
        }
    }
    for (std::uint32_t i = 0; i < def.observers; ++i) {
        reseed(2'000'000 + i);
        if (def.left_out_observers.count(i) == 0) add_observer();
    }
}

void RandomWorld::reseed(std::uint64_t salt) {
    random_ = SplitMix(combine64(combine64(def_.seed, tick_), salt));
}

// -- state --------------------------------------------------------------------------------------

float RandomWorld::length(float low, float high) {
    const float any = random_.between(low, high);
    return def_.space.twins.lattice ? std::floor(any) + 1 : any;
}

Vec3 RandomWorld::random_position() {
    // Also beyond the bounds, and often exactly on cell borders. Unused axes may have any value.
    const TwinSpace& twins = def_.space.twins;
    const float side = twins.side_m;
    Vec3 position{random_.between(-30, side + 30), random_.between(-30, side + 30),
                  random_.between(-30, side + 30)};
    if (twins.axes == Axes::xyz) position.z = random_.between(-10, def_.space.height + 10);
    if (twins.lattice || random_.chance(0.3F))
        position = {std::floor(position.x), std::floor(position.y), std::floor(position.z)};
    return position;
}

Vec3 RandomWorld::random_step() {
    const float far = def_.step_m;
    Vec3 step{random_.between(-far, far), random_.between(-far, far), random_.between(-far, far)};
    if (def_.space.twins.lattice)
        step = {std::round(step.x), std::round(step.y), std::round(step.z)};
    return step;
}

check::TruthEntity* RandomWorld::random_entity() {
    if (entities_.empty()) return nullptr;
    auto& entity = entities_[random_.below(static_cast<std::uint32_t>(entities_.size()))];
    return entity.id == EntityId::none ? nullptr : &entity;
}

check::TruthEntity* RandomWorld::random_unit() {
    check::TruthEntity* entity = random_entity();
    return entity != nullptr && entity->root == entity->id ? entity : nullptr;
}

check::TruthObserver* RandomWorld::random_observer() {
    if (observers_.empty()) return nullptr;
    return &observers_[random_.below(static_cast<std::uint32_t>(observers_.size()))];
}

const check::TruthEntity* RandomWorld::alive(EntityId entity) const {
    if (entity == EntityId::none || index_of(entity) >= entities_.size()) return nullptr;
    const auto& found = entities_[index_of(entity)];
    return found.id == entity ? &found : nullptr;
}

std::vector<EntityId> RandomWorld::members_of(EntityId root) const {
    std::vector<EntityId> members;
    for (const auto& entity : entities_) {
        if (entity.id != EntityId::none && entity.root == root && entity.id != root)
            members.push_back(entity.id);
    }
    return members;
}

bool RandomWorld::has_members(EntityId root) const {
    return !members_of(root).empty() || !splits_below(root).empty();
}

bool RandomWorld::is_split(const check::TruthEntity& entity) const {
    return index_of(entity.kind) < def_.kinds.size() &&
           def_.kinds[index_of(entity.kind)].culled_independently;
}

/// Independently culled entities directly below it.
std::vector<EntityId> RandomWorld::splits_below(EntityId entity) const {
    std::vector<EntityId> splits;
    for (const auto& one : entities_) {
        if (one.id != EntityId::none && one.root == one.id && one.parent == entity)
            splits.push_back(one.id);
    }
    return splits;
}

/// Returns the root of the whole group.
EntityId RandomWorld::top_of(EntityId entity) const {
    EntityId unit = entities_[index_of(entity)].root;
    while (entities_[index_of(unit)].parent != EntityId::none)
        unit = entities_[index_of(entities_[index_of(unit)].parent)].root;
    return unit;
}

bool RandomWorld::is_below(EntityId entity, EntityId top) const {
    while (entity != top && entity != EntityId::none) entity = entities_[index_of(entity)].parent;
    return entity == top;
}

float RandomWorld::range_max() const {
    return def_.rules.range_classes.empty() ? 0 : def_.rules.range_classes.back();
}

std::size_t RandomWorld::node_count() const {
    return rules_.nodes.size();
}

// -- a tick -------------------------------------------------------------------------------------

void RandomWorld::note(const std::string& text) {
    trace += " " + text + ";";
    if (def_.keeps_log) log += "  " + text + "\n";
}

void RandomWorld::note_entity(check::TruthEntity& entity) {
    if (!oracle_.is_dormant(entity)) entity.received_position = entity.position;
}

std::string RandomWorld::text_of(Vec3 position) {
    std::array<char, 96> text{};
    (void)std::snprintf(text.data(), text.size(), "%.9g %.9g %.9g", static_cast<double>(position.x),
                        static_cast<double>(position.y), static_cast<double>(position.z));
    return text.data();
}

std::string RandomWorld::text_of(const Area& area) {
    static constexpr std::array<const char*, 4> shapes{"point", "sphere", "box", "cone"};
    std::string text = shapes[static_cast<std::size_t>(area.shape)];
    text += " at " + text_of(area.center) + " radius " + std::to_string(area.radius);
    if (area.shape == AreaShape::box) text += " half sides " + text_of(area.half_size);
    if (area.shape == AreaShape::cone)
        text += " toward " + text_of(area.direction) + " angle " +
                std::to_string(area.half_angle_degrees);
    if (area.follow != EntityId::none) text += " following " + name_of(area.follow);
    if (area.ticks > 0) text += " for " + std::to_string(area.ticks);
    return text;
}

void RandomWorld::count(const char* name, EntityId entity, ObserverId observer) {
    ++operations[name];
    did_something_ = true;
    touched_.insert(entity);
    std::string text = name;
    if (entity != EntityId::none) text += " " + name_of(entity);
    if (observer != ObserverId::none) text += " " + name_of(observer);
    note(text);
}

void RandomWorld::expect(Status got, Status should, const char* what) {
    if (got == should || !trouble_.empty()) return;
    trouble_ = std::string(what) + " returns " + std::string(to_string(got)) + ", expected " +
               std::string(to_string(should));
}

void RandomWorld::take_rules(const Rules& rules) {
    Rules with_level = rules;
    with_level.level = level_;
    const bool is_taken = manager_.set_rules(with_level).empty();
    expect(is_taken ? Status::ok : Status::bad_configuration, "set_rules");
    oracle_.set_rules(rules);
    promise_.set_rules(rules);
    rules_ = rules;
    note("rules " + purview::test::text_of(rules));
    for (auto& entity : entities_) {
        if (entity.id != EntityId::none && entity.root == entity.id) note_entity(entity);
    }
    for (std::size_t n = 0; n < node_count(); ++n) {
        if (rules_.nodes[n].custom != nullptr && rules_.nodes[n].enabled)
            expect(manager_.recheck(node_at(n)), "rescan_node");
    }
}

/// Returns the entities within their minimum relevance time, with their whole groups, which this
/// time may show or hide.
std::vector<EntityId> RandomWorld::kept_by_time(const std::vector<check::Verdict>& verdicts) const {
    std::set<EntityId> groups;
    for (const check::Verdict& one : verdicts) {
        if (one.stage == check::TruthStage::stay) groups.insert(top_of(one.entity));
    }
    std::vector<EntityId> out;
    for (const check::TruthEntity& one : entities_) {
        if (one.id != EntityId::none && groups.count(top_of(one.id)) != 0) out.push_back(one.id);
    }
    return out;
}

/// Runs a trial of other rules. Sometimes sets these rules as the only operation of this tick.
bool RandomWorld::begin_trial() {
    in_trial_ = false;
    reseed(3'000'000);
    if (!has(Feature::trials) || tick_ < 3 || !random_.chance(0.09F)) return false;
    const Rules rules = changed_rules(random_, def_.space, rules_);
    Rules with_level = rules;
    with_level.level = level_;
    trial_ = manager_.try_rules(with_level);
    ++operations["try_rules"];
    if (!trial_.problem.empty()) {
        trouble_ = "try_rules returns " + trial_.problem;
        return false;
    }
    const bool has_timed_areas =
        std::any_of(observers_.begin(), observers_.end(), [](const check::TruthObserver& o) {
            return std::any_of(o.areas.begin(), o.areas.end(),
                               [](const check::TruthArea& area) { return area.area.ticks > 0; });
        });
    const bool has_own_nodes =
        std::any_of(rules.nodes.begin(), rules.nodes.end(),
                    [](const NodeDef& node) { return node.custom != nullptr; });
    if (has_own_nodes && !has(Feature::custom_trials)) return false;
    if (has_timed_areas || !has(Feature::new_rules) || random_.chance(0.2F)) return false;
    relevant_before_.clear();
    stays_at_.clear();
    for (const auto& observer : observers_) {
        std::vector<EntityId> set;
        manager_.relevant(observer.id, set);
        const auto number = static_cast<std::uint32_t>(observer.id);
        relevant_before_[number].insert(set.begin(), set.end());
        for (const EntityId entity : kept_by_time(oracle_.verdicts(observer.id)))
            stays_at_[number].insert(entity);
    }
    take_rules(rules);
    count("set_rules");
    in_trial_ = true;
    return true;
}

void RandomWorld::move_some() {
    reseed(4'000'000);
    const std::uint32_t how = random_.below(has(Feature::columns) ? 3 : 2);
    std::vector<Move> moves;
    for (std::uint32_t i = 0; i < entities_.size(); ++i) {
        // Drawn for every index, alive or not: no step depends on another.
        const bool goes = random_.chance(def_.move_chance);
        const Vec3 step = random_step();
        check::TruthEntity& entity = entities_[i];
        if (entity.id == EntityId::none || !goes || def_.left_out_movers.count(i) != 0) continue;
        if (def_.left_out.count("move") != 0) continue;
        entity.position = {entity.position.x + step.x, entity.position.y + step.y,
                           entity.position.z + step.z};
        note_entity(entity);
        moves.push_back({entity.id, entity.position});
        touched_.insert(entity.id);
        if (def_.keeps_log)
            log += "  move " + name_of(entity.id) + " to " + text_of(entity.position) + "\n";
    }
    if (moves.empty()) return;
    did_something_ = true;
    static constexpr const char* names[] = {"move", "move (list)", "move (columns)"};
    operations[names[how]] += how == 0 ? moves.size() : 1;
    if (how == 0) {
        for (const Move& move : moves) expect(manager_.move(move.entity, move.position), "move");
    } else if (how == 1) {
        internal(manager_).positions.move(moves);
    } else {
        // All entities as columns of a wider record. Entities that did not move may be marked, too.
        struct Record {
            float unused, x, y, z;
        };
        std::vector<Record> records;
        std::vector<EntityId> client;
        std::vector<std::uint64_t> changed(entities_.size() / 64 + 1, 0);
        std::set<EntityId> moved;
        for (const Move& move : moves) moved.insert(move.entity);
        for (const auto& entity : entities_) {
            const std::size_t i = client.size();
            if (moved.count(entity.id) != 0 || random_.chance(0.1F)) {
                changed[i / 64] |= std::uint64_t{1} << (i % 64);
                touched_.insert(entity.id);
            }
            client.push_back(entity.id);
            records.push_back({0, entity.position.x, entity.position.y, entity.position.z});
        }
        PositionColumns columns;
        columns.entities = client;
        columns.x = &records[0].x;
        columns.y = &records[0].y;
        columns.z = &records[0].z;
        columns.stride_bytes = sizeof(Record);
        if (random_.chance(0.5F)) columns.changed = changed;
        manager_.move(columns);
    }
}

void RandomWorld::tick() {
    ++tick_;
    trace.clear();
    if (def_.keeps_log) log += "tick " + std::to_string(tick_) + "\n";
    quarantined_.clear();
    removed_.clear();
    if (tick_ > 1) born_.clear();
    touched_.clear();
    edits_of_tick = 0;
    did_something_ = false;
    rules_changed_ = false;
    if (!begin_trial()) {
        move_some();
        reseed(5'000'000);
        edits_of_tick = random_.below(def_.edits_max);
        for (std::uint32_t i = 0; i < edits_of_tick; ++i) {
            if (def_.left_out_edits.count({tick_, i}) == 0) edit(i);
        }
    }
    decide();
}

void RandomWorld::decide() {
    choice_->units.clear();
    for (auto& entity : entities_) {
        if (entity.id == EntityId::none || entity.root != entity.id) continue;
        choice_->units.push_back(entity.id);
        note_entity(entity);  // an entity that is not dormant uses its current position
        // A dormant entity also gets its own position when its position source is despawned.
        if (let_go_.count(entity.id) != 0 && entity.stands_at == EntityId::none)
            entity.received_position = entity.position;
    }
    let_go_.clear();
    choice_->observers.clear();
    for (const auto& observer : observers_) choice_->observers.push_back(observer.id);
    manager_.tick();
    oracle_.record(tick_, entities_, observers_);
}

std::string RandomWorld::step() {
    tick();
    return compare();
}

}  // namespace purview::test
