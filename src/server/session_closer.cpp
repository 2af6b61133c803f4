// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/session_closer.hpp"

#include <array>

#include "core/cut_text.hpp"
#include "link/messages.hpp"
#include "purview/limits.hpp"

namespace purview {

void SessionCloser::close(Session& session, CloseReason reason, bool notify,
                          std::string_view text) {
    PURVIEW_ASSERT(session.state != Session::State::probe);
    if (session.state == Session::State::closing) return;
    if (notify) {
        std::array<std::byte, close_bytes_max> bytes;
        const std::size_t size = session.seal.write_close(reason, text, bytes);
        datagrams_.add(session.address, std::span<const std::byte>(bytes).first(size));
    }
    handshake_.spend(session);
    sessions_.set_closing(session);
    PURVIEW_ASSERT(sessions_.find_connection(session.connection_id) == nullptr);
}

Status SessionCloser::close(ObserverId observer, CloseReason reason, std::string_view text) {
    Session* session = sessions_.find(observer);
    if (session == nullptr || session->state == Session::State::closing ||
        session->state == Session::State::probe)
        return Status::stale_id;
    // Reasons up to `left` are excluded: only the client itself reports that it left.
    if (reason <= CloseReason::left || reason > CloseReason::never_joined)
        return Status::bad_argument;
    close(*session, reason, true, cut_text(text, limits::reason_text_bytes));
    return Status::ok;
}

void SessionCloser::close_address(const Address& address) {
    for (const auto& session : sessions_) {
        if (session->state != Session::State::probe && session->address == address)
            close(*session, CloseReason::left, false);
    }
}

void SessionCloser::close_all() {
    for (const auto& session : sessions_) {
        if (session->state != Session::State::probe)
            close(*session, CloseReason::shutting_down, true);
    }
}

}  // namespace purview
