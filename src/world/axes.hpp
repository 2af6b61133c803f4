// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include "purview/rules.hpp"

namespace purview {

/// Swaps y and z if y is up, so that kernels, the block table and the history index find the
/// horizontal axes first.
constexpr Vec3 exchanged(Axes axes, Vec3 v) noexcept {
    return axes == Axes::xz ? Vec3{v.x, v.z, v.y} : v;
}

}  // namespace purview
