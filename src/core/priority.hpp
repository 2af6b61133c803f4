// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The valid range of priority weights. Products of all weights stay above 0 and below the weight of
// a leave.
#pragma once

namespace purview {

inline constexpr float priority_min = 1e-6F, priority_max = 1e6F;
constexpr bool is_priority(float priority) noexcept {
    return priority >= priority_min && priority <= priority_max;
}

}  // namespace purview
