// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "world/world_data.hpp"

namespace purview {

inline void add_once(std::vector<std::uint32_t>& list, std::uint32_t one) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
}

/// Updates a list that is sorted by spawn number. For each entity index in `ids` (no duplicates),
/// inserts or removes the entity; other members stay. index(Member) returns the entity index.
/// make(entity index, Member&) fills the member and returns whether the entity belongs in the list.
/// Returns whether a member was removed or inserted, even if it was only replaced.
template <class Member, class Index, class Make>
bool update_members(std::vector<Member>& members, std::span<const std::uint32_t> ids,
                    const WorldData& world, Index&& index, Make&& make) {
    if (ids.empty()) return false;
    bool differs = std::erase_if(members, [&](const Member& one) {
                       return std::find(ids.begin(), ids.end(), index(one)) != ids.end();
                   }) > 0;
    for (const std::uint32_t one : ids) {
        Member made{};
        if (!make(one, made)) continue;
        const std::uint64_t spawned = world.entities.spawn_number_at(one);
        const auto at =
            std::partition_point(members.begin(), members.end(), [&](const Member& other) {
                return world.entities.spawn_number_at(index(other)) < spawned;
            });
        members.insert(at, made);
        differs = true;
    }
    return differs;
}

}  // namespace purview
