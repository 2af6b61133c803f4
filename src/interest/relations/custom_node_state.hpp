// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The custom nodes of the program, the last result of each, and the notifications that wait for the
// next tick.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/bitset.hpp"
#include "purview/extend/node.hpp"
#include "purview/rules.hpp"

namespace purview {

/// The last results of a custom node: by observer index, or by entity index if it is
/// entity-centric.
struct CustomNodeState {
    std::shared_ptr<CustomNode> node;
    NodeId id{};
    Members members = Members::all;
    std::vector<std::vector<std::uint64_t>>
        results;           ///< ascending; entity ids, or observer indices
    Bitset queried_again;  ///< by the same index as `results`
    bool requests_all = true;
};

/// A notification for a custom node, delivered in the next tick.
struct NodeNotice {
    enum class Type : std::uint8_t { added, removed, updated };
    std::shared_ptr<CustomNode> node;
    EntityId entity;
    Type type;
};

/// The notifications of the edits since the last tick.
struct NodeNotices {
    std::vector<NodeNotice> list;
    bool enabled = true;  ///< false: a copy for a trial, which shares its nodes with the engine
};

}  // namespace purview
