// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Places at the end of the game's edits: what is not finite is put back, and whoever has a place
// relative to its parent goes where that goes.
#include <cmath>
#include <cstring>

#include "world/world_data.hpp"

namespace purview {

namespace {

bool is_finite(Vec3 place) noexcept {
    return std::isfinite(place.x) && std::isfinite(place.y) && std::isfinite(place.z);
}
Vec3 sum(Vec3 a, Vec3 b) noexcept {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
Vec3 difference(Vec3 a, Vec3 b) noexcept {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

}  // namespace

void WorldData::settle_places() {
    const ComponentId place = schema().place();
    if (place == ComponentId::none) return;
    columns_[index_of(place)].dirty.for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        if (!pool_.is_live(index)) return;
        if (const Vec3 now = place_at(index); is_finite(now)) {
            settled_places_[index] = now;
        } else {
            std::memcpy(component_at(index, place), &settled_places_[index], sizeof(Vec3));
            ++bad_places_;
        }
    });
}

/// Before its parent changes: it stands where its parent has taken it by now.
void WorldData::bring_along(std::uint32_t index) {
    if (!has_relative_places_ || !is_relative(index)) return;
    const bool was_moved = columns_[index_of(schema().place())].dirty.test(index);
    if (was_moved && !entities_[index].keeps_local) return;
    const std::uint32_t above = index_of(entities_[index].parent);
    ++work_.steps_up;
    bring_along(above);
    const Vec3 there = sum(place_at(above), locals_[index]);
    std::memcpy(component_at(index, schema().place()), &there, sizeof there);
}

/// After that: it stays where it is, and goes where its parent goes from now on. It is told
/// otherwise, wherever it is.
void WorldData::keep_place(std::uint32_t index) {
    if (!has_relative_places_ || !kind_def_at(index).relative_place || !is_placed(index)) return;
    mark_dirty(index, schema().place());
    if (!is_relative(index)) return;
    bring_along(index_of(entities_[index].parent));
    locals_[index] = difference(place_at(index), place_at(index_of(entities_[index].parent)));
    entities_[index].keeps_local = true;
}

Status WorldData::set_local_place(EntityId entity, Vec3 place) {
    if (!is_alive(entity)) return Status::stale_id;
    if (!is_finite(place)) return Status::bad_position;
    const std::uint32_t index = index_of(entity);
    if (!is_relative(index)) return Status::bad_argument;
    locals_[index] = place;
    const Vec3 there = sum(place_at(index_of(entities_[index].parent)), place);
    std::memcpy(component_at(index, schema().place()), &there, sizeof there);
    mark_dirty(index, schema().place());
    entities_[index].keeps_local = true;
    return Status::ok;
}

/// Whoever was moved by itself has another local place; whoever was not goes with its parent, and
/// is not written by that: to its observers nothing has changed. Parents first.
void WorldData::settle_relative_places() {
    const ComponentId place = schema().place();
    if (!has_relative_places_ || place == ComponentId::none) return;
    for (auto& wave : waves_) wave.clear();
    carried_.clear();
    const auto put = [&](std::uint32_t index) {
        const std::size_t depth = entities_[index].depth;
        if (waves_.size() <= depth) waves_.resize(depth + 1);
        waves_[depth].push_back(index);
    };
    Bitset& dirty = columns_[index_of(place)].dirty;
    dirty.for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        if (pool_.is_live(index) && (entities_[index].members > 1 || entities_[index].depth > 0))
            put(index);
    });
    for (std::size_t depth = 0; depth < waves_.size(); ++depth) {
        for (std::size_t i = 0; i < waves_[depth].size(); ++i) {
            const std::uint32_t index = waves_[depth][i];
            if (is_relative(index)) {
                const Vec3 above = place_at(index_of(entities_[index].parent));
                const bool goes_along = !dirty.test(index) || entities_[index].keeps_local;
                if (goes_along) {
                    const Vec3 there = sum(above, locals_[index]);
                    if (is_finite(there)) {
                        std::memcpy(component_at(index, place), &there, sizeof there);
                        settled_places_[index] = there;
                        if (keeps_carried_ && !dirty.test(index)) carried_.push_back(index);
                    }
                } else {
                    locals_[index] = difference(place_at(index), above);
                }
            }
            if (entities_[index].members == 1) continue;
            for (const EntityId child : children_[index]) {
                const std::uint32_t below = index_of(child);
                if (!dirty.test(below) && is_relative(below)) put(below);
            }
        }
    }
}

}  // namespace purview
