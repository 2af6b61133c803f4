// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/command_outbox.hpp"

#include "link/handshake.hpp"
#include "purview/limits.hpp"

namespace purview {

Status CommandOutbox::add(std::span<const std::byte> data) {
    if (data.size() > limits::command_bytes) return Status::too_large;
    if (commands_.size() >= waiting_max) return Status::capacity;
    commands_.push_back({{data.begin(), data.end()}, repeats});
    ++newest_;
    return Status::ok;
}

CommandOutbox::Chosen CommandOutbox::choose(std::uint64_t bits_max) const noexcept {
    Chosen chosen{0, 32};
    while (chosen.count < commands_.size() && chosen.count < commands_per_packet_max) {
        const std::uint64_t bits = (commands_[chosen.count].data.size() + 2) * 8;
        if (chosen.bits + bits > bits_max) break;
        chosen.bits += bits;
        ++chosen.count;
    }
    return chosen;
}

void CommandOutbox::write(std::size_t count, BitWriter& out) {
    PURVIEW_ASSERT(count <= commands_.size() && commands_.size() <= newest_);
    out.varint(count);
    if (count == 0) return;
    const auto last = newest_ - static_cast<std::uint32_t>(commands_.size() - count);
    out.u16(static_cast<std::uint16_t>(last));
    for (std::size_t i = 0; i < count; ++i) {
        out.u8(static_cast<std::uint8_t>(commands_[i].data.size()));
        out.bytes(commands_[i].data);
        PURVIEW_ASSERT(commands_[i].packets_left > 0);
        --commands_[i].packets_left;
    }
    while (!commands_.empty() && commands_.front().packets_left == 0) commands_.pop_front();
}

}  // namespace purview
