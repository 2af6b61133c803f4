// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle/truth.hpp"

#include <algorithm>

#include "purview/extend/kernel.hpp"

namespace purview::check {

namespace {

constexpr std::size_t no_slot = ~std::size_t{0};
/// Maximum length of a chain of position sources that is followed.
constexpr unsigned overrides_max = 8;
/// Small enough that the data of a batch stays in the cache.
constexpr std::size_t units_at_once = 256;
/// The score of a pair within its minimum relevance time, for which the rules define none.
constexpr float score_of_stay = 1;

std::uint32_t number(ObserverId id) {
    return static_cast<std::uint32_t>(id);
}

bool contains(const std::vector<EntityId>& list, EntityId entity) {
    return std::find(list.begin(), list.end(), entity) != list.end();
}

void make_set(std::vector<CellId>& cells) {
    std::sort(cells.begin(), cells.end());
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
}

bool remembers(const Kernel& kernel) {
    return has_margin(kernel) || (kernel.type == KernelType::custom && kernel.custom->remembers());
}

/// Whether the kernel reads only attributes of the entity, not its position.
bool reads_entity_alone(const Kernel& kernel) {
    return kernel.type == KernelType::flag || kernel.type == KernelType::value ||
           kernel.type == KernelType::everything ||
           (kernel.type == KernelType::custom && kernel.custom->is_entity_only());
}

/// Returns whether a node hides the entity after a step that reads only attributes of the entity.
/// `matches`: the step matches. A node that subtracts hides what it would show if it added.
bool hides(Combine combine, Combine op, bool matches, bool so_far) {
    if (!matches) return so_far && (combine != Combine::subtract || op != Combine::require);
    if (combine != Combine::subtract) return so_far || op == Combine::subtract;
    return op == Combine::add || (op == Combine::require && so_far);
}

/// Returns whether the node can match an entity. If not, it is not evaluated and has no memory.
bool can_match(const NodeDef& node) {
    const auto adds = [](const Kernel& step) { return step.combine == Combine::add; };
    return node.enabled &&
           (node.dispatcher != nullptr || std::any_of(node.steps.begin(), node.steps.end(), adds));
}

/// The node of rules without nodes: every entity is relevant to every observer.
NodeDef default_node() {
    NodeDef node;
    node.name = "default";
    node.members = Members::unbound;
    return node;
}

Rules with_default_node(Rules rules) {
    if (rules.nodes.empty()) rules.nodes.push_back(default_node());
    return rules;
}

std::vector<EntityId> relevant_of(const std::vector<Verdict>& verdicts) {
    std::vector<EntityId> relevant;
    for (const Verdict& verdict : verdicts) {
        if (verdict.relevant) relevant.push_back(verdict.entity);
    }
    std::sort(relevant.begin(), relevant.end());
    return relevant;
}

}  // namespace

std::string what_is_not_followed(const Rules& rules, std::size_t entities) {
    for (const NodeDef& node : rules.nodes) {
        if (!node.enabled) continue;
        const std::string name = "node '" + node.name + "' ";
        if (node.every_ticks > 1) return name + "is not evaluated in every tick";
        for (const Kernel& step : node.steps) {
            const std::uint32_t tests = step.ray_entities_per_tick;
            if (step.type == KernelType::line_of_sight && tests < entities)
                return name + "tests " + std::to_string(tests) +
                       " lines of sight per tick, but there are " + std::to_string(entities) +
                       " entities";
        }
    }
    return {};
}

TruthOracle::TruthOracle(Rules rules, std::uint32_t ticks_between_max, TruthDef def)
    : rules_(with_default_node(std::move(rules))),
      def_(std::move(def)),
      ticks_between_max_(ticks_between_max) {
    frame_.axes = rules_.axes;
    frame_.cells_from = frame_.flat(rules_.min);
    Rules first = rules_;
    set_rules(first);
}

// -- rules --------------------------------------------------------------------------------------

std::vector<TruthOracle::Slot> TruthOracle::slots_of(const Rules& rules, Tick born) const {
    std::vector<Slot> slots;
    for (std::size_t n = 0; n < rules.nodes.size(); ++n) {
        const NodeDef& node = rules.nodes[n];
        for (std::size_t s = 0; s < node.steps.size(); ++s) {
            if (can_match(node) && remembers(node.steps[s]))
                slots.push_back({n, node.name, s, node.steps[s], born});
        }
    }
    return slots;
}

void TruthOracle::set_rules(const Rules& rules) {
    rules_ = with_default_node(rules);
    const Tick next = history_.empty() ? 0 : history_.back().tick + 1;
    std::vector<Slot> slots = slots_of(rules_, next);
    std::vector<std::size_t> from(slots.size(), no_slot);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        for (std::size_t j = 0; j < slots_.size(); ++j) {
            const Slot& old = slots_[j];
            if (old.node_name != slots[i].node_name || old.step != slots[i].step) continue;
            Kernel was = old.kernel;
            was.combine =
                slots[i].kernel.combine;  // the memory does not depend on how the step combines
            if (was != slots[i].kernel) continue;
            from[i] = j;
            slots[i].born = old.born;
        }
    }
    for (auto& [id, state] : states_) {
        std::vector<std::vector<std::uint8_t>> yes(slots.size());
        for (std::size_t i = 0; i < slots.size(); ++i) {
            if (from[i] != no_slot) yes[i] = state.yes[from[i]];
        }
        state.yes = std::move(yes);
        for (ObserverState::Stay& stay : state.stays) {  // current periods become shorter, too
            if (stay.until > 0)
                stay.until = std::min(stay.until, stay.from + rules_.minimum_relevance_ticks - 1);
        }
    }
    slots_ = std::move(slots);
    slot_at_.assign(rules_.nodes.size(), {});
    for (std::size_t n = 0; n < rules_.nodes.size(); ++n)
        slot_at_[n].assign(rules_.nodes[n].steps.size(), no_slot);
    for (std::size_t i = 0; i < slots_.size(); ++i) slot_at_[slots_[i].node][slots_[i].step] = i;
}

