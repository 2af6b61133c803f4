// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Kernels of users, in the form that the engine calls.
#pragma once

#include <memory>

#include "interest/rules/interest_kernel.hpp"

namespace purview {

/// Returns the kernel itself if it is one of the library, or an adapter around it. Not null.
std::shared_ptr<const InterestKernel> engine_kernel(
    const std::shared_ptr<const KernelBase>& kernel);

}  // namespace purview
