// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Measurements of the machine for all benchmarks (time, counted memory, bandwidth), and their
// statistics.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace purview::bench {

double median(std::vector<double> values);
/// `q` is in 0..1.
double percentile(std::vector<double> values, double q);
/// Median over all rounds of the peer's time divided by Purview's time.
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

/// Bytes copied per second (read plus written) with the given working set.
double copy_bandwidth(double bytes);

/// Uses the memory hooks of the ready-made server for the engine, with counting.
void use_counted_memory(bool huge_pages);
/// Heap usage, counted by this program's operator new.
std::size_t heap_bytes() noexcept;
std::size_t heap_allocations() noexcept;

}  // namespace purview::bench
