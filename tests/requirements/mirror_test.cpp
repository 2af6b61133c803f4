// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The interest management schemes of Mirror: stages, distance, cells, matches, teams, scenes, line
// of sight, custom schemes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "purview/extend/kernel.hpp"
#include "purview/presets.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

EntityId with_key(InterestManager& manager, std::uint32_t index, float x, std::uint16_t key) {
    const Key its{key};
    EntityDef def;
    def.position = {x, 50, 0};
    def.keys = std::span(&its, 1);
    return spawn(manager, index, def);
}

void rekey(InterestManager& manager, std::uint32_t index, std::uint16_t key) {
    CHECK(manager.set_key(id(index), id_at<KeyId>(0), Key{key}) == Status::ok);
}

/// A custom node with a list of (observer, entity) pairs. It counts its queries.
class ListedNode final : public CustomNode {
  public:
    explicit ListedNode(bool by_entity) : by_entity_(by_entity) {}
    void query_for(const Visibility&, ObserverId observer, std::vector<EntityId>& out) override {
        ++queried;
        for (const auto& [client, what] : pairs) {
            if (client == observer) out.push_back(what);
        }
    }
    void observers_for(const Visibility&, EntityId entity, std::vector<ObserverId>& out) override {
        ++queried;
        for (const auto& [client, what] : pairs) {
            if (what == entity) out.push_back(client);
        }
    }
    bool is_entity_centric() const noexcept override { return by_entity_; }
    std::vector<std::pair<ObserverId, EntityId>> pairs;
    int queried = 0;

  private:
    bool by_entity_;
};

/// The wall at x = 60 blocks sight in both directions. The bush from 20 to 30 hides its inside from
/// viewers outside.
class WallAndBush final : public RayTest {
  public:
    void test(ObserverId, std::span<const Ray> queries,
              std::span<std::uint8_t> visible) const noexcept override {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            const float a = queries[i].from.x, b = queries[i].to.x;
            const bool walled = wall_stands && (a < 60) != (b < 60);
            const bool in_bush = b >= 20 && b <= 30 && !(a >= 20 && a <= 30);
            visible[i] = !walled && !in_bush;
        }
        queried += queries.size();
    }
    bool wall_stands = true;
    mutable std::size_t queried = 0;
};

/// The Mirror preset in a small world: with its own bounds it would need a table of many cells.
Rules small_mirror() {
    Rules def = preset(Preset::mirror);
    def.max = {100, 100, 100};
    return def;
}

Kernel sight(Combine op, std::shared_ptr<const RayTest> test, float reach = 0) {
    Kernel sight = step(op, KernelType::line_of_sight);
    sight.rays = std::move(test);
    sight.enter = reach;
    return sight;
}

}  // namespace

TEST_CASE("interest: the stages of relevance apply in a fixed order (X8 M8 M9)") {
    Rules def = def_of({node("flagged", {flag(Combine::add, 0)})});
    KindRules blind;  // owning makes nothing relevant
    blind.owner_sees = false;
    def.kinds = {KindRules{}, blind};
    InterestManager manager = make(def);
    const ObserverId ready = watch(manager), unready = manager.add_observer({.is_ready = false});
    enum Bit : std::uint32_t { deny, own, hide, show, allow, explicit_only, by_node, blind_kind };
    Set expected;
    std::vector<Stage> stages;
    for (std::uint32_t i = 0; i < 256; ++i) {
        const auto has = [i](Bit bit) { return ((i >> bit) & 1U) != 0; };
        EntityDef one;
        one.position = {static_cast<float>(i % 100), 50, 0};
        one.flags = FlagSet(has(by_node) ? 1 : 0);
        one.kind = id_at<KindId>(has(blind_kind) ? 1 : 0);
        one.mode = has(explicit_only) ? EntityMode::explicit_only : EntityMode::nodes;
        spawn(manager, i, one);
        for (const ObserverId observer : {ready, unready}) {
            if (has(deny)) CHECK(manager.deny(observer, id(i), true) == Status::ok);
            if (has(allow)) CHECK(manager.allow(observer, id(i), true) == Status::ok);
        }
        if (has(own)) CHECK(manager.set_owner(id(i), ready) == Status::ok);
        if (has(hide)) CHECK(manager.set_hidden(id(i), true) == Status::ok);
        if (has(show)) CHECK(manager.show_to_all(id(i), true) == Status::ok);
        const Stage stage = has(deny)                      ? Stage::denied
                            : has(own) && !has(blind_kind) ? Stage::owned
                            : has(hide)                    ? Stage::force_hidden
                            : has(show)                    ? Stage::shown_to_all
                            : has(allow)                   ? Stage::allowed
                            : has(explicit_only)           ? Stage::explicit_only
                            : has(by_node)                 ? Stage::node
                                                           : Stage::no_node;
        stages.push_back(stage);
        if (stage == Stage::owned || stage == Stage::shown_to_all || stage == Stage::allowed ||
            stage == Stage::node) {
            expected.insert(i);
        }
    }
    CHECK(ticked(manager, ready) == expected);
    CHECK(seen(manager, unready).empty());
    for (std::uint32_t i = 0; i < 256; ++i) {
        CHECK(manager.explain(ready, id(i)).stage == stages[i]);
        CHECK(manager.explain(unready, id(i)).stage == Stage::not_ready);
    }
}

