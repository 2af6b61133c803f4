// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "bots.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <mutex>
#include <utility>

#include "bot_driver.hpp"
#include "core/hash.hpp"
#include "net/system.hpp"
#include "net/udp_socket.hpp"

namespace purview::app {

namespace {

constexpr std::size_t datagrams_per_read = 4096;
constexpr Micros publish_every_us = 200'000;
constexpr Micros sample_every_us = 1'000'000;
/// Every tenth slow reader pauses for this time, which is shorter than the session timeout of ten
/// seconds.
constexpr std::uint32_t pausing_share = 10;
constexpr Micros pause_us = 5'000'000;
constexpr Micros slow_read_min_us = 200'000;
constexpr Micros slow_read_max_us = 1'000'000;

struct Delayed {
    Micros due;
    std::vector<std::byte> bytes;
};

enum class Reading : std::uint8_t { at_once, slow, pausing };

/// Returns the local time of tick 0, extrapolated from the client's newest tick.
std::int64_t time_of(const Client& client, Micros now) {
    return static_cast<std::int64_t>(now) -
           std::int64_t{client.newest_tick()} * 1'000'000 / std::max(1U, client.tick_hz());
}

/// The smallest time_of within the last one to two seconds. A minimum over the whole run would be
/// wrong, because a server that skips ticks falls behind its clock permanently.
class Fastest {
  public:
    void add(std::int64_t time, Micros now) {
        if (now >= next_turn_) {
            before_ = std::exchange(latest_, none);
            next_turn_ = now + window_us;
        }
        latest_ = std::min(latest_, time);
    }
    std::int64_t value() const noexcept { return std::min(before_, latest_); }

  private:
    static constexpr Micros window_us = 1'000'000;
    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max() / 4;
    std::int64_t before_ = none;
    std::int64_t latest_ = none;
    Micros next_turn_ = 0;
};

class Bot {
  public:
    Bot(const ClientDef& def, Movement movement, std::uint64_t seed)
        : client(def), random(seed), walker(movement, mix64(seed)) {}

    /// Slow readers read normally until they have joined, because a handshake times out early.
    bool reads_now(Micros now) {
        if (reading == Reading::at_once || client.state() != ClientState::joined) return true;
        if (now < next_read) return false;
        next_read = now + (reading == Reading::pausing
                               ? pause_us
                               : slow_read_min_us + random.below(static_cast<std::uint32_t>(
                                                        slow_read_max_us - slow_read_min_us)));
        return true;
    }

    Client client;
    SplitMix random;
    BotWalker walker;
    std::unique_ptr<BotDriver> driver;  ///< null: the bot walks
    Reading reading = Reading::at_once;
    Micros next_read = 0;
    net::UdpSocket socket;
    std::deque<Delayed> delayed;
    std::uint64_t enters = 0;
    std::uint64_t leaves = 0;
    Micros sampled_at = 0;  ///< 0: was not joined at the last sample
    std::uint64_t sampled_bytes = 0;
};

/// Text for the log. Replaces control characters, because the server's text is untrusted.
std::string trouble_of(std::string_view what, std::string_view reason, const Bot& bot) {
    std::string text = std::string(what) + ": " + std::string(reason);
    if (!bot.client.reason_text().empty())
        text.append(", '").append(bot.client.reason_text()).append("'");
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    return text;
}

/// Reason of a refused join. All bots share one host, so the per-host limit gets a hint.
std::string refusal_of(const Bot& bot) {
    std::string text = trouble_of("refused", to_string(bot.client.refuse_reason()), bot);
    if (bot.client.refuse_reason() == RefuseReason::address_limit)
        text +=
            ": the limit of clients per host is reached; raise the server's "
            "--sessions-per-host-max";
    return text;
}

}  // namespace

/// The bots of one thread.
struct BotCrew::Squad {
    std::vector<std::unique_ptr<Bot>> bots;
    int epoll = -1;
    mutable std::mutex mutex;
    BotReport report;                              ///< guarded
    std::array<Reservoir, sampled_count> samples;  ///< guarded
    std::array<std::vector<double>, sampled_count> new_samples;
    Fastest fastest;
    std::string trouble;

