// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/encode_cache.hpp"

#include "wire/quantise.hpp"

namespace purview {

void EncodeCache::clear() noexcept {
    entries_.clear();
    first_.clear();
    bytes_.clear();
}

EncodedFields EncodeCache::full(std::uint32_t entity_index, KindId kind, FieldMask mask) {
    return find_or_encode(entity_index, kind, mask, true);
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
    const KindLayout& layout = fields_->layout(kind);
    bytes_.resize(bytes_.size() + layout.body_bits_max / 8 + 1);
    BitWriter out(std::span<std::byte>(bytes_).subspan(encoded.offset_bytes));
    for (const KindLayout::Part& part : layout.parts) {
        const FieldMask wanted = mask & part.fields;
        if (!full) {
            if (layout.asks_parts()) out.boolean(wanted != 0);
            if (wanted != 0 && part.count > 1) {
                out.boolean(wanted == part.fields);
                if (wanted != part.fields) out.bits(wanted >> part.first, part.count);
            }
        }
        for_each_bit(wanted & ~layout.references, 0, [&](std::size_t f) {
            const KindField& field = layout.fields[f];
            const std::uint32_t* words = fields_->words(entity_index, field);
#ifdef PURVIEW_BREAKABLE
            if (break_field_every != 0 && encodings_ % break_field_every == 0 &&
                field.def->words == 1) {
                const std::uint32_t wrong = *words ^ 1U;
                return write_words(*field.def, &wrong, out);
            }
#endif
            write_words(*field.def, words, out);
        });
    }
    PURVIEW_ASSERT(out.ok());
    encoded.bits = static_cast<std::uint32_t>(out.bits_written());
    bytes_.resize(encoded.offset_bytes + out.bytes_written());
    return encoded;
}

}  // namespace purview
