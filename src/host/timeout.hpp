// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <cstdint>

#include "purview/ids.hpp"

namespace purview {

/// More than so many milliseconds have passed. What happened after `now` has just happened: a
/// datagram may be newer than the tick that asks.
constexpr bool is_over(Micros since, Micros now, std::uint32_t ms) noexcept {
    return now > since && now - since > std::uint64_t{ms} * 1'000;
}

}  // namespace purview
