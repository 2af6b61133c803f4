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

void Handshake::challenge_path(Session& session, const Address& to) {
    constexpr Micros every_us = 100'000;
    if (session.arrival.challenged != 0 && time_.now - session.arrival.challenged < every_us)
        return;
    session.arrival.challenged = std::max<Micros>(time_.now, 1);
    if (!session.seal.is_encrypted()) return challenge(to, session.nonce);
    std::array<std::byte, path_challenge_bytes> bytes;
    const PathChallenge challenge{cookies_.make(to, session.nonce, time_.now)};
    const std::size_t size = write(challenge, session.seal, bytes);
    datagrams_.add(to, std::span<const std::byte>(bytes).first(size));
}

/// The client has proven its new address.
void Handshake::move(Session& session, const Address& from) {
    const bool is_of_host = is_same_host(session.address, from);
    if (!PURVIEW_GUARD(movers_of_host, is_of_host || sessions_.host_counts().of(from).connected <
                                                         def_.sessions_per_host_max)) {
        ++drops_.address_limit;
        return;
    }
    const bool fits_network =
        sessions_.host_counts().has_network_room(session.address, from, def_.sessions_per_host_max);
    if (!PURVIEW_GUARD(movers_of_network, fits_network)) {
        ++drops_.address_limit;
        return;
    }
    sessions_.set_address(session, from);
}

/// Returns false if there is no room or the peer does not fit: it was refused, or only a counter
/// was incremented.
bool Handshake::may_accept(const Answer& answer, const Address& from) {
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
    return true;
}

Session& Handshake::add_session(const Answer& answer, const PacketSeal& seal, std::uint64_t id,
                                const Address& from) {
    auto session = std::make_unique<Session>();
    session->budget_bytes = def_.budget_bytes_per_tick;
    session->address = from;
    session->connection_id = id;
    session->seal = seal;
    session->nonce = answer.nonce;
    session->created = session->arrival.received = session->arrival.delivered = time_.now;
    queue_welcome(*session);
    return sessions_.add(std::move(session));
}

void Handshake::send_accept(const Session& session) {
    std::array<std::byte, hello_bytes> bytes;
    const Accept accept{session.nonce, session.connection_id};
    const std::size_t size = session.seal.is_encrypted()
                                 ? write_encrypted_accept(accept, session.seal, bytes)
                                 : write(accept, bytes);
    datagrams_.add(session.address, std::span<const std::byte>(bytes).first(size));
}

bool Handshake::is_proven(const Answer& answer, const Address& from) {
    if (!PURVIEW_GUARD(cookie, cookies_.is_genuine(answer.cookie, from, answer.nonce))) {
        ++drops_.bad_cookie;
        return false;
    }
    if (!PURVIEW_GUARD(cookie_age, cookies_.is_fresh(answer.cookie, time_.now))) {
        ++drops_.expired_cookie;
        refuse(from, answer.nonce, RefuseReason::expired);
        return false;
    }
    return true;
}

/// Returns the id of the connection that an answer begins or repeats; 0: it has ended.
std::uint64_t Handshake::connection_of(const Answer& answer, const Address& from) {
    const std::uint64_t id = cookies_.connection_id(from, answer.nonce);
    if (PURVIEW_GUARD(ended_once, !cookies_.is_spent(id, time_.now))) return id;
    ++drops_.expired_cookie;  // an old packet, or a replay of a whole conversation
    return 0;
}

