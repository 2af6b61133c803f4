// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/handshake.hpp"

#include <algorithm>
#include <array>

#include "core/cut_text.hpp"
#include "core/mutate.hpp"
#include "link/address.hpp"
#include "link/messages.hpp"
#include "protocol/schema_codec.hpp"
#include "purview/limits.hpp"

namespace purview {

void Handshake::challenge(const Address& to, std::uint64_t nonce) {
    std::array<std::byte, challenge_bytes> bytes;
    const Challenge challenge{nonce, cookies_.make(to, nonce, time_.now)};
    datagrams_.add(to, std::span<const std::byte>(bytes).first(write(challenge, bytes)));
}

void Handshake::refuse(const Address& to, std::uint64_t nonce, RefuseReason reason) {
    std::array<std::byte, hello_bytes> bytes;
    const Refuse refusal{nonce, reason, limits::protocol_version};
    datagrams_.add(to, std::span<const std::byte>(bytes).first(write(refusal, bytes)));
}

void Handshake::receive_hello(std::span<const std::byte> datagram, const Address& from) {
    const auto hello = read_hello(datagram);
    if (!hello) {
        ++drops_.malformed_handshake;
        return;
    }
    if (!PURVIEW_GUARD(version, hello->version == limits::protocol_version)) {
        ++drops_.wrong_version;
        return refuse(from, hello->nonce, RefuseReason::version);
    }
    if (hello->schema_hash != 0 && hello->schema_hash != def_.schema->hash()) {
        ++drops_.wrong_schema;
        return refuse(from, hello->nonce, RefuseReason::schema);
    }
    if (is_stopped_) return refuse(from, hello->nonce, RefuseReason::shutting_down);
    challenge(from, hello->nonce);
}

/// A known client has proven its new address.
void Handshake::move(const Answer& answer, const Address& from) {
    Session* session = sessions_.find_connection(answer.connection_id);
    if (session == nullptr) {
        ++drops_.unknown_connection;
        return;
    }
    if (session->nonce != answer.nonce) {  // the challenge was for another peer
        ++drops_.bad_cookie;
        return;
    }
    const bool is_of_host = is_same_host(session->address, from);
    if (!PURVIEW_GUARD(movers_of_host, is_of_host || sessions_.host_counts().of(from).connected <
                                                         def_.sessions_per_host_max)) {
        ++drops_.address_limit;
        return;
    }
    const bool fits_network = sessions_.host_counts().has_network_room(session->address, from,
                                                                       def_.sessions_per_host_max);
    if (!PURVIEW_GUARD(movers_of_network, fits_network)) {
        ++drops_.address_limit;
        return;
    }
    sessions_.set_address(*session, from);
}

/// Returns false if no session was created: the peer was refused, or only a counter was
/// incremented.
bool Handshake::accept(const Answer& answer, std::uint64_t id, const Address& from) {
    if (answer.schema_hash != 0 && answer.schema_hash != def_.schema->hash()) {
        ++drops_.wrong_schema;
        refuse(from, answer.nonce, RefuseReason::schema);
        return false;
    }
    if (is_stopped_) {
        refuse(from, answer.nonce, RefuseReason::shutting_down);
        return false;
    }
    const HostCounts::Count all = sessions_.host_counts().all();
    const HostCounts::Count of_host = sessions_.host_counts().of(from);
    if (!PURVIEW_GUARD(sessions, all.connected < def_.sessions_max)) {
        ++drops_.full;
        refuse(from, answer.nonce, RefuseReason::full);
        return false;
    }
    if (!PURVIEW_GUARD(sessions_of_host, of_host.connected < def_.sessions_per_host_max)) {
        ++drops_.address_limit;
        refuse(from, answer.nonce, RefuseReason::address_limit);
        return false;
    }
    if (!PURVIEW_GUARD(sessions_of_network, sessions_.host_counts().has_network_room(
                                                from, def_.sessions_per_host_max))) {
        ++drops_.address_limit;
        refuse(from, answer.nonce, RefuseReason::address_limit);
        return false;
    }
    // Bounds the sessions of peers that have proven only an address. Such peers receive no refusal.
    if (!PURVIEW_GUARD(sessions_unjoined, sessions_.unjoined() < def_.sessions_unjoined_max)) {
        ++drops_.full;
        return false;
    }
    // Limits the sessions that begin and end between two ticks. No refusal is sent, because the
    // client repeats the answer.
    constexpr std::uint64_t twice = 2;
    const bool has_room = all.connected + all.closing < twice * def_.sessions_max;
    if (!PURVIEW_GUARD(sessions_closing, has_room && of_host.connected + of_host.closing <
                                                         twice * def_.sessions_per_host_max)) {
        ++(has_room ? drops_.address_limit : drops_.full);
        return false;
    }
    auto session = std::make_unique<Session>();
    session->budget_bytes = def_.budget_bytes_per_tick;
    session->address = from;
    session->connection_id = id;
    session->nonce = answer.nonce;
    session->created = session->arrival.received = session->arrival.delivered = time_.now;
    queue_welcome(*session);
    sessions_.add(std::move(session));
    return true;
}

void Handshake::receive_answer(std::span<const std::byte> datagram, const Address& from) {
    const auto answer = read_answer(datagram);
    if (!answer) {
        ++drops_.malformed_handshake;
        return;
    }
    if (!PURVIEW_GUARD(cookie, cookies_.is_genuine(answer->cookie, from, answer->nonce))) {
        ++drops_.bad_cookie;
        return;
    }
    if (!PURVIEW_GUARD(cookie_age, cookies_.is_fresh(answer->cookie, time_.now))) {
        ++drops_.expired_cookie;
        return refuse(from, answer->nonce, RefuseReason::expired);
    }
    if (answer->connection_id != 0) return move(*answer, from);
    const std::uint64_t id = cookies_.connection_id(from, answer->nonce);
    if (!PURVIEW_GUARD(ended_once, !cookies_.is_spent(id, time_.now))) {
        ++drops_.expired_cookie;  // an old packet, or a replay of a whole conversation
        return;
    }
    if (sessions_.find_connection(id) == nullptr && !accept(*answer, id, from)) return;
    std::array<std::byte, hello_bytes> bytes;
    datagrams_.add(
        from, std::span<const std::byte>(bytes).first(write(Accept{answer->nonce, id}, bytes)));
}

void Handshake::queue_welcome(Session& session) const {
    std::vector<std::byte> bytes(message_bytes_max);
    BitWriter out(bytes);
    out.u8(static_cast<std::uint8_t>(ServerMessage::welcome));
    out.u32(time_.tick);
    out.u16(static_cast<std::uint16_t>(def_.tick_hz));
    out.u64(def_.schema->hash());
    const std::string_view name = cut_text(def_.world_name, 63);
    out.u8(static_cast<std::uint8_t>(name.size()));
    out.bytes(std::as_bytes(std::span(name.data(), name.size())));
    write_schema(*def_.schema, out);
    PURVIEW_ASSERT(out.ok());
    [[maybe_unused]] const Status queued = session.stream_out.send(out.written());
    PURVIEW_ASSERT(queued == Status::ok);
}

}  // namespace purview
