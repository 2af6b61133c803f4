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

std::string name_of(const InterestDef& def, std::size_t kind) {
    return "kind " +
           (kind < def.kind_names.size() ? "'" + def.kind_names[kind] + "'" : std::to_string(kind));
}

std::string name_of(const NodeDesc& node, std::size_t number) {
    return "node " + (node.name.empty() ? std::to_string(number) : "'" + node.name + "'");
}

bool covers_unbound(const InterestRules& rules) {
    return rules.nodes.empty() ||
           std::any_of(rules.nodes.begin(), rules.nodes.end(), [](const NodeDesc& node) {
               return node.enabled && node.members != NodeMembers::bound &&
                      node.combine == StepOp::add;
           });
}

}  // namespace

void warn_of_kinds(const InterestDef& def, std::vector<std::string>& out) {
    const auto& nodes = def.rules.nodes;
    const bool has_default = covers_unbound(def.rules);
    for (std::size_t k = 0; k < def.kinds.size(); ++k) {
        const KindInterest& kind = def.kinds[k];
        for (const NodeId bound : kind.nodes) {
            if (index_of(bound) >= nodes.size()) {  // rules may have become fewer
                out.push_back(name_of(def, k) + " is bound to node " +
                              std::to_string(index_of(bound)) + ", which is not there");
                continue;
            }
            const NodeDesc& node = nodes[index_of(bound)];
            if (node.members == NodeMembers::all) {
                out.push_back(name_of(def, k) + " is bound to " + name_of(node, index_of(bound)) +
                              ", which takes every entity (NodeMembers::all): the binding has no "
                              "effect there");
            } else if (node.members == NodeMembers::unbound) {
                out.push_back(name_of(def, k) + " is bound to " + name_of(node, index_of(bound)) +
                              ", which takes only entities that are bound to no node "
                              "(NodeMembers::unbound): it never shows them");
            }
        }
        const bool is_meant = kind.never_default || kind.mode != EntityMode::nodes;
        if (!has_default && kind.nodes.empty() && !is_meant) {
            out.push_back(name_of(def, k) +
                          " is bound to no node, and no node takes such entities "
                          "(NodeMembers::unbound or all): no node shows them");
        }
    }
}

void InterestData::log_warnings() const {
    for (const std::string& warning : program_.warnings)
        write_log(def_.log, LogLevel::warning, warning);
}

/// The kinds that are known were warned of at once; entities can be unbound by themselves, too.
void InterestData::warn_of_uncovered(EntityId entity) {
    const bool is_ours = !warned_of_uncovered_ && !covers_unbound(def_.rules);
    const std::uint32_t index = index_of(entity);
    const KindInterest* kind = rules_of_kind(entity);
    if (!is_ours || (kind != nullptr && kind->mode != EntityMode::nodes)) return;
    warned_of_uncovered_ = true;
    write_log(def_.log, LogLevel::warning,
              "entity " + std::to_string(index) +
                  " is bound to no node, and no node takes such entities (NodeMembers::unbound or "
                  "all): no node shows it. This is logged once until the rules change.");
}

}  // namespace purview
