// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The inputs of one client: the queue, and the state that the client has of the groups that it
// controls.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "purview/limits.hpp"
#include "server/input_queue.hpp"

namespace purview {

struct SessionInputs {
    /// A group for which the client recently sent inputs, with the state that the client has of it.
    struct KnownGroup {
        EntityId root = EntityId::none;
        std::uint64_t membership = 0;  ///< hash of the members that were sent to the client
        Tick sent = 0;                 ///< tick of the correction with that membership
        /// The last tick since then in which the server computed the same state as the client; 0:
        /// none yet.
        Tick agreed = 0;
        /// Some components may be left out of updates, because the client predicts them.
        bool is_predicted = false;
    };

    InputQueue queue;
    std::uint8_t corrections = 0;  ///< number of corrections sent; low bits
    std::array<KnownGroup, limits::input_groups> known{};

    /// Null if the group has no entry.
    const KnownGroup* find(EntityId root) const noexcept {
        const auto found = std::find_if(known.begin(), known.end(),
                                        [&](const KnownGroup& one) { return one.root == root; });
        return found == known.end() ? nullptr : &*found;
    }
    KnownGroup* find(EntityId root) noexcept {
        return const_cast<KnownGroup*>(static_cast<const SessionInputs*>(this)->find(root));
    }
};

}  // namespace purview
