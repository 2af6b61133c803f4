// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The one way in which a session ends: it leaves the indices of the table at once, its cookie is
// spent, its peer is notified where that makes sense, and the next tick reports it to the game.
//
// Must not know: the game, ghosts.
#pragma once

#include <string_view>

#include "server/datagram_queue.hpp"
#include "server/handshake.hpp"
#include "server/session_table.hpp"

namespace purview {

class SessionCloser {
  public:
    SessionCloser(SessionTable& sessions, Handshake& handshake, DatagramQueue& datagrams)
        : sessions_(sessions), handshake_(handshake), datagrams_(datagrams) {}

    /// Does nothing for a session that is closing already. Not a probe. `notify`: sends a close to
    /// its peer.
    void close(Session& session, CloseReason reason, bool notify, std::string_view text = {});
    /// As the game asks for it. stale_id, bad_argument, or ok.
    Status close(ObserverId observer, CloseReason reason, std::string_view text);
    void close_address(const Address& address);
    /// The server shuts down.
    void close_all();

  private:
    SessionTable& sessions_;
    Handshake& handshake_;
    DatagramQueue& datagrams_;
};

}  // namespace purview
