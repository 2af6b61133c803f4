// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "record/recording.hpp"
#include "purview/limits.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <istream>
#include <ostream>

namespace purview::record {

namespace {

/// Read size; a wrong length in a damaged file allocates no more than the file contains.
constexpr std::size_t piece_bytes = 1U << 16;

/// CRC-32 of IEEE 802.3: detects every damaged byte, and every language has an implementation.
constexpr std::array<std::uint32_t, 256> crc_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0);
        table[i] = value;
    }
    return table;
}();

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

bool keep_old(const std::string& path, std::error_code& error) {
    namespace fs = std::filesystem;
    const bool is_there = fs::is_regular_file(path, error) && fs::file_size(path, error) > 0;
    error.clear();
    if (!is_there) return false;
    const auto name = [&](int number) {
        return number == 0 ? path : path + "." + std::to_string(number);
    };
    for (int number = old_recordings_max; number > 0; --number)
        fs::rename(name(number - 1), name(number), error);
    return !error;  // of the last rename, which moves the file itself
}

bool open_private(const std::string& path, std::ofstream& out) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_status there = fs::status(path, error);
    if (!fs::exists(there) || fs::is_regular_file(there)) {
        constexpr mode_t owner_only = 0600;
        const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, owner_only);
        if (file < 0) return false;
        // An existing file may have other permissions.
        const bool is_private = ::fchmod(file, owner_only) == 0;
        (void)::close(file);
        if (!is_private) return false;
    }
    out.open(path, std::ios::binary | std::ios::trunc);
    return out.good();
}

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
    crc = ~crc;
    for (const std::byte byte : bytes)
        crc = crc_table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff] ^ (crc >> 8);
    return ~crc;
}

std::uint64_t Fields::number(unsigned bytes) noexcept {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const std::byte byte : take(bytes)) {
        value |= std::to_integer<std::uint64_t>(byte) << shift;
        shift += 8;
    }
    return value;
}

std::span<const std::byte> Fields::take(std::size_t size) noexcept {
    if (size > left_.size()) {
        ok_ = false;
        left_ = {};
        return {};
    }
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
}

void append_address(Bytes& to, const Address& address) {
    to.number(static_cast<std::uint64_t>(address.carrier), 1);
    to.append(std::as_bytes(std::span(address.host)));
    to.number(address.port, 2).number(address.channel, 4);
}

