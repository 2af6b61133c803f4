// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The kernels that come with the engine. The interface is public: purview/kernel.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "purview/kernel.hpp"
#include "purview/node.hpp"
#include "purview/rules.hpp"

namespace purview {

/// What flags, keys and values are called.
struct AttributeNames {
    std::vector<std::string> flags;
    std::vector<std::string> keys;
    std::vector<std::string> values;

    std::string flag(FlagId id) const { return name(flags, index_of(id), "flag "); }
    std::string key(KeyDomain id) const { return name(keys, index_of(id), "key "); }
    std::string value(ValueId id) const { return name(values, index_of(id), "value "); }

  private:
    static std::string name(const std::vector<std::string>& names, std::uint32_t i,
                            const char* what) {
        return i < names.size() ? names[i] : what + std::to_string(i);
    }
};

/// A built-in kernel, or the caller's own. `widen_m` is added to radii.
std::shared_ptr<const InterestKernel> make_kernel(const KernelDesc& desc,
                                                  const InterestRules& rules, float widen_m,
                                                  const AttributeNames& names);
/// In which inner nodes of a dispatcher observer and entity meet.
std::shared_ptr<const InterestKernel> make_cells_kernel(const InterestDispatcher& dispatcher);
/// Appends the inner nodes of the entity on a lane.
void add_cells_of(const InterestDispatcher& dispatcher, const Slots& slots, Slot slot,
                  std::vector<CellId>& out);
/// Yes to everybody.
std::shared_ptr<const InterestKernel> make_everything_kernel();

/// Of the built-in kernels, by file.
std::shared_ptr<const InterestKernel> make_area_kernel(const KernelDesc& desc, float widen_m);
std::shared_ptr<const InterestKernel> make_neighbourhood_kernel(const KernelDesc& desc,
                                                                const InterestRules& rules);
std::shared_ptr<const InterestKernel> make_hexagon_kernel(const KernelDesc& desc,
                                                          const InterestRules& rules);
std::shared_ptr<const InterestKernel> make_sight_kernel(const KernelDesc& desc);

/// With one decimal, as people say distances.
std::string number_text(double value);

}  // namespace purview
