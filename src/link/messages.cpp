// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "link/messages.hpp"

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void write_reason_text(std::string_view text, BitWriter& out) noexcept {
    PURVIEW_ASSERT(text.size() <= limits::reason_text_bytes);
    out.u8(static_cast<std::uint8_t>(text.size()));
    out.bytes(std::as_bytes(std::span(text.data(), text.size())));
}

std::optional<std::string_view> read_reason_text(BitReader& in) noexcept {
    const std::size_t size = in.u8();
    if (size > limits::reason_text_bytes) return std::nullopt;
    const auto bytes = in.bytes(size);
    if (!in.ok()) return std::nullopt;
    return text_of(bytes);
}

void write(const Join& join, BitWriter& out) {
    PURVIEW_ASSERT(join.name.size() <= limits::join_name_bytes);
    PURVIEW_ASSERT(join.credential.size() <= limits::credential_bytes);
    out.u8(static_cast<std::uint8_t>(ClientMessage::join));
    out.u8(static_cast<std::uint8_t>(join.role));
    out.u8(static_cast<std::uint8_t>(join.name.size()));
    out.bytes(std::as_bytes(std::span(join.name.data(), join.name.size())));
    out.u16(static_cast<std::uint16_t>(join.credential.size()));
    out.bytes(join.credential);
}

std::optional<Join> read_join(BitReader& in) {
    const std::uint8_t role = in.u8();
    if (role > static_cast<std::uint8_t>(Role::player)) return std::nullopt;
    const std::size_t name_size = in.u8();
    if (name_size > limits::join_name_bytes) return std::nullopt;
    const auto name = in.bytes(name_size);
    const std::size_t credential_size = in.u16();
    if (credential_size > limits::credential_bytes) return std::nullopt;
    const auto credential = in.bytes(credential_size);
    if (!in.exhausted()) return std::nullopt;
    return Join{static_cast<Role>(role), text_of(name), credential};
}

}  // namespace purview
