// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/warnings.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/log.hpp"

namespace purview {

namespace {

std::string name_of(const Rules& def, std::size_t kind) {
    return "kind " +
           (kind < def.kind_names.size() ? "'" + def.kind_names[kind] + "'" : std::to_string(kind));
}

std::string name_of(const NodeDef& node, std::size_t number) {
    return "node " + (node.name.empty() ? std::to_string(number) : "'" + node.name + "'");
}

bool covers_unbound(const Rules& rules) {
    return rules.nodes.empty() ||
           std::any_of(rules.nodes.begin(), rules.nodes.end(), [](const NodeDef& node) {
               return node.enabled && node.members != Members::bound &&
                      node.combine == Combine::add;
           });
}

}  // namespace

void warn_of_kinds(const Rules& def, std::vector<std::string>& out) {
    const auto& nodes = def.nodes;
    const bool has_default = covers_unbound(def);
    for (std::size_t k = 0; k < def.kinds.size(); ++k) {
        const KindRules& kind = def.kinds[k];
        for (const NodeId bound : kind.nodes) {
            if (index_of(bound) >= nodes.size()) {  // the rules may have fewer nodes now
                out.push_back(name_of(def, k) + " is bound to node " +
                              std::to_string(index_of(bound)) + ", which does not exist");
                continue;
            }
            const NodeDef& node = nodes[index_of(bound)];
            if (node.members == Members::all) {
                out.push_back(name_of(def, k) + " is bound to " + name_of(node, index_of(bound)) +
                              ", which takes every entity (Members::all): the binding has no "
                              "effect");
            } else if (node.members == Members::unbound) {
                out.push_back(name_of(def, k) + " is bound to " + name_of(node, index_of(bound)) +
                              ", which takes only entities that are bound to no node "
                              "(Members::unbound): it never shows them");
            }
        }
        const bool is_meant = kind.needs_node || kind.mode != EntityMode::nodes;
        if (!has_default && kind.nodes.empty() && !is_meant) {
            out.push_back(name_of(def, k) +
                          " is bound to no node, and no node takes such entities "
                          "(Members::unbound or all): no node shows them");
        }
    }
}

void RuleWarnings::write(const std::vector<std::string>& warnings) const {
    for (const std::string& warning : warnings) write_log(log_, LogLevel::warning, warning);
}

void RuleWarnings::warn_of_uncovered(EntityId entity, const KindRules* kind, const Rules& rules) {
    // A kind that no node covers was reported with the rules; an entity may be unbound by itself.
    if (has_uncovered_ || covers_unbound(rules)) return;
    if (kind != nullptr && kind->mode != EntityMode::nodes) return;
    has_uncovered_ = true;
    write_log(log_, LogLevel::warning,
              "entity " + std::to_string(index_of(entity)) +
                  " is bound to no node, and no node takes such entities (Members::unbound or "
                  "all): no node shows it. This is logged once until the rules change.");
}

}  // namespace purview
