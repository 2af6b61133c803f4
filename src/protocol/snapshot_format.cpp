// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "protocol/snapshot_format.hpp"

#include <algorithm>
#include <array>

#include "protocol/bit_writer.hpp"
#include "purview/status.hpp"

namespace purview {

namespace {

constexpr std::array enter_reasons = {Reason::entered, Reason::spawned, Reason::owned,
                                      Reason::forced, Reason::promoted};
static_assert(enter_reasons.size() <= 1U << enter_reason_bits);

}  // namespace

unsigned kind_bits(const Schema& schema) noexcept {
    return bits_for(schema.kinds().size() - 1);
}

std::uint32_t wire_enter_reason(Reason reason) noexcept {
    const auto at = std::find(enter_reasons.begin(), enter_reasons.end(), reason);
    PURVIEW_ASSERT(at != enter_reasons.end());
    return at == enter_reasons.end() ? 0 : static_cast<std::uint32_t>(at - enter_reasons.begin());
}

bool read_enter_reason(std::uint64_t number, Reason& reason) noexcept {
    if (number >= enter_reasons.size()) return false;
    reason = enter_reasons[static_cast<std::size_t>(number)];
    return true;
}

}  // namespace purview
