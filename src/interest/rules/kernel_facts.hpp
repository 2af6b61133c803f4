// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include "purview/rules.hpp"

namespace purview {

/// Returns whether the kernel compares positions. Then it never matches an entity without one.
inline bool needs_position(const Kernel& kernel) noexcept {
    return kernel.type == KernelType::distance || kernel.type == KernelType::area ||
           kernel.type == KernelType::cells || kernel.type == KernelType::hexagons ||
           kernel.type == KernelType::line_of_sight;
}

}  // namespace purview
