// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Snapshots written by hand for ghosts of the kind "thing". Their positions are relative to the
// parent: 500 is the position of the parent.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "client/replica.hpp"
#include "protocol/bit_writer.hpp"
#include "protocol/quantize.hpp"
#include "protocol/rice.hpp"
#include "protocol/snapshot_format.hpp"
#include "small_game.hpp"

namespace purview::test {

inline Schema schema_of_things() {
    Schema schema;
    const KindId thing = schema.kind("thing", {add_position(schema, 0, 1000).id});
    schema.edit_kind(thing).relative_position = true;
    return schema;
}

class WrittenSnapshot {
  public:
    struct Enter {
        LocalId ghost;
        LocalId parent = no_local_id;
        float x = 0;
        bool is_whole = true;
    };
    struct Update {
        LocalId ghost;
        float x = 0;
    };
    Tick tick = 1;
    std::vector<LocalId> leaves = {};
    Retention retention = Retention::despawn;  ///< retention of the leaves
    std::vector<Enter> enters = {};
    std::vector<Enter> links = {};  ///< updates with another parent
    std::vector<Update> updates = {};

    std::vector<std::byte> bytes(const Schema& schema) const {
        std::vector<std::byte> bytes(2'000);
        BitWriter out(bytes);
        out.u16(static_cast<std::uint16_t>(tick));
        LocalId next = 0;
        const auto name = [&](LocalId ghost) {
            out.varint(ghost - next);
            next = ghost + 1;
        };
        out.varint(leaves.size());
        for (const LocalId ghost : leaves) {
            name(ghost);
            out.bits(static_cast<std::uint64_t>(Reason::left), leave_reason_bits);
            out.boolean(retention != Retention::despawn);
            if (retention != Retention::despawn)
                out.bits(static_cast<std::uint64_t>(retention), leave_policy_bits);
        }
        next = 0;
        out.varint(enters.size());
        for (const Enter& enter : enters) {
            name(enter.ghost);
            write_link(enter, out);
            write_values(schema, enter.x, out);
        }
        next = 0;
        out.varint(links.size());
        for (const Enter& link : links) {
            name(link.ghost);
            out.boolean(true);
            write_link(link, out);
            out.boolean(true);  // all fields
            write_values(schema, link.x, out);
        }
        next = 0;
        out.varint(updates.size());
        if (!updates.empty()) out.bits(0, rice_parameter_bits);
        for (const Update& update : updates) {
            out.rice(update.ghost - next, 0);
            next = update.ghost + 1;
            out.boolean(true);  // all fields
            write_values(schema, update.x, out);
        }
        out.boolean(false);  // no shared cell payloads
        REQUIRE(out.ok());
        bytes.resize(out.bytes_written());
        return bytes;
    }
    /// Applies the snapshot. Returns false if it is malformed.
    bool apply(Replica& replica, Tick& newest) const {
        const std::vector<std::byte> all = bytes(replica.ghosts.schema());
        BitReader in(all);
        if (!replica.decoder.read(in)) return false;
        replica.accept(newest);
        return true;
    }

  private:
    static void write_link(const Enter& enter, BitWriter& out) {
        out.bits(wire_enter_reason(Reason::entered), enter_reason_bits);
        out.boolean(false);  // not owned
        out.boolean(enter.is_whole);
        out.boolean(enter.parent != no_local_id);
        if (enter.parent != no_local_id) out.varint(enter.parent);
    }
    static void write_values(const Schema& schema, float x, BitWriter& out) {
        const ComponentDef& position = schema.components()[0];
        const Position value{{x, 0, 0}};
        for (const FieldDef& field : position.fields) {
            std::uint32_t word = 0;
            quantize(field, reinterpret_cast<const std::byte*>(&value), &word);
            out.bits(word, field.wire_bits);
        }
    }
};

}  // namespace purview::test
