// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "core/internal_access.hpp"
#include "exact.hpp"
#include "interest/engine.hpp"
#include "our_world.hpp"
#include "purview/extend/kernel.hpp"
#include "scenes.hpp"

namespace purview::bench {

namespace {

float squared(float v) {
    return v * v;
}

// -- composed: (near or same team) and not cloaked; margin: the leave radius is a tenth larger
// --------

/// Observers are in teams; one entity in 20 is cloaked.
Key first_team(std::uint32_t observer) {
    return Key{static_cast<std::uint16_t>(1 + observer % 20)};
}
bool is_first_cloaked(std::uint32_t entity) {
    return mix(entity * 31) % 20 == 0;
}

/// Cloaks or uncloaks one entity in 1000: cloak(entity, is_set). Changes the team of ten observers:
/// join(entity, team).
template <class Cloak, class Join>
void change_facts(const Scene& scene, std::uint32_t tick, Cloak&& cloak, Join&& join) {
    for (std::uint64_t i = 0; i < scene.entities / 1000; ++i) {
        const std::uint64_t h = mix((std::uint64_t{tick} << 32) + i);
        cloak(static_cast<std::uint32_t>(h % scene.entities), (h >> 40) % 20 == 0);
    }
    for (std::uint64_t i = 0; i < 10; ++i) {
        const std::uint64_t h = mix((std::uint64_t{tick} << 32) + (1U << 30) + i);
        join(static_cast<std::uint32_t>(h % scene.observers),
             Key{static_cast<std::uint16_t>(1 + (h >> 40) % 20)});
    }
}

OurRules teams_and_cloaks(const Scene& scene) {
    OurRules rules;
    rules.edit = [](Rules& def) {
        def.key_names.resize(1);
        def.flag_names.resize(1);
        def.nodes[0].add(same(id_at<KeyId>(0))).subtract(id_at<FlagId>(0));
    };
    rules.dress = [scene, team = Key::none](EntityDef& entity, std::uint32_t i) mutable {
        team = i < scene.observers ? first_team(i) : Key::none;
        entity.keys = std::span(&team, 1);
        entity.flags = FlagSet(is_first_cloaked(i) ? 1 : 0);
    };
    rules.change = [scene](InterestManager& manager, OurRules::Observers, std::uint32_t tick) {
        change_facts(
            scene, tick,
            [&](std::uint32_t e, bool is_set) {
                (void)manager.set_flag(entity_of(e), id_at<FlagId>(0), is_set);
            },
            [&](std::uint32_t e, Key team) {
                (void)manager.set_key(entity_of(e), id_at<KeyId>(0), team);
            });
    };
    return rules;
}

/// The same state, for brute force.
struct Facts {
    explicit Facts(const Scene& its) : scene(its) {
        for (std::uint32_t o = 0; o < scene.observers; ++o) teams.push_back(first_team(o));
        for (std::uint32_t e = 0; e < scene.entities; ++e)
            is_cloaked.push_back(is_first_cloaked(e));
    }
    void change(std::uint32_t tick) {
        change_facts(
            scene, tick, [&](std::uint32_t e, bool is_set) { is_cloaked[e] = is_set; },
            [&](std::uint32_t e, Key team) { teams[e] = team; });
    }
    bool are_mates(std::uint32_t observer, std::uint32_t entity) const {
        return entity < scene.observers && teams[entity] == teams[observer];
    }

