// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The client: receive, check, apply whole or not at all, acknowledge; and send what is due. The
// mirror of server_tick.cpp.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "client/client_data.hpp"
#include "core/cut_text.hpp"
#include "core/log.hpp"
#include "link/messages.hpp"
#include "link/timeout.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

constexpr Micros handshake_every_us = 200'000;
/// A command rides in this many packets: all of them must be lost to lose it.
constexpr std::uint32_t command_repeats = 3;
/// Of a grid.
constexpr std::uint32_t cells_max = 1U << 20;
/// Of commands for groups in one packet: what the rest leaves, at most.
constexpr std::uint64_t input_bits_max = 800 * 8;

/// Of a list that nobody takes, the older half.
constexpr std::size_t too_many(std::size_t size) noexcept {
    return size <= ClientData::untaken_max ? 0 : size - ClientData::untaken_max / 2;
}

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
        case PacketType::accept:
            return receive_accept(datagram, now);
        case PacketType::data:
            return receive_data(datagram, now);
        case PacketType::refuse:
            if (const auto refuse = read_refuse(datagram); refuse && refuse->nonce == def.nonce) {
                if (refuse->reason == RefuseReason::expired) {
                    answer_.reset();  // begin again with a new challenge
                } else if (state == ClientState::connecting) {
                    state = ClientState::refused;
                    refuse_reason = refuse->reason;
                }
            }
            return;
        case PacketType::close:
            if (const auto close = read_close(datagram);
                close && (state == ClientState::joining || state == ClientState::joined) &&
                close->connection_id == connection_id_) {
                state = ClientState::closed;
                close_reason = close->reason;
                reason_text = close->text;
            }
            return;
        default:
            ++stats.packets_malformed;
            return;
    }
}

void ClientData::receive_challenge(std::span<const std::byte> datagram, Micros now) {
    const auto challenge = read_challenge(datagram);
    if (!challenge || challenge->nonce != def.nonce) return;
    if (state == ClientState::connecting) {
        if (answer_) return;  // the same challenge again
        answer_ = Answer{def.schema_hash, def.nonce, challenge->cookie, 0};
        last_handshake_ = 0;
        tick(now);
    } else if (state == ClientState::joining || state == ClientState::joined) {
        // Our address has changed on the way: prove the new one.
        std::array<std::byte, hello_bytes> bytes;
        const Answer proof{def.schema_hash, def.nonce, challenge->cookie, connection_id_};
        queue(std::span<const std::byte>(bytes).first(write(proof, bytes)));
    }
}

void ClientData::receive_accept(std::span<const std::byte> datagram, Micros now) {
    const auto accept = read_accept(datagram);
    if (!accept || accept->nonce != def.nonce || state != ClientState::connecting || !answer_)
        return;
    PURVIEW_ASSERT(connection_id_ == 0);  // only one accept counts
    connection_id_ = accept->connection_id;
    last_heard_ = now;
    state = ClientState::joining;
}

