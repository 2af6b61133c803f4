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
    } else {
        const auto value = static_cast<float>(number);
        std::memcpy(at, &value, sizeof value);
    }
}

}  // namespace

RpcWords words_of_struct(const RpcDef& rpc, const std::byte* args) noexcept {
    RpcWords words{};
    for (std::size_t f = 0; f < rpc.args.fields.size(); ++f) {
        words[f] = quantise(rpc.args.fields[f], args);
    }
    return words;
}

void struct_of_words(const RpcDef& rpc, const RpcWords& words, std::byte* args) noexcept {
    std::fill_n(args, rpc.args.size_bytes, std::byte{0});
    for (std::size_t f = 0; f < rpc.args.fields.size(); ++f) {
        dequantise(rpc.args.fields[f], words[f], args);
    }
}

RpcWords words_of_values(const RpcDef& rpc, std::span<const double> values) noexcept {
    std::array<std::byte, Schema::component_bytes_max> args{};
    for (std::size_t f = 0; f < rpc.args.fields.size(); ++f) {
        store_number(rpc.args.fields[f], f < values.size() ? values[f] : 0, args.data());
    }
    return words_of_struct(rpc, args.data());
}

void values_of_words(const RpcDef& rpc, const RpcWords& words, std::span<double> out) noexcept {
    for (std::size_t f = 0; f < rpc.args.fields.size(); ++f) {
        out[f] = dequantised_value(rpc.args.fields[f], words[f]);
    }
}

void write_words(const RpcDef& rpc, const RpcWords& words, BitWriter& out) noexcept {
    for (std::size_t f = 0; f < rpc.args.fields.size(); ++f) {
        out.bits(words[f], rpc.args.fields[f].wire_bits);
    }
}

RpcWords read_words(const RpcDef& rpc, BitReader& in) noexcept {
    RpcWords words{};
    for (std::size_t f = 0; f < rpc.args.fields.size(); ++f) {
        const FieldDef& field = rpc.args.fields[f];
        const auto word = static_cast<std::uint32_t>(in.bits(field.wire_bits));
        const bool is_nan = field.type == FieldType::real && (word & 0x7fffffffU) > infinity_bits;
        words[f] = is_nan ? canonical_nan : std::min(word, wire_max(field));
    }
    return words;
}

std::uint32_t words_bits(const RpcDef& rpc) noexcept {
    std::uint32_t bits = 0;
    for (const FieldDef& field : rpc.args.fields) bits += field.wire_bits;
    return bits;
}

}  // namespace purview
