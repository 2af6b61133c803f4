// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Hash tables with open addressing: linear probing and backward-shift deletion. There are no
// tombstones, so a table that is used for days does not degrade. FlatTable stores entries that
// provide their own key. FlatMap maps an unsigned key to a small value and reserves one key as
// "empty".
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/aligned.hpp"
#include "core/hash.hpp"
#include "core/prefetch.hpp"
#include "purview/status.hpp"

namespace purview {

/// Storage that does not use the memory hooks (purview/extend/memory.hpp), for data that may
/// outlive them, such as thread-local data.
template <class T>
using HeapVector = std::vector<T>;

/// A table of entries. An entry type has `Key`, `key()` and `is_free()`; a default-constructed one
/// is free. Pointers returned by an edit are valid until the next edit.
template <class Entry, template <class> class Vector = LineVector>
class FlatTable {
  public:
    using Key = typename Entry::Key;

    std::size_t size() const noexcept { return count_; }
    std::size_t memory_bytes() const noexcept { return entries_.capacity() * sizeof(Entry); }

    Entry* find(Key key) noexcept {
        return const_cast<Entry*>(static_cast<const FlatTable*>(this)->find(key));
    }
    const Entry* find(Key key) const noexcept {
        if (entries_.empty()) return nullptr;
        for (std::size_t i = home(key);; i = (i + 1) & mask()) {
            if (entries_[i].is_free()) return nullptr;
            if (entries_[i].key() == key) return &entries_[i];
        }
    }
    /// Prefetches the home entry of the key, and the entry where a longer search usually ends.
    void prefetch(Key key) const noexcept {
        if (entries_.empty()) return;
        const std::size_t at = home(key);
        prefetch_line(&entries_[at]);
        prefetch_line(&entries_[(at + run_length) & mask()]);
    }

    /// Returns the entry of this key, or a free entry and true. The caller must set the key of a
    /// free entry at once.
    std::pair<Entry*, bool> find_or_make(Key key) {
        if ((std::size_t{count_} + 1) * 4 > entries_.size() * 3) grow();
        std::size_t i = home(key);
        for (; !entries_[i].is_free(); i = (i + 1) & mask()) {
            if (entries_[i].key() == key) return {&entries_[i], false};
        }
        ++count_;
        return {&entries_[i], true};
    }

    /// Returns whether the key was in the table.
    bool erase(Key key) noexcept {
        const Entry* found = find(key);
        if (found == nullptr) return false;
        erase(*found);
        return true;
    }
    /// Erases an entry that find() or an edit returned.
    void erase(const Entry& entry) noexcept {
        auto hole = static_cast<std::size_t>(&entry - entries_.data());
        for (std::size_t i = (hole + 1) & mask(); !entries_[i].is_free(); i = (i + 1) & mask()) {
            // The entry at i may move into the hole only if its home is not between the hole and i.
            const std::size_t distance_home = (i - home(entries_[i].key())) & mask();
            const std::size_t distance_hole = (i - hole) & mask();
            if (distance_home >= distance_hole) {
                entries_[hole] = entries_[i];
                hole = i;
            }
        }
        entries_[hole] = Entry{};
        --count_;
    }

    /// Calls visit(entry). The order depends on the keys and on the largest size of the table so
    /// far, so nothing that an observer can see may depend on it.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Entry& entry : entries_) {
            if (!entry.is_free()) visit(entry);
        }
    }

    /// Removes all entries. Keeps the storage unless it is far larger than its contents were.
    void clear() noexcept {
        if (count_ == 0) return;
        if (entries_.size() > 4096 && entries_.size() > 32 * count_) {
            Storage().swap(entries_);
        } else {
            for (Entry& entry : entries_) entry = Entry{};
        }
        count_ = 0;
    }

    void reserve(std::size_t count) {
        while (count * 4 > entries_.size() * 3) grow();
    }

  private:
    using Storage = Vector<Entry>;

    std::size_t mask() const noexcept { return entries_.size() - 1; }
    std::size_t home(Key key) const noexcept {
        const auto word = static_cast<std::uint64_t>(key);
        // For keys of up to 32 bits, the upper bits of one product are mixed well enough. Keys of
        // 64 bits, which combine two values, need the full mix.
        const std::uint64_t spread = sizeof(Key) <= 4 ? word * golden : mix64(word);
        return static_cast<std::size_t>(spread >> shift_);
    }
    void grow() {
        Storage old(entries_.empty() ? 16 : entries_.size() * 2);
        old.swap(entries_);
        shift_ = 64 - static_cast<std::uint32_t>(std::countr_zero(entries_.size()));
        for (const Entry& entry : old) {
            if (entry.is_free()) continue;
            std::size_t i = home(entry.key());
            while (!entries_[i].is_free()) i = (i + 1) & mask();
            entries_[i] = entry;
        }
    }

    static constexpr std::uint64_t golden = 0x9E3779B97F4A7C15ULL;  // 2^64 / golden ratio
    /// Usual length of a search, in entries.
    static constexpr std::size_t run_length = sizeof(Entry) > 16 ? 1 : 2;

    Storage entries_;
    std::uint32_t count_ = 0;
    std::uint32_t shift_ = 0;  ///< reduces a hash to an index
};

/// Cannot be iterated.
template <class KeyT, class Value, KeyT Empty = static_cast<KeyT>(-1),
          template <class> class Vector = LineVector>
class FlatMap {
  public:
    std::size_t size() const noexcept { return table_.size(); }
    std::size_t memory_bytes() const noexcept { return table_.memory_bytes(); }

    Value* find(KeyT key) noexcept {
        return const_cast<Value*>(static_cast<const FlatMap*>(this)->find(key));
    }
    const Value* find(KeyT key) const noexcept {
        PURVIEW_ASSERT(key != Empty);
        const Slot* slot = table_.find(key);
        return slot == nullptr ? nullptr : &slot->value;
    }
    void prefetch(KeyT key) const noexcept { table_.prefetch(key); }
    bool contains(KeyT key) const noexcept { return find(key) != nullptr; }

    /// Returns the value of the key; a new value is default-constructed. Invalidates pointers.
    Value& operator[](KeyT key) { return *find_or_make(key).first; }
    /// Returns the value, and true if it is new.
    std::pair<Value*, bool> find_or_make(KeyT key) {
        PURVIEW_ASSERT(key != Empty);
        const auto [slot, is_new] = table_.find_or_make(key);
        slot->name = key;
        return {&slot->value, is_new};
    }
    /// Returns whether the key was in the map.
    bool erase(KeyT key) noexcept {
        PURVIEW_ASSERT(key != Empty);
        return table_.erase(key);
    }
    void clear() noexcept { table_.clear(); }
    void reserve(std::size_t count) { table_.reserve(count); }

  private:
    struct Slot {
        using Key = KeyT;
        KeyT name = Empty;
        Value value{};

        KeyT key() const noexcept { return name; }
        bool is_free() const noexcept { return name == Empty; }
    };

    FlatTable<Slot, Vector> table_;
};

}  // namespace purview
