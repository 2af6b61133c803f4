// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Buffered inputs of one client. One is consumed per tick. A tick without an input adds to a
// bounded credit. A late input is consumed in addition to that of its tick and uses one credit. So
// the server never consumes more inputs of a client than it had ticks, however fast the client's
// clock runs.
#pragma once

#include <array>
#include <cstdint>

#include "protocol/input_codec.hpp"
#include "purview/limits.hpp"
#include "server/server_counters.hpp"

namespace purview {

class InputQueue {
  public:
    /// Buffers the frame and swaps its contents with spare storage. Returns capacity if the frame
    /// is too far ahead, duplicate if it is buffered already or its tick is over, or too_large. On
    /// failure only a counter changes.
    Status push(InputFrame& frame, const InputSettings& settings, InputCounters& counters);

    /// True if the tick is neither buffered nor over, so that push may accept it.
    bool is_new(InputNumber tick) const noexcept {
        const auto ahead = static_cast<std::int32_t>(tick - consumed_);
        return ahead > 0 && (static_cast<std::uint32_t>(ahead) > slots_.size() ||
                             slots_[tick % slots_.size()].tick != tick);
    }

    /// Call at the beginning of a tick, before take.
    void begin_tick() noexcept { taken_ = 0; }
    /// The next input of this tick, or null. Valid until the next push.
    InputFrame* take(const InputSettings& settings, InputCounters& counters) noexcept;

    InputNumber consumed() const noexcept { return consumed_; }
    /// The newest number that was ever pushed.
    InputNumber newest() const noexcept { return newest_; }
    std::uint32_t waiting() const noexcept { return waiting_; }
    /// The client is active, but the last tick found no buffered input.
    bool is_starved() const noexcept { return is_starved_; }
    bool is_active() const noexcept { return newest_ != 0; }
    std::uint32_t credit() const noexcept { return credit_; }

  private:
    /// After this many ticks without an input, the client counts as inactive.
    static constexpr std::uint32_t idle_ticks_max = 64;

    InputFrame& slot(InputNumber tick) noexcept { return slots_[tick % slots_.size()]; }

    std::array<InputFrame, limits::inputs_buffered> slots_;  ///< tick 0: free
    InputNumber consumed_ = 0;
    InputNumber newest_ = 0;
    std::uint32_t waiting_ = 0;
    std::uint32_t credit_ = 0;
    std::uint32_t taken_ = 0;  ///< in this tick
    std::uint32_t idle_ticks_ = 0;
    bool is_starved_ = false;
};

}  // namespace purview
