// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Properties of compiled rules that every tick reads, computed once when the rules take effect.
// Never changed afterwards. Must not depend on entities or observers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bitset.hpp"
#include "interest/rules/program.hpp"
#include "purview/rules.hpp"

namespace purview {

struct ProgramSummary {
    ProgramSummary() = default;
    /// O(steps of all nodes).
    ProgramSummary(const Rules& rules, const Program& program);

    bool has_shared_rows = false;       ///< some row makes its members relevant without windows
    bool has_pulled_rows = false;       ///< some row has candidates that windows evaluate
    bool has_cells = false;             ///< some rows are inner nodes of a dispatcher
    bool has_moving_cells = false;      ///< some such dispatcher reads positions
    bool has_hiding_flags = false;      ///< some step subtracts by the entity's own attributes
    bool has_waiting = false;           ///< some node is not evaluated in every tick
    bool has_lazy = false;              ///< some of these nodes also let leaves wait
    std::vector<NodeId> unbound_nodes;  ///< nodes that may cover unbound entities
    std::vector<std::vector<std::uint32_t>> sources_of_node;  ///< by node: indices of row sources
    Bitset open_nodes;                                        ///< by node: whether it has no steps
};

}  // namespace purview
