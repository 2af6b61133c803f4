// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What is sound and yet probably not meant: bindings without effect, and entities that no node
// covers.
#include <algorithm>

#include "core/log.hpp"
#include "interest/edits.hpp"

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
            if (index_of(bound) >= nodes.size()) {  // rules may have become fewer
                out.push_back(name_of(def, k) + " is bound to node " +
                              std::to_string(index_of(bound)) + ", which is not there");
                continue;
            }
            const NodeDef& node = nodes[index_of(bound)];
            if (node.members == Members::all) {
                out.push_back(name_of(def, k) + " is bound to " + name_of(node, index_of(bound)) +
                              ", which takes every entity (Members::all): the binding has no "
                              "effect there");
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

void InterestData::log_warnings() const {
    for (const std::string& warning : program_.warnings)
        write_log(warnings_.log, LogLevel::warning, warning);
}

/// The kinds that are known were warned of at once; entities can be unbound by themselves, too.
void InterestData::warn_of_uncovered(EntityId entity) {
    const bool is_ours = !warnings_.of_uncovered && !covers_unbound(rules_);
    const std::uint32_t index = index_of(entity);
    const KindRules* kind = rules_of_kind(entity);
    if (!is_ours || (kind != nullptr && kind->mode != EntityMode::nodes)) return;
    warnings_.of_uncovered = true;
    write_log(warnings_.log, LogLevel::warning,
              "entity " + std::to_string(index) +
                  " is bound to no node, and no node takes such entities (Members::unbound or "
                  "all): no node shows it. This is logged once until the rules change.");
}

}  // namespace purview