TEST_CASE("interest: a group member follows its root through the stages (X8)") {
    InterestManager manager = make(std::vector{node("near", {within(Combine::add, 10)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 90);  // the root
    spawn(manager, 2, 50);  // its member: its own position does not matter
    CHECK(manager.attach(id(2), id(1)) == Status::ok);
    const ObserverId observer = watch(manager, id(0)), owner = watch(manager);
    manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    put(manager, 1, 55);
    CHECK(tick_news(manager, observer) == News{{1, 2}, {}});
    CHECK(manager.set_hidden(id(1), true) == Status::ok);
    CHECK(manager.set_owner(id(2), owner) == Status::ok);  // owning a member shows the root, too
    CHECK(tick_news(manager, observer) == News{{}, {1, 2}});
    CHECK(seen(manager, owner) == Set{1, 2});
    CHECK(manager.deny(owner, id(1), true) == Status::ok);  // a denied root overrides all
    CHECK(ticked(manager, owner).empty());
}

TEST_CASE("interest: nodes can be enabled and disabled at run time (M3)") {
    Rules def =
        def_of({node("near", {within(Combine::add, 10)}), node("team", {same(Combine::add, 0)})});
    def.nodes[1].enabled = false;
    InterestManager manager = make(def);
    with_key(manager, 0, 50, 1);
    with_key(manager, 1, 55, 2);
    with_key(manager, 2, 99, 1);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1});
    for (int i = 0; i < 4; ++i) {
        for (NodeDef& one : def.nodes) one.enabled = !one.enabled;
        CHECK(manager.set_rules(def) == "");
        const News expected = i % 2 == 0 ? News{{2}, {1}} : News{{1}, {2}};
        CHECK(tick_news(manager, observer) == expected);  // entity 0 matches both nodes: no event
    }
    for (NodeDef& one : def.nodes) one.enabled = false;
    CHECK(manager.set_rules(def) == "");
    CHECK(ticked(manager, observer).empty());  // disabled nodes do not show everything
}

TEST_CASE("interest: a recheck of one entity reports only its differences (M5)") {
    const auto scheme = std::make_shared<ListedNode>(true);
    NodeDef own = own_node("own", scheme);
    own.dormant = true;
    InterestManager manager = make(std::vector{own});
    spawn(manager, 0, 50);
    spawn(manager, 1, 50);
    const ObserverId a = watch(manager), b = watch(manager), c = watch(manager);
    scheme->pairs = {{a, id(0)}, {b, id(0)}, {a, id(1)}};
    CHECK(manager.recheck(id(0)) == Status::ok);
    CHECK(manager.recheck(id(1)) == Status::ok);
    manager.tick();
    CHECK(manager.events().size() == 3);
    scheme->pairs = {{b, id(0)}, {c, id(0)}};
    scheme->queried = 0;
    CHECK(manager.recheck(id(0)) == Status::ok);
    manager.tick();
    CHECK(scheme->queried == 1);
    CHECK(manager.events().size() == 2);
    CHECK(news(manager, a) == News{{}, {0}});  // 1 was not rechecked: it stays
    CHECK(news(manager, b) == News{});
    CHECK(news(manager, c) == News{{0}, {}});
}

TEST_CASE("interest: no rebuild is needed, but a recheck of a node updates all of it (M6)") {
    const auto scheme = std::make_shared<ListedNode>(false);
    NodeDef own = own_node("own", scheme);
    own.dormant = true;
    InterestManager manager = make({node("near", {within(Combine::add, 10)}), own});
    for (std::uint32_t i = 0; i < 4; ++i) spawn(manager, i, 10 + static_cast<float>(i) * 20);
    const ObserverId a = watch(manager, id(0)), b = watch(manager, id(1));
    manager.tick();
    put(manager, 3, 10);
    CHECK(tick_news(manager, a) == News{{3}, {}});  // exact without a recheck
    scheme->pairs = {{a, id(2)}, {b, id(2)}};
    manager.tick();
    CHECK(manager.events().empty());
    CHECK(manager.recheck(id_at<NodeId>(1)) == Status::ok);
    manager.tick();
    CHECK(news(manager, a) == News{{2}, {}});
    CHECK(news(manager, b) == News{{2}, {}});
    CHECK(manager.recheck(id_at<NodeId>(1)) == Status::ok);
    manager.tick();
    CHECK(manager.events().empty());  // a second recheck changes nothing
}

TEST_CASE("interest: owned entities stay relevant when hidden, moved or without nodes (M8)") {
    for (const bool has_scheme : {true, false}) {
        Rules def = def_of({node("near", {within(Combine::add, 10)})});
        def.nodes[0].enabled = has_scheme;
        InterestManager manager = make(def);
        spawn(manager, 0, 50);
        spawn(manager, 1, 55);
        const ObserverId observer = watch(manager, id(0));
        CHECK(manager.set_owner(id(0), observer) == Status::ok);
        CHECK(manager.set_owner(id(1), observer) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0, 1});
        CHECK(manager.set_hidden(id(0), true) == Status::ok);
        CHECK(tick_news(manager, observer) == News{});
        put(manager, 0, 5);  // a teleport causes no leave
        CHECK(tick_news(manager, observer) == News{});
        put(manager, 1, 99);
        CHECK(tick_news(manager, observer) == News{});
        CHECK(manager.set_owner(id(1), ObserverId{}) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {1}});
    }
}

