// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rare attributes of entities, by entity index. All others are columns of the block table.
#pragma once

#include <cstdint>
#include <vector>

#include "interest/entities/columns.hpp"
#include "interest/entities/more_keys.hpp"
#include "interest/relations/bindings.hpp"
#include "world/axes.hpp"

namespace purview {

struct EntityFacts {
    Columns columns;
    Axes axes = Axes::xy;
    MoreKeys more_keys;  ///< by entity index
    Bindings bindings;
    std::vector<Vec3> velocities;  ///< by entity index, 0 beyond the end; horizontal axes first

    Vec3 velocity(EntityId entity) const noexcept {
        return index_of(entity) < velocities.size() ? velocities[index_of(entity)] : Vec3{};
    }
};

}  // namespace purview
