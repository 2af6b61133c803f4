// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A growable set of bits in words of 64. Bits past size() are always zero, so words can be combined
// and counted without a mask.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "purview/status.hpp"

namespace purview {

inline constexpr std::size_t bits_per_word = 64;

constexpr std::size_t words_for(std::size_t bits) noexcept {
    return (bits + bits_per_word - 1) / bits_per_word;
}

/// Calls visit(index) for each set bit of one word, ascending, with `base` added.
template <class Visit>
constexpr void for_each_bit(std::uint64_t word, std::size_t base, Visit&& visit) {
    while (word != 0) {
        visit(base + static_cast<std::size_t>(std::countr_zero(word)));
        word &= word - 1;
    }
}

/// Writes the indices of the set bits, plus `base`, to `out` and returns the end of the list. May
/// overwrite one element past the end. Handles four bits per step without a branch for each,
/// because the number of set bits is unpredictable.
template <class Index>
constexpr Index* list_bits(std::uint64_t word, Index base, Index* out) noexcept {
    constexpr std::uint64_t top = std::uint64_t{1} << (bits_per_word - 1);
    do {
        for (int i = 0; i < 4; ++i) {
            *out = base + static_cast<Index>(std::countr_zero(word | top));
            out += (word | (0 - word)) >> (bits_per_word - 1);  // 1 if a bit was left
            word &= word - 1;
        }
    } while (word != 0);
    return out;
}

class Bitset {
  public:
    Bitset() = default;
    explicit Bitset(std::size_t size) { resize(size); }

    std::size_t size() const noexcept { return size_; }
    /// New bits are zero. Bits past the new size are discarded.
    void resize(std::size_t size) {
        words_.resize(words_for(size), 0);
        size_ = size;
        if (size % bits_per_word != 0 && !words_.empty()) {
            words_.back() &= (std::uint64_t{1} << (size % bits_per_word)) - 1;
        }
    }
    bool test(std::size_t index) const noexcept {
        PURVIEW_ASSERT(index < size_);
        return ((words_[index / bits_per_word] >> (index % bits_per_word)) & 1U) != 0;
    }
    void set(std::size_t index) noexcept {
        PURVIEW_ASSERT(index < size_);
        words_[index / bits_per_word] |= std::uint64_t{1} << (index % bits_per_word);
    }
    void reset(std::size_t index) noexcept {
        PURVIEW_ASSERT(index < size_);
        words_[index / bits_per_word] &= ~(std::uint64_t{1} << (index % bits_per_word));
    }
    void assign(std::size_t index, bool value) noexcept { value ? set(index) : reset(index); }
    void clear_all() noexcept {
        for (auto& word : words_) word = 0;
    }
    std::size_t count() const noexcept {
        std::size_t total = 0;
        for (const auto word : words_) total += static_cast<std::size_t>(std::popcount(word));
        return total;
    }
    bool none() const noexcept {
        for (const auto word : words_) {
            if (word != 0) return false;
        }
        return true;
    }
    std::span<std::uint64_t> words() noexcept { return words_; }
    std::span<const std::uint64_t> words() const noexcept { return words_; }

    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t w = 0; w < words_.size(); ++w) {
            for_each_bit(words_[w], w * bits_per_word, visit);
        }
    }

    /// Calls visit(index) for each set bit of [first, first + count), ascending.
    template <class Visit>
    void for_each_in(std::size_t first, std::size_t count, Visit&& visit) const {
        for (std::size_t done = 0; done < count; done += bits_per_word) {
            const std::size_t left = count - done < bits_per_word ? count - done : bits_per_word;
            for_each_bit(bits_at(first + done, left), first + done, visit);
        }
    }

  private:
    /// Returns `count` bits, at most 64, from `first` on.
    std::uint64_t bits_at(std::size_t first, std::size_t count) const noexcept {
        const std::size_t w = first / bits_per_word, shift = first % bits_per_word;
        std::uint64_t bits = words_[w] >> shift;
        if (shift + count > bits_per_word) bits |= words_[w + 1] << (bits_per_word - shift);
        return count == bits_per_word ? bits : bits & ((std::uint64_t{1} << count) - 1);
    }

    std::vector<std::uint64_t> words_;
    std::size_t size_ = 0;
};

}  // namespace purview
