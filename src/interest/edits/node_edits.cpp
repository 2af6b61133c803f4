// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/node_edits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "purview/status.hpp"

namespace purview {

Status NodeEdits::edit_nodes(EntityId entity, std::span<const NodeId> nodes, bool is_unbound) {
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return lookup_.is_member(entity) ? Status::refused : Status::stale_id;
    const auto before = facts_table_.bindings.nodes_of(entity);
    const std::vector<NodeId> left(before.begin(), before.end());
    const std::vector<bool> was_about = custom_nodes_.about(entity);
    edits_.edit_unit(entity, [&] {
        if (is_unbound) {
            facts_table_.bindings.set_unbound(entity);
            warnings_.warn_of_uncovered(entity, lookup_.rules_of_kind(entity), rules_);
        } else {
            facts_table_.bindings.set(entity, nodes);
        }
        membership_.update_bound(entity, left);
        custom_nodes_.bindings_changed(entity, was_about);
    });
    PURVIEW_ASSERT(table_.slot_of(entity) == slot);
    // An empty list differs from no list.
    PURVIEW_ASSERT(facts_table_.bindings.is_unbound(entity) == is_unbound);
    table_.mark_dirty(block_of(slot));
    rebound_.pending.push_back(entity);
    return nodes.empty() && !is_unbound ? Status::orphaned : Status::ok;
}

Status NodeEdits::set_nodes(EntityId entity, std::span<const NodeId> nodes) {
    for (const NodeId node : nodes) {
        if (index_of(node) >= rules_.nodes.size()) return Status::bad_argument;
    }
    return edit_nodes(entity, nodes, false);
}

Status NodeEdits::add_default_node(EntityId entity) {
    return edit_nodes(entity, {}, true);
}

Status NodeEdits::add_node(EntityId entity, NodeId node) {
    if (index_of(node) >= rules_.nodes.size()) return Status::bad_argument;
    const auto now = facts_table_.bindings.nodes_of(entity);
    std::vector<NodeId> nodes(now.begin(), now.end());
    nodes.push_back(node);
    return edit_nodes(entity, nodes, false);
}

Status NodeEdits::remove_node(EntityId entity, NodeId node) {
    if (table_.slot_of(entity) == no_slot)
        return lookup_.is_member(entity) ? Status::refused : Status::stale_id;
    const auto now = facts_table_.bindings.nodes_of(entity);
    std::vector<NodeId> nodes(now.begin(), now.end());
    const auto at = std::find(nodes.begin(), nodes.end(), node);
    if (at == nodes.end()) return Status::not_found;
    nodes.erase(at);
    return edit_nodes(entity, nodes, false);
}

Status NodeEdits::recheck(EntityId entity) {
    if (!lookup_.is_known(entity)) return Status::stale_id;
    const EntityId unit = lookup_.unit_of(entity);
    PURVIEW_ASSERT(table_.slot_of(unit) != no_slot);
    table_.mark_dirty(block_of(table_.slot_of(unit)));
    has_custom_queries_ = true;
    if (summary_.has_cells) edits_.edit_unit(unit, [&] { membership_.update_rows(unit); });
    custom_nodes_.query_again(unit);
    custom_nodes_.query_all_observers();
    custom_nodes_.notify_nodes(unit, NodeNotice::Type::updated);
    // The entity may determine which inner nodes its observers cover.
    observers_.for_each_watcher(
        entity, [&](std::uint32_t o) { (void)observer_edits_.rescan(observers_.id_of(o)); });
    return Status::ok;
}

Status NodeEdits::update(EntityId entity) {
    if (!lookup_.is_known(entity)) return Status::stale_id;
    const EntityId unit = lookup_.unit_of(entity);
    if (dormant_.size() > 0) {
        if (const Vec3* away = dormant_.find(unit)) positions_.write_position(unit, *away);
    }
    return recheck(unit);
}

Status NodeEdits::rescan_node(NodeId node) {
    if (index_of(node) >= rules_.nodes.size()) return Status::bad_argument;
    if (custom_nodes_.query_all(node)) return Status::ok;
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (observers_.is_live(o)) (void)observer_edits_.rescan(observers_.id_of(o));
    }
    if (summary_.has_cells) lookup_.for_each_unit([&](EntityId unit) { (void)recheck(unit); });
    return Status::ok;
}

}  // namespace purview
