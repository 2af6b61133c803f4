// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "bots.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <mutex>

#include "core/hash.hpp"
#include "net/system.hpp"
#include "net/udp_socket.hpp"

namespace purview::app {

namespace {

/// Bots that join per second and thread: a crowd at a gate, not a flood.
constexpr std::uint32_t joins_per_second = 400;

struct Delayed {
    Micros due;
    std::vector<std::byte> bytes;
};

class Bot {
  public:
    Bot(const ClientDef& def, std::uint64_t seed) : client(def), random(seed) {}

    void walk(Micros now) {
        if (client.state() != ClientState::joined || now < next_turn) return;
        next_turn = now + 500'000 + random.below(2'500'000);
        const float angle = random.between(0, 6.2831853F);
        const float speed = random.chance(0.1F) ? 0.0F : random.between(60, 127);
        const std::array<std::byte, 3> walk{
            std::byte{1}, static_cast<std::byte>(static_cast<std::int8_t>(std::cos(angle) * speed)),
            static_cast<std::byte>(static_cast<std::int8_t>(std::sin(angle) * speed))};
        (void)client.send_command(walk);
    }

    Client client;
    SplitMix random;
    net::UdpSocket socket;
    std::deque<Delayed> delayed;
    Micros next_turn = 0;
    std::uint64_t enters = 0;
    std::uint64_t leaves = 0;
};

}  // namespace

/// The bots of one thread.
struct BotCrew::Squad {
    std::vector<std::unique_ptr<Bot>> bots;
    int epoll = -1;
    mutable std::mutex mutex;
    BotReport report;             ///< guarded
    std::vector<double> rtts_ms;  ///< guarded
    std::string trouble;

    void run(const BotOptions& options, const std::atomic<bool>& stop);
    void receive(Bot& bot, const BotOptions& options, Micros now);
    void take(Bot& bot, std::span<const std::byte> bytes, Micros now);
    void turn(Bot& bot, const BotOptions& options, Micros now);
    void publish();
};

void BotCrew::Squad::take(Bot& bot, std::span<const std::byte> bytes, Micros now) {
    bot.client.receive(bytes, now);
    for (const ClientEvent& event : bot.client.events()) {
        bot.enters += event.is_enter() ? 1 : 0;
        bot.leaves += event.is_leave() ? 1 : 0;
    }
    bot.client.clear_events();
}

void BotCrew::Squad::receive(Bot& bot, const BotOptions& options, Micros now) {
    bot.socket.receive(256, [&](std::span<const std::byte> bytes, const Address&) {
        if (bot.random.chance(static_cast<float>(options.loss))) return;
        if (options.jitter_ms == 0) return take(bot, bytes, now);
        bot.delayed.push_back(
            {now + bot.random.below(options.jitter_ms * 1000), {bytes.begin(), bytes.end()}});
    });
}

void BotCrew::Squad::turn(Bot& bot, const BotOptions& options, Micros now) {
    for (auto at = bot.delayed.begin(); at != bot.delayed.end();) {
        if (at->due > now) {
            ++at;
            continue;
        }
        take(bot, at->bytes, now);
        at = bot.delayed.erase(at);
    }
    bot.walk(now);
    bot.client.tick(now);
    std::span<const std::byte> out;
    while (bot.client.next_datagram(out)) {
        if (!bot.random.chance(static_cast<float>(options.loss))) bot.socket.send(out, {});
    }
    bot.socket.flush();
}

void BotCrew::Squad::publish() {
    BotReport sum;
    std::vector<double> rtts;
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
                if (trouble.empty())
                    trouble = "refused: " + std::string(to_string(bot->client.refuse_reason()));
                break;
            case ClientState::closed:
                ++sum.closed;
                if (trouble.empty())
                    trouble = "closed: " + std::string(to_string(bot->client.close_reason()));
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
        if (stats.rtt_us != 0) rtts.push_back(stats.rtt_us / 1000.0);
    }
    sum.ghosts_mean =
        bots.empty() ? 0 : static_cast<double>(ghosts) / static_cast<double>(bots.size());
    sum.trouble = trouble;
    const std::lock_guard lock(mutex);
    report = sum;
    rtts_ms = std::move(rtts);
}

void BotCrew::Squad::run(const BotOptions& options, const std::atomic<bool>& stop) {
    const Micros start = net::now();
    const Micros period = 1'000'000 / options.send_hz;
    std::vector<Micros> due(bots.size());
    for (std::size_t i = 0; i < bots.size(); ++i) due[i] = start + i * 1'000'000 / joins_per_second;
    Micros publish_due = start;
    std::array<epoll_event, 256> events{};
    while (!stop) {
        const int ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 2);
        Micros now = net::now();
        for (int i = 0; i < ready; ++i)
            receive(*bots[events[static_cast<std::size_t>(i)].data.u32], options, now);
        now = net::now();
        for (std::size_t i = 0; i < bots.size(); ++i) {
            if (now < due[i]) continue;
            turn(*bots[i], options, now);
            due[i] = std::max(due[i] + period, now - period);
        }
        if (now >= publish_due) {
            publish();
            publish_due = now + 200'000;
        }
    }
    publish();
    for (auto& bot : bots) {
        bot->client.leave();
        turn(*bot, options, net::now());
    }
}

BotCrew::BotCrew(const BotOptions& options) : options_(options) {
    const std::uint32_t threads = std::max(1U, options.threads);
    SplitMix random(options.seed);
    for (std::uint32_t t = 0; t < threads; ++t) {
        squads_.push_back(std::make_unique<Squad>());
        squads_.back()->epoll = ::epoll_create1(EPOLL_CLOEXEC);
    }
    for (std::uint32_t i = 0; i < options.clients; ++i) {
        Squad& squad = *squads_[i % threads];
        ClientDef def;
        def.nonce = net::random_number();
        def.role = options.role;
        def.name = "bot " + std::to_string(i);
        def.digest_every = options.digest_every;
        auto bot = std::make_unique<Bot>(def, random.next());
        if (std::string wrong = bot->socket.connect(options.host, options.port); !wrong.empty()) {
            if (squad.trouble.empty()) squad.trouble = wrong;
            continue;
        }
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = static_cast<std::uint32_t>(squad.bots.size());
        ::epoll_ctl(squad.epoll, EPOLL_CTL_ADD, bot->socket.descriptor(), &event);
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

BotReport BotCrew::report() const {
    BotReport sum;
    std::vector<double> rtts;
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
        ghosts += part.ghosts_mean * part.clients;
        rtts.insert(rtts.end(), squad->rtts_ms.begin(), squad->rtts_ms.end());
        if (sum.trouble.empty()) sum.trouble = part.trouble;
    }
    sum.ghosts_mean = sum.clients == 0 ? 0 : ghosts / sum.clients;
    std::sort(rtts.begin(), rtts.end());
    if (!rtts.empty()) {
        sum.rtt_ms_p50 = rtts[rtts.size() / 2];
        sum.rtt_ms_p99 = rtts[rtts.size() * 99 / 100];
    }
    return sum;
}

}  // namespace purview::app
