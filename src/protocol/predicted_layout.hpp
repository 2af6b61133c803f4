// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The predicted components of a schema, and their processing after every step. Server and client
// round values to the precision of the wire, so that they continue from the same values. Both
// compute a digest, so that they can compare states in 16 bits (PROTOCOL.md, "Inputs").
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
    bool is_turn = false;  ///< contains the orientation field of the kind
    const ComponentDef* def = nullptr;

    /// Returns whether the component is relative to the parent if the position is.
    bool is_pose() const noexcept { return is_position || is_turn; }
};

class PredictedLayout {
  public:
    /// The schema must outlive the layout.
    explicit PredictedLayout(const Schema& schema);

    /// Predicted components of a kind, in schema order.
    std::span<const PredictedPart> parts(KindId kind) const noexcept {
        PURVIEW_ASSERT(index_of(kind) < parts_.size());
        return parts_[index_of(kind)];
    }
    std::uint32_t bytes(KindId kind) const noexcept { return bytes_[index_of(kind)]; }
    std::uint32_t words(KindId kind) const noexcept { return words_[index_of(kind)]; }
    /// Number of predicted components of the schema.
    std::size_t stride() const noexcept { return stride_; }
    /// Inputs of a kind, in processing order.
    std::span<const InputId> inputs(KindId kind) const noexcept { return inputs_[index_of(kind)]; }
    /// Largest number of inputs of one kind.
    std::size_t input_slots() const noexcept { return input_slots_; }
    /// Rank by component; 255: not predicted.
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

/// Writes the wire values of the fields to words[part.words]. `in_frame`: a position is relative to
/// the parent, also on the wire.
void words_of_part(const PredictedPart& part, const std::byte* data, bool in_frame,
                   std::uint32_t* words) noexcept;
/// The inverse. Writes the whole struct; bytes without a field are zero.
void part_of_words(const PredictedPart& part, const std::uint32_t* words, bool in_frame,
                   std::byte* data) noexcept;
/// Rounds the struct to the precision of the wire and adds the words of its fields to a digest.
std::uint64_t settle_part(const PredictedPart& part, bool in_frame, std::byte* data,
                          std::uint64_t digest) noexcept;
/// Adds the kind of a member to a digest, before its components.
std::uint64_t settle_kind(KindId kind, std::uint64_t digest) noexcept;

}  // namespace purview
