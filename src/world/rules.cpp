// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/rules.hpp"

#include <cmath>

namespace purview {

std::string problem_of(const InterestRules& rules) {
    const auto finite = [](Vec3 v) {
        return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z);
    };
    if (!finite(rules.bounds_min) || !finite(rules.bounds_max) ||
        !(rules.bounds_min.x < rules.bounds_max.x) || !(rules.bounds_min.y < rules.bounds_max.y)) {
        return "bounds must be finite, with min below max in x and y";
    }
    if (!std::isfinite(rules.cell_m) || rules.cell_m < 0) return "cell must be 0 or more";
    for (const auto& node : rules.nodes) {
        for (std::size_t s = 0; s < node.steps.size(); ++s) {
            const KernelDesc& kernel = node.steps[s].kernel;
            const std::string where =
                "node '" + node.name + "', step " + std::to_string(s + 1) + ": ";
            switch (kernel.type) {
                case KernelType::distance:
                    if (!std::isfinite(kernel.enter_m) || !std::isfinite(kernel.leave_m) ||
                        !(kernel.enter_m > 0) || kernel.leave_m < kernel.enter_m) {
                        return where + "a distance needs 0 < enter <= leave";
                    }
                    if (node.type != NodeType::grid) {
                        return where + "a distance needs a node of type grid";
                    }
                    break;
                case KernelType::same_group:
                    if (kernel.domain == KeyDomain::none) return where + "unknown key";
                    break;
                case KernelType::flag:
                    if (kernel.flag == FlagId::none) return where + "unknown flag";
                    break;
                case KernelType::custom:
                    if (kernel.custom == nullptr) return where + "a custom step needs a kernel";
                    break;
                default:
                    break;
            }
        }
    }
    return {};
}

}  // namespace purview
