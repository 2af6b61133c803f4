// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/internal_access.hpp"
#include "exact.hpp"
#include "interest/engine.hpp"
#include "our_world.hpp"
#include "scenes.hpp"

namespace purview::bench {

namespace {

/// Counts pairs of the first observers where the manager differs from brute force.
std::size_t wrong_pairs(const InterestManager& manager, std::span<const ObserverId> observers,
                        std::span<const Vec3> positions, float radius) {
    std::size_t wrong = 0;
    std::vector<EntityId> relevant;
    for (std::uint32_t o = 0; o < std::min<std::size_t>(20, observers.size()); ++o) {
        relevant.clear();
        manager.relevant(observers[o], relevant);
        std::vector<bool> is_in(positions.size());
        for (const EntityId e : relevant) is_in[index_of(e)] = true;
        for (std::size_t e = 0; e < positions.size(); ++e) {
            const bool right = squared_distance(positions[o], positions[e]) <= radius * radius;
            wrong += is_in[e] != right ? 1 : 0;
        }
    }
    return wrong;
}

/// Tested blocks plus events, per tick.
class WorkMeter {
  public:
    explicit WorkMeter(InterestManager& manager) : manager_(&manager) {
        internal(manager).windows.set_count_tested(true);
    }
    /// Work of the tick that just ended.
    double read() {
        const std::uint64_t all = internal(*manager_).counters().blocks_tested;
        const std::uint64_t blocks = all - before_;
        before_ = all;
        return static_cast<double>(blocks) + static_cast<double>(manager_->events().size());
    }

