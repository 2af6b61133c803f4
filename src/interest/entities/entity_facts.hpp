// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What is known of entities beside the columns of the block table: rare things, by entity index.
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
    std::vector<Vec3> velocities;  ///< by entity index; shorter: at rest. Counted axes first.

    Vec3 velocity(EntityId entity) const noexcept {
        return index_of(entity) < velocities.size() ? velocities[index_of(entity)] : Vec3{};
    }
};

}  // namespace purview
