// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The values of an entity as words, shared by reference counting. std::shared_ptr counts with
// atomic additions as soon as a program has threads. This count is not atomic.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace purview::check {

/// Immutable. All holders of the same words belong to one thread. Default-constructed: empty.
class Words {
  public:
    Words() = default;
    explicit Words(std::vector<std::uint32_t> words) : held_(new Held{std::move(words), 1}) {}
    Words(const Words& other) noexcept : held_(other.held_) {
        if (held_ != nullptr) ++held_->holders;
    }
    Words(Words&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    Words& operator=(Words other) noexcept {
        std::swap(held_, other.held_);
        return *this;
    }
    ~Words() {
        if (held_ != nullptr && --held_->holders == 0) delete held_;
    }

    explicit operator bool() const noexcept { return held_ != nullptr; }
    const std::vector<std::uint32_t>& operator*() const noexcept { return held_->words; }

  private:
    struct Held {
        std::vector<std::uint32_t> words;
        std::uint32_t holders;
    };
    Held* held_ = nullptr;
};

}  // namespace purview::check
