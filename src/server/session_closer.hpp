// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The only way in which a session ends. It leaves the indices of the table at once, and its cookie
// is spent. Its peer is notified where that makes sense, and the next tick reports it to the game.
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

    /// Does nothing for a session that is already closing. Not for reference clients. `notify`:
    /// sends a close to its peer.
    void close(Session& session, CloseReason reason, bool notify, std::string_view text = {});
    /// Closes a session for the game. Returns stale_id, bad_argument, or ok.
    Status close(ObserverId observer, CloseReason reason, std::string_view text);
    void close_address(const Address& address);
    /// Closes all sessions, because the server shuts down.
    void close_all();

  private:
    SessionTable& sessions_;
    Handshake& handshake_;
    DatagramQueue& datagrams_;
};

}  // namespace purview
