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

/// Of a list by spawn number: of these entities, each named once, it is asked again whether they
/// belong into it; everybody else stays. index(Member) -> entity index; make(entity index, Member&)
/// -> bool: it does. Returns whether anybody was taken out or put in.
template <class Member, class Index, class Make>
bool ask_again(std::vector<Member>& members, std::span<const std::uint32_t> whom,
               const WorldData& world, Index&& index, Make&& make) {
    if (whom.empty()) return false;
    bool differs = std::erase_if(members, [&](const Member& one) {
                       return std::find(whom.begin(), whom.end(), index(one)) != whom.end();
                   }) > 0;
    for (const std::uint32_t one : whom) {
        Member made{};
        if (!make(one, made)) continue;
        const std::uint64_t spawned = world.spawn_number_at(one);
        const auto at = std::partition_point(
            members.begin(), members.end(),
            [&](const Member& other) { return world.spawn_number_at(index(other)) < spawned; });
        members.insert(at, made);
        differs = true;
    }
    return differs;
}

}  // namespace purview