TEST_CASE("interest: hidden entities and entities shown to all bypass the nodes (M9)") {
    InterestManager manager = make(std::vector{node("near", {within(Combine::add, 10)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    spawn(manager, 2, 99);
    const ObserverId observer = watch(manager, id(0)),
                     unready = manager.add_observer({.is_ready = false});
    CHECK(manager.set_hidden(id(1), true) == Status::ok);
    CHECK(manager.show_to_all(id(2), true) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 2});
    CHECK(seen(manager, unready).empty());
    CHECK(manager.set_hidden(id(1), false) == Status::ok);
    CHECK(manager.show_to_all(id(2), false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {2}});
}

TEST_CASE("interest: distance counts from the main entity, owned ones or areas (M10 M36)") {
    const auto sees = [](Viewpoints from) {
        Kernel near = within(Combine::add, 5);
        near.view_from = from;
        InterestManager manager = make(std::vector{node("near", {near})});
        spawn(manager, 0, 10);  // Alice
        spawn(manager, 1, 50);  // her pet
        spawn(manager, 2, 11);
        spawn(manager, 3, 51);
        spawn(manager, 4, 91);
        const ObserverId alice = watch(manager, id(0));
        CHECK(manager.set_owner(id(0), alice) == Status::ok);
        CHECK(manager.set_owner(id(1), alice) == Status::ok);
        CHECK(manager.set_area(alice, 1, Area::at(Vec3{90, 50, 0})) == Status::ok);
        return ticked(manager, alice);  // always includes her own two
    };
    CHECK(sees(Viewpoints::entity) == Set{0, 1, 2});
    CHECK(sees(Viewpoints::owned) == Set{0, 1, 2, 3});
    CHECK(sees(Viewpoints::points) == Set{0, 1, 4});
    CHECK(sees(Viewpoints::entity_and_points) == Set{0, 1, 2, 4});
}

TEST_CASE("interest: the range border is inside, and an entity may have its own range (M11)") {
    Rules def = small_mirror();  // range 10, or that of the entity
    NodeDef scenery = node("scenery", {within(Combine::add, 10)}, Members::bound);
    scenery.every_ticks = 4;
    def.nodes[0].members = Members::unbound;
    def.nodes.push_back(scenery);
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    spawn(manager, 1, 60);
    const ObserverId earlier = watch(manager, id(0));
    CHECK(ticked(manager, earlier) == Set{0, 1});
    const ObserverId later = watch(manager, id(0));
    CHECK(ticked(manager, later) == Set{0, 1});
    for (int i = 0; i < 3; ++i) {
        CHECK(manager.recheck(id(1)) == Status::ok);
        put(manager, 1, 60);
        manager.tick();
        CHECK(manager.events().empty());
    }
    put(manager, 1, std::nextafter(60.0F, 61.0F));
    manager.tick();
    CHECK(manager.events().size() == 2);
    CHECK(manager.set_range(id(1), 25) == Status::ok);
    CHECK(ticked(manager, later) == Set{0, 1});
    put(manager, 1, 75);
    CHECK(ticked(manager, later) == Set{0, 1});
    put(manager, 1, 75.1F);
    CHECK(ticked(manager, later) == Set{0});
    CHECK(manager.set_range(id(1), 1e6F) == Status::bad_argument);
    // A statue is evaluated every fourth tick, a player at the same position at once.
    const std::array slow{id_at<NodeId>(1)};
    EntityDef statue;
    statue.position = {52, 50, 0};
    statue.nodes = slow;
    statue.position = {500, 50, 0};
    int late = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
        spawn(manager, 10 + i, statue);
        spawn(manager, 20 + i, 500);
    }
    manager.tick();
    for (std::uint32_t i = 0; i < 4; ++i) {
        put(manager, 10 + i, 52);
        put(manager, 20 + i, 52);
        manager.tick();
        CHECK(manager.is_relevant(later, id(20 + i)));
        late += manager.is_relevant(later, id(10 + i)) ? 0 : 1;
    }
    CHECK(late == 3);
    for (int i = 0; i < 4; ++i) manager.tick();
    CHECK(manager.is_relevant(later, id(13)));
}

TEST_CASE("interest: cells cover a 3 x 3 block of the ground plane symmetrically (M12 M13)") {
    for (const Axes axes : {Axes::xy, Axes::xz}) {
        Rules def = def_of({node("hash", {cells(10, 10)})});
        def.axes = axes;
        def.range_classes = {10, 100};
        InterestManager manager = make(def);
        const auto at = [&](float a, float b, float up) {
            return axes == Axes::xy ? Vec3{a, b, up} : Vec3{a, up, b};
        };
        std::mt19937 random(2);
        std::uniform_real_distribution<float> anywhere(0, 100);
        std::vector<ObserverId> observers;
        for (std::uint32_t i = 0; i < 40; ++i) {
            EntityDef one;
            one.position = at(anywhere(random), anywhere(random), anywhere(random));
            one.range = i % 2 == 0 ? 100.0F : 0.0F;  // cells ignore the range of an entity
            spawn(manager, i, one);
            observers.push_back(watch(manager, id(i)));
        }
        manager.tick();
        std::size_t pairs = 0;
        for (std::uint32_t o = 0; o < 40; ++o) {
            for (std::uint32_t e = 0; e < 40; ++e) {
                const Vec3 mine = manager.entity(id(o)).position(),
                           its = manager.entity(id(e)).position();
                const auto cell = [](float v) { return static_cast<int>(v / 10); };
                const float a = axes == Axes::xy ? mine.y : mine.z;
                const float b = axes == Axes::xy ? its.y : its.z;
                const bool expected =
                    std::abs(cell(mine.x) - cell(its.x)) <= 1 && std::abs(cell(a) - cell(b)) <= 1;
                REQUIRE(manager.is_relevant(observers[o], id(e)) == expected);
                pairs += expected ? 1 : 0;
            }
        }
        CHECK(pairs > 60);
        for (std::uint32_t e = 0; e < 40; ++e) {
            std::vector<ObserverId> client;
            manager.observers_of(id(e), client);
            for (const ObserverId observer : observers) {
                const bool listed =
                    std::find(client.begin(), client.end(), observer) != client.end();
                CHECK(listed == manager.is_relevant(observer, id(e)));
            }
            pairs -= client.size();
        }
        CHECK(pairs == 0);
    }
}

TEST_CASE("interest: in three dimensions a neighborhood has 27 cells (M14)") {
    Rules def = def_of({node("hash", {cells(10, 10, 1, 10)})});
    def.axes = Axes::xyz;
    InterestManager manager = make(def);
    std::uint32_t index = 0;
    for (int z = 0; z < 5; ++z) {
        for (int y = 0; y < 5; ++y) {
            for (int x = 0; x < 5; ++x) {
                EntityDef one;
                one.position = {5 + 10.0F * static_cast<float>(x),
                                5 + 10.0F * static_cast<float>(y),
                                5 + 10.0F * static_cast<float>(z)};
                spawn(manager, index++, one);
            }
        }
    }
    const ObserverId observer = watch(manager, id(62));  // in the center of all
    CHECK(ticked(manager, observer).size() == 27);
    CHECK(manager.is_relevant(observer, id(62 + 25)));
    CHECK_FALSE(manager.is_relevant(observer, id(62 + 50)));
    CHECK(manager.move(id(62), {25, 25, 35}) == Status::ok);  // up only
    manager.tick();
    CHECK(manager.is_relevant(observer, id(62 + 50)));
    CHECK_FALSE(manager.is_relevant(observer, id(62 - 25)));
}

TEST_CASE("interest: a hexagon neighborhood has seven cells, also far from the origin (M15)") {
    Kernel hexagons = step(Combine::add, KernelType::hexagons);
    hexagons.cell_size = {10, 0, 0};
    const float row = 15, column = 10 * std::sqrt(3.0F);
    for (const float far : {0.0F, 700.0F, -700.0F}) {  // 700 hexagons: 12 km away
        InterestManager manager = make(std::vector{node("hexagons", {hexagons})});
        const float x0 = far * column, y0 = far * row;
        std::uint32_t index = 0;
        for (int r = -2; r <= 2; ++r) {
            for (int q = -2; q <= 2; ++q)
                spawn(manager, index++,
                      x0 + column * (static_cast<float>(q) + 0.5F * static_cast<float>(r)),
                      y0 + row * static_cast<float>(r));
        }
        const ObserverId observer = watch(manager);
        CHECK(ticked(manager, observer).empty());
        CHECK(manager.set_viewpoint(observer, id(12)) == Status::ok);
        CHECK(ticked(manager, observer) == Set{7, 8, 11, 12, 13, 16, 17});
    }
}

TEST_CASE("interest: positions beyond the hexagon numbering are in the last hexagons") {
    Kernel hexagons = step(Combine::add, KernelType::hexagons);
    hexagons.cell_size = {0.01F, 0, 0};
    InterestManager manager = make(std::vector{node("hexagons", {hexagons})});
    constexpr float end = std::numeric_limits<float>::max();
    spawn(manager, 0, 50, 50);
    spawn(manager, 1, end, end);
    spawn(manager, 2, -end, -end);
    const ObserverId near = watch(manager, id(0)), far = watch(manager, id(1));
    manager.tick();
    CHECK(seen(manager, near) == Set{0});
    CHECK(seen(manager, far) == Set{1});
}

TEST_CASE("interest: hexagons with a depth form layers, so height counts (M15)") {
    Kernel hexagons = step(Combine::add, KernelType::hexagons);
    hexagons.cell_size = {10, 0, 5};
    Rules def = def_of({node("hexagons", {hexagons})});
    def.axes = Axes::xyz;
    InterestManager manager = make(def);
    const auto add = [&](std::uint32_t index, float z) {
        EntityDef one;
        one.position = {50, 50, z};
        spawn(manager, index, one);
    };
    add(0, 22);
    add(1, 18);  // the layer below
    add(2, 29);  // the layer above
    add(3, 31);  // two layers above
    add(4, 12);  // two layers below
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
}

TEST_CASE("interest: a match contains all entities with its number, zero is no match (M16)") {
    InterestManager manager = make(std::vector{node("match", {same(Combine::add, 0)})});
    for (std::uint32_t i = 0; i < 6; ++i)
        with_key(manager, i, 50, static_cast<std::uint16_t>(i / 2));  // 0 0 1 1 2 2
    std::vector<ObserverId> observers;
    for (std::uint32_t i = 0; i < 6; ++i) observers.push_back(watch(manager, id(i)));
    manager.tick();
    CHECK(seen(manager, observers[0]).empty());  // not even itself
    CHECK(seen(manager, observers[2]) == Set{2, 3});
    CHECK(seen(manager, observers[4]) == Set{4, 5});
    rekey(manager, 3, 2);
    manager.tick();
    CHECK(news(manager, observers[2]) == News{{}, {3}});
    CHECK(news(manager, observers[3]) == News{{4, 5}, {2}});
    CHECK(news(manager, observers[4]) == News{{3}, {}});
    rekey(manager, 2, 0);  // the match is empty now
    manager.tick();
    CHECK(seen(manager, observers[2]).empty());
    rekey(manager, 5, 1);  // and has a member again
    CHECK(ticked(manager, observers[5]) == Set{5});
    Rules near;  // evaluated lane by lane
    near.nodes = {node("near, of my match", {within(Combine::add, 10), same(Combine::require, 0)})};
    CHECK(manager.set_rules(near) == "");
    manager.tick();
    CHECK(seen(manager, observers[0]).empty());
    CHECK(seen(manager, observers[4]) == Set{3, 4});
}

TEST_CASE("interest: unbound entities are seen by all, those of an empty team by none (M17)") {
    InterestManager manager = make({node("no team", {}, Members::unbound),
                                    node("team", {same(Combine::add, 0)}, Members::bound)});
    const std::array team{id_at<NodeId>(1)};
    const auto of_team = [&](std::uint32_t index, std::uint16_t number) {
        const Key key{number};
        EntityDef def;
        def.keys = std::span(&key, 1);
        def.nodes = team;
        spawn(manager, index, def);
    };
    spawn(manager, 0, 50);
    of_team(1, 1);
    of_team(2, 2);
    of_team(3, 0);
    of_team(4, 2);
    CHECK(manager.show_to_all(id(4), true) == Status::ok);
    const ObserverId one = watch(manager, id(1)), none = watch(manager, id(3));
    manager.tick();
    CHECK(seen(manager, one) == Set{0, 1, 4});
    CHECK(seen(manager, none) == Set{0, 4});
    rekey(manager, 2, 1);
    CHECK(tick_news(manager, one) == News{{2}, {}});
}

TEST_CASE("interest: scenes are instances and can be combined with a distance (M18 M19)") {
    InterestManager scenes = make(std::vector{node("scene", {same(Combine::add, 0)})});
    InterestManager both =
        make(std::vector{node("scene", {within(Combine::add, 10), same(Combine::require, 0)})});
    // Scenes 1 and 2 are two instances of the same dungeon.
    for (InterestManager* manager : {&scenes, &both}) {
        with_key(*manager, 0, 50, 1);
        with_key(*manager, 1, 50, 2);
        with_key(*manager, 2, 55, 1);
        with_key(*manager, 3, 90, 1);
    }
    const ObserverId first = watch(scenes, id(0)), second = watch(scenes, id(1));
    scenes.tick();
    CHECK(seen(scenes, first) == Set{0, 2, 3});
    CHECK(seen(scenes, second) == Set{1});
    rekey(scenes, 2, 2);
    scenes.tick();
    CHECK(news(scenes, first) == News{{}, {2}});
    CHECK(news(scenes, second) == News{{2}, {}});
    const ObserverId near = watch(both, id(0));
    CHECK(ticked(both, near) == Set{0, 2});
    rekey(both, 2, 2);  // near, in another scene
    put(both, 3, 60);   // same scene, now near
    CHECK(tick_news(both, near) == News{{3}, {2}});
    rekey(both, 0, 2);  // the observer follows
    CHECK(ticked(both, near) == Set{0, 1, 2});
}

TEST_CASE("interest: spawns and despawns are evaluated in the tick, never before (M20)") {
    const auto scheme = std::make_shared<ListedNode>(true);
    NodeDef own = own_node("own", scheme);
    own.dormant = true;  // queried only about noted entities
    InterestManager manager = make(std::vector{own});
    const ObserverId observer = watch(manager);
    manager.tick();
    scheme->queried = 0;
    scheme->pairs = {{observer, id(0)}, {observer, id(1)}};
    spawn(manager, 0, 50);
    spawn(manager, 1, 50);
    CHECK(scheme->queried == 0);
    CHECK_FALSE(manager.is_relevant(observer, id(0)));
    CHECK(tick_news(manager, observer) == News{{0, 1}, {}});
    CHECK(scheme->queried == 2);
    CHECK(manager.despawn(id(0)) == Status::ok);
    CHECK(scheme->queried == 2);
    CHECK(tick_news(manager, observer) == News{{}, {0}});
    CHECK(scheme->queried == 2);  // no queries about entities that stay
    CHECK(tick_news(manager, observer) == News{});
    CHECK(scheme->queried == 2);
}

TEST_CASE("interest: one sight test handles walls and bushes (M28 M38)") {
    const auto world = std::make_shared<WallAndBush>();
    InterestManager manager =
        make(std::vector{node("seen", {within(Combine::add, 60), sight(Combine::require, world)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    spawn(manager, 2, 65);  // behind the wall
    spawn(manager, 3, 25);  // in the bush
    spawn(manager, 4, 10);  // beyond the bush
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1, 4});
    put(manager, 2, 59);
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 4});
    put(manager, 0, 28);  // into the bush with entity 3
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 3, 4});
    put(manager, 0, 70);  // behind the wall
    CHECK(ticked(manager, observer) == Set{0});
    // The wall is removed. No entity moved, but evaluation in every tick detects it.
    world->wall_stands = false;
    for (int i = 0; i < 3; ++i) manager.tick();
    CHECK(seen(manager, observer) == Set{0, 1, 2, 4});
}

