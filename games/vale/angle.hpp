// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Angles in radians, normalized to one turn.
#pragma once

#include <cmath>

namespace vale {

inline constexpr float pi = 3.14159265F;
inline constexpr float two_pi = 2 * pi;

/// Returns the same angle in 0..2 pi, or 0 for NaN and infinity.
inline float wrap_angle(float angle) noexcept {
    // Game angles are a few turns at most. For larger ones the loops would be slow, and from 2^27
    // on, subtracting 2 pi no longer changes a float. fmod is exact, hence identical on every
    // platform.
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
