// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/row_store.hpp"

#include "spatial/block_table.hpp"

#include <algorithm>

namespace purview {

std::uint32_t RowStore::row_of_key(Key key) {
    if (const std::uint32_t* row = row_by_key_.find(index_of(key))) return *row;
    rows_.emplace_back();
    return row_by_key_[index_of(key)] = static_cast<std::uint32_t>(rows_.size() - 1);
}

std::uint32_t RowStore::row_for_entity(const BlockTable& table, Slot slot) {
    if (!source_->member->test_entity(Slots(table), slot)) return no_row;
    if (source_->domain == KeyDomain::none) return row_of_key(Key::none);
    return row_of_key(table.key(index_of(source_->domain), slot));
}

std::uint32_t RowStore::row_for_observer(std::span<const Key> keys) {
    if (source_->domain == KeyDomain::none) return row_of_key(Key::none);
    const Key key = keys[index_of(source_->domain)];
    return key == Key::none ? no_row : row_of_key(key);
}

bool RowStore::passes_filters(const BlockTable& table, Slot slot) const noexcept {
    for (const Step& filter : source_->filters) {
        const bool yes = filter.kernel->test_entity(Slots(table), slot);
        if (filter.op == StepOp::subtract ? yes : !yes) return false;
    }
    return true;
}

RowStore::Membership RowStore::membership(EntityId entity) const noexcept {
    const Membership* at = members_.find(index_of(entity));
    if (at == nullptr || rows_[at->row].members[at->lane] != entity) return {};
    return *at;
}

RowStore::Membership RowStore::add(EntityId entity, std::uint32_t row) {
    Row& target = rows_[row];
    Membership at{row, 0};
    if (target.free_lanes.empty()) {
        at.lane = static_cast<std::uint32_t>(target.members.size());
        target.members.push_back(entity);
        target.live.push_back(0);
    } else {
        at.lane = target.free_lanes.back();
        target.free_lanes.pop_back();
        target.members[at.lane] = entity;
        target.live[at.lane] = 0;
    }
    members_[index_of(entity)] = at;
    return at;
}

void RowStore::remove(EntityId entity) {
    const Membership at = membership(entity);
    if (at.row == no_row) return;
    Row& row = rows_[at.row];
    row.members[at.lane] = EntityId::none;
    row.live[at.lane] = 0;
    row.free_lanes.push_back(at.lane);
    members_.erase(index_of(entity));
}

void RowStore::unsubscribe(std::uint32_t row, std::uint32_t observer) noexcept {
    auto& observers = rows_[row].observers;
    const auto found = std::find(observers.begin(), observers.end(), observer);
    if (found == observers.end()) return;
    *found = observers.back();
    observers.pop_back();
}

}  // namespace purview
