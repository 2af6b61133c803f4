// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Entities in cells, and observers that receive the cells around their own, in the three payload
// modes of the node: individual, update many, read many. A change is a step and a new health value
// of one entity; a read is one observer's tick. The ratio of both defines the scene. Steps of at
// most two meters cross cells often. Steps of a fifth of that cross cells rarely, like walking
// players. With more changes per tick than entities, the last change of each entity counts.
#include <algorithm>
#include <memory>
#include <string>

#include "protocol/schema_access.hpp"
#include "replication/check.hpp"
#include "replication/scenes.hpp"
#include "server/server_counters.hpp"

namespace purview::bench {

namespace {

constexpr std::uint32_t observers = 200, entities = 400;
constexpr float side_m = 299, cell_size = 60;

struct Position {
    Vec3 at;
};
struct Body {
    std::uint16_t health = 0;
};

struct Ratio {
    const char* name;
    std::uint32_t changes;  ///< per tick
};
constexpr Ratio ratios[] = {{"1:100", observers / 100},
                            {"1:10", observers / 10},
                            {"1:1", observers},
                            {"10:1", observers * 10}};

struct Pace {
    const char* name;
    float step_m;
};
constexpr Pace intervals[] = {{"", 2}, {"walking, ", 0.2F}};

std::string scene_of(const Pace& pace, const Ratio& ratio) {
    return std::string("shared, ") + pace.name + ratio.name;
}

struct Way {
    const char* name;
    Payload mode;
};
constexpr Way ways[] = {{"alone", Payload::per_observer},
                        {"update many", Payload::update_many},
                        {"read many", Payload::read_many}};

struct CellSchema {
    CellSchema() {
        position = schema.component<Position>("place");
        FieldDef x{"x", FieldType::quantized, 0, 4, true, 0, side_m, 0.02, 0};
        FieldDef y = x;
        y.name = "y";
        y.offset_bytes = 4;
        SchemaAccess::add_field(schema, position.id, x);
        SchemaAccess::add_field(schema, position.id, y);
        body = schema.component<Body>("body").integer("health", &Body::health, 0, 1'000);
        schema.set_position(position.id);
        kind = schema.kind("one", {position.id, body.id});
    }
    Schema schema;
    Component<Position> position;
    Component<Body> body;
    KindId kind{};
};

/// One server in one mode. The same seed gives the same world for each mode.
class Cells {
  public:
    Cells(Payload mode, std::uint32_t changes, float step_m)
        : changes_(changes), step_m_(step_m), random_(7) {
        StageDef def;
        def.server.schema = &schema_.schema;
        def.server.rules.max = {side_m, side_m, 0};
        def.server.rules.entities_expected = entities;
        NodeDef node;
        node.name = "cells";
        node.payload = mode;
        node.add(cells(cell_size, cell_size));
        def.server.rules.nodes = {node};
        def.server.entities_max = 1U << 13;
        def.clients = observers;
        def.watchers = 4;
        def.ack_ticks = 2;
        Script script;
        script.populate = [this](World& world) { populate(world); };
        script.joined = [this](Server& server, ObserverId o, std::uint32_t c) {
            (void)server.visibility().set_viewpoint(o, all_[c]);
        };
        script.simulate = [this](Server& server, Tick) { live(server.world()); };
        stage = std::make_unique<Stage>(def, std::move(script));
    }
    std::unique_ptr<Stage> stage;
    Meter meter;
    std::vector<double> replication_ms;  ///< per tick: diff to encode