TEST_CASE("interest: predicted sight shows an entity behind a corner early (M28)") {
    const auto world = std::make_shared<WallAndBush>();
    const auto ticks_to_see = [&](bool predicts) {
        Kernel seen_by = sight(Combine::require, world);
        seen_by.predicts_sight = predicts;
        InterestManager manager =
            make(std::vector{node("seen", {within(Combine::add, 60), seen_by})});
        spawn(manager, 0, 50);
        spawn(manager, 1, 70);
        const ObserverId observer = watch(manager, id(0));
        CHECK(manager.set_velocity(id(1), {-10, 0, 0}) == Status::ok);
        CHECK(manager.set_lookahead(observer, 0.5F) == Status::ok);
        int ticks = 0;
        for (float x = 70; !manager.is_relevant(observer, id(1)); x -= 1, ++ticks) {
            put(manager, 1, x);
            manager.tick();
            REQUIRE(ticks < 30);
        }
        return ticks;
    };
    CHECK(ticks_to_see(false) == 12);  // at 59
    CHECK(ticks_to_see(true) == 7);    // at 64: five ticks of 0.1 s earlier
}

TEST_CASE("interest: a team shares its view, and rooms show adjacent rooms (M28)") {
    // A team shares its view by areas that follow its members.
    InterestManager manager =
        make({node("near", {within(Combine::add, 10)}), node("rooms", {same(Combine::add, 1)})});
    spawn(manager, 0, 10);
    spawn(manager, 1, 50);
    spawn(manager, 2, 55);
    const ObserverId observer = watch(manager, id(0));
    Area eyes;
    CHECK(manager.set_area(observer, 1, eyes.following(id(1))) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    put(manager, 1, 90);
    CHECK(ticked(manager, observer) == Set{0, 1});
    // A room is a key. An observer in a doorway has the keys of two rooms.
    const std::array<Key, 2> in_hall{Key{0}, Key{7}}, in_crypt{Key{0}, Key{8}};
    EntityDef bat;
    bat.position = {99, 99, 0};
    bat.keys = in_hall;
    spawn(manager, 3, bat);
    bat.keys = in_crypt;
    spawn(manager, 4, bat);
    CHECK(manager.set_key(id(0), id_at<KeyId>(1), Key{7}) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1, 3});
    CHECK(manager.add_key(observer, id_at<KeyId>(1), Key{8}) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{4}, {}});
    CHECK(manager.remove_key(observer, id_at<KeyId>(1), Key{8}) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {4}});
}

