// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/kind_bindings.hpp"

#include <algorithm>
#include <string>

namespace purview::scene {

std::size_t node_for_all(const Rules& rules) {
    const auto shows_all = [](const NodeDef& node) {
        return node.members == Members::all && node.combine == Combine::add;
    };
    const auto found = std::find_if(rules.nodes.begin(), rules.nodes.end(), shows_all);
    return static_cast<std::size_t>(found - rules.nodes.begin());
}

std::optional<Problem> problem_of_bindings(const Rules& before, const Rules& after,
                                           const std::vector<KindRules>& kinds) {
    const auto find = [](const Rules& rules, const std::string& name) {
        std::size_t n = 0;
        while (n < rules.nodes.size() && rules.nodes[n].name != name) ++n;
        return n;
    };
    for (const KindRules& kind : kinds) {
        for (const NodeId bound : kind.nodes) {
            const std::size_t n = index_of(bound);
            if (n >= before.nodes.size()) continue;
            const std::string& name = before.nodes[n].name;
            const std::size_t now = find(after, name);
            const bool stays = now == n && n < after.nodes.size();
            // A new name at the same index is the same node, unless that name existed elsewhere
            // before.
            const bool renamed = now == after.nodes.size() && n < after.nodes.size() &&
                                 find(before, after.nodes[n].name) == before.nodes.size();
            Problem problem;
            if (!stays && !renamed) {
                problem.text = "kinds are bound to node '" + name + "', so it must stay number " +
                               std::to_string(n + 1) +
                               " in the list (use enabled = false to disable it)";
                if (now < after.nodes.size()) problem.node = static_cast<int>(now);
                return problem;
            }
            if (before.nodes[n].members == Members::bound &&
                after.nodes[n].members != Members::bound) {
                problem.text = "kinds are bound to node '" + after.nodes[n].name +
                               "': it must keep members = \"bound\"";
                problem.node = static_cast<int>(n);
                problem.key = "members";
                return problem;
            }
        }
    }
    const std::size_t shown = node_for_all(after);
    if (shown == after.nodes.size() || node_for_all(before) < before.nodes.size())
        return std::nullopt;
    for (const KindRules& kind : kinds) {
        if (!kind.needs_node || !kind.nodes.empty() || kind.mode != EntityMode::nodes) continue;
        Problem problem;
        problem.text = "a kind is bound to no node (nodes = []), so node '" +
                       after.nodes[shown].name + "' must not have members = \"all\"";
        problem.node = static_cast<int>(shown);
        problem.key = "members";
        return problem;
    }
    return std::nullopt;
}

}  // namespace purview::scene
