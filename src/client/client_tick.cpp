// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The client's counterpart of server_tick.cpp. It receives and checks packets, applies each as a
// whole or not at all, acknowledges them, and sends what is due.
#include <algorithm>
#include <cstring>

#include "client/client_data.hpp"
#include "core/cut_text.hpp"
#include "core/log.hpp"
#include "core/mutate.hpp"
#include "link/encrypted_handshake.hpp"
#include "link/messages.hpp"
#include "link/timeout.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

constexpr Micros handshake_every_us = 200'000;
/// Limit on the inputs in one packet, within the room that the rest leaves.
constexpr std::uint64_t input_bits_max = 800 * 8;

}  // namespace

void ClientData::queue(std::span<const std::byte> bytes) {
    PURVIEW_ASSERT(!bytes.empty() && bytes.size() <= limits::datagram_bytes);
    out_.emplace_back(bytes.begin(), bytes.end());
    stats.bytes_sent += bytes.size();
}

bool ClientData::next_datagram(std::span<const std::byte>& out) {
    if (out_.empty()) return false;
    out_current_ = std::move(out_.front());
    out_.pop_front();
    out = out_current_;
    return true;
}

// -- receive ------------------------------------------------------------------------------------

void ClientData::receive(std::span<const std::byte> datagram, Micros now) {
    stats.bytes_received += datagram.size();
    if (datagram.empty() || datagram.size() > limits::datagram_bytes) {
        ++stats.packets_malformed;
        return;
    }
    switch (static_cast<PacketType>(datagram[0])) {
        case PacketType::challenge:
            return receive_challenge(datagram, now);
        case PacketType::path_challenge:
            return receive_path_challenge(datagram);
        case PacketType::accept:
            return receive_accept(datagram, now);
        case PacketType::encrypted_accept:
            return receive_encrypted_accept(datagram, now);
        case PacketType::data:
        case PacketType::encrypted_data:
            return receive_data(datagram, now);
        case PacketType::refuse:
            if (const auto refuse = read_refuse(datagram); refuse && refuse->nonce == def.nonce) {
                if (refuse->reason == RefuseReason::expired) {
                    answer_.reset();  // start again with a new challenge
                } else if (state == ClientState::connecting) {
                    state = ClientState::refused;
                    refuse_reason = refuse->reason;
                }
            }
            return;
        case PacketType::close:
        case PacketType::encrypted_close:
            return receive_close(datagram);
        default:
            ++stats.packets_malformed;
            return;
    }
}

void ClientData::receive_challenge(std::span<const std::byte> datagram, Micros now) {
    const auto challenge = read_challenge(datagram);
    if (!challenge || challenge->nonce != def.nonce) return;
    if (state == ClientState::connecting) {
        if (answer_) return;  // a repeated challenge
        answer_ = Answer{def.schema_hash, def.nonce, challenge->cookie, 0};
        last_handshake_ = 0;
        tick(now);
    } else if ((state == ClientState::joining || state == ClientState::joined) &&
               !seal_.is_encrypted()) {
        // The client's address has changed, so prove the new one.
        std::array<std::byte, hello_bytes> bytes;
        const Answer proof{def.schema_hash, def.nonce, challenge->cookie, connection_id_};
        queue(std::span<const std::byte>(bytes).first(write(proof, bytes)));
    }
}

/// The client's address has changed, so prove the new one.
void ClientData::receive_path_challenge(std::span<const std::byte> datagram) {
    if (state != ClientState::joining && state != ClientState::joined) return;
    const auto challenge = read_path_challenge(datagram);
    if (!challenge || !seal_.is_encrypted()) return;
    // No other peer may use this client to prove an address.
    if (!PURVIEW_GUARD(path_challenge, is_authentic(datagram, seal_))) {
        ++stats.packets_malformed;
        return;
    }
    std::array<std::byte, path_answer_bytes> bytes;
    const std::size_t size = write(PathAnswer{connection_id_, challenge->cookie}, seal_, bytes);
    queue(std::span<const std::byte>(bytes).first(size));
}