/// Only after the welcome: from the join on snapshots come, and they need the schema.
void ClientData::send_join() {
    PURVIEW_ASSERT(ghosts.has_value());
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
    if (state == ClientState::closed || state == ClientState::refused) return;  // why, was heard
    const auto header = datagram.subspan(std::min(seal_bytes, datagram.size()));
    if (!is_sealed(data_seed(connection_id_, link_.number_of(header)), datagram)) {
        ++stats.packets_malformed;
        return;
    }
    BitReader in(datagram);
    (void)in.bits(seal_bytes * 8);
    const PacketLink::Verdict verdict = link_.read_header(in);
    if (verdict == PacketLink::Verdict::late) {
        ++stats.packets_late;
        return;
    }
    bool good = verdict == PacketLink::Verdict::accepted && stream_in_.read(in);
    const bool has_snapshot = good && in.boolean();
    if (has_snapshot) good = ghosts.has_value() && ghosts->read(in);
    good = good && read_calls(in) && read_input_state(in);
    if (!good || !in.exhausted()) {
        ++stats.packets_malformed;
        return;
    }
    // All of it is sound: only now does anything change, and only now is it acknowledged.
    notices_.clear();
    const std::uint32_t packet_before = link_.newest_accepted();
    link_.accept(notices_);
    PURVIEW_ASSERT(link_.newest_accepted() > packet_before);
    const bool is_next = link_.newest_accepted() == packet_before + 1;
    for (const DeliveryNotice notice : notices_) {
        stream_out_.resolve(notice.sequence, notice.delivered);
        calls_out_.resolve(notice.sequence, notice.delivered);
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
    is_quiet =
        !has_snapshot && ghosts.has_value() && (is_quiet || silent_ticks >= ghosts->way_ticks_max);
    if (has_snapshot) {
        const Tick before = newest_tick;
        ghosts->accept(newest_tick, is_next);
        PURVIEW_ASSERT(newest_tick >= before);
        if (newest_tick != before) newest_tick_at = now;
        newest_packet = link_.newest_accepted();
        for (const GhostEvent& event : ghosts->events()) {
            events.push_back({event.ghost, event.kind, event.reason, event.copy});
            if (def.activation_log.write != nullptr) log_activation(events.back());
        }
        for (const GhostRelation& one : ghosts->relations()) {
            relations.push_back(
                {one.ghost, one.old_root, one.new_root, one.old_parent, one.new_parent});
        }
        if (too_many(events.size()) + too_many(relations.size()) > 0) drop_taken();
        stats.events_dropped += too_many(events.size()) + too_many(relations.size());
        drop_events(too_many(events.size()), too_many(relations.size()));
        PURVIEW_ASSERT(events.size() <= untaken_max && relations.size() <= untaken_max);
        stats.group_waits_ended = ghosts->counters().waits_ended;
        stats.order_violations = ghosts->counters().order_violations;
    }
    if (ghosts.has_value()) accept_calls(has_snapshot, now);
    ++stats.packets_received;
    last_heard_ = now;
    if (def.digest_every != 0 && ++packets_since_digest_ >= def.digest_every) digest_due_ = true;
    read_messages();
    PURVIEW_ASSERT(state != ClientState::joined || ghosts.has_value());
    PURVIEW_ASSERT(!is_view_told || ghosts.has_value());
    // What waits for the rest of its group has not been shown yet.
    if (is_view_told && !is_view_complete) is_view_complete = !ghosts->is_any_waiting();
}

void ClientData::log_activation(const ClientEvent& event) const {
    const bool is_on = event.copy == Change::entered || event.copy == Change::resumed;
    std::string line = is_on ? "activate" : "deactivate";
    const auto add = [&](const char* key, std::string_view value) {
        line.append(" ").append(key).append("=").append(value);
    };
    add("ghost", std::to_string(event.ghost));
    add("kind", ghosts->schema().kinds()[index_of(event.kind)].name);
    if (is_on && ghosts->is_held(event.ghost)) {
        const LocalId parent = ghosts->shown_parent(event.ghost);
        if (parent != no_local_id) add("parent", std::to_string(parent));
        add("root", std::to_string(ghosts->shown_root(event.ghost)));
    }
    add("tick", std::to_string(newest_tick));
    add("reason", to_string(event.reason));
    write_log(def.activation_log, LogLevel::trace, line);
}

bool ClientData::read_welcome(std::span<const std::byte> message) {
    PURVIEW_ASSERT(!ghosts.has_value());  // others point into its schema
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
    ghosts.emplace(std::move(schema).value());
    ghosts->bytes_max = def.ghost_bytes_max;
    schema_hash = hash;
    return true;
}

/// By what was sent, not by its hash, which whoever makes up a schema can make up as well.
bool ClientData::is_own(const Schema& own, std::uint64_t own_hash) const {
    if (!ghosts.has_value() || own_hash != schema_hash) return false;
    if (compared_ != &own) {
        compared_ = &own;
        is_compared_same_ = are_same_on_the_wire(own, ghosts->schema());
    }
    return is_compared_same_;
}

bool ClientData::read_cells(std::span<const std::byte> message) {
    BitReader in(message);
    (void)in.u8();
    const std::size_t count = in.u8();
    if (count > cell_grids_max) return false;
    std::vector<Cells> read(count);
    for (Cells& one : read) {
        const std::uint8_t flat = in.u8();
        one.is_flat = flat == 1;
        float numbers[4];
        for (float& number : numbers) number = std::bit_cast<float>(in.u32());
        one.grid = {{numbers[0], numbers[1], 0}, numbers[2], numbers[3], in.u32(), in.u32()};
        const bool is_sound = std::isfinite(numbers[0]) && std::isfinite(numbers[1]) &&
                              std::isfinite(numbers[2]) && std::isfinite(numbers[3]) &&
                              numbers[2] > 0 && numbers[3] > 0 && one.grid.columns > 0 &&
                              one.grid.rows > 0 && one.grid.columns <= cells_max / one.grid.rows;
        if (flat > 1 || !is_sound) return false;
    }
    if (!in.exhausted()) return false;
    cells = std::move(read);
    return true;
}

std::uint32_t ClientData::cell_of(GhostId ghost, std::size_t grid) const noexcept {
    if (grid >= cells.size() || !has_values(ghost) || !ghosts->has_position(ghost))
        return CellGrid::no_cell;
    Vec3 at = ghosts->replicated_position(ghost);
    if (cells[grid].is_flat) at.y = at.z;
    return cells[grid].grid.cell_of(at);
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
                good = !ghosts.has_value() && read_welcome(message);
                if (good) send_join();
                break;
            case ServerMessage::joined:
                good = ghosts.has_value() && state == ClientState::joining;
                if (good) state = ClientState::joined;
                break;
            case ServerMessage::refused:
                good = state == ClientState::joining && read_refusal(message);
                break;
            case ServerMessage::state_request:
                if (def.digest_every != 0 && ghosts.has_value()) send_state();
                break;
            case ServerMessage::view_complete:
                good = state == ClientState::joined;
                is_view_told = good;
                break;
            case ServerMessage::cells:
                good = ghosts.has_value() && read_cells(message);
                break;
            case ServerMessage::correction:
                good = inputs.messages.size() < ClientInputs::messages_max;
                if (good) inputs.messages.emplace_back(message.begin() + 1, message.end());
                break;
            case ServerMessage::game:
                good = state == ClientState::joined;
                if (good) keep_message(message.subspan(1));
                break;
            default:
                good = false;
                break;
        }
        if (good && state == ClientState::refused) return;
        if (!good) {  // a server that we cannot understand
            ++stats.packets_malformed;
            return leave(CloseReason::malformed);
        }
    }
}

