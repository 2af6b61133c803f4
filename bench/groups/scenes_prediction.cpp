// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Measures the server cost of an input for a group, and the cost of a lag-compensated shot compared
// with a test of every entity.
#include <chrono>
#include <cmath>
#include <memory>

#include "common/machine.hpp"
#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "groups/scenes.hpp"
#include "protocol/schema_access.hpp"
#include "purview/prediction.hpp"
#include "server/history.hpp"
#include "server/server_counters.hpp"
#include "server/server_data.hpp"

namespace purview::bench {

namespace {

struct At {
    Vec3 position;
};
struct Motion {
    float heading = 0;
    float speed = 0;
};
struct Score {
    std::int32_t shield = 0;
};
struct Drive {
    float throttle = 0;
    float steer = 0;
};

struct DriveSchema {
    DriveSchema() {
        auto at_of = schema.component<At>("at");
        FieldDef field{"x", FieldType::quantized, 0, 4, true, 0, 4096, 1.0 / 64, 0};
        SchemaAccess::add_field(schema, at_of.id(), field);
        field.name = "y";
        field.offset_bytes = 4;
        SchemaAccess::add_field(schema, at_of.id(), field);
        at = at_of;
        schema.set_position(at.id);
        auto motion_of = schema.component<Motion>("motion");
        motion_of.real("heading", &Motion::heading).real("speed", &Motion::speed);
        motion = motion_of;
        auto score_of = schema.component<Score>("strength");
        score_of.integer("shield", &Score::shield, 0, 1000);
        score = score_of;
        auto drive_of = schema.input<Drive>("drive");
        drive_of.quantized("throttle", &Drive::throttle, {-1, 1, 1.0 / 127})
            .quantized("steer", &Drive::steer, {-1, 1, 1.0 / 127});
        drive = drive_of;
        vehicle = schema.kind("vehicle", {at.id, motion.id});
        target = schema.kind("target", {at.id, score.id});
        schema.take_input(vehicle, drive.id);
        schema.predict(at.id);
        schema.predict(motion.id);
        schema.rewind(at.id);
        schema.rewind(score.id);
    }
    Schema schema;
    Component<At> at;
    Component<Motion> motion;
    Component<Score> score;
    Input<Drive> drive;
    KindId vehicle{}, target{};
};

struct Step final : GroupStep {
    explicit Step(const DriveSchema& its) : schema(&its) {}
    void step(GroupState& group, const GroupInput& command) override {
        for (std::size_t m = 0; m < group.size(); ++m) {
            const Drive* drive = command.part(m, schema->drive);
            Motion* motion = group.edit(m, schema->motion);
            At* at = group.edit(m, schema->at);
            if (drive == nullptr || motion == nullptr || at == nullptr) continue;
            motion->speed += (drive->throttle * 4 - motion->speed) * 0.02F;
            motion->heading += drive->steer * 0.05F;
            at->position.x += std::cos(motion->heading) * motion->speed / 60;
            at->position.y += std::sin(motion->heading) * motion->speed / 60;
        }
    }
    const DriveSchema* schema;
};

constexpr std::uint32_t group_members = 6;

struct Driving final : Game {
    explicit Driving(const DriveSchema& its) : schema(&its), step(its) {}
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest&) override {
        const Vec3 position{static_cast<float>(players % 40) * 100 + 50,
                            static_cast<float>(players / 40) * 100 + 50, 0};
        ++players;
        const EntityId root = server.world().spawn({.kind = schema->vehicle, .position = position});
        (void)server.world().set_owner(root, observer);
        for (std::uint32_t m = 1; m < group_members; ++m) {
            const EntityId member =
                server.world().spawn({.kind = schema->vehicle, .position = position});
            (void)server.world().attach(member, root);
            (void)server.world().set_owner(member, observer);
        }
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}
    void on_input(Server&, ObserverId, GroupState& group, const GroupInput& command) override {
        step.step(group, command);
    }
    const DriveSchema* schema;
    Step step;
    std::uint32_t players = 0;
};

void plain_mac(std::span<const std::byte, 32> key, std::span<const std::byte> data,
               std::span<std::byte, 16> out) {
    const std::uint64_t a = hash_bytes(data, hash_bytes(key, 1));
    std::memcpy(out.data(), &a, 8);
    std::memcpy(out.data() + 8, &a, 8);
}

Micros wall_clock() {
    return static_cast<Micros>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace

// -- command: players with a group each, at 60 Hz -------------------------------------------------

void scene_command(GroupsReport& report, const GroupsOptions& options) {
    const std::uint32_t players = options.quick ? 200 : 1'000;
    const std::uint32_t ticks = options.quick ? 60 : 120;
    const DriveSchema schema;
    Driving game(schema);
    Step step(schema);
    ServerDef def;
    def.schema = &schema.schema;
    def.tick_hz = 60;
    def.mac = &plain_mac;
    def.secret[0] = std::byte{1};
    def.sessions_per_host_max = def.sessions_max;
    def.clock = &wall_clock;
    NodeDef near;
    near.name = "near";
    near.add(within(20).leave_at(22));
    def.rules.nodes.push_back(near);
    def.rules.max = {4096, 4096, 0};
    auto made = Server::create(def, game);
    if (!made) {
        report.could_not_run("command: started", "no server");
        return;
    }
    Server& server = *made;
    struct Player {
        explicit Player(const ClientDef& def) : client(def) {}
        Client client;
        std::unique_ptr<Prediction> prediction;
    };
    std::vector<std::unique_ptr<Player>> all;
    for (std::uint32_t p = 0; p < players; ++p) {
        ClientDef client;
        client.nonce = p + 1;
        all.push_back(std::make_unique<Player>(client));
        all.back()->prediction = std::make_unique<Prediction>(
            std::move(
                Prediction::create(all.back()->client, {.schema = &schema.schema, .step = &step}))
                .value());
    }
    Micros now = 1'000'000;
    double receive_ms = 0, stage_ms = 0;
    std::size_t allocations = 0;
    bool counts = false;
    const auto run = [&] {
        now += 1'000'000 / 60;
        for (std::uint32_t p = 0; p < players; ++p) {
            Player& player = *all[p];
            for (unsigned n = player.prediction->ticks_due(now); n > 0; --n) {
                player.client.for_each([&](GhostId ghost) {
                    if (player.client.is_owned(ghost))
                        (void)player.prediction->set_part(ghost, schema.drive, Drive{1, 0.5F});
                });
                (void)player.prediction->run_tick();
            }
            player.client.tick(now);
            Address address;
            address.carrier = Address::Carrier::memory;
            address.port = static_cast<std::uint16_t>(p + 1);
            std::span<const std::byte> out;
            while (player.client.next_datagram(out)) {
                const std::size_t before = heap_allocations();
                const Stopwatch watch;
                server.receive(out, address, now);
                if (counts) receive_ms += watch.ms();
                if (counts) allocations += heap_allocations() - before;
            }
        }
        const std::size_t before = heap_allocations();
        server.tick(now);
        if (counts) allocations += heap_allocations() - before;
        if (counts) stage_ms += internal(server).profile.receive_us / 1000.0;
        OutgoingDatagram out;
        while (server.next_datagram(out)) all[out.to.port - 1U]->client.receive(out.bytes, now);
    };
    for (int i = 0; i < 600; ++i) run();  // lets all containers reach their final size
    const InputCounters warm = internal(server).inputs.counters();
    counts = true;
    for (std::uint32_t t = 0; t < ticks; ++t) run();
    const InputCounters& after = internal(server).inputs.counters();
    const auto commands = static_cast<double>(after.groups - warm.groups);
    const auto walked = static_cast<double>(after.members_walked - warm.members_walked);
    report.add("command", std::to_string(players) + " players, groups of 6",
               {{"commands", commands},
                {"parts", after.parts - warm.parts},
                {"corrections", after.corrections - warm.corrections},
                {"us_per_command_from_queue_to_state", stage_ms * 1000 / commands},
                {"us_per_packet_received", receive_ms * 1000 / players / ticks},
                {"members_walked", walked},
                {"allocations", allocations}});
    if (commands < players * ticks * 0.9 ||
        static_cast<double>(after.parts - warm.parts) < commands * 5) {
        report.could_not_run("command: measured", "inputs were not applied");
        return;
    }
    report.count_at_most("command: members walked", walked, 0, 0);
    report.at_most("command: allocations after warm-up", static_cast<double>(allocations), 0, 0);
}

// -- rewind: lag-compensated shots ----------------------------------------------------------------

void scene_rewind(GroupsReport& report, const GroupsOptions& options) {
    constexpr std::uint32_t entities = 2'000, shots = 100, hz = 60;
    constexpr float side = 500, shot_m = 60, radius = 0.6F;
    const int rounds = options.quick ? 20 : 100;
    const DriveSchema schema;
    WorldDef def;
    def.schema = &schema.schema;
    World world = std::move(World::create(def)).value();
    History history(internal(world), hz + 2, 8);
    SplitMix random(11);
    std::vector<EntityId> all;
    for (std::uint32_t e = 0; e < entities; ++e)
        all.push_back(world.spawn(
            {.kind = schema.target, .position = {random.unit() * side, random.unit() * side, 0}}));
    std::vector<float> heading(entities, 0);
    const auto advance = [&](Tick tick) {
        for (std::uint32_t e = 0; e < entities; ++e) {
            heading[e] += (random.unit() - 0.5F) * 0.3F;
            Vec3 at = world.position_of(all[e]);
            at.x = std::clamp(at.x + std::cos(heading[e]) * 6 / hz, 0.0F, side);
            at.y = std::clamp(at.y + std::sin(heading[e]) * 6 / hz, 0.0F, side);
            (void)world.move(all[e], at);
        }
        const Stopwatch watch;
        (void)history.record(tick);
        const double ms = watch.ms();
        internal(world).clear_changes();
        return ms;
    };
    for (Tick tick = 1; tick <= 3 * hz; ++tick) (void)advance(tick);
    const auto is_hit = [&](const History::Volume& v, Vec3 p) {
        const float ax = v.to.x - v.from.x, ay = v.to.y - v.from.y;
        const float bx = p.x - v.from.x, by = p.y - v.from.y;
        const float t = std::clamp((ax * bx + ay * by) / (ax * ax + ay * ay), 0.0F, 1.0F);
        return std::hypot(bx - ax * t, by - ay * t) <= v.radius;
    };
    std::vector<double> ours, brute, record;
    std::uint64_t hits = 0, brute_hits = 0, candidates = 0;
    for (int round = 0; round < rounds; ++round) {
        const Tick tick = 3 * hz + 1 + static_cast<Tick>(round);
        record.push_back(advance(tick));
        std::vector<History::Volume> volumes;
        std::vector<double> when;
        for (std::uint32_t s = 0; s < shots; ++s) {
            const Vec3 from{random.unit() * side, random.unit() * side, 0};
            const float angle = random.unit() * 6.28F;
            volumes.push_back(
                {from,
                 {from.x + std::cos(angle) * shot_m, from.y + std::sin(angle) * shot_m, 0},
                 radius});
            when.push_back(tick - 2 - static_cast<double>(random.unit()) * (hz - 4));
        }
        const Stopwatch mine;
        for (std::uint32_t s = 0; s < shots; ++s) {
            history.for_each_near(volumes[s], when[s], [&](EntityId entity) {
                ++candidates;
                Vec3 position;
                hits +=
                    history.position_at(entity, when[s], position) && is_hit(volumes[s], position);
            });
        }
        ours.push_back(mine.ms());
        const Stopwatch theirs;
        for (std::uint32_t s = 0; s < shots; ++s) {
            for (const EntityId entity : all) {
                Vec3 position;
                brute_hits +=
                    history.position_at(entity, when[s], position) && is_hit(volumes[s], position);
            }
        }
        brute.push_back(theirs.ms());
    }
    const double faster = ratio_of_rounds(brute, ours);
    const double memory = 1 + static_cast<double>(history.index_bytes()) /
                                  static_cast<double>(history.history_bytes());
    report.add(
        "rewind", "100 shots of 60 m, 2,000 entities",
        {{"us_per_shot", median(ours) * 1000 / shots},
         {"us_per_shot_testing_all", median(brute) * 1000 / shots},
         {"candidates_per_shot", static_cast<double>(candidates) / shots / rounds},
         {"hits", hits},
         {"hits_testing_all", brute_hits},
         {"record_ms_per_tick", median(record)},
         {"history_bytes_per_entity", static_cast<double>(history.history_bytes()) / entities},
         {"index_bytes_per_entity", static_cast<double>(history.index_bytes()) / entities}});
    if (hits != brute_hits || hits == 0) {
        report.could_not_run("rewind: same hits as testing every entity", "the hits differ");
        return;
    }
    report.at_least("rewind: times faster than testing every entity", faster, 10, 20);
    report.at_most("rewind: memory over that of the history itself", memory, 1.25, 1.15);
}

}  // namespace purview::bench
