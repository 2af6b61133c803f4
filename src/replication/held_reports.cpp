// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/held_reports.hpp"

#include <bit>

namespace purview {

void HeldReports::update(const GhostSlots& slots, const PacketRecords& records,
                         const PacketRecord& record) noexcept {
    PURVIEW_ASSERT(record.has_live);
    const auto count = [](std::uint64_t bits) {
        return static_cast<std::uint32_t>(std::popcount(bits));
    };
    last_ = {record.sequence, record.tick, 0, 0, 0};
    for (std::size_t w = 0; w < slots.words(); ++w) {
        const std::uint64_t relevant = records.live(record, w);
        const std::uint64_t shown = slots.of(w).held & ~slots.of(w).away;
        last_.relevant += count(relevant);
        last_.backlog += count(relevant & ~shown);
        last_.unacknowledged_leaves += count(shown & ~relevant);
    }
    PURVIEW_ASSERT(last_.backlog <= last_.relevant);
}

}  // namespace purview
