// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Angles in radians, within one turn.
#pragma once

#include <cmath>

namespace vale {

inline constexpr float pi = 3.14159265F;
inline constexpr float two_pi = 2 * pi;

/// The same angle within 0..2 pi; of no angle at all, 0.
inline float wrap_angle(float angle) noexcept {
    // Game angles are a few turns at most; above, the loops would be long, and from 2^27 on a float
    // no longer notices 2 pi. A remainder is exact, hence the same everywhere.
    constexpr float looped_max = 16 * two_pi;
    if (!(std::fabs(angle) < looped_max)) {
        if (!std::isfinite(angle)) return 0;
        angle = static_cast<float>(std::fmod(static_cast<double>(angle), 2 * 3.14159265358979324));
    }
    while (angle >= two_pi) angle -= two_pi;
    while (angle < 0) angle += two_pi;
    return angle;
}

}  // namespace vale
