// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/tick_loop.hpp"

#include <algorithm>

#include "net/system.hpp"

namespace purview::net {

namespace {

/// Small, so that a flood does not delay the tick.
constexpr std::size_t datagrams_per_turn = 256;
constexpr std::size_t ticks_kept = 1U << 16;
/// If the loop is later than this many periods, ticks are skipped instead of run back to back.
constexpr Micros periods_late_max = 5;

}  // namespace

TickLoop::TickLoop(record::IoRecorder& recorder, UdpSocket& udp, WebServer& web,
                   std::uint32_t tick_hz)
    : recorder_(recorder), udp_(udp), web_(web) {
    stats_.period_us = 1'000'000 / tick_hz;
    web_.on_datagram = [this](std::span<const std::byte> bytes, const Address& from) {
        recorder_.receive(bytes, from, now());
        send();
    };
    web_.on_play_closed = [this](const Address& address) { recorder_.address_closed(address); };
    web_.watch(udp_.descriptor(), [this] {
        udp_.receive(datagrams_per_turn,
                     [this](std::span<const std::byte> bytes, const Address& from) {
                         recorder_.receive(bytes, from, now());
                     });
        send();
    });
}

void TickLoop::send() {
    OutgoingDatagram out;
    while (recorder_.next_datagram(out)) {
        if (out.to.carrier == Address::Carrier::web_socket) {
            web_.send(out.bytes, out.to);
        } else {
            udp_.send(out.bytes, out.to);
        }
    }
    udp_.flush();
}

void TickLoop::note_behind(Micros late_us) {
    stats_.behind_us = std::max(stats_.behind_us, stats_.skipped * stats_.period_us + late_us);
}

void TickLoop::run(volatile const bool* stop, double seconds,
                   const std::function<void()>& after_tick) {
    const Micros period = stats_.period_us;
    const Micros waited = thread_waited_now();
    const Micros start = now();
    const Micros end = seconds > 0 ? start + static_cast<Micros>(seconds * 1e6) : ~Micros{0};
    Micros due = start + period;
    while (!*stop && now() < end) {
        do {  // at least once, so that a late loop also receives
            web_.wait_until(due, period / 2);
        } while (!*stop && now() < due);
        const Micros watched = watching_ ? watching_() : 0;
        const Micros begin = now();
        stats_.late_us = begin - std::min(begin, due);
        note_behind(stats_.late_us);
        const Micros cpu_begin = thread_cpu_now();
        recorder_.tick(begin);
        const Micros watching = watching_ ? watching_() - watched : 0;
        const auto its_own = [&](Micros all) { return all - std::min(all, watching); };
        const Micros took = its_own(now() - begin);
        const std::size_t at = stats_.ticks++ % ticks_kept;
        if (stats_.tick_ms.size() <= at) {
            stats_.tick_ms.push_back(0);
            stats_.tick_cpu_ms.push_back(0);
        }
        stats_.tick_ms[at] = static_cast<float>(took) / 1000;
        stats_.tick_cpu_ms[at] = static_cast<float>(its_own(thread_cpu_now() - cpu_begin)) / 1000;
        if (took > period) ++stats_.overruns;
        send();
        stats_.udp = udp_.counters();
        due += period;
        if (now() > due + periods_late_max * period) {
            const Micros late = (now() - due) / period;
            stats_.skipped += late;
            note_behind(0);  // the skipped ticks contain this delay: do not count it twice
            due += late * period;
        }
        if (after_tick) after_tick();
    }
    stats_.waited_us = thread_waited_now() - waited;
    if (ending_) ending_();
    recorder_.shut_down();
    recorder_.tick(now());  // reports the ends of sessions to the game
    send();
    web_.wait_until(now() + 50'000);  // sends the last frames
}

}  // namespace purview::net
