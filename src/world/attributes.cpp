// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/attributes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace purview {

namespace {

std::uint32_t read_unsigned(const FieldDef& field, const std::byte* data) noexcept {
    std::uint32_t value = 0;  // little endian, like every target of this library
    constexpr std::size_t value_bytes = sizeof(value);
    PURVIEW_ASSERT(field.size_bytes <= value_bytes);  // the schema accepts only numeric fields
    std::memcpy(&value, data + field.offset_bytes, field.size_bytes);
    return value;
}

float read_number(const FieldDef& field, const std::byte* data) noexcept {
    const std::uint32_t bits = read_unsigned(field, data);
    if (field.type == FieldType::boolean) return bits != 0 ? 1.0F : 0.0F;
    if (field.type != FieldType::integer) return std::bit_cast<float>(bits);
    if (!field.is_signed) return static_cast<float>(bits);
    const unsigned above = 32U - field.size_bytes * 8U;  // moves the sign to bit 31 and back
    return static_cast<float>(static_cast<std::int32_t>(bits << above) >> above);
}

}  // namespace

AttributeTable::AttributeTable(const EntityTable& entities, const ComponentTable& components,
                               const OpSummary& summary)
    : schema_(entities.schema()), entities_(entities), components_(components), summary_(summary) {
    for (const auto& flag : schema_.flags()) read_components_ |= 1U << index_of(flag.component);
    for (const auto& key : schema_.keys()) read_components_ |= 1U << index_of(key.component);
    for (const auto& value : schema_.values()) read_components_ |= 1U << index_of(value.component);
}

void AttributeTable::add(std::uint32_t index) {
    if (const std::size_t size = index + std::size_t{1}; flags_.size() < size) {
        flags_.resize(size, 0);
        for (std::size_t d = 0; d < schema_.keys().size(); ++d) keys_[d].resize(size, Key::none);
        for (std::size_t v = 0; v < schema_.values().size(); ++v) values_[v].resize(size, 0);
    }
    PURVIEW_ASSERT(flags_.size() == entities_.index_end());
    flags_[index] = 0;
    for (std::size_t d = 0; d < schema_.keys().size(); ++d) keys_[d][index] = Key::none;
    for (std::size_t v = 0; v < schema_.values().size(); ++v) values_[v][index] = 0;
}

void AttributeTable::settle(WordRange among) {
    if (read_components_ == 0) return;
    const std::size_t end = std::min(among.end, components_.word_count());
    for (std::size_t w = among.begin; w < end; ++w) {
        const std::uint64_t written = components_.written_in_word(w, read_components_);
        for_each_bit(written, w * bits_per_word, [&](std::size_t i) {
            const auto index = static_cast<std::uint32_t>(i);
            if (entities_.is_live(index)) settle(index, summary_.is_tracked(index));
        });
    }
}

void AttributeTable::settle(std::uint32_t index, bool report) {
    PURVIEW_ASSERT(entities_.is_live(index));
    const EntityId entity = entities_.at_index(index);
    for (std::size_t f = 0; f < schema_.flags().size(); ++f) {
        const auto& def = schema_.flags()[f];
        if (!entities_.has(index, def.component)) continue;
        const auto& field = schema_.components()[index_of(def.component)].fields[def.field];
        const bool now = read_unsigned(field, components_.component_at(index, def.component)) != 0;
        const auto bit = static_cast<std::uint16_t>(1U << f);
        if (now == ((flags_[index] & bit) != 0)) continue;
        flags_[index] ^= bit;
        if (report) {
            changes_.push_back({entity, id_at<FlagId>(f), KeyId::none,
                                Key{now ? std::uint16_t{1} : std::uint16_t{0}}});
        }
    }
    for (std::size_t d = 0; d < schema_.keys().size(); ++d) {
        const auto& def = schema_.keys()[d];
        if (!entities_.has(index, def.component)) continue;
        const auto& field = schema_.components()[index_of(def.component)].fields[def.field];
        const Key now{static_cast<std::uint16_t>(
            read_unsigned(field, components_.component_at(index, def.component)))};
        if (now == keys_[d][index]) continue;
        keys_[d][index] = now;
        if (report) {
            changes_.push_back({entity, FlagId::none, id_at<KeyId>(d), now});
        }
    }
    for (std::size_t v = 0; v < schema_.values().size(); ++v) {
        const auto& def = schema_.values()[v];
        if (!entities_.has(index, def.component)) continue;
        const auto& field = schema_.components()[index_of(def.component)].fields[def.field];
        const float now = read_number(field, components_.component_at(index, def.component));
        if (now == values_[v][index] || !std::isfinite(now)) continue;
        values_[v][index] = now;
        if (report) {
            changes_.push_back(
                {entity, FlagId::none, KeyId::none, Key::none, id_at<ValueId>(v), now});
        }
    }
}

std::span<const AttributeChange> AttributeTable::track_changes() noexcept {
    PURVIEW_ASSERT(tracked_changes_ <= changes_.size());
    const auto fresh = changes().subspan(tracked_changes_);
    tracked_changes_ = changes_.size();
    return fresh;
}

void AttributeTable::clear_changes() noexcept {
    changes_.clear();
    tracked_changes_ = 0;
}

void AttributeTable::validate() const {
    PURVIEW_ASSERT(flags_.size() == entities_.index_end());
    for (std::size_t d = 0; d < schema_.keys().size(); ++d)
        PURVIEW_ASSERT(keys_[d].size() == flags_.size());
    for (std::size_t v = 0; v < schema_.values().size(); ++v)
        PURVIEW_ASSERT(values_[v].size() == flags_.size());
    PURVIEW_ASSERT(tracked_changes_ <= changes_.size());
}

}  // namespace purview
