// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The order of a group's members for input (O16), the same on server and client: the root, its
// plain children depth first, then its inner roots, each followed by its own children. Siblings are
// in the order of children(). Walks the tree, so it is called only when a relation has changed
// (O14).
#pragma once

#include <cstddef>
#include <vector>

#include "purview/group_input.hpp"

namespace purview {

/// Appends to `out`. `Tree` has children(member), which returns a range, is_inner_root(member) and
/// is_member(member). If is_member returns false, the branch is skipped.
template <class Id, class Tree>
void append_depth_first(Id root, const Tree& tree, std::vector<Id>& out) {
    std::vector<Id> inner;
    const auto append = [&](const auto& self, Id member) -> void {
        out.push_back(member);
        for (const Id child : tree.children(member)) {
            if (!tree.is_member(child)) continue;
            if (tree.is_inner_root(child)) {
                inner.push_back(child);
            } else {
                self(self, child);
            }
        }
    };
    append(append, root);
    for (const Id member : inner) append_depth_first(member, tree, out);
}

template <class Id, class Tree>
void append_group(Id root, const Tree& tree, InputOrder order, std::vector<Id>& out) {
    if (order == InputOrder::depth_first) return append_depth_first(root, tree, out);
    const std::size_t first = out.size();
    out.push_back(root);
    for (std::size_t at = first; at < out.size(); ++at) {
        for (const Id child : tree.children(out[at])) {
            if (tree.is_member(child)) out.push_back(child);
        }
    }
}

}  // namespace purview
