// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/component_table.hpp"

#include <utility>

namespace purview {

void ComponentColumn::ensure(std::uint32_t index) {
    while (pages_.size() <= index / page_entities) pages_.emplace_back();
    auto& page = pages_[index / page_entities];
    if (page.empty()) page.resize(std::size_t{page_entities} * size_bytes_);
    PURVIEW_ASSERT(page.size() == std::size_t{page_entities} * size_bytes_);
}

ComponentTable::ComponentTable(const EntityTable& entities) : entities_(entities) {
    const Schema& schema = entities.schema();
    for (const auto& component : schema.components()) columns_.emplace_back(component.size_bytes);
    has_relative_positions_ =
        schema.position() != ComponentId::none &&
        std::any_of(schema.kinds().begin(), schema.kinds().end(),
                    [](const KindDef& kind) { return kind.relative_position; });
}

void ComponentTable::add(std::uint32_t index, Vec3 position) {
    PURVIEW_ASSERT(entities_.is_live(index));
    if (columns_.empty() || columns_[0].dirty.size() <= index) {
        const std::size_t size = std::max<std::size_t>(1024, std::size_t{index} * 2);
        for (auto& column : columns_) column.dirty.resize(size);
        if (has_relative_positions_) derived_.resize(size);
    }
    for (const ComponentId component : entities_.kind_def_at(index).components) {
        auto& column = columns_[index_of(component)];
        column.ensure(index);
        std::memset(column.at(index), 0, column.size_bytes());
        column.dirty.set(index);
    }
    if (has_relative_positions_) derived_.reset(index);
    fresh_.add(index / bits_per_word);
    if (entities_.has_position(index)) put_position(index, position);
}

WordRange ComponentTable::take_fresh_words() noexcept {
    return std::exchange(fresh_, {});
}

void ComponentTable::clear_dirty() noexcept {
    for (auto& column : columns_) column.dirty.clear_all();
}

void ComponentTable::validate() const {
    for (const ComponentColumn& column : columns_) {
        // All columns have the same number of dirty bits.
        PURVIEW_ASSERT(column.dirty.size() == columns_[0].dirty.size());
        (void)column;
    }
    PURVIEW_ASSERT(!has_relative_positions_ || derived_.size() == columns_[0].dirty.size());
}

}  // namespace purview
