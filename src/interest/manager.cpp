// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "core/log.hpp"
#include "interest/edits.hpp"
#include "purview/limits.hpp"

namespace purview {

InterestManager::InterestManager(std::unique_ptr<InterestData> data) noexcept
    : data_(std::move(data)) {}
InterestManager::InterestManager(InterestManager&&) noexcept = default;
InterestManager& InterestManager::operator=(InterestManager&&) noexcept = default;
InterestManager::~InterestManager() = default;

std::string problem_of(const InterestDef& def) {
    if (std::string wrong = problem_of(def.rules, def); !wrong.empty()) return wrong;
    const auto at_most = [](const char* what, std::uint64_t most) {
        return std::string(what) + " is at most " + std::to_string(most);
    };
    constexpr std::uint32_t observers_most = (1U << observer_index_bits) - 1;
    if (def.flag_count > Schema::flags_max) return at_most("flag_count", Schema::flags_max);
    if (def.key_count > Schema::keys_max) return at_most("key_count", Schema::keys_max);
    if (def.value_count > Schema::values_max) return at_most("value_count", Schema::values_max);
    if (def.observers_max > observers_most) return at_most("observers_max", observers_most);
    if (def.areas_max > limits::areas_per_observer)
        return at_most("areas_max", limits::areas_per_observer);
    const auto& classes = def.rules.range_classes_m;
    for (std::size_t k = 0; k < def.kinds.size(); ++k) {
        const KindInterest& kind = def.kinds[k];
        const std::string who =
            "kind " +
            (k < def.kind_names.size() ? "'" + def.kind_names[k] + "'" : std::to_string(k)) + ", ";
        if (!(kind.range_m >= 0 && kind.range_m <= (classes.empty() ? 0 : classes.back())))
            return who + "range_m is 0 to the largest of range_classes_m";
        if (kind.by_bounds && !(def.rules.group_bounds_max_m > 0))
            return who + "by_bounds needs a group_bounds_max_m";
        for (const NodeId node : kind.nodes) {
            if (index_of(node) >= def.rules.nodes.size())
                return who + "node " + std::to_string(index_of(node)) + " is not there";
        }
    }
    return {};
}

Result<InterestManager> InterestManager::create(const InterestDef& def) {
    if (const std::string wrong = problem_of(def); !wrong.empty()) {
        log_refusal(def.log, wrong);
        return Status::bad_configuration;
    }
    InterestManager made(std::make_unique<InterestData>(def));
    made.data_->log_warnings();
    return made;
}

Status InterestManager::spawn(EntityId e, const EntityDef& def) {
    return data_->is_driven ? Status::refused : data_->spawn(e, def);
}
Status InterestManager::despawn(EntityId e) {
    return data_->is_driven ? Status::refused : data_->despawn(e);
}
Status InterestManager::move(EntityId e, Vec3 place) {
    return data_->is_driven ? Status::refused : data_->move(e, place);
}
void InterestManager::move(std::span<const Move> moves) {
    if (!data_->is_driven) data_->move(moves);
}
Status InterestManager::set_flag(EntityId e, FlagId flag, bool value) {
    return data_->is_driven ? Status::refused : data_->set_flag(e, flag, value);
}
Status InterestManager::set_key(EntityId e, KeyDomain domain, Key key) {
    return data_->is_driven ? Status::refused : data_->set_key(e, domain, key);
}
Status InterestManager::set_owner(EntityId e, ObserverId owner) {
    return data_->is_driven ? Status::refused : data_->set_owner(e, owner);
}
Status InterestManager::force_hide(EntityId e, bool hidden) {
    return data_->force_hide(e, hidden);
}
Status InterestManager::show_to_all(EntityId e, bool shown) {
    return data_->show_to_all(e, shown);
}
Status InterestManager::join_unit(EntityId member, EntityId root, EntityId parent) {
    return data_->is_driven ? Status::refused : data_->join_unit(member, root, parent);
}
Status InterestManager::leave_unit(EntityId member, const EntityDef& def, bool is_orphan) {
    return data_->is_driven ? Status::refused : data_->leave_unit(member, def, is_orphan);
}

Result<ObserverId> InterestManager::add_observer() {
    return data_->add_observer();
}
Status InterestManager::remove_observer(ObserverId o) {
    return data_->remove_observer(o);
}
Status InterestManager::set_ready(ObserverId o, bool ready) {
    return data_->set_ready(o, ready);
}
Status InterestManager::set_main_entity(ObserverId o, EntityId e) {
    return data_->set_main_entity(o, e);
}
EntityId InterestManager::main_entity(ObserverId o) const noexcept {
    return data_->main_entity(o);
}
Status InterestManager::set_area(ObserverId o, std::uint32_t area_key, const Area& area) {
    return data_->set_area(o, area_key, area);
}
Status InterestManager::remove_area(ObserverId o, std::uint32_t area_key) {
    return data_->remove_area(o, area_key);
}
Status InterestManager::set_observer_key(ObserverId o, KeyDomain domain, Key key) {
    return data_->set_observer_key(o, domain, key);
}
Status InterestManager::hold_observer(ObserverId o, bool held) {
    return data_->is_driven ? Status::refused : data_->hold_observer(o, held);
}
bool InterestManager::has_key(ObserverId o, KeyDomain domain, Key key) const noexcept {
    return data_->has_key(o, domain, key);
}
std::uint32_t InterestManager::keys_revision(ObserverId o) const noexcept {
    return data_->keys_revision(o);
}
Status InterestManager::set_sees_everything(ObserverId o, bool value) {
    return data_->set_sees_everything(o, value);
}
Status InterestManager::allow(ObserverId o, EntityId e, bool value) {
    return data_->edit_pair(o, e, PairMark::allow, value);
}
Status InterestManager::allow(std::span<const PairEdit> edits) {
    return data_->edit_pairs(edits, PairMark::allow);
}
Status InterestManager::deny(std::span<const PairEdit> edits) {
    return data_->edit_pairs(edits, PairMark::deny);
}
Status InterestManager::deny(ObserverId o, EntityId e, bool value) {
    return data_->edit_pair(o, e, PairMark::deny, value);
}

Status InterestManager::recheck(EntityId e) {
    return data_->recheck(e);
}
Status InterestManager::rescan(ObserverId o) {
    return data_->rescan(o);
}

void InterestManager::tick() {
    PURVIEW_ASSERT(!data_->is_driven);
    if (!data_->is_driven) data_->tick(*this);
}
std::span<const RelevanceEvent> InterestManager::events() const noexcept {
    return data_->events();
}
std::span<const RelevanceEvent> InterestManager::events_of(ObserverId o) const noexcept {
    return data_->events_of(o);
}
bool InterestManager::is_relevant(ObserverId o, EntityId e) const noexcept {
    return data_->is_relevant(o, e);
}
bool InterestManager::is_ready(ObserverId o) const noexcept {
    return data_->is_ready(o);
}
bool InterestManager::is_denied(ObserverId o, EntityId e) const noexcept {
    return data_->is_denied(o, e);
}
void InterestManager::relevant(ObserverId o, std::vector<EntityId>& out) const {
    if (!data_->is_observer(o)) return;
    data_->for_each_relevant(index_of(o), [&](EntityId e) { out.push_back(e); });
}
std::size_t InterestManager::relevant_count(ObserverId o) const noexcept {
    std::size_t count = 0;
    if (data_->is_observer(o)) data_->for_each_relevant(index_of(o), [&](EntityId) { ++count; });
    return count;
}
Explanation InterestManager::explain(ObserverId o, EntityId e) const {
    return data_->explain(o, e);
}
const InterestCounters& InterestManager::counters() const noexcept {
    return data_->counters;
}
void InterestManager::set_count_tested(bool value) noexcept {
    data_->set_count_tested(value);
}
void InterestManager::set_lane_shuffle(std::uint32_t cells_per_tick, std::uint64_t seed) noexcept {
    data_->shuffle_cells = cells_per_tick;
    data_->shuffle_random = SplitMix(seed);
}

Status InterestManager::add_key(EntityId e, KeyDomain domain, Key key) {
    return data_->edit_more_keys(e, domain, key, true);
}
Status InterestManager::remove_key(EntityId e, KeyDomain domain, Key key) {
    return data_->edit_more_keys(e, domain, key, false);
}
Status InterestManager::set_value(EntityId e, ValueId value, float number) {
    return data_->is_driven ? Status::refused : data_->set_value(e, value, number);
}
Status InterestManager::set_bounds(EntityId e, float radius_m) {
    return data_->is_driven ? Status::refused : data_->set_bounds(e, radius_m);
}
Status InterestManager::set_range(EntityId e, float range_m) {
    return data_->set_range(e, range_m);
}
Status InterestManager::set_mode(EntityId e, EntityMode mode) {
    return data_->set_mode(e, mode);
}
Status InterestManager::set_place_override(EntityId e, EntityId other) {
    return data_->set_place_override(e, other);
}
Status InterestManager::set_velocity(EntityId e, Vec3 velocity) {
    return data_->set_velocity(e, velocity);
}
Status InterestManager::add_node(EntityId e, NodeId node) {
    return data_->add_node(e, node);
}
Status InterestManager::remove_node(EntityId e, NodeId node) {
    return data_->remove_node(e, node);
}
Status InterestManager::set_nodes(EntityId e, std::span<const NodeId> nodes) {
    return data_->set_nodes(e, nodes);
}
Status InterestManager::add_default_node(EntityId e) {
    return data_->add_default_node(e);
}
std::span<const EntityId> InterestManager::rebound() const noexcept {
    return data_->rebound();
}
Status InterestManager::update(EntityId e) {
    return data_->update(e);
}
void InterestManager::move(const PlaceColumns& columns) {
    if (!data_->is_driven) data_->move(columns);
}
Status InterestManager::set_areas(ObserverId o, std::span<const Area> areas) {
    return data_->set_areas(o, areas);
}
Status InterestManager::add_observer_key(ObserverId o, KeyDomain domain, Key key) {
    return data_->edit_more_observer_keys(o, domain, key, true);
}
Status InterestManager::remove_observer_key(ObserverId o, KeyDomain domain, Key key) {
    return data_->edit_more_observer_keys(o, domain, key, false);
}
Status InterestManager::set_observer_range(ObserverId o, float range_m) {
    return data_->set_observer_range(o, range_m);
}
Status InterestManager::set_lookahead(ObserverId o, float seconds) {
    return data_->set_lookahead(o, seconds);
}
Status InterestManager::rescan_node(NodeId node) {
    return data_->rescan_node(node);
}
Status InterestManager::set_rules(const InterestRules& rules) {
    return data_->is_driven ? Status::refused : data_->set_rules(rules);
}
const std::vector<std::string>& InterestManager::warnings() const noexcept {
    return data_->warnings();
}
RuleTrial InterestManager::try_rules(const InterestRules& rules, std::size_t pairs_max) const {
    return data_->try_rules(rules, *this, pairs_max);
}
const InterestRules& InterestManager::rules() const noexcept {
    return data_->rules();
}
void InterestManager::set_level(InterestLevel level) {
    data_->set_level(level);
}
Status InterestManager::set_node_pair(NodeId node, ObserverId o, EntityId e, bool value) {
    return data_->set_node_pair(node, o, e, value);
}
void InterestManager::set_executor(const Executor& executor) {
    data_->set_executor(executor);
}
void InterestManager::visit_relevant(ObserverId o, void (*visit)(void*, EntityId),
                                     void* context) const {
    if (!data_->is_observer(o)) return;
    data_->for_each_relevant(index_of(o), [&](EntityId e) { visit(context, e); });
}
void InterestManager::observers_of(EntityId e, std::vector<ObserverId>& out) const {
    data_->observers_of(e, out);
}
std::uint32_t InterestManager::observer_count(EntityId e) const noexcept {
    return data_->observer_count(e);
}
std::span<const ObserverEdge> InterestManager::edges() const noexcept {
    return data_->edges();
}
void InterestManager::strength(ObserverId o, std::span<const EntityId> entities,
                               std::span<float> strength, std::span<NodeSettings> settings) const {
    data_->strength(o, entities, strength, settings);
}
Strengths InterestManager::changed_strengths(ObserverId o) {
    return data_->changed_strengths(o);
}
NodeSettings InterestManager::settings(ObserverId o, EntityId e) const {
    return data_->settings(o, e);
}
void InterestManager::entities_of(NodeId node, std::vector<EntityId>& out) const {
    data_->entities_of(node, out);
}
void InterestManager::entities_in(Vec3 min, Vec3 max, std::vector<EntityId>& out,
                                  KindId kind) const {
    data_->entities_in(min, max, out, kind);
}
void InterestManager::observers_covering(std::span<const Vec3> places,
                                         std::vector<Covering>& out) const {
    data_->observers_covering(places, out);
}
void InterestManager::observers_covering(Vec3 place, std::vector<ObserverId>& out) const {
    std::vector<Covering> covering;
    data_->observers_covering(std::span(&place, 1), covering);
    for (const Covering& one : covering) out.push_back(one.observer);
}
std::span<const NodeId> InterestManager::nodes_of(EntityId e) const noexcept {
    return data_->nodes_of(e);
}
bool InterestManager::is_known(EntityId e) const noexcept {
    return data_->is_known(e);
}
bool InterestManager::has_flag(EntityId e, FlagId flag) const noexcept {
    return data_->has_flag(e, flag);
}
Key InterestManager::key_of(EntityId e, KeyDomain domain) const noexcept {
    return data_->key_of(e, domain);
}
bool InterestManager::has_key(EntityId e, KeyDomain domain, Key key) const noexcept {
    return data_->has_key(e, domain, key);
}
float InterestManager::value_of(EntityId e, ValueId value) const noexcept {
    return data_->value_of(e, value);
}
ObserverId InterestManager::owner_of(EntityId e) const noexcept {
    return data_->owner_of(e);
}
KindId InterestManager::kind_of(EntityId e) const noexcept {
    return data_->kind_of(e);
}
Vec3 InterestManager::place_of(EntityId e) const noexcept {
    return data_->place_of(e);
}

}  // namespace purview