std::size_t ClientData::write_answer(std::span<std::byte> out) const {
    PURVIEW_ASSERT(answer_.has_value());
    if (!def.key.is_set()) return write(*answer_, out);
    return write_encrypted_answer({*answer_, def.key.request}, def.encryption,
                                  answer_key(def.encryption, def.key.secret, def.nonce), out);
}

void ClientData::connect(const Accept& accept, const PacketSeal& seal, Micros now) {
    PURVIEW_ASSERT(connection_id_ == 0 && state == ClientState::connecting);
    connection_id_ = accept.connection_id;
    seal_ = seal;
    last_received_ = now;
    state = ClientState::joining;
}

void ClientData::receive_accept(std::span<const std::byte> datagram, Micros now) {
    const auto accept = read_accept(datagram);
    if (!accept || accept->nonce != def.nonce || state != ClientState::connecting || !answer_)
        return;
    // A client with a key never accepts a connection that is not encrypted.
    if (!PURVIEW_GUARD(downgrade, !def.key.is_set())) return;
    connect(*accept, PacketSeal(accept->connection_id), now);
}

void ClientData::receive_encrypted_accept(std::span<const std::byte> datagram, Micros now) {
    if (!def.key.is_set() || state != ClientState::connecting || !answer_) return;
    const auto accept = read_encrypted_accept(datagram);
    if (!accept || accept->nonce != def.nonce) return;
    const SessionKeys keys =
        session_keys(def.encryption, def.key.secret, def.nonce, accept->connection_id);
    const PacketSeal seal(def.encryption, keys, PacketSeal::Side::client, accept->connection_id);
    if (!PURVIEW_GUARD(accept_tag, is_authentic(datagram, seal))) {
        ++stats.packets_malformed;
        return;
    }
    connect(*accept, seal, now);
}

void ClientData::receive_close(std::span<const std::byte> datagram) {
    if (state != ClientState::joining && state != ClientState::joined) return;
    const auto close = seal_.read_close(datagram, scratch_);
    if (!close || close->connection_id != connection_id_) return;
    state = ClientState::closed;
    close_reason = close->reason;
    reason_text = close->text;
}

/// Sent only after the welcome message, because snapshots, which need the schema, follow the join.
void ClientData::send_join() {
    PURVIEW_ASSERT(replica.has_value());
    std::array<std::byte, join_bytes_max> bytes;
    BitWriter out(bytes);
    Join join{def.role, cut_text(def.name, limits::join_name_bytes), {}};
    if (def.credential.size() <= limits::credential_bytes) join.credential = def.credential;
    write(join, out);
    PURVIEW_ASSERT(out.ok());
    (void)stream_out_.send(out.written());
}

