// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/correction_codec.hpp"

#include "protocol/input_codec.hpp"
#include "protocol/rpc_args.hpp"
#include "protocol/snapshot_format.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

/// Minimum size of a member: local id, kind and two flags.
constexpr std::size_t member_bits_min = 6;

void read_values(const PredictedLayout& layout, BitReader& in, CorrectedMember& member,
                 AlignedBytes& data) {
    member.data_at = data.add(layout.bytes(member.kind));
    for (const PredictedPart& part : layout.parts(member.kind)) {
        RpcWords words{};
        PURVIEW_ASSERT(part.words <= words.size());
        read_words(*part.def, in, words.data());
        part_of_words(part, words.data(), member.frame != no_local_id,
                      data.at(member.data_at) + part.offset);
    }
}

void read_member(const Schema& schema, const PredictedLayout& layout, BitReader& in,
                 Correction& out) {
    CorrectedMember member;
    member.ghost = static_cast<LocalId>(in.varint_max(local_ids_max - 1));
    const auto kind = in.bits(kind_bits(schema));
    if (kind >= schema.kinds().size()) return in.fail();
    member.kind = id_at<KindId>(kind);
    member.is_in_input = in.boolean();
    member.has_values = in.boolean();
    if (member.has_values && schema.kinds()[index_of(member.kind)].relative_position) {
        const auto frame = in.varint_max(local_ids_max);
        if (frame != 0) member.frame = static_cast<LocalId>(frame - 1);
    }
    if (!in.ok()) return;
    if (member.has_values) read_values(layout, in, member, out.data);
    out.members.push_back(member);
}

void read_groups(const Schema& schema, const PredictedLayout& layout, BitReader& in,
                 Correction& out) {
    const auto groups = in.varint_max(limits::input_groups);
    if (groups == 0) return in.fail();
    for (std::uint64_t g = 0; g < groups && in.ok(); ++g) {
        if (!in.boolean()) continue;
        const auto members = in.varint_max(in.bits_left() / member_bits_min + 1);
        for (std::uint64_t m = 0; m < members && in.ok(); ++m) read_member(schema, layout, in, out);
    }
}

}  // namespace

bool read_correction(const Schema& schema, const PredictedLayout& layout, InputNumber newest,
                     std::span<const std::byte> message, Correction& out) {
    BitReader in(message);
    out.members.clear();
    out.data.clear();
    const auto low = in.u16();
    const auto back = static_cast<std::uint16_t>(static_cast<std::uint16_t>(newest) - low);
    out.tick = back < newest ? newest - back : 0;
    read_groups(schema, layout, in, out);
    PURVIEW_ASSERT(out.tick <= newest);
    if (out.tick != 0 && in.exhausted()) return true;
    out.members.clear();
    return false;
}

}  // namespace purview