bool TruthOracle::is_member(const NodeDef& node, std::size_t number_of_node,
                            const TruthEntity& unit) const {
    switch (node.members) {
        case Members::all:
            return true;
        case Members::bound:
            return std::any_of(unit.nodes.begin(), unit.nodes.end(),
                               [&](NodeId bound) { return index_of(bound) == number_of_node; });
        case Members::unbound:
            return unit.nodes.empty() && !unit.orphaned;
    }
    return false;
}

/// Collects the cull groups and the members of each node in this tick.
void TruthOracle::gather() {
    units_.clear();
    for (const EntityView& view : history_.back().entities) {
        if (view.is_unit) units_.push_back(&view);
    }
    in_node_.assign(rules_.nodes.size(), {});
    for (std::size_t n = 0; n < rules_.nodes.size(); ++n) {
        in_node_[n].resize(entities_.size());
        for (std::size_t i = 0; i < entities_.size(); ++i)
            in_node_[n][i] = is_member(rules_.nodes[n], n, entities_[i]) ? 1 : 0;
    }
}

// -- positions ----------------------------------------------------------------------------------

const TruthEntity* TruthOracle::alive(EntityId entity) const {
    if (entity == EntityId::none || index_of(entity) >= entities_.size()) return nullptr;
    const TruthEntity& found = entities_[index_of(entity)];
    return found.id == entity ? &found : nullptr;
}

bool TruthOracle::is_dormant(const TruthEntity& unit) const {
    bool any = false;
    for (std::size_t n = 0; n < rules_.nodes.size(); ++n) {
        if (!rules_.nodes[n].enabled || !is_member(rules_.nodes[n], n, unit)) continue;
        if (!rules_.nodes[n].dormant) return false;
        any = true;
    }
    return any;
}

Vec3 TruthOracle::own_position(const TruthEntity& unit) {
    ReceivedPosition& received = received_positions_[index_of(unit.id)];
    const bool is_new = received.id != unit.id || received.joins != unit.joins;
    if (is_new || !is_dormant(unit)) received = {unit.id, unit.joins, unit.position};
    return is_dormant(unit) && unit.received_position ? *unit.received_position : received.position;
}

void TruthOracle::set_position(std::uint32_t unit, std::vector<EntityView>& views, unsigned depth) {
    EntityView& view = views[unit];
    if (view.facts != nullptr) return;
    const TruthEntity& truth = entities_[unit];
    view.facts = &truth;
    view.position = frame_.flat(own_position(truth));
    view.has_position = truth.has_position;
    const TruthEntity* other = alive(truth.stands_at);
    if (other == nullptr || depth == overrides_max) return;
    const std::uint32_t root = index_of(other->root);
    set_position(root, views, depth + 1);
    view.position = views[root].position;
    view.has_position = views[root].has_position;
}

void TruthOracle::set_positions(std::vector<EntityView>& views) {
    views.assign(entities_.size(), {});
    received_positions_.resize(entities_.size());
    for (std::uint32_t i = 0; i < entities_.size(); ++i) {
        const TruthEntity& truth = entities_[i];
        EntityView& view = views[i];
        view.id = truth.id;
        view.is_unit = truth.id != EntityId::none && truth.root == truth.id;
        view.joins = truth.joins;
        view.range = truth.range;
        view.group_radius_m = truth.group_radius_m;
    }
    for (std::uint32_t i = 0; i < entities_.size(); ++i) {
        if (views[i].is_unit) set_position(i, views, 0);
    }
}

const EntityView& TruthOracle::unit_view(EntityId entity) const {
    return history_.back().entities[index_of(entities_[index_of(entity)].root)];
}

