// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Messages that must arrive, whole and in order: a byte stream, cut into fragments that are sent in
// packets, and again if the packet is lost. Both sides are bounded: the sender refuses what does
// not fit, the receiver refuses data beyond its window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "purview/status.hpp"

namespace purview {

inline constexpr std::size_t message_bytes_max = 65'535;
inline constexpr std::size_t fragment_bytes_max = 512;
/// Maximum number of bytes sent beyond what has arrived in order.
inline constexpr std::uint32_t stream_window_bytes = 32'768;

class StreamSender {
  public:
    /// Maximum number of queued bytes.
    static constexpr std::size_t buffer_bytes_max = 262'144;

    /// Queues a message. Returns too_large if it exceeds message_bytes_max, and capacity if too
    /// much waits already; in both cases nothing is queued.
    Status send(std::span<const std::byte> message) { return send({}, message); }
    /// The same for a message in two parts.
    Status send(std::span<const std::byte> head, std::span<const std::byte> rest);
    /// Returns the offset at which the next message will begin. Data after it is not sent before
    /// the next packet is written.
    std::uint32_t end() const noexcept {
        return begin_ + static_cast<std::uint32_t>(buffer_.size());
    }
    /// Inserts a message before everything from `end_then` on. Errors as for send().
    Status send_before(std::uint32_t end_then, std::span<const std::byte> message);
    /// Removes everything from `end_then` on.
    void take_back(std::uint32_t end_then) noexcept;
    /// Returns the size of the largest message that could still be queued, if message_bytes_max did
    /// not limit it.
    std::size_t room() const noexcept;
    bool is_empty() const noexcept { return buffer_.empty(); }
    bool has_data_to_send() const noexcept;

    /// Writes fragments that fit into `bits_left`, each after a one bit, and records them under the
    /// packet's number. The caller writes the closing zero bit. Returns whether any fragment was
    /// written.
    bool write(std::uint32_t sequence, std::uint64_t bits_left, BitWriter& out);
    void resolve(std::uint32_t sequence, bool delivered);

  private:
    enum class State : std::uint8_t { waiting, under_way, arrived };
    struct Fragment {
        std::uint32_t offset;  ///< in the stream
        std::uint16_t size;
        State state;
        std::uint32_t sequence;
    };
    bool write_one(Fragment& fragment, std::uint32_t sequence, std::uint64_t& bits_left,
                   BitWriter& out);

    std::vector<std::byte> buffer_;  ///< stream bytes from begin_ on
    std::uint32_t begin_ = 0;        ///< stream offset of the first byte not known to have arrived
    std::uint32_t cut_ = 0;          ///< up to here the stream is cut into fragments
    std::vector<Fragment> fragments_;  ///< ascending by offset
};

class StreamReceiver {
  public:
    /// Reads fragments up to the closing zero bit and stores nothing yet. Returns false if they are
    /// malformed or beyond the window.
    bool read(BitReader& in);
    /// Stores what was read last. The packet's bytes must still be valid.
    void accept();
    /// Gets the next whole message, or returns false. The span is valid until the next call of a
    /// member function.
    bool next_message(std::span<const std::byte>& message);

  private:
    struct Range {
        std::uint32_t begin;
        std::uint32_t end;
    };
    void drop_taken();
    std::byte* at(std::uint32_t offset) noexcept {
        return window_.data() + head_ + (offset - begin_);
    }
    void store(std::uint32_t offset, std::span<const std::byte> bytes);

    struct Fragment {
        std::uint32_t offset;
        std::span<const std::byte> bytes;
    };
    std::vector<Fragment> fragments_;  ///< of the packet that is being read

    std::vector<std::byte> window_;  ///< from head_ on: stream bytes from begin_ on, with holes
    std::size_t head_ = 0;           ///< bytes before it are consumed; removed with the next packet
    std::uint32_t begin_ = 0;        ///< first byte not returned
    std::vector<Range> arrived_;     ///< ascending, disjoint, not touching
    std::size_t taken_ = 0;          ///< size of the last message, dropped by the next call
};

}  // namespace purview
