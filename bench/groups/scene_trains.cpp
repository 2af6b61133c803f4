// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Trains of 64 cars move on circles, every car in every tick, and sometimes uncouple their last
// cars. Measures the cost per member in large and in small groups, and the cost of culling groups
// by their bounds. Both sides of a ratio have the same entities. Sides with and without bounds have
// the same relevant sets.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "common/machine.hpp"
#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "groups/plain_schema.hpp"
#include "groups/scenes.hpp"
#include "interest/engine.hpp"
#include "replication/stage.hpp"
#include "world/world_data.hpp"

namespace purview::bench {

namespace {

constexpr std::uint32_t entities = 12'800, observers = 100;
constexpr float side_m = 1'600, car_m = 5, reach = 100;
/// Smaller than every train and every uncoupled part, so all groups use the same radius.
constexpr float group_radius_m = 60;
/// Cars that change their train per tick; as many uncouple as couple.
constexpr std::uint32_t changed_cars = 32;

struct Line {
    Vec3 center;
    float radius = 0;
    float from_rad = 0;
    float step_m = 0;  ///< per tick

    Vec3 at(float meters) const {
        const float angle = from_rad + meters / radius;
        return {center.x + radius * std::cos(angle), center.y + radius * std::sin(angle), 0};
    }
};

struct Train {
    Line line;
    std::vector<EntityId> cars;  ///< the engine first
    bool is_coupled = true;
};

struct TrainsDef {
    std::uint32_t size = 64;
    bool uses_group_radius = false;
};

/// Cost of the counted ticks, as sums.
struct TrainsCost {
    std::vector<double> tick_ms;
    std::uint64_t bytes = 0, relevant = 0, visited = 0, allocations = 0, ticks = 0;

    TrainsCost& operator+=(const TrainsCost& other) {
        tick_ms.insert(tick_ms.end(), other.tick_ms.begin(), other.tick_ms.end());
        bytes += other.bytes, relevant += other.relevant, visited += other.visited;
        allocations += other.allocations, ticks += other.ticks;
        return *this;
    }
    double of(std::uint64_t sum) const {
        return static_cast<double>(sum) / static_cast<double>(ticks);
    }
    double us_per_relevant() const { return median(tick_ms) * 1000 / of(relevant); }
    double bytes_per_relevant() const {
        return static_cast<double>(bytes) / static_cast<double>(relevant);
    }
};

class Trains {
  public:
    explicit Trains(const TrainsDef& def)
        : def_(def), tail_(std::max(def.size / 4, 1U)), trains_(entities / def.size) {
        StageDef stage;
        stage.server.schema = &schema_.schema;
        stage.server.group_members_max = static_cast<std::uint16_t>(def.size);
        stage.server.budget_bytes_per_tick = 100'000;
        stage.server.entities_max = entities;
        stage.server.rules.max = {side_m, side_m, 0};
        NodeDef node;
        node.name = "near";
        node.steps.resize(1);
        Kernel& near = node.steps[0];
        near.enter = near.leave = def.uses_group_radius ? reach - group_radius_m : reach;
        stage.server.rules.nodes = {node};
        if (def.uses_group_radius) {
            stage.server.rules.group_radius_max = group_radius_m;
            stage.server.rules.kinds.resize(2);
            stage.server.rules.kinds[index_of(schema_.thing)].uses_group_radius = true;
        }
        stage.clients = observers;
        stage.watchers = 1;
        Script script;
        script.populate = [this](World& world) { populate(world); };
        script.joined = [this](Server& server, ObserverId observer, std::uint32_t client) {
            SplitMix random(mix64(client));
            (void)server.visibility().set_area(
                observer, 0,
                Area::at(Vec3{random.between(0, side_m), random.between(0, side_m), 0}));
        };
        script.simulate = [this](Server& server, Tick) { run(server.world()); };
        script.notify = [this](Server& server, Tick) { couple(server.world()); };
        stage_ = std::make_unique<Stage>(stage, script);
    }
    /// Returns false if the view did not settle.
    bool join() {
        if (!stage_->join()) return false;
        for (int i = 0; i < 40; ++i) (void)stage_->step();
        return true;
    }
    void measure(std::uint32_t ticks) {
        const WorldData& world = internal(stage_->server().world());
        for (std::uint32_t i = 0; i < ticks; ++i) {
            const std::uint64_t before = world.relation_work.visited;
            const TickCost tick = stage_->step();
            cost.tick_ms.push_back(tick.tick_ms);
            cost.bytes += tick.bytes;
            cost.allocations += tick.allocations;
            cost.visited += world.relation_work.visited - before;
            for (std::uint32_t o = 0; o < observers; ++o)
                cost.relevant +=
                    relevant_count(internal(stage_->server().visibility()), stage_->observer(o));
            ++cost.ticks;
        }
    }

    std::vector<EntityId> seen_by(std::uint32_t client) {
        std::vector<EntityId> seen;
        stage_->server().visibility().relevant(stage_->observer(client), seen);
        std::sort(seen.begin(), seen.end());
        return seen;
    }

    TrainsCost cost;

