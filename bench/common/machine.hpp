// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What every benchmark asks of the machine: time, counted memory, bandwidth; and how it sums up.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace purview::bench {

double median(std::vector<double> values);
/// 0 <= q <= 1.
double percentile(std::vector<double> values, double q);
/// Median over rounds of peer's time over ours.
double ratio_of_rounds(const std::vector<double>& peer, const std::vector<double>& ours);

class Stopwatch {
  public:
    double ms() const {
        return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

/// Copied bytes (read plus written) per second at a working set.
double copy_bandwidth(double bytes);

/// The memory of our engine as the ready server has it, counted.
void use_counted_memory(bool huge_pages);
/// The heap, counted by this program's own operator new.
std::size_t heap_bytes() noexcept;
std::size_t heap_allocations() noexcept;

}  // namespace purview::bench
