// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One move of an entity.
#pragma once

#include "purview/types.hpp"

namespace purview {

struct Move {
    EntityId entity;
    Vec3 position;
};

}  // namespace purview