ObserverView TruthOracle::view_of(const TruthObserver& observer, Tick tick,
                                  const std::vector<EntityView>& entities) const {
    ObserverView view;
    view.id = observer.id;
    view.times_ready = observer.times_ready;
    view.range = observer.range;
    view.lookahead_s = observer.lookahead_s;
    view.keys = observer.own_keys;
    view.more_keys = observer.more_keys;
    std::vector<Vec3> main, areas, owned;
    if (const TruthEntity* entity = alive(observer.main); entity != nullptr) {
        const EntityView& unit = entities[index_of(entity->root)];
        if (unit.has_position) main.push_back(unit.position);
        view.keys = entity->keys;  // its own keys, not those of its root
        view.more_keys.insert(view.more_keys.end(), entity->more_keys.begin(),
                              entity->more_keys.end());
        view.velocity = unit.facts->velocity;
    }
    for (const TruthArea& one : observer.areas) {
        Area area = one.area;
        if (area.ticks > 0 && tick - one.first_tick >= area.ticks) continue;
        area.center = frame_.flat(area.center);
        area.direction = frame_.flat(area.direction);
        area.half_size = frame_.flat(area.half_size);
        if (area.follow != EntityId::none) {
            const TruthEntity* followed = alive(area.follow);
            if (followed == nullptr) continue;
            const EntityView& unit = entities[index_of(followed->root)];
            if (!unit.has_position) continue;
            area.center = {unit.position.x + area.center.x, unit.position.y + area.center.y,
                           unit.position.z + area.center.z};
        }
        if (area.shape == AreaShape::position) {
            areas.push_back(area.center);
        } else {
            view.shapes.push_back(shape_view(area));
        }
    }
    std::vector<std::uint32_t> counted;
    for (const std::uint32_t index : owned_) {
        if (entities_[index].owner != observer.id) continue;
        const std::uint32_t root = index_of(entities_[index].root);
        if (std::find(counted.begin(), counted.end(), root) != counted.end()) continue;
        if (entities[root].has_position) owned.push_back(entities[root].position);
        counted.push_back(root);
    }
    auto& positions = view.positions;
    positions[static_cast<std::size_t>(Viewpoints::entity)] = main;
    positions[static_cast<std::size_t>(Viewpoints::points)] = areas;
    owned.insert(owned.end(), main.begin(), main.end());
    positions[static_cast<std::size_t>(Viewpoints::owned)] = std::move(owned);
    main.insert(main.end(), areas.begin(), areas.end());
    positions[static_cast<std::size_t>(Viewpoints::entity_and_points)] = std::move(main);
    return view;
}

const ObserverView* TruthOracle::observer_view(ObserverId observer) const {
    const auto found = history_.back().observers.find(number(observer));
    return found == history_.back().observers.end() ? nullptr : &found->second;
}

/// Finds the cells of each dispatcher that contain each cull group.
void TruthOracle::find_cells() {
    cells_.assign(rules_.nodes.size(), {});
    for (std::size_t n = 0; n < rules_.nodes.size(); ++n) {
        const NodeDef& node = rules_.nodes[n];
        if (node.dispatcher == nullptr) continue;
        cells_[n].resize(entities_.size());
        for (const EntityView* unit : units_) {
            std::vector<CellId>& cells = cells_[n][index_of(unit->id)];
            node.dispatcher->cells_of({unit->id, unit->position, unit->has_position,
                                       unit->facts->flags, unit->facts->keys},
                                      cells);
            make_set(cells);
        }
    }
}

void TruthOracle::record(Tick tick, std::vector<TruthEntity> entities,
                         const std::vector<TruthObserver>& observers) {
    if (!history_.empty()) {  // `facts` is set only for the newest tick
        for (EntityView& view : history_.back().entities) view.facts = nullptr;
        for (auto& [id, view] : history_.back().observers) view.facts = nullptr;
    }
    entities_ = std::move(entities);
    observers_ = observers;
    owned_.clear();
    members_.clear();
    splits_.clear();
    leads_.assign(entities_.size(), 0);
    for (std::uint32_t i = 0; i < entities_.size(); ++i) {
        if (entities_[i].id == EntityId::none) continue;
        if (entities_[i].owner != ObserverId::none) owned_.push_back(i);
        const bool is_unit = entities_[i].root == entities_[i].id;
        if (is_unit && entities_[i].parent == EntityId::none) continue;
        (is_unit ? splits_ : members_).push_back(i);
        for (EntityId above = parent_of(entities_[i]); above != EntityId::none;
             above = parent_of(entities_[index_of(above)]))
            leads_[index_of(above)] = 1;
    }
    Snapshot snapshot;
    snapshot.tick = tick;
    set_positions(snapshot.entities);
    for (const TruthObserver& observer : observers_) {
        const bool has_entity = alive(observer.main) != nullptr;
        if (!observer.ready || (def_.ready_requires_viewpoint && !has_entity)) continue;
        ObserverView view = view_of(observer, tick, snapshot.entities);
        view.facts = &observer;
        snapshot.observers.emplace(number(observer.id), std::move(view));
    }
    history_.push_back(std::move(snapshot));
    while (history_.size() > ticks_between_max_ + 1U) history_.pop_front();
    gather();
    find_cells();
}