  private:
    InterestManager* manager_;
    std::uint64_t before_ = 0;
};

// -- cadence --------------------------------------------------------------------------------------

Rules near_and_uncloaked(Rules def, std::uint32_t every_ticks) {
    def.flag_names.resize(1);
    NodeDef& node = def.nodes[0];
    node.subtract(id_at<FlagId>(0));
    node.every_ticks = every_ticks;
    return def;
}

/// Starts and ends all kinds of hiding.
void hide_and_show(InterestManager& manager, std::span<const ObserverId> observers,
                   std::uint32_t entities, std::uint32_t tick) {
    const auto entity = [entities](std::uint64_t h) {
        return entity_of(static_cast<std::uint32_t>(h % entities));
    };
    for (std::uint64_t i = 0; i < 500; ++i) {
        const std::uint64_t h = mix((std::uint64_t{tick} << 32) + i);
        (void)manager.set_flag(entity(h), id_at<FlagId>(0), (h >> 40) % 20 == 0);
    }
    for (std::uint64_t i = 500; i < 520; ++i) {
        const std::uint64_t h = mix((std::uint64_t{tick} << 32) + i);
        const ObserverId observer = observers[(h >> 20) % observers.size()];
        (void)manager.set_hidden(entity(h), (h >> 40) % 2 == 0);
        (void)manager.deny(observer, entity(mix(h)), (h >> 41) % 2 == 0);
    }
}

struct Delay {
    std::uint32_t enter_ticks = 0;  ///< latest delay of an enter
    std::size_t not_gone = 0;       ///< pairs that an exact engine had already removed or hidden
};

/// Runs W1 with `every_ticks` and an exact engine on the same input.
Delay delay_of(std::uint32_t every_ticks, std::uint32_t ticks) {
    Workload workload(scene_named("W1"));
    const std::uint32_t entities = workload.scene().entities, n = workload.scene().observers;
    const Rules near = near_rule(workload);
    InterestManager exact = fill(near_and_uncloaked(near, 1), workload);
    InterestManager late = fill(near_and_uncloaked(near, every_ticks), workload);
    const auto observers = add_observers(exact, n);
    const auto late_observers = add_observers(late, n);
    const std::size_t pairs = std::size_t{entities} * n;
    std::vector<std::uint32_t> since(pairs), seen(pairs), had(pairs);  // ticks
    std::vector<EntityId> now, of_late;
    Delay delay;
    for (std::uint32_t tick = 2; tick < 2 + ticks; ++tick) {
        const auto moves = workload.step(tick);
        hide_and_show(exact, observers, entities, tick);
        hide_and_show(late, late_observers, entities, tick);
        internal(exact).positions.move(moves);
        internal(late).positions.move(moves);
        exact.tick();
        late.tick();
        for (std::uint32_t o = 0; o < n; ++o) {
            now.clear();
            of_late.clear();
            exact.relevant(observers[o], now);
            late.relevant(late_observers[o], of_late);
            const std::size_t row = std::size_t{o} * entities;
            for (const EntityId e : now) {
                const std::size_t pair = row + index_of(e);
                if (seen[pair] != tick - 1) since[pair] = tick;
                seen[pair] = tick;
            }
            for (const EntityId e : of_late) {
                const std::size_t pair = row + index_of(e);
                had[pair] = tick;
                delay.not_gone += seen[pair] != tick ? 1 : 0;
            }
            for (const EntityId e : now) {
                const std::size_t pair = row + index_of(e);
                if (had[pair] == tick) continue;
                delay.enter_ticks = std::max(delay.enter_ticks, tick + 1 - since[pair]);
            }
        }
    }
    return delay;
}

void cadence(Report& report, const Options& options) {
    Plan plan = plan_of("W2", options, 30);
    plan.name = "cadence";
    plan.warm_up = 32;  // until every observer was evaluated
    for (const std::uint32_t every : {1U, 10U, 30U}) {
        OurRules rules;
        rules.edit = [every](Rules& def) { def = near_and_uncloaked(def, every); };
        plan.entries.push_back(ours(std::to_string(every), rules, every == 1));
    }
    run_plan(report, plan);
    const auto mean = [&](const char* every) { return report.find("cadence", every)->ms_mean; };
    report.at_most("cadence 10/1 on W2, mean", mean("10") / mean("1"), 1, 0.8);
    report.at_most("cadence 30/1 on W2, mean", mean("30") / mean("1"), 1, 0.75);
    report.at_most("cadence 30/10 on W2, mean", mean("30") / mean("10"), 1, 1);
    for (const std::uint32_t every : {10U, 30U}) {
        const Delay delay = delay_of(every, options.quick ? 2 * every : 4 * every);
        const std::string name = "cadence " + std::to_string(every);
        report.count_at_most(name + ", enters late by, ticks", delay.enter_ticks, every - 1,
                             every - 1);
        report.count_at_most(name + ", delayed hides", static_cast<double>(delay.not_gone), 0, 0);
    }
}

// -- join -----------------------------------------------------------------------------------------

/// An idle world that observers join and leave.
class JoinWorld {
  public:
    explicit JoinWorld(std::uint32_t entities)
        : workload_(scene_of(entities)), manager_(fill(near_rule(workload_), workload_)) {}
    double come_and_go() {
        const Stopwatch coming;
        const auto observers = add_observers(manager_, workload_.scene().observers);
        manager_.tick();
        const double came = coming.ms();
        wrong_ += wrong_pairs(manager_, observers, workload_.positions(),
                              static_cast<float>(workload_.scene().radius));
        relevant_ = 0;
        for (const ObserverId o : observers) relevant_ += relevant_count(internal(manager_), o);
        wrong_ += manager_.events().size() != relevant_ ? 1 : 0;
        const Stopwatch going;
        for (const ObserverId o : observers) (void)manager_.remove_observer(o);
        manager_.tick();
        const double went = going.ms();
        wrong_ += manager_.events().size() != relevant_ ? 1 : 0;
        return came + went;
    }
    std::size_t wrong() const { return wrong_; }
    double relevant_mean() const {
        return static_cast<double>(relevant_) / workload_.scene().observers;
    }

