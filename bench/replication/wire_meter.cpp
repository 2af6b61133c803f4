// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/wire_meter.hpp"

#include <array>

#include "link/handshake.hpp"
#include "protocol/bit_writer.hpp"
#include "protocol/quantize.hpp"

namespace purview::bench {

namespace {
constexpr std::uint64_t ghosts_max = 1U << 20;
}

WireMeter::WireMeter(const Schema& schema)
    : schema_(&schema), kind_bits_(bits_for(schema.kinds().size() - 1)) {
    for (const KindLayout& layout : layouts_of(schema)) {
        if (layout.extrapolated != 0 && !replica_) replica_.emplace(schema);
    }
}

void WireMeter::read_extrapolated(BitReader& in) {
    const std::size_t before = in.bits_read();
    if (!replica_->decoder.read(in)) return in.fail();
    replica_->accept(newest_);
    replica_->events.clear();
    bits_.header += 16;
    bits_.values += static_cast<double>(in.bits_read() - before - 16);
    for (LocalId ghost = 0; ghost < replica_->ghosts.slot_end(); ++ghost)
        bits_.updates +=
            replica_->ghosts.is_held(ghost) && replica_->ghosts.updated(ghost) == newest_ ? 1 : 0;
}

std::uint32_t& WireMeter::kind_of(std::uint64_t slot) {
    if (slot >= kinds_.size()) kinds_.resize(slot + 1, 0);
    return kinds_[slot];
}

void WireMeter::read_value(BitReader& in, const FieldDef& field) {
    std::array<std::uint32_t, (Schema::component_bytes_max + 3) / 4> words;
    read_words(field, in, words.data());
}

void WireMeter::read_link(BitReader& in) {
    (void)in.bits(3);    // reason
    (void)in.boolean();  // owned
    (void)in.boolean();  // whole
    if (in.boolean()) (void)in.varint();
}

void WireMeter::read_fields(BitReader& in, std::uint32_t kind) {
    const auto& components = schema_->kinds()[kind].components;
    for (const ComponentId id : components) {
        const auto& fields = schema_->components()[index_of(id)].fields;
        if (fields.empty()) continue;
        const std::size_t before = in.bits_read();
        if (components.size() > 1 && !in.boolean()) {
            bits_.mask += 1;
            continue;
        }
        std::uint64_t mask = ~std::uint64_t{0};
        if (fields.size() > 1 && !in.boolean()) {
            mask = in.bits(static_cast<unsigned>(fields.size()));
        }
        bits_.mask += static_cast<double>(in.bits_read() - before);
        for (std::size_t f = 0; f < fields.size(); ++f) {
            if (((mask >> f) & 1U) == 0) continue;
            const std::size_t begun = in.bits_read();
            read_value(in, fields[f]);
            bits_.values += static_cast<double>(in.bits_read() - begun);
        }
    }
}

void WireMeter::read_updates(BitReader& in, bool verbose) {
    const std::uint64_t count = in.varint();
    bits_.header += BitWriter::varint_bits(count);
    unsigned k = 0;
    if (!verbose && count > 0) {
        k = static_cast<unsigned>(in.bits(4));
        bits_.header += 4;
    }
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
        std::size_t before = in.bits_read();
        const std::uint64_t slot = expected + (verbose ? in.varint() : in.rice(k, ghosts_max));
        if (slot > ghosts_max) in.fail();
        if (!in.ok()) return;
        expected = slot + 1;
        bits_.gap += static_cast<double>(in.bits_read() - before);
        before = in.bits_read();
        if (verbose) {
            kind_of(slot) = static_cast<std::uint32_t>(in.bits(kind_bits_));
            if (in.boolean()) read_link(in);
            bits_.mask += static_cast<double>(in.bits_read() - before);
        }
        if (kind_of(slot) >= schema_->kinds().size()) return in.fail();
        read_fields(in, kind_of(slot));
        ++bits_.updates;
    }
}

void WireMeter::read_snapshot(BitReader& in) {
    (void)in.bits(16);  // tick
    const std::uint64_t leaves = in.varint();
    bits_.header += 16 + BitWriter::varint_bits(leaves);
    std::size_t before = in.bits_read();
    for (std::uint64_t i = 0; i < leaves && in.ok(); ++i) {
        (void)in.varint();
        (void)in.bits(3);                    // reason
        if (in.boolean()) (void)in.bits(2);  // retained, and mode
    }
    bits_.leaves += static_cast<double>(in.bits_read() - before);
    const std::uint64_t enters = in.varint();
    bits_.header += BitWriter::varint_bits(enters);
    before = in.bits_read();
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < enters && in.ok(); ++i) {
        const std::uint64_t slot = expected + in.varint();
        const auto kind = static_cast<std::uint32_t>(in.bits(kind_bits_));
        if (slot > ghosts_max || kind >= schema_->kinds().size()) return in.fail();
        expected = slot + 1;
        kind_of(slot) = kind;
        read_link(in);
        for (const ComponentId id : schema_->kinds()[kind].components) {
            for (const FieldDef& field : schema_->components()[index_of(id)].fields)
                read_value(in, field);
        }
    }
    bits_.enters += static_cast<double>(in.bits_read() - before);
    read_updates(in, true);
    read_updates(in, false);
}

void WireMeter::read(std::span<const std::byte> datagram) {
    if (datagram[0] != std::byte{static_cast<std::uint8_t>(PacketType::data)}) return;
    BitReader in(datagram);
    (void)in.bits(seal_bytes * 8);
    (void)in.u16();
    if (in.boolean()) {
        (void)in.u16();
        const std::uint64_t count = in.varint();
        for (std::uint64_t i = 0; i < count && in.ok(); ++i) (void)in.boolean();
    }
    bits_.header += static_cast<double>(in.bits_read()) + 2;  // no fragments, has_snapshot
    const std::size_t before = in.bits_read();
    while (in.boolean()) {
        (void)in.u32();
        (void)in.bytes(in.bits(10));
    }
    bits_.stream += static_cast<double>(in.bits_read() - before - 1);
    const bool has_snapshot = in.boolean();
    if (has_snapshot) replica_ ? read_extrapolated(in) : read_snapshot(in);
    bits_.header += static_cast<double>(in.bits_left());
    if (has_snapshot && !replica_) (void)in.boolean();  // no shared cell payloads
    (void)in.boolean();                                 // no calls
    ++bits_.packets;
    if (!in.exhausted()) ++bits_.unread;
}

}  // namespace purview::bench
