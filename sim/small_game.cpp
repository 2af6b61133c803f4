// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "small_game.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace purview::test {

SmallSchema::SmallSchema() {
    place = schema.component<Place>("place");
    // The coordinates lie at the start of the struct, as a Vec3.
    FieldDef x{"x", FieldType::quantised, 0, 4, true, -64, SmallGame::side_m + 64, 0.01, 0};
    FieldDef y = x;
    y.name = "y";
    y.offset_bytes = 4;
    schema.add_field(place.id, x);
    schema.add_field(place.id, y);
    body = schema.component<Body>("body")
               .integer("team", &Body::team, 0, 8)
               .boolean("cloaked", &Body::cloaked)
               .integer("hp", &Body::hp, 0, 999)
               .quantised("facing", &Body::facing, {-4, 4, 0.05});
    schema.set_place(place.id);
    mind = schema.component<Mind>("mind")
               .text("name", &Mind::name)
               .reference("target", &Mind::target)
               .rotation("head", &Mind::head)
               .ranged("effort", &Mind::effort, -10, 10);
    pack = schema.component<Pack>("pack").integer("ammo", &Pack::ammo, 0, 500);
    orders = schema.component<Orders>("orders")
                 .integer("order", &Orders::order, 0, 20)
                 .reference("escort", &Orders::escort);
    rumour = schema.component<Rumour>("rumour").integer("mood", &Rumour::mood, 0, 9);
    scent = schema.component<Scent>("scent").real("strength", &Scent::strength);
    audience->body = body;
    player = schema.kind("player", {place.id, body.id, pack.id, orders.id, rumour.id}, 4);
    animal = schema.kind("animal", {place.id, body.id, mind.id, scent.id});
    tree = schema.kind("tree", {place.id});
    wagon = schema.kind("wagon", {place.id, body.id});
    crate = schema.kind("crate", {place.id});
    schema.edit_kind(wagon).leave = LeavePolicy::stale;
    schema.edit_kind(wagon).linger_ticks = 100;
    schema.edit_kind(animal).leave = LeavePolicy::freeze;
    schema.edit_kind(animal).linger_ticks = 30;
    schema.edit_kind(tree).leave = LeavePolicy::deactivate;
    schema.edit_kind(animal).rates = {{0, 4}, {0.7F, 2}, {0.85F, 1}};
    cloaked = schema.flag("cloaked", body.id, "cloaked");
    team = schema.key("team", body.id, "team");
    schema.audience(pack.id, {AudienceType::owner});
    schema.audience(orders.id, {AudienceType::same_key, team, nullptr, true});
    schema.audience(rumour.id, {AudienceType::others});
    schema.audience(scent.id, {AudienceType::custom, KeyDomain::none, audience.get(), false});
    if (schema.status() != Status::ok) std::abort();
}

void SmallAudience::decide(ObserverId observer, std::span<const EntityId> entities,
                           std::span<std::uint8_t> told) const {
    for (std::size_t i = 0; i < entities.size(); ++i) {
        const Body* its = server->data().world.get(entities[i], body);
        const std::uint32_t now = server->current_tick() / 16 + index_of(observer);
        told[i] = (its->hp / 8 + now) % 3 != 0 ? 1 : 0;
    }
}

InterestRules small_rules(const SmallSchema& schema) {
    InterestRules rules;
    rules.bounds_max = {SmallGame::side_m, SmallGame::side_m, 0};
    rules.entities_expected = 500;
    NodeDesc node;
    node.name = "near or team, not cloaked";
    node.type = NodeType::grid;
    StepDesc near{StepOp::add, {KernelType::distance, 40, 44, KeyDomain::none, FlagId::none}};
    StepDesc team{StepOp::add, {KernelType::same_group, 0, 0, schema.team, FlagId::none}};
    StepDesc cloak{StepOp::subtract, {KernelType::flag, 0, 0, KeyDomain::none, schema.cloaked}};
    node.steps = {near, team, cloak};
    rules.nodes.push_back(node);
    return rules;
}

void test_mac(std::span<const std::byte, 32> key, std::span<const std::byte> data,
              std::span<std::byte, 16> out) {
    const std::uint64_t a = hash_bytes(data, hash_bytes(key, 1));
    const std::uint64_t b = hash_bytes(data, hash_bytes(key, 2));
    std::memcpy(out.data(), &a, 8);
    std::memcpy(out.data() + 8, &b, 8);
}