  private:
    /// The last quarter is coupled through its first car, which is attached to the engine. All
    /// earlier cars are attached to the engine directly.
    void populate(World& world) {
        SplitMix random(11);
        for (Train& train : trains_) {
            const float radius = random.between(60, 150);
            train.line = {{random.between(radius, side_m - radius),
                           random.between(radius, side_m - radius), 0},
                          radius,
                          random.between(0, 6),
                          random.between(0.3F, 0.8F)};
            for (std::uint32_t c = 0; c < def_.size; ++c) {
                const Vec3 at = train.line.at(-car_m * static_cast<float>(c));
                const std::uint32_t first = def_.size - tail_;
                train.cars.push_back(
                    world.spawn({.kind = c == 0 || c == first ? schema_.thing : schema_.passenger,
                                 .position = at}));
                if (c > 0) (void)world.attach(train.cars[c], train.cars[c > first ? first : 0]);
            }
        }
    }
    void run(World& world) {
        ++runs_;
        for (const Train& train : trains_) {
            const float gone = train.line.step_m * static_cast<float>(runs_);
            for (std::uint32_t c = 0; c < def_.size; ++c)
                (void)world.move(train.cars[c],
                                 train.line.at(gone - car_m * static_cast<float>(c)));
        }
    }
    /// Uncouples the trains in turn. Couples those again that were uncoupled in the previous tick.
    void couple(World& world) {
        const auto turn = [&](Train& train) {
            const EntityId first = train.cars[def_.size - tail_];
            (void)(train.is_coupled ? world.detach(first) : world.attach(first, train.cars[0]));
            train.is_coupled = !train.is_coupled;
        };
        for (Train* train : uncoupled_) turn(*train);
        uncoupled_.clear();
        for (std::uint32_t cars = 0; cars < changed_cars; cars += tail_) {
            Train& train = trains_[next_++ % trains_.size()];
            turn(train);
            uncoupled_.push_back(&train);
        }
    }

    TrainsDef def_;
    std::uint32_t tail_;  ///< number of cars that uncouple
    PlainSchema schema_{false};
    std::vector<Train> trains_;
    std::vector<Train*> uncoupled_;
    std::size_t next_ = 0;
    std::uint32_t runs_ = 0;
    std::unique_ptr<Stage> stage_;
};

/// Counts pairs of observer and entity that only one side has. Entity ids are equal on both sides.
std::size_t count_different(Trains& a, Trains& b) {
    std::vector<EntityId> only_one;
    for (std::uint32_t o = 0; o < observers; ++o) {
        const std::vector<EntityId> of_a = a.seen_by(o), of_b = b.seen_by(o);
        std::set_symmetric_difference(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                                      std::back_inserter(only_one));
    }
    return only_one.size();
}

void report_row(GroupsReport& report, const char* row, const TrainsCost& cost) {
    report.add("trains", row,
               {{"tick_ms", median(cost.tick_ms)},
                {"bytes_per_observer", cost.of(cost.bytes) / observers},
                {"relevant_per_observer", cost.of(cost.relevant) / observers},
                {"us_per_relevant", cost.us_per_relevant()},
                {"visited_per_tick", cost.of(cost.visited)},
                {"allocations_per_tick", cost.of(cost.allocations)}});
}

}  // namespace

void scene_trains(GroupsReport& report, const GroupsOptions& options) {
    const int rounds = options.quick ? 3 : 11;
    const std::uint32_t ticks = options.quick ? 20 : 40;
    constexpr const char* names[] = {"200 trains of 64", "3,200 trains of 4",
                                     "200 trains of 64, by bounds"};
    Trains large({64, false}), small({4, false}), bounded({64, true});
    const std::array<Trains*, 3> all{&large, &small, &bounded};
    for (Trains* one : all) {
        if (one->join()) continue;
        report.could_not_run("trains: joined", "the view did not settle");
        return;
    }
    // Alternates the sides, so that both run under the same conditions.
    std::vector<double> by_size, uses_group_radius;
    std::size_t different = 0;
    for (int round = 0; round < rounds; ++round) {
        std::array<double, 3> us{};
        for (std::size_t i = 0; i < all.size(); ++i) {
            const TrainsCost before = std::exchange(all[i]->cost, {});
            all[i]->measure(ticks);
            us[i] = all[i]->cost.us_per_relevant();
            all[i]->cost += before;
        }
        by_size.push_back(us[0] / us[1]);
        uses_group_radius.push_back(us[2] / us[0]);
        different += count_different(large, bounded);
    }
    for (std::size_t i = 0; i < all.size(); ++i) report_row(report, names[i], all[i]->cost);
    report.at_most("trains: time for a relevant member, trains of 64 over trains of 4",
                   median(by_size), 1.5, 1);
    report.count_at_most("trains: bytes for a relevant member, trains of 64 over trains of 4",
                         large.cost.bytes_per_relevant() / small.cost.bytes_per_relevant(), 1.1, 1);
    report.aim_at_most("trains: time by bounds over a radius with the same result",
                       median(uses_group_radius), 1.25);
    report.count_at_most("trains: members relevant on one side only",
                         static_cast<double>(different), 0, 0);
}

}  // namespace purview::bench
