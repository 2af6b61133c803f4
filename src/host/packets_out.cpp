// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What goes to clients: each tick, no more packets than the budget has bytes for.
#include <algorithm>
#include <array>
#include <utility>

#include "core/mutate.hpp"
#include "host/server_data.hpp"
#include "host/timeout.hpp"
#include "link/messages.hpp"

namespace purview {

namespace {

/// Less is not worth a packet.
constexpr std::size_t room_bytes_min = 64;

/// A packet at least this often, so that the other side knows the tick and that we live.
constexpr std::uint32_t silent_ticks_max = 10;
/// The tick at least this often, however much else is sent: its low 16 bits are told, and the other
/// side completes them by the last ones.
constexpr Tick untold_ticks_max = 256;

}  // namespace

/// All of it has been taken.
void ServerData::clear_outboxes() noexcept {
    out_.clear();
    outbox_.clear();
    for (const auto& worker : workers_) worker->out.clear();
}

void ServerData::queue(const Address& to, std::span<const std::byte> bytes) {
    if (out_.empty()) clear_outboxes();
    std::copy(bytes.begin(), bytes.end(), outbox_.room().begin());
    outbox_.add(to, bytes.size());
    out_.add(outbox_, outbox_.size() - 1, outbox_.size());
    bytes_sent_ += bytes.size();
}

bool ServerData::next_datagram(OutgoingDatagram& out) {
    if (out_.empty()) return false;
    out = out_.take();
    return true;
}

/// Before the sessions are gone through, in so many chunks.
void ServerData::begin_packets(std::size_t chunks) {
    if (out_.empty()) clear_outboxes();
    chunks_.assign(chunks, {});
    for (const auto& worker : workers_) {
        worker->late.clear();
        worker->calls_written = worker->split_updates = worker->limited_updates = 0;
        worker->gather_us = worker->prioritise_us = worker->encode_us = 0;
    }
}

/// In the order of sessions, whoever made them: what waits for its carrier, and what no packet had
/// room for.
void ServerData::end_packets() {
    for (const TickChunk& chunk : chunks_) {
        const TickWorker& its = *chunk.worker;
        out_.add(its.out, chunk.first_datagram, chunk.end_datagram);
        for (std::size_t i = chunk.first_datagram; i < chunk.end_datagram; ++i)
            bytes_sent_ += its.out.bytes(i).size();
        for (std::size_t i = chunk.first_late; i < chunk.end_late; ++i) {
            ++calls.counters.culled_late;
            calls.late.push_back(its.late[i]);
        }
    }
    std::uint32_t worked = 0;
    TickProfile sum;
    for (const auto& worker : workers_) {
        calls.counters.written += worker->calls_written;
        split_updates_ += worker->split_updates;
        limited_updates_ += worker->limited_updates;
        sum.diff_us += worker->gather_us;
        sum.prioritise_us += worker->prioritise_us;
        sum.encode_us += worker->encode_us;
        worked += worker->encode_us > 0 ? 1 : 0;
    }
    // Of what several do at once the share of each.
    worked = std::max(worked, 1U);
    profile.diff_us += sum.diff_us / worked;
    profile.prioritise_us = sum.prioritise_us / worked;
    profile.encode_us = sum.encode_us / worked;
}

bool ServerData::may_send(const Session& session) const noexcept {
    const auto sent_at = [&](std::uint32_t number) { return session.sent_in(number).at; };
    return purview::may_send(session.link, sent_at, last_now_, def.session_timeout_ms);
}

ServerData::Written ServerData::write_packet(TickWorker& worker, Session& session,
                                             std::span<std::byte> buffer, Micros now,
                                             bool must_send) {
    const bool has_items = session.plan->has_more() || session.shared.has_sections() ||
                           session.calls_out.wants_to_send();
    if (!PURVIEW_GUARD(packets_under_way, may_send(session))) return {};
    if (!has_items && !session.stream_out.wants_to_send() && !must_send) return {};
    BitWriter out(buffer);
    out.bits(0, seal_bytes * 8);
    const std::uint32_t sequence = session.link.write_header(out);
    // What is behind the fragments at least: their end, a snapshot, which may have to tell the
    // tick, and whoever is kept room; no calls, and what became of input.
    const std::uint64_t urgent_bits = session.plan->kept_bits();
    const std::uint64_t snapshot_bits = session.plan->must_tell_tick || urgent_bits > 0
                                            ? empty_snapshot_bits(fields_) + urgent_bits
                                            : 1;
    const std::uint64_t state_bits = 1 + input_state_bits(session);
    const std::uint64_t behind_bits = 1 + snapshot_bits + state_bits;
    const auto fragments = [&] {
        if (out.bits_left() <= behind_bits) return false;
        // While anything else waits, no more than half; nothing, where a call found no room beside
        // those of the last tick.
        const std::uint64_t all = out.bits_left() - behind_bits;
        if (session.calls_go_first && urgent_bits == 0 && session.calls_out.wants_to_send())
            return false;
        return session.stream_out.write(sequence, has_items ? all / 2 : all, out);
    };
    const bool has_fragments = fragments();
    out.boolean(false);
    const bool joined = session.observer != ObserverId::none;
    const std::uint64_t room = out.bits_left() - state_bits;
    const auto beside = [room](std::uint64_t others) { return room - std::min(room, others); };
    const std::uint64_t section_bits = session.shared.bits();
    std::uint64_t call_bits = choose_calls(session, beside(section_bits + urgent_bits));
    // Who is in the sections can be told one by one; a call cannot wait for a tick without them.
    if (section_bits != 0 && session.calls_out.oldest_lacks_room())
        call_bits = choose_calls(session, beside(urgent_bits));
    session.calls_kept_out |= has_fragments && session.calls_out.oldest_lacks_room();
    if (!joined || !write_snapshot(replication_input(worker), session.ghosts, *session.plan,
                                   &session.shared, sequence, room - call_bits, out)) {
        out.boolean(false);
    } else {
        session.told_tick = tick_number;
        if (tap != nullptr) tap->packet_sent(session, session.ghosts.last_record());
    }
    const bool has_calls = write_calls(worker, session, sequence, out);
    if (joined) write_input_state(session, out);
    PURVIEW_ASSERT(out.ok());
    session.sent_in(sequence) = {now, tick_number};
    seal(PacketType::data, session.connection_id, buffer.first(out.bytes_written()));
    return {out.bytes_written(), has_fragments || has_calls};
}

/// Whoever was kept out has his room in the next tick that lists him, and calls have theirs in that
/// behind it; a call that fragments kept out goes without them.
void ServerData::note_passed_over(Session& session) const noexcept {
    const LocalId kept = session.plan->kept_for;
    const bool calls_kept_out = std::exchange(session.calls_kept_out, false);
    auto& [first, second] = session.last_plan.passed_over;
    for (LocalId* lane : {&first, &second}) {
        const bool waits =
            *lane != kept && *lane < session.ghosts.lane_end() && session.ghosts.is_pending(*lane);
        if (!waits) *lane = no_local_id;
    }
    if (kept != no_local_id) return;
    session.calls_go_first = calls_kept_out && session.calls_out.wants_to_send();
    const LocalId left_out = session.plan->left_out();
    if (left_out != first) (first == no_local_id ? first : second) = left_out;
}

void ServerData::encode_session(TickWorker& worker, Session& session, Micros now) {
    std::size_t budget = session.budget_bytes;
    bool sent = false;
    const bool is_silent = session.silent_ticks >= silent_ticks_max;
    // What moves as extrapolated is not told; in which tick it is, is.
    session.plan->must_tell_tick = session.state == Session::State::joined &&
                                   (is_silent || session.ghosts.motions().is_any_moving() ||
                                    tick_number - session.told_tick >= untold_ticks_max);
    for (;;) {
        const std::size_t room =
            PURVIEW_GUARD_OR(budget, std::min(budget, datagram_bytes_max), datagram_bytes_max);
        const std::uint64_t bits_min =  // a header may tell of a thousand packets
            packet_bits_min(session.link.header_bits_max(), input_state_bits(session));
        if (room < room_bytes_min || room * 8 < bits_min) break;
        const bool must_send = !sent && (is_silent || session.plan->must_tell_tick ||
                                         session.link.owes_acknowledgement());
        const bool had_sections = session.shared.has_sections();
        const auto [size, has_more] =
            write_packet(worker, session, worker.out.room().first(room), now, must_send);
        if (size == 0) break;
        PURVIEW_ASSERT(size <= budget);
        budget -= size;
        session.bytes_sent += size;
        worker.out.add(session.address, size);
        sent = true;
        session.plan->skip_taken();
        const bool told_sections = had_sections && !session.shared.has_sections();
        if (!session.plan->took_any && !told_sections && !has_more) break;
    }
    if (session.shared.has_sections()) give_up_sections(session);
    session.last_plan.left_some = session.plan->has_more();
    note_passed_over(session);
    session.silent_ticks = sent ? 0 : session.silent_ticks + 1;
}

void ServerData::encode_probe(TickWorker& worker, Session& session) {
    for (std::uint32_t sequence = session.next_command;; ++sequence) {
        BitWriter out(worker.out.room());  // it goes nowhere
        // What a real packet has before its snapshot: seal, header with one status bit, no
        // fragments.
        out.bits(0, seal_bytes * 8);
        out.bits(0, 2 * PacketLink::sequence_bits + 1 + 4 + 1 + 1);
        if (!write_snapshot(replication_input(worker), session.ghosts, *session.plan, nullptr,
                            sequence, out.bits_left(), out)) {
            session.next_command = sequence;
            return;
        }
        session.bytes_sent += out.bytes_written();
        session.ghosts.resolve(sequence, true);
        session.plan->skip_taken();
    }
}

}  // namespace purview
