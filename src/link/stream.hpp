// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Messages that must arrive, whole and in order: a stream of bytes, cut into fragments that ride in
// packets and are sent again when their packet was lost. Bounded on both sides: the sender refuses
// what does not fit, the receiver refuses what runs ahead of its window.
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
/// Bytes that may be sent ahead of what has arrived in order.
inline constexpr std::uint32_t stream_window_bytes = 32'768;

class StreamSender {
  public:
    /// Bytes that wait at most.
    static constexpr std::size_t buffer_bytes_max = 262'144;

    /// too_large: above message_bytes_max. capacity: too much waits already. Nothing was queued.
    Status send(std::span<const std::byte> message) { return send({}, message); }
    /// Of two parts.
    Status send(std::span<const std::byte> head, std::span<const std::byte> rest);
    /// Where the next message will begin. Of what stands from there on, nothing has been written
    /// yet as long as no packet has.
    std::uint32_t end() const noexcept {
        return begin_ + static_cast<std::uint32_t>(buffer_.size());
    }
    /// Puts a message ahead of all from `end_then` on; capacity.
    Status send_before(std::uint32_t end_then, std::span<const std::byte> message);
    /// Takes back all from `end_then` on.
    void take_back(std::uint32_t end_then) noexcept;
    /// Bytes of a message that would still be queued, whatever message_bytes_max says.
    std::size_t room() const noexcept;
    bool is_empty() const noexcept { return buffer_.empty(); }
    bool wants_to_send() const noexcept;

    /// Writes fragments, each preceded by a one bit, that fit into `bits_left`, and notes them
    /// under the packet's number. The closing zero bit is the caller's. True: at least one.
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
    /// Reads fragments up to the closing zero bit, and keeps nothing yet. False: malformed, or
    /// ahead of the window.
    bool read(BitReader& in);
    /// Keeps what was read last; the packet's bytes must still be there.
    void accept();
    /// The next whole message, or false. The span is valid until the next call of anything here.
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

    std::vector<std::byte> window_;  ///< from head_ on stream bytes from begin_ on, with holes
    std::size_t head_ = 0;           ///< bytes before it are over, until the next packet
    std::uint32_t begin_ = 0;        ///< first byte not handed out
    std::vector<Range> arrived_;     ///< ascending, disjoint, not touching
    std::size_t taken_ = 0;          ///< bytes of the message last handed out, dropped next time
};

}  // namespace purview