void ClientData::receive_data(std::span<const std::byte> datagram, Micros now) {
    if (connection_id_ == 0) return;
    if (state == ClientState::closed || state == ClientState::refused)
        return;  // the reason was received
    const std::size_t head = seal_.head_bytes();
    const std::uint32_t number = link_.number_of(datagram.subspan(std::min(head, datagram.size())));
    const auto packet = seal_.open(number, clear_bytes_to_client, datagram, scratch_);
    if (!packet) {
        ++stats.packets_malformed;
        return;
    }
    BitReader in(*packet);
    (void)in.bytes(head);
    const PacketLink::Verdict verdict = link_.read_header(in);
    if (verdict == PacketLink::Verdict::late) {
        ++stats.packets_late;
        return;
    }
    bool good = verdict == PacketLink::Verdict::accepted && stream_in_.read(in);
    const bool has_snapshot = good && in.boolean();
    if (has_snapshot) good = replica.has_value() && replica->decoder.read(in);
    good = good && calls.read(in) && read_input_state(in);
    if (!good || !in.exhausted()) {
        ++stats.packets_malformed;
        return;
    }
    // The packet is valid; only now does state change, and only now is it acknowledged.
    notices_.clear();
    const std::uint32_t packet_before = link_.newest_accepted();
    link_.accept(notices_);
    PURVIEW_ASSERT(link_.newest_accepted() > packet_before);
    const bool is_next = link_.newest_accepted() == packet_before + 1;
    for (const DeliveryNotice notice : notices_) {
        stream_out_.resolve(notice.sequence, notice.delivered);
        calls.resolve(notice.sequence, notice.delivered);
        if (!notice.delivered) {
            ++stats.packets_lost;
            continue;
        }
        const Micros sent = sent_at_[notice.sequence % sent_at_.size()];
        const auto sample = static_cast<std::uint32_t>(now > sent ? now - sent : 0);
        stats.rtt_us = stats.rtt_us == 0 ? sample : (stats.rtt_us * 7 + sample) / 8;
    }
    stream_in_.accept();
    accept_input_state();
    const double silent_ticks = static_cast<double>(now - newest_tick_at) * tick_hz / 1e6;
    is_quiet = !has_snapshot && replica.has_value() &&
               (is_quiet || silent_ticks >= replica->way_ticks_max);
    if (has_snapshot) {
        const Tick before = newest_tick;
        replica->accept(newest_tick, is_next);
        PURVIEW_ASSERT(newest_tick >= before);
        if (newest_tick != before) newest_tick_at = now;
        newest_packet = link_.newest_accepted();
        if (def.activation_log.write != nullptr)
            for (const ClientEvent& event : replica->events.of_packet()) log_activation(event);
        stats.group_waits_ended = replica->groups.waits_ended();
        stats.order_violations = replica->counters().order_violations;
    }
    if (replica) calls.accept(has_snapshot, now);
    if (has_snapshot) stats.events_dropped += replica->events.drop_untaken();
    ++stats.packets_received;
    last_received_ = now;
    if (def.digest_every != 0 && ++packets_since_digest_ >= def.digest_every) digest_due_ = true;
    read_messages();
    PURVIEW_ASSERT(state != ClientState::joined || replica.has_value());
    PURVIEW_ASSERT(!is_view_complete_sent || replica.has_value());
    // Ghosts that wait for the rest of their group are not shown yet.
    if (is_view_complete_sent && !is_view_complete)
        is_view_complete = !replica->groups.is_any_waiting();
}

void ClientData::log_activation(const ClientEvent& event) const {
    if (event.change == Change::updated || event.change == Change::regrouped) return;
    const bool is_on = event.is_enter();
    std::string line = is_on ? "activate" : "deactivate";
    const auto add = [&](const char* key, std::string_view value) {
        line.append(" ").append(key).append("=").append(value);
    };
    const LocalId ghost = local_id_of(event.ghost);
    add("ghost", std::to_string(ghost));
    add("kind", replica->ghosts.schema().kinds()[index_of(event.kind)].name);
    if (is_on && replica->ghosts.is_held(ghost)) {
        const LocalId parent = replica->ghosts.shown_parent(ghost);
        if (parent != no_local_id) add("parent", std::to_string(parent));
        add("root", std::to_string(replica->ghosts.shown_root(ghost)));
    }
    add("tick", std::to_string(newest_tick));
    add("reason", to_string(event.reason));
    write_log(def.activation_log, LogLevel::trace, line);
}

bool ClientData::read_welcome(std::span<const std::byte> message) {
    PURVIEW_ASSERT(!replica.has_value());  // other parts point into its schema
    BitReader in(message);
    (void)in.u8();
    const Tick tick = in.u32();
    const auto hz = static_cast<std::uint32_t>(in.bits(16));
    const std::uint64_t hash = in.u64();
    const auto name = in.bytes(in.u8());
    world_name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    auto schema = read_schema(in);
    if (!schema || hz == 0 || !in.exhausted() || schema->hash() != hash) return false;
    if (def.schema_hash != 0 && hash != def.schema_hash) return false;
    tick_hz = hz;
    newest_tick = tick;
    replica.emplace(std::move(schema).value());
    replica->decoder.bytes_max = def.ghost_bytes_max;
    schema_match.server_hash = hash;
    return true;
}

std::uint32_t ClientData::cell_of(LocalId ghost, std::size_t grid) const noexcept {
    if (!has_values(ghost) || !replica->ghosts.has_position(ghost)) return CellGrid::no_cell;
    return cells.cell_of(grid, replica->poses.decode_position(ghost));
}