  private:
    static Scene scene_of(std::uint32_t entities) {
        Scene scene = scene_named("W2");
        scene.entities = entities;
        scene.observers = 1'000;
        return scene;
    }
    Workload workload_;
    InterestManager manager_;
    std::size_t wrong_ = 0, relevant_ = 0;
};

void join(Report& report, const Options& options) {
    JoinWorld small(50'000), large(1'000'000);
    std::vector<double> small_ms, large_ms, ratios;
    for (std::uint32_t round = 0; round < 1 + ticks_of(options, 12); ++round) {
        const double a = small.come_and_go(), b = large.come_and_go();
        if (round == 0) continue;
        small_ms.push_back(a);
        large_ms.push_back(b);
        ratios.push_back(b / a);
    }
    Row rows[] = {row_of("join", "50 k", small_ms), row_of("join", "1 M", large_ms)};
    rows[0].relevant_mean = small.relevant_mean();
    rows[1].relevant_mean = large.relevant_mean();
    add_rows(report, {rows[0], rows[1]});
    report.at_most("join 1 M/50 k", median(ratios), 1.5, 1.2);
    report.count_at_most("join wrong answers", static_cast<double>(small.wrong() + large.wrong()),
                         0, 0);
}

// -- slider ---------------------------------------------------------------------------------------

/// W2 with a range that shrinks from 1,600 to 400 and grows back, one step per tick.
void slider(Report& report, const Options&) {
    Workload workload(scene_named("W2"));
    const Rules def = near_rule(workload);
    InterestManager manager = fill(def, workload);
    const auto observers = add_observers(manager, workload.scene().observers);
    WorkMeter meter(manager);
    std::uint32_t tick = 0;
    std::vector<double> ms;
    const auto step = [&](float radius) {
        const auto moves = workload.step(++tick);
        const Stopwatch watch;
        Rules rules = manager.rules();
        Kernel& near = rules.nodes[0].steps[0];
        if (near.enter != radius) {
            near.enter = near.leave = radius;
            if (!manager.set_rules(rules).empty()) std::abort();
        }
        internal(manager).positions.move(moves);
        manager.tick();
        ms.push_back(watch.ms());
        return meter.read();
    };
    const auto end = static_cast<float>(workload.scene().radius);
    constexpr std::uint32_t steps = 40;  // a fixed number, because work is counted
    const float first = end / 4, stride = (end - first) / float{steps};
    for (std::uint32_t i = 0; i < 4; ++i) (void)step(end);
    ms.clear();
    double down = 0, up = 0;
    std::size_t wrong = 0;
    const auto check = [&](std::uint32_t i, float radius) {
        if (i % 4 == 0) wrong += wrong_pairs(manager, observers, workload.positions(), radius);
    };
    for (std::uint32_t i = 1; i <= steps; ++i) {
        const float radius = end - stride * static_cast<float>(i);
        down = std::max(down, step(radius));
        check(i, radius);
    }
    for (std::uint32_t i = 1; i <= steps; ++i) {
        const float radius = i == steps ? end : first + stride * static_cast<float>(i);
        up = std::max(up, step(radius));
        check(i, radius);
    }
    Row sweep = row_of("slider", "sweep", ms);
    ms.clear();
    std::vector<double> work;
    for (std::uint32_t i = 0; i < 8; ++i) work.push_back(step(end));
    wrong += wrong_pairs(manager, observers, workload.positions(), end);
    add_rows(report, {row_of("slider", "final range", ms), sweep});
    report.count_at_most("slider down, work/final range", down / median(work), 2, 1.5);
    report.count_at_most("slider up, work/final range", up / median(work), 2, 1.5);
    report.count_at_most("slider wrong answers", static_cast<double>(wrong), 0, 0);
}

// -- spike ----------------------------------------------------------------------------------------

void spike(Report& report, const Options& options) {
    for (const char* name : {"W2", "W4"}) {
        Workload workload(scene_named(name));
        InterestManager manager = fill(near_rule(workload), workload);
        const auto observers = add_observers(manager, workload.scene().observers);
        WorkMeter meter(manager);
        std::vector<double> work, ms;
        for (std::uint32_t tick = 1; tick <= 8 + ticks_of(options, 120); ++tick) {
            const auto moves = workload.step(tick);
            const Stopwatch watch;
            internal(manager).positions.move(moves);
            manager.tick();
            const double spent = watch.ms(), done = meter.read();
            if (tick <= 8) continue;
            ms.push_back(spent);
            work.push_back(done);
        }
        const std::string scene = std::string("spike ") + name;
        add_rows(report, {row_of(scene, "purview", ms)});
        report.count_at_most(scene + ", most work/median",
                             *std::max_element(work.begin(), work.end()) / median(work), 2, 1.2);
        report.count_at_most(
            scene + " wrong answers",
            static_cast<double>(wrong_pairs(manager, observers, workload.positions(),
                                            static_cast<float>(workload.scene().radius))),
            0, 0);
    }
}

// -- answers --------------------------------------------------------------------------------------

/// Reverse queries: observers of an entity, and observers with nodes that cover a position; one at
/// a time and 100 at once.
void answers(Report& report, const Options&) {
    for (const std::uint32_t count : {2'000U, 10'000U}) {
        Workload workload(scene_named("W2"));
        InterestManager manager = fill(near_rule(workload), workload);
        const auto observers = add_observers(manager, count);
        manager.tick();
        constexpr std::uint32_t rounds = 40, at_once = 100;
        const auto positions = std::span(workload.positions());
        const auto radius = static_cast<float>(workload.scene().radius);
        const auto near = [&](Vec3 position) {
            std::vector<ObserverId> right;
            for (std::uint32_t o = 0; o < count; ++o) {
                if (squared_distance(positions[o], position) <= radius * radius)
                    right.push_back(observers[o]);
            }
            return right;
        };
        std::vector<double> client, alone, together;
        std::vector<ObserverId> one;
        std::vector<Covering> many;
        std::vector<std::vector<ObserverId>> seers(rounds);
        std::vector<std::vector<Covering>> covering(rounds);
        std::size_t wrong = 0, different = 0;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            const std::size_t first = count + std::size_t{round} * at_once;
            one.clear();
            const Stopwatch of_entity;
            manager.observers_of(make_entity_id(static_cast<std::uint32_t>(first), 1), one);
            client.push_back(of_entity.ms());
            seers[round] = one;
            many.clear();
            const Stopwatch of_positions;
            internal(manager).answers.observers_covering(positions.subspan(first, at_once), many);
            together.push_back(of_positions.ms());
            std::vector<Covering>& singly = covering[round];
            for (std::uint32_t i = 0; i < at_once; ++i) {
                one.clear();
                const Stopwatch of_position;
                manager.observers_covering(positions[first + i], one);
                alone.push_back(of_position.ms());
                for (const ObserverId observer : one) singly.push_back({i, observer});
            }
            different += singly == many ? 0 : 1;
        }
        // Checks the results after the timed part.
        for (std::uint32_t round = 0; round < rounds; ++round) {
            const std::size_t first = count + std::size_t{round} * at_once;
            std::vector<Covering> right;
            for (std::uint32_t i = 0; i < at_once; ++i) {
                for (const ObserverId observer : near(positions[first + i]))
                    right.push_back({i, observer});
            }
            wrong += covering[round] == right ? 0 : 1;
            wrong += seers[round] == near(positions[first]) ? 0 : 1;
        }
        const std::string scene = "answers " + std::to_string(count);
        add_rows(report,
                 {row_of(scene, "observers of one", client), row_of(scene, "a position", alone),
                  row_of(scene, "100 positions", together)});
        report.aim_at_most(scene + ", 100 positions at once/one by one",
                           median(together) / (at_once * median(alone)), 0.5);
        report.count_at_most(scene + " at once that differ from one by one",
                             static_cast<double>(different), 0, 0);
        report.count_at_most(scene + " wrong answers", static_cast<double>(wrong), 0, 0);
    }
}

}  // namespace

NamedScenes scenes_of_work() {
    return {{"cadence", cadence},
            {"join", join},
            {"slider", slider},
            {"spike", spike},
            {"answers", answers}};
}

}  // namespace purview::bench
