// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Constants of the snapshot format that both sides use: field widths and codes of reasons. See
// PROTOCOL.md, "Snapshot".
#pragma once

#include <cstdint>

#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace purview {

inline constexpr unsigned wire_tick_bits = 16;
inline constexpr unsigned leave_reason_bits = 3;
inline constexpr unsigned enter_reason_bits = 3;  ///< in every link: see wire_enter_reason
inline constexpr unsigned leave_policy_bits = 2;

/// Returns the number of bits of a kind index.
unsigned kind_bits(const Schema& schema) noexcept;

/// Returns the code of the reason for an enter, from 0 on: entered, spawned, owned, forced,
/// promoted.
std::uint32_t wire_enter_reason(Reason reason) noexcept;
/// Decodes that code. Returns false if no enter has it.
bool read_enter_reason(std::uint64_t number, Reason& reason) noexcept;
/// Returns whether a leave may have this reason.
constexpr bool is_leave_reason(Reason reason) noexcept {
    return reason >= Reason::left && reason <= Reason::despawned;
}

}  // namespace purview