bool ClientData::read_refusal(std::span<const std::byte> message) {
    PURVIEW_ASSERT(state == ClientState::joining);
    BitReader in(message.subspan(1));
    const auto text = read_reason_text(in);
    if (!text || !in.exhausted()) return false;
    state = ClientState::refused;
    refuse_reason = RefuseReason::join;
    reason_text = *text;
    return true;
}

void ClientData::read_messages() {
    std::span<const std::byte> message;
    while (stream_in_.next_message(message)) {
        bool good = !message.empty();
        switch (good ? static_cast<ServerMessage>(message[0]) : ServerMessage{}) {
            case ServerMessage::welcome:
                good = !replica.has_value() && read_welcome(message);
                if (good) send_join();
                break;
            case ServerMessage::joined:
                good = replica.has_value() && state == ClientState::joining;
                if (good) state = ClientState::joined;
                break;
            case ServerMessage::refused:
                good = state == ClientState::joining && read_refusal(message);
                break;
            case ServerMessage::state_request:
                if (def.digest_every != 0 && replica.has_value()) send_state();
                break;
            case ServerMessage::view_complete:
                good = state == ClientState::joined;
                is_view_complete_sent = good;
                break;
            case ServerMessage::cells:
                good = replica.has_value() && cells.read(message);
                break;
            case ServerMessage::correction:
                good = inputs.messages.size() < ClientInputs::messages_max;
                if (good) inputs.messages.emplace_back(message.begin() + 1, message.end());
                break;
            case ServerMessage::game:
                good = state == ClientState::joined;
                if (good) stats.messages_dropped += messages.add(message.subspan(1));
                break;
            default:
                good = false;
                break;
        }
        if (good && state == ClientState::refused) return;
        if (!good) {  // unknown or malformed message
            ++stats.packets_malformed;
            return leave(CloseReason::malformed);
        }
    }
}

/// Sends the state of all held ghosts after a failed check (PROTOCOL.md, "Digest").
void ClientData::send_state() {
    std::vector<std::byte> bytes(message_bytes_max);
    BitWriter out(bytes);
    out.u8(static_cast<std::uint8_t>(ClientMessage::state));
    out.u32(link_.newest_accepted());
    replica->ghosts.for_each_held([&](LocalId ghost) {
        out.boolean(true);
        out.u32(ghost);
        out.u16(static_cast<std::uint16_t>(index_of(replica->ghosts.kind(ghost))));
        out.u32(replica->ghosts.parent(ghost) == no_local_id ? 0
                                                             : replica->ghosts.parent(ghost) + 1);
        const KindLayout& layout = replica->ghosts.layout(replica->ghosts.kind(ghost));
        if (layout.audience != 0) out.u32(replica->ghosts.allowed(ghost) & layout.audience);
        for (const std::uint32_t word : replica->ghosts.words(ghost)) out.u32(word);
    });
    out.boolean(false);
    if (out.ok()) (void)stream_out_.send(out.written());
}

Status ClientData::send_message(std::span<const std::byte> message) {
    if (state != ClientState::joined) return Status::not_ready;
    if (message.size() > limits::message_bytes) return Status::too_large;
    const std::byte type{static_cast<std::uint8_t>(ClientMessage::game)};
    return stream_out_.send(std::span(&type, 1), message);
}

// -- send ---------------------------------------------------------------------------------------

void ClientData::tick(Micros now) {
    if (!started_) {
        started_ = now;
        last_received_ = now;
    }
    if (state == ClientState::connecting) {
        if (is_over(*started_, now, def.connect_timeout_ms)) {
            state = ClientState::closed;
            close_reason = CloseReason::timeout;
            return;
        }
        if (last_handshake_ != 0 && now - last_handshake_ < handshake_every_us) return;
        last_handshake_ = now == 0 ? 1 : now;
        std::array<std::byte, limits::datagram_bytes> bytes;
        const std::size_t size =
            answer_ ? write_answer(bytes)
                    : write(Hello{limits::protocol_version, def.schema_hash, def.nonce}, bytes);
        return queue(std::span<const std::byte>(bytes).first(size));
    }
    if (state != ClientState::joining && state != ClientState::joined) return;
    if (is_over(last_received_, now, def.session_timeout_ms)) {
        // The close lets a server that was only stalled free the session.
        return leave(CloseReason::timeout);
    }
    calls.release(now);
    send_data(now);
}

