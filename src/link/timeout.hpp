// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <cstdint>

#include "link/packet_link.hpp"
#include "purview/types.hpp"

namespace purview {

/// More than so many milliseconds have passed. What happened after `now` has just happened: a
/// datagram may be newer than the tick that asks.
constexpr bool is_over(Micros since, Micros now, std::uint32_t ms) noexcept {
    return now > since && now - since > std::uint64_t{ms} * 1'000;
}

/// Whether one more packet may be under way. `sent_at(number)`: when that packet went out. The last
/// hundred go the more seldom the fewer they are, and are never used up before silence has ended
/// the session: which packets fell into a hole in the line is known only when one behind it
/// arrives, so both sides must always have one to send.
template <class SentAt>
bool may_send(const PacketLink& link, SentAt&& sent_at, Micros now,
              std::uint32_t timeout_ms) noexcept {
    constexpr std::uint32_t seldom = 100;
    if (!link.can_send()) return false;
    const std::uint32_t left = PacketLink::under_way_max - link.packets_under_way();
    if (left > seldom) return true;
    const Micros last = sent_at(link.next_sequence() - 1);
    return now > last && now - last >= std::uint64_t{timeout_ms} * 1'000 / left;
}

}  // namespace purview
