// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/receiver.hpp"

#include <algorithm>

#include "core/mutate.hpp"
#include "link/messages.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

/// Byte limit on the commands of one session that wait for the next tick; a well-behaved client
/// stays below it. A flood affects only its own session.
constexpr std::size_t command_queue_bytes_max = 40 * limits::command_bytes;
/// Byte limit on the messages of one session that wait for the next tick. A well-behaved client
/// sends at most the stream window ahead of the acknowledgements, which it receives only once per
/// tick.
constexpr std::size_t message_queue_bytes_max = 131'072;
static_assert(message_queue_bytes_max > stream_window_bytes + message_bytes_max);

}  // namespace

void Receiver::receive(std::span<const std::byte> datagram, const Address& from, Micros now) {
    time_.now = now;
    bytes_received_ += datagram.size();
    if (datagram.size() > limits::datagram_bytes) {
        ++drops_.oversized;
        return;
    }
    if (datagram.empty()) {
        ++drops_.unknown_type;
        return;
    }
    switch (static_cast<PacketType>(datagram[0])) {
        case PacketType::hello:
            return handshake_.receive_hello(datagram, from);
        case PacketType::answer:
            return handshake_.receive_answer(datagram, from);
        case PacketType::encrypted_answer:
            return handshake_.receive_encrypted_answer(datagram, from);
        case PacketType::path_answer:
            return handshake_.receive_path_answer(datagram, from);
        case PacketType::data:
        case PacketType::encrypted_data:
            return receive_data(datagram, from, now);
        case PacketType::close:
        case PacketType::encrypted_close:
            return receive_close(datagram);
        default:
            ++drops_.unknown_type;
            return;
    }
}

/// Finds the session of a data or close packet by its connection id. Null: unknown, or too short.
Session* Receiver::find_session(std::span<const std::byte> datagram) const noexcept {
    const auto type = static_cast<PacketType>(datagram[0]);
    const bool is_encrypted =
        type == PacketType::encrypted_data || type == PacketType::encrypted_close;
    const std::size_t id_at = is_encrypted ? 1 + tag_bytes : seal_bytes;
    if (datagram.size() < id_at + sizeof(std::uint64_t)) return nullptr;
    return sessions_.find_connection(load_word(&datagram[id_at]));
}

void Receiver::receive_data(std::span<const std::byte> datagram, const Address& from, Micros now) {
    Session* session = find_session(datagram);
    if (session == nullptr || session->state == Session::State::closing) {
        ++drops_.unknown_connection;
        return;
    }
    const std::size_t head = session->seal.head_bytes();
    const std::size_t number_at = std::min(head + sizeof(std::uint64_t), datagram.size());
    const std::uint32_t number = session->link.number_of(datagram.subspan(number_at));
    const auto packet = session->seal.open(number, clear_bytes_to_server, datagram, scratch_);
    if (!packet) {
        ++drops_.bad_checksum;  // damaged in transit or forged: not counted against the session
        return;
    }
    BitReader in(*packet);
    (void)in.bytes(head + sizeof(std::uint64_t));
    session->bytes_received += datagram.size();
    const PacketLink::Verdict verdict = session->link.read_header(in);
    if (verdict == PacketLink::Verdict::late) {
        ++drops_.late_packet;
        return;
    }
    if (verdict == PacketLink::Verdict::malformed || !read_body(*session, in)) {
        return count_malformed(*session);
    }
    // The packet is valid; only now does state change.
    notices_.clear();
    session->link.accept(notices_);
    lost_packets_.clear();
    for (const DeliveryNotice notice : notices_) {
        if (!notice.delivered) lost_packets_.push_back(notice.sequence);
    }
    PURVIEW_ASSERT(std::is_sorted(lost_packets_.begin(), lost_packets_.end()));
    session->ghosts.expect_lost(lost_packets_);
    for (const DeliveryNotice notice : notices_) resolve(*session, notice, now);
    session->stream_in.accept();
    take_commands(*session);
    if (body_.has_inputs && session->state == Session::State::joined) inputs_.take(*session);
    calls_.resolve_targets(*session);
    session->calls_in.accept(*def_.schema, now, [](LocalId) { return true; });
    if (body_.has_digest && tap_ != nullptr) {
        tap_->digest_received(*session, session->link.resolved(), body_.digest);
    }
    if (!read_messages(*session)) return count_malformed(*session);
    // A packet from another address does not count before that address is proven. Otherwise a
    // forged packet could keep a session alive forever.
    if (session->address == from) session->arrival.received = now;
    if (!(session->address == from) &&
        datagram.size() >=
            (session->seal.is_encrypted() ? path_challenge_bytes : challenge_bytes)) {
        // Sends only the challenge to a new address before it is proven.
        handshake_.challenge_path(*session, from);
    }
}

