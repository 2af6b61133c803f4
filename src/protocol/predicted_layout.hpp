// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The predicted components of a schema, and what both sides do with them after every step: cut them
// to what the wire can say, so that both go on from the same values, and digest them, so that they
// can be compared in 16 bits (PROTOCOL.md, "Inputs").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "purview/schema.hpp"

namespace purview {

struct PredictedPart {
    ComponentId component = ComponentId::none;
    std::uint8_t rank = 0;     ///< among all predicted components
    std::uint32_t offset = 0;  ///< in the bytes of a member, aligned
    std::uint32_t words = 0;
    bool is_position = false;
    bool is_turn = false;  ///< has the field that says how its kind is turned
    const ComponentDef* def = nullptr;

    /// As seen from the parent, where that is so of the place.
    bool is_pose() const noexcept { return is_position || is_turn; }
};

class PredictedLayout {
  public:
    /// Valid while the schema is.
    explicit PredictedLayout(const Schema& schema);

    /// Of a kind, in schema order.
    std::span<const PredictedPart> parts(KindId kind) const noexcept {
        PURVIEW_ASSERT(index_of(kind) < parts_.size());
        return parts_[index_of(kind)];
    }
    std::uint32_t bytes(KindId kind) const noexcept { return bytes_[index_of(kind)]; }
    std::uint32_t words(KindId kind) const noexcept { return words_[index_of(kind)]; }
    /// Predicted components of the schema.
    std::size_t stride() const noexcept { return stride_; }
    /// Inputs of a kind, in the order in which they are processed.
    std::span<const InputId> inputs(KindId kind) const noexcept { return inputs_[index_of(kind)]; }
    /// Of the kind that takes most inputs.
    std::size_t input_slots() const noexcept { return input_slots_; }
    /// By component; 255: not predicted.
    std::span<const std::uint8_t> rank() const noexcept { return rank_; }

    static constexpr std::uint32_t align_bytes = 16;

  private:
    std::vector<std::vector<PredictedPart>> parts_;  ///< by kind
    std::vector<std::uint32_t> bytes_;
    std::vector<std::uint32_t> words_;
    std::vector<std::uint8_t> rank_;
    std::vector<std::vector<InputId>> inputs_;  ///< by kind
    std::size_t input_slots_ = 0;
    std::size_t stride_ = 0;
};

/// What its fields say on the wire: words[part.words]. `in_frame`: a place is as seen from the
/// parent, and told so.
void words_of_part(const PredictedPart& part, const std::byte* data, bool in_frame,
                   std::uint32_t* words) noexcept;
/// And back: all of the struct; what no field carries is zero.
void part_of_words(const PredictedPart& part, const std::uint32_t* words, bool in_frame,
                   std::byte* data) noexcept;
/// Cuts the struct to what its fields say on the wire, and adds their words to a digest.
std::uint64_t settle_part(const PredictedPart& part, bool in_frame, std::byte* data,
                          std::uint64_t digest) noexcept;
/// Of a member, before its parts.
std::uint64_t settle_kind(KindId kind, std::uint64_t digest) noexcept;

}  // namespace purview
