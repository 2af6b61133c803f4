// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Commands of one client on their way: some of the newest command ticks in every packet, each with
// one command for every group in which the client owns something (PROTOCOL.md, "Inputs").
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "protocol/local_id.hpp"
#include "purview/group_input.hpp"

namespace purview {

struct InputPart {
    LocalId ghost = no_local_id;
    InputId input = InputId::none;
    std::uint32_t words_at = 0;        ///< in InputFrame::words
    EntityId entity = EntityId::none;  ///< server: resolved on arrival
};

struct InputGroup {
    LocalId root = no_local_id;
    std::uint32_t parts_at = 0;
    std::uint32_t parts = 0;
    std::uint16_t digest = 0;          ///< of the predicted state after this command
    EntityId entity = EntityId::none;  ///< server: resolved on arrival
};

/// All that a client commands in one tick.
struct InputFrame {
    InputNumber tick = 0;
    double view_tick = 0;
    std::uint32_t view_low = 0;    ///< as read: low bits of its sixteenths
    std::uint8_t corrections = 0;  ///< that the client had taken when it sent this
    bool has_digests = false;
    bool is_too_large = false;  ///< well formed, but above limits::command_bytes
    std::vector<InputGroup> groups;
    std::vector<InputPart> parts;
    std::vector<std::uint32_t> words;

    void clear() noexcept;
    /// Says the same to the same groups.
    bool says_same(const InputFrame& other) const noexcept;
};

struct InputPacket {
    std::uint16_t newest = 0;  ///< low bits of the last frame's tick
    std::uint8_t corrections = 0;
    bool has_digests = false;
    std::size_t count = 0;
    std::vector<InputFrame> frames;  ///< [count], oldest first; those behind are spare
};

/// Bits of a frame at most; `before`: the frame written before it, or null.
std::uint64_t frame_bits(const Schema& schema, const InputFrame& frame, const InputFrame* before,
                         bool has_digests) noexcept;
/// Without the groups and digests of the frame: what counts against limits::command_bytes.
std::uint64_t command_bits(const Schema& schema, const InputFrame& frame) noexcept;

inline constexpr std::uint64_t input_header_bits_max = 1 + 16 + 5 + 1 + 8;
/// Sixteenths of a tick.
inline constexpr unsigned view_bits = 20;
/// `frames`: oldest first, ticks without gaps, at least one.
void write_inputs(const Schema& schema, std::span<const InputFrame* const> frames, bool has_digests,
                  std::uint8_t corrections, BitWriter& out) noexcept;
/// Behind the one bit. False: malformed.
bool read_inputs(const Schema& schema, BitReader& in, InputPacket& packet);

}  // namespace purview
