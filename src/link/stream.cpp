// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "link/stream.hpp"

#include <algorithm>
#include <cstring>

#include "core/mutate.hpp"

namespace purview {

namespace {

constexpr std::size_t length_bytes = 2;
constexpr unsigned fragment_size_bits = 10;
/// More bit, offset, size, and the padding before whole bytes.
constexpr std::uint64_t fragment_overhead_bits = 1 + 32 + fragment_size_bits + 7;
/// Minimum size of a part of a fragment that is split again. Less is not worth a header.
constexpr std::uint64_t piece_bytes_min = 16;
/// Maximum number of separate ranges that have arrived. A sender causes far fewer: pieces of 16
/// bytes or the end of the data, once for each packet in flight.
constexpr std::size_t ranges_max = 4096;

}  // namespace

// -- sender -------------------------------------------------------------------------------------

Status StreamSender::send(std::span<const std::byte> head, std::span<const std::byte> rest) {
    if (rest.size() > message_bytes_max) return Status::too_large;
    const std::size_t size = head.size() + rest.size();
    if (size > message_bytes_max) return Status::too_large;
    if (size > room() || buffer_.size() + length_bytes > buffer_bytes_max) return Status::capacity;
    buffer_.push_back(static_cast<std::byte>(size & 0xff));
    buffer_.push_back(static_cast<std::byte>(size >> 8));
    buffer_.insert(buffer_.end(), head.begin(), head.end());
    buffer_.insert(buffer_.end(), rest.begin(), rest.end());
    return Status::ok;
}

Status StreamSender::send_before(std::uint32_t end_then, std::span<const std::byte> message) {
    PURVIEW_ASSERT(end_then - begin_ >= cut_ - begin_ && end_then - begin_ <= buffer_.size());
    const std::size_t before = buffer_.size();
    if (const Status status = send(message); status != Status::ok) return status;
    const auto at = buffer_.begin() + static_cast<std::ptrdiff_t>(end_then - begin_);
    std::rotate(at, buffer_.begin() + static_cast<std::ptrdiff_t>(before), buffer_.end());
    return Status::ok;
}

void StreamSender::take_back(std::uint32_t end_then) noexcept {
    PURVIEW_ASSERT(end_then - begin_ >= cut_ - begin_ && end_then - begin_ <= buffer_.size());
    buffer_.resize(end_then - begin_);
}

std::size_t StreamSender::room() const noexcept {
    const std::size_t used = std::min(buffer_bytes_max, buffer_.size() + length_bytes);
    return buffer_bytes_max - used;
}

bool StreamSender::has_data_to_send() const noexcept {
    if (cut_ != end() && cut_ - begin_ < stream_window_bytes) return true;
    return std::any_of(fragments_.begin(), fragments_.end(),
                       [](const Fragment& f) { return f.state == State::waiting; });
}

bool StreamSender::write_one(Fragment& fragment, std::uint32_t sequence, std::uint64_t& bits_left,
                             BitWriter& out) {
    const std::uint64_t bits = fragment_overhead_bits + std::uint64_t{fragment.size} * 8;
    if (bits > bits_left) return false;
    bits_left -= bits;
    out.boolean(true);
    out.u32(fragment.offset);
    out.bits(fragment.size, fragment_size_bits);
    out.bytes(std::span<const std::byte>(buffer_).subspan(fragment.offset - begin_, fragment.size));
    fragment.state = State::under_way;
    fragment.sequence = sequence;
    return true;
}

bool StreamSender::write(std::uint32_t sequence, std::uint64_t bits_left, BitWriter& out) {
    bool wrote = false;
    for (std::size_t i = 0; i < fragments_.size(); ++i) {
        if (fragments_[i].state != State::waiting) continue;
        // The fragment was cut for a packet with more room: sends a part now and the rest later.
        const std::uint64_t fits =
            bits_left > fragment_overhead_bits ? (bits_left - fragment_overhead_bits) / 8 : 0;
        if (fits < fragments_[i].size) {
            if (fits < piece_bytes_min) return wrote;
            Fragment rest = fragments_[i];
            rest.offset += static_cast<std::uint32_t>(fits);
            rest.size = static_cast<std::uint16_t>(rest.size - fits);
            fragments_[i].size = static_cast<std::uint16_t>(fits);
            fragments_.insert(fragments_.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
        }
        if (!write_one(fragments_[i], sequence, bits_left, out)) return wrote;
        wrote = true;
    }
    const std::uint32_t end = begin_ + static_cast<std::uint32_t>(buffer_.size());
    while (cut_ != end && cut_ - begin_ < stream_window_bytes) {
        const std::uint64_t least = std::min<std::uint64_t>(end - cut_, piece_bytes_min);
        if (bits_left < fragment_overhead_bits + least * 8) return wrote;
        std::uint64_t size = std::min<std::uint64_t>(end - cut_, fragment_bytes_max);
        size = std::min(size, (bits_left - fragment_overhead_bits) / 8);
        size = std::min<std::uint64_t>(size, stream_window_bytes - (cut_ - begin_));
        Fragment fragment{cut_, static_cast<std::uint16_t>(size), State::waiting, 0};
        if (!write_one(fragment, sequence, bits_left, out)) return wrote;
        fragments_.push_back(fragment);
        cut_ += static_cast<std::uint32_t>(size);
        wrote = true;
    }
    return wrote;
}

void StreamSender::resolve(std::uint32_t sequence, bool delivered) {
    for (Fragment& fragment : fragments_) {
        if (fragment.state != State::under_way || fragment.sequence != sequence) continue;
        fragment.state = delivered ? State::arrived : State::waiting;
    }
    std::size_t done = 0;
    std::size_t bytes = 0;
    while (done < fragments_.size() && fragments_[done].state == State::arrived) {
        bytes += fragments_[done++].size;
    }
    if (done == 0) return;
    fragments_.erase(fragments_.begin(), fragments_.begin() + static_cast<std::ptrdiff_t>(done));
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(bytes));
    begin_ += static_cast<std::uint32_t>(bytes);
}

// -- receiver -----------------------------------------------------------------------------------

void StreamReceiver::drop_taken() {
    if (taken_ == 0) return;
    head_ += taken_;
    begin_ += static_cast<std::uint32_t>(taken_);
    taken_ = 0;
    arrived_[0].begin = begin_;  // messages come only from the first range
    if (arrived_[0].end == begin_) arrived_.erase(arrived_.begin());
}

void StreamReceiver::store(std::uint32_t offset, std::span<const std::byte> bytes) {
    const auto ahead = static_cast<std::int32_t>(offset - begin_);
    if (ahead < 0) return;  // already returned
    const std::size_t end = head_ + static_cast<std::size_t>(ahead) + bytes.size();
    if (window_.size() < end) window_.resize(end);
    std::memcpy(at(offset), bytes.data(), bytes.size());
    Range merged{offset, offset + static_cast<std::uint32_t>(bytes.size())};
    // Offsets wrap after 4 GiB, so they are compared by their distance from begin_.
    const auto from = [&](std::uint32_t o) { return o - begin_; };
    const auto first = std::partition_point(
        arrived_.begin(), arrived_.end(),
        [&](const Range& range) { return from(range.end) < from(merged.begin); });
    auto last = first;
    for (; last != arrived_.end() && from(last->begin) <= from(merged.end); ++last) {
        if (from(last->begin) < from(merged.begin)) merged.begin = last->begin;
        if (from(last->end) > from(merged.end)) merged.end = last->end;
    }
    if (first == last) {
        arrived_.insert(first, merged);
    } else {
        *first = merged;
        arrived_.erase(first + 1, last);
    }
}

bool StreamReceiver::read(BitReader& in) {
    fragments_.clear();
    drop_taken();
    window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
    while (in.boolean()) {
        const std::uint32_t offset = in.u32();
        const auto size = static_cast<std::size_t>(in.bits(fragment_size_bits));
        const auto bytes = in.bytes(size);
        // At most a message and a window ahead of what was returned, at most two messages behind.
        const auto ahead = static_cast<std::int32_t>(offset - begin_);
        const bool in_window =
            ahead >= -static_cast<std::int32_t>(2 * message_bytes_max) &&
            ahead + static_cast<std::int64_t>(size) <=
                static_cast<std::int64_t>(message_bytes_max + length_bytes + stream_window_bytes);
        if (size == 0 || size > fragment_bytes_max || !PURVIEW_GUARD(stream_window, in_window))
            in.fail();
        if (!in.ok()) return false;
        fragments_.push_back({offset, bytes});
        if (!PURVIEW_GUARD(stream_ranges, arrived_.size() + fragments_.size() <= ranges_max)) {
            in.fail();
            return false;
        }
    }
    return in.ok();
}

void StreamReceiver::accept() {
    for (const Fragment& fragment : fragments_) store(fragment.offset, fragment.bytes);
    fragments_.clear();
}

bool StreamReceiver::next_message(std::span<const std::byte>& message) {
    drop_taken();
    if (arrived_.empty() || arrived_[0].begin != begin_) return false;
    const std::size_t ready = arrived_[0].end - begin_;
    if (ready < length_bytes) return false;
    const std::size_t size = std::to_integer<std::size_t>(at(begin_)[0]) |
                             std::to_integer<std::size_t>(at(begin_)[1]) << 8;
    if (ready < size + length_bytes) return false;
    message = std::span<const std::byte>(at(begin_) + length_bytes, size);
    taken_ = size + length_bytes;
    return true;
}

}  // namespace purview
