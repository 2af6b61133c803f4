// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The recording of a server (docs/recording.md): a beginning, chunks in the order of events, and an
// end with a checksum. The caller that opens the file owns the stream. A file is untrusted:
// everything read is checked, and no number in it determines an allocation.
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
/// Limit on one chunk; the largest ones are notes (an operator's request).
inline constexpr std::uint32_t chunk_bytes_max = 1U << 22;

enum class ChunkType : std::uint8_t {
    begin = 1,
    address = 2,  ///< addresses are numbered from 0
    received = 3,
    tick = 4,
    sent = 5,
    drained = 6,  ///< the server had no more output
    state = 7,
    address_closed = 8,
    shut_down = 9,
    probe = 10,  ///< a reference client was added
    note = 11,   ///< any other action of the program on its server, as text
    end = 12,
};

/// The configuration that a server needs to behave the same in a replay.
struct Beginning {
    std::string program;  ///< the program that interprets the options
    std::uint64_t schema_hash = 0;
    std::uint16_t tick_hz = 20;
    std::uint32_t state_every_ticks = 1;
    std::array<std::byte, 32> secret{};
    std::string world_name;
    std::map<std::string, std::string> options;
};

/// Writes consecutive little-endian values.
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

/// Reads such values. From the first missing value on, returns 0, and ok() is false.
class Fields {
  public:
    explicit Fields(std::span<const std::byte> body) : left_(body) {}
    std::uint64_t number(unsigned bytes) noexcept;
    std::span<const std::byte> take(std::size_t size) noexcept;
    std::span<const std::byte> rest() noexcept { return take(left_.size()); }
    /// Whether no value was missing and no byte is left.
    bool is_complete() const noexcept { return ok_ && left_.empty(); }
    bool ok() const noexcept { return ok_; }

  private:
    std::span<const std::byte> left_;
    bool ok_ = true;
};

void append_address(Bytes& to, const Address& address);
Address read_address(Fields& in);

/// Continues a checksum: `crc` is that of the preceding bytes, or 0 if there are none.
std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

inline constexpr int old_recordings_max = 4;
/// Call before a file is overwritten. Renames the file to path.1, path.1 to path.2 and so on, and
/// drops the oldest. Leaves devices and pipes alone. Returns whether a file existed. Sets `error`
/// if it cannot be moved.
bool keep_old(const std::string& path, std::error_code& error);

/// Opens a file that only its owner may read or write: a recording contains the key of its run, the
/// inputs of players and the requests of operators. Opens devices and pipes as they are. Returns
/// false if it cannot be written.
bool open_private(const std::string& path, std::ofstream& out);

class Writer {
  public:
    Writer(std::ostream& out, const Beginning& beginning);
    void write(ChunkType type, std::span<const std::byte> body);
    /// If the program ends without finish(), only what was flushed is kept. Returns false if the
    /// file could not be written.
    bool flush();
    /// Writes the checksum; nothing may follow. Returns false if the file could not be written.
    bool finish();

  private:
    void put(std::span<const std::byte> bytes);
    std::ostream* out_;
    std::uint32_t crc_ = 0;
};

struct Chunk {
    ChunkType type{};
    std::span<const std::byte> body;  ///< valid until the next call of Reader::next
};

class Reader {
  public:
    explicit Reader(std::istream& in);
    /// Returns nothing if the file does not start like a recording; see problem().
    std::optional<Beginning> begin();
    /// Returns false at the end and at the first error.
    bool next(Chunk& out);
    /// The error in the file, or an empty string.
    const std::string& problem() const noexcept { return problem_; }
    /// Returns whether the file ends too early, as after a killed server.
    bool is_cut_short() const noexcept { return is_cut_short_; }

  private:
    bool read(std::size_t size);
    bool fail(std::string_view what);
    std::istream* in_;
    std::vector<std::byte> bytes_;  ///< the last bytes that read() returned
    std::vector<std::byte> body_;
    std::uint32_t crc_ = 0;
    std::uint64_t offset_ = 0;
    std::string problem_;
    bool is_cut_short_ = false;
};

}  // namespace purview::record
