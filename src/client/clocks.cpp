// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/clocks.hpp"

#include <algorithm>
#include <cmath>

#include "purview/status.hpp"

namespace purview {

namespace {

constexpr double micros_per_second = 1e6;
/// Maximum increase of the rate. 5 % is not noticeable and gains one tick in a third of a second at
/// 60 Hz.
constexpr double rate_span = 0.05;
/// Maximum decrease of the rate. An overfull input buffer adds latency, so a noticeable change is
/// acceptable.
constexpr double slow_span = 0.25;
constexpr double rate_per_command = 0.02;
constexpr double smoothing = 0.1;
/// Input starvation has more weight than one input too many.
constexpr double starved_weight = -2;
/// A slowdown up to this fraction is attributed to rising latency, not to the server.
constexpr double pace_noise = 0.03;
constexpr double pace_min = 0.1;

}  // namespace

void CommandClock::note_report(std::uint32_t waiting, bool starved) noexcept {
    const double sample = starved ? starved_weight : static_cast<double>(waiting);
    waiting_ = waiting_ < starved_weight + 1 && rate_ == 1
                   ? sample
                   : waiting_ + (sample - waiting_) * smoothing;
    rate_ = 1 + std::clamp((target_ - waiting_) * rate_per_command, -slow_span, rate_span);
}

unsigned CommandClock::advance(Micros now, double server_pace) noexcept {
    PURVIEW_ASSERT(hz_ > 0 && server_pace > 0);
    pace_ = server_pace;
    if (last_ == 0) {
        last_ = std::max<Micros>(now, 1);
        return static_cast<unsigned>(target_) + 1;
    }
    const double seconds = now > last_ ? static_cast<double>(now - last_) / micros_per_second : 0;
    last_ = std::max(now, last_);
    due_ += seconds * hz_ * rate_ * pace_;
    const double whole = std::floor(due_);
    due_ -= whole;
    PURVIEW_ASSERT(due_ >= 0 && due_ < 1);
    const double most = std::clamp<double>(hz_ / 8, ticks_at_once_min, ticks_at_once_max);
    return static_cast<unsigned>(std::min(whole, most));
}

double CommandClock::part(Micros now) const noexcept {
    if (last_ == 0) return 1;
    const double seconds = now > last_ ? static_cast<double>(now - last_) / micros_per_second : 0;
    return std::clamp(due_ + seconds * hz_ * rate_ * pace_, 0.0, 1.0);
}

double ViewClock::ticks_of(double micros) const noexcept {
    return micros * hz_ / micros_per_second;
}

/// Lowers the pace only if two consecutive seconds show a slow server, because a single second may
/// contain a stall.
void ViewClock::end_second(const Fastest& sample) noexcept {
    const double lost = fastest_before_.tick_at_zero - fastest_.tick_at_zero;
    const double ought = ticks_of(static_cast<double>(fastest_.at - fastest_before_.at));
    const double pace =
        ought > 0 && lost > pace_noise * ought ? std::clamp(1 - lost / ought, pace_min, 1.0) : 1;
    pace_ = std::max(pace, pace_before_);
    pace_before_ = pace;
    PURVIEW_ASSERT(pace_ >= pace_min && pace_ <= 1);
    fastest_before_ = fastest_;
    fastest_ = sample;
    second_began_ = sample.at;
}

void ViewClock::note_snapshot(Tick newest, Micros at) noexcept {
    if (newest == newest_tick_ || at == 0) return;
    const Fastest sample{at, newest - ticks_of(static_cast<double>(at))};
    if (newest_tick_ == 0) fastest_ = fastest_before_ = sample;
    if (static_cast<double>(at - second_began_) > micros_per_second) end_second(sample);
    if (tick_by(sample, at) > tick_by(fastest_, at)) fastest_ = sample;
    newest_tick_ = newest;
}

double ViewClock::tick_by(const Fastest& packet, Micros now) const noexcept {
    const double since = static_cast<double>(now) - static_cast<double>(packet.at);
    return packet.tick_at_zero + ticks_of(static_cast<double>(now)) - (1 - pace_) * ticks_of(since);
}

void ViewClock::advance(Micros now) noexcept {
    if (newest_tick_ == 0) return;
    const double ideal = std::max(tick_by(fastest_, now), tick_by(fastest_before_, now)) - delay_;
    const double step =
        last_ == 0 || now < last_ ? 0 : pace_ * ticks_of(static_cast<double>(now - last_));
    view_ += step;
    const double off = ideal - view_;
    if (last_ == 0 || std::abs(off) > hz_ / 2) {
        view_ = ideal;
    } else {
        view_ += std::clamp(off * 0.1, -0.1 * step, 0.1 * step);
    }
    last_ = now;
}

double ViewClock::tick(Micros now) const noexcept {
    if (newest_tick_ == 0) return 0;
    const double since = now > last_ ? static_cast<double>(now - last_) : 0;
    return std::max(0.0, view_ + pace_ * ticks_of(since));
}

}  // namespace purview
