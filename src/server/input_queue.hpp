// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The commands of one client that wait for their tick. One is consumed in a tick; a tick without
// one earns a bounded credit, with which commands that came late are made up for. So over any time
// a client is given no more commands than the server had ticks: a fast clock gains nothing.
#pragma once

#include <array>
#include <cstdint>

#include "protocol/input_codec.hpp"
#include "purview/limits.hpp"
#include "server/server_counters.hpp"

namespace purview {

class InputQueue {
  public:
    /// Takes the contents of `frame` in exchange for spare storage. capacity: too far ahead.
    /// duplicate: it waits already, or its tick is over. too_large. Nothing else is changed then;
    /// all are counted.
    Status push(InputFrame& frame, const InputSettings& settings, InputCounters& counters);

    /// Neither waiting nor over: push may take it.
    bool is_new(InputNumber tick) const noexcept {
        const auto ahead = static_cast<std::int32_t>(tick - consumed_);
        return ahead > 0 && (static_cast<std::uint32_t>(ahead) > slots_.size() ||
                             slots_[tick % slots_.size()].tick != tick);
    }

    /// At the beginning of a tick, before take.
    void begin_tick() noexcept { taken_ = 0; }
    /// The next command of this tick, or null. Valid until the next push.
    InputFrame* take(const InputSettings& settings, InputCounters& counters) noexcept;

    InputNumber consumed() const noexcept { return consumed_; }
    /// The newest that was ever pushed.
    InputNumber newest() const noexcept { return newest_; }
    std::uint32_t waiting() const noexcept { return waiting_; }
    /// The last tick had none to consume, though the client gives commands.
    bool is_starved() const noexcept { return is_starved_; }
    bool is_active() const noexcept { return newest_ != 0; }
    std::uint32_t credit() const noexcept { return credit_; }

  private:
    /// After so many ticks without any, the client has stopped giving commands.
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
