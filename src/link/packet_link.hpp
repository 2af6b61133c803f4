// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One end of a connection. Numbers packets and reports the delivery status of every packet that it
// sent, exactly once and in order. Both sides use the same class.
//
// A packet that arrives after a newer one is dropped and counts as lost on both sides, so each side
// knows exactly what the other has applied. Each packet has the newest accepted number, and one
// status bit for every number since the last acknowledgement that the other side is known to have
// received. No status is lost, however long the return path was interrupted. Must not depend on
// sockets, clocks or the content of packets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/prefetch.hpp"
#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"

namespace purview {

struct DeliveryNotice {
    std::uint32_t sequence;
    bool delivered;
};

class PacketLink {
  public:
    /// Maximum number of packets in flight. A header never has more status bits.
    static constexpr std::uint32_t under_way_max = 1000;
    static constexpr unsigned sequence_bits = 16;

    enum class Verdict : std::uint8_t { accepted, late, malformed };

    /// Returns false if too many packets are in flight: nothing may be sent.
    bool can_send() const noexcept { return next_ - 1 - resolved_ < under_way_max; }
    std::uint32_t packets_under_way() const noexcept { return next_ - 1 - resolved_; }
    /// Writes the header of the next packet and returns its number, from 1 on.
    std::uint32_t write_header(BitWriter& out);
    /// Maximum size in bits of a header with this many status bits; without an argument, of the
    /// next header.
    static constexpr std::uint64_t header_bits_max(std::uint64_t delivery_reports) noexcept {
        return 2 * sequence_bits + 1 + BitWriter::varint_bits(under_way_max) + delivery_reports;
    }
    std::uint64_t header_bits_max() const noexcept { return header_bits_max(status_count()); }

    /// Returns the full number of the packet with this header: the candidate nearest to the next
    /// expected number. 0: none.
    std::uint32_t number_of(std::span<const std::byte> header) const noexcept;
    /// Reads a header without changing the state. accepted: read the rest of the packet, and call
    /// accept() if it is valid. late: drop the packet. malformed: count it.
    Verdict read_header(BitReader& in);
    /// Marks the packet with the last header as applied. Appends the delivery statuses that the
    /// header reported.
    void accept(std::vector<DeliveryNotice>& notices);

    std::uint32_t next_sequence() const noexcept { return next_; }
    /// Prefetches what write_header reads.
    void prefetch_header() const noexcept {
        if (!reported_by_.empty()) prefetch_line(&reported_by_[next_ % under_way_max]);
        prefetch_line(&history_[(newest_ / 64) % history_words]);
    }
    std::uint32_t newest_accepted() const noexcept { return newest_; }
    /// The status of packets up to this number is known. The other side has applied the last
    /// delivered one.
    std::uint32_t resolved() const noexcept { return resolved_; }
    /// Returns whether an accepted packet has not been acknowledged yet.
    bool has_unsent_acknowledgement() const noexcept { return newest_ != reported_; }

  private:
    std::uint32_t status_count() const noexcept {
        return newest_ > confirmed_ ? newest_ - confirmed_ - 1 : 0;
    }
    bool was_accepted(std::uint32_t sequence) const noexcept {
        return (history_[(sequence / 64) % history_words] >> (sequence % 64) & 1U) != 0;
    }
    void note_accepted(std::uint32_t sequence) noexcept;

    struct Header {
        std::uint32_t sequence = 0;
        std::uint32_t newest = 0;  ///< newest of our packets that the other side accepted; 0: none
        std::uint64_t status[under_way_max / 64 + 1] = {};  ///< one bit per status in the header
    };

    static constexpr std::size_t history_words = 64;  // 4,096 numbers, four times what is needed

    // Outgoing: numbers below next_ have been sent; the status is known up to resolved_.
    std::uint32_t next_ = 1;
    std::uint32_t resolved_ = 0;
    LineVector<std::uint32_t> reported_by_;  ///< [under_way_max] ring: `newest_` in that packet
    // Incoming.
    std::uint32_t newest_ = 0;
    std::uint32_t reported_ = 0;   ///< `newest_` in the last packet sent
    std::uint32_t confirmed_ = 0;  ///< `newest_` that the other side is known to have received
    Header header_;                ///< read last
    std::uint64_t history_[history_words] = {};
};

}  // namespace purview
