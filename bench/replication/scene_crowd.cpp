// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// 2,000 moving observers in one area of interest, 8 kB per second for each, ten ticks per second.
// Only a small part fits. Measures the age of the data that each observer has, by distance.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/internal_access.hpp"
#include "net/thread_pool.hpp"
#include "protocol/schema_access.hpp"
#include "replication/check.hpp"
#include "replication/scenes.hpp"
#include "server/server_data.hpp"

namespace purview::bench {

namespace {

constexpr std::uint32_t people = 2'000, tick_hz = 10, budget_bytes = 8'000 / tick_hz;
constexpr float side_m = 100, step_m = 0.3F;
/// Number of observers with measured ghost ages.
constexpr std::uint32_t sampled = 40;
/// Threads that encode packets, in the multi-threaded rows.
constexpr std::uint32_t threads = 2;

struct Position {
    Vec3 at;
    float yaw = 0;
};

struct CrowdSchema {
    CrowdSchema() {
        FieldDef x{"x", FieldType::quantized, 0, 4, true, 0, side_m, 0.01, 0};
        FieldDef y = x;
        y.name = "y";
        y.offset_bytes = 4;
        FieldDef yaw{"yaw", FieldType::quantized, 12, 4, true, 0, 2 * 3.14159265, 0.0246, 0};
        position = schema.component<Position>("place");
        for (const FieldDef& f : {x, y, yaw}) SchemaAccess::add_field(schema, position.id, f);
        schema.set_position(position.id);
        person = schema.kind("person", {position.id});
    }
    Schema schema;
    Component<Position> position;
    KindId person{};
};

/// Ghosts by the number of nearer ones: [first, end).
struct Ranks {
    const char* name;
    std::uint32_t first, end;
    std::vector<double> ages;  ///< ticks since the first unsent change; 0: nothing pending
};

class Crowd {
  public:
    Crowd() : random_(13) {
        StageDef def;
        def.server.schema = &schema_.schema;
        def.server.tick_hz = tick_hz;
        def.server.budget_bytes_per_tick = budget_bytes;
        def.server.rules.max = {side_m, side_m, 0};
        def.server.rules.entities_expected = people;
        NodeDef node;
        node.name = "one area";
        node.add(within(2 * side_m));
        def.server.rules.nodes = {node};
        def.server.entities_max = 1U << 13;
        def.clients = people;
        def.watchers = 4;
        Script script;
        script.populate = [this](World& world) {
            for (std::uint32_t i = 0; i < people; ++i) {
                const Vec3 at{random_.between(0, side_m), random_.between(0, side_m), 0};
                people_.push_back(world.spawn({.kind = schema_.person, .position = at}));
            }
        };
        script.joined = [this](Server& server, ObserverId o, std::uint32_t c) {
            (void)server.visibility().set_viewpoint(o, people_[c]);
        };
        script.simulate = [this](Server& server, Tick) { mill_about(server.world()); };
        script.relevant = [](const World& world, std::uint32_t) { return all_of(world); };
        stage.emplace(def, std::move(script));
        meter.emplace(schema_.schema);
        stage->on_datagram = [this](std::span<const std::byte> datagram) { meter->read(datagram); };
    }

    /// Collects the ghost ages of some observers after a tick.
    void collect_ages(std::vector<Ranks>& ranks) {
        const World& world = stage->server().world();
        const Tick now = stage->server().current_tick();
        for (std::uint32_t s = 0; s < sampled; ++s) {
            const std::uint32_t o = s * (people / sampled);
            const GhostTable& ghosts =
                internal(stage->server()).sessions.find(stage->observer(o))->ghosts;
            const Vec3 from = world.position_of(people_[o]);
            order_.clear();
            for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
                if (!ghosts.slots().is_live(slot) || ghosts.slots().entity(slot) == people_[o])
                    continue;
                const Vec3 at = world.position_of(ghosts.slots().entity(slot));
                order_.emplace_back(std::hypot(at.x - from.x, at.y - from.y), slot);
            }
            std::sort(order_.begin(), order_.end());
            for (Ranks& r : ranks) {
                for (std::uint32_t i = r.first; i < std::min<std::size_t>(r.end, order_.size());
                     ++i) {
                    const LocalId slot = order_[i].second;
                    const bool waits =
                        ((ghosts.sends().pending()[slot / 64] >> (slot % 64)) & 1U) != 0;
                    r.ages.push_back(waits ? now - ghosts.sends().waiting_since(slot) + 1 : 0);
                }
            }
        }
    }
    /// Ticks until every ghost was sent if the oldest goes first: the number of relevant entities
    /// divided by how many of the largest updates fit in a tick.
    static double bound_ticks(const Schema& schema) {
        double update = 0;
        for (const FieldDef& f : schema.components()[0].fields) update += f.wire_bits;
        update += 1 + 16;  // all fields; the widest gap as a varint of five groups
        const double header = 40 + 2 * 16 + 1 + 8 + 32 + 2 + 16 + 4 * 16 + 4;
        const double fit = std::floor((budget_bytes * 8 - header) / update);
        return std::ceil(people / fit) + 1;
    }
    const Schema& schema() const { return schema_.schema; }

    std::optional<Stage> stage;
    std::optional<WireMeter> meter;