// -- one pair -----------------------------------------------------------------------------------

/// Between enter and leave, the last result outside of that margin decides.
bool TruthOracle::was_yes(const ObserverQuery& query, std::size_t slot, std::uint32_t index) const {
    const Kernel& kernel = slots_[slot].kernel;
    const EntityView& now = history_.back().entities[index];
    for (std::size_t back = 1; back < history_.size(); ++back) {
        const Snapshot& then = history_[history_.size() - 1 - back];
        const auto observer = then.observers.find(number(query.observer->id));
        if (observer == then.observers.end() || then.tick < slots_[slot].born) return false;
        if (observer->second.times_ready != query.observer->times_ready) return false;
        if (index >= then.entities.size()) return false;
        const EntityView& entity = then.entities[index];
        if (entity.id != now.id || entity.joins != now.joins || !entity.is_unit) return false;
        if (query.has_past && query.before.tick == then.tick) {
            const std::vector<std::uint8_t>& yes = query.before.yes[slot];
            return index < yes.size() && yes[index] != 0;
        }
        if (kernel.type == KernelType::custom) return false;
        const EntityView* const one = &entity;
        StepResult result;
        evaluate_kernel(frame_, kernel, {}, observer->second, std::span(&one, 1),
                        std::span(&result, 1));
        if (result.unknown || result.zone == Zone::out) return false;
        if (result.zone == Zone::in) return true;
    }
    return false;  // unknown before the records begin: not relevant then
}

bool TruthOracle::counts(std::size_t node, std::uint32_t index) const {
    return rules_.nodes[node].enabled && in_node_[node][index] != 0;
}

TruthOracle::NodeAnswer TruthOracle::query_inner(const ObserverQuery& query,
                                                 std::size_t number_of_node,
                                                 const EntityView& unit) const {
    const NodeDef& node = rules_.nodes[number_of_node];
    const std::vector<CellId>& cover = query.cover[number_of_node];
    const EntityView* const one = &unit;
    NodeAnswer all;
    for (const CellId cell : cells_[number_of_node][index_of(unit.id)]) {
        const std::size_t list = node.dispatcher->steps_of(cell);
        const bool has_steps = list < node.inner.size();
        NodeAnswer inner;
        inner.yes = !has_steps || node.inner[list].empty() ||
                    node.inner[list].front().combine != Combine::add;
        inner.score = inner.yes ? 1.0F : 0.0F;
        for (std::size_t s = 0; has_steps && s < node.inner[list].size(); ++s) {
            const Kernel& step = node.inner[list][s];
            std::vector<StepResult> results(1);
            if (step.type == KernelType::custom) {
                const CustomAnswer custom = custom_(step, *query.observer, unit, false);
                results[0].unknown = custom == CustomAnswer::unknown;
                results[0].zone = custom == CustomAnswer::yes ? Zone::in : Zone::out;
            } else {
                evaluate_kernel(frame_, step, query.owned, *query.observer, Units(&one, 1),
                                results);
            }
            const bool is_in = results[0].zone == Zone::in, yes = is_in && !results[0].unknown;
            // An entity that is subtracted by its own attributes is hidden, even if the observer
            // does not cover this inner node.
            if (step.combine == Combine::subtract && reads_entity_alone(step))
                all.hides = all.hides || is_in;
            if (step.combine == Combine::add) {
                inner.yes = inner.yes || yes;
                if (yes) inner.score = std::max(inner.score, results[0].score);
            } else if (step.combine == Combine::require) {
                inner.yes = inner.yes && yes;
                inner.score = std::min(inner.score, results[0].score);
            } else {
                inner.yes = inner.yes && !yes && !results[0].unknown;
            }
            if (!inner.yes) inner.score = 0;
        }
        if (!inner.yes || !std::binary_search(cover.begin(), cover.end(), cell)) continue;
        all.yes = true;
        all.score = std::max(all.score, inner.score);
    }
    return all;
}

/// Evaluates one step for each of these cull groups, with its previous result.
void TruthOracle::query_step(const ObserverQuery& query, std::size_t node, std::size_t step,
                             Units units, std::vector<StepResult>& results) const {
    const Kernel& kernel = rules_.nodes[node].steps[step];
    const std::size_t slot = slot_at_[node][step];
    results.assign(units.size(), {});
    if (kernel.type != KernelType::custom)
        evaluate_kernel(frame_, kernel, query.owned, *query.observer, units, results);
    for (std::size_t i = 0; i < units.size(); ++i) {
        const EntityView& unit = *units[i];
        const std::uint32_t index = index_of(unit.id);
        if (kernel.type == KernelType::custom) {
            // A kernel with memory is evaluated even if its node does not use the result.
            if (slot == no_slot && !counts(node, index)) continue;
            const bool was = slot != no_slot && was_yes(query, slot, index);
            const CustomAnswer custom = custom_(kernel, *query.observer, unit, was);
            results[i].unknown = custom == CustomAnswer::unknown;
            results[i].zone = custom == CustomAnswer::yes ? Zone::in : Zone::out;
        } else if (results[i].zone == Zone::margin) {
            const bool was = slot != no_slot && was_yes(query, slot, index);
            results[i].zone = was ? Zone::in : Zone::out;
        }
        if (slot != no_slot)
            query.now->yes[slot][index] =
                results[i].zone == Zone::in && !results[i].unknown ? 1 : 0;
    }
}

