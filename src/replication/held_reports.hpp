// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The number of ghosts that an observer had after it applied a packet, for operators. Computed when
// the packet is acknowledged, from the relevant set in its record.
#pragma once

#include <cstdint>

#include "purview/types.hpp"
#include "replication/ghost_slots.hpp"
#include "replication/packet_records.hpp"

namespace purview {

/// held = relevant - backlog + unacknowledged_leaves
struct HeldReport {
    std::uint32_t sequence = 0;
    Tick tick = 0;
    std::uint32_t relevant = 0;
    std::uint32_t backlog = 0;                ///< relevant, but not held yet
    std::uint32_t unacknowledged_leaves = 0;  ///< held, but no longer relevant
};

class HeldReports {
  public:
    /// Sets whether packets that begin from now on are reported.
    void keep(bool keeps) noexcept { keeps_ = keeps; }
    bool are_kept() const noexcept { return keeps_; }
    /// Returns the report of the last acknowledged packet that has one.
    const HeldReport& last() const noexcept { return last_; }
    /// Updates the report after the delivery of a packet. `slots` must already include that
    /// delivery.
    void update(const GhostSlots& slots, const PacketRecords& records,
                const PacketRecord& record) noexcept;

  private:
    bool keeps_ = false;
    HeldReport last_;
};

}  // namespace purview