  private:
    void populate(World& world) {
        for (std::uint32_t i = 0; i < entities; ++i) {
            const Vec3 at{random_.between(0, side_m), random_.between(0, side_m), 0};
            all_.push_back(world.spawn({.kind = schema_.kind, .position = at}));
        }
    }
    void live(World& world) {
        for (std::uint32_t i = 0; i < changes_; ++i) {
            const EntityId entity = all_[random_.below(entities)];
            Vec3 at = world.position_of(entity);
            at.x = std::clamp(at.x + random_.between(-step_m_, step_m_), 0.0F, side_m);
            at.y = std::clamp(at.y + random_.between(-step_m_, step_m_), 0.0F, side_m);
            (void)world.move(entity, at);
            world.edit(entity, schema_.body)->health =
                static_cast<std::uint16_t>(random_.below(1'001));
        }
    }

    std::uint32_t changes_;
    float step_m_;
    CellSchema schema_;
    SplitMix random_;
    std::vector<EntityId> all_;  ///< the first ones are the observers' entities
};

bool run_modes(Report& report, const Pace& pace, const Ratio& ratio, std::uint32_t ticks) {
    constexpr std::uint32_t rounds = 3;
    const std::string scene = scene_of(pace, ratio);
    std::vector<std::unique_ptr<Cells>> sides;
    report_progress(scene, "joining");
    for (const Way& way : ways) {
        sides.push_back(std::make_unique<Cells>(way.mode, ratio.changes, pace.step_m));
        if (!sides.back()->stage->join()) {
            report.could_not_run(scene + ", joined", "not all clients joined");
            return false;
        }
        for (int i = 0; i < 60; ++i) sides.back()->stage->step();
    }
    for (std::uint32_t r = 0; r < rounds; ++r) {
        report_progress(scene, "round " + std::to_string(r + 1) + " of 3");
        for (auto& side : sides) side->meter.begin_round();
        for (std::uint32_t i = 0; i < ticks; ++i) {  // alternately: A B C A B C
            for (auto& side : sides) {
                const TickCost cost = side->stage->step();
                const TickProfile& p = cost.profile;
                side->meter.add(cost);
                side->replication_ms.push_back((p.diff_us + p.prioritize_us + p.encode_us) /
                                               1'000.0);
            }
        }
    }
    std::vector<Row> rows;
    for (std::size_t w = 0; w < sides.size(); ++w) {
        rows.push_back(sides[w]->meter.row(scene, ways[w].name, observers));
        const Checked checked = settle_and_check(*sides[w]->stage);
        const ServerStats stats = sides[w]->stage->server().stats();
        rows.back().checked = checked;
        rows.back().more["changes"] = ratio.changes;
        rows.back().more["replication_ms_p10"] = percentile(sides[w]->replication_ms, 0.1);
        rows.back().more["replication_ms_p50"] = median(sides[w]->replication_ms);
        rows.back().more["sections"] = static_cast<double>(stats.cell_payloads);
        rows.back().more["cell_payload_copies"] = static_cast<double>(stats.cell_payload_copies);
        rows.back().more["cell_payloads_skipped"] =
            static_cast<double>(stats.cell_payloads_skipped);
    }
    add_rows(report, rows);
    return true;
}

}  // namespace

void scene_shared(Report& report, const Options& options) {
    const std::uint32_t ticks = ticks_of(options, 60, 300);
    for (const Pace& pace : intervals) {
        for (const Ratio& ratio : ratios)
            if (!run_modes(report, pace, ratio, ticks)) return;
    }
}

void figures_of_shared(Report& report) {
    double wrong = 0;
    for (const Pace& pace : intervals) {
        for (const Ratio& ratio : ratios) {
            const std::string scene = scene_of(pace, ratio);
            const Row* alone = report.find(scene, "alone");
            if (alone == nullptr) return;
            for (const Way& way : ways) {
                const Row* row = report.find(scene, way.name);
                wrong += static_cast<double>(row->checked.wrong);
                if (way.mode == Payload::per_observer) continue;
                // Counts as faster only if the median and the tenth percentile agree.
                const auto of_alone = [&](const char* which) {
                    return row->more.at(which) / alone->more.at(which);
                };
                report.aim_at_most(
                    scene + ", " + way.name + "/alone, diff to encode",
                    std::max(of_alone("replication_ms_p10"), of_alone("replication_ms_p50")), 1);
                report.aim_at_most(scene + ", " + way.name + "/alone, bytes",
                                   row->bytes / alone->bytes, 1);
            }
        }
    }
    report.count_at_most("shared, mismatches", wrong, 0, 0);
}

}  // namespace purview::bench
