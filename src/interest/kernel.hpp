// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The kernels that come with the engine. The interface is public: purview/kernel.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "purview/kernel.hpp"
#include "purview/rules.hpp"

namespace purview {

/// What flags and keys are called.
struct AttributeNames {
    std::vector<std::string> flags;
    std::vector<std::string> keys;

    std::string flag(FlagId id) const {
        return index_of(id) < flags.size() ? flags[index_of(id)]
                                           : "flag " + std::to_string(index_of(id));
    }
    std::string key(KeyDomain id) const {
        return index_of(id) < keys.size() ? keys[index_of(id)]
                                          : "key " + std::to_string(index_of(id));
    }
};

/// A built-in kernel, or the caller's own.
std::shared_ptr<const InterestKernel> make_kernel(const KernelDesc& desc,
                                                  const AttributeNames& names);

}  // namespace purview
