// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The tick loop of a server, with a client on loopback.
#include "net/tick_loop.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "net/lateness.hpp"
#include "net/system.hpp"
#include "purview/client.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

class CountingGame final : public Game {
  public:
    std::optional<EntityId> on_join(Server&, ObserverId, const JoinRequest&) override {
        ++came;
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override { ++went; }
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override { std::this_thread::sleep_for(takes); }
    int came = 0, went = 0;
    std::chrono::milliseconds takes{0};
};

/// A UDP socket and a web server on loopback, on free ports.
struct Carriers {
    Carriers() {
        REQUIRE(udp.bind("127.0.0.1", 0).empty());
        REQUIRE(web.open().empty());
    }
    net::UdpSocket udp;
    net::WebServer web{net::WebDef{}};
};

struct ReadyServer {
    Server make() {
        ServerDef def;
        def.schema = &schema.schema;
        def.rules = small_rules(schema);
        def.plain = {.udp = true, .web_socket = true};
        def.mac = net::mac;
        def.secret = net::random_secret();
        def.tick_hz = tick_hz;
        return std::move(Server::create(def, game)).value();
    }
    static constexpr std::uint32_t tick_hz = 20;
    const SmallSchema schema;
    CountingGame game;
    Server server = make();
    record::IoRecorder recorder{server};
    Carriers carriers;
    net::TickLoop loop{recorder, carriers.udp, carriers.web, tick_hz};
};

}  // namespace

TEST_CASE("loop: the ending callback runs before the game is notified of leaving clients") {
    ReadyServer ready;
    ClientDef client_def;
    client_def.nonce = net::random_number();
    Client client(client_def);
    net::UdpSocket line;
    REQUIRE(line.connect("127.0.0.1", ready.carriers.udp.port()).empty());
    bool stop = false;
    ClientState state_at_end = ClientState::connecting;
    ready.loop.set_ending([&] {
        state_at_end = client.state();
        CHECK(ready.server.stats().sessions == 1);
        CHECK(ready.game.went == 0);
    });
    ready.loop.run(&stop, 20, [&] {
        const Micros now = net::now();
        line.receive(64, [&](std::span<const std::byte> bytes, const Address&) {
            client.receive(bytes, now);
        });
        client.tick(now);
        std::span<const std::byte> out;
        while (client.next_datagram(out)) line.send(out, {});
        line.flush();
        stop = client.state() == ClientState::joined;
    });
    CHECK(state_at_end == ClientState::joined);
    CHECK(ready.game.came == 1);
    CHECK(ready.game.went == 1);
    CHECK(ready.server.stats().sessions == 0);
}

TEST_CASE("loop: a slow game is counted in overruns, skipped ticks and lateness") {
    ReadyServer ready;
    ready.game.takes = std::chrono::milliseconds(120);
    const bool stop = false;
    ready.loop.run(&stop, 1.5, {});
    const net::LoopStats& stats = ready.loop.stats();
    CHECK(stats.period_us == 50'000);
    CHECK(stats.ticks > 3);
    CHECK(stats.overruns == stats.ticks);
    CHECK(stats.skipped >= 5);
    CHECK(stats.late_us > 0);
}

TEST_CASE("loop: lateness is reported, and less often the longer it lasts") {
    constexpr Micros second = 1'000'000;
    net::LoopStats stats;
    stats.period_us = 50'000;
    net::Lateness lateness;
    Micros now = 100 * second;
    const auto after = [&](Micros seconds, std::uint64_t overruns, std::uint64_t skipped) {
        now += seconds * second;
        stats.ticks += 100;
        stats.overruns += overruns;
        stats.skipped += skipped;
        return lateness.check(stats, now);
    };
    CHECK_FALSE(after(0, 0, 0));
    CHECK_FALSE(after(4, 50, 0));  // too early to report
    CHECK(after(2, 0, 0));
    CHECK_FALSE(after(9, 50, 0));
    CHECK(after(2, 50, 0));
    CHECK_FALSE(after(19, 50, 0));
    CHECK(after(2, 50, 0));
    CHECK_FALSE(after(41, 0, 0));  // the loop keeps up
    stats.ticks -= 99;
    CHECK_FALSE(after(6, 1, 0));  // single overruns are caught up
    stats.behind_us = 3'410'000;
    const auto late = after(6, 0, 68);
    REQUIRE(late);
    CHECK(late->ticks == 100);
    CHECK(late->overruns == 0);
    CHECK(late->skipped == 68);
    CHECK(late->behind_us == 3'410'000);
}

TEST_CASE("loop: a stall counts once, and the reported delay never decreases") {
    ReadyServer ready;
    bool stop = false;
    const net::LoopStats& stats = ready.loop.stats();
    const Micros start = net::now();
    Micros before = 0;
    std::uint64_t fell = 0, twice = 0;
    ready.loop.run(&stop, 20, [&] {
        fell += stats.behind_us < before ? 1 : 0;
        before = stats.behind_us;
        // World time plus the reported delay never exceeds the clock, except for five late ticks
        // that are caught up.
        const Micros clock = net::now() - start + 6 * stats.period_us;
        twice += stats.ticks * stats.period_us + stats.behind_us > clock ? 1 : 0;
        if (stats.ticks == 3) std::this_thread::sleep_for(std::chrono::milliseconds(1'200));
        if (stats.ticks == 6) ready.game.takes = std::chrono::milliseconds(1'200);
        if (stats.ticks == 7) ready.game.takes = std::chrono::milliseconds(0);
        stop = stats.ticks >= 12;
    });
    CHECK(stats.skipped >= 30);
    CHECK(stats.behind_us >= 1'500'000);
    CHECK(fell == 0);
    CHECK(twice == 0);
}

}  // namespace purview::test
