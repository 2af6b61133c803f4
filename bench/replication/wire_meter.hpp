// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Measures how the bits of one client's packets are used. Parses packets by PROTOCOL.md with its
// own code, and stores only counts and the kind of every ghost. For dead-reckoned fields it uses
// the library's decoder, and all bits of a snapshot except its tick count as values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "client/replica.hpp"
#include "protocol/bit_reader.hpp"
#include "protocol/schema_codec.hpp"
#include "purview/schema.hpp"

namespace purview::bench {

struct WireBits {
    /// Checksum, numbers, acknowledgements, tick, counts, padding of the last byte.
    double header = 0;
    double stream = 0;  ///< reliable messages
    double leaves = 0;
    double enters = 0;
    double gap = 0;      ///< in updates: ghost ids
    double mask = 0;     ///< in updates: changed-field masks, including kinds and links
    double values = 0;   ///< in updates
    double updates = 0;  ///< number of updates
    double packets = 0;
    double unread = 0;  ///< packets that do not conform to the protocol
};

class WireMeter {
  public:
    explicit WireMeter(const Schema& schema);
    void read(std::span<const std::byte> datagram);
    void reset() noexcept { bits_ = {}; }
    const WireBits& bits() const noexcept { return bits_; }

  private:
    /// Only values count as values; the rest counts as masks.
    void read_fields(BitReader& in, std::uint32_t kind);
    void read_link(BitReader& in);
    void read_snapshot(BitReader& in);
    void read_extrapolated(BitReader& in);
    void read_updates(BitReader& in, bool verbose);
    static void read_value(BitReader& in, const FieldDef& field);
    std::uint32_t& kind_of(std::uint64_t slot);

    const Schema* schema_;
    unsigned kind_bits_;
    std::vector<std::uint32_t> kinds_;  ///< by ghost
    std::optional<Replica> replica_;    ///< used with dead-reckoned fields
    Tick newest_ = 0;
    WireBits bits_;
};

}  // namespace purview::bench
