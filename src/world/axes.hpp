// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include "purview/rules.hpp"

namespace purview {

/// y and z change places where y is up: kernels, the block table and the index over the past see
/// the counted axes first.
constexpr Vec3 exchanged(Axes axes, Vec3 v) noexcept {
    return axes == Axes::xz ? Vec3{v.x, v.z, v.y} : v;
}

}  // namespace purview
