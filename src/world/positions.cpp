// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/positions.hpp"

#include "core/finite.hpp"
#include "core/rotation.hpp"

namespace purview {

namespace {

Vec3 sum(Vec3 a, Vec3 b) noexcept {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
Vec3 difference(Vec3 a, Vec3 b) noexcept {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

}  // namespace

WorldPositions::WorldPositions(const EntityTable& entities, ComponentTable& components,
                               const GroupForest& groups, RelationWork& work)
    : schema_(entities.schema()),
      entities_(entities),
      components_(components),
      groups_(groups),
      work_(work) {
    if (!components.has_relative_positions()) return;
    for (const KindDef& kind : schema_.kinds()) {
        if (kind.orientation.component != ComponentId::none)
            orientation_components_ |= 1U << index_of(kind.orientation.component);
    }
}

void WorldPositions::add(std::uint32_t index, Vec3 position) {
    PURVIEW_ASSERT(entities_.is_live(index) && is_finite(position));
    if (const std::size_t size = index + std::size_t{1}; settled_positions_.size() < size) {
        settled_positions_.resize(size);
        if (components_.has_relative_positions()) locals_.resize(size);
        if (orientation_components_ != 0) frames_.resize(size);
    }
    settled_positions_[index] = position;
}

Status WorldPositions::move(EntityId entity, Vec3 position) {
    if (!entities_.is_alive(entity)) return Status::stale_id;
    if (!is_finite(position)) return Status::bad_position;
    if (!entities_.has_position(index_of(entity))) return Status::bad_argument;
    components_.put_position(index_of(entity), position);
    components_.mark_dirty(index_of(entity), schema_.position());
    return Status::ok;
}

void WorldPositions::settle(WordRange among, bool lists_members) {
    settle_positions(among);
    if (lists_members || components_.has_relative_positions()) settle_members(among);
}

void WorldPositions::settle_positions(WordRange among) {
    const ComponentId position = schema_.position();
    if (position == ComponentId::none) return;
    // Includes despawned entities, because their values are read until the tick ends.
    among.for_each(components_.dirty(position),
                   [&](std::size_t i) { settle_position(static_cast<std::uint32_t>(i)); });
}

void WorldPositions::settle_position(std::uint32_t index) {
    if (const Vec3 now = components_.position_at(index); is_finite(now)) {
        settled_positions_[index] = now;
    } else {
        PURVIEW_ASSERT(is_finite(settled_positions_[index]));
        components_.put_position(index, settled_positions_[index]);
        ++bad_positions_;
    }
}

/// The value of the orientation field: relative to the parent if the position is.
Rotation WorldPositions::own_orientation(std::uint32_t index) const noexcept {
    PURVIEW_ASSERT(entities_.has_orientation(index));
    const OrientationDef& turn = entities_.kind_def_at(index).orientation;
    const FieldDef& field = schema_.components()[index_of(turn.component)].fields[turn.field];
    return orientation_in(turn, field, components_.component_at(index, turn.component));
}

Rotation WorldPositions::orientation_at(std::uint32_t index) const noexcept {
    if (!entities_.has_orientation(index)) return {};
    const Rotation own = own_orientation(index);
    if (frames_.empty() || !is_relative(index)) return own;
    return composed(frames_[index_of(groups_.parent_at(index))], own);
}

/// Converts a parent-relative position to the world.
Vec3 WorldPositions::from_parent(std::uint32_t index, Vec3 local) const noexcept {
    PURVIEW_ASSERT(is_relative(index));
    const std::uint32_t above = index_of(groups_.parent_at(index));
    return sum(components_.position_at(above),
               frames_.empty() ? local : rotated(frames_[above], local));
}

Vec3 WorldPositions::as_seen_from_parent(std::uint32_t index) const noexcept {
    PURVIEW_ASSERT(is_relative(index));
    const std::uint32_t above = index_of(groups_.parent_at(index));
    const Vec3 off = difference(components_.position_at(index), components_.position_at(above));
    return frames_.empty() ? off : rotated(inverse(frames_[above]), off);
}

void WorldPositions::bring_along(std::uint32_t index) {
    if (!components_.has_relative_positions()) return;
    const bool is_below = is_relative(index);
    const bool was_moved = components_.is_moved(index);
    const bool goes_along = is_below && (!was_moved || components_.is_derived(index));
    if (is_below && (goes_along || !frames_.empty())) {
        ++work_.steps_up;
        bring_along(index_of(groups_.parent_at(index)));
    }
    if (!frames_.empty()) frames_[index] = orientation_at(index);
    if (!goes_along) return;
    const Vec3 there = from_parent(index, locals_[index]);
    if (is_finite(there)) components_.put_position(index, there);
}

void WorldPositions::keep(std::uint32_t index) {
    if (!components_.has_relative_positions() || !entities_.kind_def_at(index).relative_position ||
        !entities_.has_position(index))
        return;
    components_.mark_dirty(index, schema_.position());
    if (is_relative(index)) bring_along(index_of(groups_.parent_at(index)));
    settle_position(index);
    keep_orientation(index);
    if (!is_relative(index)) return;
    settle_position(index_of(groups_.parent_at(index)));
    locals_[index] = as_seen_from_parent(index);
    components_.set_derived(index);
}

/// Rewrites the orientation relative to the new parent, so that the world orientation stays the
/// same.
void WorldPositions::keep_orientation(std::uint32_t index) {
    if (frames_.empty() || !entities_.has_orientation(index)) return;
    const OrientationDef& turn = entities_.kind_def_at(index).orientation;
    const FieldDef& field = schema_.components()[index_of(turn.component)].fields[turn.field];
    const Rotation above =
        is_relative(index) ? frames_[index_of(groups_.parent_at(index))] : Rotation{};
    if (!keep_orientation_in(turn, field, composed(inverse(above), frames_[index]),
                             components_.component_at(index, turn.component)))
        return;
    components_.mark_dirty(index, turn.component);
    frames_[index] = orientation_at(index);
}

Status WorldPositions::set_local_position(EntityId entity, Vec3 position) {
    if (!entities_.is_alive(entity)) return Status::stale_id;
    if (!is_finite(position)) return Status::bad_position;
    const std::uint32_t index = index_of(entity);
    if (!is_relative(index)) return Status::bad_argument;
    const std::uint32_t above = index_of(groups_.parent_at(index));
    if (!frames_.empty()) frames_[above] = orientation_at(above);
    const Vec3 there = from_parent(index, position);
    if (!is_finite(there)) return Status::bad_position;
    locals_[index] = position;
    components_.put_position(index, there);
    components_.mark_dirty(index, schema_.position());
    components_.set_derived(index);
    return Status::ok;
}

/// Whether settle will derive the position from the parent, because an ancestor or the local
/// position was written.
bool WorldPositions::is_taken_along(std::uint32_t index) const noexcept {
    if (!is_relative(index)) return false;
    if (components_.is_moved(index))
        return components_.is_derived(index);  // else it was moved in the world
    const std::uint32_t above = index_of(groups_.parent_at(index));
    return components_.is_written(above) || is_taken_along(above);
}

Vec3 WorldPositions::position_now(std::uint32_t index) const noexcept {
    if (!components_.has_relative_positions() || !is_taken_along(index))
        return components_.position_at(index);
    const std::uint32_t above = index_of(groups_.parent_at(index));
    const Vec3 local = locals_[index];
    return sum(position_now(above),
               frames_.empty() ? local : rotated(orientation_now(above), local));
}

Vec3 WorldPositions::local_position_now(std::uint32_t index) const noexcept {
    PURVIEW_ASSERT(is_relative(index));
    const bool was_moved = components_.is_moved(index);
    if (!was_moved || components_.is_derived(index)) return locals_[index];
    const std::uint32_t above = index_of(groups_.parent_at(index));
    const Vec3 off = difference(components_.position_at(index), position_now(above));
    return frames_.empty() ? off : rotated(inverse(orientation_now(above)), off);
}

Rotation WorldPositions::orientation_now(std::uint32_t index) const noexcept {
    if (frames_.empty() || !is_relative(index)) return orientation_at(index);
    const Rotation above = orientation_now(index_of(groups_.parent_at(index)));
    return entities_.has_orientation(index) ? composed(above, own_orientation(index)) : Rotation{};
}

/// Processes members, parents first. An entity that was moved in the world gets a new local
/// position. Any other entity moves with its parent and does not count as written, because its
/// replicated value is unchanged. Descendants of an entity that only turns are included.
void WorldPositions::settle_members(WordRange among) {
    const ComponentId position = schema_.position();
    if (position == ComponentId::none) return;
    for (auto& wave : waves_) wave.clear();
    carried_.clear();
    const auto put = [&](std::uint32_t index) {
        const std::size_t depth = groups_.depth_at(index);
        if (waves_.size() <= depth) waves_.resize(depth + 1);
        waves_[depth].push_back(index);
    };
    const Bitset& dirty = components_.dirty(position);
    among.for_each(dirty, [&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        if (entities_.is_live(index) &&
            (groups_.members_at(index) > 1 || groups_.depth_at(index) > 0))
            put(index);
    });
    for_each_bit(orientation_components_, 0, [&](std::size_t c) {
        among.for_each(components_.dirty(id_at<ComponentId>(c)), [&](std::size_t i) {
            const auto index = static_cast<std::uint32_t>(i);
            if (!entities_.is_live(index) || dirty.test(index) ||
                index_of(entities_.kind_def_at(index).orientation.component) != c)
                return;
            if (groups_.members_at(index) > 1 || groups_.depth_at(index) > 0) put(index);
        });
    });
    for (std::size_t depth = 0; depth < waves_.size(); ++depth) {
        for (std::size_t i = 0; i < waves_[depth].size(); ++i) {
            const std::uint32_t index = waves_[depth][i];
            if (!frames_.empty()) frames_[index] = orientation_at(index);
            if (is_relative(index)) {
                const bool goes_along = !dirty.test(index) || components_.is_derived(index);
                if (goes_along) {
                    const Vec3 there = from_parent(index, locals_[index]);
                    if (is_finite(there)) {
                        components_.put_position(index, there);
                        settled_positions_[index] = there;
                        if (keeps_carried_ && !dirty.test(index)) carried_.push_back(index);
                    }
                } else {
                    locals_[index] = as_seen_from_parent(index);
                }
            }
            if (groups_.members_at(index) == 1) continue;
            for (const EntityId child : groups_.children_at(index)) {
                const std::uint32_t below = index_of(child);
                if (components_.is_written(below) || !is_relative(below)) continue;
                PURVIEW_ASSERT(groups_.depth_at(below) == depth + 1);  // in a later wave
                put(below);
            }
        }
    }
}

void WorldPositions::validate() const {
    PURVIEW_ASSERT(settled_positions_.size() == entities_.index_end());
    PURVIEW_ASSERT(locals_.empty() || locals_.size() == settled_positions_.size());
    PURVIEW_ASSERT(frames_.empty() || frames_.size() == settled_positions_.size());
    for (const Vec3& position : settled_positions_) PURVIEW_ASSERT(is_finite(position));
}

}  // namespace purview