/// All that we hold, for a check that failed (PROTOCOL.md, "Digest").
void ClientData::send_state() {
    std::vector<std::byte> bytes(message_bytes_max);
    BitWriter out(bytes);
    out.u8(static_cast<std::uint8_t>(ClientMessage::state));
    out.u32(link_.newest_accepted());
    ghosts->for_each_held([&](GhostId ghost) {
        out.boolean(true);
        out.u32(ghost);
        out.u16(static_cast<std::uint16_t>(ghosts->kind(ghost)));
        out.u32(ghosts->parent(ghost) == no_local_id ? 0 : ghosts->parent(ghost) + 1);
        const KindLayout& layout = ghosts->layout(ghosts->kind(ghost));
        if (layout.audience != 0) out.u32(ghosts->told(ghost) & layout.audience);
        for (const std::uint32_t word : ghosts->words(ghost)) out.u32(word);
    });
    out.boolean(false);
    if (out.ok()) (void)stream_out_.send(out.written());
}

void ClientData::keep_message(std::span<const std::byte> message) {
    messages_.emplace_back(message.begin(), message.end());
    message_bytes_ += message.size() + limits::message_overhead_bytes;
    while (message_bytes_ > limits::messages_received_bytes) {
        message_bytes_ -= messages_.front().size() + limits::message_overhead_bytes;
        messages_.pop_front();
        ++stats.messages_dropped;
    }
    PURVIEW_ASSERT(!messages_.empty());  // the limit has room for the largest
}

Status ClientData::send_message(std::span<const std::byte> message) {
    if (state != ClientState::joined) return Status::not_ready;
    if (message.size() > limits::message_bytes) return Status::too_large;
    const std::byte type{static_cast<std::uint8_t>(ClientMessage::game)};
    return stream_out_.send(std::span(&type, 1), message);
}

bool ClientData::next_message(std::span<const std::byte>& out) {
    if (messages_.empty()) return false;
    message_ = std::move(messages_.front());
    messages_.pop_front();
    PURVIEW_ASSERT(message_bytes_ >= message_.size() + limits::message_overhead_bytes);
    message_bytes_ -= message_.size() + limits::message_overhead_bytes;
    PURVIEW_ASSERT(messages_.empty() == (message_bytes_ == 0));
    out = message_;
    return true;
}

// -- send ---------------------------------------------------------------------------------------

void ClientData::tick(Micros now) {
    if (!started_) {
        started_ = now;
        last_heard_ = now;
    }
    if (state == ClientState::connecting) {
        if (is_over(*started_, now, def.connect_timeout_ms)) {
            state = ClientState::closed;
            close_reason = CloseReason::timeout;
            return;
        }
        if (last_handshake_ != 0 && now - last_handshake_ < handshake_every_us) return;
        last_handshake_ = now == 0 ? 1 : now;
        std::array<std::byte, hello_bytes> bytes;
        const std::size_t size =
            answer_ ? write(*answer_, bytes)
                    : write(Hello{limits::protocol_version, def.schema_hash, def.nonce}, bytes);
        return queue(std::span<const std::byte>(bytes).first(size));
    }
    if (state != ClientState::joining && state != ClientState::joined) return;
    if (is_over(last_heard_, now, def.session_timeout_ms)) {
        // A server that stood still need not keep room for whom it will not hear again.
        return leave(CloseReason::timeout);
    }
    release_calls(now);
    send_data(now);
}

