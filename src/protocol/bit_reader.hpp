// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The counterpart of BitWriter, for bytes from untrusted peers. It never reads past the end: after
// the first missing value ok() stays false and every value is zero. Callers check ok() before they
// act, never allocate by a number that was read, and refuse a bad packet as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/byte_order.hpp"

namespace purview {

class BitReader {
  public:
    explicit BitReader(std::span<const std::byte> data) noexcept : data_(data) {}

    bool ok() const noexcept { return ok_; }
    void fail() noexcept { ok_ = false; }
    std::size_t bits_read() const noexcept { return bits_; }
    std::size_t bits_left() const noexcept { return ok_ ? data_.size() * 8 - bits_ : 0; }

    std::uint64_t bits(unsigned count) noexcept {
        if (count > 64 || count > bits_left()) {
            ok_ = false;
            return 0;
        }
        const std::size_t byte = bits_ / 8;
        const unsigned offset = bits_ % 8;
        std::uint64_t value = 0;
        if (byte + word_bytes < data_.size()) {
            value = load_word(data_.data() + byte) >> offset;
            if (offset != 0) {
                value |= std::to_integer<std::uint64_t>(data_[byte + word_bytes]) << (64 - offset);
            }
        } else {  // the last bytes, one by one
            for (std::size_t i = byte; i * 8 < bits_ + count; ++i) {
                const std::uint64_t part = std::to_integer<std::uint64_t>(data_[i]);
                const std::size_t at = i * 8;
                value |= at < bits_ ? part >> offset : part << (at - bits_);
            }
        }
        bits_ += count;
        return count == 64 ? value : value & ((std::uint64_t{1} << count) - 1);
    }
    bool boolean() noexcept { return bits(1) != 0; }
    std::uint8_t u8() noexcept { return static_cast<std::uint8_t>(bits(8)); }
    std::uint16_t u16() noexcept { return static_cast<std::uint16_t>(bits(16)); }
    std::uint32_t u32() noexcept { return static_cast<std::uint32_t>(bits(32)); }
    std::uint64_t u64() noexcept { return bits(64); }

    /// See BitWriter::varint. Fails if the value has more than 64 bits or a longer form than
    /// needed.
    std::uint64_t varint() noexcept {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 3) {
            const std::uint64_t code = bits(4);
            const std::uint64_t group = code & 7;
            if (shift == 63 && group > 1) break;
            value |= group << shift;
            if (code < 8) {
                if (group == 0 && shift != 0) break;
                return ok_ ? value : 0;
            }
        }
        ok_ = false;
        return 0;
    }
    /// Reads a varint. Fails if it exceeds max.
    std::uint64_t varint_max(std::uint64_t max) noexcept {
        const std::uint64_t value = varint();
        if (value > max) {
            ok_ = false;
            return 0;
        }
        return value;
    }
    /// See BitWriter::rice. Fails if the result exceeds max.
    std::uint64_t rice(unsigned k, std::uint64_t max) noexcept {
        std::uint64_t quotient = 0;
        while (boolean()) {
            if (++quotient > max >> k) {
                ok_ = false;
                return 0;
            }
        }
        const std::uint64_t value = (quotient << k) | bits(k);
        if (!ok_ || value > max) {
            ok_ = false;
            return 0;
        }
        return value;
    }
    /// Skips to the next byte border. The skipped bits must be zero.
    void align() noexcept {
        const unsigned used = bits_ % 8;
        if (used != 0 && bits(8 - used) != 0) ok_ = false;
    }
    /// Returns a view of the next `count` whole bytes, or an empty view if they are missing. Aligns
    /// first.
    std::span<const std::byte> bytes(std::size_t count) noexcept {
        align();
        if (count > bits_left() / 8) {
            ok_ = false;
            return {};
        }
        const auto view = data_.subspan(bits_ / 8, count);
        bits_ += count * 8;
        return view;
    }
    /// Returns whether nothing is left but the zero padding of the last byte.
    bool exhausted() noexcept {
        if (!ok_ || bits_left() >= 8) return false;
        align();
        return ok_;
    }

  private:
    std::span<const std::byte> data_;
    std::size_t bits_ = 0;
    bool ok_ = true;
};

}  // namespace purview
