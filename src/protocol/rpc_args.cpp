// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "protocol/rpc_args.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>
#include <variant>

#include "core/cut_text.hpp"
#include "protocol/quantize.hpp"

namespace purview {

namespace {

constexpr std::uint32_t infinity_bits = 0x7f800000U;
constexpr std::uint32_t canonical_nan = 0x7fc00000U;

/// Stores a number as the struct member that the field describes. NaN becomes 0 for integers.
void store_number(const FieldDef& field, double number, std::byte* data) noexcept {
    std::byte* at = data + field.offset_bytes;
    if (field.type == FieldType::boolean) {
        *at = static_cast<std::byte>(number != 0 ? 1 : 0);
    } else if (field.type == FieldType::integer) {
        const double whole = std::isnan(number) ? 0 : std::trunc(number);
        const auto value = static_cast<std::int64_t>(std::clamp(whole, field.min, field.max));
        for (unsigned i = 0; i < field.size_bytes; ++i) {
            at[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
        }
    } else if (field.type < FieldType::rotation) {
        const auto value = static_cast<float>(number);
        std::memcpy(at, &value, sizeof value);
    }
}

/// The same for any field. The struct must be zero before.
void store_argument(const FieldDef& field, const FieldValue& argument, std::byte* data) noexcept {
    if (field.type == FieldType::text) {
        const auto* text = std::get_if<std::string_view>(&argument);
        if (text == nullptr) return;
        const std::string_view kept = cut_text(text->substr(0, text->find('\0')), field.size_bytes);
        std::copy_n(std::as_bytes(std::span(kept)).begin(), kept.size(), data + field.offset_bytes);
    } else if (field.type == FieldType::rotation) {
        const auto* turn = std::get_if<Rotation>(&argument);
        const Rotation rotation = turn == nullptr ? Rotation{} : *turn;
        std::memcpy(data + field.offset_bytes, &rotation, sizeof rotation);
    } else {
        const auto* number = std::get_if<double>(&argument);
        store_number(field, number == nullptr ? 0 : *number, data);
    }
}

}  // namespace

std::uint32_t word_count(const ComponentDef& def) noexcept {
    std::uint32_t count = 0;
    for (const FieldDef& field : def.fields) count += field.words;
    return count;
}

void words_of_struct(const ComponentDef& def, const std::byte* data,
                     std::uint32_t* words) noexcept {
    for (const FieldDef& field : def.fields) {
        quantize(field, data, words);
        words += field.words;
    }
}

void struct_of_words(const ComponentDef& def, const std::uint32_t* words,
                     std::byte* data) noexcept {
    std::fill_n(data, def.size_bytes, std::byte{0});
    for (const FieldDef& field : def.fields) {
        dequantize(field, words, data);
        words += field.words;
    }
}

RpcWords words_of_struct(const RpcDef& rpc, const std::byte* args) noexcept {
    RpcWords words{};
    PURVIEW_ASSERT(word_count(rpc.args) <= words.size());
    words_of_struct(rpc.args, args, words.data());
    return words;
}

void struct_of_words(const RpcDef& rpc, const RpcWords& words, std::byte* args) noexcept {
    struct_of_words(rpc.args, words.data(), args);
}

RpcWords words_of_arguments(const RpcDef& rpc, std::span<const FieldValue> arguments) noexcept {
    RpcWords words{};
    std::uint32_t* at = words.data();
    for (std::size_t f = 0; f < rpc.args.fields.size(); ++f) {
        const FieldDef& field = rpc.args.fields[f];
        std::array<std::byte, Schema::component_bytes_max> args{};
        store_argument(field, f < arguments.size() ? arguments[f] : FieldValue{}, args.data());
        quantize(field, args.data(), at);
        at += field.words;
    }
    return words;
}

void values_of_words(const RpcDef& rpc, const RpcWords& words, std::span<double> out) noexcept {
    PURVIEW_ASSERT(out.size() >= rpc.args.fields.size());
    const std::uint32_t* at = words.data();
    for (std::size_t f = 0; f < rpc.args.fields.size(); ++f) {
        out[f] = dequantized_value(rpc.args.fields[f], *at);
        at += rpc.args.fields[f].words;
    }
}

void write_words(const ComponentDef& def, const std::uint32_t* words, BitWriter& out) noexcept {
    for (const FieldDef& field : def.fields) {
        write_words(field, words, out);
        words += field.words;
    }
}

void read_words(const ComponentDef& def, BitReader& in, std::uint32_t* words) noexcept {
    for (const FieldDef& field : def.fields) {
        read_words(field, in, words);
        const bool is_nan = field.type == FieldType::real && (*words & 0x7fffffffU) > infinity_bits;
        if (is_nan) *words = canonical_nan;
        if (field.words == 1) *words = std::min(*words, field.largest);
        words += field.words;
    }
}

std::uint32_t words_bits(const ComponentDef& def) noexcept {
    std::uint32_t bits = 0;
    for (const FieldDef& field : def.fields) bits += field.wire_bits;
    return bits;
}

void write_words(const RpcDef& rpc, const RpcWords& words, BitWriter& out) noexcept {
    write_words(rpc.args, words.data(), out);
}

RpcWords read_words(const RpcDef& rpc, BitReader& in) noexcept {
    RpcWords words{};
    read_words(rpc.args, in, words.data());
    return words;
}

std::uint32_t words_bits(const RpcDef& rpc) noexcept {
    return words_bits(rpc.args);
}

std::uint32_t words_bits(const RpcDef& rpc, const RpcWords& words) noexcept {
    std::uint32_t bits = 0;
    const std::uint32_t* at = words.data();
    for (const FieldDef& field : rpc.args.fields) {
        bits += words_bits(field, at);
        at += field.words;
    }
    return bits;
}

}  // namespace purview
