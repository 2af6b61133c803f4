// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Are decoded clients right? Whom a whole client holds is compared with whom the scene says that he
// should, and what he holds with the world, field by field.
#pragma once

#include <cstdint>

#include "replication/stage.hpp"

namespace purview::bench {

struct Checked {
    std::uint64_t values = 0;  ///< compared
    std::uint64_t wrong = 0;   ///< values that differ, ghosts too many or too few
    Checked& operator+=(const Checked& more) noexcept {
        values += more.values;
        wrong += more.wrong;
        return *this;
    }
};

/// All whole clients, now. Right only when nothing is under way: after `settle`, or when nothing
/// was lost.
Checked check_clients(Stage& stage);

/// The game rests and no datagram is lost until nothing waits; then checks. The game goes on and
/// datagrams are lost again afterwards.
Checked settle_and_check(Stage& stage);

}  // namespace purview::bench
