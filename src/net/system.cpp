// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/system.hpp"

#include <sodium.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

namespace purview::net {

namespace {

Micros read_clock(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<Micros>(time.tv_sec) * 1'000'000 + static_cast<Micros>(time.tv_nsec) / 1000;
}

void need_sodium() {
    if (sodium_init() < 0) std::abort();  // no source of random numbers
}

volatile bool* stop_flag = nullptr;
volatile bool* reload_flag = nullptr;
void on_signal(int) {
    if (stop_flag != nullptr) *stop_flag = true;
}
bool had_terminal = false;
void on_hangup(int signal) {
    if (had_terminal && isatty(STDERR_FILENO) == 0) return on_signal(signal);
    if (reload_flag != nullptr) *reload_flag = true;
}

}  // namespace

Micros now() {
    return read_clock(CLOCK_MONOTONIC);
}
Micros thread_cpu_now() {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
Micros thread_waited_now() {
    std::ifstream in("/proc/thread-self/schedstat");  // nanoseconds run and waited, number of runs
    std::uint64_t ran_ns = 0, waited_ns = 0;
    in >> ran_ns >> waited_ns;
    return in ? static_cast<Micros>(waited_ns / 1000) : 0;
}

std::array<std::byte, 32> random_secret() {
    need_sodium();
    std::array<std::byte, 32> secret;
    randombytes_buf(secret.data(), secret.size());
    return secret;
}

std::uint64_t random_number() {
    need_sodium();
    std::uint64_t number = 0;
    randombytes_buf(&number, sizeof number);
    return number;
}

std::string random_token() {
    const auto secret = random_secret();
    std::string hex(33, '\0');
    sodium_bin2hex(hex.data(), hex.size(), reinterpret_cast<const unsigned char*>(secret.data()),
                   16);
    hex.resize(32);
    return hex;
}

void mac(std::span<const std::byte, 32> key, std::span<const std::byte> data,
         std::span<std::byte, 16> out) {
    crypto_generichash(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                       reinterpret_cast<const unsigned char*>(data.data()), data.size(),
                       reinterpret_cast<const unsigned char*>(key.data()), key.size());
}

bool equal_in_constant_time(const std::string& a, const std::string& b) {
    return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::uint32_t raise_socket_limit() {
    constexpr rlim_t plenty = 1U << 16, kept = 64;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 192;
    rlimit wanted = limit;
    wanted.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, plenty));
    if (setrlimit(RLIMIT_NOFILE, &wanted) == 0) limit = wanted;
    const rlim_t descriptors = std::min(limit.rlim_cur, plenty);
    return static_cast<std::uint32_t>(descriptors > 2 * kept ? descriptors - kept
                                                             : descriptors / 2);
}

std::string machine_description() {
    std::string processor = "unknown processor";
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.rfind("model name", 0) == 0) {
            processor = line.substr(line.find(':') + 2);
            break;
        }
    }
    utsname system{};
    uname(&system);
    return processor + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, " +
           system.sysname + " " + system.release + ", compiler " + __VERSION__;
}

void stop_on_signals(volatile bool* stop) {
    stop_flag = stop;
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // the write to a file at its size limit returns the error
}

StopOnSignals::StopOnSignals(volatile bool* stop)
    : stop_before_(std::exchange(stop_flag, stop)),
      interrupt_before_(std::signal(SIGINT, on_signal)),
      terminate_before_(std::signal(SIGTERM, on_signal)) {
    stop_on_signals(stop);
}
StopOnSignals::~StopOnSignals() {
    std::signal(SIGINT, interrupt_before_);
    std::signal(SIGTERM, terminate_before_);
    stop_flag = stop_before_;
}

void reload_on_signal(volatile bool* again) {
    reload_flag = again;
    had_terminal = isatty(STDERR_FILENO) != 0;
    std::signal(SIGHUP, on_hangup);
}

}  // namespace purview::net
