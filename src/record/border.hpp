// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The border of a server: all that a carrier does to it goes through here, and is written down if
// somebody wants it. A server is a function of what crosses its border, of what it was made from
// and of its game, so the file is enough to live it again (replay.hpp).
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>

#include "purview/server.hpp"
#include "record/recording.hpp"

namespace purview::record {

class Border {
  public:
    explicit Border(Server& server);
    /// Everything from now on; before the first datagram. `writer` must outlive this or be taken
    /// away again with null. A state is written once in `state_every_ticks`.
    void record_to(Writer* writer, std::uint32_t state_every_ticks);
    /// The file cannot be written any more: recording has ended.
    std::function<void()> on_lost;
    bool is_recording() const noexcept { return writer_ != nullptr; }
    /// Addresses that are kept: no more than a bound, however many send.
    std::size_t address_count() const noexcept { return numbers_.size(); }

    // As in Server.
    void receive(std::span<const std::byte> datagram, const Address& from, Micros now);
    void tick(Micros now);
    bool next_datagram(OutgoingDatagram& out);
    void address_closed(const Address& address);
    void shut_down();
    Result<ObserverId> add_reference_client();
    /// Before the program does something else to its server: what replay must do then.
    void note(std::string_view text);

  private:
    /// With the server's key: nobody else knows which addresses collide.
    struct AddressHash {
        const ServerDef* def;
        std::size_t operator()(const Address& address) const;
    };
    std::uint32_t number_of(const Address& address);
    void write_state();

    Server* server_;
    Writer* writer_ = nullptr;
    std::uint32_t state_every_ticks_ = 1;
    bool drained_ = true;  ///< and nothing has happened since
    /// Addresses whose numbers are known at a time: anybody can send from any.
    static constexpr std::size_t addresses_max = 1U << 14;
    std::unordered_map<Address, std::uint32_t, AddressHash> numbers_;
    std::uint32_t next_number_ = 0;
    Bytes body_;
};

}  // namespace purview::record
