// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "link/packet_link.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/mutate.hpp"

namespace purview {

namespace {

/// Returns the full number nearest to `expected` with these low 16 bits, or 0 if none is above 0.
std::uint32_t complete(std::uint32_t expected, std::uint16_t low) noexcept {
    const auto distance = static_cast<std::int16_t>(low - static_cast<std::uint16_t>(expected));
    const std::int64_t full = std::int64_t{expected} + distance;
    return full > 0 ? static_cast<std::uint32_t>(full) : 0;
}

}  // namespace

std::uint32_t PacketLink::write_header(BitWriter& out) {
    if (reported_by_.empty()) reported_by_.resize(under_way_max, 0);
    const std::uint32_t sequence = next_++;
    out.bits(sequence & 0xffffU, sequence_bits);
    out.boolean(newest_ != 0);
    if (newest_ != 0) {
        const std::uint32_t count = status_count();
        out.bits(newest_ & 0xffffU, sequence_bits);
        out.varint(count);
        for (std::uint32_t i = 1; i <= count; ++i) out.boolean(was_accepted(newest_ - i));
    }
    reported_ = newest_;
    reported_by_[sequence % under_way_max] = newest_;
    return sequence;
}

void PacketLink::note_accepted(std::uint32_t sequence) noexcept {
    const std::uint32_t skipped = std::min(sequence - newest_ - 1, under_way_max);
    for (std::uint32_t s = sequence - skipped; s < sequence; ++s) {
        history_[(s / 64) % history_words] &= ~(std::uint64_t{1} << (s % 64));
    }
    history_[(sequence / 64) % history_words] |= std::uint64_t{1} << (sequence % 64);
    newest_ = sequence;
}

std::uint32_t PacketLink::number_of(std::span<const std::byte> header) const noexcept {
    constexpr std::size_t bytes = sequence_bits / 8;
    if (header.size() < bytes) return 0;
    return complete(newest_ + 1, static_cast<std::uint16_t>(load_remaining(header.first(bytes))));
}

PacketLink::Verdict PacketLink::read_header(BitReader& in) {
    header_.sequence = complete(newest_ + 1, static_cast<std::uint16_t>(in.bits(sequence_bits)));
    header_.newest = 0;
    if (in.boolean()) {
        header_.newest =
            complete(resolved_ + 1, static_cast<std::uint16_t>(in.bits(sequence_bits)));
        const auto count = static_cast<std::uint32_t>(in.varint_max(under_way_max));
        for (std::uint32_t first = 0; first < count && in.ok(); first += 64)
            header_.status[first / 64] = in.bits(std::min(count - first, 64U));
        // Acknowledges an unsent packet or leaves a gap: only a malicious peer writes that.
        if (!PURVIEW_GUARD(acknowledgement, header_.newest < next_) || header_.newest == 0)
            in.fail();
        if (header_.newest > resolved_ && header_.newest - count - 1 > resolved_) in.fail();
    }
    if (!in.ok()) return Verdict::malformed;
    if (!PURVIEW_GUARD(replay_window, header_.sequence > newest_)) return Verdict::late;
    // Our next header reports the status of every number since the last acknowledgement that the
    // other side is known to have received. That must not be more packets than it can have in
    // flight.
    const std::uint32_t confirmed =
        header_.newest > resolved_
            ? std::max(confirmed_, reported_by_[header_.newest % under_way_max])
            : confirmed_;
    if (!PURVIEW_GUARD(packets_ahead, header_.sequence - confirmed <= under_way_max))
        return Verdict::malformed;
    return Verdict::accepted;
}

void PacketLink::accept(std::vector<DeliveryNotice>& notices) {
    note_accepted(header_.sequence);
    for (std::uint32_t s = resolved_ + 1; s <= header_.newest; ++s) {
        const std::uint32_t back = header_.newest - s;  // 0: the newest itself
        const bool delivered =
            back == 0 || ((header_.status[(back - 1) / 64] >> ((back - 1) % 64)) & 1U) != 0;
        notices.push_back({s, delivered});
        if (delivered) confirmed_ = std::max(confirmed_, reported_by_[s % under_way_max]);
    }
    resolved_ = std::max(resolved_, header_.newest);
}

}  // namespace purview
