// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/input_outbox.hpp"

#include <algorithm>

namespace purview {

InputFrame* InputOutbox::add(InputNumber tick) noexcept {
    PURVIEW_ASSERT(tick == newest_ + 1);
    if (!has_room()) return nullptr;
    newest_ = tick;
    InputFrame& frame = frames_[tick % frames_max];
    frame.clear();
    frame.tick = tick;
    PURVIEW_ASSERT(newest_ - consumed_ <= frames_max);
    return &frame;
}

InputFrame* InputOutbox::find(InputNumber tick) noexcept {
    if (tick <= consumed_ || tick > newest_) return nullptr;
    PURVIEW_ASSERT(frames_[tick % frames_max].tick == tick);
    return &frames_[tick % frames_max];
}

void InputOutbox::acknowledge(std::uint16_t consumed_low) noexcept {
    const auto more = static_cast<std::int16_t>(
        static_cast<std::uint16_t>(consumed_low - static_cast<std::uint16_t>(consumed_)));
    if (more > 0) consumed_ = std::min(consumed_ + static_cast<std::uint32_t>(more), newest_);
    PURVIEW_ASSERT(consumed_ <= newest_);
}

std::uint64_t InputOutbox::choose(const Schema& schema, bool has_digests,
                                  std::uint64_t bits_max) noexcept {
    chosen_count_ = 0;
    std::uint64_t bits = input_header_bits_max;
    const InputFrame* before = nullptr;
    for (InputNumber tick = consumed_ + 1; tick <= newest_ && chosen_count_ < chosen_.size();
         ++tick) {
        const InputFrame& frame = frames_[tick % frames_max];
        PURVIEW_ASSERT(frame.tick == tick);
        const std::uint64_t more = bits + frame_bits(schema, frame, before, has_digests);
        if (more > bits_max) break;
        bits = more;
        chosen_[chosen_count_++] = before = &frame;
    }
    PURVIEW_ASSERT(chosen_count_ == 0 || bits <= bits_max);
    return chosen_count_ == 0 ? 0 : bits;
}

void InputOutbox::write(const Schema& schema, bool has_digests, std::uint8_t corrections,
                        BitWriter& out) const noexcept {
    if (chosen_count_ == 0) return;
    PURVIEW_ASSERT(chosen_[chosen_count_ - 1]->tick - chosen_[0]->tick + 1 == chosen_count_);
    write_inputs(schema, std::span(chosen_).first(chosen_count_), has_digests, corrections, out);
}

}  // namespace purview
