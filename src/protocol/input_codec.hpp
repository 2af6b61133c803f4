// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Encoding of a client's inputs. Every packet has some of the newest input ticks, each with one
// input for every group in which the client owns an entity (PROTOCOL.md, "Inputs").
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "protocol/local_id.hpp"
#include "purview/group_input.hpp"
#include "purview/schema.hpp"

namespace purview {

/// Returns the index of the input among those of its kind, in processing order. Returns their
/// number if the kind does not take it.
inline std::size_t input_slot(const KindDef& kind, InputId input) noexcept {
    std::size_t slot = 0;
    while (slot < kind.inputs.size() && kind.inputs[slot] != input) ++slot;
    return slot;
}

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
    std::uint16_t digest = 0;          ///< of the predicted state after this input
    EntityId entity = EntityId::none;  ///< server: resolved on arrival
};

/// All inputs of a client for one tick.
struct InputFrame {
    InputNumber tick = 0;
    double view_tick = 0;
    std::uint32_t view_low = 0;  ///< as read: low bits of the view tick in sixteenths
    /// Number of corrections that the client had applied when it sent the frame.
    std::uint8_t corrections = 0;
    bool has_digests = false;
    bool is_too_large = false;  ///< well formed, but above limits::command_bytes
    std::vector<InputGroup> groups;
    std::vector<InputPart> parts;
    std::vector<std::uint32_t> words;

    void clear() noexcept;
    /// Returns whether both have the same inputs for the same groups.
    bool is_equal_input(const InputFrame& other) const noexcept;
};

struct InputPacket {
    std::uint16_t newest = 0;  ///< low bits of the last frame's tick
    std::uint8_t corrections = 0;
    bool has_digests = false;
    std::size_t count = 0;
    std::vector<InputFrame> frames;  ///< [count], oldest first; the others are spare
};

/// Returns the maximum size of a frame in bits. `before`: the frame written before it, or null.
std::uint64_t frame_bits(const Schema& schema, const InputFrame& frame, const InputFrame* before,
                         bool has_digests) noexcept;
/// Returns the bits of a frame that count against limits::command_bytes: without view tick and
/// digests.
std::uint64_t command_bits(const Schema& schema, const InputFrame& frame) noexcept;

inline constexpr std::uint64_t input_header_bits_max = 1 + 16 + 5 + 1 + 8;
/// Width of a view tick in sixteenths of a tick.
inline constexpr unsigned view_bits = 20;
/// `frames`: at least one, oldest first, with consecutive ticks.
void write_inputs(const Schema& schema, std::span<const InputFrame* const> frames, bool has_digests,
                  std::uint8_t corrections, BitWriter& out) noexcept;
/// Reads inputs after the leading one bit. Returns false if they are malformed.
bool read_inputs(const Schema& schema, BitReader& in, InputPacket& packet);

}  // namespace purview
