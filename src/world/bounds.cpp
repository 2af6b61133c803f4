// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Bounds of groups, brought up to date with what settled: whoever was moved within its group is
// measured again, and nobody whom the root carries along. A relation that changed is an op.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/validate.hpp"
#include "world/world_data.hpp"

namespace purview {

void WorldData::keep_bounds(std::vector<bool> by_kind) {
    bounded_kinds_ = std::move(by_kind);
    bounded_kinds_.resize(schema().kinds().size(), false);
}

std::span<const GroupBounds::Change> WorldData::take_bounds_changes() {
    bounds_changes_.clear();
    bounds_.take_changes(bounds_changes_);
    PURVIEW_VALIDATE(bounds_);
    return bounds_changes_;
}

/// Of a member whose root has bounds how far it is from that, along all axes, so that it does not
/// matter how the root turns; of anybody else, nothing.
void WorldData::measure(std::uint32_t index) {
    const EntityId root = entities_[index].root;
    const std::uint32_t top = index_of(root);
    PURVIEW_ASSERT(!pool_.is_live(index) || is_alive(root));
    if (!pool_.is_live(index) || top == index || !has_bounds(top) || !has_position(index) ||
        !has_position(top))
        return bounds_.remove(index);
    ++bounds_measured_;
    const Vec3 a = position_at(index), b = position_at(top);
    const double dx = double{a.x} - b.x;
    const double dy = double{a.y} - b.y, dz = double{a.z} - b.z;
    // Rounded up: it is within.
    constexpr float most = std::numeric_limits<float>::max();
    const double distance = std::min(std::sqrt(dx * dx + dy * dy + dz * dz), double{most});
    bounds_.set(index, root, std::min(std::nextafter(static_cast<float>(distance), most), most));
}

void WorldData::settle_bounds() {
    if (bounded_kinds_.empty()) return;
    PURVIEW_ASSERT(bounded_ops_ <= ops_.size());
    for (; bounded_ops_ < ops_.size(); ++bounded_ops_) {
        const WorldOp& op = ops_[bounded_ops_];
        if (op.type == WorldOp::Type::owner) continue;
        measure(index_of(op.entity));
        // Whoever is a unit again was told nothing yet.
        if (op.type == WorldOp::Type::root && op.root == op.entity) bounds_.tell(op.entity);
    }
    const ComponentId position = schema().position();
    if (position == ComponentId::none) return;
    const Bitset& moved = columns_[index_of(position)].dirty;
    if (shifted_.size() < entities_.size()) shifted_.resize(entities_.size() * 2);
    // Parents first, as they settled.
    for (const auto& wave : waves_) {
        for (const std::uint32_t index : wave) {
            PURVIEW_ASSERT(pool_.is_live(index));
            const std::uint32_t top = index_of(entities_[index].root);
            if (!has_bounds(top)) continue;
            if (index != top) {
                PURVIEW_ASSERT(is_linked(index));
                const std::uint32_t above = index_of(entities_[index].parent);
                // Who is not turned does not turn those below it when the root turns: they go
                // straight on.
                const bool is_shifted =
                    moved.test(index) ||
                    (above != top && (shifted_.test(above) || is_written(above) ||
                                      (is_written(top) && !has_orientation(above))));
                if (is_shifted) {
                    shifted_.set(index);
                    measure(index);
                }
            }
            // Whoever is not carried stays behind when the root goes on, with all below it.
            if (!moved.test(top)) continue;
            for (const EntityId child : children_[index]) {
                const std::uint32_t below = index_of(child);
                if (!is_linked(below) || is_relative(below) || moved.test(below)) continue;
                for_each_in_group(below, [&](EntityId one) { measure(index_of(one)); });
            }
        }
    }
    for (const auto& wave : waves_) {
        for (const std::uint32_t index : wave) shifted_.reset(index);
    }
    PURVIEW_ASSERT(shifted_.none());
}

}  // namespace purview
