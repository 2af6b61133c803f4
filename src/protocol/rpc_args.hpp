// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The arguments of a call: a struct, numbers on the wire, or numbers for people and scripts. The
// only place where they meet the codecs of fields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "purview/rpc.hpp"
#include "purview/schema.hpp"

namespace purview {

/// The words of all fields, in the order of declaration (PROTOCOL.md, "Fields").
using RpcWords = std::array<std::uint32_t, Schema::component_words_max>;

/// Of the struct at `args`, laid out as the definition says. Out of range is clamped.
RpcWords words_of_struct(const RpcDef& rpc, const std::byte* args) noexcept;
/// The struct, all of rpc.args.size_bytes; what is no field is zero.
void struct_of_words(const RpcDef& rpc, const RpcWords& words, std::byte* args) noexcept;

/// One argument a field, see FieldValue; clamped as everything is.
RpcWords words_of_arguments(const RpcDef& rpc, std::span<const FieldValue> arguments) noexcept;
/// out[fields].
void values_of_words(const RpcDef& rpc, const RpcWords& words, std::span<double> out) noexcept;

/// The same of the fields of an input or component without references: words[word_count(def)].
std::uint32_t word_count(const ComponentDef& def) noexcept;
void words_of_struct(const ComponentDef& def, const std::byte* data, std::uint32_t* words) noexcept;
/// The struct, all of def.size_bytes; what is no field is zero.
void struct_of_words(const ComponentDef& def, const std::uint32_t* words, std::byte* data) noexcept;
void write_words(const ComponentDef& def, const std::uint32_t* words, BitWriter& out) noexcept;
void read_words(const ComponentDef& def, BitReader& in, std::uint32_t* words) noexcept;
std::uint32_t words_bits(const ComponentDef& def) noexcept;

void write_words(const RpcDef& rpc, const RpcWords& words, BitWriter& out) noexcept;
/// Numbers beyond the range of their field, which only a stranger sends, become the largest.
RpcWords read_words(const RpcDef& rpc, BitReader& in) noexcept;
std::uint32_t words_bits(const RpcDef& rpc) noexcept;
/// At most, of these: a text takes what it has.
std::uint32_t words_bits(const RpcDef& rpc, const RpcWords& words) noexcept;

}  // namespace purview