void Receiver::resolve(Session& session, DeliveryNotice notice, Micros now) {
    sections_.resolve(session, notice);
    session.ghosts.resolve(notice.sequence, notice.delivered);
    session.calls_out.resolve(notice.sequence, notice.delivered);
    if (session.keep_held_reports && notice.delivered &&
        session.ghosts.reports().last().sequence == notice.sequence) {
        session.held_reports.push_back(session.ghosts.reports().last());
    }
    session.stream_out.resolve(notice.sequence, notice.delivered);
    if (notice.delivered) {
        const Session::Sent& sent = session.sent_in(notice.sequence);
        PURVIEW_ASSERT(sent.tick <= time_.tick);
        session.arrival.delivered = now;
        session.arrival.delivered_tick = std::max(session.arrival.delivered_tick, sent.tick);
        const auto sample = static_cast<std::uint32_t>(now > sent.at ? now - sent.at : 0);
        session.arrival.rtt_us =
            session.arrival.rtt_us == 0 ? sample : (session.arrival.rtt_us * 7 + sample) / 8;
    } else {
        ++session.counts.packets_lost;
    }
    if (tap_ != nullptr) tap_->packet_resolved(session, notice);
}

void Receiver::count_malformed(Session& session) {
    ++drops_.malformed_packet;
    if (!PURVIEW_GUARD(malformed, ++session.misuse.malformed <= def_.malformed_max))
        closer_.close(session, CloseReason::malformed, true);
}

/// Reads everything after the header of a client's packet; changes only body_.
bool Receiver::read_body(Session& session, BitReader& in) {
    body_ = Body{};
    if (!session.stream_in.read(in)) return false;
    body_.has_digest = in.boolean();
    if (body_.has_digest) body_.digest = in.u64();
    body_.command_count = static_cast<std::uint32_t>(in.varint_max(commands_per_packet_max));
    if (body_.command_count > 0) body_.newest_input = static_cast<std::uint16_t>(in.bits(16));
    for (std::uint32_t i = 0; i < body_.command_count && in.ok(); ++i) {
        const auto size = static_cast<std::size_t>(in.bits(8));
        if (size > limits::command_bytes) in.fail();
        body_.commands[i] = in.bytes(size);
    }
    if (!session.calls_in.read(*def_.schema, RpcDirection::to_server, in)) return false;
    const bool may_call = session.state == Session::State::joined;
    if (!PURVIEW_GUARD(call_joined, may_call || session.calls_in.staged().empty())) return false;
    body_.has_inputs = in.bits_left() > 0 && in.boolean();
    if (body_.has_inputs && !inputs_.read(in)) return false;
    // Zero padding may follow (PROTOCOL.md: no packet of a client is shorter than a challenge).
    in.align();
    while (in.ok() && in.bits_left() >= 8) {
        if (in.u8() != 0) in.fail();
    }
    return in.ok();
}

/// Queues the commands that were not taken yet, oldest first. Numbers are compared by distance,
/// because they wrap and an untrusted peer chooses them.
void Receiver::take_commands(Session& session) {
    const std::uint32_t last = session.next_command - 1;
    const auto distance =
        static_cast<std::int16_t>(body_.newest_input - static_cast<std::uint16_t>(last));
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

void Receiver::queue_command(Session& session, std::span<const std::byte> command) {
    if (!PURVIEW_GUARD(command_queue, session.commands.size() <= command_queue_bytes_max)) {
        ++drops_.commands;
        return;
    }
    PURVIEW_ASSERT(command.size() <= limits::command_bytes);  // read_body refuses longer commands
    session.commands.push_back(static_cast<std::byte>(command.size()));
    session.commands.insert(session.commands.end(), command.begin(), command.end());
}

/// A message must not be dropped, so a client that exceeds the limit of a well-behaved one is
/// closed.
void Receiver::queue_message(Session& session, std::span<const std::byte> message) {
    std::vector<std::byte>& queue = session.messages;
    if (!PURVIEW_GUARD(message_queue, queue.size() + message.size() <= message_queue_bytes_max)) {
        ++drops_.malformed_packet;
        closer_.close(session, CloseReason::malformed, true);
        return;
    }
    PURVIEW_ASSERT(message.size() <= message_bytes_max);  // the size field has two bytes
    queue.push_back(static_cast<std::byte>(message.size()));
    queue.push_back(static_cast<std::byte>(message.size() >> 8));
    queue.insert(queue.end(), message.begin(), message.end());
}

bool Receiver::read_messages(Session& session) {
    std::span<const std::byte> message;
    while (session.state != Session::State::closing && session.stream_in.next_message(message)) {
        BitReader in(message);
        switch (static_cast<ClientMessage>(in.u8())) {
            case ClientMessage::join: {
                const std::optional<Join> join = read_join(in);
                if (!join) return false;
                if (!PURVIEW_GUARD(join_once, session.state == Session::State::accepted &&
                                                  !session.join.refused_at))
                    break;  // a repeated join is ignored
                PURVIEW_ASSERT(session.observer == ObserverId::none);
                session.role = join->role;
                session.join.name = join->name;
                session.join.credential.assign(join->credential.begin(), join->credential.end());
                session.join.number = sessions_.take_join_number();
                session.state = Session::State::joining;
                break;
            }
            case ClientMessage::state:
                if (tap_ != nullptr) tap_->state_received(session, message.subspan(1));
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

void Receiver::receive_close(std::span<const std::byte> datagram) {
    Session* session = find_session(datagram);
    if (session == nullptr) {
        ++drops_.unknown_connection;
        return;
    }
    if (!session->seal.read_close(datagram, scratch_)) {
        ++drops_.malformed_handshake;
        return;
    }
    closer_.close(*session, CloseReason::left, false);
}

}  // namespace purview
