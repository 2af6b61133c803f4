// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Where the bits of one client's packets go. Reads them as PROTOCOL.md has them, with code of its
// own, and keeps nothing but counts and the kind of every ghost. Where fields are extrapolated it
// lets the library read, and all bits of a snapshot but its tick count as values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "client/ghosts.hpp"
#include "protocol/bit_reader.hpp"
#include "protocol/schema_codec.hpp"
#include "purview/schema.hpp"

namespace purview::bench {

struct WireBits {
    double header = 0;  ///< seal, numbers, acknowledgements, tick, counts, last byte's rest
    double stream = 0;  ///< reliable messages
    double leaves = 0;
    double enters = 0;
    double gap = 0;      ///< of updates: which ghost
    double mask = 0;     ///< of updates: which fields; kinds and links too
    double values = 0;   ///< of updates
    double updates = 0;  ///< their number
    double packets = 0;
    double unread = 0;  ///< packets that did not read as the protocol says
};

class WireMeter {
  public:
    explicit WireMeter(const Schema& schema);
    void read(std::span<const std::byte> datagram);
    void reset() noexcept { bits_ = {}; }
    const WireBits& bits() const noexcept { return bits_; }

  private:
    /// Values alone are counted as values, the rest as masks.
    void read_fields(BitReader& in, std::uint32_t kind);
    void read_link(BitReader& in);
    void read_snapshot(BitReader& in);
    void read_extrapolated(BitReader& in);
    void read_updates(BitReader& in, bool verbose);
    static void read_value(BitReader& in, const FieldDef& field);
    std::uint32_t& kind_of(std::uint64_t lane);

    const Schema* schema_;
    unsigned kind_bits_;
    std::vector<std::uint32_t> kinds_;    ///< by ghost
    std::optional<ClientGhosts> ghosts_;  ///< where fields are extrapolated
    Tick newest_ = 0;
    WireBits bits_;
};

}  // namespace purview::bench
