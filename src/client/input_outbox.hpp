// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Inputs of a client that the server has not acknowledged as consumed. Every packet repeats them,
// oldest first, so that a lost packet loses none.
#pragma once

#include <array>

#include "protocol/input_codec.hpp"
#include "purview/limits.hpp"

namespace purview {

class InputOutbox {
  public:
    /// Adds an input. Returns null if too many inputs are pending. Ticks must ascend without gaps.
    InputFrame* add(InputNumber tick) noexcept;
    /// Returns null if the input is acknowledged or does not exist yet.
    InputFrame* find(InputNumber tick) noexcept;
    bool has_room() const noexcept { return newest_ - consumed_ < frames_max; }
    void acknowledge(std::uint16_t consumed_low) noexcept;
    InputNumber consumed() const noexcept { return consumed_; }
    InputNumber newest() const noexcept { return newest_; }

    /// Chooses the inputs that the next packet repeats, at most `bits_max` bits, and returns their
    /// bits.
    std::uint64_t choose(const Schema& schema, bool has_digests, std::uint64_t bits_max) noexcept;
    /// Writes the chosen inputs.
    void write(const Schema& schema, bool has_digests, std::uint8_t corrections,
               BitWriter& out) const noexcept;

  private:
    static constexpr std::uint32_t frames_max = 64;

    std::array<InputFrame, frames_max> frames_;
    std::array<const InputFrame*, limits::inputs_repeated> chosen_{};
    std::size_t chosen_count_ = 0;
    InputNumber consumed_ = 0;
    InputNumber newest_ = 0;
};

}  // namespace purview
