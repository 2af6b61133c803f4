// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// I/O recorder: all input to a server and all output from it pass through here and can be recorded.
// A server depends only on this input, its definition and its game, so the file is sufficient for a
// replay (replay.hpp).
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>

#include "purview/server.hpp"
#include "record/recording.hpp"

namespace purview::record {

class IoRecorder {
  public:
    explicit IoRecorder(Server& server);
    /// Starts a recording. Call it before the first datagram. `writer` must outlive this object or
    /// be removed with null. A state hash is written every `state_every_ticks` ticks.
    void record_to(Writer* writer, std::uint32_t state_every_ticks);
    /// Called when the file can no longer be written. The recording has ended then.
    std::function<void()> on_lost;
    bool is_recording() const noexcept { return writer_ != nullptr; }
    /// Returns the number of stored addresses; bounded for any number of senders.
    std::size_t address_count() const noexcept { return numbers_.size(); }

    // These functions correspond to those of Server.
    void receive(std::span<const std::byte> datagram, const Address& from, Micros now);
    void tick(Micros now);
    bool next_datagram(OutgoingDatagram& out);
    void address_closed(const Address& address);
    void shut_down();
    Result<ObserverId> add_reference_client();
    /// Records an action of the program on its server, which a replay must repeat. Call before the
    /// action.
    void note(std::string_view text);

  private:
    /// Keyed with the server's secret, so that an attacker cannot find colliding addresses.
    struct AddressHash {
        const ServerDef* def;
        std::size_t operator()(const Address& address) const;
    };
    std::uint32_t number_of(const Address& address);
    void write_state();

    Server* server_;
    Writer* writer_ = nullptr;
    std::uint32_t state_every_ticks_ = 1;
    bool drained_ = true;  ///< all output was taken, and nothing has happened since
    /// Limit on addresses with a number, because anyone can send from any address.
    static constexpr std::size_t addresses_max = 1U << 14;
    std::unordered_map<Address, std::uint32_t, AddressHash> numbers_;
    std::uint32_t next_number_ = 0;
    Bytes body_;
};

}  // namespace purview::record