TEST_CASE("interest: a new manager has no state of an earlier one with the same rules (M29)") {
    const auto scheme = std::make_shared<ListedNode>(false);
    Rules def = def_of({node("near", {within(Combine::add, 10, 10)}), own_node("own", scheme)});
    for (int run = 0; run < 2; ++run) {
        InterestManager manager = make(def);
        spawn(manager, 0, 50);
        spawn(manager, 1, 65);  // between enter and leave range: not relevant at first
        spawn(manager, 2, 99);
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{0});
        CHECK(manager.allow(observer, id(2), true) == Status::ok);
        CHECK(manager.set_hidden(id(0), true) == Status::ok);
        put(manager, 1, 55);
        CHECK(ticked(manager, observer) == Set{1, 2});
        put(manager, 1, 65);
        CHECK(ticked(manager, observer) == Set{1, 2});
        scheme->pairs = {{observer, id(1)}};
        manager.tick();
        scheme->pairs.clear();
    }
}

TEST_CASE("interest: a radius can be tried and changed on a running server (M30)") {
    Rules def = def_of({node("near", {within(Combine::add, 10)})});
    InterestManager manager = make(def);
    for (std::uint32_t i = 0; i < 10; ++i) spawn(manager, i, static_cast<float>(i) * 10);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1});
    std::size_t known = 2;
    for (const float radius : {35.0F, 90.0F, 5.0F, 10.0F}) {
        def.nodes[0].steps = {within(Combine::add, radius)};
        const RuleTrial trial = manager.try_rules(def);
        manager.tick();
        CHECK(manager.events().empty());  // a trial changes nothing
        CHECK(manager.set_rules(def) == "");
        const News now = tick_news(manager, observer);
        CHECK(now.in.size() == trial.gains.size());
        CHECK(now.out.size() == trial.losses.size());
        known = known + now.in.size() - now.out.size();
        CHECK(seen(manager, observer).size() == known);
        CHECK(known == static_cast<std::size_t>(radius / 10) + 1);
    }
    def.nodes[0].steps = {within(Combine::add, -1)};
    CHECK(manager.set_rules(def) != "");
    CHECK(tick_news(manager, observer) == News{});
}