  private:
    void mill_about(World& world) {
        for (const EntityId person : people_) {
            Position* position = world.edit(person, schema_.position);
            position->yaw = std::fmod(position->yaw + random_.between(0, 0.6F), 6.28F);
            position->at.x =
                std::clamp(position->at.x + std::cos(position->yaw) * step_m, 0.0F, side_m);
            position->at.y =
                std::clamp(position->at.y + std::sin(position->yaw) * step_m, 0.0F, side_m);
        }
    }

    CrowdSchema schema_;
    SplitMix random_;
    std::vector<EntityId> people_;
    std::vector<std::pair<float, LocalId>> order_;
};

}  // namespace

void scene_crowd(Report& report, const Options& options) {
    Crowd scene;
    report_progress("crowd", "2,000 join");
    if (!scene.stage->join()) {
        report.could_not_run("crowd, joined", "not all clients joined");
        return;
    }
    const double bound = Crowd::bound_ticks(scene.schema());
    const std::uint32_t rounds = 3, ticks = ticks_of(options, 6, 16);
    // After twice this bound, ages are stationary.
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(2 * bound); ++i) {
        if (i % 5 == 0) report_progress("crowd", "warm-up, tick " + std::to_string(i));
        scene.stage->step();
    }
    scene.meter->reset();
    std::vector<Ranks> ranks{{"1-10", 0, 10, {}},
                             {"11-50", 10, 50, {}},
                             {"51-200", 50, 200, {}},
                             {"201-1000", 200, 1000, {}},
                             {"1001-1999", 1000, people, {}}};
    Meter ours;
    for (std::uint32_t r = 0; r < rounds; ++r) {
        report_progress("crowd", "round " + std::to_string(r + 1) + " of 3");
        ours.begin_round();
        for (std::uint32_t i = 0; i < ticks; ++i) {
            ours.add(scene.stage->step());
            scene.collect_ages(ranks);
        }
    }
    ours.add_bits(scene.meter->bits());
    const Checked checked = settle_and_check(*scene.stage);
    Row row = ours.row("crowd", "purview", people);
    row.checked = checked;
    row.more["bound_ticks"] = bound;
    row.more["budget_bytes"] = budget_bytes;
    double oldest = 0;
    std::printf("\ncrowd: age in ticks by distance rank, p50 and p99; bound %.0f\n", bound);
    for (const Ranks& r : ranks) {
        const double p50 = percentile(r.ages, 0.5), p99 = percentile(r.ages, 0.99);
        row.more[std::string("age_p50 ") + r.name] = p50;
        row.more[std::string("age_p99 ") + r.name] = p99;
        double mean = 0;
        for (const double age : r.ages) mean += age / static_cast<double>(r.ages.size());
        row.more[std::string("age_mean ") + r.name] = mean;
        oldest = std::max(oldest, percentile(r.ages, 1));
        std::printf("    %-10s p50 %5.1f, p99 %5.1f, mean %5.2f\n", r.name, p50, p99, mean);
    }
    row.more["age_max"] = oldest;
    // Continues the same world alternately on one thread and on several.
    ThreadPool pool(threads);
    Meter one, several;
    scene.stage->set_frozen(false);
    for (std::uint32_t r = 0; r < rounds; ++r) {
        report_progress("crowd", "threads, round " + std::to_string(r + 1) + " of 3");
        for (Meter* meter : {&one, &several}) {
            scene.stage->server().set_executor(meter == &one ? Executor{} : pool.executor());
            meter->begin_round();
            for (std::uint32_t i = 0; i < ticks; ++i) meter->add(scene.stage->step());
        }
    }
    scene.stage->server().set_executor({});
    Row together = several.row("crowd, 2 threads", "purview", people);
    together.threads = threads;
    together.checked = settle_and_check(*scene.stage);
    add_rows(report, {row, one.row("crowd, 1 thread", "purview", people), together});
}

void figures_of_crowd(Report& report) {
    const Row* ours = report.find("crowd", "purview");
    if (ours == nullptr) return;
    report.aim_at_most("crowd, ms a tick", ours->ms_p50, 1000.0 / tick_hz);
    // A ratio of 0.5 shows a clear preference for near ghosts; 1 would mean that distance has no
    // effect.
    report.at_most("crowd, mean age of the nearest/of the farthest",
                   ours->more.at("age_mean 1-10") / ours->more.at("age_mean 1001-1999"), 0.9, 0.5);
    report.count_at_most("crowd, oldest/derived bound",
                         ours->more.at("age_max") / ours->more.at("bound_ticks"), 1, 1);
    report.count_at_most("crowd, most bytes of a tick/budget",
                         ours->more.at("largest_bytes") / ours->more.at("budget_bytes"), 1, 1);
    report.count_at_most("crowd, mismatches", static_cast<double>(ours->checked.wrong), 0, 0);
    const Row* one = report.find("crowd, 1 thread", "purview");
    const Row* together = report.find("crowd, 2 threads", "purview");
    if (one == nullptr || together == nullptr) return;
    report.aim_at_least("crowd, times as fast on 2 threads",
                        std::min(one->ms_p50 / together->ms_p50, one->ms_p10 / together->ms_p10),
                        1.6);
    report.count_at_most("crowd, mismatches on 2 threads",
                         static_cast<double>(together->checked.wrong), 0, 0);
}

}  // namespace purview::bench
