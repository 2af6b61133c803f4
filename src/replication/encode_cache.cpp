// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/encode_cache.hpp"

namespace purview {

std::size_t body_bits_max(const Schema& schema, KindId kind) noexcept {
    std::size_t bits = 0;
    for (const ComponentId component : schema.kinds()[index_of(kind)].components) {
        const auto& fields = schema.components()[index_of(component)].fields;
        bits += 2 + fields.size();
        for (const FieldDef& field : fields) bits += field.wire_bits;
    }
    return bits;
}

void EncodeCache::clear() noexcept {
    entries_.clear();
    first_.clear();
    bytes_.clear();
}

EncodedFields EncodeCache::full(std::uint32_t entity_index, KindId kind) {
    return find_or_encode(entity_index, kind, ~FieldMask{0}, true);
}

EncodedFields EncodeCache::update(std::uint32_t entity_index, KindId kind, FieldMask mask) {
    return find_or_encode(entity_index, kind, mask, false);
}

EncodedFields EncodeCache::find_or_encode(std::uint32_t entity_index, KindId kind, FieldMask mask,
                                          bool full) {
    ++uses_;
    std::uint32_t& first = first_[entity_index];
    for (std::uint32_t at = first; at != 0; at = entries_[at - 1].next) {
        const Entry& entry = entries_[at - 1];
        if (entry.mask == mask && entry.is_full == full) return entry.encoded;
    }
    const EncodedFields encoded = encode(entity_index, kind, mask, full);
    entries_.push_back({mask, full, encoded, first});
    first = static_cast<std::uint32_t>(entries_.size());
    return encoded;
}

EncodedFields EncodeCache::encode(std::uint32_t entity_index, KindId kind, FieldMask mask,
                                  bool full) {
    ++encodings_;
    EncodedFields encoded;
    encoded.offset_bytes = static_cast<std::uint32_t>(bytes_.size());
    bytes_.resize(bytes_.size() + body_bits_max(*schema_, kind) / 8 + 1);
    BitWriter out(std::span<std::byte>(bytes_).subspan(encoded.offset_bytes));
    const auto list = fields_->fields(kind);
    const auto& components = schema_->kinds()[index_of(kind)].components;
    std::size_t first = 0;
    for (const ComponentId component : components) {
        const std::size_t count = schema_->components()[index_of(component)].fields.size();
        if (count == 0) continue;
        const FieldMask all = count == 64 ? ~FieldMask{0} : (FieldMask{1} << count) - 1;
        const FieldMask part = (mask >> first) & all;
        if (!full) {
            if (components.size() > 1) out.boolean(part != 0);
            if (part != 0 && count > 1) {
                out.boolean(part == all);
                if (part != all) out.bits(part, static_cast<unsigned>(count));
            }
        }
        for_each_bit(part, first, [&](std::size_t f) {
            std::uint32_t value = fields_->value(entity_index, list[f]);
#ifdef PURVIEW_BREAKABLE
            if (break_field_every != 0 && encodings_ % break_field_every == 0) value ^= 1;
#endif
            out.bits(value, list[f].wire_bits);
        });
        first += count;
    }
    PURVIEW_ASSERT(out.ok());
    encoded.bits = static_cast<std::uint32_t>(out.bits_written());
    bytes_.resize(encoded.offset_bytes + out.bytes_written());
    return encoded;
}

}  // namespace purview
