// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle/truth_records.hpp"

#include <algorithm>
#include <cmath>

namespace purview::check {

void bind(TruthEntity& entity, NodeId node) {
    entity.orphaned = false;
    if (std::find(entity.nodes.begin(), entity.nodes.end(), node) == entity.nodes.end())
        entity.nodes.push_back(node);
}

bool unbind(TruthEntity& entity, NodeId node) {
    if (std::erase(entity.nodes, node) == 0) return false;
    entity.orphaned = entity.nodes.empty();
    return true;
}

void bind_exactly(TruthEntity& entity, std::span<const NodeId> nodes) {
    entity.nodes.clear();
    for (const NodeId node : nodes) bind(entity, node);
    entity.orphaned = nodes.empty();
}

void bind_default(TruthEntity& entity) {
    entity.nodes.clear();
    entity.orphaned = false;
}

void bind_new(TruthEntity& entity, const std::vector<KindRules>& kinds, std::span<const NodeId> own,
              bool replaces_kind_nodes) {
    entity.nodes.clear();
    const bool has_kind = index_of(entity.kind) < kinds.size();
    if (has_kind && !replaces_kind_nodes) {
        for (const NodeId node : kinds[index_of(entity.kind)].nodes) bind(entity, node);
    }
    for (const NodeId node : own) bind(entity, node);
    entity.orphaned = entity.nodes.empty() && has_kind && kinds[index_of(entity.kind)].needs_node;
}

void measure_bounds(std::vector<TruthEntity>& entities, const std::vector<KindRules>& kinds,
                    float max_m) {
    for (TruthEntity& entity : entities) entity.group_radius_m = 0;
    for (const TruthEntity& member : entities) {
        if (member.id == EntityId::none || !member.has_position) continue;
        EntityId top = member.root;
        while (entities[index_of(top)].parent != EntityId::none)
            top = entities[index_of(entities[index_of(top)].parent)].root;
        TruthEntity& root = entities[index_of(top)];
        const std::size_t kind = index_of(root.kind);
        if (kind >= kinds.size() || !kinds[kind].uses_group_radius || !root.has_position) continue;
        const Vec3 a = member.position, b = root.position;
        const double far = std::hypot(double{a.x} - b.x, double{a.y} - b.y, double{a.z} - b.z);
        root.group_radius_m =
            std::min(std::max(root.group_radius_m, static_cast<float>(far)), max_m);
    }
}

}  // namespace purview::check
