// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/session_lifecycle.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/cut_text.hpp"
#include "core/mutate.hpp"
#include "interest/engine.hpp"
#include "link/messages.hpp"
#include "link/timeout.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

/// A client that the game refuses receives the refusal for this long.
constexpr std::uint32_t refusal_ms = 1'000;
/// Capacity of the message queue that is kept from tick to tick.
constexpr std::size_t message_room_kept = 4'096;
constexpr std::size_t message_size_bytes = 2;

}  // namespace

void SessionLifecycle::begin_tick() noexcept {
    joins_left_ = limits::joins_per_tick;
}

void SessionLifecycle::update(Server& server, Session& session, Micros now) {
    switch (session.state) {
        case Session::State::probe:
        case Session::State::closing:
            return;
        case Session::State::accepted:
            // A client that the game refused receives the refusal even after the join timeout.
            if (session.join.refused_at) {
                if (!is_over(*session.join.refused_at, now, refusal_ms)) break;
                closer_.close(session, CloseReason::never_joined, false);
                return;
            }
            if (is_over(session.created, now, def_.join_timeout_ms)) {
                closer_.close(session, CloseReason::never_joined, true);
                return;
            }
            break;
        case Session::State::joining:
            if (joins_left_ > 0) run_join(server, session);
            break;
        case Session::State::joined:
            break;
    }
    // A client that sends but never acknowledges also times out: otherwise its unacknowledged
    // leaves would accumulate.
    const bool is_joined = session.state == Session::State::joined;
    const Micros delivered = is_joined ? session.arrival.delivered : session.arrival.received;
    const Micros received = session.arrival.received;
    const Micros since = PURVIEW_GUARD_OR(delivered, std::min(received, delivered), received);
    // A leave is stored until it is acknowledged, so their number must be bounded.
    const bool has_room = PURVIEW_GUARD(leaving, session.ghosts.leaving_count() <= leaving_max);
    if (is_over(since, now, def_.session_timeout_ms) || !has_room)
        closer_.close(session, CloseReason::timeout, true);
}

void SessionLifecycle::run_join(Server& server, Session& session) {
    PURVIEW_ASSERT(session.state == Session::State::joining && joins_left_ > 0);
    PURVIEW_ASSERT(session.observer == ObserverId::none);
    const JoinRequest request{session.role,         session.join.name,      session.join.credential,
                              session.join.user_id, session.join.user_data, session.join.number};
    const Admission admission = game_.on_admit(server, request);
    if (session.state != Session::State::joining) return;  // the game has shut down
    if (admission.answer == Admission::wait) {
        if (is_over(session.created, time_.now, def_.join_timeout_ms))
            closer_.close(session, CloseReason::never_joined, true);
        return;
    }
    const std::byte joined_message{static_cast<std::uint8_t>(ServerMessage::joined)};
    const bool is_admitted = admission.answer == Admission::accept;
    const std::uint32_t sent_before = session.stream_out.end();
    joins_left_ -= is_admitted ? 1 : 0;
    auto observer =
        is_admitted ? interest_.observers.add_observer() : Result<ObserverId>(Status::refused);
    if (observer) sessions_.set_observer(session, *observer);  // on_join may send a message
    std::optional<EntityId> viewpoint;
    if (observer) viewpoint = game_.on_join(server, *observer, request);
    bool is_accepted = viewpoint.has_value();
    if (is_accepted && *viewpoint != EntityId::none) {
        const Status status = server.visibility().set_viewpoint(*observer, *viewpoint);
        PURVIEW_ASSERT(status == Status::ok &&
                       "Game::on_join returned an entity that does not exist");
        is_accepted = status == Status::ok;
    }
    session.join.credential = {};
    session.join.user_data = {};
    if (session.state != Session::State::joining) {  // the game has closed it, or shut down
        sessions_.set_observer(session, ObserverId::none);
        if (is_accepted) game_.on_leave(server, *observer);
        if (observer) (void)interest_.observers.remove_observer(*observer);
        return;
    }
    if (!is_accepted) {
        sessions_.set_observer(session, ObserverId::none);
        if (observer) (void)interest_.observers.remove_observer(*observer);
        session.stream_out.take_back(sent_before);  // messages sent in on_join
        std::array<std::byte, 2 + limits::reason_text_bytes> refusal;
        BitWriter out(refusal);
        out.u8(static_cast<std::uint8_t>(ServerMessage::refused));
        write_reason_text(
            is_admitted ? std::string_view() : cut_text(admission.text, limits::reason_text_bytes),
            out);
        (void)session.stream_out.send(out.written());
        session.state = Session::State::accepted;
        session.join.refused_at = time_.now;
        return;
    }
    sessions_.set_joined(session);
    session.last_sent_tick = time_.tick;
    session.arrival.delivered = time_.now;
    (void)interest_.observers.set_ready(*observer, true);
    (void)session.stream_out.send_before(sent_before, std::span(&joined_message, 1));
    sections_.queue_cells(session);
}

void SessionLifecycle::run_messages(Server& server, Session& session) {
    std::vector<std::byte>& queue = session.messages;
    // Stops if the game closes the session.
    for (std::size_t at = 0; at < queue.size() && session.state == Session::State::joined;) {
        PURVIEW_ASSERT(queue.size() - at >= message_size_bytes);
        const auto size = std::to_integer<std::size_t>(queue[at]) |
                          std::to_integer<std::size_t>(queue[at + 1]) << 8;
        at += message_size_bytes;
        PURVIEW_ASSERT(size <= queue.size() - at);
        game_.on_message(server, session.observer,
                         std::span<const std::byte>(queue).subspan(at, size));
        at += size;
    }
    queue.clear();
    if (queue.capacity() > message_room_kept) std::vector<std::byte>().swap(queue);
}

void SessionLifecycle::run_commands(Server& server, Session& session) {
    // Stops if the game closes the session.
    for (std::size_t at = 0;
         at < session.commands.size() && session.state == Session::State::joined;) {
        const auto size = std::to_integer<std::size_t>(session.commands[at]);
        PURVIEW_ASSERT(size < session.commands.size() - at);
        game_.on_command(server, session.observer,
                         std::span<const std::byte>(session.commands).subspan(at + 1, size));
        at += 1 + size;
    }
    session.commands.clear();
}

void SessionLifecycle::end_session(Server& server, Session& session) {
    PURVIEW_ASSERT(session.state == Session::State::closing);
    if (session.observer == ObserverId::none) return;
    backlog_age_ticks_max_ = std::max(backlog_age_ticks_max_, longest_wait_ticks(session));
    if (tap_ != nullptr) tap_->session_closed(session);
    events_.note_disconnected(session);
    game_.on_leave(server, session.observer);
    (void)interest_.observers.remove_observer(session.observer);
    gone_.push_back(session.observer);
}

void SessionLifecycle::end_closed(Server& server) {
    gone_.clear();
    // The game may close other sessions when one is reported.
    for (std::size_t i = 0; i < sessions_.closing_count(); ++i)
        end_session(server, sessions_.closing(i));
    std::sort(gone_.begin(), gone_.end());
    calls_.forget(gone_);
    sessions_.remove_closed();
}

Tick SessionLifecycle::longest_wait_ticks(const Session& session) const {
    return std::max(session.ghosts.sends().longest_wait_ticks(),
                    backlog_of(session.ghosts, time_.tick).age_ticks_max);
}

}  // namespace purview
