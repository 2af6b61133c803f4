// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relations/row_store.hpp"

#include <algorithm>
#include <functional>

#include "purview/status.hpp"

namespace purview {

namespace {

/// Reserved by the map as its empty key; the row of this key is last_row_.
constexpr std::uint64_t key_max = ~std::uint64_t{0};

}  // namespace

std::uint32_t RowStore::row_of(std::uint64_t key) {
    const std::uint32_t* known = key == key_max ? &last_row_ : row_by_key_.find(key);
    if (known != nullptr && *known != no_row) return *known;
    if (free_rows_.empty()) {
        free_rows_.push_back(static_cast<std::uint32_t>(rows_.size()));
        rows_.emplace_back();
    }
    const std::uint32_t row = free_rows_.back();
    free_rows_.pop_back();
    PURVIEW_ASSERT(rows_[row].members.empty() && rows_[row].observers.empty());
    rows_[row].key = key;
    if (key == key_max) return last_row_ = row;
    return row_by_key_[key] = row;
}

std::span<const RowStore::Membership> RowStore::memberships(EntityId entity) const noexcept {
    const Member* member = members_.find(entity);
    if (member == nullptr) return {};
    if (member->list != no_row) return lists_[member->list];
    return {&member->first, 1};
}

RowStore::Membership RowStore::join(EntityId entity, std::uint32_t row, bool live) {
    Row& target = rows_[row];
    Membership at{row, 0};
    if (target.free_indices.empty()) {
        at.index = static_cast<std::uint32_t>(target.members.size());
        target.members.push_back(entity);
        target.live.push_back(live ? 1 : 0);
    } else {
        at.index = target.free_indices.back();
        target.free_indices.pop_back();
        PURVIEW_ASSERT(target.members[at.index] == EntityId::none);
        target.members[at.index] = entity;
        target.live[at.index] = live ? 1 : 0;
    }
    return at;
}

void RowStore::leave(Membership at) {
    Row& row = rows_[at.row];
    PURVIEW_ASSERT(at.index < row.members.size() && row.members[at.index] != EntityId::none);
    row.members[at.index] = EntityId::none;
    row.live[at.index] = 0;
    row.free_indices.push_back(at.index);
    free_if_unused(at.row);
}

/// Frees the row if it has neither members nor observers.
void RowStore::free_if_unused(std::uint32_t index) {
    Row& row = rows_[index];
    if (!row.observers.empty() || row.free_indices.size() < row.members.size()) return;
    if (row.key == key_max) {
        PURVIEW_ASSERT(last_row_ == index);
        last_row_ = no_row;
    } else {
        PURVIEW_ASSERT(row_by_key_.contains(row.key) && *row_by_key_.find(row.key) == index);
        row_by_key_.erase(row.key);
    }
    row.members.clear();
    row.live.clear();
    row.free_indices.clear();
    free_rows_.push_back(index);
}

bool RowStore::has_memberships(EntityId entity, std::span<const std::uint32_t> rows,
                               bool live) const noexcept {
    const auto now = memberships(entity);
    return now.size() == rows.size() && std::all_of(now.begin(), now.end(), [&](Membership at) {
               return is_live(at) == live && std::binary_search(rows.begin(), rows.end(), at.row);
           });
}

void RowStore::set_memberships(EntityId entity, std::span<const std::uint32_t> rows, bool live) {
    PURVIEW_ASSERT(std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) ==
                   rows.end());  // ascending
    const auto before = memberships(entity);
    if (before.empty() && rows.empty()) return;
    kept_.clear();
    for (const Membership at : before) {
        if (std::binary_search(rows.begin(), rows.end(), at.row)) {
            rows_[at.row].live[at.index] = live ? 1 : 0;
            kept_.push_back(at);
        } else {
            leave(at);
        }
    }
    for (const std::uint32_t row : rows) {
        const bool is_new = std::none_of(before.begin(), before.end(),
                                         [&](Membership at) { return at.row == row; });
        if (is_new) kept_.push_back(join(entity, row, live));
    }
    PURVIEW_ASSERT(kept_.size() == rows.size());
    if (kept_.empty()) {
        const Member member = *members_.find(entity);
        if (member.list != no_row) free_lists_.push_back(member.list);
        members_.erase(entity);
        return;
    }
    Member& member = members_[entity];
    member.first = kept_.front();
    if (kept_.size() == 1 && member.list == no_row) return;
    if (member.list == no_row) {
        if (free_lists_.empty()) {
            free_lists_.push_back(static_cast<std::uint32_t>(lists_.size()));
            lists_.emplace_back();
        }
        member.list = free_lists_.back();
        free_lists_.pop_back();
    }
    lists_[member.list].assign(kept_.begin(), kept_.end());
}

void RowStore::unsubscribe(std::uint32_t row, std::uint32_t observer) {
    auto& observers = rows_[row].observers;
    const auto found = std::find(observers.begin(), observers.end(), observer);
    PURVIEW_ASSERT(found != observers.end());
    if (found == observers.end()) return;
    *found = observers.back();
    observers.pop_back();
    free_if_unused(row);
}

void RowStore::validate() const {
    std::size_t used = 0;
    for (std::uint32_t index = 0; index < rows_.size(); ++index) {
        const Row& row = rows_[index];
        PURVIEW_ASSERT(row.live.size() == row.members.size());
        std::size_t there = 0;
        for (std::uint32_t i = 0; i < row.members.size(); ++i) {
            if (row.members[i] == EntityId::none) continue;
            ++there;
            const auto its = memberships(row.members[i]);
            const auto found = std::count_if(its.begin(), its.end(), [&](Membership at) {
                return at.row == index && at.index == i;
            });
            PURVIEW_ASSERT(found == 1);
        }
        PURVIEW_ASSERT(there + row.free_indices.size() == row.members.size());
        if (there == 0 && row.observers.empty()) continue;
        ++used;
        const std::uint32_t* its = row.key == key_max ? &last_row_ : row_by_key_.find(row.key);
        PURVIEW_ASSERT(its != nullptr && *its == index);
    }
    PURVIEW_ASSERT(used == size());
}

}  // namespace purview
