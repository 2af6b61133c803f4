// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "protocol/input_codec.hpp"

#include <algorithm>
#include <cmath>

#include "protocol/rpc_args.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

constexpr unsigned count_bits = 5;
/// Width of the difference between a view tick and the one before. The largest value means that the
/// view tick follows in full.
constexpr unsigned view_step_bits = 6;
constexpr std::uint32_t view_step_whole = (1U << view_step_bits) - 1;
constexpr std::uint32_t view_mask = (1U << view_bits) - 1;
constexpr LocalId ghost_max = local_ids_max - 1;

unsigned input_bits(const Schema& schema) noexcept {
    PURVIEW_ASSERT(!schema.inputs().empty());
    return bits_for(schema.inputs().size() - 1);
}

bool read_groups(const Schema& schema, BitReader& in, InputFrame& frame) {
    const auto groups = in.varint_max(limits::input_groups);
    for (std::uint64_t g = 0; g < groups && in.ok(); ++g) {
        InputGroup group;
        group.root = static_cast<LocalId>(in.varint_max(ghost_max));
        group.parts_at = static_cast<std::uint32_t>(frame.parts.size());
        group.parts =
            static_cast<std::uint32_t>(in.varint_max(limits::input_members - frame.parts.size()));
        for (std::uint32_t p = 0; p < group.parts && in.ok(); ++p) {
            InputPart part;
            part.ghost = static_cast<LocalId>(in.varint_max(ghost_max));
            const auto input = static_cast<std::size_t>(in.bits(input_bits(schema)));
            if (input >= schema.inputs().size()) return false;
            part.input = id_at<InputId>(input);
            part.words_at = static_cast<std::uint32_t>(frame.words.size());
            const ComponentDef& def = schema.inputs()[input];
            frame.words.resize(frame.words.size() + word_count(def));
            read_words(def, in, frame.words.data() + part.words_at);
            frame.parts.push_back(part);
        }
        frame.groups.push_back(group);
    }
    return in.ok();
}

void write_groups(const Schema& schema, const InputFrame& frame, BitWriter& out) noexcept {
    out.varint(frame.groups.size());
    for (const InputGroup& group : frame.groups) {
        PURVIEW_ASSERT(group.parts_at + std::size_t{group.parts} <= frame.parts.size());
        out.varint(group.root);
        out.varint(group.parts);
        for (std::uint32_t p = 0; p < group.parts; ++p) {
            const InputPart& part = frame.parts[group.parts_at + p];
            PURVIEW_ASSERT(part.words_at + word_count(schema.inputs()[index_of(part.input)]) <=
                           frame.words.size());
            out.varint(part.ghost);
            out.bits(index_of(part.input), input_bits(schema));
            write_words(schema.inputs()[index_of(part.input)], frame.words.data() + part.words_at,
                        out);
        }
    }
}

std::uint32_t low_view(const InputFrame& frame) noexcept {
    const auto parts = static_cast<std::uint64_t>(std::max(0.0, frame.view_tick) * 16);
    return static_cast<std::uint32_t>(parts & view_mask);
}

void write_view(const InputFrame& frame, const InputFrame* before, BitWriter& out) noexcept {
    const std::uint32_t view = low_view(frame);
    const std::uint32_t step = before == nullptr ? 0 : (view - low_view(*before)) & view_mask;
    const bool is_whole = before == nullptr || step >= view_step_whole;
    if (before != nullptr) out.bits(std::min(step, view_step_whole), view_step_bits);
    if (is_whole) out.bits(view, view_bits);
}

std::uint32_t read_view(const InputFrame* before, BitReader& in) noexcept {
    const auto step =
        before == nullptr ? view_step_whole : static_cast<std::uint32_t>(in.bits(view_step_bits));
    if (step == view_step_whole) return static_cast<std::uint32_t>(in.bits(view_bits));
    return (before->view_low + step) & view_mask;
}

}  // namespace

void InputFrame::clear() noexcept {
    groups.clear();
    parts.clear();
    words.clear();
    is_too_large = false;
}

