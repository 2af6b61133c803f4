// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/motions.hpp"

namespace purview {

ClientMotions::Slot ClientMotions::take() {
    if (!free_.empty()) {
        const Slot slot = free_.back();
        free_.pop_back();
        PURVIEW_ASSERT(slot < slots_.size());
        slots_[slot].count = 0;
        return slot;
    }
    slots_.emplace_back();
    motions_.resize(slots_.size() * kept_max * stride_);
    return static_cast<Slot>(slots_.size() - 1);
}

void ClientMotions::release(Slot slot) {
    if (slot == no_slot) return;
    PURVIEW_ASSERT(slot < slots_.size() && free_.size() < slots_.size());
    free_.push_back(slot);
}

Motion* ClientMotions::push(Slot slot, Tick tick) {
    PURVIEW_ASSERT(slot < slots_.size());
    PURVIEW_ASSERT(motions_.size() == slots_.size() * kept_max * stride_);
    Kept& kept = slots_[slot];
    const std::size_t at = kept.count++ % kept_max;
    kept.ticks[at] = tick;
    return motions_.data() + (std::size_t{slot} * kept_max + at) * stride_;
}

const Motion* ClientMotions::find(Slot slot, Tick tick, Tick& of) const noexcept {
    if (slot >= slots_.size()) return nullptr;
    const Kept& kept = slots_[slot];
    for (std::uint32_t back = 1; back <= kept_max && back <= kept.count; ++back) {
        const std::size_t at = (kept.count - back) % kept_max;
        if (kept.ticks[at] > tick) continue;
        of = kept.ticks[at];
        return motions_.data() + (std::size_t{slot} * kept_max + at) * stride_;
    }
    return nullptr;
}

}  // namespace purview
