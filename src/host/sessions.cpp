// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Sessions: what their clients send, and how they begin and end. Hostile bytes end here: everything
// read is checked and counted; a session that sends too much nonsense is closed, and nobody else
// notices.
#include <algorithm>
#include <cstring>

#include "core/cut_text.hpp"
#include "core/mutate.hpp"
#include "host/server_data.hpp"
#include "host/timeout.hpp"
#include "interest/interest_data.hpp"
#include "link/messages.hpp"
#include "replication/schema_codec.hpp"

namespace purview {

namespace {

/// Whom the game refuses is told so for this long.
constexpr std::uint32_t refusal_ms = 1'000;
/// Commands of one session that wait for the next tick: more than an honest client has, at any
/// rate; a flood hurts only itself.
constexpr std::size_t command_queue_bytes_max = 40 * command_bytes_max;
/// Messages of one session that wait for the next tick. An honest client sends no more ahead of
/// what it knows to have arrived than the window of the stream, and hears of that in ticks only.
constexpr std::size_t message_queue_bytes_max = 131'072;
static_assert(message_queue_bytes_max > stream_window_bytes + message_bytes_max);
/// Room for them that is kept from tick to tick.
constexpr std::size_t message_room_kept = 4'096;
constexpr std::size_t message_size_bytes = 2;

}  // namespace

// -- what arrives -------------------------------------------------------------------------------

void ServerData::receive(std::span<const std::byte> datagram, const Address& from, Micros now) {
    last_now_ = now;
    bytes_received_ += datagram.size();
    if (datagram.size() > datagram_bytes_max) {
        ++drops.oversized;
        return;
    }
    if (datagram.empty()) {
        ++drops.unknown_type;
        return;
    }
    switch (static_cast<PacketType>(datagram[0])) {
        case PacketType::hello:
            return receive_hello(datagram, from, now);
        case PacketType::answer:
            return receive_answer(datagram, from, now);
        case PacketType::data:
            return receive_data(datagram, from, now);
        case PacketType::close:
            return receive_close(datagram);
        default:
            ++drops.unknown_type;
            return;
    }
}

Session* ServerData::session_by_connection(std::uint64_t connection_id) noexcept {
    if (connection_id == ~std::uint64_t{0}) return nullptr;  // the hash table's own mark
    Session** found = by_connection_.find(connection_id);
    return found == nullptr ? nullptr : *found;
}

void ServerData::receive_data(std::span<const std::byte> datagram, const Address& from,
                              Micros now) {
    BitReader in(datagram);
    (void)in.bits(seal_bytes * 8);
    const std::uint64_t id = in.u64();
    Session* session = in.ok() ? session_by_connection(id) : nullptr;
    if (session == nullptr || session->state == Session::State::closing) {
        ++drops.unknown_connection;
        return;
    }
    if (!PURVIEW_GUARD(seal, is_sealed(id, datagram))) {
        ++drops.bad_checksum;  // anybody may have damaged it: the session is not blamed
        return;
    }
    session->bytes_received += datagram.size();
    const PacketLink::Verdict verdict = session->link.read_header(in);
    if (verdict == PacketLink::Verdict::late) {
        ++drops.late_packet;
        return;
    }
    if (verdict == PacketLink::Verdict::malformed || !read_body(*session, in)) {
        return count_malformed(*session);
    }
    // All of it is sound: only now does anything change.
    notices_.clear();
    session->link.accept(notices_);
    lost_packets_.clear();
    for (const DeliveryNotice notice : notices_) {
        if (!notice.delivered) lost_packets_.push_back(notice.sequence);
    }
    session->ghosts.expect_lost(lost_packets_);
    for (const DeliveryNotice notice : notices_) resolve(*session, notice, now);
    session->stream_in.accept();
    take_commands(*session);
    take_inputs(*session);
    resolve_callees(*session);
    session->calls_in.accept(*def.schema, now, [](LocalId) { return true; });
    if (body_.has_digest && tap != nullptr) {
        tap->digest_received(*session, session->link.resolved(), body_.digest);
    }
    if (!read_messages(*session)) return count_malformed(*session);
    // From elsewhere it counts once that address is proven: nobody is sent anything for ever
    // because a stranger to it says so.
    if (session->address == from) session->last_heard = now;
    if (!(session->address == from) && datagram.size() >= challenge_bytes) {
        // It speaks from a new address. Nothing goes there before the address is proven.
        challenge(from, session->nonce, now);
    }
}

void ServerData::resolve(Session& session, DeliveryNotice notice, Micros now) {
    resolve_sections(session, notice);
    session.ghosts.resolve(notice.sequence, notice.delivered);
    session.calls_out.resolve(notice.sequence, notice.delivered);
    if (session.keep_held_reports && notice.delivered &&
        session.ghosts.held_report().sequence == notice.sequence) {
        session.held_reports.push_back(session.ghosts.held_report());
    }
    session.stream_out.resolve(notice.sequence, notice.delivered);
    if (notice.delivered) {
        const Session::Sent& sent = session.sent_in(notice.sequence);
        session.last_delivered = now;
        session.newest_delivered_tick = std::max(session.newest_delivered_tick, sent.tick);
        const auto sample = static_cast<std::uint32_t>(now > sent.at ? now - sent.at : 0);
        session.rtt_us = session.rtt_us == 0 ? sample : (session.rtt_us * 7 + sample) / 8;
    } else {
        ++session.packets_lost;
    }
    if (tap != nullptr) tap->packet_resolved(session, notice);
}

void ServerData::count_malformed(Session& session) {
    ++drops.malformed_packet;
    if (!PURVIEW_GUARD(malformed, ++session.malformed <= def.malformed_max))
        mark_closed(session, CloseReason::malformed, true);
}

/// Everything behind the header of a client's packet; changes nothing but body_.
bool ServerData::read_body(Session& session, BitReader& in) {
    body_ = Body{};
    if (!session.stream_in.read(in)) return false;
    body_.has_digest = in.boolean();
    if (body_.has_digest) body_.digest = in.u64();
    body_.command_count = static_cast<std::uint32_t>(in.varint_max(commands_per_packet_max));
    if (body_.command_count > 0) body_.newest_command = static_cast<std::uint16_t>(in.bits(16));
    for (std::uint32_t i = 0; i < body_.command_count && in.ok(); ++i) {
        const auto size = static_cast<std::size_t>(in.bits(8));
        if (size > command_bytes_max) in.fail();
        body_.commands[i] = in.bytes(size);
    }
    if (!session.calls_in.read(*def.schema, RpcDirection::to_server, in)) return false;
    const bool may_call = session.state == Session::State::joined;
    if (!PURVIEW_GUARD(call_joined, may_call || session.calls_in.staged().empty())) return false;
    body_.has_inputs = in.bits_left() > 0 && in.boolean();
    if (body_.has_inputs && !purview::read_inputs(*def.schema, in, inputs.packet)) return false;
    // Zero padding may follow (PROTOCOL.md: no packet of a client is shorter than a challenge).
    in.align();
    while (in.ok() && in.bits_left() >= 8) {
        if (in.u8() != 0) in.fail();
    }
    return in.ok();
}

/// Commands that have not been taken yet, oldest first. Numbers are compared by distance: they
/// wrap, and a stranger chooses them.
void ServerData::take_commands(Session& session) {
    const std::uint32_t last = session.next_command - 1;
    const auto distance =
        static_cast<std::int16_t>(body_.newest_command - static_cast<std::uint16_t>(last));
    const std::uint32_t newest = last + static_cast<std::uint32_t>(distance);
    for (std::uint32_t i = 0; i < body_.command_count; ++i) {
        const std::uint32_t number = newest - (body_.command_count - 1 - i);
        if (!PURVIEW_GUARD(command_once,
                           static_cast<std::int32_t>(number - session.next_command) >= 0))
            continue;
        session.next_command = number + 1;
        queue_command(session, body_.commands[i]);
    }
}

void ServerData::queue_command(Session& session, std::span<const std::byte> command) {
    if (!PURVIEW_GUARD(command_queue, session.commands.size() <= command_queue_bytes_max)) {
        ++drops.commands;
        return;
    }
    session.commands.push_back(static_cast<std::byte>(command.size()));
    session.commands.insert(session.commands.end(), command.begin(), command.end());
}

/// None of them may be left out: whoever sends more than an honest client can is closed.
void ServerData::queue_message(Session& session, std::span<const std::byte> message) {
    std::vector<std::byte>& queue = session.messages;
    if (!PURVIEW_GUARD(message_queue, queue.size() + message.size() <= message_queue_bytes_max)) {
        ++drops.malformed_packet;
        mark_closed(session, CloseReason::malformed, true);
        return;
    }
    queue.push_back(static_cast<std::byte>(message.size()));
    queue.push_back(static_cast<std::byte>(message.size() >> 8));
    queue.insert(queue.end(), message.begin(), message.end());
}

bool ServerData::read_messages(Session& session) {
    std::span<const std::byte> message;
    while (session.state != Session::State::closing && session.stream_in.next_message(message)) {
        BitReader in(message);
        switch (static_cast<ClientMessage>(in.u8())) {
            case ClientMessage::join: {
                const std::optional<Join> join = read_join(in);
                if (!join) return false;
                if (!PURVIEW_GUARD(join_once, session.state == Session::State::accepted &&
                                                  !session.refused_at))
                    break;  // twice is nothing new
                session.role = join->role;
                session.name = join->name;
                session.credential.assign(join->credential.begin(), join->credential.end());
                session.join_number = ++joins_;
                session.state = Session::State::joining;
                break;
            }
            case ClientMessage::state:
                if (tap != nullptr) tap->state_received(session, message.subspan(1));
                break;
            case ClientMessage::game:
                if (!PURVIEW_GUARD(message_joined, session.state == Session::State::joined))
                    return false;
                queue_message(session, message.subspan(1));
                break;
            default:
                return false;
        }
    }
    return true;
}

void ServerData::receive_close(std::span<const std::byte> datagram) {
    const auto closing = read_close(datagram);
    Session* session = closing ? session_by_connection(closing->connection_id) : nullptr;
    if (session == nullptr) {
        ++(closing ? drops.unknown_connection : drops.malformed_handshake);
        return;
    }
    mark_closed(*session, CloseReason::left, false);
}

// -- life of a session --------------------------------------------------------------------------

void ServerData::mark_closed(Session& session, CloseReason reason, bool tell,
                             std::string_view text) {
    if (session.state == Session::State::closing) return;
    if (tell) {
        std::array<std::byte, close_bytes_max> bytes;
        const std::size_t size = write(Close{session.connection_id, reason, text}, bytes);
        queue(session.address, std::span<const std::byte>(bytes).first(size));
    }
    by_connection_.erase(session.connection_id);
    cookies_.spend(session.connection_id, last_now_);
    session.state = Session::State::closing;
    host_counts_.closing(session.address);
    closing_.push_back(&session);
}

Session* ServerData::find_session(ObserverId observer) noexcept {
    const std::size_t index = index_of(observer);
    Session* session = index < by_observer_.size() ? by_observer_[index] : nullptr;
    return session != nullptr && session->observer == observer ? session : nullptr;
}

void ServerData::set_observer(Session& session, ObserverId observer) {
    const std::size_t before = index_of(session.observer);
    if (before < by_observer_.size() && by_observer_[before] == &session)
        by_observer_[before] = nullptr;
    session.observer = observer;
    if (observer == ObserverId::none) return;
    if (by_observer_.size() <= index_of(observer)) by_observer_.resize(index_of(observer) + 1);
    by_observer_[index_of(observer)] = &session;
}

Status ServerData::close(ObserverId observer, CloseReason reason, std::string_view text) {
    Session* session = find_session(observer);
    if (session == nullptr || session->state == Session::State::closing ||
        session->state == Session::State::probe)
        return Status::stale_id;
    // Who left has said so himself.
    if (reason <= CloseReason::left || reason > CloseReason::never_joined)
        return Status::bad_argument;
    mark_closed(*session, reason, true, cut_text(text, reason_text_bytes_max));
    return Status::ok;
}

void ServerData::shut_down() {
    shutting_down_ = true;
    for (auto& session : sessions) {
        if (session->state != Session::State::probe) {
            mark_closed(*session, CloseReason::shutting_down, true);
        }
    }
}

void ServerData::address_closed(const Address& address) {
    for (auto& session : sessions) {
        if (session->state != Session::State::probe && session->address == address)
            mark_closed(*session, CloseReason::left, false);
    }
}

Status ServerData::send_message(ObserverId observer, std::span<const std::byte> message) {
    Session* session = find_session(observer);
    if (session == nullptr || session->state == Session::State::closing ||
        session->state == Session::State::probe)
        return Status::stale_id;
    if (message.size() > game_message_bytes_max) return Status::too_large;
    if (message.size() + stream_bytes_kept > session->stream_out.room()) return Status::capacity;
    const std::byte type{static_cast<std::uint8_t>(ServerMessage::game)};
    return session->stream_out.send(std::span(&type, 1), message);
}

Status ServerData::request_state(ObserverId observer) {
    Session* session = find_session(observer);
    if (session == nullptr) return Status::stale_id;
    const std::byte request{static_cast<std::uint8_t>(ServerMessage::state_request)};
    return session->stream_out.send(std::span(&request, 1));
}

/// The game does not remove it under our hands.
Result<ObserverId> ServerData::add_observer() {
    auto observer = interest.add_observer();
    if (observer) (void)interest.data().hold_observer(*observer, true);
    return observer;
}

void ServerData::remove_observer(ObserverId observer) {
    (void)interest.data().hold_observer(observer, false);
    (void)interest.remove_observer(observer);
}

Result<ObserverId> ServerData::add_probe() {
    auto observer = add_observer();
    if (!observer) return observer.error();
    (void)interest.set_sees_everything(*observer, true);
    (void)interest.set_ready(*observer, true);
    auto session = std::make_unique<Session>();
    session->budget_bytes = def.budget_bytes_per_tick;
    session->state = Session::State::probe;
    set_observer(*session, *observer);
    session->next_command = 1;
    sessions.push_back(std::move(session));
    return *observer;
}

void ServerData::receive_stage(Server& server, Micros now) {
    last_now_ = now;
    joins_left_ = joins_per_tick_max;
    // The game may add a probe when it is called.
    const std::size_t count = sessions.size();
    for (std::size_t i = 0; i < count; ++i) {
        prefetch_session(i + sessions_ahead);
        Session& session = *sessions[i];
        switch (session.state) {
            case Session::State::probe:
            case Session::State::closing:
                continue;
            case Session::State::accepted:
                // Whom the game refused, however late, hears of it by a message.
                if (session.refused_at) {
                    if (!is_over(*session.refused_at, now, refusal_ms)) break;
                    mark_closed(session, CloseReason::never_joined, false);
                    continue;
                }
                if (is_over(session.created, now, def.join_timeout_ms)) {
                    mark_closed(session, CloseReason::never_joined, true);
                    continue;
                }
                break;
            case Session::State::joining:
                if (joins_left_ > 0) run_join(server, session);
                break;
            case Session::State::joined:
                break;
        }
        // Who speaks, but says that nothing arrives, is not there either; all that left would be
        // kept for him.
        const bool is_joined = session.state == Session::State::joined;
        const Micros delivered = is_joined ? session.last_delivered : session.last_heard;
        const Micros heard = session.last_heard;
        const Micros since = PURVIEW_GUARD_OR(delivered, std::min(heard, delivered), heard);
        // What left stays until the client says that it knows: who never does is not there.
        const bool has_room = PURVIEW_GUARD(leaving, session.ghosts.leaving_count() <= leaving_max);
        if (is_over(since, now, def.session_timeout_ms) || !has_room)
            mark_closed(session, CloseReason::timeout, true);
    }
    for (std::size_t i = 0; i < count; ++i) {
        prefetch_session(i + sessions_ahead);
        Session& session = *sessions[i];
        if (session.state == Session::State::joined) run_messages(server, session);
        if (session.state == Session::State::joined) run_commands(server, session);
        if (session.state == Session::State::joined) run_inputs(server, session);
        if (session.state == Session::State::joined) run_calls(server, session);
    }
    // The game may close others when it is told of one.
    gone_.clear();
    for (std::size_t i = 0; i < closing_.size(); ++i) end_session(server, *closing_[i]);
    closing_.clear();
    std::sort(gone_.begin(), gone_.end());
    forget_held(gone_);
    std::erase_if(sessions, [&](const auto& s) {
        if (s->state != Session::State::closing) return false;
        set_observer(*s, ObserverId::none);
        host_counts_.gone(s->address);
        return true;
    });
}

void ServerData::run_join(Server& server, Session& session) {
    const JoinRequest request{session.role, session.name, session.credential, session.join_number};
    const Admission admission = game_->admit(server, request);
    if (session.state != Session::State::joining) return;  // the game has shut down
    if (admission.answer == Admission::wait) {
        if (is_over(session.created, last_now_, def.join_timeout_ms))
            mark_closed(session, CloseReason::never_joined, true);
        return;
    }
    const std::byte yes{static_cast<std::uint8_t>(ServerMessage::joined)};
    const bool is_admitted = admission.answer == Admission::accept;
    const std::uint32_t said_before = session.stream_out.end();
    joins_left_ -= is_admitted ? 1 : 0;
    auto observer = is_admitted ? add_observer() : Result<ObserverId>(Status::refused);
    if (observer) set_observer(session, *observer);  // the game may greet him
    const bool is_in = observer && game_->joined(server, *observer, request);
    session.credential = {};
    if (session.state != Session::State::joining) {  // the game has closed it, or shut down
        set_observer(session, ObserverId::none);
        if (is_in) game_->left(server, *observer);
        if (observer) remove_observer(*observer);
        return;
    }
    if (!is_in) {
        set_observer(session, ObserverId::none);
        if (observer) remove_observer(*observer);
        session.stream_out.take_back(said_before);  // was for whom it would have let in
        std::array<std::byte, 2 + reason_text_bytes_max> no;
        BitWriter out(no);
        out.u8(static_cast<std::uint8_t>(ServerMessage::refused));
        write_reason_text(
            is_admitted ? std::string_view() : cut_text(admission.text, reason_text_bytes_max),
            out);
        (void)session.stream_out.send(out.written());
        session.state = Session::State::accepted;
        session.refused_at = last_now_;
        return;
    }
    session.state = Session::State::joined;
    session.told_tick = tick_number;
    session.last_delivered = last_now_;
    (void)interest.set_ready(*observer, true);
    (void)session.stream_out.send_before(said_before, std::span(&yes, 1));
    queue_cells(session);
}

void ServerData::run_messages(Server& server, Session& session) {
    std::vector<std::byte>& queue = session.messages;
    // Whom the game closes has no say any more.
    for (std::size_t at = 0; at < queue.size() && session.state == Session::State::joined;) {
        const auto size = std::to_integer<std::size_t>(queue[at]) |
                          std::to_integer<std::size_t>(queue[at + 1]) << 8;
        at += message_size_bytes;
        game_->message(server, session.observer,
                       std::span<const std::byte>(queue).subspan(at, size));
        at += size;
    }
    queue.clear();
    if (queue.capacity() > message_room_kept) std::vector<std::byte>().swap(queue);
}

void ServerData::run_commands(Server& server, Session& session) {
    // Whom the game closes has no say any more.
    for (std::size_t at = 0;
         at < session.commands.size() && session.state == Session::State::joined;) {
        const auto size = std::to_integer<std::size_t>(session.commands[at]);
        game_->command(server, session.observer,
                       std::span<const std::byte>(session.commands).subspan(at + 1, size));
        at += 1 + size;
    }
    session.commands.clear();
}

void ServerData::end_session(Server& server, Session& session) {
    if (session.observer == ObserverId::none) return;
    backlog_age_ticks_max_ = std::max(backlog_age_ticks_max_, longest_wait_ticks(session));
    if (tap != nullptr) tap->session_closed(session);
    tell_disconnected(session);
    game_->left(server, session.observer);
    remove_observer(session.observer);
    gone_.push_back(session.observer);
}

Tick ServerData::longest_wait_ticks(const Session& session) const {
    return std::max(session.ghosts.longest_wait_ticks(),
                    backlog_of(session.ghosts, tick_number).age_ticks_max);
}

ServerStats ServerData::stats() const {
    ServerStats stats;
    stats.backlog_age_ticks_max = backlog_age_ticks_max_;
    for (const auto& session : sessions) {
        if (session->state == Session::State::probe) {
            stats.probe_bytes += session->bytes_sent;
            continue;
        }
        stats.backlog_age_ticks_max =
            std::max(stats.backlog_age_ticks_max, longest_wait_ticks(*session));
        ++stats.sessions;
        if (session->state == Session::State::joined) ++stats.observers_ready;
    }
    stats.entities = world.entity_count();
    stats.enters = enters_;
    stats.leaves = leaves_;
    stats.bytes_sent = bytes_sent_;
    stats.bytes_received = bytes_received_;
    for (const auto& worker : workers_) {
        stats.encodings += worker->cache.encodings();
        stats.encoding_uses += worker->cache.uses();
    }
    stats.bad_places = world.data().bad_places();
    stats.clamped_values = fields_.clamped().values;
    stats.clamped_entity = fields_.clamped().entity;
    stats.clamped_component = fields_.clamped().component;
    stats.split_updates = split_updates_;
    stats.limited_updates = limited_updates_;
    stats.sections = shared_.counters.sections;
    stats.section_copies = shared_.counters.copies;
    stats.sections_stripped = shared_.counters.stripped;
    stats.sections_left_out = shared_.counters.left_out;
    return stats;
}

}  // namespace purview
