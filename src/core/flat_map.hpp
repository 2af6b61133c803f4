// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Open addressing from an unsigned key to a small value: linear probing, backward-shift deletion,
// no tombstones, so a table that lives for days does not decay. One key value is reserved as
// "empty". Never iterated: nothing an observer can see may depend on the order of a hash table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "core/prefetch.hpp"
#include "purview/status.hpp"

namespace purview {

template <class KeyT, class Value, KeyT Empty = static_cast<KeyT>(-1)>
class FlatMap {
  public:
    std::size_t size() const noexcept { return count_; }
    std::size_t memory_bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

    Value* find(KeyT key) noexcept {
        return const_cast<Value*>(static_cast<const FlatMap*>(this)->find(key));
    }
    const Value* find(KeyT key) const noexcept {
        PURVIEW_ASSERT(key != Empty);
        if (slots_.empty()) return nullptr;
        for (std::size_t i = home(key);; i = (i + 1) & mask()) {
            if (slots_[i].key == key) return &slots_[i].value;
            if (slots_[i].key == Empty) return nullptr;
        }
    }
    void prefetch(KeyT key) const noexcept {
        if (!slots_.empty()) prefetch_line(&slots_[home(key)]);
    }
    bool contains(KeyT key) const noexcept { return find(key) != nullptr; }

    /// The value of the key, default-made where there was none. Invalidates pointers.
    Value& operator[](KeyT key) { return *find_or_make(key).first; }
    /// And whether there was none.
    std::pair<Value*, bool> find_or_make(KeyT key) {
        PURVIEW_ASSERT(key != Empty);
        if ((count_ + 1) * 4 > slots_.size() * 3) grow();
        std::size_t i = home(key);
        for (; slots_[i].key != Empty; i = (i + 1) & mask()) {
            if (slots_[i].key == key) return {&slots_[i].value, false};
        }
        slots_[i].key = key;
        slots_[i].value = Value{};
        ++count_;
        return {&slots_[i].value, true};
    }

    /// True when it was there.
    bool erase(KeyT key) noexcept {
        PURVIEW_ASSERT(key != Empty);
        if (slots_.empty()) return false;
        std::size_t hole = home(key);
        while (slots_[hole].key != key) {
            if (slots_[hole].key == Empty) return false;
            hole = (hole + 1) & mask();
        }
        for (std::size_t i = (hole + 1) & mask(); slots_[i].key != Empty; i = (i + 1) & mask()) {
            // May the entry at i move into the hole? Only if its home is not between hole and i.
            const std::size_t distance_home = (i - home(slots_[i].key)) & mask();
            const std::size_t distance_hole = (i - hole) & mask();
            if (distance_home >= distance_hole) {
                slots_[hole] = slots_[i];
                hole = i;
            }
        }
        slots_[hole].key = Empty;
        --count_;
        return true;
    }

    /// Forgets everything, keeps the storage, unless it is far larger than what was in it.
    void clear() noexcept {
        if (count_ == 0) return;
        if (slots_.size() > 4096 && slots_.size() > 32 * count_) {
            std::vector<Slot>().swap(slots_);
        } else {
            for (auto& slot : slots_) slot.key = Empty;
        }
        count_ = 0;
    }

    void reserve(std::size_t count) {
        while (count * 4 > slots_.size() * 3) grow();
    }

  private:
    struct Slot {
        KeyT key = Empty;
        Value value{};
    };
    std::size_t mask() const noexcept { return slots_.size() - 1; }
    std::size_t home(KeyT key) const noexcept {
        return static_cast<std::size_t>(mix64(static_cast<std::uint64_t>(key))) & mask();
    }
    void grow() {
        std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
        old.swap(slots_);
        for (const auto& slot : old) {
            if (slot.key == Empty) continue;
            std::size_t i = home(slot.key);
            while (slots_[i].key != Empty) i = (i + 1) & mask();
            slots_[i] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::size_t count_ = 0;
};

}  // namespace purview
