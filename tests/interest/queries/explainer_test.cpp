// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/queries/explainer.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/observer_ids.hpp"
#include "purview/status.hpp"
#include "support/interest_parts.hpp"

namespace purview::test::explainer_test {

namespace {

/// A world of random edits, equal for equal seeds.
struct World {
    explicit World(std::uint64_t seed) : parts(random_rules()), edits(parts, seed) {
        for (int tick = 0; tick < 12; ++tick) {
            edits.edit_all(8);
            parts.tick();
        }
    }
    InterestParts parts;
    RandomEdits edits;
};

Status apply(InterestParts& parts, ObserverId observer, EntityId unit, const WhatIf& change) {
    switch (change.type) {
        case WhatIfType::ready:
            return parts.observers.set_ready(observer, change.value);
        case WhatIfType::deny:
            return parts.overrides.edit_pair(observer, unit, PairMark::deny, change.value);
        case WhatIfType::owner:
            return parts.overrides.set_owner(unit, change.value ? observer : ObserverId::none);
        case WhatIfType::force_hide:
            return parts.overrides.force_hide(unit, change.value);
        case WhatIfType::show_to_all:
            return parts.overrides.show_to_all(unit, change.value);
        case WhatIfType::allow:
            return parts.overrides.edit_pair(observer, unit, PairMark::allow, change.value);
        case WhatIfType::sees_everything:
            return parts.observers.set_unculled(observer, change.value);
        case WhatIfType::flag:
            return parts.attributes.set_flag(unit, change.flag, change.value);
        case WhatIfType::key:
            return parts.attributes.set_key(unit, change.domain, change.key);
        case WhatIfType::move:
            return parts.positions.move(unit, change.position);
        case WhatIfType::explicit_only:
            return parts.overrides.set_mode(
                unit, change.value ? EntityMode::explicit_only : EntityMode::nodes);
        case WhatIfType::number:
            return parts.attributes.set_value(unit, change.number, change.to);
    }
    return Status::bad_argument;
}

}  // namespace

TEST_CASE("explainer: the result for each pair equals that of the tick") {
    std::set<Stage> stages;
    std::size_t cut = 0;
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        CAPTURE(seed);
        World world(seed);
        for (int tick = 0; tick < 4; ++tick) {
            world.edits.edit_all(8);
            world.parts.tick();
            for (const ObserverId observer : world.edits.live()) {
                for (const EntityId entity : world.edits.known()) {
                    CAPTURE(index_of(entity));
                    const Explanation why = world.parts.explainer.explain(observer, entity);
                    REQUIRE(why.status == Status::ok);
                    REQUIRE(why.relevant == world.parts.answers.is_relevant(observer, entity));
                    if (why.hidden_member == EntityId::none)
                        REQUIRE(why.relevant == is_yes(why.stage));
                    REQUIRE((why.single.empty() || why.pair.empty()));
                    REQUIRE(why.text().starts_with(why.relevant ? "relevant" : "not relevant"));
                    stages.insert(why.stage);
                    cut += why.hidden_member != EntityId::none ? 1 : 0;
                }
            }
        }
    }
    for (const Stage stage : {Stage::not_ready, Stage::denied, Stage::owned, Stage::force_hidden,
                              Stage::shown_to_all, Stage::allowed, Stage::sees_everything,
                              Stage::node, Stage::no_node, Stage::explicit_only}) {
        CAPTURE(to_string(stage));
        CHECK(stages.contains(stage));
    }
    CHECK(cut > 50);
}

TEST_CASE("explainer: each proposed change flips the result with the next tick") {
    std::set<WhatIfType> types;
    int pairs = 0;
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
        CAPTURE(seed);
        World world(seed);
        const ObserverId observer = world.edits.observer();
        const EntityId entity = world.edits.any();
        if (observer == ObserverId::none || entity == EntityId::none) continue;
        const Explanation why = world.parts.explainer.explain(observer, entity);
        const auto check = [&](const std::vector<WhatIf>& changes) {
            World other(seed);
            for (const WhatIf& change : changes) {
                CAPTURE(change.what);
                const Status status = apply(other.parts, observer, why.unit, change);
                REQUIRE((status == Status::ok || status == Status::hidden_by_root));
            }
            other.parts.tick();
            REQUIRE(other.parts.answers.is_relevant(observer, entity) != why.relevant);
        };
        for (const WhatIf& change : why.single) {
            check({change});
            types.insert(change.type);
        }
        if (!why.pair.empty()) {
            check(why.pair);
            ++pairs;
        }
        // Without a change the result stays, unless `changes_by_itself` is set.
        World other(seed);
        other.parts.tick();
        const bool turns = other.parts.answers.is_relevant(observer, entity) != why.relevant;
        if (!why.changes_by_itself && why.are_changes_known) REQUIRE_FALSE(turns);
    }
    CHECK(types.size() >= 8);
    CHECK(pairs > 3);
}

