// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The file that a recorded server leaves behind (docs/recording.md): a beginning, then chunks in
// the order of events, then an end with a checksum. Whoever opens the file owns the stream; a file
// is a stranger's bytes: everything read is checked, and nothing is allocated by a number in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "purview/connection.hpp"

namespace purview::record {

inline constexpr std::array<char, 4> recording_magic{'P', 'V', 'R', 'C'};
inline constexpr std::uint16_t recording_version = 1;
/// Of one chunk; the largest are notes (an operator's request).
inline constexpr std::uint32_t chunk_bytes_max = 1U << 22;

enum class ChunkType : std::uint8_t {
    begin = 1,
    address = 2,  ///< numbered from 0 on
    received = 3,
    tick = 4,
    sent = 5,
    drained = 6,  ///< nothing more waited to be sent
    state = 7,
    address_closed = 8,
    shut_down = 9,
    probe = 10,
    note = 11,  ///< what the program did to its server beside all this, in its own words
    end = 12,
};

/// What a server must be made from to do the same again.
struct Beginning {
    std::string program;  ///< who knows what the options mean
    std::uint64_t schema_hash = 0;
    std::uint16_t tick_hz = 20;
    std::uint32_t state_every_ticks = 1;
    std::array<std::byte, 32> secret{};
    std::string world_name;
    std::map<std::string, std::string> options;
};

/// Little-endian values, one after another.
class Bytes {
  public:
    Bytes& number(std::uint64_t value, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i, value >>= 8)
            bytes_.push_back(static_cast<std::byte>(value & 0xff));
        return *this;
    }
    Bytes& append(std::span<const std::byte> more) {
        bytes_.insert(bytes_.end(), more.begin(), more.end());
        return *this;
    }
    Bytes& text(std::string_view more) {
        return append(std::as_bytes(std::span<const char>(more.data(), more.size())));
    }
    std::span<const std::byte> view() const noexcept { return bytes_; }
    void clear() noexcept { bytes_.clear(); }

  private:
    std::vector<std::byte> bytes_;
};

/// The same, read: 0 and not ok() from the first value on that is not there.
class Fields {
  public:
    explicit Fields(std::span<const std::byte> body) : left_(body) {}
    std::uint64_t number(unsigned bytes) noexcept;
    std::span<const std::byte> take(std::size_t size) noexcept;
    std::span<const std::byte> rest() noexcept { return take(left_.size()); }
    /// Nothing was missing, and nothing is left.
    bool is_complete() const noexcept { return ok_ && left_.empty(); }
    bool ok() const noexcept { return ok_; }

  private:
    std::span<const std::byte> left_;
    bool ok_ = true;
};

void append_address(Bytes& to, const Address& address);
Address read_address(Fields& in);

/// Of bytes that follow those of which `crc` is the checksum; 0: of none.
std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

inline constexpr int old_recordings_max = 4;
/// Before a file of that name is written anew: the one that is there becomes path.1, path.1 becomes
/// path.2 and so on; the oldest goes. What is no file of its own (a device, a pipe) is left alone.
/// True: there was one. `error`: there is one, and it cannot be moved.
bool keep_old(const std::string& path, std::error_code& error);

/// A file that nobody but its owner may read or write: a recording holds the key of its run, what
/// players said and showed, and what operators asked. What is no file of its own (a device, a pipe)
/// is opened as it is. False: it cannot be written.
bool open_private(const std::string& path, std::ofstream& out);

class Writer {
  public:
    Writer(std::ostream& out, const Beginning& beginning);
    void write(ChunkType type, std::span<const std::byte> body);
    /// Whoever ends the program without finish() loses what came after this. False when the file
    /// could not be written.
    bool flush();
    /// The checksum; nothing may follow. False when the file could not be written.
    bool finish();

  private:
    void put(std::span<const std::byte> bytes);
    std::ostream* out_;
    std::uint32_t crc_ = 0;
};

struct Chunk {
    ChunkType type{};
    std::span<const std::byte> body;  ///< until the next call of Reader::next
};

class Reader {
  public:
    explicit Reader(std::istream& in);
    /// Nothing when the file does not begin as a recording does: see problem().
    std::optional<Beginning> begin();
    /// False at the end, and at the first thing that is wrong.
    bool next(Chunk& out);
    /// Empty, or what is wrong with the file.
    const std::string& problem() const noexcept { return problem_; }
    /// The problem is that the file ends too early, as one of a server that was killed does.
    bool is_cut_short() const noexcept { return is_cut_short_; }

  private:
    bool read(std::size_t size);
    bool fail(std::string_view what);
    std::istream* in_;
    std::vector<std::byte> bytes_;  ///< what read() read last
    std::vector<std::byte> body_;
    std::uint32_t crc_ = 0;
    std::uint64_t offset_ = 0;
    std::string problem_;
    bool is_cut_short_ = false;
};

}  // namespace purview::record