bool InputFrame::is_equal_input(const InputFrame& other) const noexcept {
    const auto same_key = [](const InputGroup& a, const InputGroup& b) {
        return a.root == b.root && a.parts == b.parts;
    };
    const auto same_part = [](const InputPart& a, const InputPart& b) {
        return a.ghost == b.ghost && a.input == b.input;
    };
    return std::equal(groups.begin(), groups.end(), other.groups.begin(), other.groups.end(),
                      same_key) &&
           std::equal(parts.begin(), parts.end(), other.parts.begin(), other.parts.end(),
                      same_part) &&
           words == other.words;
}

std::uint64_t command_bits(const Schema& schema, const InputFrame& frame) noexcept {
    std::uint64_t bits = BitWriter::varint_bits(frame.groups.size());
    for (const InputGroup& group : frame.groups)
        bits += BitWriter::varint_bits(group.root) + BitWriter::varint_bits(group.parts);
    for (const InputPart& part : frame.parts) {
        bits += BitWriter::varint_bits(part.ghost) + input_bits(schema) +
                words_bits(schema.inputs()[index_of(part.input)]);
    }
    return bits;
}

std::uint64_t frame_bits(const Schema& schema, const InputFrame& frame, const InputFrame* before,
                         bool has_digests) noexcept {
    const bool is_same = before != nullptr && frame.is_equal_input(*before);
    return view_step_bits + view_bits + 1 + (is_same ? 0 : command_bits(schema, frame)) +
           (has_digests ? 16 * frame.groups.size() : 0);
}

void write_inputs(const Schema& schema, std::span<const InputFrame* const> frames, bool has_digests,
                  std::uint8_t corrections, BitWriter& out) noexcept {
    PURVIEW_ASSERT(!frames.empty() && frames.size() <= limits::inputs_repeated);
    const InputFrame& newest = *frames.back();
    out.boolean(true);
    out.u16(static_cast<std::uint16_t>(newest.tick));
    out.bits(frames.size() - 1, count_bits);
    out.boolean(has_digests);
    if (has_digests) out.u8(corrections);
    const InputFrame* before = nullptr;
    for (const InputFrame* frame : frames) {
        const bool is_same = before != nullptr && frame->is_equal_input(*before);
        write_view(*frame, before, out);
        out.boolean(is_same);
        if (!is_same) write_groups(schema, *frame, out);
        for (const InputGroup& group : frame->groups) {
            if (has_digests) out.u16(group.digest);
        }
        before = frame;
    }
}

bool read_inputs(const Schema& schema, BitReader& in, InputPacket& packet) {
    packet.count = 0;
    if (schema.inputs().empty()) return false;
    packet.newest = in.u16();
    const auto count = static_cast<std::size_t>(in.bits(count_bits)) + 1;
    packet.has_digests = in.boolean();
    packet.corrections = packet.has_digests ? in.u8() : std::uint8_t{0};
    if (packet.frames.size() < count) packet.frames.resize(limits::inputs_repeated);
    for (std::size_t f = 0; f < count && in.ok(); ++f) {
        InputFrame& frame = packet.frames[f];
        frame.clear();
        frame.has_digests = packet.has_digests;
        frame.corrections = packet.corrections;
        frame.view_low = read_view(f == 0 ? nullptr : &packet.frames[f - 1], in);
        if (in.boolean()) {
            if (f == 0) return false;
            const InputFrame& before = packet.frames[f - 1];
            frame.groups = before.groups;
            frame.parts = before.parts;
            frame.words = before.words;
            frame.is_too_large = before.is_too_large;
        } else {
            const std::size_t first_bit = in.bits_read();
            if (!read_groups(schema, in, frame)) return false;
            frame.is_too_large = in.bits_read() - first_bit > limits::command_bytes * 8;
        }
        for (InputGroup& group : frame.groups) {
            if (packet.has_digests) group.digest = in.u16();
        }
    }
    packet.count = in.ok() ? count : 0;
    return in.ok();
}

}  // namespace purview
