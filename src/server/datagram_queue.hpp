// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Datagrams that wait for their carrier, in the order of sending: those of handshakes and closes,
// which it stores itself, and those of the workers, which stay in the outboxes of the workers until
// all have been taken.
//
// Invariants: the order refers only to datagrams that their outbox still stores; memory is reused
// only when none waits.
//
// Must not know: what a datagram contains.
#pragma once

#include <cstdint>
#include <span>

#include "server/outbox.hpp"
#include "server/tick_worker.hpp"

namespace purview {

class DatagramQueue {
  public:
    explicit DatagramQueue(TickWorkers& workers) : workers_(workers) {}

    /// Copies the bytes, at most limits::datagram_bytes.
    void add(const Address& to, std::span<const std::byte> bytes);
    /// The oldest one; false: there is none. Valid until the next call of any of these.
    bool take(OutgoingDatagram& out);

    /// Before workers write.
    void begin_tick() noexcept {
        if (order_.empty()) clear();
    }
    /// What the workers wrote in their last run, in the order of sessions, whichever of them wrote
    /// it.
    void add_written();

    /// All that were ever added.
    std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }

  private:
    void clear() noexcept;

    TickWorkers& workers_;
    Outbox outbox_;
    OutboxOrder order_;
    std::uint64_t bytes_sent_ = 0;
};

}  // namespace purview
