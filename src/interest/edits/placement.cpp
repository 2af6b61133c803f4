// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/placement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/finite.hpp"
#include "purview/status.hpp"

namespace purview {

void Placement::bind(EntityId entity, const EntityDef& def) {
    const KindRules* kind = lookup_.kind_of(def.kind);
    std::vector<NodeId> nodes;
    if (kind != nullptr && !def.replaces_kind_nodes) nodes = kind->nodes;
    nodes.insert(nodes.end(), def.nodes.begin(), def.nodes.end());
    if (nodes.empty() && (kind == nullptr || !kind->needs_node)) {
        facts_table_.bindings.set_unbound(entity);
        if (def.mode == EntityMode::nodes) warnings_.warn_of_uncovered(entity, kind, rules_);
    } else {
        facts_table_.bindings.set(entity, nodes);
    }
}

Status Placement::check_def(const EntityDef& def) const noexcept {
    if (!is_finite(def.position)) return Status::bad_position;
    const auto& classes = rules_.range_classes;
    const float range_max = classes.empty() ? 0 : classes.back();
    if (!(def.range >= 0) || def.range > range_max) return Status::bad_argument;
    for (const float value : def.values) {
        if (!std::isfinite(value)) return Status::bad_argument;
    }
    for (const NodeId node : def.nodes) {
        if (index_of(node) >= rules_.nodes.size()) return Status::bad_argument;
    }
    return Status::ok;
}

Slot Placement::place_unit(EntityId unit, const EntityDef& def) {
    PURVIEW_ASSERT(!lookup_.is_known(unit));
    const KindRules* kind = lookup_.kind_of(def.kind);
    const Columns& columns = facts_table_.columns;
    const float range = def.range > 0 || kind == nullptr ? def.range : kind->range;
    const std::uint32_t layer =
        def.has_position ? positions_.layer_for(kind, range) : layers_.abstract;
    const Slot slot = table_.insert(unit, layer, lookup_.inner(def.position));
    if (rules_.measure_scores) table_.set_flag(columns.changed, slot, true);
    for (std::uint32_t f = 0; f < rules_.flag_names.size(); ++f) {
        table_.set_flag(f, slot, ((def.flags.bits >> f) & 1U) != 0);
    }
    for (std::uint32_t d = 0; d < rules_.key_names.size() && d < def.keys.size(); ++d) {
        table_.set_key(d, slot, def.keys[d]);
    }
    for (std::uint32_t v = 0; v < rules_.value_names.size() && v < def.values.size(); ++v) {
        table_.set_number(v, slot, def.values[v]);
    }
    table_.set_number(columns.range, slot, range);
    EntityMode mode = def.mode;
    if (mode == EntityMode::nodes && kind != nullptr) mode = kind->mode;
    if (mode == EntityMode::global) {
        table_.set_flag(columns.global_mode, slot, true);
        ++counts_.shown;
    }
    table_.set_flag(columns.explicit_only, slot, mode == EntityMode::explicit_only);
    overrides_.update_no_window(unit);
    if (observers_.has_watchers(unit)) table_.set_flag(columns.watched, slot, true);
    table_.set_flag(columns.more_keys, slot, !facts_table_.more_keys.of(index_of(unit)).empty());
    bind(unit, def);
    membership_.update_bound(unit);
    if (summary_.has_moving_cells) cell_movers_.push_back(unit);
    if (summary_.has_waiting) new_units_.add(unit);
    custom_nodes_.notify_nodes(unit, NodeNotice::Type::added);
    // A spawn is evaluated in its tick, regardless of a node's every_ticks. For entity-centric
    // nodes, update_bound requests this.
    custom_nodes_.query_observers_about(unit);
    PURVIEW_ASSERT(table_.slot_of(unit) == slot);  // only a tick moves it to another slot
    return slot;
}

void Placement::set_kind(EntityId entity, KindId kind) {
    kinds_.set(index_of(entity), kind);
    const KindRules* known = lookup_.kind_of(kind);
    ownership_.set_blind(entity, !rules_.owner_sees || (known != nullptr && !known->owner_sees));
}

}  // namespace purview
