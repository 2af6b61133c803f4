// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Checks that new rules keep the settings that are fixed while an engine runs.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "interest/rules/rule_problems.hpp"

namespace purview {

namespace {

/// Returns whether the kinds have equal rules. A missing kind has the default rules.
bool are_equal(const std::vector<KindRules>& wanted, const std::vector<KindRules>& in_force) {
    for (std::size_t k = 0; k < wanted.size(); ++k) {
        if (wanted[k] != (k < in_force.size() ? in_force[k] : KindRules{})) return false;
    }
    return true;
}

bool begins_with(const std::vector<std::string>& in_force, const std::vector<std::string>& wanted) {
    return wanted.size() <= in_force.size() &&
           std::equal(wanted.begin(), wanted.end(), in_force.begin());
}

}  // namespace

std::string change_of_fixed(const Rules& wanted, const Rules& in_force) {
    static const Rules unset;
    const auto differs = [&](auto Rules::*field) {
        return wanted.*field != in_force.*field && wanted.*field != unset.*field;
    };
    const char* const changed =
        differs(&Rules::axes)                                    ? "axes"
        : differs(&Rules::min)                                   ? "min"
        : differs(&Rules::max)                                   ? "max"
        : differs(&Rules::cell_size)                             ? "cell_size"
        : differs(&Rules::entities_expected)                     ? "entities_expected"
        : differs(&Rules::range_classes)                         ? "range_classes"
        : differs(&Rules::observer_range_max)                    ? "observer_range_max"
        : differs(&Rules::group_radius_max)                      ? "group_radius_max"
        : differs(&Rules::observers_max)                         ? "observers_max"
        : differs(&Rules::areas_max)                             ? "areas_max"
        : differs(&Rules::single_area)                           ? "single_area"
        : differs(&Rules::ready_requires_viewpoint)              ? "ready_requires_viewpoint"
        : differs(&Rules::owner_sees)                            ? "owner_sees"
        : differs(&Rules::count_observers)                       ? "count_observers"
        : differs(&Rules::measure_scores)                        ? "measure_scores"
        : !are_equal(wanted.kinds, in_force.kinds)               ? "kinds"
        : !begins_with(in_force.flag_names, wanted.flag_names)   ? "flag_names"
        : !begins_with(in_force.key_names, wanted.key_names)     ? "key_names"
        : !begins_with(in_force.value_names, wanted.value_names) ? "value_names"
        : !begins_with(in_force.kind_names, wanted.kind_names)   ? "kind_names"
                                                                 : nullptr;
    if (changed == nullptr) return {};
    return std::string(changed) + " is fixed at creation: start from a copy of rules()";
}

}  // namespace purview