Address read_address(Fields& in) {
    Address address;
    address.carrier = static_cast<Address::Carrier>(in.number(1));
    const auto host = in.take(address.host.size());
    std::transform(host.begin(), host.end(), address.host.begin(),
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    address.port = static_cast<std::uint16_t>(in.number(2));
    address.channel = static_cast<std::uint32_t>(in.number(4));
    return address;
}

// -- writing -------------------------------------------------------------------------------------

Writer::Writer(std::ostream& out, const Beginning& beginning) : out_(&out) {
    put(std::as_bytes(std::span(recording_magic)));
    put(Bytes().number(recording_version, 2).view());
    Bytes body;
    body.number(limits::protocol_version, 2).number(beginning.schema_hash, 8);
    body.number(beginning.tick_hz, 2).number(beginning.state_every_ticks, 4);
    body.append(beginning.secret);
    for (const std::string& name : {beginning.program, beginning.world_name})
        body.number(std::min<std::size_t>(name.size(), 255), 1).text(name.substr(0, 255));
    for (const auto& [key, value] : beginning.options) {
        body.text(key);
        body.text("=");
        body.text(value);
        body.text("\n");
    }
    write(ChunkType::begin, body.view());
}

void Writer::put(std::span<const std::byte> bytes) {
    crc_ = crc32(crc_, bytes);
    out_->write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
}

void Writer::write(ChunkType type, std::span<const std::byte> body) {
    put(Bytes().number(static_cast<std::uint64_t>(type), 1).number(body.size(), 4).view());
    put(body);
}

bool Writer::flush() {
    out_->flush();
    return out_->good();
}

bool Writer::finish() {
    write(ChunkType::end, Bytes().number(crc_, 4).view());
    out_->flush();
    return out_->good();
}

// -- reading -------------------------------------------------------------------------------------

Reader::Reader(std::istream& in) : in_(&in) {}

bool Reader::fail(std::string_view what) {
    problem_ = "byte " + std::to_string(offset_) + ": " + std::string(what);
    return false;
}

bool Reader::read(std::size_t size) {
    bytes_.clear();
    while (bytes_.size() < size) {
        const std::size_t before = bytes_.size();
        bytes_.resize(before + std::min(size - before, piece_bytes));
        in_->read(reinterpret_cast<char*>(bytes_.data() + before),
                  static_cast<std::streamsize>(bytes_.size() - before));
        if (static_cast<std::size_t>(in_->gcount()) == bytes_.size() - before) continue;
        is_cut_short_ = true;
        return fail("the recording is truncated");
    }
    offset_ += size;
    return true;
}

std::optional<Beginning> Reader::begin() {
    if (!read(recording_magic.size() + 2)) return {};
    crc_ = crc32(0, bytes_);
    Fields head(bytes_);
    if (text_of(head.take(recording_magic.size())) !=
        std::string_view(recording_magic.data(), recording_magic.size())) {
        fail("this is not a recording");
        return {};
    }
    if (const auto version = head.number(2); version != recording_version) {
        fail("the recording has version " + std::to_string(version) + ", not " +
             std::to_string(recording_version));
        return {};
    }
    Chunk chunk;
    if (!next(chunk)) return {};
    Fields in(chunk.body);
    Beginning out;
    if (const auto version = in.number(2); version != limits::protocol_version) {
        fail("the recording has protocol version " + std::to_string(version) + ", not " +
             std::to_string(limits::protocol_version));
        return {};
    }
    out.schema_hash = in.number(8);
    out.tick_hz = static_cast<std::uint16_t>(in.number(2));
    out.state_every_ticks = static_cast<std::uint32_t>(in.number(4));
    const auto secret = in.take(out.secret.size());
    std::copy(secret.begin(), secret.end(), out.secret.begin());
    out.program = text_of(in.take(in.number(1)));
    out.world_name = text_of(in.take(in.number(1)));
    const std::string lines = text_of(in.rest());
    if (chunk.type != ChunkType::begin || !in.is_complete()) {
        fail("the beginning is malformed");
        return {};
    }
    for (std::size_t at = 0; at < lines.size();) {
        const std::size_t end = lines.find('\n', at);
        const std::size_t equals = lines.find('=', at);
        if (end == std::string::npos || equals >= end) {
            fail("the options are malformed");
            return {};
        }
        out.options[lines.substr(at, equals - at)] = lines.substr(equals + 1, end - equals - 1);
        at = end + 1;
    }
    return out;
}

bool Reader::next(Chunk& out) {
    if (!problem_.empty()) return false;
    const std::uint32_t crc_before = crc_;
    if (!read(5)) return false;
    crc_ = crc32(crc_, bytes_);
    Fields head(bytes_);
    const std::uint64_t type = head.number(1);
    const std::uint64_t size = head.number(4);
    if (type < static_cast<unsigned>(ChunkType::begin) ||
        type > static_cast<unsigned>(ChunkType::end))
        return fail("the chunk has an unknown type");
    if (size > chunk_bytes_max) return fail("the chunk is too large");
    if (!read(size)) return false;
    crc_ = crc32(crc_, bytes_);
    out.type = static_cast<ChunkType>(type);
    std::swap(body_, bytes_);
    out.body = body_;
    if (out.type != ChunkType::end) return true;
    Fields end(body_);
    if (end.number(4) != crc_before || !end.is_complete())
        return fail("the checksum is wrong: the recording is damaged");
    if (in_->peek() != std::istream::traits_type::eof())
        return fail("unexpected bytes after the end");
    return false;
}

}  // namespace purview::record
