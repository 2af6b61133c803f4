// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Entities come and go, and which nodes are about them. Whatever may change X runs inside
// edit_unit.
#include <algorithm>
#include <array>
#include <cmath>

#include "interest/edits.hpp"

namespace purview {

// -- rows and columns -----------------------------------------------------------------------------

/// Rows of a source in which it should be, ascending, into wanted_rows_; whether the filters behind
/// the add let it through.
bool InterestData::find_wanted_rows_of(EntityId unit, std::uint32_t s) {
    const Slot slot = table_.slot_of(unit);
    PURVIEW_ASSERT(slot != no_slot);
    PURVIEW_ASSERT(rows_.size() == program_.rows.size() && s < rows_.size());
    const Slots slots(table_, facts_table_);
    const RowSource& source = program_.rows[s];
    RowStore& store = rows_[s];
    wanted_rows_.clear();
    const Members members = rules_.nodes[index_of(source.node)].members;
    if (facts_table_.bindings.is_member(source.node, members, unit) &&
        source.member->test_entity(slots, slot)) {
        switch (source.by) {
            case RowsBy::all:
                wanted_rows_.push_back(store.row_of(0));
                break;
            case RowsBy::key: {
                const Key key = table_.key(index_of(source.domain), slot);
                if (key != Key::none) wanted_rows_.push_back(store.row_of(index_of(key)));
                for (const DomainKey& more : facts_table_.more_keys.of(index_of(unit))) {
                    if (more.domain == source.domain)
                        wanted_rows_.push_back(store.row_of(index_of(more.key)));
                }
                break;
            }
            case RowsBy::cell:
                cells_.clear();
                add_cells_of(*source.dispatcher, slots, slot, cells_);
                for (const CellId cell : cells_) wanted_rows_.push_back(store.row_of(cell));
                break;
        }
    }
    std::sort(wanted_rows_.begin(), wanted_rows_.end());
    wanted_rows_.erase(std::unique(wanted_rows_.begin(), wanted_rows_.end()), wanted_rows_.end());
    bool passes = true;
    for (const Step& filter : source.filters) {
        const bool yes = filter.kernel->test_entity(slots, slot);
        passes &= filter.combine == Combine::subtract ? !yes : yes;
    }
    return passes;
}

/// The rows of every source that the unit belongs to now, and none of those of nodes that it left.
void InterestData::update_rows(EntityId unit, std::span<const NodeId> left) {
    bool is_in_any = false;
    for_each_source_of(unit, left, [&](std::uint32_t s) {
        const bool passes = find_wanted_rows_of(unit, s);
        rows_[s].set_memberships(unit, wanted_rows_, passes);
        is_in_any |= !program_.rows[s].pulled && !wanted_rows_.empty();
    });
    const Slot slot = table_.slot_of(unit);
    PURVIEW_ASSERT(slot != no_slot);
    const std::uint32_t in_rows = facts_table_.columns.in_rows;
    if (table_.flag(in_rows, slot) != is_in_any) table_.set_flag(in_rows, slot, is_in_any);
}

/// update_rows would change nothing.
bool InterestData::is_in_its_rows(EntityId unit) {
    bool is_in_all = true;
    for_each_source_of(unit, {}, [&](std::uint32_t s) {
        if (!is_in_all) return;
        const bool passes = find_wanted_rows_of(unit, s);
        is_in_all = rows_[s].has_memberships(unit, wanted_rows_, passes);
    });
    return is_in_all;
}

void InterestData::drop_rows(EntityId unit) {
    for_each_source_of(unit, {}, [&](std::uint32_t s) { rows_[s].remove(unit); });
    // It was in no row of a node that is not about it.
    for (const RowStore& store : rows_) PURVIEW_ASSERT(store.memberships(unit).empty());
}

void InterestData::update_special(EntityId unit) {
    PURVIEW_ASSERT(table_.slot_of(unit) != no_slot);
    table_.set_flag(facts_table_.columns.special, table_.slot_of(unit), pairs_.has_denial(unit));
}

void InterestData::update_no_window(EntityId unit) {
    const Columns& columns = facts_table_.columns;
    const Slot slot = table_.slot_of(unit);
    PURVIEW_ASSERT(slot != no_slot);
    const bool hidden =
        table_.flag(columns.force_hidden, slot) || table_.flag(columns.explicit_only, slot);
    if (table_.flag(columns.no_window, slot) == hidden) return;
    PURVIEW_ASSERT(hidden || no_window_count_ > 0);
    no_window_count_ += hidden ? 1 : static_cast<std::uint32_t>(-1);
    table_.set_flag(columns.no_window, slot, hidden);
}

/// Columns that say of which nodes it is a member, and of which not any more.
void InterestData::update_membership(EntityId unit, std::span<const NodeId> left) {
    const Slot slot = table_.slot_of(unit);
    PURVIEW_ASSERT(slot != no_slot);
    const Bindings& bindings = facts_table_.bindings;
    const auto& nodes = rules_.nodes;
    bool is_open = false, any = false, all_dormant = true;
    const auto set_column = [&](NodeId node, bool is_in) {
        const std::uint32_t column = member_columns_.of(node);
        if (column != no_column && table_.flag(column, slot) != is_in)
            table_.set_flag(column, slot, is_in);
    };
    // First what it is not a member of: another node may have the same column.
    const auto is_in_node = [&](NodeId id) {
        const Members members = nodes.empty() ? Members::unbound : nodes[index_of(id)].members;
        return bindings.is_member(id, members, unit);
    };
    for_each_node_of(unit, left, [&](NodeId id) {
        if (!is_in_node(id)) set_column(id, false);
    });
    for_each_node_of(unit, left, [&](NodeId id) {
        const std::size_t n = index_of(id);
        if (!is_in_node(id)) return;
        set_column(id, true);
        is_open |= summary_.open_nodes.test(n);
        if (nodes.empty() || !nodes[n].enabled) return;
        any = true;
        all_dormant &= nodes[n].dormant;
    });
    const std::uint32_t open = facts_table_.columns.open;
    if (table_.flag(open, slot) != is_open) {
        PURVIEW_ASSERT(is_open || open_count_ > 0);
        open_count_ += is_open ? 1 : static_cast<std::uint32_t>(-1);
        table_.set_flag(open, slot, is_open);
    }
    const Vec3* away = dormant_.size() == 0 ? nullptr : dormant_.find(unit);
    if (any && all_dormant) {
        if (away == nullptr) dormant_[unit] = table_.position(slot);
    } else if (away != nullptr) {
        const Vec3 now = *away;
        dormant_.erase(unit);
        write_position(unit, now);
    }
    PURVIEW_ASSERT(dormant_.contains(unit) == (any && all_dormant));
}

/// Bindings changed: members, rows, custom nodes.
void InterestData::update_bound(EntityId unit, std::span<const NodeId> left) {
    update_membership(unit, left);
    update_rows(unit, left);
    ask_again(unit);
}

void InterestData::bind(EntityId entity, const EntityDef& def) {
    const KindRules* kind = kind_of(def.kind);
    std::vector<NodeId> nodes;
    if (kind != nullptr && !def.replaces_kind_nodes) nodes = kind->nodes;
    nodes.insert(nodes.end(), def.nodes.begin(), def.nodes.end());
    if (nodes.empty() && (kind == nullptr || !kind->needs_node)) {
        facts_table_.bindings.set_unbound(entity);
        if (def.mode == EntityMode::nodes) warn_of_uncovered(entity);
    } else {
        facts_table_.bindings.set(entity, nodes);
    }
}

std::uint32_t InterestData::layer_for(const KindRules* kind, float range) const noexcept {
    if (kind != nullptr && kind->uses_group_radius) {
        PURVIEW_ASSERT(bounds_layer_ < abstract_layer_);  // rules without one are refused
        return bounds_layer_;
    }
    const auto& classes = rules_.range_classes;
    std::uint32_t layer = 0;
    while (range > 0 && layer + 1 < classes.size() && classes[layer] < range) ++layer;
    return layer;
}

/// Of whoever has a place.
std::uint32_t InterestData::layer_of(EntityId unit) const noexcept {
    const std::uint32_t index = index_of(unit);
    return layer_for(kind_of(kinds_.of(index)),
                     table_.number(facts_table_.columns.range, table_.slot_of(unit)));
}

void InterestData::write_bounds(Slot slot, float radius) {
    const Columns& columns = facts_table_.columns;
    const bool was = table_.flag(columns.bounded, slot), is = radius > 0;
    table_.set_number(columns.bounds, slot, radius);
    table_.set_flag(columns.bounded, slot, is);
    PURVIEW_ASSERT(!was || bounded_count_ > 0);
    if (was != is) bounded_count_ += is ? 1 : static_cast<std::uint32_t>(-1);
}

Status InterestData::check_def(const EntityDef& def) const noexcept {
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

Slot InterestData::place_unit(EntityId unit, const EntityDef& def) {
    PURVIEW_ASSERT(!is_known(unit));
    const KindRules* kind = kind_of(def.kind);
    const Columns& columns = facts_table_.columns;
    const float range = def.range > 0 || kind == nullptr ? def.range : kind->range;
    const std::uint32_t layer = def.has_position ? layer_for(kind, range) : abstract_layer_;
    const Slot slot = table_.insert(unit, layer, inner(def.position));
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
        ++shown_count_;
    }
    table_.set_flag(columns.explicit_only, slot, mode == EntityMode::explicit_only);
    update_no_window(unit);
    if (observers_.has_watchers(unit)) table_.set_flag(columns.watched, slot, true);
    table_.set_flag(columns.more_keys, slot, !facts_table_.more_keys.of(index_of(unit)).empty());
    bind(unit, def);
    update_bound(unit);
    if (summary_.has_moving_cells) cell_movers_.push_back(unit);
    if (summary_.has_waiting) new_units_.add(unit);
    notify_nodes(unit, Notice::Type::added);
    // A spawn is evaluated in its tick, whatever the refresh of a node (entity-centric ones are
    // asked about the unit by update_bound).
    for (CustomNodeState& custom : custom_)
        custom.asks_all |= !custom.node->is_entity_centric() && is_about(custom, unit);
    PURVIEW_ASSERT(table_.slot_of(unit) == slot);  // only a tick moves it to another one
    return slot;
}

// -- life -----------------------------------------------------------------------------------------

void InterestData::set_kind(EntityId entity, KindId kind) {
    kinds_.set(index_of(entity), kind);
    const KindRules* known = kind_of(kind);
    ownership_.set_blind(entity, !rules_.owner_sees || (known != nullptr && !known->owner_sees));
}

Status InterestData::spawn(EntityId entity, const EntityDef& def) {
    if (generation_of(entity) == 0 || index_of(entity) >= entity_index_end)
        return Status::bad_argument;
    if (const Status status = check_def(def); status != Status::ok) return status;
    if (table_.entity_at(index_of(entity)) != EntityId::none ||
        groups_.is_member_index(index_of(entity))) {
        return Status::duplicate;
    }
    // What is kept by index was forgotten with whoever had it before.
    PURVIEW_ASSERT(!pairs_.has_any(entity) && facts_table_.bindings.is_unbound(entity));
    PURVIEW_ASSERT(facts_table_.more_keys.of(index_of(entity)).empty());
    PURVIEW_ASSERT(kinds_.of(index_of(entity)) == KindId::none);
    set_kind(entity, def.kind);
    edit_unit(entity, [&] { place_unit(entity, def); });
    spawned_.add(index_of(entity));
    return Status::ok;
}

void InterestData::drop_pairs(EntityId unit) {
    while (pairs_.has_any(unit)) {
        const std::uint32_t o = pairs_.any_observer(unit);
        if (pairs_.find(o, unit)->nodes > 0) drop_from_custom_nodes(o, unit);
        pairs_.drop(o, unit);
    }
}

/// What is kept by index, beside units.
void InterestData::forget_entity(EntityId entity) {
    const std::uint32_t index = index_of(entity);
    PURVIEW_ASSERT(!is_known(entity) && !pairs_.has_any(entity));
    ownership_.forget(entity);
    position_sources_.erase(entity);
    dormant_.erase(entity);
    facts_table_.more_keys.clear(index);
    facts_table_.bindings.set_unbound(entity);
    if (index < facts_table_.velocities.size()) facts_table_.velocities[index] = {};
    kinds_.set(index, KindId::none);
}

Status InterestData::despawn(EntityId entity) {
    if (is_member(entity)) {
        const EntityId root = unit_of(entity);
        if (is_plain_member(entity) && !has_cuts(root) && !is_mixed(root)) {
            const std::array who{entity};
            views_before_.clear();
            collect_views(who, everybody(), views_before_);
            forget_member(entity);
            tell_views(who, everybody(), views_before_);
        } else {
            edit_groups({root}, [&] { forget_member(entity); });
        }
        forget_entity(entity);
        update_observers_of_main(entity);
        return Status::ok;
    }
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return Status::stale_id;
    if (groups_.has_members(entity)) return Status::refused;
    if (!splits_.below(entity).empty()) return Status::refused;
    if (splits_.parent_of(entity) != EntityId::none) leave_split(entity);
    if (is_mixed(entity)) split_queue_.add_gone(entity);
    notify_nodes(entity, Notice::Type::removed);
    edit_unit(entity, [&] {
        drop_rows(entity);
        drop_pairs(entity);
        const Columns& columns = facts_table_.columns;
        shown_count_ -= table_.flag(columns.shown, slot) ? 1 : 0;
        shown_count_ -= table_.flag(columns.global_mode, slot) ? 1 : 0;
        shown_count_ -= table_.flag(columns.shown_by_members, slot) ? 1 : 0;
        open_count_ -= table_.flag(columns.open, slot) ? 1 : 0;
        no_window_count_ -= table_.flag(columns.no_window, slot) ? 1 : 0;
        groups_.forget_unit(entity);
        bounded_count_ -= table_.flag(columns.bounded, slot) ? 1 : 0;
        table_.remove(slot, false);
    });
    // Nothing was taken from a count that had not been added to it.
    PURVIEW_ASSERT(std::max(open_count_, no_window_count_) <= table_.index_end());
    PURVIEW_ASSERT(shown_count_ <= 3 * table_.index_end() && bounded_count_ <= table_.index_end());
    forget_entity(entity);
    update_observers_of_main(entity);
    return Status::ok;
}

// -- bindings -------------------------------------------------------------------------------------

Status InterestData::edit_nodes(EntityId entity, std::span<const NodeId> nodes, bool is_unbound) {
    const Slot slot = table_.slot_of(entity);
    if (slot == no_slot) return is_member(entity) ? Status::refused : Status::stale_id;
    const auto before = facts_table_.bindings.nodes_of(entity);
    const std::vector<NodeId> left(before.begin(), before.end());
    std::vector<bool> was_of(custom_.size());
    for (std::size_t c = 0; c < custom_.size(); ++c) was_of[c] = is_about(custom_[c], entity);
    edit_unit(entity, [&] {
        if (is_unbound) {
            facts_table_.bindings.set_unbound(entity);
            warn_of_uncovered(entity);
        } else {
            facts_table_.bindings.set(entity, nodes);
        }
        update_bound(entity, left);
        for (std::size_t c = 0; c < custom_.size(); ++c) {
            CustomNodeState& custom = custom_[c];
            const bool is_of = is_about(custom, entity);
            if (is_of == was_of[c]) continue;
            custom.asks_all |= !custom.node->is_entity_centric();
            if (notifies_nodes_) {
                notices_.push_back(
                    {custom.node, entity, is_of ? Notice::Type::added : Notice::Type::removed});
            }
        }
    });
    PURVIEW_ASSERT(table_.slot_of(entity) == slot);
    // An empty list is not the same as none.
    PURVIEW_ASSERT(facts_table_.bindings.is_unbound(entity) == is_unbound);
    table_.mark_dirty(block_of(slot));
    rebinding_.push_back(entity);
    return nodes.empty() && !is_unbound ? Status::orphaned : Status::ok;
}

Status InterestData::set_nodes(EntityId entity, std::span<const NodeId> nodes) {
    for (const NodeId node : nodes) {
        if (index_of(node) >= rules_.nodes.size()) return Status::bad_argument;
    }
    return edit_nodes(entity, nodes, false);
}

Status InterestData::add_default_node(EntityId entity) {
    return edit_nodes(entity, {}, true);
}

Status InterestData::add_node(EntityId entity, NodeId node) {
    if (index_of(node) >= rules_.nodes.size()) return Status::bad_argument;
    const auto now = facts_table_.bindings.nodes_of(entity);
    std::vector<NodeId> nodes(now.begin(), now.end());
    nodes.push_back(node);
    return edit_nodes(entity, nodes, false);
}

Status InterestData::remove_node(EntityId entity, NodeId node) {
    if (table_.slot_of(entity) == no_slot)
        return is_member(entity) ? Status::refused : Status::stale_id;
    const auto now = facts_table_.bindings.nodes_of(entity);
    std::vector<NodeId> nodes(now.begin(), now.end());
    const auto at = std::find(nodes.begin(), nodes.end(), node);
    if (at == nodes.end()) return Status::not_found;
    nodes.erase(at);
    return edit_nodes(entity, nodes, false);
}

Status InterestData::recheck(EntityId entity) {
    if (!is_known(entity)) return Status::stale_id;
    const EntityId unit = unit_of(entity);
    PURVIEW_ASSERT(table_.slot_of(unit) != no_slot);
    table_.mark_dirty(block_of(table_.slot_of(unit)));
    is_anybody_asked_ = true;
    if (summary_.has_cells) edit_unit(unit, [&] { update_rows(unit); });
    ask_again(unit);
    for (CustomNodeState& custom : custom_) custom.asks_all |= !custom.node->is_entity_centric();
    notify_nodes(unit, Notice::Type::updated);
    // What it is may decide into which inner nodes its observers look.
    observers_.for_each_watcher(entity, [&](std::uint32_t o) { (void)rescan(id_of(o)); });
    return Status::ok;
}

}  // namespace purview
