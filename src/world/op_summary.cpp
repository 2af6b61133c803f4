// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/op_summary.hpp"

#include <algorithm>
#include <utility>

namespace purview {

void OpSummary::add(std::uint32_t index) {
    if (records_.size() <= index) records_.resize(std::size_t{index} + 1);
    records_[index] = {};
}

std::span<const WorldOp> OpSummary::track() {
    PURVIEW_ASSERT(tracked_ops_ <= log_.ops().size());
    PURVIEW_ASSERT(records_.size() == entities_.index_end());
    const auto fresh = log_.since(tracked_ops_);
    summary_.clear();
    for (const WorldOp& op : fresh) {
        records_[index_of(op.entity)].is_tracked = true;
        if (op.type == WorldOp::Type::spawn) summary_.push_back(op);
    }
    track_groups(fresh);
    for (const WorldOp& op : fresh) {
        if (op.type == WorldOp::Type::despawn)
            records_[index_of(op.entity)].parent = EntityId::none;
        if (op.type == WorldOp::Type::despawn || op.type == WorldOp::Type::owner)
            summary_.push_back(op);
    }
    tracked_ops_ = log_.ops().size();
    PURVIEW_ASSERT(!has_untracked());
    return summary_;
}

/// Compares only the current relations with the tracked ones. Group members are logged after their
/// parents, so the last operations of all entities are ordered parents first. An entity with an
/// unchanged parent is included only if that parent is: then its root changed, or it moves with the
/// parent.
void OpSummary::track_groups(std::span<const WorldOp> fresh) {
    const auto leaves = static_cast<std::ptrdiff_t>(summary_.size());
    joins_.clear();
    for (std::size_t i = fresh.size(); i-- > 0;) {
        if (fresh[i].type != WorldOp::Type::root) continue;
        const EntityId entity = fresh[i].entity;
        Record& its = records_[index_of(entity)];
        if (std::exchange(its.is_edited, true)) continue;
        const EntityId parent = groups_.group_parent_at(index_of(entity));
        its.is_included = its.parent != parent;
        if (parent != EntityId::none) {
            joins_.push_back(
                {WorldOp::Type::root, entity, groups_.root_at(index_of(entity)), parent});
        } else if (its.is_included) {
            summary_.push_back({WorldOp::Type::root, entity, entity, EntityId::none,
                                ObserverId::none, !entities_.is_alive(its.parent)});
        }
        its.parent = parent;
    }
    std::reverse(summary_.begin() + leaves, summary_.end());
    for (; !joins_.empty(); joins_.pop_back()) {
        const WorldOp& op = joins_.back();
        Record& its = records_[index_of(op.entity)];
        const Record& parent = records_[index_of(op.parent)];
        // A despawned entity has no group parent.
        PURVIEW_ASSERT(entities_.is_alive(op.entity) && entities_.is_alive(op.parent));
        its.is_included = its.is_included || (parent.is_edited && parent.is_included);
        if (its.is_included) summary_.push_back(op);
    }
    for (const WorldOp& op : fresh) {
        if (op.type == WorldOp::Type::root) records_[index_of(op.entity)].is_edited = false;
    }
}

}  // namespace purview
