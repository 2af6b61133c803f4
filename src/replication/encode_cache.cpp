// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/encode_cache.hpp"

#include <algorithm>

#include "protocol/quantize.hpp"

namespace purview {

namespace {

/// Returns whether the word of a field of this type is written unchanged.
constexpr bool is_number(FieldType type) noexcept {
    return type != FieldType::ranged && type != FieldType::text && type != FieldType::reference;
}

/// Takes and returns the writer by value, so that it can stay in registers.
[[gnu::noinline]] BitWriter with_words(BitWriter writer, const FieldDef& field,
                                       const std::uint32_t* words) noexcept {
    write_words(field, words, writer);
    return writer;
}

}  // namespace

void EncodeCache::clear() {
    ++round_;
    entries_.clear();
    bytes_end_ = 0;
    if (last_.size() < fields_->changed().size()) last_.resize(fields_->changed().size());
}

EncodedFields EncodeCache::full(std::uint32_t entity_index, KindId kind, FieldMask mask) {
    ++uses_;
    return find_or_encode(last_of(entity_index), entity_index, kind, mask, true);
}

EncodedFields EncodeCache::find_or_encode(Last& last, std::uint32_t entity_index, KindId kind,
                                          FieldMask mask, bool full) {
    for (std::uint32_t at = last.first; at != 0; at = entries_[at - 1].next) {
        const Entry& entry = entries_[at - 1];
        if (entry.mask == mask && entry.is_full == full) return entry.encoded;
    }
    const EncodedFields encoded = encode(entity_index, kind, mask, full);
    entries_.push_back({mask, full, encoded, last.first});
    last.first = static_cast<std::uint32_t>(entries_.size());
    return encoded;
}

EncodedFields EncodeCache::encode(std::uint32_t entity_index, KindId kind, FieldMask mask,
                                  bool full) {
    ++encodings_;
    const KindLayout& layout = fields_->layout(kind);
    PURVIEW_ASSERT((mask & ~layout.all) == 0);
    // A body of one part cannot express that nothing changed.
    PURVIEW_ASSERT(full || mask != 0 || layout.has_partial_audience() || layout.all == 0);
    BitWriter out(room_for(layout.body_bits_max));
    for (const KindLayout::Part& part : layout.parts) {
        const FieldMask wanted = mask & part.fields;
        if (!full) {
            if (layout.has_partial_audience()) out.boolean(wanted != 0);
            if (wanted != 0 && part.count > 1) {
                out.boolean(wanted == part.fields);
                if (wanted != part.fields) out.bits(wanted >> part.first, part.count);
            }
        }
        const std::uint32_t* const all = fields_->words(entity_index, part.component);
        for_each_bit(wanted & ~layout.references, 0, [&](std::size_t f) {
            const KindField& field = layout.fields[f];
            const std::uint32_t* words = all + field.word;
#ifdef PURVIEW_BREAKABLE
            const std::uint32_t wrong = *words ^ 1U;
            if (break_field_every != 0 && encodings_ % break_field_every == 0 &&
                field.def->words == 1)
                words = &wrong;
#endif
            if (is_number(field.def->type)) {
                out.bits(*words, field.def->wire_bits);
            } else {
                out = with_words(out, *field.def, words);
            }
        });
    }
    PURVIEW_ASSERT(out.bits_written() <= layout.body_bits_max);
    return closed(out);
}

std::span<std::byte> EncodeCache::room_for(std::size_t bits) {
    const std::size_t end_max = bytes_end_ + (words_for(bits) + body_words_min) * word_bytes;
    if (bytes_.size() < end_max) bytes_.resize(std::max(end_max, bytes_.size() * 2));
    return std::span<std::byte>(bytes_).subspan(bytes_end_);
}

EncodedFields EncodeCache::closed(const BitWriter& out) noexcept {
    PURVIEW_ASSERT(out.ok());
    const EncodedFields encoded{static_cast<std::uint32_t>(bytes_end_),
                                static_cast<std::uint32_t>(out.bits_written())};
    std::byte* const begin = bytes_.data() + bytes_end_;
    if (const std::uint32_t rest = encoded.bits % 64; rest != 0) {
        std::byte* const last = begin + encoded.bits / 64 * word_bytes;
        store_word(last, load_word(last) & ((std::uint64_t{1} << rest) - 1));
    }
    for (std::size_t word = words_for(encoded.bits); word < body_words_min; ++word)
        store_word(begin + word * word_bytes, 0);
    bytes_end_ += std::max(words_for(encoded.bits), body_words_min) * word_bytes;
    return encoded;
}

}  // namespace purview
