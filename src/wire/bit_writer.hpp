// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Bits into bytes: least significant bit first, across byte borders, nothing aligned unless asked.
// The writer never writes past its end: the first value that does not fit makes it full for good
// (ok() is false), which the caller checks once, at the end. Values that do not fit their width are
// a caller's mistake.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "purview/status.hpp"

namespace purview {

class BitWriter {
  public:
    explicit BitWriter(std::span<std::byte> out) noexcept : out_(out) {}

    /// False once something did not fit.
    bool ok() const noexcept { return ok_; }
    std::size_t bits_written() const noexcept { return bits_; }
    std::size_t bits_left() const noexcept { return out_.size() * 8 - bits_; }
    std::size_t bytes_written() const noexcept { return (bits_ + 7) / 8; }

    /// The low `count` bits of value; 0 <= count <= 64.
    void bits(std::uint64_t value, unsigned count) noexcept {
        PURVIEW_ASSERT(count <= 64);
        PURVIEW_ASSERT(count == 64 || value >> count == 0);
        if (!ok_ || count > bits_left()) {
            ok_ = false;
            return;
        }
        while (count > 0) {
            const std::size_t byte = bits_ / 8;
            const unsigned offset = bits_ % 8;
            const unsigned take = count < 8 - offset ? count : 8 - offset;
            const auto part = static_cast<unsigned>(value & ((1U << take) - 1)) << offset;
            if (offset == 0) out_[byte] = std::byte{0};
            out_[byte] |= static_cast<std::byte>(part);
            value >>= take;
            bits_ += take;
            count -= take;
        }
    }
    void boolean(bool value) noexcept { bits(value ? 1 : 0, 1); }
    void u8(std::uint8_t value) noexcept { bits(value, 8); }
    void u16(std::uint16_t value) noexcept { bits(value, 16); }
    void u32(std::uint32_t value) noexcept { bits(value, 32); }
    void u64(std::uint64_t value) noexcept { bits(value, 64); }

    /// Groups of three bits, each followed by "more": 0..7 cost 4 bits, 0..63 cost 8.
    void varint(std::uint64_t value) noexcept {
        do {
            bits(value & 7, 3);
            value >>= 3;
            boolean(value != 0);
        } while (value != 0);
    }
    /// Golomb-Rice: quotient in unary (ones, closed by a zero), then `k` low bits.
    void rice(std::uint64_t value, unsigned k) noexcept {
        for (std::uint64_t quotient = value >> k; quotient > 0; --quotient) boolean(true);
        boolean(false);
        bits(value & ((std::uint64_t{1} << k) - 1), k);
    }
    void align() noexcept {
        if (bits_ % 8 != 0) bits(0, 8 - static_cast<unsigned>(bits_ % 8));
    }
    /// Whole bytes; aligns first.
    void bytes(std::span<const std::byte> data) noexcept {
        align();
        if (!ok_ || data.size() * 8 > bits_left()) {
            ok_ = false;
            return;
        }
        if (!data.empty()) std::memcpy(out_.data() + bits_ / 8, data.data(), data.size());
        bits_ += data.size() * 8;
    }
    /// `count` bits that another writer wrote, from the start of `data`.
    void copy_bits(std::span<const std::byte> data, std::size_t count) noexcept {
        PURVIEW_ASSERT(count <= data.size() * 8);
        std::size_t byte = 0;
        for (; count >= 64; count -= 64, byte += 8) {
            std::uint64_t word = 0;
            for (unsigned i = 0; i < 8; ++i) {
                word |= std::to_integer<std::uint64_t>(data[byte + i]) << (8 * i);
            }
            bits(word, 64);
        }
        for (; count > 0; ++byte) {
            const auto take = static_cast<unsigned>(count < 8 ? count : 8);
            bits(std::to_integer<std::uint64_t>(data[byte]) & ((1U << take) - 1), take);
            count -= take;
        }
    }
    std::span<const std::byte> written() const noexcept { return out_.first(bytes_written()); }

    static constexpr unsigned varint_bits(std::uint64_t value) noexcept {
        unsigned count = 4;
        while ((value >>= 3) != 0) count += 4;
        return count;
    }

  private:
    std::span<std::byte> out_;
    std::size_t bits_ = 0;
    bool ok_ = true;
};

/// Bits needed for values 0..max.
constexpr unsigned bits_for(std::uint64_t max) noexcept {
    return static_cast<unsigned>(std::bit_width(max));
}

}  // namespace purview
