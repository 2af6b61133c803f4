// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <cmath>

#include "purview/types.hpp"

namespace purview {

inline bool is_finite(Vec3 place) noexcept {
    return std::isfinite(place.x) && std::isfinite(place.y) && std::isfinite(place.z);
}

}  // namespace purview
