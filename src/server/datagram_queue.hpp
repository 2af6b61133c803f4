// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Outgoing datagrams in sending order. Stores the datagrams of handshakes and closes. Datagrams of
// workers stay in the workers' outboxes until all have been taken.
//
// Invariants: the order refers only to datagrams that are still stored in their outbox; memory is
// reused only when the queue is empty.
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
    /// Takes the oldest datagram; false if the queue is empty. `out` is valid until the next call
    /// of a member of this class.
    bool take(OutgoingDatagram& out);

    /// Call before workers write.
    void begin_tick() noexcept {
        if (order_.empty()) clear();
    }
    /// Appends what the workers wrote in their last run, in session order regardless of the worker.
    void add_written();

    /// Bytes of all datagrams that were ever added.
    std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }

  private:
    void clear() noexcept;

    TickWorkers& workers_;
    Outbox outbox_;
    OutboxOrder order_;
    std::uint64_t bytes_sent_ = 0;
};

}  // namespace purview
