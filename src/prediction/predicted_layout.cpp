// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "prediction/predicted_layout.hpp"

#include <algorithm>
#include <array>

#include "core/hash.hpp"
#include "replication/rpc_args.hpp"
#include "wire/quantise.hpp"

namespace purview {

PredictedLayout::PredictedLayout(const Schema& schema) {
    rank_.assign(schema.components().size(), 0xff);
    for (std::size_t c = 0; c < rank_.size(); ++c) {
        if (schema.components()[c].is_predicted) rank_[c] = static_cast<std::uint8_t>(stride_++);
    }
    for (const KindDef& kind : schema.kinds()) {
        auto& parts = parts_.emplace_back();
        std::uint32_t bytes = 0;
        std::uint32_t words = 0;
        for (const ComponentId component : kind.components) {
            const ComponentDef& def = schema.components()[index_of(component)];
            if (!def.is_predicted) continue;
            const std::uint32_t own_words = word_count(def);
            parts.push_back({component, rank_[index_of(component)], bytes, own_words, &def});
            bytes += (def.size_bytes + align_bytes - 1) / align_bytes * align_bytes;
            words += own_words;
        }
        bytes_.push_back(bytes);
        words_.push_back(words);
    }
}

std::uint64_t settle_part(const ComponentDef& def, std::byte* data, std::uint64_t digest) noexcept {
    std::array<std::byte, Schema::component_bytes_max> stepped;
    std::copy_n(data, def.size_bytes, stepped.begin());
    std::fill_n(data, def.size_bytes, std::byte{0});  // nothing stays that no field carries
    std::array<std::uint32_t, 8> words;               // of one field
    for (const FieldDef& field : def.fields) {
        quantise(field, stepped.data(), words.data());
        dequantise(field, words.data(), data);
        for (std::size_t w = 0; w < field.words; ++w) digest = combine64(digest, words[w]);
    }
    return digest;
}

std::uint64_t settle_kind(KindId kind, std::uint64_t digest) noexcept {
    return combine64(digest, index_of(kind));
}

}  // namespace purview
