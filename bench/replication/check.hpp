// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Compares decoded clients with the world: the held ghosts with the set that the scene requires,
// and their values field by field.
#pragma once

#include <cstdint>

#include "replication/stage.hpp"

namespace purview::bench {

struct Checked {
    std::uint64_t values = 0;  ///< number of compared values
    std::uint64_t wrong = 0;   ///< wrong values, missing and surplus ghosts
    Checked& operator+=(const Checked& more) noexcept {
        values += more.values;
        wrong += more.wrong;
        return *this;
    }
};

/// Checks all complete clients immediately. Valid only if nothing is in flight: after
/// `settle_and_check`, or without loss.
Checked check_clients(Stage& stage);

/// Freezes the game and disables loss until nothing is pending, then checks. Both are restored
/// afterwards.
Checked settle_and_check(Stage& stage);

}  // namespace purview::bench