    void run(const BotOptions& options, const std::atomic<bool>& stop);
    void receive(Bot& bot, const BotOptions& options, Micros now);
    void take(Bot& bot, std::span<const std::byte> bytes, Micros now);
    void turn(std::size_t index, const BotOptions& options, Micros now);
    void sample(Micros now);
    void publish(const BotOptions& options);
    bool is_unreachable() const;
};

void BotCrew::Squad::take(Bot& bot, std::span<const std::byte> bytes, Micros now) {
    const Tick before = bot.client.newest_tick();
    bot.client.receive(bytes, now);
    for (const ClientEvent& event : bot.client.events()) {
        bot.enters += event.is_enter() ? 1 : 0;
        bot.leaves += event.is_leave() ? 1 : 0;
    }
    bot.client.clear_events();
    if (bot.client.newest_tick() != before && bot.client.state() == ClientState::joined)
        fastest.add(time_of(bot.client, now), now);
}

void BotCrew::Squad::receive(Bot& bot, const BotOptions& options, Micros now) {
    if (!bot.reads_now(now)) return;
    bot.socket.receive(datagrams_per_read, [&](std::span<const std::byte> bytes, const Address&) {
        if (bot.random.chance(static_cast<float>(options.loss))) return;
        if (options.jitter_ms == 0) return take(bot, bytes, now);
        bot.delayed.push_back(
            {now + bot.random.below(options.jitter_ms * 1000), {bytes.begin(), bytes.end()}});
    });
}

void BotCrew::Squad::turn(std::size_t index, const BotOptions& options, Micros now) {
    Bot& bot = *bots[index];
    if (bot.reading != Reading::at_once) receive(bot, options, now);
    for (auto at = bot.delayed.begin(); at != bot.delayed.end();) {
        if (at->due > now) {
            ++at;
            continue;
        }
        take(bot, at->bytes, now);
        at = bot.delayed.erase(at);
    }
    if (bot.driver != nullptr)
        bot.driver->turn(bot.client, now);
    else
        bot.walker.turn(bot.client, bots[index - index % flock_size]->walker, now);
    bot.client.tick(now);
    std::span<const std::byte> out;
    while (bot.client.next_datagram(out)) {
        if (!bot.random.chance(static_cast<float>(options.loss))) bot.socket.send(out, {});
    }
    bot.socket.flush();
}

/// Adds one sample of each kind for every bot that has been joined for a whole second.
void BotCrew::Squad::sample(Micros now) {
    for (const auto& bot : bots) {
        const bool joined = bot->client.state() == ClientState::joined;
        const ClientStats stats = bot->client.stats();
        const Micros before = std::exchange(bot->sampled_at, joined ? now : 0);
        const std::uint64_t bytes = stats.bytes_received - bot->sampled_bytes;
        bot->sampled_bytes = stats.bytes_received;
        if (!joined || before == 0) continue;
        const auto add = [&](Sampled what, double value) {
            new_samples[static_cast<std::size_t>(what)].push_back(value);
        };
        add(Sampled::bytes, static_cast<double>(bytes) * 1e6 / static_cast<double>(now - before));
        add(Sampled::relevant, bot->client.ghost_count());
        const std::int64_t late_us = time_of(bot->client, now) - fastest.value();
        add(Sampled::age_ms, static_cast<double>(std::max<std::int64_t>(0, late_us)) / 1000);
        add(Sampled::rtt_ms, stats.rtt_us / 1000.0);
    }
}

/// Returns whether the other machine reported that nothing listens on the port.
bool BotCrew::Squad::is_unreachable() const {
    return std::any_of(bots.begin(), bots.end(),
                       [](const auto& bot) { return bot->socket.counters().refused > 0; });
}

void BotCrew::Squad::publish(const BotOptions& options) {
    BotReport sum;
    sum.clients = static_cast<std::uint32_t>(bots.size());
    std::uint64_t ghosts = 0;
    for (const auto& bot : bots) {
        const ClientStats stats = bot->client.stats();
        switch (bot->client.state()) {
            case ClientState::joined:
                ++sum.joined;
                break;
            case ClientState::refused:
                ++sum.refused;
                if (trouble.empty()) trouble = refusal_of(*bot);
                break;
            case ClientState::closed:
                ++sum.closed;
                if (trouble.empty())
                    trouble = trouble_of("closed", to_string(bot->client.close_reason()), *bot);
                break;
            default:
                break;
        }
        ghosts += bot->client.ghost_count();
        sum.enters += bot->enters;
        sum.leaves += bot->leaves;
        sum.bytes_sent += stats.bytes_sent;
        sum.bytes_received += stats.bytes_received;
        sum.packets_received += stats.packets_received;
        sum.packets_lost += stats.packets_lost;
        sum.packets_malformed += stats.packets_malformed;
        sum.order_violations += stats.order_violations;
        if (bot->driver == nullptr) continue;
        ++sum.drivers;
        sum.driven += bot->driver->counts();
    }
    sum.ghosts_mean =
        bots.empty() ? 0 : static_cast<double>(ghosts) / static_cast<double>(bots.size());
    sum.trouble = trouble;
    if (trouble.empty() && sum.joined == 0 && is_unreachable())  // so far; it may still start
        sum.trouble = "nothing listens at " + options.host + ":" + std::to_string(options.port) +
                      ", or the host is unreachable";
    const std::lock_guard lock(mutex);
    report = sum;
    for (std::size_t i = 0; i < sampled_count; ++i) {
        for (const double value : new_samples[i]) samples[i].add(value);
        new_samples[i].clear();
    }
}

void BotCrew::Squad::run(const BotOptions& options, const std::atomic<bool>& stop) {
    const Micros start = net::now();
    const Micros period = 1'000'000 / options.send_hz;
    std::vector<Micros> due(bots.size());
    for (std::size_t i = 0; i < bots.size(); ++i)
        due[i] = start + i * 1'000'000 / bots_joining_per_second;
    Micros publish_due = start;
    Micros sample_due = start;
    std::array<epoll_event, 256> events{};
    while (!stop) {
        const int ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 2);
        Micros now = net::now();
        for (int i = 0; i < ready; ++i)
            receive(*bots[events[static_cast<std::size_t>(i)].data.u32], options, now);
        now = net::now();
        for (std::size_t i = 0; i < bots.size(); ++i) {
            if (now < due[i]) continue;
            turn(i, options, now);
            due[i] = std::max(due[i] + period, now - period);
        }
        if (now >= sample_due) {
            sample(now);
            sample_due = now + sample_every_us;
        }
        if (now >= publish_due) {
            publish(options);
            publish_due = now + publish_every_us;
        }
    }
    publish(options);
    for (std::size_t i = 0; i < bots.size(); ++i) {
        bots[i]->client.leave();
        turn(i, options, net::now());
    }
}

