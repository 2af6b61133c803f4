// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// 100 players run from a ring of 800 m to one spot and stay there. The final phase counts, in which
// every player sees all others.
#include <cmath>

#include "protocol/schema_access.hpp"
#include "replication/check.hpp"
#include "replication/scenes.hpp"
#include "replication/sides.hpp"

namespace purview::bench {

namespace {

constexpr std::uint32_t players = 100, tick_hz = 30, ack_ticks = 2;
constexpr float ring_m = 800, relevance_m = 200, speed_mps = 20, crowd_m = 20;
constexpr std::uint32_t entities_max = 1024;
constexpr float two_pi = 6.2831853F;

struct Position {
    Vec3 at;
};
struct Motion {
    float yaw = 0;
    float vx = 0, vy = 0, vz = 0;
    std::uint8_t state = 0;
};

struct PlayerSchema {
    PlayerSchema() {
        position = schema.component<Position>("place");
        FieldDef x{"x", FieldType::quantized, 0, 4, true, -1024, 1024, 0.01, 0};
        FieldDef y = x, z = x;
        y.name = "y";
        y.offset_bytes = 4;
        z.name = "z";
        z.offset_bytes = 8;
        z.min = -64;
        z.max = 64;
        for (const FieldDef& f : {x, y, z}) SchemaAccess::add_field(schema, position.id, f);
        const NumberRange speed{-20.475, 20.475, 0.01};  // 12 bits
        motion = schema.component<Motion>("motion")
                     .quantized("yaw", &Motion::yaw, {0, two_pi, two_pi / 65535})
                     .quantized("vx", &Motion::vx, speed)
                     .quantized("vy", &Motion::vy, speed)
                     .quantized("vz", &Motion::vz, speed)
                     .integer("state", &Motion::state, 0, 255);
        schema.set_position(position.id);
        player = schema.kind("player", {position.id, motion.id});
    }
    Schema schema;
    Component<Position> position;
    Component<Motion> motion;
    KindId player{};
};

/// The events of the world, independent of observers.
class Life {
  public:
    explicit Life(const PlayerSchema& schema) : schema_(&schema), random_(7) {}

    void populate(World& world) {
        for (std::uint32_t i = 0; i < players; ++i) {
            const float angle = two_pi * static_cast<float>(i) / players;
            const Vec3 at{std::cos(angle) * ring_m, std::sin(angle) * ring_m, 0};
            players_.push_back(world.spawn({.kind = schema_->player, .position = at}));
        }
    }
    /// Runs toward the center, each on a separate path, and moves around there.
    void live(World& world) {
        for (const EntityId player : players_) {
            Vec3 at = world.position_of(player);
            Motion* motion = world.edit(player, schema_->motion);
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
    const std::vector<EntityId>& observers() const noexcept { return players_; }
    /// Null: all entities change in every tick.
    static const std::vector<bool>* changed() noexcept { return nullptr; }

  private:
    const PlayerSchema* schema_;
    SplitMix random_;
    std::vector<EntityId> players_;
};

StageDef stage_of_one_place() {
    StageDef def;
    def.server.tick_hz = tick_hz;
    def.server.rules.min = {-1024, -1024, 0};
    def.server.rules.max = {1024, 1024, 0};
    def.server.rules.entities_expected = players;
    def.server.entities_max = entities_max;
    def.clients = players;
    def.watchers = 4;
    def.loss = 0.05F;
    def.ack_ticks = ack_ticks;
    return def;
}

/// Ticks until the last player has reached the crowd.
constexpr std::uint32_t ticks_to_run() {
    return static_cast<std::uint32_t>((ring_m + 60 - crowd_m) / speed_mps * tick_hz);
}

}  // namespace

void scene_one_place(Report& report, const Options& options) {
    Sides<PlayerSchema, Life> scene(stage_of_one_place(), relevance_m, true);
    report_progress("one place", "joining");
    if (!scene.stage->join()) {
        report.could_not_run("one place, joined", "not all clients joined");
        return;
    }
    struct Meters {
        Meter ours, straight, blind;
    };
    const auto round = [&](std::uint32_t ticks, Meters& meters) {
        meters.ours.begin_round();
        for (std::uint32_t i = 0; i < ticks; ++i) meters.ours.add(scene.step());
        scene.straight.turn(ticks, meters.straight);
        scene.blind.turn(ticks, meters.blind);
    };
    Checked checked;
    const auto rows = [&](const std::string& name, std::uint32_t rounds, std::uint32_t ticks) {
        Meters meters;
        scene.meter->reset();
        for (std::uint32_t r = 0; r < rounds; ++r) {  // alternately: A B A B
            report_progress(name,
                            "round " + std::to_string(r + 1) + " of " + std::to_string(rounds));
            round(ticks, meters);
        }
        meters.ours.add_bits(scene.meter->bits());
        checked = settle_and_check(*scene.stage);
        std::vector<Row> made{meters.ours.row(name, "purview", players),
                              meters.straight.row(name, "straight", players),
                              meters.blind.row(name, "blind", players)};
        made[0].checked = checked;
        made[1].checked = scene.straight.check_idle();
        add_rows(report, made);
    };
    rows("one place, running", 3, ticks_to_run() / 3);
    Meters warm;
    round(60, warm);
    rows("one place", 3, ticks_of(options, 60, 200));
}

void figures_of_one_place(Report& report) {
    const Row* ours = report.find("one place", "purview");
    if (ours == nullptr) return;
    const Row* straight = report.find("one place", "straight");
    report.at_least("one place, straight/ours", ratio(*straight, *ours), 2.5, 4);
    report.at_most("one place, ms where the straight encoder takes 1.0",
                   1 / ratio(*straight, *ours), 0.36, 0.25);
    report.aim_at_most("one place, ms a tick", ours->ms_p50, 1);
    report.count_at_most("one place, mismatches", static_cast<double>(ours->checked.wrong), 0, 0);
    report.count_at_most("one place, straight encoder's mismatches",
                         static_cast<double>(straight->checked.wrong), 0, 0);
}

}  // namespace purview::bench