TEST_CASE("interest: a custom node can set single pairs and is not queried then (M31)") {
    for (const bool by_entity : {false, true}) {
        const auto scheme = std::make_shared<ListedNode>(by_entity);
        NodeDef own = own_node("own", scheme);
        own.dormant = true;
        InterestManager manager = make({own, node("near", {within(Combine::add, 10)})});
        for (std::uint32_t i = 0; i < 50; ++i) spawn(manager, i, 90, 90);
        const ObserverId observer = watch(manager), other = watch(manager);
        manager.tick();
        const int queried = scheme->queried;
        const auto pair = [&](std::uint32_t index, bool value) {
            return manager.set_node_pair(id_at<NodeId>(0), observer, id(index), value);
        };
        for (std::uint32_t i = 0; i < 50; i += 5) {
            CHECK(pair(i, true) == Status::ok);
            CHECK(pair(i, true) == Status::ok);  // a repeated edit has no effect
        }
        manager.tick();
        CHECK(manager.events().size() == 10);
        CHECK(seen(manager, other).empty());
        CHECK(pair(5, false) == Status::ok);
        CHECK(pair(10, false) == Status::ok);
        CHECK(pair(10, true) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {5}});
        CHECK(scheme->queried == queried);
        CHECK(manager.set_node_pair(id_at<NodeId>(1), observer, id(0), true) ==
              Status::bad_argument);
        CHECK(pair(77, true) == Status::stale_id);
    }
}

