// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The tick and the time of a server, for its parts. Only the tick writes `tick` and `in_tick`; the
// tick and the receiver write `now`. Must not know: a clock.
#pragma once

#include "purview/types.hpp"

namespace purview {

struct ServerTime {
    Tick tick = 0;         ///< the running tick, else the last one
    Micros now = 0;        ///< time of the last datagram or tick
    bool in_tick = false;  ///< from the first stage to the last

    /// Tick of the snapshot that will contain an edit made now: between ticks, the next one.
    Tick edit_tick() const noexcept { return tick + (in_tick ? 0 : 1); }
};

}  // namespace purview
