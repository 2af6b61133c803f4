// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <cstdint>

#include "link/packet_link.hpp"
#include "purview/types.hpp"

namespace purview {

/// Returns whether more than `ms` milliseconds have passed since then. A time after `now` counts as
/// now, because a datagram may be newer than the current tick.
constexpr bool is_over(Micros since, Micros now, std::uint32_t ms) noexcept {
    return now > since && now - since > std::uint64_t{ms} * 1'000;
}

/// Returns whether one more packet may be in flight. `sent_at(number)` returns when that packet was
/// sent. The last hundred numbers are used at growing intervals, so that some remain until the
/// timeout ends the session. A lost packet is detected only when a later one arrives, so both sides
/// must always have one left to send.
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
