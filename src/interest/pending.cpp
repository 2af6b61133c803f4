// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/interest_data.hpp"
#include "purview/cells.hpp"
#include "purview/profile.hpp"
namespace purview {
using M = InterestManager;
Status M::add_key(EntityId, KeyDomain, Key) { return Status::refused; }
Status M::remove_key(EntityId, KeyDomain, Key) { return Status::refused; }
Status M::set_value(EntityId, ValueId, float) { return Status::refused; }
Status M::set_range(EntityId, float) { return Status::refused; }
Status M::set_mode(EntityId, EntityMode) { return Status::refused; }
Status M::set_place_override(EntityId, EntityId) { return Status::refused; }
Status M::set_velocity(EntityId, Vec3) { return Status::refused; }
Status M::add_node(EntityId, NodeId) { return Status::refused; }
Status M::remove_node(EntityId, NodeId) { return Status::refused; }
Status M::set_nodes(EntityId, std::span<const NodeId>) { return Status::refused; }
Status M::add_default_node(EntityId) { return Status::refused; }
Status M::update(EntityId) { return Status::refused; }
void M::move(const PlaceColumns&) {}
Status M::set_areas(ObserverId, std::span<const Area>) { return Status::refused; }
Status M::add_observer_key(ObserverId, KeyDomain, Key) { return Status::refused; }
Status M::remove_observer_key(ObserverId, KeyDomain, Key) { return Status::refused; }
Status M::set_observer_range(ObserverId, float) { return Status::refused; }
Status M::set_lookahead(ObserverId, float) { return Status::refused; }
Status M::rescan_node(NodeId) { return Status::refused; }
Status M::set_rules(const InterestRules&) { return Status::refused; }
RuleTrial M::try_rules(const InterestRules&) const { return {}; }
const InterestRules& M::rules() const noexcept { static InterestRules r; return r; }
void M::set_level(InterestLevel) {}
Status M::set_node_pair(NodeId, ObserverId, EntityId, bool) { return Status::refused; }
void M::set_executor(const Executor&) {}
void M::visit_relevant(ObserverId, void (*)(void*, EntityId), void*) const {}
void M::observers_of(EntityId, std::vector<ObserverId>&) const {}
std::uint32_t M::observer_count(EntityId) const noexcept { return 0; }
std::span<const ObserverEdge> M::edges() const noexcept { return {}; }
void M::strength(ObserverId, std::span<const EntityId>, std::span<float>) const {}
NodeSettings M::settings(ObserverId, EntityId) const { return {}; }
void M::entities_in(Vec3, Vec3, std::vector<EntityId>&, KindId) const {}
void M::observers_covering(Vec3, std::vector<ObserverId>&) const {}
Vec3 M::place_of(EntityId) const noexcept { return {}; }
std::string_view to_string(Profile) noexcept { return {}; }
InterestDef profile(Profile) { return {}; }
std::uint32_t CellGrid::cell_of(Vec3) const noexcept { return 0; }
Vec3 CellGrid::min_of(std::uint32_t) const noexcept { return {}; }
Vec3 CellGrid::max_of(std::uint32_t) const noexcept { return {}; }
void CellGrid::neighbourhood(std::uint32_t, std::uint32_t, std::vector<std::uint32_t>&) const {}
bool CellGrid::are_adjacent(std::uint32_t, std::uint32_t, std::uint32_t) const noexcept { return false; }
}  // namespace purview
