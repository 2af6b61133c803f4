// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The arguments of an RPC: a struct, words on the wire, or values for people and scripts. The only
// module that connects them with the codecs of fields.
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

/// The words of all fields, in declaration order (PROTOCOL.md, "Fields").
using RpcWords = std::array<std::uint32_t, Schema::component_words_max>;

/// Converts the struct at `args`, laid out as in the definition. Values out of range are clamped.
RpcWords words_of_struct(const RpcDef& rpc, const std::byte* args) noexcept;
/// Writes the whole struct, rpc.args.size_bytes. Bytes without a field are zero.
void struct_of_words(const RpcDef& rpc, const RpcWords& words, std::byte* args) noexcept;

/// Converts one argument per field, see FieldValue. Values out of range are clamped.
RpcWords words_of_arguments(const RpcDef& rpc, std::span<const FieldValue> arguments) noexcept;
/// Writes one number per field to `out`.
void values_of_words(const RpcDef& rpc, const RpcWords& words, std::span<double> out) noexcept;

/// The same for an input, or a component without references: words[word_count(def)].
std::uint32_t word_count(const ComponentDef& def) noexcept;
void words_of_struct(const ComponentDef& def, const std::byte* data, std::uint32_t* words) noexcept;
/// Writes the whole struct, def.size_bytes. Bytes without a field are zero.
void struct_of_words(const ComponentDef& def, const std::uint32_t* words, std::byte* data) noexcept;
void write_words(const ComponentDef& def, const std::uint32_t* words, BitWriter& out) noexcept;
void read_words(const ComponentDef& def, BitReader& in, std::uint32_t* words) noexcept;
std::uint32_t words_bits(const ComponentDef& def) noexcept;

void write_words(const RpcDef& rpc, const RpcWords& words, BitWriter& out) noexcept;
/// Reads the words of the arguments. Numbers above the range of their field, which only a malicious
/// peer sends, become the maximum.
RpcWords read_words(const RpcDef& rpc, BitReader& in) noexcept;
/// Returns the maximum size of the arguments of the RPC in bits.
std::uint32_t words_bits(const RpcDef& rpc) noexcept;
/// Returns the maximum size of these words in bits. For a text, only its actual bytes count.
std::uint32_t words_bits(const RpcDef& rpc, const RpcWords& words) noexcept;

}  // namespace purview
