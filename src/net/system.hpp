// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the library must be told because it owns none of it: time, chance, a keyed hash.
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

/// Microseconds of a clock that never goes back.
Micros now();
/// CPU time of the calling thread, in microseconds.
Micros thread_cpu_now();
/// Microseconds for which the calling thread was ready and had no processor; 0 where the system
/// does not say.
Micros thread_waited_now();
/// 32 hexadecimal digits.
std::string random_token();
/// Equal, in a time that does not depend on where they differ.
bool equal_in_constant_time(const std::string& a, const std::string& b);

/// "AMD EPYC, 2 cores, Linux 6.1, g++ 12.2": what a figure was measured on.
std::string machine_description();

/// Takes as many descriptors as the system lets this process have; how many of them may be sockets
/// of clients: some are left to files and to whatever else is open.
std::uint32_t raise_socket_limit();

/// Sets `*stop` on SIGINT and SIGTERM.
void stop_on_signals(volatile bool* stop);
/// The same until it is destroyed: then SIGINT and SIGTERM do again what they did before. Several
/// are destroyed in the opposite order. SIGPIPE and SIGXFSZ stay ignored.
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
/// Sets `*again` on SIGHUP: files are to be read again. Where it says that the terminal has gone
/// away, it stops as on SIGTERM.
void reload_on_signal(volatile bool* again);

}  // namespace purview::net
