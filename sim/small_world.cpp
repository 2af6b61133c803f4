// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The server and the clients of the small world, on one clock.
#include <algorithm>
#include <cstdlib>

#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "small_game.hpp"
#include "toy_encryption.hpp"

namespace purview::test {

SmallWorld::SmallWorld(std::uint64_t seed, Faults network_faults, std::uint32_t budget_bytes,
                       SmallScale scale, std::uint32_t truth_every_ticks)
    : schema(scale.books > 0, scale.carts > 0),
      game(schema, seed, scale),
      faults(network_faults),
      random_(seed + 1),
      command_random_(seed + 2) {
    def.schema = &schema.schema;
    def.rules = rules_of(schema, scale);
    def.rules.kinds = kinds_of(schema, scale);
    def.world_name = "small";
    def.budget_bytes_per_tick = budget_bytes;
    def.mac = &test_mac;
    def.secret = test_secret;
    if (scale.encrypted) {
        key_reader = std::make_unique<ToyKeyReader>();
        def.key_reader = key_reader.get();
        def.encryption = toy_encryption();
    }
    if (scale.send_limits) {
        schema.schema.edit_kind(schema.animal).limit_per_tick = 12;
        KindDef& wagon = schema.schema.edit_kind(schema.wagon);
        wagon.limit_per_tick = 2;
        wagon.limit_order = LimitOrder::round_robin;
        def.enter_priority = 2;
    }
    auto made = Server::create(def, game);
    if (!made) std::abort();
    server = std::make_unique<Server>(std::move(made).value());
    schema.audience->server = server.get();
    game.populate(server->world());
    recorder = std::make_unique<record::IoRecorder>(*server);
    proof = std::make_unique<Proof>(
        *server, [this](ObserverId o) { return game.describe(o); }, truth_every_ticks,
        [this](check::TruthEntity& entity) { game.describe_entity(entity); });
}

Address SmallWorld::next_address() {
    Address address;
    address.carrier = Address::Carrier::memory;
    address.host[0] = static_cast<std::uint8_t>(addresses_ & 0xff);
    address.host[1] = static_cast<std::uint8_t>(addresses_ >> 8);
    address.port = ++addresses_;
    return address;
}

void SmallWorld::change_address(SmallClient& client) {
    client.address = next_address();
}

SmallClient& SmallWorld::add_client(Role role, std::uint64_t schema_hash) {
    ClientDef client_def;
    client_def.nonce = std::max<std::uint64_t>(1, random_.next());
    client_def.role = role;
    if (key_reader != nullptr && client_def.nonce % 2 == 0) {
        client_def.key = toy_key(static_cast<std::uint8_t>(addresses_));
        client_def.encryption = toy_encryption();
    }
    client_def.name = "someone";
    client_def.digest_every = 1;
    client_def.schema = &schema.schema;
    client_def.schema_hash = schema_hash;
    auto client = std::make_unique<SmallClient>(client_def);
    client->up = std::make_unique<FaultyNetwork>(random_.next(), faults);
    client->down = std::make_unique<FaultyNetwork>(random_.next(), faults);
    client->address = next_address();
    if (!schema.schema.inputs().empty()) {
        client->driver =
            std::make_unique<CartDriver>(client->client, schema, mix64(client_def.nonce));
    }
    clients.push_back(std::move(client));
    return *clients.back();
}

void SmallWorld::disconnect(SmallClient& client) {
    client.client.leave();
    std::span<const std::byte> out;
    while (client.client.next_datagram(out)) recorder->receive(out, client.address, now);
}

void SmallWorld::step() {
    const Micros tick_us = 1'000'000 / def.tick_hz;
    now += tick_us;
    std::vector<std::byte> bytes;
    for (auto& c : clients) {
        if (ledger != nullptr) call_server(*c);
        if (mail != nullptr) write_to_server(*c);
        if (c->driver != nullptr) c->driver->tick(now, game.frozen);
        c->client.tick(now);
        std::span<const std::byte> out;
        while (c->client.next_datagram(out)) c->up->send(out, now, c->address);
        for (Address from; c->up->receive(bytes, now, &from);) {
            stale_addresses += from == c->address ? 0 : 1;
            recorder->receive(bytes, from, now);
        }
    }
    recorder->tick(now);
    proof->check_tick();
    permits.note_tick(*server);
    if (ledger != nullptr) ledger->check_tick();
    OutgoingDatagram out;
    std::map<std::uint16_t, std::uint64_t> sizes;
    while (recorder->next_datagram(out)) {
        for (auto& c : clients) {
            if (!(c->address == out.to)) continue;
            c->down->send(out.bytes, now);
            if (out.bytes[0] == std::byte{6}) sizes[c->address.port] += out.bytes.size();
        }
    }
    for (const auto& [port, size] : sizes) largest_tick_bytes = std::max(largest_tick_bytes, size);
    for (const auto& session : internal(*server).sessions) {
        const auto size = sizes.find(session->address.port);
        went_over_budget |= size != sizes.end() && size->second > session->budget_bytes;
    }
    for (auto& c : clients) {
        while (c->down->receive(bytes, now)) {
            c->client.receive(bytes, now);
            permits.arrived(c->client, c->nonce);
            if (received) received(*c);
        }
        std::span<const std::byte> message;
        while (mail != nullptr && c->client.next_message(message))
            mail->message_arrived(Mail::Way::to_client, c->nonce, message);
    }
    if (ledger == nullptr) return;
    find_observers();
    for (auto& c : clients) ledger->take(c->client, c->observer, schema.body.id, schema.tag_field);
}

void SmallWorld::find_observers() {
    for (const auto& session : internal(*server).sessions) {
        for (auto& c : clients) {
            if (c->nonce == session->nonce) c->observer = session->observer;
        }
    }
}

void SmallWorld::make_calls(std::uint32_t per_tick) {
    call_random_ = SplitMix(mix64(def.budget_bytes_per_tick + per_tick));
    ledger = std::make_unique<RpcLedger>(
        *server, proof.get(),
        [this](ObserverId observer, EntityId entity) {
            return game.is_denied(server->world(), observer, entity);
        },
        [this](ObserverId observer, Vec3 position) {
            return game.covers(server->world(), observer, position);
        });
    game.ledger = ledger.get();
    game.calls_per_tick = per_tick;
    know_clients();
}

void SmallWorld::send_mail() {
    mail = std::make_unique<Mail>();
    game.mail = mail.get();
    know_clients();
}

void SmallWorld::know_clients() {
    game.client_of = [this](ObserverId observer) {
        const Session* session = internal(*server).sessions.find(observer);
        return session == nullptr ? 0 : session->nonce;
    };
}

void SmallWorld::write_to_server(SmallClient& c) {
    if (game.frozen || c.client.state() != ClientState::joined) return;
    if (command_random_.chance(0.1F) &&
        c.client.send_command(mail->next_command(c.nonce)) == Status::ok)
        mail->command_given(c.nonce);
    if (command_random_.chance(0.05F) &&
        c.client.send_message(mail->next_message(Mail::Way::to_game, c.nonce)) == Status::ok)
        mail->message_sent(Mail::Way::to_game, c.nonce);
}

void SmallWorld::call_server(SmallClient& c) {
    if (game.frozen || c.client.state() != ClientState::joined) return;
    const auto any = [&](const auto& list) {
        return list[call_random_.below(static_cast<std::uint32_t>(list.size()))];
    };
    Rpc<Ping> rpc = schema.steer;
    GhostId ghost = GhostId::none;
    const std::uint32_t what = call_random_.below(6);
    if (what > 2) return;
    if (what == 0) rpc = any(schema.shouts);
    if (what == 1) rpc = any(schema.uses);
    if (what > 0) {
        const auto& replica = internal(c.client).replica;
        const LocalId end = replica ? replica->ghosts.slot_end() : 0;
        for (LocalId id = end > 0 ? call_random_.below(end) : 0; id < end && ghost == GhostId::none;
             ++id) {
            const GhostId g = ghost_id_of(id);
            const bool fits = what == 1 || c.client.is_owned(g);
            if (fits && c.client.value_of(g, schema.body.id, schema.tag_field) > 0) ghost = g;
        }
        if (ghost == GhostId::none) return;
    }
    Ping args{0, c.next_call++};
    if (ghost != GhostId::none) {
        args.tag =
            static_cast<std::uint32_t>(c.client.value_of(ghost, schema.body.id, schema.tag_field));
    }
    if (c.client.call(rpc, ghost, args) == Status::ok)
        ledger->client_made(c.nonce, rpc.id, args.number);
}

std::uint64_t SmallWorld::missing_calls(const SmallClient& c) const {
    if (c.client.state() != ClientState::joined) return 0;
    return ledger->missing(c.observer, c.client.stats().calls_dropped) +
           ledger->missing_at_server(c.nonce);
}

std::uint32_t SmallWorld::joined_count() const {
    std::uint32_t count = 0;
    for (const auto& c : clients) count += c->client.state() == ClientState::joined ? 1 : 0;
    return count;
}

}  // namespace purview::test
