// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "protocol/predicted_layout.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/hash.hpp"
#include "protocol/quantize.hpp"
#include "protocol/rpc_args.hpp"

namespace purview {

PredictedLayout::PredictedLayout(const Schema& schema) {
    rank_.assign(schema.components().size(), 0xff);
    for (std::size_t c = 0; c < rank_.size(); ++c) {
        if (schema.components()[c].is_predicted) rank_[c] = static_cast<std::uint8_t>(stride_++);
    }
    PURVIEW_ASSERT(stride_ < 0xff);  // rank 255 means not predicted
    for (const KindDef& kind : schema.kinds()) {
        auto& parts = parts_.emplace_back();
        inputs_.push_back(kind.inputs);
        input_slots_ = std::max(input_slots_, kind.inputs.size());
        std::uint32_t bytes = 0;
        std::uint32_t words = 0;
        for (const ComponentId component : kind.components) {
            const ComponentDef& def = schema.components()[index_of(component)];
            if (!def.is_predicted) continue;
            const std::uint32_t own_words = word_count(def);
            parts.push_back({component, rank_[index_of(component)], bytes, own_words,
                             component == schema.position(),
                             component == kind.orientation.component, &def});
            bytes += (def.size_bytes + align_bytes - 1) / align_bytes * align_bytes;
            words += own_words;
        }
        bytes_.push_back(bytes);
        words_.push_back(words);
    }
}

void words_of_part(const PredictedPart& part, const std::byte* data, bool in_frame,
                   std::uint32_t* words) noexcept {
    if (!in_frame || !part.is_position) return words_of_struct(*part.def, data, words);
    std::array<std::byte, Schema::component_bytes_max> relative;
    std::copy_n(data, part.def->size_bytes, relative.begin());
    add_relative_origins(*part.def, relative.data());
    words_of_struct(*part.def, relative.data(), words);
}

void part_of_words(const PredictedPart& part, const std::uint32_t* words, bool in_frame,
                   std::byte* data) noexcept {
    struct_of_words(*part.def, words, data);
    if (!in_frame || !part.is_position) return;
    const std::uint32_t* at = words;
    for (const FieldDef& field : part.def->fields) {
        if (is_coordinate(field)) {
            const float coordinate = coordinate_of_word(field, *at, true);
            std::memcpy(data + field.offset_bytes, &coordinate, sizeof coordinate);
        }
        at += field.words;
    }
}

std::uint64_t settle_part(const PredictedPart& part, bool in_frame, std::byte* data,
                          std::uint64_t digest) noexcept {
    RpcWords words;
    PURVIEW_ASSERT(part.words <= words.size());
    words_of_part(part, data, in_frame, words.data());
    part_of_words(part, words.data(), in_frame, data);
    for (std::uint32_t w = 0; w < part.words; ++w) digest = combine64(digest, words[w]);
    return digest;
}

std::uint64_t settle_kind(KindId kind, std::uint64_t digest) noexcept {
    return combine64(digest, index_of(kind));
}

}  // namespace purview
