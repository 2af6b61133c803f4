// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <cmath>

#include "purview/types.hpp"

namespace purview {

inline bool is_finite(Vec3 position) noexcept {
    return std::isfinite(position.x) && std::isfinite(position.y) && std::isfinite(position.z);
}

}  // namespace purview
