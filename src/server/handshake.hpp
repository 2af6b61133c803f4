// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Unauthenticated peers. Stores nothing before an address is proven. Sends nothing longer than what
// was received to an unproven address. Owns the cookies, including the spent ones.
//
// All bytes come from the wire: they are checked and counted, never asserted.
//
// Must not know: what happens in a session once it is accepted.
#pragma once

#include <cstdint>
#include <span>

#include "link/encrypted_handshake.hpp"
#include "link/handshake.hpp"
#include "server/datagram_queue.hpp"
#include "server/server_counters.hpp"
#include "server/server_time.hpp"
#include "server/session_table.hpp"

namespace purview {

class Handshake {
  public:
    Handshake(const ServerDef& def, const ServerTime& time, SessionTable& sessions,
              DatagramQueue& datagrams, DropCounters& drops)
        : def_(def),
          time_(time),
          sessions_(sessions),
          datagrams_(datagrams),
          drops_(drops),
          cookies_(def.secret, def.mac) {}

    void receive_hello(std::span<const std::byte> datagram, const Address& from);
    /// Accepts a plain session, or moves one to the address that is now proven.
    void receive_answer(std::span<const std::byte> datagram, const Address& from);
    /// Accepts an encrypted session.
    void receive_encrypted_answer(std::span<const std::byte> datagram, const Address& from);
    /// Moves an encrypted session to the address that is now proven.
    void receive_path_answer(std::span<const std::byte> datagram, const Address& from);
    /// Sends a challenge, with which a client proves its new address. The datagram that caused it
    /// must not be shorter than the challenge. At most ten per second and session.
    void challenge_path(Session& session, const Address& to);

    /// Spends the cookie of an ended session, so that a replayed handshake cannot start it again.
    void spend(const Session& session) { cookies_.spend(session.connection_id, time_.now); }
    /// Refuses all peers from now on: the server shuts down.
    void stop() noexcept { is_stopped_ = true; }

  private:
    /// Returns whether cookie and address match, and counts otherwise.
    bool is_proven(const Answer& answer, const Address& from);
    std::uint64_t connection_of(const Answer& answer, const Address& from);
    void challenge(const Address& to, std::uint64_t nonce);
    void move(Session& session, const Address& from);
    bool may_accept(const Answer& answer, const Address& from);
    Session& add_session(const Answer& answer, const PacketSeal& seal, std::uint64_t connection_id,
                         const Address& from);
    Session* accept_encrypted(const EncryptedAnswer& request, std::span<const std::byte> datagram,
                              std::uint64_t connection_id, const Address& from);
    void send_accept(const Session& session);
    void refuse(const Address& to, std::uint64_t nonce, RefuseReason reason);
    void queue_welcome(Session& session) const;

    const ServerDef& def_;
    const ServerTime& time_;
    SessionTable& sessions_;
    DatagramQueue& datagrams_;
    DropCounters& drops_;
    CookieJar cookies_;
    bool is_stopped_ = false;
};

}  // namespace purview
