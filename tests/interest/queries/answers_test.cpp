// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/queries/answers.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "core/observer_ids.hpp"
#include "purview/status.hpp"
#include "support/interest_parts.hpp"

namespace purview::test::answers_test {

namespace {

template <class T>
std::multiset<T> as_set(const std::vector<T>& list) {
    return std::multiset<T>(list.begin(), list.end());
}

}  // namespace

TEST_CASE("answers: observers and scores agree with the relevant sets in random worlds") {
    std::size_t relevant_pairs = 0, by_nodes = 0, denied = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        InterestParts parts(random_rules());
        RandomEdits edits(parts, seed);
        for (int step = 0; step < 100; ++step) {
            edits.edit();
            if (step % 4 == 0) parts.tick();
            const auto relevant = parts.all_relevant();
            const std::vector<EntityId> known = edits.known();
            for (const auto& [observer, its] : relevant) {
                std::vector<float> score(known.size(), -1);
                parts.answers.score(observer, known, score);
                for (std::size_t i = 0; i < known.size(); ++i) {
                    const bool is_in = std::binary_search(its.begin(), its.end(), known[i]);
                    REQUIRE(parts.answers.is_relevant(observer, known[i]) == is_in);
                    REQUIRE((score[i] > 0) == is_in);
                    REQUIRE((score[i] >= 0 && score[i] <= 1));
                    relevant_pairs += is_in ? 1 : 0;
                    by_nodes += is_in && score[i] < 1 ? 1 : 0;
                    if (parts.answers.is_denied(observer, known[i])) {
                        // Groups with independently culled members are updated with the tick.
                        REQUIRE_FALSE((is_in && step % 4 == 0));
                        REQUIRE(parts.answers.is_denied_to_any(known[i]));
                        ++denied;
                    }
                }
            }
            for (const EntityId entity : known) {
                std::vector<ObserverId> found;
                parts.answers.observers_of(entity, found);
                std::multiset<ObserverId> expected;
                for (const auto& [observer, its] : relevant) {
                    if (std::binary_search(its.begin(), its.end(), entity))
                        expected.insert(observer);
                }
                REQUIRE(as_set(found) == expected);
            }
        }
    }
    CHECK(relevant_pairs > 5'000);
    CHECK(by_nodes > 500);
    CHECK(denied > 500);
}

TEST_CASE("answers: observer counts, and first and last observers, equal a recount") {
    Rules rules = random_rules();
    rules.count_observers = true;
    InterestParts parts(rules);
    RandomEdits edits(parts, 14);
    std::map<EntityId, std::uint32_t> before;
    std::size_t first = 0, last = 0;
    for (int tick = 0; tick < 300; ++tick) {
        edits.edit_all(5);
        parts.tick();
        std::map<EntityId, std::uint32_t> now;
        std::multiset<EntityId> newly, no_longer;
        for (const EntityId entity : edits.known()) {
            std::vector<ObserverId> observers;
            parts.answers.observers_of(entity, observers);
            now[entity] = static_cast<std::uint32_t>(observers.size());
            REQUIRE(parts.answers.observer_count(entity) == now[entity]);
            if (now[entity] > 0 && before[entity] == 0) newly.insert(entity);
            if (now[entity] == 0 && before[entity] > 0) no_longer.insert(entity);
        }
        const auto gained = parts.stores.observer_counts.newly_observed();
        const auto lost = parts.stores.observer_counts.no_longer_observed();
        REQUIRE(std::multiset<EntityId>(gained.begin(), gained.end()) == newly);
        REQUIRE(std::multiset<EntityId>(lost.begin(), lost.end()) == no_longer);
        first += newly.size();
        last += no_longer.size();
        before = now;
    }
    CHECK(first > 50);
    CHECK(last > 50);
    CHECK(parts.answers.observer_count(make_entity_id(99, 1)) == 0);
}

TEST_CASE("answers: entities in a box equal a plain search, also before the tick") {
    for (const Axes axes : {Axes::xy, Axes::xz, Axes::xyz}) {
        Rules rules = random_rules();
        rules.axes = axes;
        rules.max = {100, 100, 100};
        rules.range_classes = {10, 40};
        rules.cell_size = 10;
        InterestParts parts(rules);
        SplitMix random(3);
        const auto place = [&]() -> Vec3 {
            return {random.between(-10, 110), random.between(-10, 110), random.between(-10, 110)};
        };
        std::vector<EntityId> all;
        for (std::uint32_t i = 0; i < 60; ++i) {
            EntityDef def;
            def.position = place();
            def.range = random.between(0, 40);
            def.has_position = i > 3;
            if (i % 3 == 0) def.kind = id_at<KindId>(1);
            all.push_back(parts.spawn(i, def));
        }
        std::size_t found_some = 0;
        for (int step = 0; step < 300; ++step) {
            REQUIRE(parts.positions.move(all[random.below(60)], place()) == Status::ok);
            if (random.chance(0.2F)) parts.tick();
            const Vec3 a = place(), b = place();
            const Vec3 low{std::min(a.x, b.x), std::min(a.y, b.y), std::min(a.z, b.z)};
            const Vec3 high{std::max(a.x, b.x), std::max(a.y, b.y), std::max(a.z, b.z)};
            const KindId kind = random.chance(0.3F) ? id_at<KindId>(1) : KindId::none;
            std::vector<EntityId> found;
            parts.answers.entities_in(low, high, found, kind);
            std::multiset<EntityId> expected;
            for (std::uint32_t i = 4; i < 60; ++i) {
                const Vec3 at = parts.lookup.position_of(all[i]);
                const bool x = low.x <= at.x && at.x <= high.x;
                const bool y = axes == Axes::xz || (low.y <= at.y && at.y <= high.y);
                const bool z = axes == Axes::xy || (low.z <= at.z && at.z <= high.z);
                if (x && y && z && (kind == KindId::none || i % 3 == 0)) expected.insert(all[i]);
            }
            REQUIRE(as_set(found) == expected);
            found_some += found.size();
        }
        CHECK(found_some > 300);
        std::vector<EntityId> none;
        parts.answers.entities_in({NAN, 0, 0}, {100, 100, 100}, none, KindId::none);
        CHECK(none.empty());
    }
}

TEST_CASE("answers: entities of a node are those bound to it, or to none") {
    InterestParts parts(random_rules());
    RandomEdits edits(parts, 21);
    for (int step = 0; step < 100; ++step) {
        edits.edit();
        for (std::uint16_t n = 0; n < 4; ++n) {
            std::vector<EntityId> found;
            parts.answers.entities_of(id_at<NodeId>(n), found);
            std::multiset<EntityId> expected;
            for (const EntityId unit : edits.units()) {
                const auto nodes = parts.lookup.nodes_of(unit);
                const bool is_bound =
                    std::find(nodes.begin(), nodes.end(), id_at<NodeId>(n)) != nodes.end();
                const bool is_unbound = parts.stores.facts_table.bindings.is_unbound(unit);
                if (n == 0 || (n == 3 ? is_unbound : is_bound)) expected.insert(unit);
            }
            REQUIRE(as_set(found) == expected);
        }
    }
    std::vector<EntityId> none;
    parts.answers.entities_of(id_at<NodeId>(4), none);
    CHECK(none.empty());
}

TEST_CASE("answers: observers that cover a position equal a plain distance test") {
    Rules rules = random_rules();
    rules.nodes.resize(1);
    rules.kinds.clear();
    rules.nodes[0].steps.resize(1);
    InterestParts parts(rules);
    SplitMix random(5);
    struct View {
        ObserverId observer;
        std::vector<Vec3> from;
        float range;
        bool is_ready;
    };
    std::vector<View> views;
    for (std::uint32_t i = 0; i < 20; ++i) {
        const Vec3 at{random.between(0, 100), random.between(0, 100), 0};
        View view{parts.watch(parts.spawn(i, at.x, at.y), false), {at}, 20, random.chance(0.8F)};
        if (random.chance(0.5F)) {
            view.range = random.between(1, 60);
            REQUIRE(parts.observers.set_observer_range(view.observer, view.range) == Status::ok);
        }
        if (random.chance(0.5F)) {
            view.from.push_back({random.between(0, 100), random.between(0, 100), 0});
            REQUIRE(parts.observers.set_area(view.observer, 0, Area::at(view.from[1])) ==
                    Status::ok);
        }
        REQUIRE(parts.observers.set_ready(view.observer, view.is_ready) == Status::ok);
        views.push_back(view);
    }
    std::size_t covered = 0;
    for (int step = 0; step < 50; ++step) {
        if (step % 10 == 0) parts.tick();
        std::vector<Vec3> positions;
        for (int i = 0; i < 4; ++i)
            positions.push_back({random.between(0, 100), random.between(0, 100), 0});
        positions.push_back({NAN, 0, 0});
        std::vector<Covering> found;
        parts.answers.observers_covering(positions, found);
        REQUIRE(std::is_sorted(found.begin(), found.end()));
        REQUIRE(std::adjacent_find(found.begin(), found.end()) == found.end());
        for (std::uint32_t p = 0; p < positions.size(); ++p) {
            for (const View& view : views) {
                float nearest = INFINITY;
                for (const Vec3 from : view.from) {
                    const float x = positions[p].x - from.x, y = positions[p].y - from.y;
                    nearest = std::min(nearest, std::sqrt(x * x + y * y));
                }
                if (std::abs(nearest - view.range) < 1e-3F) continue;  // on the border
                const bool expected = p < 4 && view.is_ready && nearest < view.range;
                REQUIRE(std::binary_search(found.begin(), found.end(),
                                           Covering{p, view.observer}) == expected);
            }
        }
        covered += found.size();
    }
    CHECK(covered > 200);
}

TEST_CASE("answers: a denial of an entity applies to its subtree") {
    InterestParts parts(random_rules());
    const EntityId root = parts.spawn(0, 50), member = parts.spawn(1, 50);
    const EntityId below = parts.spawn(2, 50);
    parts.attach(member, root);
    parts.attach(below, member);
    const ObserverId observer = parts.watch(), other = parts.watch();
    REQUIRE(parts.overrides.edit_pair(observer, member, PairMark::deny, true) == Status::ok);
    CHECK(parts.answers.is_denied(observer, member));
    CHECK(parts.answers.is_denied(observer, below));
    CHECK_FALSE(parts.answers.is_denied(observer, root));
    CHECK_FALSE(parts.answers.is_denied(other, below));
    CHECK(parts.answers.is_denied_to_any(below));
    CHECK_FALSE(parts.answers.is_denied_to_any(root));
    CHECK_FALSE(parts.answers.is_denied(make_observer_id(9, 1), member));
    CHECK_FALSE(parts.answers.is_denied(observer, make_entity_id(9, 1)));
}

}  // namespace purview::test::answers_test
