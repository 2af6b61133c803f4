// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/rpc_args.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "wire/quantise.hpp"

namespace purview {

namespace {

constexpr std::uint32_t infinity_bits = 0x7f800000U;
constexpr std::uint32_t canonical_nan = 0x7fc00000U;

/// A number as a member of the struct that the field describes. NaN is 0 for whole numbers.
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

}  // namespace

RpcWords words_of_struct(const RpcDef& rpc, const std::byte* args) noexcept {
    RpcWords words{};
    std::uint32_t* at = words.data();
    for (const FieldDef& field : rpc.args.fields) {
        quantise(field, args, at);
        at += field.words;
    }
    return words;
}

void struct_of_words(const RpcDef& rpc, const RpcWords& words, std::byte* args) noexcept {
    std::fill_n(args, rpc.args.size_bytes, std::byte{0});
    const std::uint32_t* at = words.data();
    for (const FieldDef& field : rpc.args.fields) {
        dequantise(field, at, args);
        at += field.words;
    }
}

RpcWords words_of_values(const RpcDef& rpc, std::span<const double> values) noexcept {
    RpcWords words{};
    std::uint32_t* at = words.data();
    for (std::size_t f = 0; f < rpc.args.fields.size(); ++f) {
        const FieldDef& field = rpc.args.fields[f];
        std::array<std::byte, Schema::component_bytes_max> args{};
        store_number(field, f < values.size() ? values[f] : 0, args.data());
        quantise(field, args.data(), at);
        at += field.words;
    }
    return words;
}

void values_of_words(const RpcDef& rpc, const RpcWords& words, std::span<double> out) noexcept {
    const std::uint32_t* at = words.data();
    for (std::size_t f = 0; f < rpc.args.fields.size(); ++f) {
        out[f] = dequantised_value(rpc.args.fields[f], *at);
        at += rpc.args.fields[f].words;
    }
}

void write_words(const RpcDef& rpc, const RpcWords& words, BitWriter& out) noexcept {
    const std::uint32_t* at = words.data();
    for (const FieldDef& field : rpc.args.fields) {
        write_words(field, at, out);
        at += field.words;
    }
}

RpcWords read_words(const RpcDef& rpc, BitReader& in) noexcept {
    RpcWords words{};
    std::uint32_t* at = words.data();
    for (const FieldDef& field : rpc.args.fields) {
        read_words(field, in, at);
        const bool is_nan = field.type == FieldType::real && (*at & 0x7fffffffU) > infinity_bits;
        if (is_nan) *at = canonical_nan;
        if (field.words == 1) *at = std::min(*at, wire_max(field));
        at += field.words;
    }
    return words;
}

std::uint32_t words_bits(const RpcDef& rpc) noexcept {
    std::uint32_t bits = 0;
    for (const FieldDef& field : rpc.args.fields) bits += field.wire_bits;
    return bits;
}

}  // namespace purview
