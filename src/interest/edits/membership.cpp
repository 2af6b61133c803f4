// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/membership.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "purview/status.hpp"

namespace purview {

/// Writes the rows of source `s` that the cull group belongs to into `wanted_rows_`, ascending.
/// Returns whether the filters after the add step accept it.
bool Membership::find_wanted_rows_of(EntityId unit, std::uint32_t s) {
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

/// Puts the cull group into its rows of every source, and removes it from the rows of the nodes in
/// `left`.
void Membership::update_rows(EntityId unit, std::span<const NodeId> left) {
    bool is_in_any = false;
    explicit_.for_each_source_of(unit, left, [&](std::uint32_t s) {
        const bool passes = find_wanted_rows_of(unit, s);
        rows_[s].set_memberships(unit, wanted_rows_, passes);
        is_in_any |= !program_.rows[s].pulled && !wanted_rows_.empty();
    });
    const Slot slot = table_.slot_of(unit);
    PURVIEW_ASSERT(slot != no_slot);
    const std::uint32_t in_rows = facts_table_.columns.in_rows;
    if (table_.flag(in_rows, slot) != is_in_any) table_.set_flag(in_rows, slot, is_in_any);
}

/// Returns whether `update_rows` would change nothing.
bool Membership::is_in_its_rows(EntityId unit) {
    bool is_in_all = true;
    explicit_.for_each_source_of(unit, {}, [&](std::uint32_t s) {
        if (!is_in_all) return;
        const bool passes = find_wanted_rows_of(unit, s);
        is_in_all = rows_[s].has_memberships(unit, wanted_rows_, passes);
    });
    return is_in_all;
}

void Membership::drop_rows(EntityId unit) {
    explicit_.for_each_source_of(unit, {}, [&](std::uint32_t s) { rows_[s].remove(unit); });
    // It was in no row of other nodes.
    for (const RowStore& store : rows_) PURVIEW_ASSERT(store.memberships(unit).empty());
}

/// Sets the member columns of the nodes that the cull group belongs to, and clears those of nodes
/// that it left.
void Membership::update_membership(EntityId unit, std::span<const NodeId> left) {
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
    // Clears first: another node may share the column.
    const auto is_in_node = [&](NodeId id) {
        const Members members = nodes.empty() ? Members::unbound : nodes[index_of(id)].members;
        return bindings.is_member(id, members, unit);
    };
    explicit_.for_each_node_of(unit, left, [&](NodeId id) {
        if (!is_in_node(id)) set_column(id, false);
    });
    explicit_.for_each_node_of(unit, left, [&](NodeId id) {
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
        PURVIEW_ASSERT(is_open || counts_.open > 0);
        counts_.open += is_open ? 1 : static_cast<std::uint32_t>(-1);
        table_.set_flag(open, slot, is_open);
    }
    const Vec3* away = dormant_.size() == 0 ? nullptr : dormant_.find(unit);
    if (any && all_dormant) {
        if (away == nullptr) dormant_[unit] = table_.position(slot);
    } else if (away != nullptr) {
        const Vec3 now = *away;
        dormant_.erase(unit);
        positions_.write_position(unit, now);
    }
    PURVIEW_ASSERT(dormant_.contains(unit) == (any && all_dormant));
}

/// Updates members, rows and custom nodes after a change of bindings.
void Membership::update_bound(EntityId unit, std::span<const NodeId> left) {
    update_membership(unit, left);
    update_rows(unit, left);
    custom_nodes_.query_again(unit);
}

/// Updates the rows of the cull groups that moved, where inner nodes depend on positions.
void Membership::update_moved_cells() {
    if (!summary_.has_moving_cells) return;
    for (const EntityId unit : cell_movers_) {
        if (table_.slot_of(unit) == no_slot || is_in_its_rows(unit)) continue;
        edits_.touch_all(unit);  // touches candidates only, also in a partly split group
        update_rows(unit);
        edits_.report_touched(unit);
    }
    cell_movers_.clear();
}

}  // namespace purview
