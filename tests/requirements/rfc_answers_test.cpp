// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Cost of a join, live rule edits, relevance scores, the relevant set, per-observer overrides,
// explanations.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "interest/rules/interest_kernel.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

TEST_CASE("interest: a join or leave costs work for its own view only (N38 M23)") {
    Rules def = def_of({node("near", {within(Combine::add, 10)})});
    def.max = {10'000, 10'000, 0};
    def.entities_expected = 20'000;
    InterestManager manager = make(def);
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        spawn(manager, i, static_cast<float>(i % 200) * 50, static_cast<float>(i / 200) * 100);
    }
    const ObserverId first = watch(manager, id(0));
    manager.tick();
    internal(manager).windows.set_count_tested(true);
    const std::uint64_t before = internal(manager).counters().lanes_tested;
    const ObserverId second = watch(manager, id(10'100));
    CHECK(tick_news(manager, second) == News{{10'100}, {}});
    CHECK(manager.events().size() == 1);
    const std::uint64_t joined = internal(manager).counters().lanes_tested;
    CHECK(joined > before);
    CHECK(joined - before < 400);
    CHECK(manager.remove_observer(second) == Status::ok);
    manager.tick();
    CHECK(manager.events().size() == 1);
    CHECK(internal(manager).counters().lanes_tested - joined < 400);
    CHECK(seen(manager, first) == Set{0});
}

TEST_CASE("interest: an entity that all observers see has no observer list (N38)") {
    // An entity that is relevant to all observers takes less than one bit of memory for each.
    const auto bytes_of_observers = [](std::uint32_t entities) {
        CountedMemory memory;
        InterestManager manager = make(std::vector{node("all", {})});
        for (std::uint32_t i = 0; i < entities; ++i) spawn(manager, i, static_cast<float>(i % 100));
        manager.tick();
        const std::size_t before = memory.held;
        ObserverId last{};
        for (int o = 0; o < 200; ++o) {
            last = watch(manager);
            manager.tick();
        }
        for (int i = 0; i < 200; ++i) manager.tick();
        CHECK(relevant_count(internal(manager), last) == entities);
        return memory.held - before;
    };
    CHECK(bytes_of_observers(2'000) < bytes_of_observers(20) + 200 * 1'980 / 8);
}

TEST_CASE("interest: live kernel edits give the same result as new rules (N39)") {
    const Kernel near = within(Combine::add, 15), cloak = flag(Combine::subtract, 0),
                 team = same(Combine::add, 0);
    Rules def = def_of({node("n", {near})});
    const auto fill = [](InterestManager& manager) {
        for (std::uint32_t i = 0; i < 60; ++i) {
            const Key key{static_cast<std::uint16_t>(1 + i % 4)};
            EntityDef one;
            one.position = {static_cast<float>(i) * 1.5F, 50, 0};
            one.flags = FlagSet(i % 5 == 0 ? 1 : 0);
            one.keys = std::span(&key, 1);
            spawn(manager, i, one);
        }
        return watch(manager, id(33));
    };
    InterestManager live = make(def);
    const ObserverId observer = fill(live);
    live.tick();
    std::set<Set> different;
    for (const auto& steps : std::vector<std::vector<Kernel>>{{near, cloak},
                                                              {near, cloak, team},
                                                              {near, team, cloak},
                                                              {team, near},
                                                              {cloak},
                                                              {near}}) {
        def.nodes[0].steps = steps;
        CHECK(live.set_rules(def) == "");
        InterestManager fresh = make(def);
        const ObserverId there = fill(fresh);
        fresh.tick();
        live.tick();
        CHECK(seen(live, observer) == seen(fresh, there));
        different.insert(seen(live, observer));
    }
    CHECK(different.size() == 6);
}

TEST_CASE("interest: nodes come from the kind, the entity or both (N40)") {
    Rules def = def_of({node("of kind", {flag(Combine::add, 0)}, Members::bound),
                        node("its own", {flag(Combine::add, 1)}, Members::bound),
                        node("default", {}, Members::unbound)});
    KindRules kind;
    kind.nodes = {node0};
    def.kinds = {kind};
    InterestManager manager = make(def);
    const std::array own{node1};
    const auto add = [&](std::uint32_t index, std::uint16_t flags, bool has_kind, bool has_own,
                         bool replaces) {
        EntityDef one;
        one.flags = FlagSet(flags);
        if (has_kind) one.kind = id_at<KindId>(0);
        if (has_own) one.nodes = own;
        one.replaces_kind_nodes = replaces;
        spawn(manager, index, one);
    };
    add(0, 1, true, false, false);
    add(1, 2, true, false, false);
    add(2, 1, true, true, false);  // both
    add(3, 2, true, true, false);
    add(4, 1, true, true, true);  // instead
    add(5, 2, true, true, true);
    add(6, 2, false, true, false);
    add(7, 0, false, false, false);
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer) == Set{0, 2, 3, 5, 6, 7});
}

TEST_CASE("interest: a changed flag counts in the same tick without an update call (N41)") {
    InterestManager manager =
        make(std::vector{node("n", {within(Combine::add, 10), flag(Combine::subtract, 0)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);  // flag not set: the subtract step does not match
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.set_flag(id(1), id_at<FlagId>(0), true) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    CHECK(manager.set_flag(id(1), id_at<FlagId>(0), false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {}});
    CHECK(manager.set_flag(id(1), id_at<FlagId>(0), true) ==
          Status::ok);  // set and reset: no event
    CHECK(manager.set_flag(id(1), id_at<FlagId>(0), false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{});
}

TEST_CASE("interest: spawn, state and nodes of one tick apply as one step (N42)") {
    Rules def = def_of({node("default", {}, Members::unbound),
                        node("near", {within(Combine::add, 10)}, Members::bound)});
    KindRules shy;
    shy.needs_node = true;
    def.kinds = {shy};
    InterestManager manager = make(def);
    const ObserverId observer = watch(manager);
    manager.tick();
    spawn(manager, 1, 50);
    CHECK(manager.set_flag(id(1), id_at<FlagId>(0), true) == Status::ok);
    CHECK(manager.bind(id(1), node1) == Status::ok);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(tick_news(manager, observer) == News{});
    EntityDef nodeless;
    nodeless.kind = id_at<KindId>(0);
    spawn(manager, 2, nodeless);  // no node, and its kind requires one
    spawn(manager, 3, EntityDef{});
    CHECK(tick_news(manager, observer) == News{{3}, {}});
}

TEST_CASE("interest: one kernel function returns both match and score (X2 N51)") {
    const auto score = [](const Pair& p) noexcept {
        const float away = std::abs(p.position().x - p.positions()[0].x);
        return away > 45 ? std::numeric_limits<float>::quiet_NaN() : 2 - away / 10;
    };
    InterestManager manager = make(std::vector{node(
        "audible",
        {own_kernel(Combine::add, make_pair_kernel({.name = "audible", .reach = 60}, score))})});
    spawn(manager, 0, 0);
    const ObserverId observer = watch(manager, id(0));
    std::vector<EntityId> all;
    std::vector<float> expected, scores;
    for (std::uint32_t i = 1; i <= 25; ++i) {
        all.push_back(spawn(manager, i, static_cast<float>(2 * i)));
        const float raw = 2 - static_cast<float>(2 * i) / 10;
        expected.push_back(raw <= 0 ? 0 : std::min(raw, 1.0F));
    }
    manager.tick();
    scores.resize(all.size());
    manager.scores(observer, all, scores);
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(manager.is_relevant(observer, all[i]) == (expected[i] > 0));
        CHECK(scores[i] == doctest::Approx(expected[i]));
    }
}

TEST_CASE("interest: a disabled node has no effect, required or not (X4)") {
    NodeDef near = node("near", {within(Combine::add, 50)});
    NodeDef marked = node("marked", {flag(Combine::add, 0)});
    marked.combine = Combine::require;
    Rules def = def_of({near, marked});
    InterestManager manager = make(def);
    spawn(manager, 0, 0);
    spawn(manager, 1, 10);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer).count(1) == 0);
    def.nodes[1].enabled = false;  // a disabled requirement counts as met
    CHECK(manager.set_rules(def) == "");
    CHECK(ticked(manager, observer).count(1) == 1);
    def.nodes[1].enabled = true;
    def.nodes[0].enabled = false;  // and a disabled adding node adds nothing
    CHECK(manager.set_rules(def) == "");
    CHECK(ticked(manager, observer).empty());
}

TEST_CASE("interest: scores come from the deciding kernel, for queried entities only (N44)") {
    class Measuring final : public InterestKernel {
      public:
        void test(const KernelQuery& q, std::span<Mask> out,
                  std::span<Mask>) const noexcept override {
            for (std::size_t i = 0; i < q.blocks.size(); ++i) out[i] = all_lanes;
            tests += q.blocks.size();
        }
        std::string describe(const KernelQuery&, unsigned) const override { return "measuring"; }
        float reach() const noexcept override { return 10; }
        void score(const KernelQuery& q, std::span<const Mask>,
                   std::span<float> out) const noexcept override {
            measured += q.blocks.size();
            for (float& one : out) one = 0.25F;
        }
        mutable std::size_t tests = 0, measured = 0;
    };
    const auto measuring = std::make_shared<Measuring>();
    InterestManager manager = make(std::vector{node("n", {own_kernel(Combine::add, measuring)})});
    for (std::uint32_t i = 0; i < 400; ++i)
        spawn(manager, i, static_cast<float>(i % 20) * 5, static_cast<float>(i / 20) * 5);
    const ObserverId observer = watch(manager, id(210));
    manager.tick();
    CHECK(measuring->measured == 0);  // no cost without a score query
    std::vector<EntityId> queried{id(210), id(211)};
    std::vector<float> score(2);
    measuring->tests = 0;
    manager.scores(observer, queried, score);
    CHECK(score == std::vector<float>{0.25F, 0.25F});
    CHECK(measuring->measured <= 2);
    CHECK(measuring->tests <= 2);
    queried = {id(0)};
    score = {9};
    manager.scores(observer, queried, score);
    CHECK(score[0] == 0);
    CHECK(measuring->measured <= 2);
}

TEST_CASE("interest: changed scores of a tick equal the scores of single queries (N44)") {
    Rules def = def_of({node("near", {within(Combine::add, 20)})});
    def.measure_scores = true;
    InterestManager manager = make(def);
    for (std::uint32_t i = 0; i < 10; ++i) spawn(manager, i, static_cast<float>(5 * i));
    const ObserverId observer = watch(manager, id(0));
    CHECK(manager.set_owner(id(7), observer) == Status::ok);
    using ScoreByIndex = std::map<std::uint32_t, float>;
    const auto changed_scores = [&] {
        manager.tick();
        const Scores now = manager.changed_scores(observer);
        REQUIRE(now.entities.size() == now.score.size());
        ScoreByIndex out;
        for (std::size_t i = 0; i < now.entities.size(); ++i) {
            CHECK(out.emplace(now.entities[i], now.score[i]).second);
            const EntityId one = id(now.entities[i]);
            float queried_score = 0;
            manager.scores(observer, std::span(&one, 1), std::span(&queried_score, 1));
            CHECK(queried_score == now.score[i]);
        }
        return out;
    };
    const auto nearness = [](float m) { return 1 - m / 40; };
    CHECK(changed_scores() ==
          ScoreByIndex{
              {0, 1}, {1, nearness(5)}, {2, nearness(10)}, {3, nearness(15)}, {4, 0.5F}, {7, 1}});
    CHECK(changed_scores().empty());
    put(manager, 2, 12);
    put(manager, 7, 36);
    put(manager, 9, 46);
    CHECK(changed_scores() == ScoreByIndex{{2, nearness(12)}, {7, 1}});  // an owned entity scores 1
    CHECK(manager.attach(id(5), id(3)) == Status::ok);
    CHECK(changed_scores().empty());  // it enters, but its root did not move
    put(manager, 3, 16);
    CHECK(changed_scores() == ScoreByIndex{{3, nearness(16)}, {5, nearness(16)}});
    put(manager, 3, 60);
    CHECK(changed_scores().empty());
    CHECK(manager.remove_observer(observer) == Status::ok);
    CHECK(manager.changed_scores(observer).entities.empty());

    def.measure_scores = false;
    InterestManager other = make(def);
    spawn(other, 0, 0);
    const ObserverId observer_of_other = watch(other, id(0));
    other.tick();
    CHECK(other.is_relevant(observer_of_other, id(0)));
    CHECK(other.changed_scores(observer_of_other).entities.empty());
}

TEST_CASE("interest: changed scores are those of the tick, whatever was edited since (N44)") {
    Rules def = def_of({node("near", {within(Combine::add, 20)})});
    def.measure_scores = true;
    InterestManager manager = make(def);
    for (std::uint32_t i = 0; i < 6; ++i) spawn(manager, i, static_cast<float>(2 * i));
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(manager.despawn(id(1)) == Status::ok);
    CHECK(manager.despawn(id(2)) == Status::ok);
    const EntityId again = make_entity_id(2, 2);
    CHECK(manager.spawn({.id = again, .position = {4, 0, 0}}) == again);
    spawn(manager, 20, 2);  // at the position of a despawned entity
    put(manager, 3, 500);
    CHECK(manager.deny(observer, id(4), true) == Status::ok);
    const Scores changed = manager.changed_scores(observer);
    std::map<std::uint32_t, float> by_index;
    for (std::size_t i = 0; i < changed.entities.size(); ++i)
        by_index[changed.entities[i]] = changed.score[i];
    const auto nearness = [](float m) { return 1 - m / 40; };
    CHECK(changed.entities.size() == by_index.size());
    CHECK(by_index == std::map<std::uint32_t, float>{{0, 1},
                                                     {1, nearness(2)},
                                                     {2, nearness(4)},
                                                     {3, nearness(6)},
                                                     {4, nearness(8)},
                                                     {5, nearness(10)}});
}

TEST_CASE("interest: the relevant set lists each entity once without allocations (N46)") {
    CountedMemory memory;
    InterestManager manager =
        make({node("near", {within(Combine::add, 20)}),
              node("all flagged", {flag(Combine::add, 0)}), node("team", {same(Combine::add, 0)})});
    const Key key{1};
    for (std::uint32_t i = 0; i < 100; ++i) {
        EntityDef def;
        def.position = {static_cast<float>(i), 50, 0};
        def.flags = FlagSet(1);
        def.keys = std::span(&key, 1);
        spawn(manager, i, def);
    }
    const ObserverId observer = watch(manager, id(50));
    for (std::uint32_t i = 0; i < 100; i += 3)
        CHECK(manager.allow(observer, id(i), true) == Status::ok);
    CHECK(manager.show_to_all(id(4), true) == Status::ok);
    manager.tick();
    std::vector<int> times(100, 0);
    const std::size_t calls = memory.calls;
    manager.for_each_relevant(observer, [&](EntityId entity) { ++times[index_of(entity)]; });
    CHECK(relevant_count(internal(manager), observer) == 100);
    CHECK(memory.calls == calls);
    CHECK(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
}

TEST_CASE("interest: allow and deny are explicit overrides with a fixed precedence (N47)") {
    InterestManager manager = make(std::vector{node("near", {within(Combine::add, 10)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    spawn(manager, 2, 90);
    const ObserverId observer = watch(manager, id(0)), other = watch(manager, id(0));
    CHECK(manager.deny(observer, id(1), true) == Status::ok);
    CHECK(manager.allow(observer, id(2), true) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 2});
    CHECK(seen(manager, other) == Set{0, 1});                  // only for this observer
    CHECK(manager.deny(observer, id(2), true) == Status::ok);  // deny overrides allow
    CHECK(tick_news(manager, observer) == News{{}, {2}});
    CHECK(manager.explain(observer, id(2)).stage == Stage::denied);
    CHECK(manager.deny(observer, id(2), false) == Status::ok);
    CHECK(manager.set_hidden(id(2), true) == Status::ok);  // so does force hidden
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.explain(observer, id(2)).stage == Stage::force_hidden);
    CHECK(manager.deny(observer, id(1), false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {}});
    // Edits that cancel out within a tick cause no event.
    CHECK(manager.set_hidden(id(2), false) == Status::ok);
    CHECK(manager.allow(observer, id(2), false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{});
}

TEST_CASE("interest: a batch of override edits equals the same edits one by one") {
    SplitMix random(5);
    const auto world = [&] {
        InterestManager manager = make(std::vector{node("near", {within(Combine::add, 10)})});
        for (std::uint32_t i = 0; i < 60; ++i) spawn(manager, i, static_cast<float>(i));
        return manager;
    };
    InterestManager many = world(), single = world();
    std::vector<ObserverId> observers;
    for (std::uint32_t o = 0; o < 20; ++o) {
        observers.push_back(watch(many, id(o)));
        REQUIRE(watch(single, id(o)) == observers.back());
    }
    std::size_t relevant = 0;
    for (int round = 0; round < 100; ++round) {
        std::vector<PairEdit> edits;
        Status first = Status::ok;
        const bool allows = random.chance(0.7F);
        for (std::uint32_t n = random.below(200); n > 0; --n) {
            PairEdit edit{observers[random.below(20)], id(random.below(60)), random.chance(0.5F)};
            if (random.chance(0.02F)) edit.observer = ObserverId::none;
            if (random.chance(0.02F)) edit.entity = EntityId::none;
            if (random.chance(0.02F)) edit.entity = make_entity_id(random.below(60), 77);
            if (random.chance(0.02F)) edit.entity = make_entity_id(0xffffffffU, 7);
            edits.push_back(edit);
            const Status status = allows ? single.allow(edit.observer, edit.entity, edit.value)
                                         : single.deny(edit.observer, edit.entity, edit.value);
            if (first == Status::ok) first = status;
        }
        CHECK((allows ? many.allow(edits) : many.deny(edits)) == first);
        many.tick();
        single.tick();
        for (const ObserverId observer : observers) {
            REQUIRE(seen(many, observer) == seen(single, observer));
            relevant += seen(many, observer).size();
        }
    }
    CHECK(relevant > 10'000);
}

TEST_CASE("interest: node results combine in a declared expression (N48)") {
    // (flag 0 or flag 1) and not flag 2, each a node of its own
    NodeDef a = node("a", {flag(Combine::add, 0)}), b = node("b", {flag(Combine::add, 1)}),
            c = node("c", {flag(Combine::add, 2)});
    const auto joined = [&](Combine second, Combine third) {
        b.combine = second;
        c.combine = third;
        InterestManager manager = make({a, b, c});
        for (std::uint32_t i = 0; i < 8; ++i)
            spawn(manager, i, bound_to(5, {}, static_cast<std::uint16_t>(i)));
        const ObserverId observer = watch(manager);
        return ticked(manager, observer);
    };
    CHECK(joined(Combine::add, Combine::subtract) == Set{1, 2, 3});
    CHECK(joined(Combine::add, Combine::require) == Set{5, 6, 7});
    CHECK(joined(Combine::require, Combine::add) == Set{3, 4, 5, 6, 7});
    CHECK(joined(Combine::require, Combine::require) == Set{7});
    CHECK(joined(Combine::subtract, Combine::require) == Set{5});
}

TEST_CASE("interest: require in a node limits what the steps before it added (N48)") {
    InterestManager manager = make(std::vector{
        node("n", {within(Combine::add, 10), flag(Combine::require, 0), flag(Combine::add, 1)})});
    spawn(manager, 0, bound_to(50, {}, 1));
    spawn(manager, 1, bound_to(55, {}, 0));
    spawn(manager, 2, bound_to(90, {}, 1));
    spawn(manager, 3, bound_to(90, {}, 2));  // added after the requirement
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 3});
}

TEST_CASE("interest: a custom node reads the shared entity table and stores only ids (N49)") {
    class LeftHalf final : public CustomNode {
      public:
        void query_for(const Visibility& manager, ObserverId, std::vector<EntityId>& out) override {
            manager.entities_in({0, 0, 0}, {50, 100, 0}, out);
            out.insert(out.end(), remembered.begin(), remembered.end());
        }
        std::vector<EntityId> remembered;  ///< some of them despawned
    };
    const auto left = std::make_shared<LeftHalf>();
    InterestManager manager = make(std::vector{own_node("left", left)});
    spawn(manager, 0, 10);
    spawn(manager, 1, 50);
    spawn(manager, 2, 51);
    left->remembered = {id(0), id(7)};
    const ObserverId observer = watch(manager);
    CHECK(ticked(manager, observer) == Set{0, 1});
    put(manager, 2, 49);
    manager.tick();  // a custom node may see a move one tick later
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    CHECK(manager.despawn(id(0)) == Status::ok);
    CHECK(ticked(manager, observer) == Set{1, 2});
    const EntityId again = make_entity_id(0, 2);
    CHECK(manager.spawn({.id = again, .position = {90, 90, 0}}) == again);
    CHECK(ticked(manager, observer) == Set{1, 2});  // a stale id does not match the new entity
}

TEST_CASE("interest: a query of one entity equals membership in the relevant set (N50)") {
    InterestManager manager =
        make({node("near", {within(Combine::add, 15, 5), flag(Combine::subtract, 0)}),
              node("team", {same(Combine::add, 0)})});
    std::mt19937 random(11);
    const auto number = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    for (std::uint32_t i = 0; i < 30; ++i) spawn(manager, i, static_cast<float>(i) * 3);
    std::vector<ObserverId> observers;
    for (std::uint32_t o = 0; o < 4; ++o) observers.push_back(watch(manager, id(o * 7)));
    std::size_t relevant = 0;
    for (int tick = 0; tick < 120; ++tick) {
        for (int i = 0; i < 4; ++i) {
            const EntityId one = id(number(30));
            const ObserverId observer = observers[number(4)];
            const bool value = number(2) == 0;
            Status status = Status::ok;
            switch (number(6)) {
                case 0:
                    status = manager.set_flag(one, id_at<FlagId>(0), value);
                    break;
                case 1:
                    status = manager.deny(observer, one, value);
                    break;
                case 2:
                    status = manager.allow(observer, one, value);
                    break;
                case 3:
                    status = manager.set_key(one, id_at<KeyId>(0),
                                             Key{static_cast<std::uint16_t>(number(3))});
                    break;
                case 4:
                    status = manager.set_ready(observer, number(5) > 0);
                    break;
                default:
                    status = manager.move(one, {static_cast<float>(number(100)), 50, 0});
                    break;
            }
            CHECK(status == Status::ok);
        }
        manager.tick();
        for (const ObserverId observer : observers) {
            std::vector<EntityId> out;
            manager.relevant(observer, out);
            relevant += out.size();
            for (std::uint32_t i = 0; i < 30; ++i) {
                const bool listed = std::find(out.begin(), out.end(), id(i)) != out.end();
                REQUIRE(manager.is_relevant(observer, id(i)) == listed);
            }
            CHECK(relevant_count(internal(manager), observer) == out.size());
        }
    }
    CHECK(relevant > 1'000);
}

TEST_CASE("interest: scores are at most 1; add takes the maximum, require the minimum (N51)") {
    const auto score = [](const InterestManager& manager, ObserverId observer,
                          std::uint32_t index) {
        const EntityId one = id(index);
        float value = -1;
        manager.scores(observer, std::span(&one, 1), std::span(&value, 1));
        return value;
    };
    InterestManager manager = make(std::vector{node("near", {within(Combine::add, 8, 2)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    spawn(manager, 2, 58);
    spawn(manager, 3, 90);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(score(manager, observer, 0) == doctest::Approx(1));
    CHECK(score(manager, observer, 1) == doctest::Approx(0.75));
    put(manager, 2, 60);  // at the leave radius
    manager.tick();
    CHECK(score(manager, observer, 2) == doctest::Approx(0.5));
    CHECK(score(manager, observer, 3) == 0);
    // Two kernels score an entity at a distance of 5: 0.75 for range 10, 0.875 for range 20.
    const auto of = [&](std::vector<NodeDef> nodes) {
        InterestManager both = make(std::move(nodes));
        spawn(both, 0, 50);
        spawn(both, 1, 55);
        const ObserverId viewer = watch(both, id(0));
        both.tick();
        return score(both, viewer, 1);
    };
    const auto near = [](Combine op) { return within(op, 10); };
    const auto far = [](Combine op) { return within(op, 20); };
    CHECK(of({node("n", {near(Combine::add), far(Combine::add)})}) == doctest::Approx(0.875));
    CHECK(of({node("n", {near(Combine::add), far(Combine::require)})}) == doctest::Approx(0.75));
    CHECK(of({node("n", {far(Combine::add), near(Combine::require)})}) == doctest::Approx(0.75));
    CHECK(of({node("a", {near(Combine::add)}), node("b", {far(Combine::add)})}) ==
          doctest::Approx(0.875));
    NodeDef also = node("b", {far(Combine::add)});
    also.combine = Combine::require;
    CHECK(of({node("a", {near(Combine::add)}), also}) == doctest::Approx(0.75));
    CHECK(of({node("all", {})}) == 1);  // no kernel computes a score
}

TEST_CASE("interest: external state is evaluated again on a recheck (N52)") {
    const auto secret = std::make_shared<std::set<std::uint32_t>>();
    const auto known = make_pair_kernel(
        {.name = "secret", .reach = 1'000},
        [secret](const Pair& p) noexcept { return secret->count(index_of(p.entity())) > 0; });
    InterestManager manager = make(std::vector{node("n", {own_kernel(Combine::add, known)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 10);
    spawn(manager, 2, 90);
    const ObserverId observer = watch(manager, id(0));
    for (int i = 0; i < 3; ++i) CHECK(ticked(manager, observer).empty());
    *secret = {1};
    CHECK(tick_news(manager, observer) == News{});  // no recheck was requested
    CHECK(manager.recheck(id(1)) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {}});
    *secret = {1, 2};
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.recheck(observer) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{2}, {}});
    *secret = {};
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.recheck(node0) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1, 2}});
    CHECK(manager.recheck(node1) == Status::bad_argument);
}

TEST_CASE("interest: an entity without a position takes part in non-spatial nodes (N54)") {
    const Key key{1};
    std::vector<NodeDef> nodes{
        node("all", {}, Members::bound),
        node("team", {same(Combine::add, 0)}, Members::bound),
        node("flag", {flag(Combine::add, 0)}, Members::bound),
        node("near", {within(Combine::add, 1000)}, Members::bound),
        node("required", {flag(Combine::add, 0), within(Combine::require, 1000)}, Members::bound),
        node("removed", {flag(Combine::add, 0), within(Combine::subtract, 1)}, Members::bound),
        node("cells", {cells(1000, 1000)}, Members::bound),
        node("either", {within(Combine::add, 1000), flag(Combine::add, 0)}, Members::bound)};
    InterestManager manager = make(nodes);
    EntityDef def;
    def.keys = std::span(&key, 1);
    def.flags = FlagSet(1);
    def.position = {50, 50, 0};
    spawn(manager, 90, def);  // the observer's entity
    def.has_position = false;
    for (std::uint16_t i = 0; i < 8; ++i) {
        const NodeId own = id_at<NodeId>(i);
        def.nodes = std::span(&own, 1);
        // If the unused position counted, the entity would match everywhere.
        def.position = i == 5 ? Vec3{90, 10, 0} : Vec3{50, 50, 0};
        spawn(manager, i, def);
    }
    const ObserverId observer = watch(manager, id(90));
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 7});
    for (const char* name : {"near", "removed", "cells"}) {
        const std::uint32_t index = name[0] == 'n' ? 3 : name[0] == 'r' ? 5 : 6;
        const ExplainedNode why = explained(manager, observer, id(index), name);
        CHECK(why.is_member);
        CHECK(why.steps.back().unknown);
    }
}

}  // namespace purview::test::lines
