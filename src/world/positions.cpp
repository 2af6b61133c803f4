// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Places at the end of the game's edits: what is not finite is put back, and whoever has a place
// relative to its parent goes where that goes, and turns with it. A frame is how what is relative
// to an entity is turned; it is made of what clients are told, so that they stand where we do.
#include <cmath>
#include <cstring>

#include "core/rotation.hpp"
#include "world/world_data.hpp"

namespace purview {

namespace {

Vec3 sum(Vec3 a, Vec3 b) noexcept {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
Vec3 difference(Vec3 a, Vec3 b) noexcept {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

}  // namespace

void WorldData::settle_positions(WordRange among) {
    const ComponentId position = schema().position();
    if (position == ComponentId::none) return;
    // Also of who has gone: his values rest until the tick ends, and what he was is tracked.
    among.for_each(columns_[index_of(position)].dirty,
                   [&](std::size_t i) { settle_position(static_cast<std::uint32_t>(i)); });
}

void WorldData::settle_position(std::uint32_t index) {
    if (const Vec3 now = position_at(index); is_finite(now)) {
        settled_positions_[index] = now;
    } else {
        PURVIEW_ASSERT(is_finite(settled_positions_[index]));
        std::memcpy(component_at(index, schema().position()), &settled_positions_[index],
                    sizeof(Vec3));
        ++bad_positions_;
    }
}

/// As its field says: within its parent, where it is relative.
Rotation WorldData::own_orientation(std::uint32_t index) const noexcept {
    PURVIEW_ASSERT(has_orientation(index));
    const OrientationDef& turn = kind_def_at(index).orientation;
    const FieldDef& field = schema().components()[index_of(turn.component)].fields[turn.field];
    return orientation_in(turn, field, component_at(index, turn.component));
}

Rotation WorldData::orientation_at(std::uint32_t index) const noexcept {
    if (!has_orientation(index)) return {};
    const Rotation own = own_orientation(index);
    if (frames_.empty() || !is_relative(index)) return own;
    return composed(frames_[index_of(entities_[index].parent)], own);
}

/// Where a place within its parent is in the world.
Vec3 WorldData::from_parent(std::uint32_t index, Vec3 local) const noexcept {
    PURVIEW_ASSERT(is_relative(index));
    const std::uint32_t above = index_of(entities_[index].parent);
    return sum(position_at(above), frames_.empty() ? local : rotated(frames_[above], local));
}

Vec3 WorldData::as_seen_from_parent(std::uint32_t index) const noexcept {
    PURVIEW_ASSERT(is_relative(index));
    const std::uint32_t above = index_of(entities_[index].parent);
    const Vec3 off = difference(position_at(index), position_at(above));
    return frames_.empty() ? off : rotated(inverse(frames_[above]), off);
}

/// Before its parent changes: it stands where its parent has taken it by now.
void WorldData::bring_along(std::uint32_t index) {
    if (!has_relative_positions_) return;
    const bool is_below = is_relative(index);
    const bool was_moved = columns_[index_of(schema().position())].dirty.test(index);
    const bool goes_along = is_below && (!was_moved || entities_[index].keeps_local);
    if (is_below && (goes_along || !frames_.empty())) {
        ++work_.steps_up;
        bring_along(index_of(entities_[index].parent));
    }
    if (!frames_.empty()) frames_[index] = orientation_at(index);
    if (!goes_along) return;
    const Vec3 there = from_parent(index, locals_[index]);
    if (is_finite(there))
        std::memcpy(component_at(index, schema().position()), &there, sizeof there);
}

/// After that: it stays where it is, and goes where its parent goes from now on. It is told
/// otherwise, wherever it is.
void WorldData::keep_position(std::uint32_t index) {
    if (!has_relative_positions_ || !kind_def_at(index).relative_position || !has_position(index))
        return;
    mark_dirty(index, schema().position());
    if (is_relative(index)) bring_along(index_of(entities_[index].parent));
    settle_position(index);
    keep_orientation(index);
    if (!is_relative(index)) return;
    settle_position(index_of(entities_[index].parent));
    locals_[index] = as_seen_from_parent(index);
    entities_[index].keeps_local = true;
}

/// Its frame is still the one that it had: its field says it as seen from another parent.
void WorldData::keep_orientation(std::uint32_t index) {
    if (frames_.empty() || !has_orientation(index)) return;
    const OrientationDef& turn = kind_def_at(index).orientation;
    const FieldDef& field = schema().components()[index_of(turn.component)].fields[turn.field];
    const Rotation above =
        is_relative(index) ? frames_[index_of(entities_[index].parent)] : Rotation{};
    if (!keep_orientation_in(turn, field, composed(inverse(above), frames_[index]),
                             component_at(index, turn.component)))
        return;
    mark_dirty(index, turn.component);
    frames_[index] = orientation_at(index);
}

Status WorldData::set_local_position(EntityId entity, Vec3 position) {
    if (!is_alive(entity)) return Status::stale_id;
    if (!is_finite(position)) return Status::bad_position;
    const std::uint32_t index = index_of(entity);
    if (!is_relative(index)) return Status::bad_argument;
    const std::uint32_t above = index_of(entities_[index].parent);
    if (!frames_.empty()) frames_[above] = orientation_at(above);
    const Vec3 there = from_parent(index, position);
    if (!is_finite(there)) return Status::bad_position;
    locals_[index] = position;
    std::memcpy(component_at(index, schema().position()), &there, sizeof there);
    mark_dirty(index, schema().position());
    entities_[index].keeps_local = true;
    return Status::ok;
}

/// It, or how it is turned.
bool WorldData::is_written(std::uint32_t index) const noexcept {
    if (columns_[index_of(schema().position())].dirty.test(index)) return true;
    const ComponentId turn = kind_def_at(index).orientation.component;
    return turn != ComponentId::none && columns_[index_of(turn)].dirty.test(index);
}

/// The end of the tick finds its place from that of its parent: something above it was written, or
/// its own local place.
bool WorldData::is_taken_along(std::uint32_t index) const noexcept {
    if (!is_relative(index)) return false;
    if (columns_[index_of(schema().position())].dirty.test(index))
        return entities_[index].keeps_local;  // or else it was moved by itself
    const std::uint32_t above = index_of(entities_[index].parent);
    return is_written(above) || is_taken_along(above);
}

Vec3 WorldData::position_now(std::uint32_t index) const noexcept {
    if (!has_relative_positions_ || !is_taken_along(index)) return position_at(index);
    const std::uint32_t above = index_of(entities_[index].parent);
    const Vec3 local = locals_[index];
    return sum(position_now(above),
               frames_.empty() ? local : rotated(orientation_now(above), local));
}

Vec3 WorldData::local_position_now(std::uint32_t index) const noexcept {
    PURVIEW_ASSERT(is_relative(index));
    const bool was_moved = columns_[index_of(schema().position())].dirty.test(index);
    if (!was_moved || entities_[index].keeps_local) return locals_[index];
    const std::uint32_t above = index_of(entities_[index].parent);
    const Vec3 off = difference(position_at(index), position_now(above));
    return frames_.empty() ? off : rotated(inverse(orientation_now(above)), off);
}

Rotation WorldData::orientation_now(std::uint32_t index) const noexcept {
    if (frames_.empty() || !is_relative(index)) return orientation_at(index);
    const Rotation above = orientation_now(index_of(entities_[index].parent));
    return has_orientation(index) ? composed(above, own_orientation(index)) : Rotation{};
}

/// Whoever was moved by itself has another local place; whoever was not goes with its parent, and
/// is not written by that: to its observers nothing has changed. Parents first; and those below
/// whoever turns.
void WorldData::settle_relative_positions(WordRange among) {
    const ComponentId position = schema().position();
    if ((!has_relative_positions_ && bounded_kinds_.empty()) || position == ComponentId::none)
        return;
    for (auto& wave : waves_) wave.clear();
    carried_.clear();
    const auto put = [&](std::uint32_t index) {
        const std::size_t depth = entities_[index].depth;
        if (waves_.size() <= depth) waves_.resize(depth + 1);
        waves_[depth].push_back(index);
    };
    Bitset& dirty = columns_[index_of(position)].dirty;
    among.for_each(dirty, [&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        if (pool_.is_live(index) && (entities_[index].members > 1 || entities_[index].depth > 0))
            put(index);
    });
    for_each_bit(orientation_components_, 0, [&](std::size_t c) {
        among.for_each(columns_[c].dirty, [&](std::size_t i) {
            const auto index = static_cast<std::uint32_t>(i);
            if (!pool_.is_live(index) || dirty.test(index) ||
                index_of(kind_def_at(index).orientation.component) != c)
                return;
            if (entities_[index].members > 1 || entities_[index].depth > 0) put(index);
        });
    });
    for (std::size_t depth = 0; depth < waves_.size(); ++depth) {
        for (std::size_t i = 0; i < waves_[depth].size(); ++i) {
            const std::uint32_t index = waves_[depth][i];
            if (!frames_.empty()) frames_[index] = orientation_at(index);
            if (is_relative(index)) {
                const bool goes_along = !dirty.test(index) || entities_[index].keeps_local;
                if (goes_along) {
                    const Vec3 there = from_parent(index, locals_[index]);
                    if (is_finite(there)) {
                        std::memcpy(component_at(index, position), &there, sizeof there);
                        settled_positions_[index] = there;
                        if (keeps_carried_ && !dirty.test(index)) carried_.push_back(index);
                    }
                } else {
                    locals_[index] = as_seen_from_parent(index);
                }
            }
            if (entities_[index].members == 1) continue;
            for (const EntityId child : children_[index]) {
                const std::uint32_t below = index_of(child);
                if (is_written(below) || !is_relative(below)) continue;
                PURVIEW_ASSERT(entities_[below].depth == depth + 1);  // none of this wave
                put(below);
            }
        }
    }
}

}  // namespace purview
