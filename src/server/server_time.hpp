// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The tick and the time of a server, as its parts read them. `tick` and `in_tick` are written by
// the tick alone, `now` by the tick and by the receiver. Must not know: a clock.
#pragma once

#include "purview/types.hpp"

namespace purview {

struct ServerTime {
    Tick tick = 0;         ///< the current one, or the last one that has begun
    Micros now = 0;        ///< of the last datagram or tick
    bool in_tick = false;  ///< from the first stage to the last

    /// Tick of the snapshot that will contain an edit made now: between ticks, the next one.
    Tick edit_tick() const noexcept { return tick + (in_tick ? 0 : 1); }
};

}  // namespace purview