    Scene scene;
    std::vector<Key> teams;
    std::vector<bool> is_cloaked;
};

std::unique_ptr<Engine> brute_of_facts(const Scene& scene) {
    const auto facts = std::make_shared<Facts>(scene);
    const float reach = squared(static_cast<float>(scene.radius));
    return make_brute(
        [facts, reach](std::uint32_t o, Vec3 from, std::uint32_t e, Vec3 at) {
            return (squared_distance(from, at) <= reach || facts->are_mates(o, e)) &&
                   !facts->is_cloaked[e];
        },
        [facts](std::uint32_t tick) { facts->change(tick); });
}

/// Relevant entities stay relevant up to the leave radius.
std::unique_ptr<Engine> brute_with_margin(const Scene& scene, std::uint32_t observers) {
    const auto radius = static_cast<float>(scene.radius);
    return make_brute([reach = squared(radius), leave = squared(radius * 1.1F),
                       entities = std::size_t{scene.entities},
                       was_in = std::vector<bool>(std::size_t{scene.entities} * observers)](
                          std::uint32_t o, Vec3 from, std::uint32_t e, Vec3 at) mutable {
        const std::size_t pair = o * entities + e;
        const bool is_in = squared_distance(from, at) <= (was_in[pair] ? leave : reach);
        was_in[pair] = is_in;
        return is_in;
    });
}

void composed(Report& report, const Options& options) {
    constexpr std::uint32_t sample = 20;
    Plan bare = plan_of("W2", options, 12);
    const Scene scene = bare.scene;
    bare.name = "composed: bare";
    bare.entries = {ours("purview", {})};
    Plan whole = bare;
    whole.name = "composed";
    whole.entries = {ours("composed", teams_and_cloaks(scene)),
                     {"brute", [scene] { return brute_of_facts(scene); }, sample, true}};
    OurRules rules;
    rules.edit = [](Rules& def) {
        Kernel& near = def.nodes[0].steps[0];
        near.leave = near.enter * 1.1F;
    };
    Plan margin = bare;
    margin.name = "margin";
    margin.entries = {
        ours("margin", rules),
        {"brute", [scene] { return brute_with_margin(scene, sample); }, sample, true}};
    for (const auto& rows : run_together({bare, whole, margin})) add_rows(report, rows);
}

// -- 3D: as many relevant entities in the sphere as in the disc -----------------------------------

void three_d(Report& report, const Options& options) {
    Plan flat = plan_of("W2", options, 12);
    flat.name = "2D";
    flat.entries = {ours("purview", {})};
    Plan deep = flat;
    deep.name = "3D";
    deep.scene.three_d = true;
    const float reach = squared(static_cast<float>(deep.scene.radius));
    const auto evaluate = [reach](std::uint32_t, Vec3 from, std::uint32_t, Vec3 at) {
        return squared_distance(from, at) <= reach;
    };
    deep.entries.push_back({"brute", [evaluate] { return make_brute(evaluate); }, 20, true});
    for (const auto& rows : run_together({flat, deep})) add_rows(report, rows);
}

// -- radii: entities visible from 25, 100 and 400 m -----------------------------------------------

/// In units of the workload, 10 per meter. A single radius of 632 gives as many relevant entities.
constexpr float radii_of_kinds[] = {250, 1000, 4000};

std::uint32_t kind_of(std::uint32_t entity) {
    const std::uint64_t percent = mix(entity + 0x52414449ULL) % 100;
    return percent < 80 ? 0 : percent < 99 ? 1 : 2;
}

void radii(Report& report, const Options& options) {
    Plan plan = plan_of("W2", options, 12);
    plan.name = "radii";
    plan.scene.radius = 632;
    plan.scene.step = 6;
    OurRules rules;
    rules.edit = [](Rules& def) {
        Kernel& near = def.nodes[0].steps[0];
        near.range = RangeFrom::entity;
        near.enter = near.leave = radii_of_kinds[0];
        for (const float radius : radii_of_kinds) {
            def.range_classes.push_back(radius);
            KindRules kind;
            kind.range = radius;
            def.kinds.push_back(kind);
        }
    };
    rules.dress = [](EntityDef& entity, std::uint32_t i) {
        entity.kind = id_at<KindId>(kind_of(i));
    };
    const auto evaluate = [](std::uint32_t, Vec3 from, std::uint32_t e, Vec3 at) {
        return squared_distance(from, at) <= squared(radii_of_kinds[kind_of(e)]);
    };
    // Results with three kinds are compared with each other, not with those of one radius.
    Plan one = plan;
    one.name = "radius";
    one.entries = {ours("purview", {})};
    plan.entries = {ours("radii", rules),
                    {"brute", [evaluate] { return make_brute(evaluate); }, 20, true}};
    for (const auto& rows : run_together({one, plan})) add_rows(report, rows);
}

// -- score ----------------------------------------------------------------------------------------

/// Counts wrong scores. The right score is 1 - d / (2 x leave radius), and 0 for entities that are
/// not relevant. Uses W1 with ten observers. Checks scores of all entities on request, and the
/// changed scores of the tick.
std::size_t wrong_scores() {
    Workload workload(scene_named("W1"));
    Rules def = near_rule(workload);
    def.measure_scores = true;
    InterestManager manager = fill(def, workload);
    const auto observers = add_observers(manager, 10);
    for (std::uint32_t i = 0; i < workload.scene().entities; ++i)
        (void)manager.move(entity_of(i), workload.positions()[i]);
    manager.tick();
    std::vector<EntityId> all;
    for (std::uint32_t i = 0; i < workload.scene().entities; ++i) all.push_back(entity_of(i));
    std::vector<float> scores(all.size());
    std::size_t wrong = 0;
    const auto radius = static_cast<double>(workload.scene().radius);
    for (std::uint32_t o = 0; o < observers.size(); ++o) {
        manager.scores(observers[o], all, scores);
        for (std::uint32_t e = 0; e < all.size(); ++e) {
            const double d =
                std::sqrt(squared_distance(workload.positions()[o], workload.positions()[e]));
            const double right = d <= radius ? 1 - d / (2 * radius) : 0;
            wrong += std::abs(scores[e] - right) > 1e-4 ? 1 : 0;
        }
        const Scores changed = manager.changed_scores(observers[o]);
        for (std::size_t i = 0; i < changed.entities.size(); ++i)
            wrong += changed.score[i] != scores[changed.entities[i]] ? 1 : 0;
        wrong += changed.entities.size() != relevant_count(internal(manager), observers[o]) ? 1 : 0;
    }
    return wrong;
}

void score(Report& report, const Options& options) {
    // The configurations differ by a sixth only, so this needs more rounds than a difference by a
    // factor of ten.
    Plan plan = plan_of("W2", options, 20);
    plan.name = "score";
    plan.rounds *= 3;
    plan.entries = {ours("purview", {}), ours("score", {.measure_scores = true}),
                    ours("score, read", {.measure_scores = true, .read_changed = true}),
                    ours("score on demand", {.score = true})};
    run_plan(report, plan);
    report.count_at_most("score wrong answers", static_cast<double>(wrong_scores()), 0, 0);
}

// -- cone -----------------------------------------------------------------------------------------

constexpr float half_angle_degrees = 45;

/// View direction of an observer in a tick; it turns by `turn_deg` per tick.
Vec3 direction_of(std::uint32_t observer, std::uint32_t tick, float turn_deg) {
    const float degrees =
        static_cast<float>(observer * 37 % 360) + turn_deg * static_cast<float>(tick);
    const float angle = degrees * 0.017453292F;
    return {std::cos(angle), std::sin(angle), 0};
}

OurRules cones(float radius, float turn_deg) {
    OurRules rules;
    rules.edit = [](Rules& def) { def.nodes[0].steps[0] = in_area(); };
    const auto aim = [radius, turn_deg](InterestManager& manager, OurRules::Observers observers,
                                        std::uint32_t tick) {
        for (std::uint32_t o = 0; o < observers.size(); ++o) {
            const Area cone =
                Area::cone({}, direction_of(o, tick, turn_deg), half_angle_degrees, radius);
            if (manager.set_area(observers[o], 0, cone.following(entity_of(o))) != Status::ok)
                std::abort();
        }
    };
    rules.set_up = [aim](InterestManager& manager, OurRules::Observers observers) {
        aim(manager, observers, 0);
    };
    if (turn_deg > 0) rules.change = aim;
    return rules;
}

bool is_in_cone(Vec3 tip, Vec3 direction, float radius, Vec3 at) {
    const float length = std::sqrt(squared_distance(direction, {}));
    const Vec3 axis{direction.x / length, direction.y / length, 0};
    const float angle = half_angle_degrees * (3.14159265358979F / 180.0F);
    const float dx = at.x - tip.x, dy = at.y - tip.y;
    const float along = dx * axis.x + dy * axis.y;
    const float q = dx * dx + dy * dy;
    const float aside = std::sqrt(std::max(q - along * along, 0.0F));
    return q <= radius * radius && aside * std::cos(angle) - along * std::sin(angle) <= 0;
}

std::unique_ptr<Engine> brute_of_cones(float radius, float turn_deg) {
    const auto now = std::make_shared<std::uint32_t>(0);
    return make_brute(
        [radius, turn_deg, now](std::uint32_t o, Vec3 from, std::uint32_t, Vec3 at) {
            return squared_distance(from, at) <= squared(radius) &&
                   is_in_cone(from, direction_of(o, *now, turn_deg), radius, at);
        },
        [now](std::uint32_t tick) { *now = tick; });
}

void cone(Report& report, const Options& options) {
    Plan distance = plan_of("W1", options, 60);
    distance.name = "cone: distance";
    distance.entries = {ours("purview", {})};
    const auto radius = static_cast<float>(distance.scene.radius);
    Plan fixed = distance;
    fixed.name = "cone";
    const auto entries = [radius](const char* name, float turn_deg) -> std::vector<Entry> {
        return {ours(name, cones(radius, turn_deg)),
                {"brute", [=] { return brute_of_cones(radius, turn_deg); }, 20, true}};
    };
    fixed.entries = entries("cone", 0);
    Plan turning = distance;
    turning.name = "cone turning";
    turning.entries = entries("cone turning", 2);
    for (const auto& rows : run_together({distance, fixed, turning})) add_rows(report, rows);
}

// -- line of sight --------------------------------------------------------------------------------

/// No obstacles.
struct ClearSight final : RayTest {
    void test(ObserverId, std::span<const Ray> queries,
              std::span<std::uint8_t> visible) const noexcept override {
        for (std::size_t i = 0; i < queries.size(); ++i) visible[i] = 1;
    }
};

/// A third of all lines are blocked.
bool is_clear(Vec3 from, Vec3 to) {
    const auto word = [](Vec3 v) {
        return (static_cast<std::uint64_t>(v.x) << 32) ^ static_cast<std::uint64_t>(v.y);
    };
    return mix(word(from) + mix(word(to))) % 3 != 0;
}

struct PatchySight final : RayTest {
    void test(ObserverId, std::span<const Ray> queries,
              std::span<std::uint8_t> visible) const noexcept override {
        for (std::size_t i = 0; i < queries.size(); ++i)
            visible[i] = is_clear(queries[i].from, queries[i].to) ? 1 : 0;
    }
};

OurRules sights(std::shared_ptr<const RayTest> test, std::uint32_t tests_per_tick) {
    OurRules rules;
    rules.edit = [test, tests_per_tick](Rules& def) {
        Kernel step = in_sight(test);
        if (tests_per_tick > 0) step.ray_entities_per_tick = tests_per_tick;
        def.nodes[0].require(step);
    };
    return rules;
}

void los(Report& report, const Options& options) {
    const auto clear = std::make_shared<ClearSight>();
    constexpr std::uint32_t all_observers = 100'000;
    Plan plan = plan_of("W1", options, 60);
    plan.name = "los";
    plan.warm_up = 12;  // until every observer was evaluated
    plan.entries = {ours("purview", {}), ours("los", sights(clear, 0), false),
                    ours("los, all tested", sights(clear, all_observers))};
    const auto radius = static_cast<float>(plan.scene.radius);
    const auto evaluate = [radius](std::uint32_t, Vec3 from, std::uint32_t, Vec3 at) {
        return squared_distance(from, at) <= squared(radius) && is_clear(from, at);
    };
    Plan patchy = plan;
    patchy.name = "los patchy";
    patchy.entries = {ours("los", sights(std::make_shared<PatchySight>(), all_observers)),
                      {"brute", [evaluate] { return make_brute(evaluate); }, 20, true}};
    for (const auto& rows : run_together({plan, patchy})) add_rows(report, rows);
}

}  // namespace

NamedScenes scenes_of_rules() {
    return {{"composed", composed}, {"3D", three_d}, {"radii", radii},
            {"score", score},       {"cone", cone},  {"los", los}};
}

void figures_of_rules(Report& report) {
    if (const Row* composed = report.find("composed", "composed")) {
        const Row* bare = report.find("composed: bare", "purview");
        report.at_most("composed/bare on W2", ratio(*composed, *bare), 2.5, 1.7);
        std::printf("composed: %.0f ns per event, bare %.0f\n",
                    composed->ms_p50 * 1e6 / composed->events_per_tick,
                    bare->ms_p50 * 1e6 / bare->events_per_tick);
    }
    if (const Row* deep = report.find("3D", "purview")) {
        report.at_most("3D on W2/2D", ratio(*deep, *report.find("2D", "purview")), 2.5, 2);
    }
    if (const Row* three = report.find("radii", "radii")) {
        report.at_most("radii/one radius", ratio(*three, *report.find("radius", "purview")), 2.5,
                       2);
    }
    if (const Row* with = report.find("score", "score")) {
        report.at_most("score/without on W2", ratio(*with, *report.find("score", "purview")), 1.2,
                       1.1);
    }
    if (const Row* cone = report.find("cone", "cone")) {
        const Row* distance = report.find("cone: distance", "purview");
        report.at_most("cone/distance on W1", ratio(*cone, *distance), 2, 1.5);
        std::printf("cone: turning by 2 degrees per tick takes %.2f times the distance\n",
                    ratio(*report.find("cone turning", "cone turning"), *distance));
    }
    if (const Row* los = report.find("los", "los")) {
        const Row* distance = report.find("los", "purview");
        report.at_most("los/distance on W1", ratio(*los, *distance), 2, 1.5);
        std::printf("los: all tested in every tick takes %.2f times the distance\n",
                    ratio(*report.find("los", "los, all tested"), *distance));
    }
}

}  // namespace purview::bench