void SmallGame::populate(World& world) {
    const auto add = [&](KindId kind, Vec3 at) {
        auto made = world.spawn(kind, at);
        if (!made) std::abort();
        return *made;
    };
    for (std::uint32_t i = 0; i < scale_.trees; ++i) add(schema_->tree, random_place());
    for (std::uint32_t i = 0; i < scale_.animals; ++i) {
        const EntityId animal = add(schema_->animal, random_place());
        if (random_.chance(0.1F)) world.edit(animal, schema_->body)->cloaked = true;
        movers.push_back(animal);
    }
    for (std::uint32_t i = 0; i < scale_.wagons; ++i) {
        const EntityId wagon = add(schema_->wagon, random_place());
        wagons_.push_back(wagon);
        movers.push_back(wagon);
        for (int c = 0; c < 3; ++c) {
            const EntityId crate = add(schema_->crate, world.place_of(wagon));
            if (world.attach(crate, c < 2 ? wagon : crates_.back()) != Status::ok) std::abort();
            crates_.push_back(crate);
        }
    }
}

bool SmallGame::joined(Server& server, ObserverId observer, const JoinRequest& request) {
    if (refuse_joins) return false;
    if (request.role == Role::spectator) {
        const Vec3 camera = random_place();
        cameras[static_cast<std::uint32_t>(observer)] = camera;
        return server.interest().set_area(observer, 1, camera) == Status::ok;
    }
    auto player = server.world().spawn(schema_->player, random_place());
    if (!player) return false;
    server.world().edit(*player, schema_->body)->team =
        static_cast<std::uint8_t>(1 + random_.below(3));
    (void)server.world().set_owner(*player, observer);
    players[static_cast<std::uint32_t>(observer)] = *player;
    return server.interest().set_main_entity(observer, *player) == Status::ok;
}

void SmallGame::left(Server& server, ObserverId observer) {
    cameras.erase(static_cast<std::uint32_t>(observer));
    const auto player = players.find(static_cast<std::uint32_t>(observer));
    if (player == players.end()) return;
    (void)server.world().despawn(player->second);
    players.erase(player);
}

void SmallGame::command(Server& server, ObserverId observer, std::span<const std::byte>) {
    (void)server;
    (void)observer;
    ++commands;
}

/// Near ones and far ones, seen and unseen, or one that is long gone.
EntityId SmallGame::anybody() {
    if (movers.empty() || random_.chance(0.1F)) return EntityId::none;
    return movers[random_.below(static_cast<std::uint32_t>(movers.size()))];
}

void SmallGame::think(World& world, EntityId entity) {
    if (world.kind_of(entity) != schema_->animal) return;
    Mind& mind = *world.edit(entity, schema_->mind);
    for (char& c : mind.name)
        c = random_.chance(0.3F) ? '\0' : static_cast<char>(random_.below(256));
    if (random_.chance(0.5F)) mind.target = anybody();
    mind.head = {random_.between(-1, 1), random_.between(-1, 1), random_.between(-1, 1),
                 random_.between(-1, 1)};
    mind.effort = random_.between(-12, 12);
    if (random_.chance(0.1F)) mind.effort = 0;
    if (random_.chance(0.5F)) world.edit(entity, schema_->scent)->strength = random_.between(0, 1);
    if (random_.chance(0.2F))
        world.edit(entity, schema_->body)->hp = static_cast<std::uint16_t>(random_.below(1000));
}

