// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "core/log.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "interest/engine.hpp"
#include "purview/limits.hpp"
#include "purview/status.hpp"

namespace purview {

namespace {

/// Returns the rules of a manager that was given invalid rules.
Rules nothing_relevant() {
    Rules rules;
    rules.node("invalid rules").enabled = false;
    return rules;
}

}  // namespace

bool EntityView::is_alive() const noexcept {
    return data_->lookup.is_known(entity_);
}
KindId EntityView::kind() const noexcept {
    return data_->lookup.kind_of(entity_);
}
Vec3 EntityView::position() const noexcept {
    return data_->lookup.position_of(entity_);
}
ObserverId EntityView::owner() const noexcept {
    return data_->lookup.owner_of(entity_);
}
bool EntityView::has_flag(FlagId flag) const noexcept {
    return data_->lookup.has_flag(entity_, flag);
}
Key EntityView::key(KeyId id) const noexcept {
    return data_->lookup.key_of(entity_, id);
}
bool EntityView::has_key(KeyId id, Key key) const noexcept {
    return data_->answers.has_key(entity_, id, key);
}
float EntityView::value(ValueId id) const noexcept {
    return data_->lookup.value_of(entity_, id);
}
std::span<const NodeId> EntityView::nodes() const noexcept {
    return data_->lookup.nodes_of(entity_);
}
std::uint64_t EntityView::user_data() const noexcept {
    return data_->caller.user_data.entities.get(entity_);
}

Visibility::Visibility(std::unique_ptr<InterestEngine> data) noexcept : data_(std::move(data)) {}
Visibility::Visibility(Visibility&&) noexcept = default;
Visibility& Visibility::operator=(Visibility&&) noexcept = default;
Visibility::~Visibility() = default;

InterestManager::InterestManager(const Rules& rules, const LogSink& log)
    : Visibility(nullptr), problem_(problem_of(rules)) {
    if (!problem_.empty()) log_refusal(log, problem_);
    PURVIEW_ASSERT(problem_.empty());
    data_ = std::make_unique<InterestEngine>(problem_.empty() ? rules : nothing_relevant(), log);
    data_->log_warnings();
}
InterestManager::InterestManager(InterestManager&&) noexcept = default;
InterestManager& InterestManager::operator=(InterestManager&&) noexcept = default;
InterestManager::~InterestManager() = default;
const std::string& InterestManager::problem() const noexcept {
    return problem_;
}

Status Visibility::set_ready(ObserverId o, bool ready) {
    return data_->observers.set_ready(o, ready);
}
bool Visibility::is_ready(ObserverId o) const noexcept {
    return data_->answers.is_ready(o);
}
Status Visibility::set_viewpoint(ObserverId o, EntityId e) {
    return data_->observers.set_viewpoint(o, e);
}
EntityId Visibility::viewpoint(ObserverId o) const noexcept {
    return data_->observers.viewpoint(o);
}
Status Visibility::set_area(ObserverId o, std::uint32_t number, const Area& area) {
    return data_->observers.set_area(o, number, area);
}
Status Visibility::remove_area(ObserverId o, std::uint32_t number) {
    return data_->observers.remove_area(o, number);
}
Status Visibility::set_areas(ObserverId o, std::span<const Area> areas) {
    return data_->observers.set_areas(o, areas);
}
Status Visibility::add_key(ObserverId o, KeyId id, Key key) {
    return data_->observers.edit_more_observer_keys(o, id, key, true);
}
Status Visibility::remove_key(ObserverId o, KeyId id, Key key) {
    return data_->observers.edit_more_observer_keys(o, id, key, false);
}
Status Visibility::set_key(ObserverId o, KeyId id, Key key) {
    return data_->observers.set_observer_key(o, id, key);
}
bool Visibility::has_key(ObserverId o, KeyId id, Key key) const noexcept {
    return data_->observers.has_key(o, id, key);
}
Status Visibility::set_range(ObserverId o, float range) {
    return data_->observers.set_observer_range(o, range);
}
Status Visibility::set_lookahead(ObserverId o, float seconds) {
    return data_->observers.set_lookahead(o, seconds);
}
Status Visibility::set_unculled(ObserverId o, bool unculled) {
    return data_->observers.set_unculled(o, unculled);
}
Status Visibility::set_user_data(ObserverId o, std::uint64_t user_data) {
    if (!data_->lookup.is_observer(o)) return Status::stale_id;
    data_->caller.user_data.observers.set(o, user_data);
    return Status::ok;
}
std::uint64_t Visibility::user_data(ObserverId o) const noexcept {
    return data_->caller.user_data.observers.get(o);
}
Status Visibility::allow(ObserverId o, EntityId e, bool value) {
    return data_->overrides.edit_pair(o, e, PairMark::allow, value);
}
Status Visibility::deny(ObserverId o, EntityId e, bool value) {
    return data_->overrides.edit_pair(o, e, PairMark::deny, value);
}
Status Visibility::allow(std::span<const PairEdit> edits) {
    return data_->overrides.edit_pairs(edits, PairMark::allow);
}
Status Visibility::deny(std::span<const PairEdit> edits) {
    return data_->overrides.edit_pairs(edits, PairMark::deny);
}
Status Visibility::set_mode(EntityId e, EntityMode mode) {
    return data_->overrides.set_mode(e, mode);
}
Status Visibility::set_hidden(EntityId e, bool hidden) {
    return data_->overrides.force_hide(e, hidden);
}
Status Visibility::show_to_all(EntityId e, bool shown) {
    return data_->overrides.show_to_all(e, shown);
}
Status Visibility::set_range(EntityId e, float range) {
    return data_->attributes.set_range(e, range);
}
Status Visibility::add_key(EntityId e, KeyId id, Key key) {
    return data_->attributes.edit_more_keys(e, id, key, true);
}
Status Visibility::remove_key(EntityId e, KeyId id, Key key) {
    return data_->attributes.edit_more_keys(e, id, key, false);
}
Status Visibility::set_velocity(EntityId e, Vec3 velocity) {
    return data_->attributes.set_velocity(e, velocity);
}
Status Visibility::set_position_source(EntityId e, EntityId source) {
    return data_->positions.set_position_source(e, source);
}
Status Visibility::bind(EntityId e, NodeId node) {
    return data_->nodes.add_node(e, node);
}
Status Visibility::unbind(EntityId e, NodeId node) {
    return data_->nodes.remove_node(e, node);
}
Status Visibility::rebind(EntityId e, std::span<const NodeId> nodes) {
    return data_->nodes.set_nodes(e, nodes);
}
Status Visibility::bind_default(EntityId e) {
    return data_->nodes.add_default_node(e);
}
Status Visibility::set_node_pair(NodeId node, ObserverId o, EntityId e, bool value) {
    return data_->custom_nodes.set_node_pair(node, o, e, value);
}
Status Visibility::recheck(EntityId e) {
    return data_->nodes.recheck(e);
}
Status Visibility::recheck(ObserverId o) {
    return data_->observers.rescan(o);
}
Status Visibility::recheck(NodeId node) {
    return data_->nodes.rescan_node(node);
}
Status Visibility::update(EntityId e) {
    return data_->nodes.update(e);
}
bool Visibility::is_relevant(ObserverId o, EntityId e) const noexcept {
    return data_->answers.is_relevant(o, e);
}
void Visibility::relevant(ObserverId o, std::vector<EntityId>& out) const {
    if (!data_->lookup.is_observer(o)) return;
    data_->relevance.for_each_relevant(index_of(o), [&](EntityId e) { out.push_back(e); });
}
void Visibility::visit_relevant(ObserverId o, void (*visit)(void*, EntityId), void* context) const {
    if (!data_->lookup.is_observer(o)) return;
    data_->relevance.for_each_relevant(index_of(o), [&](EntityId e) { visit(context, e); });
}
void Visibility::observers_of(EntityId e, std::vector<ObserverId>& out) const {
    data_->answers.observers_of(e, out);
}
std::uint32_t Visibility::observer_count(EntityId e) const noexcept {
    return data_->answers.observer_count(e);
}
std::span<const EntityId> Visibility::newly_observed() const noexcept {
    return data_->newly_observed();
}
std::span<const EntityId> Visibility::no_longer_observed() const noexcept {
    return data_->no_longer_observed();
}
void Visibility::scores(ObserverId o, std::span<const EntityId> entities,
                        std::span<float> out) const {
    data_->answers.score(o, entities, out);
}
Scores Visibility::changed_scores(ObserverId o) {
    return data_->changed_scores.changed_scores(o);
}
void Visibility::entities_in(Vec3 min, Vec3 max, std::vector<EntityId>& out, KindId kind) const {
    data_->answers.entities_in(min, max, out, kind);
}
void Visibility::entities_of(NodeId node, std::vector<EntityId>& out) const {
    data_->answers.entities_of(node, out);
}
void Visibility::observers_covering(Vec3 position, std::vector<ObserverId>& out) const {
    std::vector<Covering> covering;
    data_->answers.observers_covering(std::span(&position, 1), covering);
    for (const Covering& one : covering) out.push_back(one.observer);
}
EntityView Visibility::entity(EntityId e) const noexcept {
    return {*data_, e};
}
Explanation Visibility::explain(ObserverId o, EntityId e) const {
    return data_->explainer.explain(o, e);
}
const Rules& Visibility::rules() const noexcept {
    return data_->rules();
}
const std::vector<std::string>& Visibility::warnings() const noexcept {
    return data_->warnings();
}
std::uint64_t Visibility::ignored_moves() const noexcept {
    return data_->counters().bad_positions + data_->counters().stale_ids;
}

EntityId InterestManager::spawn(const EntityDef& def) {
    const EntityId id = def.id != EntityId::none ? def.id : data_->caller.ids.next();
    const Status status = data_->entities.spawn(id, def);
    PURVIEW_ASSERT(status == Status::ok);
    if (status != Status::ok) return EntityId::none;
    data_->caller.ids.spawned(id);
    if (def.owner != ObserverId::none) data_->overrides.set_owner(id, def.owner);
    if (def.user_data != 0) data_->caller.user_data.entities.set(id, def.user_data);
    return id;
}
Status InterestManager::despawn(EntityId e) {
    const Status status = data_->entities.despawn(e);
    if (status == Status::ok) {
        data_->caller.ids.despawned(e);
        data_->caller.user_data.entities.forget(e);
    }
    return status;
}
Status InterestManager::move(EntityId e, Vec3 position) {
    return data_->positions.move(e, position);
}
void InterestManager::move(const PositionColumns& columns) {
    data_->positions.move(columns);
}
Status InterestManager::set_flag(EntityId e, FlagId flag, bool value) {
    return data_->attributes.set_flag(e, flag, value);
}
Status InterestManager::set_key(EntityId e, KeyId id, Key key) {
    return data_->attributes.set_key(e, id, key);
}
Status InterestManager::set_value(EntityId e, ValueId id, float value) {
    return data_->attributes.set_value(e, id, value);
}
Status InterestManager::set_owner(EntityId e, ObserverId owner) {
    return data_->overrides.set_owner(e, owner);
}
Status InterestManager::set_user_data(EntityId e, std::uint64_t user_data) {
    if (!data_->lookup.is_known(e)) return Status::stale_id;
    data_->caller.user_data.entities.set(e, user_data);
    return Status::ok;
}
Status InterestManager::attach(EntityId child, EntityId parent) {
    const EntityId root = data_->lookup.top_of(parent);
    return data_->groups.join_unit(child, root, parent == root ? EntityId::none : parent);
}
Status InterestManager::detach(EntityId child, const EntityDef& def, bool is_orphan) {
    return data_->groups.leave_unit(child, def, is_orphan);
}
Status InterestManager::set_group_radius(EntityId root, float radius) {
    return data_->attributes.set_group_radius(root, radius);
}

ObserverId InterestManager::add_observer(const ObserverDef& def) {
    const Result<ObserverId> added = data_->observers.add_observer();
    if (!added) return ObserverId::none;
    const ObserverId observer = *added;
    if (def.viewpoint != EntityId::none) data_->observers.set_viewpoint(observer, def.viewpoint);
    if (def.range > 0) data_->observers.set_observer_range(observer, def.range);
    if (def.is_ready) data_->observers.set_ready(observer, true);
    if (def.user_data != 0) data_->caller.user_data.observers.set(observer, def.user_data);
    return observer;
}
Status InterestManager::remove_observer(ObserverId o) {
    const Status status = data_->observers.remove_observer(o);
    if (status == Status::ok) data_->caller.user_data.observers.forget(o);
    return status;
}
std::string InterestManager::set_rules(const Rules& rules) {
    return data_->live_rules.set_rules(rules);
}
RuleTrial InterestManager::try_rules(const Rules& rules, std::size_t pairs_max) const {
    return data_->try_rules(rules, *this, pairs_max);
}
void InterestManager::set_level(InterestLevel level) {
    data_->live_rules.set_level(level);
}
void InterestManager::set_executor(const Executor& executor) {
    data_->windows.set_executor(executor);
}
void InterestManager::tick() {
    data_->tick(*this);
}
std::span<const InterestEvent> InterestManager::events() const {
    return data_->events();
}
std::span<const InterestEvent> InterestManager::events(ObserverId o) const {
    return data_->events_of(o);
}

}  // namespace purview
