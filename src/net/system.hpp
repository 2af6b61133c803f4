// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// System services that a program passes to the library: time, randomness, a keyed hash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "purview/connection.hpp"
#include "purview/net/random.hpp"
#include "purview/types.hpp"

namespace purview::net {

/// Microseconds of a monotonic clock.
Micros now();
/// CPU time of the calling thread, in microseconds.
Micros thread_cpu_now();
/// Microseconds for which the calling thread was ready but had no processor; 0 if the system does
/// not report it.
Micros thread_waited_now();
/// 32 hexadecimal digits.
std::string random_token();
/// Compares in a time that does not depend on the position of a difference.
bool equal_in_constant_time(const std::string& a, const std::string& b);

/// "AMD EPYC, 2 cores, Linux 6.1, g++ 12.2": the machine on which a result was measured.
std::string machine_description();

/// Raises the descriptor limit as far as the system allows. Returns how many descriptors client
/// sockets may use; the rest is reserved for files and other uses.
std::uint32_t raise_socket_limit();

/// Sets `*stop` on SIGINT and SIGTERM.
void stop_on_signals(volatile bool* stop);
/// The same until its destruction, which restores the former handlers of SIGINT and SIGTERM.
/// Destroy several of them in reverse order. SIGPIPE and SIGXFSZ stay ignored.
class StopOnSignals {
  public:
    explicit StopOnSignals(volatile bool* stop);
    ~StopOnSignals();
    StopOnSignals(const StopOnSignals&) = delete;
    StopOnSignals& operator=(const StopOnSignals&) = delete;

  private:
    volatile bool* stop_before_;
    void (*interrupt_before_)(int);
    void (*terminate_before_)(int);
};
/// Sets `*again` on SIGHUP, which requests that files are read again. If the signal reports the
/// loss of the terminal, stops as on SIGTERM.
void reload_on_signal(volatile bool* again);

}  // namespace purview::net