TEST_CASE("interest: a player sees itself, forced entities and those in range (M33)") {
    for (const bool initial : {true, false}) {
        InterestManager manager = make(std::vector{node("near", {within(Combine::add, 10)})});
        spawn(manager, 0, 50);
        ObserverId observer{};
        if (!initial) {
            observer = watch(manager, id(0));
            CHECK(ticked(manager, observer) == Set{0});
        }
        spawn(manager, 1, 55);
        spawn(manager, 2, 65);
        spawn(manager, 3, 55);
        spawn(manager, 4, 99);
        CHECK(manager.set_hidden(id(3), true) == Status::ok);
        CHECK(manager.show_to_all(id(4), true) == Status::ok);
        if (initial) observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{0, 1, 4});
        CHECK(tick_news(manager, observer) == News{});
    }
}

TEST_CASE("interest: a custom node can list the observers of an entity (M34)") {
    const auto by_entity = std::make_shared<ListedNode>(true),
               by_observer = std::make_shared<ListedNode>(false);
    InterestManager one = make(std::vector{own_node("own", by_entity)}),
                    other = make(std::vector{own_node("own", by_observer)});
    std::vector<ObserverId> observers;
    for (std::uint32_t i = 0; i < 8; ++i) {
        spawn(one, i, 50);
        spawn(other, i, 50);
        observers.push_back(watch(one));
        CHECK(watch(other) == observers.back());
    }
    std::mt19937 random(6);
    std::size_t reported = 0;
    for (int tick = 0; tick < 50; ++tick) {
        by_entity->pairs.clear();
        for (int i = 0; i < 20; ++i)  // some pairs twice
            by_entity->pairs.emplace_back(observers[random() % 8], id(random() % 8));
        by_observer->pairs = by_entity->pairs;
        one.tick();
        other.tick();
        const std::set<std::pair<ObserverId, EntityId>> pairs(by_entity->pairs.begin(),
                                                              by_entity->pairs.end());
        for (const ObserverId observer : observers) {
            REQUIRE(news(one, observer) == news(other, observer));
            for (std::uint32_t i = 0; i < 8; ++i)
                REQUIRE(one.is_relevant(observer, id(i)) == (pairs.count({observer, id(i)}) == 1));
        }
        reported += one.events().size();
    }
    CHECK(reported > 500);
}

