// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/validate.hpp"

namespace purview {

void BoundsUpdate::keep(std::vector<bool> by_kind) {
    kinds_ = std::move(by_kind);
    kinds_.resize(entities_.schema().kinds().size(), false);
}

std::span<const GroupBounds::Change> BoundsUpdate::take_changes() {
    changes_.clear();
    bounds_.take_changes(changes_);
    PURVIEW_VALIDATE(bounds_);
    return changes_;
}

/// Updates the distance of a member from a root that has bounds; removes any other entity. The
/// distance includes all axes, so that rotations of the root do not change it.
void BoundsUpdate::measure(std::uint32_t index) {
    const EntityId root = groups_.root_at(index);
    const std::uint32_t top = index_of(root);
    PURVIEW_ASSERT(!entities_.is_live(index) || entities_.is_alive(root));
    if (!entities_.is_live(index) || top == index || !has_bounds(top) ||
        !entities_.has_position(index) || !entities_.has_position(top))
        return bounds_.remove(index);
    ++measured_;
    const Vec3 a = components_.position_at(index), b = components_.position_at(top);
    const double dx = double{a.x} - b.x;
    const double dy = double{a.y} - b.y, dz = double{a.z} - b.z;
    // Rounded up, so that the sphere contains the member.
    constexpr float most = std::numeric_limits<float>::max();
    const double distance = std::min(std::sqrt(dx * dx + dy * dy + dz * dz), double{most});
    bounds_.set(index, root, std::min(std::nextafter(static_cast<float>(distance), most), most));
}

void BoundsUpdate::settle() {
    if (kinds_.empty()) return;
    PURVIEW_ASSERT(known_ops_ <= log_.ops().size());
    for (; known_ops_ < log_.ops().size(); ++known_ops_) {
        const WorldOp& op = log_.ops()[known_ops_];
        if (op.type == WorldOp::Type::owner) continue;
        measure(index_of(op.entity));
        // The entity is a root again, and readers have no bounds of it.
        if (op.type == WorldOp::Type::root && op.root == op.entity) bounds_.report_again(op.entity);
    }
    const ComponentId position = entities_.schema().position();
    if (position == ComponentId::none) return;
    const Bitset& moved = components_.dirty(position);
    if (shifted_.size() < entities_.index_end())
        shifted_.resize(std::size_t{entities_.index_end()} * 2);
    // Parents first, in the order in which they settled.
    for (const auto& wave : positions_.waves()) {
        for (const std::uint32_t index : wave) {
            PURVIEW_ASSERT(entities_.is_live(index));
            const std::uint32_t top = index_of(groups_.root_at(index));
            if (!has_bounds(top)) continue;
            if (index != top) {
                PURVIEW_ASSERT(groups_.is_linked(index));
                const std::uint32_t above = index_of(groups_.parent_at(index));
                // An entity without an orientation does not rotate its descendants when the root
                // turns: they keep their own direction.
                const bool is_shifted =
                    moved.test(index) ||
                    (above != top &&
                     (shifted_.test(above) || components_.is_written(above) ||
                      (components_.is_written(top) && !entities_.has_orientation(above))));
                if (is_shifted) {
                    shifted_.set(index);
                    measure(index);
                }
            }
            // A member without a relative position, and its descendants, stay behind when the root
            // moves.
            if (!moved.test(top)) continue;
            for (const EntityId child : groups_.children_at(index)) {
                const std::uint32_t below = index_of(child);
                if (!groups_.is_linked(below) || positions_.is_relative(below) || moved.test(below))
                    continue;
                groups_.for_each_in_group(below, [&](EntityId one) { measure(index_of(one)); });
            }
        }
    }
    for (const auto& wave : positions_.waves()) {
        for (const std::uint32_t index : wave) shifted_.reset(index);
    }
    PURVIEW_ASSERT(shifted_.none());
}

}  // namespace purview
