// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/entities/more_keys.hpp"

#include <algorithm>

#include "purview/status.hpp"

namespace purview {

std::span<const DomainKey> MoreKeys::of(std::uint32_t index) const noexcept {
    if (!any()) return {};
    const std::uint32_t* list = lists_by_.find(index);
    if (list == nullptr) return {};
    PURVIEW_ASSERT(!lists_[*list].empty());  // an empty list is freed
    return lists_[*list];
}

bool MoreKeys::add(std::uint32_t index, KeyId domain, Key key) {
    const std::uint32_t* found = lists_by_.find(index);
    if (found == nullptr) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(lists_.size()));
            lists_.emplace_back();
        }
        lists_by_[index] = free_.back();
        free_.pop_back();
        found = lists_by_.find(index);
        PURVIEW_ASSERT(lists_[*found].empty());
    }
    for (DomainKey& one : lists_[*found]) {
        if (one.domain != domain || one.key != key) continue;
        ++one.count;
        return false;
    }
    lists_[*found].push_back({domain, key, 1});
    return true;
}

int MoreKeys::remove(std::uint32_t index, KeyId domain, Key key) {
    const std::uint32_t* found = lists_by_.find(index);
    if (found == nullptr) return -1;
    auto& list = lists_[*found];
    const auto at = std::find_if(list.begin(), list.end(), [&](const DomainKey& one) {
        return one.domain == domain && one.key == key;
    });
    if (at == list.end()) return -1;
    PURVIEW_ASSERT(at->count > 0);
    if (--at->count > 0) return static_cast<int>(at->count);
    list.erase(at);
    if (list.empty()) clear(index);
    return 0;
}

void MoreKeys::clear(std::uint32_t index) {
    const std::uint32_t* found = lists_by_.find(index);
    if (found == nullptr) return;
    lists_[*found].clear();
    free_.push_back(*found);
    lists_by_.erase(index);
    PURVIEW_ASSERT(lists_by_.size() + free_.size() == lists_.size());
}

void MoreKeys::validate() const {
    std::size_t used = 0;
    for (const std::vector<DomainKey>& list : lists_) {
        used += list.empty() ? 0U : 1U;
        for (const DomainKey& one : list) {
            const auto same = std::count_if(list.begin(), list.end(), [&](const DomainKey& other) {
                return other.domain == one.domain && other.key == one.key;
            });
            PURVIEW_ASSERT(same == 1 && one.count > 0);
        }
    }
    PURVIEW_ASSERT(used == lists_by_.size() && used + free_.size() == lists_.size());
}

}  // namespace purview