/// Evaluates one node for each of these cull groups.
void TruthOracle::query_node(const ObserverQuery& query, std::size_t number_of_node, Units units,
                             std::vector<NodeAnswer>& answers) const {
    const NodeDef& node = rules_.nodes[number_of_node];
    answers.assign(units.size(), {});
    std::vector<NodeAnswer> bucket(node.dispatcher != nullptr ? units.size() : 0);
    for (std::size_t i = 0; i < units.size(); ++i) {
        NodeAnswer& answer = answers[i];
        const std::uint32_t index = index_of(units[i]->id);
        answer.yes = node.steps.empty();
        if (node.dispatcher != nullptr) {
            // Steps run over the bucket. The result starts with all of it, unless the first step
            // adds.
            if (counts(number_of_node, index))
                bucket[i] = query_inner(query, number_of_node, *units[i]);
            const bool adds_first = !node.steps.empty() && node.steps[0].combine == Combine::add;
            answer = adds_first ? NodeAnswer{} : bucket[i];
            answer.hides = node.combine != Combine::subtract && bucket[i].hides;
            continue;
        }
        if (node.custom != nullptr) {
            answer.yes =
                counts(number_of_node, index) && custom_node_(node, *query.observer, *units[i]);
        } else {
            answer.hides = answer.yes && node.combine == Combine::subtract;
        }
        answer.score = answer.yes ? 1.0F : 0.0F;
    }
    std::vector<StepResult> results;
    for (std::size_t s = 0; s < node.steps.size(); ++s) {
        const Kernel& step = node.steps[s];
        const bool is_alone = reads_entity_alone(step);
        query_step(query, number_of_node, s, units, results);
        for (std::size_t i = 0; i < units.size(); ++i) {
            NodeAnswer& answer = answers[i];
            const bool yes = results[i].zone == Zone::in && !results[i].unknown;
            if (is_alone)
                answer.hides =
                    hides(node.combine, step.combine, results[i].zone == Zone::in, answer.hides);
            switch (step.combine) {
                case Combine::add:
                    if (!yes) break;
                    answer.yes = true;
                    answer.score = std::max(answer.score, results[i].score);
                    break;
                case Combine::require:
                    answer.yes = answer.yes && yes;
                    answer.score = std::min(answer.score, results[i].score);
                    break;
                case Combine::subtract:
                    if (yes || results[i].unknown) answer.yes = false;
                    break;
            }
            if (!answer.yes) answer.score = 0;
        }
    }
    for (std::size_t i = 0; i < units.size(); ++i) {
        if (!counts(number_of_node, index_of(units[i]->id))) answers[i] = {};
        if (bucket.empty()) continue;
        answers[i].score = std::min(answers[i].score, bucket[i].score);
        answers[i].yes = answers[i].yes && bucket[i].yes;
    }
}

/// Evaluates all nodes together for each of these cull groups.
void TruthOracle::query_nodes(const ObserverQuery& query, Units units,
                              std::vector<NodeAnswer>& all) const {
    all.assign(units.size(), {});
    std::vector<NodeAnswer> one;
    for (std::size_t n = 0; n < rules_.nodes.size(); ++n) {
        query_node(query, n, units, one);
        if (!rules_.nodes[n].enabled) continue;
        const Combine combine = rules_.nodes[n].combine;
        for (std::size_t i = 0; i < units.size(); ++i) {
            NodeAnswer& answer = all[i];
            answer.hides = answer.hides || one[i].hides;
            if (one[i].yes && n < 32) answer.nodes |= 1U << n;
            switch (combine) {
                case Combine::add:
                    answer.yes = answer.yes || one[i].yes;
                    answer.score = std::max(answer.score, one[i].score);
                    break;
                case Combine::require:
                    answer.yes = answer.yes && one[i].yes;
                    answer.score = std::min(answer.score, one[i].score);
                    break;
                case Combine::subtract:
                    answer.yes = answer.yes && !one[i].yes;
                    break;
            }
            if (!answer.yes) answer.score = 0;
        }
    }
}

