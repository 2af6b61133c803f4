// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/packet_sender.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/internal_access.hpp"
#include "core/mutate.hpp"
#include "link/messages.hpp"
#include "link/timeout.hpp"
#include "purview/limits.hpp"
#include "server/input_router.hpp"
#include "world/world_data.hpp"

namespace purview {

namespace {

/// A smaller rest of the budget is not used for a packet.
constexpr std::size_t room_bytes_min = 64;

/// Heartbeat: the longest time without a packet, so that the client receives the tick and keeps its
/// connection.
constexpr std::uint32_t silent_ticks_max = 10;
/// The longest time without sending the tick. Packets contain its low 16 bits, which the client
/// completes from the last tick that it received.
constexpr Tick unsent_ticks_max = 256;

}  // namespace

PacketSender::PacketSender(const ServerDef& def, const ServerTime& time, const World& world,
                           const FieldStore& fields, SharedSections& sections, RpcRouter& calls,
                           TickWorkers& workers, DatagramQueue& datagrams,
                           ReplicationTap* const& tap, const InjectedFault& injected_fault)
    : def_(def),
      time_(time),
      world_(world),
      fields_(fields),
      sections_(sections),
      calls_(calls),
      workers_(workers),
      datagrams_(datagrams),
      tap_(tap),
      injected_(injected_fault) {
    for (const KindDef& kind : def.schema->kinds()) has_limits_ |= kind.limit_per_tick != 0;
}

ReplicationInput PacketSender::input(TickWorker& worker) noexcept {
    return {*def_.schema,
            internal(world_),
            fields_,
            worker.cache,
            time_.tick,
            injected_ == InjectedFault::order,
            &sections_.cells(),
            def_.enter_priority,
            has_limits_,
            injected_ == InjectedFault::audience};
}

void PacketSender::begin_tick() {
    PURVIEW_ASSERT(time_.in_tick);
    datagrams_.begin_tick();
    workers_.begin_tick();
}

void PacketSender::end_tick(TickProfile& profile) {
    datagrams_.add_written();
    calls_.add_written(workers_);
    std::uint32_t worked = 0;
    TickProfile sum;
    for (const auto& worker : workers_) {
        split_updates_ += worker->split_updates;
        limited_updates_ += worker->limited_updates;
        sum.diff_us += worker->gather_us;
        sum.prioritize_us += worker->prioritize_us;
        sum.encode_us += worker->encode_us;
        worked += worker->encode_us > 0 ? 1 : 0;
    }
    // Divides time that several workers spent in parallel by their number.
    worked = std::max(worked, 1U);
    profile.diff_us += sum.diff_us / worked;
    profile.prioritize_us = sum.prioritize_us / worked;
    profile.encode_us = sum.encode_us / worked;
}

bool PacketSender::may_send(const Session& session) const noexcept {
    const auto sent_at = [&](std::uint32_t number) { return session.sent_in(number).at; };
    return purview::may_send(session.link, sent_at, time_.now, def_.session_timeout_ms);
}

PacketSender::Written PacketSender::write_packet(TickWorker& worker, Session& session,
                                                 std::span<std::byte> buffer, Micros now,
                                                 bool must_send) {
    const bool has_items = session.plan->has_more() || session.shared.has_sections() ||
                           session.calls_out.has_data_to_send();
    if (!PURVIEW_GUARD(packets_under_way, may_send(session))) return {};
    if (!has_items && !session.stream_out.has_data_to_send() && !must_send) return {};
    BitWriter out(buffer);
    session.seal.begin(out);
    const std::uint32_t sequence = session.link.write_header(out);
    // Minimum size of what follows the fragments: the end mark, the input state, and a snapshot
    // with the tick and the ghost that has room reserved. Calls are not included.
    const std::uint64_t urgent_bits = session.plan->kept_bits();
    const std::uint64_t snapshot_bits = session.plan->must_send_tick || urgent_bits > 0
                                            ? empty_snapshot_bits(fields_) + urgent_bits
                                            : 1;
    const std::uint64_t state_bits = 1 + InputRouter::state_bits(session);
    const std::uint64_t behind_bits = 1 + snapshot_bits + state_bits;
    const auto fragments = [&] {
        if (out.bits_left() <= behind_bits) return false;
        // If other items wait, fragments get at most half of the room. They get none if they left
        // no room for a call in the last tick.
        const std::uint64_t all = out.bits_left() - behind_bits;
        if (session.call_room.go_first && urgent_bits == 0 && session.calls_out.has_data_to_send())
            return false;
        return session.stream_out.write(sequence, has_items ? all / 2 : all, out);
    };
    const bool has_fragments = fragments();
    out.boolean(false);
    const bool joined = session.observer != ObserverId::none;
    PURVIEW_ASSERT(out.bits_left() >= state_bits);  // fragments leave this room
    const std::uint64_t room = out.bits_left() - state_bits;
    const auto beside = [room](std::uint64_t others) { return room - std::min(room, others); };
    const std::uint64_t section_bits = session.shared.bits();
    std::uint64_t call_bits = calls_.choose(session, beside(section_bits + urgent_bits));
    // Section members can be sent individually, but a call cannot wait for a tick without sections.
    if (section_bits != 0 && session.calls_out.oldest_lacks_room())
        call_bits = calls_.choose(session, beside(urgent_bits));
    PURVIEW_ASSERT(call_bits <= room);
    session.call_room.kept_out |= has_fragments && session.calls_out.oldest_lacks_room();
    if (!joined || !write_snapshot(input(worker), session.ghosts, *session.plan, &session.shared,
                                   sequence, room - call_bits, out)) {
        out.boolean(false);
    } else {
        session.last_sent_tick = time_.tick;
        if (tap_ != nullptr) tap_->packet_sent(session, session.ghosts.packets().newest());
    }
    const bool has_calls = calls_.write(worker, session, sequence, out);
    if (joined) InputRouter::write_state(session, out);
    PURVIEW_ASSERT(out.ok());
    session.sent_in(sequence) = {now, time_.tick};
    session.seal.seal(sequence, clear_bytes_to_client, buffer.first(out.bytes_written()));
    return {out.bytes_written(), has_fragments || has_calls};
}

/// Reserves room for a ghost that did not fit, in the next tick that lists it. Calls follow behind
/// it. After a tick in which fragments left no room for a call, the next tick sends no fragments.
void PacketSender::note_passed_over(Session& session) noexcept {
    const LocalId kept = session.plan->kept_for;
    const bool calls_kept_out = std::exchange(session.call_room.kept_out, false);
    auto& [first, second] = session.last_plan.passed_over;
    for (LocalId* slot : {&first, &second}) {
        const bool waits = *slot != kept && *slot < session.ghosts.slots().end() &&
                           session.ghosts.sends().is_pending(*slot);
        if (!waits) *slot = no_local_id;
    }
    if (kept != no_local_id) return;
    session.call_room.go_first = calls_kept_out && session.calls_out.has_data_to_send();
    const LocalId left_out = session.plan->left_out();
    if (left_out != first) (first == no_local_id ? first : second) = left_out;
}

void PacketSender::send(TickWorker& worker, Session& session, Micros now) {
    PURVIEW_ASSERT(session.state != Session::State::probe &&
                   session.state != Session::State::closing);
    PURVIEW_ASSERT(session.plan != nullptr);
    std::size_t budget = session.budget_bytes;
    bool sent = false;
    const bool is_silent = session.silent_ticks >= silent_ticks_max;
    // Motion that matches its dead reckoning is not sent, but the tick is.
    session.plan->must_send_tick = session.state == Session::State::joined &&
                                   (is_silent || session.ghosts.motions().is_any_moving() ||
                                    time_.tick - session.last_sent_tick >= unsent_ticks_max);
    for (;;) {
        const std::size_t room = PURVIEW_GUARD_OR(budget, std::min(budget, limits::datagram_bytes),
                                                  limits::datagram_bytes);
        const std::uint64_t bits_min =  // a header may acknowledge a thousand packets
            packet_bits_min(session.seal.head_bytes(), session.link.header_bits_max(),
                            InputRouter::state_bits(session));
        if (room < room_bytes_min || room * 8 < bits_min) break;
        const bool must_send = !sent && (is_silent || session.plan->must_send_tick ||
                                         session.link.has_unsent_acknowledgement());
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
        const bool sent_payloads = had_sections && !session.shared.has_sections();
        if (!session.plan->took_any && !sent_payloads && !has_more) break;
    }
    if (session.shared.has_sections()) sections_.give_up(session);
    session.last_plan.left_some = session.plan->has_more();
    note_passed_over(session);
    session.silent_ticks = sent ? 0 : session.silent_ticks + 1;
}

void PacketSender::write_probe(TickWorker& worker, Session& session) {
    PURVIEW_ASSERT(session.state == Session::State::probe && session.plan != nullptr);
    for (std::uint32_t sequence = session.next_command;; ++sequence) {
        BitWriter out(worker.out.room());  // the packet is not sent
        // Reserves what precedes the snapshot of a real packet: checksum, a header with one status
        // bit, no fragments.
        out.bits(0, seal_bytes * 8);
        out.bits(0, 2 * PacketLink::sequence_bits + 1 + 4 + 1 + 1);
        if (!write_snapshot(input(worker), session.ghosts, *session.plan, nullptr, sequence,
                            out.bits_left(), out)) {
            session.next_command = sequence;
            return;
        }
        session.bytes_sent += out.bytes_written();
        session.ghosts.resolve(sequence, true);
        session.plan->skip_taken();
    }
}

}  // namespace purview