void ClientData::send_data(Micros now) {
    const auto sent_at = [&](std::uint32_t number) { return sent_at_[number % sent_at_.size()]; };
    if (!may_send(link_, sent_at, now, def.session_timeout_ms)) return;
    std::array<std::byte, limits::datagram_bytes> bytes{};
    BitWriter out(bytes);
    seal_.begin(out);
    out.u64(connection_id_);
    const std::uint32_t sequence = link_.write_header(out);
    // The stream gets what the others leave. If it has data, a quarter of the packet is reserved
    // for it.
    const std::uint64_t call_bits = calls.choose();
    PURVIEW_ASSERT(out.bits_written() + 128 + call_bits <= limits::datagram_bytes * 8);
    std::uint64_t left = limits::datagram_bytes * 8 - out.bits_written() - 128 - call_bits;
    const std::uint64_t stream_bits = stream_out_.has_data_to_send() ? left / 4 : 0;
    const std::uint64_t one_command = commands.empty() ? 0 : (limits::command_bytes + 2) * 8 + 32;
    PURVIEW_ASSERT(left >= stream_bits + one_command);
    const std::uint64_t input_bits =
        replica.has_value() && state == ClientState::joined
            ? inputs.outbox.choose(replica->ghosts.schema(), inputs.has_digests,
                                   std::min(input_bits_max, left - stream_bits - one_command))
            : 0;
    left -= input_bits;
    const auto [command_count, command_bits] = commands.choose(left - stream_bits);
    stream_out_.write(sequence, left - command_bits, out);
    out.boolean(false);
    out.boolean(digest_due_ && replica.has_value());
    if (digest_due_ && replica.has_value()) {
        out.u64(replica->ghosts.digest());
        digest_due_ = false;
        packets_since_digest_ = 0;
    }
    commands.write(command_count, out);
    calls.write(sequence, out);
    if (input_bits > 0) {
        inputs.outbox.write(replica->ghosts.schema(), inputs.has_digests, inputs.corrections, out);
    }
    out.align();
    const std::size_t bytes_min = seal_.is_encrypted() ? path_challenge_bytes : challenge_bytes;
    while (out.bytes_written() < bytes_min) out.u8(0);
    PURVIEW_ASSERT(out.ok());
    sent_at_[sequence % sent_at_.size()] = now;
    const auto datagram = std::span<std::byte>(bytes).first(out.bytes_written());
    seal_.seal(sequence, clear_bytes_to_server, datagram);
    queue(datagram);
}

bool ClientData::read_input_state(BitReader& in) {
    inputs.read = {};
    inputs.read.is_there = in.bits_left() > 0 && in.boolean();
    if (!inputs.read.is_there) return in.ok();
    inputs.read.consumed = in.u16();
    inputs.read.waiting = static_cast<std::uint32_t>(in.bits(5));
    inputs.read.starved = in.boolean();
    return in.ok();
}

void ClientData::accept_input_state() {
    if (!inputs.read.is_there) return;
    inputs.outbox.acknowledge(inputs.read.consumed);
    inputs.waiting = inputs.read.waiting;
    inputs.is_starved = inputs.read.starved;
    ++inputs.reports;
}

Status ClientData::send_command(std::span<const std::byte> data) {
    if (data.size() > limits::command_bytes) return Status::too_large;
    if (state != ClientState::joined) return Status::not_ready;
    return commands.add(data);
}

Status ClientData::call(RpcId rpc, LocalId ghost, const RpcWords& words) {
    if (state != ClientState::joined) return Status::not_ready;
    return calls.call(def.role, rpc, ghost, words);
}

void ClientData::leave(CloseReason reason) {
    // Keeps the reason with which the connection ended.
    if (state == ClientState::refused || state == ClientState::closed) return;
    if (connection_id_ != 0 && (state == ClientState::joining || state == ClientState::joined)) {
        std::array<std::byte, close_bytes_max> bytes;
        const std::size_t size = seal_.write_close(reason, {}, bytes);
        queue(std::span<const std::byte>(bytes).first(size));
    }
    state = ClientState::closed;
    close_reason = reason;
}

}  // namespace purview