void TruthOracle::decide(const ObserverQuery& query, const EntityView& unit,
                         const NodeAnswer& nodes, Verdict& verdict) const {
    const TruthEntity& truth = *unit.facts;
    const TruthObserver& observer = *query.observer->facts;
    // An override that shows a member also shows everything above it.
    bool shown = truth.shown_to_all || truth.mode == EntityMode::global;
    bool allowed = contains(observer.allowed, unit.id);
    for (const auto* list : {&members_, &splits_}) {
        for (std::size_t m = 0; leads_[index_of(unit.id)] != 0 && m < list->size(); ++m) {
            const TruthEntity& member = entities_[(*list)[m]];
            if (member.root != unit.id && (splits_.empty() || !is_below(member, unit.id))) continue;
            shown = shown || member.shown_to_all || member.mode == EntityMode::global;
            allowed = allowed || contains(observer.allowed, member.id);
        }
    }
    verdict.entity = unit.id;
    verdict.hides = nodes.hides;
    verdict.nodes = nodes.nodes;
    verdict.score = 1;
    const auto set = [&](TruthStage stage, bool relevant) {
        verdict.stage = stage;
        verdict.relevant = relevant;
    };
    if (contains(observer.denied, unit.id)) {
        set(TruthStage::denied, false);
    } else if (query.shown_as_owned[index_of(unit.id)] != 0) {
        set(TruthStage::owned, true);
    } else if (truth.force_hidden) {
        set(TruthStage::force_hidden, false);
    } else if (shown) {
        set(TruthStage::shown_to_all, true);
    } else if (allowed) {
        set(TruthStage::allowed, true);
    } else if (truth.mode == EntityMode::explicit_only) {
        set(TruthStage::explicit_only, false);
    } else if (observer.sees_everything || def_.level != InterestLevel::full) {
        set(TruthStage::sees_everything, true);
    } else {
        set(nodes.yes ? TruthStage::node : TruthStage::no_node, nodes.yes);
        verdict.score = nodes.score;
    }
    // An override that hides the entity ends its minimum relevance time, even if another shows it.
    if (contains(observer.denied, unit.id) || truth.force_hidden ||
        truth.mode == EntityMode::explicit_only)
        verdict.hides = true;
}

bool TruthOracle::is_below(const TruthEntity& member, EntityId top) const {
    if (member.id == top) return true;
    const EntityId parent = parent_of(member);
    return parent != EntityId::none && is_below(entities_[index_of(parent)], top);
}

EntityId TruthOracle::parent_of(const TruthEntity& entity) const {
    if (entity.parent != EntityId::none) return entity.parent;
    return entity.root == entity.id ? EntityId::none : entity.root;
}

bool TruthOracle::owner_sees(KindId kind) const {
    const bool has_kind = index_of(kind) < def_.kinds.size();
    return def_.owner_sees && (!has_kind || def_.kinds[index_of(kind)].owner_sees);
}

/// Returns whether the observer owns the root, or an entity from `top` down. Without `owners_only`,
/// allowed and shown entities count like owned ones.
bool TruthOracle::has_entry(const ObserverQuery& query, EntityId root, EntityId top,
                            bool owners_only) const {
    const TruthObserver& observer = *query.observer->facts;
    const auto owns = [&](const TruthEntity& entity) {
        return entity.owner == query.observer->id && owner_sees(entity.kind);
    };
    if (owns(entities_[index_of(root)])) return true;
    const auto counts = [&](std::uint32_t index) {
        const TruthEntity& member = entities_[index];
        if (!is_below(member, top)) return false;
        const bool is_shown = member.shown_to_all || member.mode == EntityMode::global ||
                              contains(observer.allowed, member.id);
        return owns(member) || (is_shown && !owners_only);
    };
    return std::any_of(members_.begin(), members_.end(), counts) ||
           std::any_of(splits_.begin(), splits_.end(), counts);
}

/// Returns the stage that hides the member or one above it; TruthStage::node: none.
TruthStage TruthOracle::hidden_member(const ObserverQuery& query, const TruthEntity& member) const {
    if (member.id == member.root) return TruthStage::node;
    if (contains(query.observer->facts->denied, member.id)) return TruthStage::denied;
    if (member.force_hidden && !has_entry(query, member.root, member.id, true))
        return TruthStage::force_hidden;
    if (member.mode == EntityMode::explicit_only &&
        !has_entry(query, member.root, member.id, false))
        return TruthStage::explicit_only;
    const EntityId parent = member.parent == EntityId::none ? member.root : member.parent;
    return hidden_member(query, entities_[index_of(parent)]);
}

/// Returns whether this independently culled member makes its ancestors relevant: nodes match it,
/// or it is promoted itself.
bool TruthOracle::promotes(const ObserverQuery& query, const std::vector<Verdict>& own,
                           std::uint32_t unit) const {
    const TruthStage stage = own[unit].stage;
    const bool by_nodes = stage == TruthStage::node || stage == TruthStage::stay;
    const std::uint32_t kind = index_of(entities_[unit].kind);
    if (by_nodes && kind < def_.kinds.size() && def_.kinds[kind].keeps_ancestors) return true;
    return (by_nodes || stage == TruthStage::no_node) && is_promoted(query, own, unit);
}