BotCrew::BotCrew(const BotOptions& options) : options_(options) {
    const std::uint32_t count = std::min(options.clients, net::raise_socket_limit());
    const std::uint32_t threads = std::max(1U, options.threads);
    SplitMix random(options.seed);
    for (std::uint32_t t = 0; t < threads; ++t) {
        squads_.push_back(std::make_unique<Squad>());
        squads_.back()->epoll = ::epoll_create1(EPOLL_CLOEXEC);
    }
    if (count < options.clients) {
        squads_[0]->trouble =
            std::to_string(count) + " of " + std::to_string(options.clients) +
            ": the system's limit of open sockets is reached; raise it (ulimit -n)";
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        Squad& squad = *squads_[i % threads];
        ClientDef def;
        def.nonce = net::random_number();
        def.role = options.role;
        def.name = "bot " + std::to_string(i);
        def.digest_every = options.digest_every;
        auto bot = std::make_unique<Bot>(def, options.movement, random.next());
        if (i + options.drivers >= options.clients)
            bot->driver = std::make_unique<BotDriver>(mix64(i + options.seed), options.ground);
        if (i < options.slow_readers)
            bot->reading =
                i % pausing_share == pausing_share - 1 ? Reading::pausing : Reading::slow;
        if (std::string wrong = bot->socket.connect(options.host, options.port); !wrong.empty()) {
            if (squad.trouble.empty()) squad.trouble = wrong;
            continue;
        }
        // Slow readers poll their sockets at their own times.
        if (bot->reading == Reading::at_once) {
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.u32 = static_cast<std::uint32_t>(squad.bots.size());
            ::epoll_ctl(squad.epoll, EPOLL_CTL_ADD, bot->socket.descriptor(), &event);
        }
        squad.bots.push_back(std::move(bot));
    }
}

BotCrew::~BotCrew() {
    stop();
    for (auto& squad : squads_) ::close(squad->epoll);
}

void BotCrew::start() {
    for (auto& squad : squads_) {
        threads_.emplace_back([this, crew = squad.get()] { crew->run(options_, stop_); });
    }
}

void BotCrew::stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
}

std::size_t BotCrew::size() const {
    std::size_t count = 0;
    for (const auto& squad : squads_) count += squad->bots.size();
    return count;
}

std::string BotCrew::trouble() const {
    for (const auto& squad : squads_) {
        if (!squad->trouble.empty()) return squad->trouble;
    }
    return {};
}

BotReport BotCrew::report() const {
    BotReport sum;
    std::array<std::vector<double>, sampled_count> samples;
    double ghosts = 0;
    for (const auto& squad : squads_) {
        const std::lock_guard lock(squad->mutex);
        const BotReport& part = squad->report;
        sum.clients += part.clients;
        sum.joined += part.joined;
        sum.refused += part.refused;
        sum.closed += part.closed;
        sum.enters += part.enters;
        sum.leaves += part.leaves;
        sum.bytes_sent += part.bytes_sent;
        sum.bytes_received += part.bytes_received;
        sum.packets_received += part.packets_received;
        sum.packets_lost += part.packets_lost;
        sum.packets_malformed += part.packets_malformed;
        sum.order_violations += part.order_violations;
        sum.drivers += part.drivers;
        sum.driven += part.driven;
        ghosts += part.ghosts_mean * part.clients;
        for (std::size_t i = 0; i < sampled_count; ++i) {
            const auto& values = squad->samples[i].values();
            samples[i].insert(samples[i].end(), values.begin(), values.end());
        }
        if (sum.trouble.empty()) sum.trouble = part.trouble;
    }
    sum.ghosts_mean = sum.clients == 0 ? 0 : ghosts / sum.clients;
    sum.samples = samples[0].size();
    for (std::size_t i = 0; i < sampled_count; ++i) {
        sum.percentiles[i] = {percentile(samples[i], 0.5), percentile(samples[i], 0.9),
                              percentile(samples[i], 0.99)};
    }
    return sum;
}

}  // namespace purview::app
