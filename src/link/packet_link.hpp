// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One end of a connection: numbers packets, and tells the fate of every packet it sent, exactly
// once and in order. The same on both sides.
//
// A packet that arrives after a newer one is dropped and counts as lost, on both sides: that makes
// "what the other side has applied" a fact instead of a guess. Each packet carries the newest
// number accepted, and one bit for every number since the last acknowledgement that the other side
// is known to have; so no fate is ever lost, however long the way back was closed. Must not know:
// sockets, clocks, what packets hold.
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
    /// Packets under way at most; the status bits of one header never exceed it.
    static constexpr std::uint32_t under_way_max = 1000;
    static constexpr unsigned sequence_bits = 16;

    enum class Verdict : std::uint8_t { accepted, late, malformed };

    /// False when too many packets are under way: nothing may be sent.
    bool can_send() const noexcept { return next_ - 1 - resolved_ < under_way_max; }
    std::uint32_t packets_under_way() const noexcept { return next_ - 1 - resolved_; }
    /// Writes the header of the next packet and returns its number, from 1 on.
    std::uint32_t write_header(BitWriter& out);
    /// Bits of a header that tells so many fates, at most; of the next one, at most.
    static constexpr std::uint64_t header_bits_max(std::uint64_t fates) noexcept {
        return 2 * sequence_bits + 1 + BitWriter::varint_bits(under_way_max) + fates;
    }
    std::uint64_t header_bits_max() const noexcept { return header_bits_max(status_count()); }

    /// The full number of the packet that has a header there: the one nearest to the next. 0: none.
    std::uint32_t number_of(std::span<const std::byte> header) const noexcept;
    /// Reads a header and changes nothing. accepted: read the rest, and if all of it is sound, call
    /// accept(). late: drop the packet. malformed: count it.
    Verdict read_header(BitReader& in);
    /// The packet whose header was read last counts as applied. Appends the fates that it told.
    void accept(std::vector<DeliveryNotice>& notices);

    std::uint32_t next_sequence() const noexcept { return next_; }
    /// What write_header looks up.
    void prefetch_header() const noexcept {
        if (!told_by_.empty()) prefetch_line(&told_by_[next_ % under_way_max]);
        prefetch_line(&history_[(newest_ / 64) % history_words]);
    }
    std::uint32_t newest_accepted() const noexcept { return newest_; }
    /// Packets up to this number have a known fate; the other side has applied the last delivered.
    std::uint32_t resolved() const noexcept { return resolved_; }
    /// True when the other side has not been told yet of something that arrived.
    bool owes_acknowledgement() const noexcept { return newest_ != told_; }

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
        std::uint32_t newest = 0;  ///< of ours, that the other side has accepted; 0: none
        std::uint64_t status[under_way_max / 64 + 1] = {};  ///< as many bits as it has
    };

    static constexpr std::size_t history_words = 64;  // 4,096 numbers, four times what is needed

    // Outgoing: numbers below next_ are sent, up to resolved_ their fate is known.
    std::uint32_t next_ = 1;
    std::uint32_t resolved_ = 0;
    LineVector<std::uint32_t> told_by_;  ///< [under_way_max ring] newest_ as told by a packet
    // Incoming.
    std::uint32_t newest_ = 0;
    std::uint32_t told_ = 0;       ///< newest_ as told by the last packet sent
    std::uint32_t confirmed_ = 0;  ///< newest_ that the other side is known to have been told
    Header header_;                ///< read last
    std::uint64_t history_[history_words] = {};
};

}  // namespace purview
