// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Writes bits into bytes: least significant bit first, across byte borders, aligned only on
// request. It never writes past the end: after the first value that does not fit, ok() stays false.
// The caller checks that once, at the end. A value that does not fit its width is an error of the
// caller. It stores whole words, so buffer bytes after written() are arbitrary.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/byte_order.hpp"
#include "purview/status.hpp"

namespace purview {

class BitWriter {
  public:
    explicit BitWriter(std::span<std::byte> out) noexcept
        : out_(out), words_end_(out.size() > word_bytes ? out.size() - word_bytes : 0) {}

    /// Returns false after something did not fit.
    bool ok() const noexcept { return ok_; }
    std::size_t bits_written() const noexcept { return bits_; }
    std::size_t bits_left() const noexcept { return out_.size() * 8 - bits_; }
    std::size_t bytes_written() const noexcept { return (bits_ + 7) / 8; }

    /// Writes the low `count` bits of value; 0 <= count <= 64.
    void bits(std::uint64_t value, unsigned count) noexcept {
        PURVIEW_ASSERT(count <= 64);
        PURVIEW_ASSERT(count == 64 || value >> count == 0);
        const std::size_t byte = bits_ / 8;
        if (byte >= words_end_) {  // by value, so that the writer can stay in registers
            *this = with_last_bits(*this, value, count);
            return;
        }
        const unsigned offset = bits_ % 8, end = offset + count;
        const std::uint64_t word = partial_ | value << offset;
        store_word(out_.data() + byte, word);
        if (end < 64) {
            partial_ = word >> (end & ~7U);
        } else {
            partial_ = value >> 1 >> (63 - offset);
            out_[byte + word_bytes] = static_cast<std::byte>(partial_);
        }
        bits_ += count;
    }
    void boolean(bool value) noexcept { bits(value ? 1 : 0, 1); }
    void u8(std::uint8_t value) noexcept { bits(value, 8); }
    void u16(std::uint16_t value) noexcept { bits(value, 16); }
    void u32(std::uint32_t value) noexcept { bits(value, 32); }
    void u64(std::uint64_t value) noexcept { bits(value, 64); }

