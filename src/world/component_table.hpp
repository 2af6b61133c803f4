// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The component values of a world, and which of them were written since the last tick.
//
// Invariants: values never move in memory; all columns have the same number of dirty bits; an
// entity has values only of the components of its kind.
//
// Must not depend on parents, or on what values mean, except that one component is the position.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/aligned.hpp"
#include "core/bitset.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"
#include "world/entity_table.hpp"

namespace purview {

/// Values of one component for all entities, in pages that never move.
class ComponentColumn {
  public:
    static constexpr std::uint32_t page_entities = 1024;

    explicit ComponentColumn(std::uint32_t size_bytes) : size_bytes_(size_bytes) {}
    void ensure(std::uint32_t index);
    std::byte* at(std::uint32_t index) noexcept {
        return pages_[index / page_entities].data() +
               std::size_t{index % page_entities} * size_bytes_;
    }
    const std::byte* at(std::uint32_t index) const noexcept {
        return pages_[index / page_entities].data() +
               std::size_t{index % page_entities} * size_bytes_;
    }
    std::uint32_t size_bytes() const noexcept { return size_bytes_; }

    Bitset dirty;  ///< by entity index: written since the last tick

  private:
    std::uint32_t size_bytes_;
    std::vector<LineVector<std::byte>> pages_;  ///< empty, or for page_entities
};

/// A range of words in bitsets that are indexed by entity.
struct WordRange {
    std::size_t begin = ~std::size_t{0}, end = 0;
    void add(std::size_t word) noexcept {
        begin = std::min(begin, word);
        end = std::max(end, word + 1);
    }
    template <class Visit>
    void for_each(const Bitset& bits, Visit&& visit) const {
        for (std::size_t w = begin; w < std::min(end, bits.words().size()); ++w)
            for_each_bit(bits.words()[w], w * bits_per_word, visit);
    }
};

class ComponentTable {
  public:
    explicit ComponentTable(const EntityTable& entities);

    /// Sets its components to zero and marks all of them as written.
    void add(std::uint32_t index, Vec3 position);

    std::byte* component_at(std::uint32_t index, ComponentId component) noexcept {
        // The component may have no page for other kinds.
        PURVIEW_ASSERT(entities_.has(index, component));
        return columns_[index_of(component)].at(index);
    }
    const std::byte* component_at(std::uint32_t index, ComponentId component) const noexcept {
        PURVIEW_ASSERT(entities_.has(index, component));
        return columns_[index_of(component)].at(index);
    }
    void mark_dirty(std::uint32_t index, ComponentId component) noexcept {
        PURVIEW_ASSERT(entities_.has(index, component));
        columns_[index_of(component)].dirty.set(index);
        fresh_.add(index / bits_per_word);
        if (has_relative_positions_ && component == entities_.schema().position())
            derived_.reset(index);
    }
    const Bitset& dirty(ComponentId component) const noexcept {
        return columns_[index_of(component)].dirty;
    }

    /// The position, or {0, 0, 0} if the kind has none.
    Vec3 position_at(std::uint32_t index) const noexcept {
        Vec3 position;
        if (entities_.has_position(index)) {
            std::memcpy(&position, component_at(index, entities_.schema().position()),
                        sizeof position);
        }
        return position;
    }
    /// Sets the position without marking it as written.
    void put_position(std::uint32_t index, Vec3 position) noexcept {
        std::memcpy(component_at(index, entities_.schema().position()), &position, sizeof position);
    }
    /// Whether the position was written. Requires a position in the schema.
    bool is_moved(std::uint32_t index) const noexcept {
        return dirty(entities_.schema().position()).test(index);
    }
    /// Whether the position or the orientation was written. Requires a position in the schema.
    bool is_written(std::uint32_t index) const noexcept {
        if (is_moved(index)) return true;
        const ComponentId turn = entities_.kind_def_at(index).orientation.component;
        return turn != ComponentId::none && dirty(turn).test(index);
    }

    /// Whether a kind of the schema has positions relative to a parent.
    bool has_relative_positions() const noexcept { return has_relative_positions_; }
    /// Marks the position as derived from the parent-relative position, until the next write.
    /// Requires has_relative_positions().
    void set_derived(std::uint32_t index) noexcept { derived_.set(index); }
    bool is_derived(std::uint32_t index) const noexcept { return derived_.test(index); }

    /// Returns the range of all words.
    WordRange all_words() const noexcept { return {0, word_count()}; }
    /// Returns the range of words with dirty bits that were set since the last call.
    WordRange take_fresh_words() noexcept;
    std::size_t word_count() const noexcept {
        return columns_.empty() ? 0 : columns_[0].dirty.words().size();
    }
    /// Returns the entities of a word that were written in one of the components, one bit each.
    std::uint64_t written_in_word(std::size_t word, std::uint32_t components) const noexcept {
        std::uint64_t written = 0;
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            if (((components >> c) & 1U) != 0) written |= columns_[c].dirty.words()[word];
        }
        return written;
    }
    void clear_dirty() noexcept;

    void validate() const;

  private:
    const EntityTable& entities_;
    std::vector<ComponentColumn> columns_;
    bool has_relative_positions_ = false;
    Bitset derived_;   ///< by entity index; empty without relative positions
    WordRange fresh_;  ///< written since the last take_fresh_words
};

}  // namespace purview
