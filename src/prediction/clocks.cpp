// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "prediction/clocks.hpp"

#include <algorithm>
#include <cmath>

namespace purview {

namespace {

constexpr double micros_per_second = 1e6;
/// Taste: a twentieth faster or slower is not seen, and makes up for a tick in a third of a second
/// at 60 Hz.
constexpr double rate_span = 0.05;
/// What waits far beyond its need makes everything late: then it may be seen.
constexpr double slow_span = 0.25;
constexpr double rate_per_command = 0.02;
constexpr double smoothing = 0.1;
/// An outage weighs more than a tick with one too many.
constexpr double starved_weight = -2;

}  // namespace

void CommandClock::heard(std::uint32_t waiting, bool starved) noexcept {
    const double sample = starved ? starved_weight : static_cast<double>(waiting);
    waiting_ = waiting_ < starved_weight + 1 && rate_ == 1
                   ? sample
                   : waiting_ + (sample - waiting_) * smoothing;
    rate_ = 1 + std::clamp((target_ - waiting_) * rate_per_command, -slow_span, rate_span);
}

unsigned CommandClock::advance(Micros now) noexcept {
    if (last_ == 0) {
        last_ = std::max<Micros>(now, 1);
        return static_cast<unsigned>(target_) + 1;
    }
    const double seconds = now > last_ ? static_cast<double>(now - last_) / micros_per_second : 0;
    last_ = std::max(now, last_);
    due_ += seconds * hz_ * rate_;
    const double whole = std::floor(due_);
    due_ -= whole;
    return static_cast<unsigned>(std::min<double>(whole, ticks_at_once_max));
}

double CommandClock::part(Micros now) const noexcept {
    if (last_ == 0) return 1;
    const double seconds = now > last_ ? static_cast<double>(now - last_) / micros_per_second : 0;
    return std::clamp(due_ + seconds * hz_ * rate_, 0.0, 1.0);
}

void ViewClock::heard(Tick newest, Micros at) noexcept {
    if (newest == heard_ || at == 0) return;
    const double sample = newest - static_cast<double>(at) * hz_ / micros_per_second;
    if (heard_ == 0) fastest_ = fastest_before_ = sample;
    if (static_cast<double>(at - second_began_) > micros_per_second) {
        fastest_before_ = fastest_;
        fastest_ = sample;
        second_began_ = at;
    }
    fastest_ = std::max(fastest_, sample);
    heard_ = newest;
}

void ViewClock::advance(Micros now) noexcept {
    if (heard_ == 0) return;
    const double ideal = std::max(fastest_, fastest_before_) +
                         static_cast<double>(now) * hz_ / micros_per_second - delay_;
    const double step =
        last_ == 0 || now < last_ ? 0 : static_cast<double>(now - last_) * hz_ / micros_per_second;
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
    const double since = now > last_ ? static_cast<double>(now - last_) : 0;
    return std::max(0.0, view_ + since * hz_ / micros_per_second);
}

}  // namespace purview