void SmallGame::simulate(Server& server, Tick tick) {
    World& world = server.world();
    if (frozen) return;
    const auto wander = [&](EntityId entity, float step) {
        Vec3 at = world.place_of(entity);
        at.x = std::clamp(at.x + random_.between(-step, step), 0.0F, side_m);
        at.y = std::clamp(at.y + random_.between(-step, step), 0.0F, side_m);
        (void)world.move(entity, at);
    };
    for (const EntityId entity : movers) {
        if (random_.chance(0.5F)) wander(entity, 2);
        if (random_.chance(0.1F)) think(world, entity);
    }
    for (auto& [observer, player] : players) {
        wander(player, 3);
        Body* body = world.edit(player, schema_->body);
        if (random_.chance(0.02F)) body->cloaked = !body->cloaked;
        if (random_.chance(0.02F)) body->team = static_cast<std::uint8_t>(random_.below(4));
        if (random_.chance(0.1F)) body->hp = static_cast<std::uint16_t>(random_.below(1000));
        if (random_.chance(0.2F))
            world.edit(player, schema_->pack)->ammo =
                static_cast<std::uint16_t>(random_.below(500));
        if (random_.chance(0.1F)) {
            *world.edit(player, schema_->orders) = {static_cast<std::uint8_t>(random_.below(20)),
                                                    anybody()};
        }
        if (random_.chance(0.1F))
            world.edit(player, schema_->rumour)->mood = static_cast<std::uint8_t>(random_.below(9));
    }
    for (const EntityId crate : crates_) {
        if (world.parent_of(crate) != EntityId::none)
            (void)world.move(crate, world.place_of(world.root_of(crate)));
        if (random_.chance(0.01F)) (void)world.detach(crate);
        if (random_.chance(0.01F))
            (void)world.attach(crate,
                               wagons_[random_.below(static_cast<std::uint32_t>(wagons_.size()))]);
    }
    if (tick % 3 == 0 && movers.size() > 20) {
        const std::size_t at = random_.below(scale_.animals);
        if (world.kind_of(movers[at]) == schema_->animal) {
            (void)world.despawn(movers[at]);
            movers[at] = *world.spawn(schema_->animal, random_place());
        }
    }
}

check::TruthObserver SmallGame::describe(ObserverId observer) const {
    check::TruthObserver truth;
    truth.id = observer;
    truth.ready = true;
    truth.times_ready = 1;
    if (const auto player = players.find(static_cast<std::uint32_t>(observer));
        player != players.end()) {
        truth.main = player->second;
    }
    if (const auto camera = cameras.find(static_cast<std::uint32_t>(observer));
        camera != cameras.end()) {
        truth.areas.push_back(camera->second);
    }
    return truth;
}

SmallWorld::SmallWorld(std::uint64_t seed, Faults network_faults, std::uint32_t budget_bytes,
                       SmallScale scale, std::uint32_t truth_every_ticks)
    : game(schema, seed, scale), faults(network_faults), random_(seed + 1) {
    def.schema = &schema.schema;
    def.rules = small_rules(schema);
    def.world_name = "small";
    def.budget_bytes_per_tick = budget_bytes;
    def.mac = &test_mac;
    def.secret[0] = std::byte{42};
    auto made = Server::create(def, game);
    if (!made) std::abort();
    server = std::make_unique<Server>(std::move(made).value());
    schema.audience->server = server.get();
    game.populate(server->world());
    border = std::make_unique<record::Border>(*server);
    proof = std::make_unique<Proof>(
        *server, [this](ObserverId o) { return game.describe(o); }, truth_every_ticks);
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
    client_def.nonce = random_.next();
    client_def.role = role;
    client_def.name = "someone";
    client_def.digest_every = 1;
    client_def.schema_hash = schema_hash;
    auto client = std::make_unique<SmallClient>(client_def);
    client->up = std::make_unique<FaultyNetwork>(random_.next(), faults);
    client->down = std::make_unique<FaultyNetwork>(random_.next(), faults);
    client->address = next_address();
    clients.push_back(std::move(client));
    return *clients.back();
}

void SmallWorld::step() {
    const Micros tick_us = 1'000'000 / def.tick_hz;
    now += tick_us;
    std::vector<std::byte> bytes;
    for (auto& c : clients) {
        c->client.tick(now);
        std::span<const std::byte> out;
        while (c->client.next_datagram(out)) c->up->send(out, now);
        while (c->up->receive(bytes, now)) border->receive(bytes, c->address, now);
    }
    border->tick(now);
    proof->check_tick();
    OutgoingDatagram out;
    std::map<std::uint16_t, std::uint64_t> sizes;
    while (border->next_datagram(out)) {
        for (auto& c : clients) {
            if (!(c->address == out.to)) continue;
            c->down->send(out.bytes, now);
            if (out.bytes[0] == std::byte{6}) sizes[c->address.port] += out.bytes.size();
        }
    }
    for (const auto& [port, size] : sizes) largest_tick_bytes = std::max(largest_tick_bytes, size);
    for (auto& c : clients) {
        while (c->down->receive(bytes, now)) c->client.receive(bytes, now);
    }
}

std::uint32_t SmallWorld::joined_count() const {
    std::uint32_t count = 0;
    for (const auto& c : clients) count += c->client.state() == ClientState::joined ? 1 : 0;
    return count;
}

}  // namespace purview::test