void ClientData::send_data(Micros now) {
    const auto sent_at = [&](std::uint32_t number) { return sent_at_[number % sent_at_.size()]; };
    if (!may_send(link_, sent_at, now, def.session_timeout_ms)) return;
    std::array<std::byte, limits::datagram_bytes> bytes{};
    BitWriter out(bytes);
    out.bits(0, seal_bytes * 8);
    out.u64(connection_id_);
    const std::uint32_t sequence = link_.write_header(out);
    // The stream takes what the others leave; while it has something to say, a part is its own.
    const std::uint64_t call_bits = choose_calls();
    PURVIEW_ASSERT(out.bits_written() + 128 + call_bits <= limits::datagram_bytes * 8);
    std::uint64_t left = limits::datagram_bytes * 8 - out.bits_written() - 128 - call_bits;
    const std::uint64_t stream_bits = stream_out_.wants_to_send() ? left / 4 : 0;
    const std::uint64_t one_command = commands_.empty() ? 0 : (limits::command_bytes + 2) * 8 + 32;
    PURVIEW_ASSERT(left >= stream_bits + one_command);
    const std::uint64_t input_bits =
        ghosts.has_value() && state == ClientState::joined
            ? inputs.outbox.choose(ghosts->schema(), inputs.has_digests,
                                   std::min(input_bits_max, left - stream_bits - one_command))
            : 0;
    left -= input_bits;
    const auto [commands, command_bits] = choose_commands(left - stream_bits);
    stream_out_.write(sequence, left - command_bits, out);
    out.boolean(false);
    out.boolean(digest_due_ && ghosts.has_value());
    if (digest_due_ && ghosts.has_value()) {
        out.u64(ghosts->digest());
        digest_due_ = false;
        packets_since_digest_ = 0;
    }
    write_commands(commands, out);
    write_calls(sequence, out);
    if (input_bits > 0) {
        inputs.outbox.write(ghosts->schema(), inputs.has_digests, inputs.corrections, out);
    }
    out.align();
    while (out.bytes_written() < challenge_bytes) out.u8(0);
    PURVIEW_ASSERT(out.ok());
    sent_at_[sequence % sent_at_.size()] = now;
    const auto datagram = std::span<std::byte>(bytes).first(out.bytes_written());
    seal(PacketType::data, data_seed(connection_id_, sequence), datagram);
    queue(datagram);
}

ClientData::ChosenCommands ClientData::choose_commands(std::uint64_t bits_max) const noexcept {
    ChosenCommands chosen{0, 32};
    while (chosen.count < commands_.size() && chosen.count < commands_per_packet_max) {
        const std::uint64_t bits = (commands_[chosen.count].data.size() + 2) * 8;
        if (chosen.bits + bits > bits_max) break;
        chosen.bits += bits;
        ++chosen.count;
    }
    return chosen;
}

void ClientData::write_commands(std::size_t count, BitWriter& out) {
    PURVIEW_ASSERT(count <= commands_.size() && commands_.size() <= newest_command_);
    out.varint(count);
    if (count == 0) return;
    const auto last = newest_command_ - static_cast<std::uint32_t>(commands_.size() - count);
    out.u16(static_cast<std::uint16_t>(last));
    for (std::size_t i = 0; i < count; ++i) {
        out.u8(static_cast<std::uint8_t>(commands_[i].data.size()));
        out.bytes(commands_[i].data);
        PURVIEW_ASSERT(commands_[i].packets_left > 0);
        --commands_[i].packets_left;
    }
    while (!commands_.empty() && commands_.front().packets_left == 0) commands_.pop_front();
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
    ++inputs.heard;
}

Status ClientData::send_command(std::span<const std::byte> data) {
    if (data.size() > limits::command_bytes) return Status::too_large;
    if (state != ClientState::joined) return Status::not_ready;
    if (commands_.size() >= 64) return Status::capacity;
    commands_.push_back({{data.begin(), data.end()}, command_repeats});
    ++newest_command_;
    return Status::ok;
}

void ClientData::leave(CloseReason reason) {
    // Why it ended stays as it was heard.
    if (state == ClientState::refused || state == ClientState::closed) return;
    if (connection_id_ != 0 && (state == ClientState::joining || state == ClientState::joined)) {
        std::array<std::byte, close_bytes_max> bytes;
        const std::size_t size = write(Close{connection_id_, reason, {}}, bytes);
        queue(std::span<const std::byte>(bytes).first(size));
    }
    state = ClientState::closed;
    close_reason = reason;
}

}  // namespace purview