TEST_CASE("interest: fractional ranges are exact (M35)") {
    for (const float range : {1.234F, 0.1F, 7.7777F}) {
        Rules def = def_of({node("near", {within(Combine::add, range)})});
        InterestManager manager = make(def);
        spawn(manager, 0, 0, 0);
        spawn(manager, 1, range, 0);
        spawn(manager, 2, std::nextafter(range, 100.0F), 0);
        spawn(manager, 3, 0, std::nextafter(range, 0.0F));
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{0, 1, 3});
    }
    Rules def = small_mirror();
    InterestManager manager = make(def);
    spawn(manager, 0, 0, 0);
    spawn(manager, 1, 1.234F, 0);
    CHECK(manager.set_range(id(1), 1.234F) == Status::ok);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1});
    put(manager, 1, 1.2341F, 0);
    CHECK(ticked(manager, observer) == Set{0});
}

TEST_CASE("interest: no rules show everything, the Mirror preset uses distance (M37)") {
    InterestManager plain = make(Rules{});
    InterestManager exact = make(small_mirror());
    for (InterestManager* manager : {&plain, &exact}) {
        spawn(*manager, 0, 50);
        spawn(*manager, 1, 60);
        spawn(*manager, 2, 60.01F);
        spawn(*manager, 3, 1e7F);
    }
    const ObserverId all = watch(plain);
    CHECK(ticked(plain, all) == Set{0, 1, 2, 3});
    const ObserverId spectator = watch(exact), player = watch(exact, id(0));
    exact.tick();
    CHECK(seen(exact, player) == Set{0, 1});
    CHECK(seen(exact, spectator).empty());
    CHECK(exact.show_to_all(id(3), true) == Status::ok);
    exact.tick();
    CHECK(seen(exact, spectator).empty());  // not ready without an entity
    CHECK(seen(exact, player) == Set{0, 1, 3});
}

TEST_CASE("interest: an entity adds nodes to those of its kind or replaces them (X5)") {
    const auto secret = std::make_shared<bool>(false);
    const auto hidden = make_pair_kernel({.name = "hidden", .reach = 1'000},
                                         [secret](const Pair&) noexcept { return *secret; });
    Rules def = def_of({node("near", {within(Combine::add, 10)}, Members::bound),
                        node("hidden", {own_kernel(Combine::add, hidden)}, Members::bound)});
    KindRules kind;
    kind.nodes = {id_at<NodeId>(0)};
    def.kinds = {kind};
    InterestManager manager = make(def);
    const std::array own{id_at<NodeId>(1)};
    EntityDef one;
    one.kind = id_at<KindId>(0);
    one.position = {55, 50, 0};
    spawn(manager, 1, one);  // the node of its kind
    one.nodes = own;
    spawn(manager, 2, one);  // and its own node
    one.replaces_kind_nodes = true;
    spawn(manager, 3, one);  // its own node instead
    one.nodes = {};
    spawn(manager, 4, one);  // no node, and there is no default node
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{1, 2});
    for (int way = 0; way < 3; ++way) {
        *secret = way % 2 == 0;
        const Status queried = way == 0   ? manager.recheck(id(3))
                               : way == 1 ? manager.recheck(observer)
                                          : manager.recheck(id_at<NodeId>(1));
        CHECK(queried == Status::ok);
        CHECK(ticked(manager, observer) == (*secret ? Set{1, 2, 3} : Set{1, 2}));
    }
}

TEST_CASE("interest: the minimum relevance time delays leaves, but not denials (X10)") {
    Rules def = def_of({node("near", {within(Combine::add, 10)})});
    def.nodes[0].steps[0].range = RangeFrom::entity;
    def.range_classes = {10, 50};
    def.minimum_relevance_ticks = 5;
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    spawn(manager, 2, 55);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    put(manager, 1, 90);
    CHECK(manager.deny(observer, id(2), true) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {2}});  // without a delay
    CHECK(manager.explain(observer, id(1)).held);
    int stayed = 1;
    while (manager.tick(), manager.is_relevant(observer, id(1))) REQUIRE(++stayed < 10);
    CHECK(stayed >= 4);
    CHECK(stayed <= 5);
    CHECK(manager.set_range(id(1), 40) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.set_range(id(1), 0) == Status::ok);  // the range of the rule again
    for (int i = 0; i < 6; ++i) manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    put(manager, 0, -5'000);
    put(manager, 1, -5'006);
    CHECK(ticked(manager, observer) == Set{0, 1});
    // An owned child makes its parent relevant at any distance.
    spawn(manager, 5, 50);
    spawn(manager, 6, 50);
    CHECK(manager.attach(id(6), id(5)) == Status::ok);
    CHECK(manager.set_owner(id(6), observer) == Status::ok);
    manager.tick();
    REQUIRE(news(manager, observer).in == Set{5, 6});
    CHECK(manager.events(observer)[0].entity == id(5));  // parents first
}

}  // namespace purview::test::lines
