// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/input_queue.hpp"

#include <algorithm>
#include <utility>

#include "core/mutate.hpp"

namespace purview {

Status InputQueue::push(InputFrame& frame, const InputSettings& settings, InputCounters& counters) {
    const auto ahead = static_cast<std::int32_t>(frame.tick - consumed_);
    if (!is_new(frame.tick)) {
        ++counters.repeated;
        return Status::duplicate;
    }
    if (!PURVIEW_GUARD(command_lead, static_cast<std::uint32_t>(ahead) <= settings.lead_max)) {
        ++counters.too_far_ahead;
        return Status::capacity;
    }
    if (!PURVIEW_GUARD(command_size, !frame.is_too_large)) {
        ++counters.too_large;
        return Status::too_large;
    }
    PURVIEW_ASSERT(slot(frame.tick).tick == 0);  // the window is no longer than the ring
    std::swap(slot(frame.tick), frame);
    newest_ = std::max(newest_, consumed_ + static_cast<std::uint32_t>(ahead));
    ++waiting_;
    PURVIEW_ASSERT(waiting_ <= slots_.size());
    return Status::ok;
}

InputFrame* InputQueue::take(const InputSettings& settings, InputCounters& counters) noexcept {
    const bool is_first = taken_ == 0;
    if (waiting_ == 0) {
        if (!is_first || !is_active()) return nullptr;
        ++taken_;  // starvation is counted once per tick
        is_starved_ = idle_ticks_ < idle_ticks_max;
        if (!is_starved_) return nullptr;
        ++idle_ticks_;
        ++counters.starved;
        credit_ = std::min(credit_ + 1, settings.catch_up_max);
        return nullptr;
    }
    if (!is_first) {
        if (is_starved_ || waiting_ <= settings.buffer_target) return nullptr;
        if (!PURVIEW_GUARD(command_credit, credit_ > 0)) return nullptr;
        --credit_;
        ++counters.caught_up;
    }
    is_starved_ = false;
    idle_ticks_ = 0;
    ++taken_;
    // Packets are processed in order, and each repeats all unacknowledged inputs. So an input that
    // is missing now never arrives.
    InputNumber next = consumed_ + 1;
    while (slot(next).tick != next && next - consumed_ < slots_.size()) {
        ++next;
        ++counters.skipped;
    }
    InputFrame& found = slot(next);
    PURVIEW_ASSERT(found.tick == next);  // an input is buffered, so the loop finds one
    found.tick = 0;
    consumed_ = next;
    --waiting_;
    ++counters.consumed;
    return &found;
}

}  // namespace purview
