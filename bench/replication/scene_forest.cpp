// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// 100 players walk among 10,000 trees on one square kilometer. Every tree loses one health point
// per second, each at a different time. 256 kbit/s per client.
#include <algorithm>
#include <cmath>

#include "core/internal_access.hpp"
#include "protocol/schema_access.hpp"
#include "replication/check.hpp"
#include "replication/scenes.hpp"
#include "replication/sides.hpp"
#include "server/server_data.hpp"

namespace purview::bench {

namespace {

constexpr std::uint32_t players = 100, trees = 10'000, tick_hz = 30, ack_ticks = 2;
constexpr std::uint32_t budget_bytes = 256'000 / 8 / tick_hz;
constexpr float side_m = 1000, relevance_m = 150, speed_mps = 5;
constexpr std::uint32_t entities_max = 1U << 15;

struct Position {
    Vec3 at;
};
struct Tree {
    std::uint8_t health = 255;
};

struct ForestSchema {
    ForestSchema() {
        position = schema.component<Position>("place");
        FieldDef x{"x", FieldType::quantized, 0, 4, true, 0, side_m, 0.01, 0};
        FieldDef y = x;
        y.name = "y";
        y.offset_bytes = 4;
        SchemaAccess::add_field(schema, position.id, x);
        SchemaAccess::add_field(schema, position.id, y);
        wood = schema.component<Tree>("wood").integer("health", &Tree::health, 0, 255);
        schema.set_position(position.id);
        player = schema.kind("player", {position.id});
        tree = schema.kind("tree", {position.id, wood.id});
    }
    Schema schema;
    Component<Position> position;
    Component<Tree> wood;
    KindId player{}, tree{};
};

/// The events of the world, independent of observers.
class Life {
  public:
    explicit Life(const ForestSchema& schema) : schema_(&schema), random_(11) {}

    void populate(World& world) {
        for (std::uint32_t i = 0; i < trees; ++i) {
            trees_.push_back(world.spawn({.kind = schema_->tree, .position = somewhere()}));
            world.edit(trees_.back(), schema_->wood)->health = 255;
        }
        for (std::uint32_t i = 0; i < players; ++i) {
            players_.push_back(world.spawn({.kind = schema_->player, .position = somewhere()}));
            goals_.push_back(somewhere());
        }
        changed_.assign(world.index_end(), false);
    }
    void live(World& world) {
        std::fill(changed_.begin(), changed_.end(), false);
        for (std::uint32_t i = tick_++ % tick_hz; i < trees; i += tick_hz) {
            Tree* tree = world.edit(trees_[i], schema_->wood);
            tree->health = static_cast<std::uint8_t>(tree->health - 1);  // wraps around to 255
            changed_[index_of(trees_[i])] = true;
        }
        for (std::uint32_t i = 0; i < players; ++i) {
            Vec3 at = world.position_of(players_[i]);
            const float dx = goals_[i].x - at.x, dy = goals_[i].y - at.y;
            const float distance = std::hypot(dx, dy);
            const float step = speed_mps / tick_hz;
            if (distance < step) {
                goals_[i] = somewhere();
                continue;
            }
            at.x += dx / distance * step;
            at.y += dy / distance * step;
            (void)world.move(players_[i], at);
            changed_[index_of(players_[i])] = true;
        }
    }
    const std::vector<EntityId>& observers() const noexcept { return players_; }
    /// Entities changed in the last tick, by entity index.
    const std::vector<bool>* changed() const noexcept { return &changed_; }

  private:
    Vec3 somewhere() { return {random_.between(0, side_m), random_.between(0, side_m), 0}; }

    const ForestSchema* schema_;
    SplitMix random_;
    std::uint32_t tick_ = 0;
    std::vector<EntityId> trees_, players_;
    std::vector<Vec3> goals_;
    std::vector<bool> changed_;
};

StageDef stage_of_forest() {
    StageDef def;
    def.server.tick_hz = tick_hz;
    def.server.budget_bytes_per_tick = budget_bytes;
    def.server.rules.max = {side_m, side_m, 0};
    def.server.rules.entities_expected = trees + players;
    def.server.entities_max = entities_max;
    def.clients = players;
    def.watchers = 4;
    def.ack_ticks = ack_ticks;
    return def;
}

/// Ticks that the oldest unsent change has waited.
Tick oldest_unsent(Stage& stage) {
    Tick oldest = 0;
    for (const auto& session : internal(stage.server()).sessions) {
        const Backlog backlog = backlog_of(session->ghosts, stage.server().current_tick());
        oldest = std::max(oldest, backlog.count > 0 ? backlog.age_ticks_max + 1 : 0);
    }
    return oldest;
}

}  // namespace

void scene_forest(Report& report, const Options& options) {
    Sides<ForestSchema, Life> scene(stage_of_forest(), relevance_m, false);
    report_progress("forest", "joining");
    if (!scene.stage->join()) {
        report.could_not_run("forest, joined", "not all clients joined");
        return;
    }
    const std::uint32_t rounds = 3, ticks = ticks_of(options, 60, 300);
    Meter ours, straight, blind;
    Tick oldest = 0;
    const auto round = [&](std::uint32_t count, Meter& mine, Meter& theirs, Meter& unseeing) {
        mine.begin_round();
        for (std::uint32_t i = 0; i < count; ++i) {
            mine.add(scene.step());
            oldest = std::max(oldest, oldest_unsent(*scene.stage));
        }
        scene.straight.turn(count, theirs);
        scene.blind.turn(count, unseeing);
    };
    Meter warm, unused, unused_too;
    round(60, warm, unused, unused_too);
    scene.meter->reset();
    oldest = 0;
    for (std::uint32_t r = 0; r < rounds; ++r) {  // alternately: A B A B
        report_progress("forest", "round " + std::to_string(r + 1) + " of 3");
        round(ticks, ours, straight, blind);
    }
    ours.add_bits(scene.meter->bits());
    const Checked checked = settle_and_check(*scene.stage);
    std::vector<Row> rows{ours.row("forest", "purview", players),
                          straight.row("forest", "straight", players),
                          blind.row("forest", "blind", players)};
    rows[0].checked = checked;
    rows[1].checked = scene.straight.check_idle();
    rows[0].more["budget_bytes"] = budget_bytes;
    rows[0].more["oldest_unsent_ticks"] = oldest;
    add_rows(report, rows);
    std::printf("forest: the oldest unsent change waited %u ticks\n", oldest);
}

void figures_of_forest(Report& report) {
    const Row* ours = report.find("forest", "purview");
    if (ours == nullptr) return;
    const Row* straight = report.find("forest", "straight");
    report.at_least("forest, straight/ours", ratio(*straight, *ours), 20, 20);
    report.aim_at_most("forest, ms a tick", ours->ms_p50, 3);
    report.count_at_most("forest, most bytes of a tick/budget",
                         ours->more.at("largest_bytes") / ours->more.at("budget_bytes"), 1, 1);
    report.count_at_most("forest, mismatches", static_cast<double>(ours->checked.wrong), 0, 0);
    report.count_at_most("forest, straight encoder's mismatches",
                         static_cast<double>(straight->checked.wrong), 0, 0);
}

}  // namespace purview::bench