/// Returns whether an independently culled member below it promotes it. A member that is below a
/// denied or hidden entity does not promote, and a hidden cull group is not promoted.
bool TruthOracle::is_promoted(const ObserverQuery& query, const std::vector<Verdict>& own,
                              std::uint32_t unit) const {
    if (own[unit].hides) return false;
    return std::any_of(splits_.begin(), splits_.end(), [&](std::uint32_t split) {
        const TruthEntity& parent = entities_[index_of(entities_[split].parent)];
        return parent.root == entities_[unit].id &&
               hidden_member(query, parent) == TruthStage::node && promotes(query, own, split);
    });
}

/// Returns the result of a cull group within its group: it is relevant only if all cull groups
/// above it are.
Verdict TruthOracle::in_group(const ObserverQuery& query, const std::vector<Verdict>& own,
                              std::uint32_t unit) const {
    Verdict verdict = own[unit];
    if (verdict.stage == TruthStage::no_node && is_promoted(query, own, unit)) {
        verdict.stage = TruthStage::promoted;
        verdict.relevant = true;
        verdict.score = 1;
    }
    if (entities_[unit].parent == EntityId::none) return verdict;
    const TruthEntity& parent = entities_[index_of(entities_[unit].parent)];
    Verdict above = in_group(query, own, index_of(parent.root));
    const TruthStage hidden = hidden_member(query, parent);
    if (hidden != TruthStage::node) {
        if (above.relevant) above.stage = hidden;
        above.relevant = false;
        above.hides = true;
    }
    if (above.relevant) return verdict;
    if (verdict.relevant) verdict.stage = above.stage;
    verdict.relevant = false;
    verdict.hides = verdict.hides || above.hides;
    verdict.score = 0;
    return verdict;
}

/// Applies the minimum relevance time to a pair that nodes made relevant, unless an override or a
/// step hides it.
void TruthOracle::hold(const ObserverQuery& query, Verdict& verdict, std::uint32_t index) const {
    const Tick now = history_.back().tick;
    ObserverState::Stay& stay = query.now->stays[index];
    const ObserverState& before = query.before;
    const Snapshot* then = history_.size() > 1 ? &history_[history_.size() - 2] : nullptr;
    const bool has_past = query.has_past && then != nullptr && before.tick == then->tick &&
                          index < then->entities.size() &&
                          then->entities[index].id == verdict.entity;
    const bool was_relevant = has_past && before.own[index] != 0;
    const bool goes_on = has_past && then->entities[index].is_unit &&
                         then->entities[index].joins == history_.back().entities[index].joins &&
                         before.times_ready == query.now->times_ready &&
                         index < before.stays.size();
    stay = goes_on ? before.stays[index] : ObserverState::Stay{};
    if (verdict.hides) {
        stay = {};
    } else if (verdict.stage == TruthStage::node && !was_relevant) {
        stay = {now, now + rules_.minimum_relevance_ticks - 1};
    } else if (verdict.stage == TruthStage::no_node && was_relevant && stay.until >= now) {
        verdict.stage = TruthStage::stay;
        verdict.relevant = true;
        verdict.score = score_of_stay;
    }
}

// -- one observer -------------------------------------------------------------------------------

const std::vector<Verdict>& TruthOracle::verdicts(ObserverId id) {
    static const std::vector<Verdict> no_verdicts;
    const ObserverView* observer = observer_view(id);
    if (observer == nullptr) {
        states_.erase(number(id));
        return no_verdicts;
    }
    EvaluatedObserver& evaluated = evaluated_[number(id)];
    ObserverState& state = states_[number(id)];
    if (!state.was_evaluated || evaluated.verdicts.empty() ||
        evaluated.tick != history_.back().tick) {
        evaluated.tick = history_.back().tick;
        if (queries_.empty()) queries_.resize(1);
        evaluate_all(std::span(queries_).first(begin_query(0, *observer, state)), {});
        evaluated.verdicts = queries_[0].verdicts;
    }
    return evaluated.verdicts;
}

std::vector<EntityId> TruthOracle::relevant(ObserverId id) {
    return relevant_of(verdicts(id));
}

std::vector<std::vector<EntityId>> TruthOracle::relevant_all(std::span<const ObserverId> observers,
                                                             const Executor& executor) {
    if (queries_.size() < observers.size()) queries_.resize(observers.size());
    std::size_t count = 0;
    std::vector<std::size_t> of(observers.size(), no_slot);
    for (std::size_t i = 0; i < observers.size(); ++i) {
        const ObserverView* observer = observer_view(observers[i]);
        if (observer == nullptr) {
            states_.erase(number(observers[i]));
        } else {
            of[i] = count;
            count = begin_query(count, *observer, states_[number(observers[i])]);
        }
    }
    evaluate_all(std::span(queries_).first(count), executor);
    std::vector<std::vector<EntityId>> all(observers.size());
    for (std::size_t i = 0; i < observers.size(); ++i) {
        if (of[i] != no_slot) all[i] = relevant_of(queries_[of[i]].verdicts);
    }
    return all;
}