void Handshake::receive_answer(std::span<const std::byte> datagram, const Address& from) {
    const auto answer = read_answer(datagram);
    if (!answer) {
        ++drops_.malformed_handshake;
        return;
    }
    if (!is_proven(*answer, from)) return;
    if (answer->connection_id != 0) {
        Session* session = sessions_.find_connection(answer->connection_id);
        if (session == nullptr) {
            ++drops_.unknown_connection;
            return;
        }
        // The challenge was for another peer, or the session needs a path_answer.
        if (session->nonce != answer->nonce ||
            !PURVIEW_GUARD(plain_move, !session->seal.is_encrypted())) {
            ++drops_.bad_cookie;
            return;
        }
        return move(*session, from);
    }
    const std::uint64_t id = connection_of(*answer, from);
    if (id == 0) return;
    Session* session = sessions_.find_connection(id);
    if (session != nullptr && session->seal.is_encrypted()) {
        ++drops_.bad_key;
        return;
    }
    if (session == nullptr) {
        if (!PURVIEW_GUARD(plain_carrier, def_.plain.allows(from.carrier))) {
            ++drops_.plain;
            return refuse(from, answer->nonce, RefuseReason::key);
        }
        if (!may_accept(*answer, from)) return;
        session = &add_session(*answer, PacketSeal(id), id, from);
    }
    send_accept(*session);
}

/// Returns null if the client has no valid key: it was refused, or only a counter was incremented.
Session* Handshake::accept_encrypted(const EncryptedAnswer& request,
                                     std::span<const std::byte> datagram, std::uint64_t id,
                                     const Address& from) {
    const Answer& answer = request.answer;
    const auto key = def_.key_reader != nullptr ? def_.key_reader->open(request.key_request, from)
                                                : std::nullopt;
    if (!key) {
        ++drops_.bad_key;
        refuse(from, answer.nonce, RefuseReason::key);
        return nullptr;
    }
    // Who copied a key request on its way does not have its secret.
    if (!PURVIEW_GUARD(key_proof,
                       is_authentic(datagram, def_.encryption,
                                    answer_key(def_.encryption, key->secret, answer.nonce)))) {
        ++drops_.bad_key;
        return nullptr;
    }
    if (!PURVIEW_GUARD(key_once, def_.key_reader->spend(*key))) {
        ++drops_.used_key;
        refuse(from, answer.nonce, RefuseReason::key);
        return nullptr;
    }
    const SessionKeys keys = session_keys(def_.encryption, key->secret, answer.nonce, id);
    const PacketSeal seal(def_.encryption, keys, PacketSeal::Side::server, id);
    Session& session = add_session(answer, seal, id, from);
    session.join.user_id = key->user_id;
    session.join.user_data = key->user_data;
    return &session;
}

void Handshake::receive_encrypted_answer(std::span<const std::byte> datagram, const Address& from) {
    const auto request = read_encrypted_answer(datagram);
    if (!request) {
        ++drops_.malformed_handshake;
        return;
    }
    const Answer& answer = request->answer;
    if (!is_proven(answer, from)) return;
    const std::uint64_t id = connection_of(answer, from);
    if (id == 0) return;
    Session* session = sessions_.find_connection(id);
    if (session == nullptr && may_accept(answer, from))
        session = accept_encrypted(*request, datagram, id, from);
    if (session == nullptr) return;
    if (!session->seal.is_encrypted()) {
        ++drops_.bad_key;
        return;
    }
    send_accept(*session);
}

void Handshake::receive_path_answer(std::span<const std::byte> datagram, const Address& from) {
    const auto answer = read_path_answer(datagram);
    if (!answer) {
        ++drops_.malformed_handshake;
        return;
    }
    Session* session = sessions_.find_connection(answer->connection_id);
    if (session == nullptr || !session->seal.is_encrypted()) {
        ++drops_.unknown_connection;
        return;
    }
    if (!PURVIEW_GUARD(path_proof, is_authentic(datagram, session->seal)) ||
        !PURVIEW_GUARD(path_cookie, cookies_.is_genuine(answer->cookie, from, session->nonce))) {
        ++drops_.bad_cookie;
        return;
    }
    if (!PURVIEW_GUARD(path_age, cookies_.is_fresh(answer->cookie, time_.now))) {
        ++drops_.expired_cookie;
        return;
    }
    move(*session, from);
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
