// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What both sides of a snapshot agree on: widths of its fields and codes of reasons. See
// PROTOCOL.md, "Snapshot".
#pragma once

#include <cstdint>

#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace purview {

inline constexpr unsigned wire_tick_bits = 16;
inline constexpr unsigned leave_reason_bits = 3;
inline constexpr unsigned enter_reason_bits = 3;  ///< in every link: wire_enter_reason
inline constexpr unsigned leave_policy_bits = 2;

/// The width of a kind's number.
unsigned kind_bits(const Schema& schema) noexcept;

/// Returns the code of the reason of an enter: entered, spawned, owned, forced, promoted, from 0
/// on.
std::uint32_t wire_enter_reason(Reason reason) noexcept;
/// Reads that code. False: no enter has it.
bool read_enter_reason(std::uint64_t number, Reason& reason) noexcept;
/// Whether a leave may have this reason.
constexpr bool is_leave_reason(Reason reason) noexcept {
    return reason >= Reason::left && reason <= Reason::despawned;
}

}  // namespace purview
