// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A check that cannot fail proves nothing: each check of the random worlds gets deliberately wrong
// data, alone and inside a whole world, and must fail.
#include <doctest/doctest.h>

#include "core/observer_ids.hpp"
#include "oracle_run.hpp"

namespace purview::test::oracle_control {

namespace {

EntityId id(std::uint32_t index) {
    return make_entity_id(index, 1);
}

const ObserverId some_observer = make_observer_id(0, 1);
const ObserverId another_observer = make_observer_id(1, 1);

check::Verdict verdict(EntityId entity, check::TruthStage stage, bool relevant, float score) {
    check::Verdict verdict;
    verdict.entity = entity;
    verdict.stage = stage;
    verdict.relevant = relevant;
    verdict.score = score;
    return verdict;
}

/// One distance with a margin, and many entities that move around a few observers.
RandomWorldDef plain_world(Features features) {
    RandomWorldDef def;
    def.seed = 4711;
    def.space.features = features;
    def.space.twins.flags = 2;
    def.space.twins.keys = 2;
    def.space.twins.side_m = 120;
    def.space.twins.choice = std::make_shared<PairChoice>();
    def.measures_changed = features.has(Feature::changed);
    def.rules.max = {120, 120, 0};
    Kernel near;
    near.enter = 30;
    near.leave = 45;
    NodeDef node;
    node.name = "near";
    node.steps = {near};
    def.rules.nodes = {node};
    def.entities = 120;
    def.observers = 5;
    def.step_m = 8;
    return def;
}

/// Returns the checks that failed in the first world in which the fault was possible.
std::set<std::string> complaints(InjectedFault injected_fault, Features features) {
    RandomWorldDef def = plain_world(features);
    def.injected_fault = injected_fault;
    for (int worlds = 0; worlds < 10; ++worlds, ++def.seed) {
        RandomWorld world(def);
        for (int tick = 0; tick < 150 && world.complaints.empty(); ++tick) {
            (void)world.step();
            if (injected_fault == InjectedFault::suggestion) (void)world.check_explain(3);
        }
        if (!world.complaints.empty()) return world.complaints;
    }
    return {};
}

struct Control {
    InjectedFault injected_fault;
    const char* check;
    Feature needs = Feature::count;  ///< count: nothing
};

}  // namespace

TEST_CASE("oracle: a world without an injected fault has no findings") {
    RandomWorld world(plain_world(engine_features()));
    for (int tick = 0; tick < 60; ++tick) {
        const std::string wrong = world.step();
        REQUIRE_MESSAGE(wrong.empty(), wrong);
    }
    CHECK(world.complaints.empty());
    CHECK(world.pairs_relevant > 1'000);
}

TEST_CASE("oracle: each injected fault is found by the check for it") {
    const std::initializer_list<Control> controls{
        {InjectedFault::other_rules, "sets"},
        {InjectedFault::lose_entity, "sets"},
        {InjectedFault::add_entity, "sets"},
        {InjectedFault::double_entity, "sets"},
        {InjectedFault::flip_pair, "is_relevant"},
        {InjectedFault::lose_event, "events"},
        {InjectedFault::double_event, "events"},
        {InjectedFault::turn_event, "events"},
        {InjectedFault::explain, "explain"},
        {InjectedFault::suggestion, "suggestion"},
        {InjectedFault::range, "range"},
        {InjectedFault::flicker, "flicker"},
        {InjectedFault::lie_reason, "reasons", Feature::reasons},
        {InjectedFault::count, "counts", Feature::counts},
        {InjectedFault::lose_edge, "counts", Feature::counts},
        {InjectedFault::score, "scores", Feature::score},
        {InjectedFault::changed, "changed", Feature::changed},
        {InjectedFault::inverse, "inverse", Feature::inverse},
        {InjectedFault::box, "boxes", Feature::boxes},
        {InjectedFault::position, "positions", Feature::positions},
        {InjectedFault::covering, "covering", Feature::covering},
        {InjectedFault::settings, "settings", Feature::settings},
        {InjectedFault::trial, "trial", Feature::trials},
    };
    CHECK(controls.size() == static_cast<std::size_t>(InjectedFault::end) - 1);
    for (const Control& control : controls) {
        if (control.needs != Feature::count && !engine_features().has(control.needs)) continue;
        CAPTURE(control.check);
        CAPTURE(static_cast<int>(control.injected_fault));
        CHECK(complaints(control.injected_fault, engine_features()).count(control.check) == 1);
    }
}

TEST_CASE("oracle: the comparison of sets lists missing, extra and duplicate entities") {
    const std::vector<EntityId> right{id(1), id(2), id(3)};
    CHECK_FALSE(compare_sets(some_observer, right, {id(3), id(1), id(2)}));
    CHECK(compare_sets(some_observer, right, {id(3), id(1)}).text == "missing: e2#1");
    CHECK(compare_sets(some_observer, right, {id(3), id(1), id(2), id(7)}).text ==
          "unexpected: e7#1");
    CHECK(compare_sets(some_observer, right, {id(3), id(1), id(2), id(1)}).text ==
          "listed twice: e1#1");
}

TEST_CASE("oracle: the event replay finds lost, duplicate, reversed and stray events") {
    const InterestEvent enter{id(1), some_observer, Reason::entered, true};
    const InterestEvent leave{id(1), some_observer, Reason::left, false};
    const InterestEvent other{id(1), another_observer, Reason::entered, true};
    const auto take = [](std::vector<InterestEvent> events) {
        EventReplay replay;
        return replay.take(events).text;
    };
    CHECK(take({enter, other}).empty());
    CHECK(take({enter, enter}).find("two events of one pair") != std::string::npos);
    CHECK(take({enter, leave}).find("two events of one pair") != std::string::npos);
    CHECK(take({leave}).find("left without entering") != std::string::npos);
    InterestEvent second = enter;
    second.entity = id(2);
    CHECK(take({enter, other, second}).find("not grouped") != std::string::npos);
    EventReplay replay;
    CHECK_FALSE(replay.take(std::vector{enter}));
    CHECK_FALSE(replay.matches(some_observer, {id(1)}));
    CHECK(replay.matches(some_observer, {}));
    CHECK(replay.matches(some_observer, {id(1), id(2)}));
    CHECK(replay.take(std::vector{enter}).text.find("entered twice") != std::string::npos);
}

TEST_CASE("oracle: a wrong event reason is found") {
    using check::TruthStage;
    const auto wrong = [](bool is_enter, Reason reason, const EventFacts& facts) {
        return !compare_reason({id(1), some_observer, reason, is_enter}, facts).text.empty();
    };
    EventFacts facts;
    facts.now = verdict(id(1), TruthStage::node, true, 1);
    facts.now.nodes = 1;
    CHECK_FALSE(wrong(true, Reason::entered, facts));
    CHECK(wrong(true, Reason::spawned, facts));
    CHECK(wrong(true, Reason::owned, facts));
    facts.entity_is_new = true;
    CHECK(wrong(true, Reason::entered, facts));
    CHECK_FALSE(wrong(true, Reason::spawned, facts));
    facts.now.stage = TruthStage::owned;
    CHECK_FALSE(wrong(true, Reason::owned, facts));
    CHECK(wrong(true, Reason::spawned, facts));
    facts.now.stage = TruthStage::allowed;
    CHECK_FALSE(wrong(true, Reason::forced, facts));
    facts.now = verdict(id(1), TruthStage::no_node, false, 0);
    CHECK_FALSE(wrong(false, Reason::left, facts));
    CHECK(wrong(false, Reason::hidden, facts));
    facts.now.hides = true;
    CHECK_FALSE(wrong(false, Reason::hidden, facts));
    facts.now.stage = TruthStage::denied;
    facts.now.nodes = 1;
    CHECK(wrong(false, Reason::left, facts));
    facts.observer_is_ready = false;
    CHECK_FALSE(wrong(false, Reason::hidden, facts));
    facts.entity_is_gone = true;
    CHECK(wrong(false, Reason::hidden, facts));
    CHECK_FALSE(wrong(false, Reason::despawned, facts));
    facts.entity_is_gone = false;
    facts.observer_is_gone = true;
    CHECK_FALSE(wrong(false, Reason::disconnected, facts));
    CHECK(wrong(false, Reason::left, facts));
}

TEST_CASE("oracle: a count off by one and extra or missing edges are found") {
    const std::vector<EntityCount> counts{{id(1), 0, 2, 2}, {id(2), 3, 1, 1}, {id(3), 1, 0, 0}};
    const std::vector<ObserverEdge> edges{{id(1), true}, {id(3), false}};
    CHECK_FALSE(compare_counts(counts, edges));
    std::vector<EntityCount> off = counts;
    ++off[1].reported;
    CHECK(compare_counts(off, edges).text.find("observers of e2#1") != std::string::npos);
    CHECK(compare_counts(counts, std::vector<ObserverEdge>{{id(1), true}}));
    CHECK(compare_counts(counts, std::vector<ObserverEdge>{{id(1), true}, {id(3), true}}));
    CHECK(compare_counts(counts,
                         std::vector<ObserverEdge>{{id(1), true}, {id(3), false}, {id(2), false}}));
    CHECK(compare_counts(counts,
                         std::vector<ObserverEdge>{{id(1), true}, {id(3), false}, {id(1), true}}));
}

TEST_CASE("oracle: a relevance score that is wrong or out of bounds is found") {
    using check::TruthStage;
    std::vector<check::Verdict> verdicts(4);
    verdicts[1] = verdict(id(1), TruthStage::node, true, 0.75F);
    verdicts[2] = verdict(id(2), TruthStage::no_node, false, 0);
    verdicts[3] = verdict(id(3), TruthStage::stay, true, 1);
    const std::vector<EntityId> entities{id(1), id(2), id(3)};
    const auto wrong = [&](float one, float two, float three) {
        const std::vector<float> reported{one, two, three};
        return !compare_scores(some_observer, verdicts, entities, reported).text.empty();
    };
    CHECK_FALSE(wrong(0.75F, 0, 0.3F));
    CHECK_FALSE(wrong(0.75005F, 0, 1));
    CHECK(wrong(0.7503F, 0, 1));
    CHECK(wrong(0.75F, 0.1F, 1));
    CHECK(wrong(0.75F, 0, 0));
    CHECK(wrong(0.75F, 0, 1.01F));
}

TEST_CASE("oracle: a wrong list of the observers of an entity is found") {
    CHECK_FALSE(compare_inverse(id(1), {some_observer, another_observer},
                                {another_observer, some_observer}));
    CHECK(compare_inverse(id(1), {some_observer, another_observer}, {another_observer}));
    CHECK(compare_inverse(id(1), {some_observer}, {another_observer, some_observer}));
    CHECK(compare_inverse(id(1), {some_observer}, {some_observer, some_observer}));
}

TEST_CASE("oracle: a violation of range or margin is found, except for hidden entities") {
    Rules rules = plain_world({}).rules;
    check::ObserverView observer;
    observer.id = some_observer;
    observer.positions[0] = {{50, 50, 0}};
    check::EntityView unit;
    unit.id = id(1);
    unit.is_unit = unit.has_position = true;
    Promise promise;
    promise.set_rules(rules);
    const auto check_at = [&](float x, bool is_relevant, bool is_hidden = false) {
        unit.position = {x, 50, 0};
        return promise.check({observer, unit, is_hidden, is_relevant}, {true}).check;
    };
    CHECK(check_at(90, false).empty());  // in the margin without having been inside
    CHECK(check_at(80, true).empty());
    CHECK(check_at(80, false) == "range");
    CHECK(check_at(80, false, true).empty());
    CHECK(check_at(90, true).empty());
    CHECK(check_at(90, false) == "flicker");
    CHECK(check_at(95, false) == "flicker");  // exactly at the leave radius
    CHECK(check_at(95.01F, false).empty());
    CHECK(check_at(90, false).empty());  // in the margin after having left
    CHECK(check_at(80, true).empty());
    observer.times_ready = 1;  // it was not ready in between: forgotten
    CHECK(check_at(90, false).empty());
    // No guarantee with a step or node that subtracts.
    Kernel hides;
    hides.combine = Combine::subtract;
    hides.type = KernelType::flag;
    hides.flag = id_at<FlagId>(0);
    rules.nodes[0].steps.push_back(hides);
    promise.set_rules(rules);
    CHECK(promise.is_empty());
}

}  // namespace purview::test::oracle_control