    /// Groups of three bits, each with a bit for "more": 0..7 take 4 bits, 0..63 take 8.
    void varint(std::uint64_t value) noexcept {
        if (value >> 12 == 0) {  // the usual case; avoids an unpredictable loop
            const std::uint64_t groups =
                (value & 07) | (value & 070) << 1 | (value & 0700) << 2 | (value & 07000) << 3;
            const unsigned more = 4 * ((static_cast<unsigned>(std::bit_width(value | 1)) - 1) / 3);
            return bits(groups | (0x8888 & ((std::uint64_t{1} << more) - 1)), more + 4);
        }
        std::uint64_t code = 0;
        unsigned count = 0;
        for (;; value >>= 3, count += 4) {
            if (count == 64) {
                bits(code, 64);
                code = 0;
                count = 0;
            }
            const std::uint64_t more = value > 7 ? 8 : 0;
            code |= ((value & 7) | more) << count;
            if (more == 0) break;
        }
        bits(code, count + 4);
    }
    /// Golomb-Rice: quotient in unary (ones, closed by a zero), then `k` low bits.
    void rice(std::uint64_t value, unsigned k) noexcept {
        PURVIEW_ASSERT(k < 64);
        std::uint64_t quotient = value >> k;
        if (quotient < 32 && k < 32) {
            const std::uint64_t low = value & ((std::uint64_t{1} << k) - 1);
            const auto ones = static_cast<unsigned>(quotient);
            return bits(low << (ones + 1) | ((std::uint64_t{1} << ones) - 1), ones + 1 + k);
        }
        for (; quotient >= 32; quotient -= 32) bits(0xffffffffU, 32);
        bits((std::uint64_t{1} << quotient) - 1, static_cast<unsigned>(quotient) + 1);
        bits(value & ((std::uint64_t{1} << k) - 1), k);
    }
    void align() noexcept {
        if (bits_ % 8 != 0) bits(0, 8 - static_cast<unsigned>(bits_ % 8));
    }
    /// Writes whole bytes; aligns first.
    void bytes(std::span<const std::byte> data) noexcept {
        align();
        if (!ok_ || data.size() * 8 > bits_left()) {
            fail();
            return;
        }
        if (!data.empty()) std::memcpy(out_.data() + bits_ / 8, data.data(), data.size());
        bits_ += data.size() * 8;
    }
    /// Writes the first `count` bits of `data`, which another writer wrote.
    void copy_bits(std::span<const std::byte> data, std::size_t count) noexcept {
        PURVIEW_ASSERT(count <= data.size() * 8);
        const std::byte* from = data.data();
        const std::byte* const end = from + data.size();
        for (; count >= 64; count -= 64, from += word_bytes) bits(load_word(from), 64);
        if (count == 0) return;
        std::uint64_t word = 0;
        if (end - from >= static_cast<std::ptrdiff_t>(word_bytes)) {
            word = load_word(from);
        } else {
            for (unsigned i = 0; i * 8 < count; ++i) {
                word |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
            }
        }
        bits(word & ((std::uint64_t{1} << count) - 1), static_cast<unsigned>(count));
    }
    /// Writes the low `code_bits` bits of `code`, fewer than 48, then `count` bits of `data`.
    /// `data` has whole words, at least two, with zeros after the last bit. A fast path for the
    /// most frequent use of bits and copy_bits. Returns false and writes nothing if there are more
    /// than 128 bits, or near the end.
    bool try_code_and_bits(std::uint64_t code, unsigned code_bits, const std::byte* data,
                           unsigned count) noexcept {
        PURVIEW_ASSERT(code_bits < 48);
        PURVIEW_ASSERT(code >> code_bits == 0);
        const std::size_t byte = bits_ / 8;
        if (count > 128 || byte + 2 * word_bytes >= words_end_) return false;
        const unsigned offset = bits_ % 8, before = offset + code_bits, end = before + count;
        const std::uint64_t low = load_word(data), high = load_word(data + word_bytes);
        // Three words; the last one has few bits or none.
        const std::uint64_t first = partial_ | code << offset | low << before;
        const std::uint64_t second = (low >> 1 >> (63 - before)) | high << before;
        const std::uint64_t third = high >> 1 >> (63 - before);
        std::byte* const to = out_.data() + byte;
        store_word(to, first);
        store_word(to + word_bytes, second);
        store_word(to + 2 * word_bytes, third);
        const std::uint64_t last = end < 64 ? first : end < 128 ? second : third;
        partial_ = last >> (end % 64 & ~7U);
        bits_ += code_bits + count;
        return true;
    }
    std::span<const std::byte> written() const noexcept { return out_.first(bytes_written()); }

    static constexpr unsigned varint_bits(std::uint64_t value) noexcept {
        unsigned count = 4;
        while ((value >>= 3) != 0) count += 4;
        return count;
    }

  private:
    [[gnu::noinline]] static BitWriter with_last_bits(BitWriter writer, std::uint64_t value,
                                                      unsigned count) noexcept {
        writer.last_bits(value, count);
        return writer;
    }
    /// Writes byte by byte near the end, where whole words do not fit.
    void last_bits(std::uint64_t value, unsigned count) noexcept {
        if (!ok_ || count > bits_left()) return fail();
        for (unsigned taken = 0; count > 0; count -= taken) {
            const unsigned offset = bits_ % 8;
            taken = count < 8 - offset ? count : 8 - offset;
            partial_ |= (value & ((1U << taken) - 1)) << offset;
            out_[bits_ / 8] = static_cast<std::byte>(partial_);
            value >>= taken;
            bits_ += taken;
            if (bits_ % 8 == 0) partial_ = 0;
        }
    }
    void fail() noexcept {
        ok_ = false;
        words_end_ = 0;
    }

    std::span<std::byte> out_;
    std::size_t words_end_;  ///< before this byte, a word and one more byte fit
    std::size_t bits_ = 0;
    std::uint64_t partial_ = 0;  ///< bits of the unfinished byte
    bool ok_ = true;
};

/// Bits needed for values 0..max.
constexpr unsigned bits_for(std::uint64_t max) noexcept {
    return static_cast<unsigned>(std::bit_width(max));
}

}  // namespace purview
