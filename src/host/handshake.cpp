// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Strangers. Nothing is stored before an address is proven, and nothing that is longer than what
// was received goes to one that is not.
#include <algorithm>
#include <array>

#include "core/cut_text.hpp"
#include "core/mutate.hpp"
#include "host/server_data.hpp"
#include "link/messages.hpp"
#include "replication/schema_codec.hpp"

namespace purview {

/// What asked for it is no shorter.
void ServerData::challenge(const Address& to, std::uint64_t nonce, Micros now) {
    std::array<std::byte, challenge_bytes> bytes;
    const Challenge challenge{nonce, cookies_.make(to, nonce, now)};
    queue(to, std::span<const std::byte>(bytes).first(write(challenge, bytes)));
}

void ServerData::refuse(const Address& to, std::uint64_t nonce, RefuseReason reason) {
    std::array<std::byte, hello_bytes> bytes;
    const Refuse refusal{nonce, reason, protocol_version};
    queue(to, std::span<const std::byte>(bytes).first(write(refusal, bytes)));
}

void ServerData::receive_hello(std::span<const std::byte> datagram, const Address& from,
                               Micros now) {
    const auto hello = read_hello(datagram);
    if (!hello) {
        ++drops.malformed_handshake;
        return;
    }
    if (!PURVIEW_GUARD(version, hello->version == protocol_version)) {
        ++drops.wrong_version;
        return refuse(from, hello->nonce, RefuseReason::version);
    }
    if (hello->schema_hash != 0 && hello->schema_hash != def.schema->hash()) {
        ++drops.wrong_schema;
        return refuse(from, hello->nonce, RefuseReason::schema);
    }
    if (shutting_down_) return refuse(from, hello->nonce, RefuseReason::shutting_down);
    challenge(from, hello->nonce, now);
}

void ServerData::receive_answer(std::span<const std::byte> datagram, const Address& from,
                                Micros now) {
    const auto answer = read_answer(datagram);
    if (!answer) {
        ++drops.malformed_handshake;
        return;
    }
    if (!PURVIEW_GUARD(cookie, cookies_.is_genuine(answer->cookie, from, answer->nonce))) {
        ++drops.bad_cookie;
        return;
    }
    if (!PURVIEW_GUARD(cookie_age, cookies_.is_fresh(answer->cookie, now))) {
        ++drops.expired_cookie;
        return refuse(from, answer->nonce, RefuseReason::expired);
    }
    if (answer->connection_id != 0) {  // a known client has proven its new address
        Session* session = session_by_connection(answer->connection_id);
        if (session == nullptr) {
            ++drops.unknown_connection;
            return;
        }
        if (session->nonce != answer->nonce) {  // the challenge was another's
            ++drops.bad_cookie;
            return;
        }
        const bool is_of_host = is_same_host(session->address, from);
        if (!PURVIEW_GUARD(movers_of_host, is_of_host || host_counts_.of(from).connected <
                                                             def.sessions_per_host_max)) {
            ++drops.address_limit;
            return;
        }
        host_counts_.moved(session->address, from);
        session->address = from;
        return;
    }
    const std::uint64_t id = cookies_.connection_id(from, answer->nonce);
    if (!PURVIEW_GUARD(ended_once, !cookies_.is_spent(id, now))) {
        ++drops.expired_cookie;  // an old packet, or all of a conversation once more
        return;
    }
    if (session_by_connection(id) == nullptr) {
        if (answer->schema_hash != 0 && answer->schema_hash != def.schema->hash()) {
            ++drops.wrong_schema;
            return refuse(from, answer->nonce, RefuseReason::schema);
        }
        if (shutting_down_) return refuse(from, answer->nonce, RefuseReason::shutting_down);
        const HostCounts::Count all = host_counts_.all();
        const HostCounts::Count of_host = host_counts_.of(from);
        if (!PURVIEW_GUARD(sessions, all.connected < def.sessions_max)) {
            ++drops.full;
            return refuse(from, answer->nonce, RefuseReason::full);
        }
        if (!PURVIEW_GUARD(sessions_of_host, of_host.connected < def.sessions_per_host_max)) {
            ++drops.address_limit;
            return refuse(from, answer->nonce, RefuseReason::address_limit);
        }
        // Of those that come and go between two ticks the rest waits for the next one: no refusal,
        // the answer is repeated.
        constexpr std::uint64_t twice = 2;
        const bool has_room = all.connected + all.closing < twice * def.sessions_max;
        if (!PURVIEW_GUARD(sessions_closing, has_room && of_host.connected + of_host.closing <
                                                             twice * def.sessions_per_host_max)) {
            ++(has_room ? drops.address_limit : drops.full);
            return;
        }
        auto session = std::make_unique<Session>();
        session->budget_bytes = def.budget_bytes_per_tick;
        session->address = from;
        session->connection_id = id;
        session->nonce = answer->nonce;
        session->created = session->last_heard = session->last_delivered = now;
        queue_welcome(*session);
        by_connection_[id] = session.get();
        host_counts_.came(from);
        sessions.push_back(std::move(session));
    }
    std::array<std::byte, hello_bytes> bytes;
    queue(from, std::span<const std::byte>(bytes).first(write(Accept{answer->nonce, id}, bytes)));
}

void ServerData::queue_welcome(Session& session) {
    std::vector<std::byte> bytes(message_bytes_max);
    BitWriter out(bytes);
    out.u8(static_cast<std::uint8_t>(ServerMessage::welcome));
    out.u32(tick_number);
    out.u16(static_cast<std::uint16_t>(def.tick_hz));
    out.u64(def.schema->hash());
    const std::string_view name = cut_text(def.world_name, 63);
    out.u8(static_cast<std::uint8_t>(name.size()));
    out.bytes(std::as_bytes(std::span(name.data(), name.size())));
    write_schema(*def.schema, out);
    PURVIEW_ASSERT(out.ok());
    (void)session.stream_out.send(out.written());
}

}  // namespace purview
