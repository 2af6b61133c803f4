// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/datagram_queue.hpp"

#include <algorithm>

namespace purview {

/// Requires that all datagrams have been taken.
void DatagramQueue::clear() noexcept {
    PURVIEW_ASSERT(order_.empty());
    order_.clear();
    outbox_.clear();
    for (const auto& worker : workers_) worker->out.clear();
}

void DatagramQueue::add(const Address& to, std::span<const std::byte> bytes) {
    PURVIEW_ASSERT(!bytes.empty() && bytes.size() <= limits::datagram_bytes);
    if (order_.empty()) clear();
    std::copy(bytes.begin(), bytes.end(), outbox_.room().begin());
    outbox_.add(to, bytes.size());
    order_.add(outbox_, outbox_.size() - 1, outbox_.size());
    bytes_sent_ += bytes.size();
}

bool DatagramQueue::take(OutgoingDatagram& out) {
    if (order_.empty()) return false;
    out = order_.take();
    PURVIEW_ASSERT(!out.bytes.empty() && out.bytes.size() <= limits::datagram_bytes);
    return true;
}

void DatagramQueue::add_written() {
    for (const TickChunk& chunk : workers_.chunks()) {
        const Outbox& box = chunk.worker->out;
        PURVIEW_ASSERT(chunk.first_datagram <= chunk.end_datagram &&
                       chunk.end_datagram <= box.size());
        order_.add(box, chunk.first_datagram, chunk.end_datagram);
        for (std::size_t i = chunk.first_datagram; i < chunk.end_datagram; ++i)
            bytes_sent_ += box.bytes(i).size();
    }
}

}  // namespace purview
