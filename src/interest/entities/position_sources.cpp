// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/entities/position_sources.hpp"

#include <algorithm>

#include "purview/status.hpp"

namespace purview {

std::span<const EntityId> PositionSources::followers(EntityId other) const noexcept {
    const auto its = followers_.find(other);
    return its == followers_.end() ? std::span<const EntityId>() : std::span(its->second);
}

void PositionSources::add(EntityId entity, const PositionSource& source) {
    PURVIEW_ASSERT(!contains(entity) && source.other != EntityId::none);
    sources_[entity] = source;
    entities_.push_back(entity);
    followers_[source.other].push_back(entity);
}

void PositionSources::change(EntityId entity, EntityId other) {
    PositionSource* source = sources_.find(entity);
    PURVIEW_ASSERT(source != nullptr && other != EntityId::none);
    if (source == nullptr) return;
    unfollow(entity, source->other);
    source->other = other;
    followers_[other].push_back(entity);
}

void PositionSources::erase(EntityId entity) {
    const PositionSource* source = sources_.find(entity);
    if (source == nullptr) return;
    unfollow(entity, source->other);
    sources_.erase(entity);
    const auto at = std::find(entities_.begin(), entities_.end(), entity);
    PURVIEW_ASSERT(at != entities_.end());
    entities_.erase(at);
}

void PositionSources::unfollow(EntityId entity, EntityId other) {
    const auto its = followers_.find(other);
    PURVIEW_ASSERT(its != followers_.end());
    const std::size_t erased = std::erase(its->second, entity);
    PURVIEW_ASSERT(erased == 1);
    if (its->second.empty()) followers_.erase(its);
}

void PositionSources::validate() const {
    PURVIEW_ASSERT(sources_.size() == entities_.size());
    std::size_t following = 0;
    for (const auto& [other, its] : followers_) {
        PURVIEW_ASSERT(!its.empty());
        following += its.size();
    }
    PURVIEW_ASSERT(following == entities_.size());
    for (const EntityId entity : entities_) {
        const PositionSource* source = find(entity);
        PURVIEW_ASSERT(source != nullptr);
        const auto its = followers(source->other);
        PURVIEW_ASSERT(std::count(its.begin(), its.end(), entity) == 1);
    }
}

}  // namespace purview