TEST_CASE("explainer: each step and node is listed with its result") {
    InterestParts parts(random_rules());
    const EntityId viewpoint = parts.spawn(0, 50), one = parts.spawn(1, 60);
    const ObserverId observer = parts.watch(viewpoint);
    REQUIRE(parts.observers.set_observer_range(observer, 20) == Status::ok);
    parts.tick();
    const Explanation why = parts.explainer.explain(observer, one);
    CHECK(why.relevant);
    CHECK(why.unit == one);
    CHECK(why.stage == Stage::node);
    REQUIRE(why.nodes.size() == 4);
    CHECK(why.nodes[0].name == "near");
    CHECK(why.nodes[0].result);
    REQUIRE(why.nodes[0].steps.size() == 2);
    CHECK(why.nodes[0].steps[0].answer);
    CHECK(why.nodes[0].steps[0].so_far);
    CHECK(why.nodes[0].steps[1].combine == Combine::subtract);
    CHECK_FALSE(why.nodes[0].steps[1].answer);
    CHECK_FALSE(why.nodes[1].is_member);  // bound to no node
    CHECK_FALSE(why.nodes[1].result);
    CHECK(why.nodes[3].is_member);
    CHECK_FALSE(why.nodes[3].result);
}

TEST_CASE("explainer: a pair of unknown ids has no explanation") {
    InterestParts parts(random_rules());
    const EntityId one = parts.spawn(0, 50);
    const ObserverId observer = parts.watch();
    const Explanation stale = parts.explainer.explain(observer, make_entity_id(index_of(one), 2));
    CHECK(stale.status == Status::stale_id);
    CHECK(stale.nodes.empty());
    CHECK_FALSE(stale.relevant);
    CHECK(parts.explainer.explain(make_observer_id(3, 1), one).status == Status::stale_id);
}

TEST_CASE("explainer: settings are the most generous of the matching nodes") {
    Rules rules = random_rules();
    rules.nodes[0].replication = {.every_ticks = 4, .priority = 2};
    rules.nodes[2].replication = {.every_ticks = 2, .priority = 1};
    InterestParts parts(rules);
    EntityDef def;
    const std::array nodes{id_at<NodeId>(2)};
    def.nodes = nodes;
    def.position = {50, 50, 0};
    const EntityId viewpoint = parts.spawn(0, 50), one = parts.spawn(1, def);
    const ObserverId observer = parts.watch(viewpoint);
    REQUIRE(parts.observers.set_observer_range(observer, 20) == Status::ok);
    parts.tick();
    ExplainedSettings by;
    const Replication best = parts.explainer.settings(observer, one, &by);
    CHECK(best.every_ticks == 2);
    CHECK(best.priority == 2);
    CHECK(by.every_ticks_by == "all");
    CHECK(by.priority_by == "near");
    // The same as the settings of a score.
    const std::array entities{one};
    std::array<float, 1> score{};
    std::array<Replication, 1> settings{};
    parts.answers.score(observer, entities, score, settings);
    CHECK(settings[0].every_ticks == best.every_ticks);
    CHECK(settings[0].priority == best.priority);
    // An explicitly relevant entity has the defaults.
    const EntityId far = parts.spawn(2, 95, 95);
    REQUIRE(parts.overrides.edit_pair(observer, far, PairMark::allow, true) == Status::ok);
    parts.tick();
    const Replication usual = parts.explainer.settings(observer, far);
    CHECK(usual.every_ticks == 1);
    CHECK(usual.priority == 1);
}

}  // namespace purview::test::explainer_test