/// Prepares queries_[at] for this observer. Returns the index of the next one.
std::size_t TruthOracle::begin_query(std::size_t at, const ObserverView& observer,
                                     ObserverState& state) {
    ObserverQuery& query = queries_[at];
    std::swap(state, query.before);
    query.observer = &observer;
    query.now = &state;
    query.has_past = query.before.was_evaluated && query.before.yes.size() == slots_.size();
    state.was_evaluated = true;
    state.tick = history_.back().tick;
    state.times_ready = observer.times_ready;
    state.yes.resize(slots_.size());
    for (std::vector<std::uint8_t>& yes : state.yes) yes.assign(entities_.size(), 0);
    state.own.assign(entities_.size(), 0);
    state.stays.assign(rules_.minimum_relevance_ticks > 0 ? entities_.size() : 0, {});
    query.verdicts.assign(entities_.size(), {});
    query.cover.assign(rules_.nodes.size(), {});
    for (std::size_t n = 0; n < rules_.nodes.size(); ++n) {
        if (rules_.nodes[n].dispatcher == nullptr) continue;
        rules_.nodes[n].dispatcher->cover(
            {observer.id, observer.facts->main, observer.from(Viewpoints::entity_and_points),
             observer.keys},
            query.cover[n]);
        make_set(query.cover[n]);
    }
    query.owned.assign(entities_.size(), 0);
    query.shown_as_owned.assign(entities_.size(), 0);
    for (const std::uint32_t index : owned_) {
        const TruthEntity& entity = entities_[index];
        if (entity.owner != observer.id) continue;
        std::uint32_t root = index_of(entity.root);
        query.owned[root] = 1;
        if (!owner_sees(entity.kind)) continue;
        query.shown_as_owned[root] = 1;
        while (entities_[root].parent != EntityId::none) {
            root = index_of(entities_[index_of(entities_[root].parent)].root);
            query.shown_as_owned[root] = 1;
        }
    }
    return at + 1;
}

/// Evaluates the cull groups in batches, each batch for all observers, so that its data stays in
/// the cache.
void TruthOracle::evaluate_all(std::span<ObserverQuery> all, const Executor& executor) {
    pairs_evaluated_ += units_.size() * all.size();
    struct Task {
        const TruthOracle* self;
        std::span<ObserverQuery> all;
        std::size_t workers;
    };
    Task task{this, all, executor.run == nullptr ? 1 : executor.workers};
    const auto by_units = [](void* context, std::uint32_t worker) {
        const auto& [self, all_queries, workers] = *static_cast<Task*>(context);
        const Units units = self->units_;
        for (std::size_t begin = worker * units_at_once; begin < units.size();
             begin += workers * units_at_once) {
            const Units some = units.subspan(begin, std::min(units_at_once, units.size() - begin));
            for (ObserverQuery& query : all_queries) self->decide_units(query, some);
        }
    };
    const auto by_observers = [](void* context, std::uint32_t worker) {
        const auto& [self, all_queries, workers] = *static_cast<Task*>(context);
        for (std::size_t i = worker; i < all_queries.size(); i += workers)
            self->decide_groups(all_queries[i]);
    };
    for (void (*work)(void*, std::uint32_t) : {+by_units, +by_observers}) {
        if (executor.run == nullptr) {
            work(&task, 0);
        } else {
            executor.run(executor.context, executor.workers, work, &task);
        }
    }
}

void TruthOracle::decide_units(ObserverQuery& query, Units units) const {
    std::vector<NodeAnswer> nodes;
    query_nodes(query, units, nodes);
    for (std::size_t i = 0; i < units.size(); ++i) {
        Verdict& verdict = query.verdicts[index_of(units[i]->id)];
        decide(query, *units[i], nodes[i], verdict);
        if (rules_.minimum_relevance_ticks > 0) hold(query, verdict, index_of(units[i]->id));
        if (!verdict.relevant) verdict.score = 0;
        verdict.own = verdict.relevant;
    }
}

/// Applies group relations to the results of cull groups, and sets the results of members.
void TruthOracle::decide_groups(ObserverQuery& query) const {
    std::vector<Verdict>& verdicts = query.verdicts;
    if (!splits_.empty()) {
        const std::vector<Verdict> own = verdicts;
        for (const EntityView* unit : units_) {
            const std::uint32_t index = index_of(unit->id);
            if (leads_[index] != 0 || entities_[index].parent != EntityId::none)
                verdicts[index] = in_group(query, own, index);
        }
    }
    for (const std::uint32_t index : members_) {
        const TruthEntity& entity = entities_[index];
        Verdict verdict = verdicts[index_of(entity.root)];
        verdict.entity = entity.id;
        const TruthStage hidden = hidden_member(query, entity);
        if (hidden != TruthStage::node) {
            if (verdict.relevant) verdict.stage = hidden;
            verdict.relevant = false;
            verdict.hides = true;
            verdict.score = 0;
        }
        verdict.own = verdict.relevant;
        verdicts[index_of(entity.id)] = verdict;
    }
    for (std::size_t i = 0; i < verdicts.size(); ++i) query.now->own[i] = verdicts[i].own ? 1 : 0;
}

}  // namespace purview::check
