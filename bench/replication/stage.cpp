// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/stage.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "common/machine.hpp"
#include "core/internal_access.hpp"
#include "net/system.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"

namespace purview::bench {

namespace {

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "\nthe scene cannot be set up: %s\n", what);
    std::exit(2);
}

}  // namespace

std::vector<EntityId> all_of(const World& world) {
    std::vector<EntityId> all;
    world.for_each([&](EntityId entity) { all.push_back(entity); });
    return all;
}

void Stage::Pile::add(std::uint32_t client, std::span<const std::byte> datagram) {
    list.push_back({client, bytes.size(), datagram.size()});
    bytes.insert(bytes.end(), datagram.begin(), datagram.end());
}

Stage::Stage(const StageDef& def, Script script)
    : def_(def), script_(std::move(script)), random_(def.seed) {
    def_.server.mac = &net::mac;
    def_.server.secret[0] = std::byte{1};
    def_.server.clock = &net::now;
    def_.server.sessions_max = def_.clients;
    def_.server.sessions_unjoined_max = std::max(1U, def_.clients);
    auto made = Server::create(def_.server, *this);
    if (!made) give_up("invalid server definition");
    server_ = std::make_unique<Server>(std::move(made).value());
    if (script_.populate) script_.populate(server_->world());
    observers_.resize(def_.clients, ObserverId::none);
    last_bytes_.resize(def_.clients, 0);
    up_.resize(def_.ack_ticks + 1);
    // Reserved, so that allocations within a timed tick are the server's own.
    down_.bytes.reserve(std::size_t{def_.clients} * (def_.server.budget_bytes_per_tick + 64));
    down_.list.reserve(std::size_t{def_.clients} *
                       (def_.server.budget_bytes_per_tick / limits::datagram_bytes + 3));
    for (std::uint32_t i = 0; i < def_.clients; ++i) {
        Address address;
        address.carrier = Address::Carrier::memory;
        for (unsigned b = 0; b < 4; ++b) address.host[b] = static_cast<std::uint8_t>(i >> (8 * b));
        address.channel = i;
        addresses_.push_back(address);
        const std::uint64_t nonce = random_.next() | 1;
        if (i < def_.watchers) {
            ClientDef client;
            client.nonce = nonce;
            client.name = std::to_string(i);
            whole_.push_back(std::make_unique<Client>(client));
        } else {
            light_.emplace_back(nonce, std::to_string(i));
        }
    }
}

Stage::~Stage() = default;

std::optional<EntityId> Stage::on_join(Server& server, ObserverId observer,
                                       const JoinRequest& request) {
    std::uint32_t client = 0;
    std::from_chars(request.name.data(), request.name.data() + request.name.size(), client);
    observers_[client] = observer;
    ++joined_;
    script_.joined(server, observer, client);
    return EntityId::none;
}

void Stage::on_tick(Server& server, Tick tick) {
    simulate_ms_ = report_ms_ = 0;
    if (frozen_ || joined_ < def_.clients) return;
    const Stopwatch watch;
    if (script_.simulate) script_.simulate(server, tick);
    simulate_ms_ = watch.ms();
    if (script_.notify) script_.notify(server, tick);
    report_ms_ = watch.ms() - simulate_ms_;
}

void Stage::take_data(Pile& pile) {
    for (const Datagram& d : pile.list) {
        server_->receive(pile.at(d), addresses_[d.client], now_);
    }
}

TickCost Stage::step() {
    now_ += 1'000'000 / def_.server.tick_hz;
    ++ticks_;
    TickCost cost;
    Pile& arrived = up_[ticks_ % up_.size()];
    down_.clear();
    const std::size_t allocations = heap_allocations();
    const Stopwatch receiving;
    take_data(arrived);
    cost.receive_ms = receiving.ms();
    const Stopwatch ticking;
    server_->tick(now_);
    OutgoingDatagram out;
    while (server_->next_datagram(out)) down_.add(out.to.channel, out.bytes);
    cost.tick_ms = ticking.ms() - simulate_ms_;
    cost.allocations = heap_allocations() - allocations;
    cost.report_ms = report_ms_;
    cost.profile = internal(*server_).profile;
    arrived.clear();
    std::fill(last_bytes_.begin(), last_bytes_.end(), 0);
    for (const Datagram& d : down_.list) {
        if (down_.at(d)[0] != std::byte{static_cast<std::uint8_t>(PacketType::data)}) continue;
        cost.bytes += d.size;
        ++cost.datagrams;
        last_bytes_[d.client] += d.size;
    }
    cost.largest_bytes = *std::max_element(last_bytes_.begin(), last_bytes_.end());
    deliver();
    return cost;
}

void Stage::deliver() {
    const auto arrives = [&] { return loss_ <= 0 || !random_.chance(loss_); };
    for (const Datagram& d : down_.list) {
        if (!arrives()) continue;
        if (d.client == 0 && on_datagram) on_datagram(down_.at(d));
        if (d.client < whole_.size()) {
            whole_[d.client]->receive(down_.at(d), now_);
        } else {
            light_[d.client - whole_.size()].receive(down_.at(d));
        }
    }
    Pile& up = up_[(ticks_ + def_.ack_ticks) % up_.size()];
    for (std::uint32_t i = 0; i < def_.clients; ++i) {
        if (i >= whole_.size()) {
            const auto sent = light_[i - whole_.size()].next_datagram();
            if (!sent.empty() && arrives()) up.add(i, sent);
            continue;
        }
        whole_[i]->clear_events();
        whole_[i]->tick(now_);
        std::span<const std::byte> sent;
        while (whole_[i]->next_datagram(sent)) {
            if (arrives()) up.add(i, sent);
        }
    }
}

std::uint64_t Stage::waiting() const {
    std::uint64_t count = 0;
    for (const auto& session : internal(*server_).sessions) {
        count += backlog_of(session->ghosts, 0).count;
    }
    return count;
}

bool Stage::join(std::uint32_t ticks_max) {
    frozen_ = true;
    bool good = false;
    for (std::uint32_t i = 0; i < ticks_max && !good; ++i) {
        step();
        good = joined_ == def_.clients && waiting() == 0;
    }
    for (std::uint32_t i = 0; i < 4; ++i) step();
    frozen_ = false;
    loss_ = def_.loss;
    return good;
}

}  // namespace purview::bench
