// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// 100 players run from a ring of 800 m into one spot, and stay there. What counts is the end, where
// everybody sees everybody.
#include <cmath>
#include <optional>

#include "replication/check.hpp"
#include "replication/scenes.hpp"
#include "replication/straight.hpp"

namespace purview::bench {

namespace {

constexpr std::uint32_t players = 100, tick_hz = 30, ack_ticks = 2;
constexpr float ring_m = 800, relevance_m = 200, speed_mps = 20, crowd_m = 20;
constexpr float two_pi = 6.2831853F;

struct Place {
    Vec3 at;
};
struct Motion {
    float yaw = 0;
    float vx = 0, vy = 0, vz = 0;
    std::uint8_t state = 0;
};

struct PlayerSchema {
    PlayerSchema() {
        place = schema.component<Place>("place");
        FieldDef x{"x", FieldType::quantised, 0, 4, true, -1024, 1024, 0.01, 0};
        FieldDef y = x, z = x;
        y.name = "y";
        y.offset_bytes = 4;
        z.name = "z";
        z.offset_bytes = 8;
        z.min = -64;
        z.max = 64;
        for (const FieldDef& f : {x, y, z}) schema.add_field(place.id, f);
        const RealRange speed{-20.475, 20.475, 0.01};  // 12 bits
        motion = schema.component<Motion>("motion")
                     .quantised("yaw", &Motion::yaw, {0, two_pi, two_pi / 65535})
                     .quantised("vx", &Motion::vx, speed)
                     .quantised("vy", &Motion::vy, speed)
                     .quantised("vz", &Motion::vz, speed)
                     .integer("state", &Motion::state, 0, 255);
        schema.set_place(place.id);
        player = schema.kind("player", {place.id, motion.id});
    }
    Schema schema;
    Component<Place> place;
    Component<Motion> motion;
    KindId player{};
};

class OnePlace {
  public:
    explicit OnePlace(float loss)
        : straight_(schema_.schema,
                    {relevance_m, ServerDef{}.budget_bytes_per_tick, ack_ticks, loss}),
          blind_(schema_.schema, relevance_m),
          random_(7) {
        StageDef def;
        def.server.schema = &schema_.schema;
        def.server.tick_hz = tick_hz;
        def.server.rules.bounds_min = {-1024, -1024, 0};
        def.server.rules.bounds_max = {1024, 1024, 0};
        def.server.rules.entities_expected = players;
        NodeDesc node;
        node.name = "near";
        node.type = NodeType::grid;
        node.steps = {add(within(relevance_m))};
        def.server.rules.nodes = {node};
        def.server.entities_max = 1024;
        def.clients = players;
        def.watchers = 4;
        def.loss = loss;
        def.ack_ticks = ack_ticks;
        Script script;
        script.populate = [this](World& world) { populate(world); };
        script.joined = [this](Server& server, ObserverId o, std::uint32_t c) {
            (void)server.world().set_owner(players_[c], o);
            (void)server.interest().set_main_entity(o, players_[c]);
        };
        script.simulate = [this](Server& server, Tick) { run(server.world()); };
        stage.emplace(def, std::move(script));
        meter.emplace(schema_.schema);
        stage->tap = [this](std::span<const std::byte> datagram) { meter->read(datagram); };
    }
    /// Seconds until the last one is in the crowd.
    static std::uint32_t ticks_to_run() {
        return static_cast<std::uint32_t>((ring_m + 60 - crowd_m) / speed_mps * tick_hz);
    }
    EncodeCost encode_straight() { return straight_.encode(stage->server().world(), players_); }
    EncodeCost encode_blind() { return blind_.encode(stage->server().world(), players_, nullptr); }
    /// Of the straight encoder, at rest.
    Checked check_straight() { return straight_.check_at_rest(stage->server().world(), players_); }

    std::optional<Stage> stage;
    std::optional<WireMeter> meter;

  private:
    void populate(World& world) {
        for (std::uint32_t i = 0; i < players; ++i) {
            const float angle = two_pi * static_cast<float>(i) / players;
            const Vec3 at{std::cos(angle) * ring_m, std::sin(angle) * ring_m, 0};
            players_.push_back(world.spawn(schema_.player, at).value());
        }
    }
    /// Towards the middle, each on a path of its own; there they run about.
    void run(World& world) {
        for (const EntityId player : players_) {
            Vec3 at = world.place_of(player);
            Motion* motion = world.edit(player, schema_.motion);
            const bool is_there = std::hypot(at.x, at.y) < crowd_m;
            const float home = std::atan2(-at.y, -at.x);
            const float heading = is_there ? motion->yaw + random_.between(-0.5F, 0.5F)
                                           : home + random_.between(-0.3F, 0.3F);
            motion->yaw = std::fmod(heading + 2 * two_pi, two_pi);
            motion->vx = std::cos(heading) * speed_mps;
            motion->vy = std::sin(heading) * speed_mps;
            motion->vz = random_.between(-1, 1);
            if (random_.chance(0.1F)) motion->state = static_cast<std::uint8_t>(random_.below(256));
            at.x += motion->vx / tick_hz;
            at.y += motion->vy / tick_hz;
            at.z = random_.between(0, 2);
            (void)world.move(player, at);
        }
    }

    PlayerSchema schema_;
    StraightEncoder straight_;
    BlindEncoder blind_;
    SplitMix random_;
    std::vector<EntityId> players_;
};

}  // namespace

void scene_one_place(Report& report, const Options& options) {
    OnePlace scene(0.05F);
    say_progress("one place", "joining");
    if (!scene.stage->join()) {
        report.does_not_count("one place, joined", false, 1, 1, "not all clients joined");
        return;
    }
    struct Meters {
        Meter ours, straight, blind;
    };
    const auto round = [&](std::uint32_t ticks, Meters& meters) {
        for (Meter* meter : {&meters.ours, &meters.straight, &meters.blind}) meter->begin_round();
        for (std::uint32_t i = 0; i < ticks; ++i) {  // A B A B
            meters.ours.add(scene.stage->step());
            meters.straight.add(scene.encode_straight());
            meters.blind.add(scene.encode_blind());
        }
    };
    Checked checked;
    const auto rows = [&](const std::string& name, std::uint32_t rounds, std::uint32_t ticks) {
        Meters meters;
        scene.meter->reset();
        for (std::uint32_t r = 0; r < rounds; ++r) {
            say_progress(name, "round " + std::to_string(r + 1) + " of " + std::to_string(rounds));
            round(ticks, meters);
        }
        meters.ours.add_bits(scene.meter->bits());
        checked = settle_and_check(*scene.stage);
        std::vector<Row> made{meters.ours.row(name, "purview", players),
                              meters.straight.row(name, "straight", players),
                              meters.blind.row(name, "blind", players)};
        made[0].checked = checked;
        made[1].checked = scene.check_straight();
        add_rows(report, made);
    };
    rows("one place, running", 3, OnePlace::ticks_to_run() / 3);
    Meters warm;
    round(60, warm);
    rows("one place", 3, ticks_of(options, 60, 200));
}

void figures_of_one_place(Report& report) {
    const Row* ours = report.find("one place", "purview");
    if (ours == nullptr) return;
    const Row* straight = report.find("one place", "straight");
    report.at_least("one place, straight/ours", ratio(*straight, *ours), 20, 20);
    report.aim_at_most("one place, ms a tick", ours->ms_p50, 1);
    report.at_most("one place, mismatches", static_cast<double>(ours->checked.wrong), 0, 0);
    report.at_most("one place, straight encoder's mismatches",
                   static_cast<double>(straight->checked.wrong), 0, 0);
}

}  // namespace purview::bench
