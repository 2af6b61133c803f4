// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Schemes as interest management knows them, line by line: stages, distance, cells, matches, teams,
// scenes, sight, schemes of one's own.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "purview/presets.hpp"
#include "purview/sight.hpp"
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
    CHECK(manager.set_key(id(index), KeyId{0}, Key{key}) == Status::ok);
}

/// Lists of pairs, in either direction, and how often it was asked for them.
class ListedNode final : public CustomNode {
  public:
    explicit ListedNode(bool by_entity) : by_entity_(by_entity) {}
    void query_for(const Visibility&, ObserverId observer, std::vector<EntityId>& out) override {
        ++asked;
        for (const auto& [who, what] : pairs) {
            if (who == observer) out.push_back(what);
        }
    }
    void observers_for(const Visibility&, EntityId entity, std::vector<ObserverId>& out) override {
        ++asked;
        for (const auto& [who, what] : pairs) {
            if (what == entity) out.push_back(who);
        }
    }
    bool is_entity_centric() const noexcept override { return by_entity_; }
    std::vector<std::pair<ObserverId, EntityId>> pairs;
    int asked = 0;

  private:
    bool by_entity_;
};

/// Nothing is seen across the wall at x = 60, nor into or out of the bush from 20 to 30.
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
        asked += queries.size();
    }
    bool wall_stands = true;
    mutable std::size_t asked = 0;
};

/// The profile in a small world: three dimensions of its own size are a table of many cells.
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

TEST_CASE(
    "interest: the fixed stages in their order, over every combination of them: not ready, denied, "
    "owned, hidden, shown, allowed, explicit, nodes (X8 M8 M9)") {
    Rules def = def_of({node("flagged", {flag(Combine::add, 0)})});
    KindRules blind;  // its owners see nothing by owning
    blind.owner_sees = false;
    def.kinds = {KindRules{}, blind};
    InterestManager manager = make(def);
    const ObserverId ready = watch(manager), unready = manager.add_observer({.is_ready = false});
    enum Bit : std::uint32_t { deny, own, hide, show, allow, explicit_only, by_node, blind_kind };
    Set expected;
    std::vector<Stage> stages;
    for (std::uint32_t i = 0; i < 256; ++i) {
        const auto is = [i](Bit bit) { return ((i >> bit) & 1U) != 0; };
        EntityDef one;
        one.position = {static_cast<float>(i % 100), 50, 0};
        one.flags = FlagSet(is(by_node) ? 1 : 0);
        one.kind = KindId{static_cast<std::uint16_t>(is(blind_kind) ? 1 : 0)};
        one.mode = is(explicit_only) ? EntityMode::explicit_only : EntityMode::nodes;
        spawn(manager, i, one);
        for (const ObserverId observer : {ready, unready}) {
            if (is(deny)) CHECK(manager.deny(observer, id(i), true) == Status::ok);
            if (is(allow)) CHECK(manager.allow(observer, id(i), true) == Status::ok);
        }
        if (is(own)) CHECK(manager.set_owner(id(i), ready) == Status::ok);
        if (is(hide)) CHECK(manager.set_hidden(id(i), true) == Status::ok);
        if (is(show)) CHECK(manager.show_to_all(id(i), true) == Status::ok);
        const Stage stage = is(deny)                     ? Stage::denied
                            : is(own) && !is(blind_kind) ? Stage::owned
                            : is(hide)                   ? Stage::force_hidden
                            : is(show)                   ? Stage::shown_to_all
                            : is(allow)                  ? Stage::allowed
                            : is(explicit_only)          ? Stage::explicit_only
                            : is(by_node)                ? Stage::node
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

TEST_CASE(
    "interest: a member of a group follows its root through the stages, but for what is its own "
    "(X8)") {
    InterestManager manager = make(std::vector{node("near", {within(Combine::add, 10)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 90);  // the root
    spawn(manager, 2, 50);  // its member: where it stands by itself does not matter
    CHECK(manager.attach(id(2), id(1)) == Status::ok);
    const ObserverId observer = watch(manager, id(0)), owner = watch(manager);
    manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    put(manager, 1, 55);
    CHECK(tick_news(manager, observer) == News{{1, 2}, {}});
    CHECK(manager.set_hidden(id(1), true) == Status::ok);
    CHECK(manager.set_owner(id(2), owner) == Status::ok);  // owns a member: the root comes along
    CHECK(tick_news(manager, observer) == News{{}, {1, 2}});
    CHECK(seen(manager, owner) == Set{1, 2});
    CHECK(manager.deny(owner, id(1), true) == Status::ok);  // a denied root wins over everything
    CHECK(ticked(manager, owner).empty());
}

TEST_CASE("interest: one scheme is in force, and schemes are switched while running (M3)") {
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
        CHECK(tick_news(manager, observer) == expected);  // who sees 0 by both hears nothing
    }
    for (NodeDef& one : def.nodes) one.enabled = false;
    CHECK(manager.set_rules(def) == "");
    CHECK(ticked(manager, observer).empty());  // switched off is not switched to everything
}

TEST_CASE("interest: looking at one entity again tells the difference, and nothing else (M5)") {
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
    scheme->asked = 0;
    CHECK(manager.recheck(id(0)) == Status::ok);
    manager.tick();
    CHECK(scheme->asked == 1);
    CHECK(manager.events().size() == 2);
    CHECK(news(manager, a) == News{{}, {0}});  // 1 was not looked at: it stays
    CHECK(news(manager, b) == News{});
    CHECK(news(manager, c) == News{{0}, {}});
}

TEST_CASE("interest: nobody has to ask for a rebuild, and whoever wants one gets all of it (M6)") {
    const auto scheme = std::make_shared<ListedNode>(false);
    NodeDef own = own_node("own", scheme);
    own.dormant = true;
    InterestManager manager = make({node("near", {within(Combine::add, 10)}), own});
    for (std::uint32_t i = 0; i < 4; ++i) spawn(manager, i, 10 + static_cast<float>(i) * 20);
    const ObserverId a = watch(manager, id(0)), b = watch(manager, id(1));
    manager.tick();
    put(manager, 3, 10);
    CHECK(tick_news(manager, a) == News{{3}, {}});  // exact, without a call
    scheme->pairs = {{a, id(2)}, {b, id(2)}};
    manager.tick();
    CHECK(manager.events().empty());
    CHECK(manager.recheck(NodeId{1}) == Status::ok);
    manager.tick();
    CHECK(news(manager, a) == News{{2}, {}});
    CHECK(news(manager, b) == News{{2}, {}});
    CHECK(manager.recheck(NodeId{1}) == Status::ok);
    manager.tick();
    CHECK(manager.events().empty());  // once more is the same
}

TEST_CASE(
    "interest: an owner keeps sight of his own, through hiding, jumps and a lack of schemes "
    "(M8)") {
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
        put(manager, 0, 5);  // a teleport: not even for a tick
        CHECK(tick_news(manager, observer) == News{});
        put(manager, 1, 99);
        CHECK(tick_news(manager, observer) == News{});
        CHECK(manager.set_owner(id(1), ObserverId{}) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {1}});
    }
}

TEST_CASE("interest: force hidden skips the schemes, force shown passes them by (M9)") {
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

TEST_CASE(
    "interest: distance counts from the main entity: from all that is owned, or from areas, where "
    "rules say so (M10 M36)") {
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
        return ticked(manager, alice);  // her own two in any case
    };
    CHECK(sees(Viewpoints::entity) == Set{0, 1, 2});
    CHECK(sees(Viewpoints::owned) == Set{0, 1, 2, 3});
    CHECK(sees(Viewpoints::points) == Set{0, 1, 4});
    CHECK(sees(Viewpoints::entity_and_points) == Set{0, 1, 2, 4});
}

TEST_CASE(
    "interest: exactly at the range is inside, for whoever joins and for whoever was there: an "
    "entity may have a range of its own, and static ones their own cadence (M11)") {
    Rules def = small_mirror();  // 10, or what the entity says
    NodeDef scenery = node("scenery", {within(Combine::add, 10)}, Members::bound);
    scenery.every_ticks = 4;
    def.nodes[0].members = Members::unbound;
    def.nodes.push_back(scenery);
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    spawn(manager, 1, 60);
    const ObserverId was_there = watch(manager, id(0));
    CHECK(ticked(manager, was_there) == Set{0, 1});
    const ObserverId joins = watch(manager, id(0));
    CHECK(ticked(manager, joins) == Set{0, 1});
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
    CHECK(ticked(manager, joins) == Set{0, 1});
    put(manager, 1, 75);
    CHECK(ticked(manager, joins) == Set{0, 1});
    put(manager, 1, 75.1F);
    CHECK(ticked(manager, joins) == Set{0});
    CHECK(manager.set_range(id(1), 1e6F) == Status::bad_argument);
    // A statue is looked at every fourth tick; a player of the same place at once.
    const std::array slow{NodeId{1}};
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
        CHECK(manager.is_relevant(joins, id(20 + i)));
        late += manager.is_relevant(joins, id(10 + i)) ? 0 : 1;
    }
    CHECK(late == 3);
    for (int i = 0; i < 4; ++i) manager.tick();
    CHECK(manager.is_relevant(joins, id(13)));
}

TEST_CASE(
    "interest: hashing is one's own cell and the eight around it, on the ground plane that is "
    "chosen: who sees whom is the same asked from either side (M12 M13)") {
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
            one.range = i % 2 == 0 ? 100.0F : 0.0F;  // one range for all: it does not matter
            spawn(manager, i, one);
            observers.push_back(watch(manager, id(i)));
        }
        manager.tick();
        std::size_t pairs = 0;
        for (std::uint32_t o = 0; o < 40; ++o) {
            for (std::uint32_t e = 0; e < 40; ++e) {
                const Vec3 mine = manager.position(id(o)), its = manager.position(id(e));
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
            std::vector<ObserverId> who;
            manager.observers_of(id(e), who);
            for (const ObserverId observer : observers) {
                const bool listed = std::find(who.begin(), who.end(), observer) != who.end();
                CHECK(listed == manager.is_relevant(observer, id(e)));
            }
            pairs -= who.size();
        }
        CHECK(pairs == 0);
    }
}

TEST_CASE("interest: in three dimensions it is 27 cells, and height counts (M14)") {
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
    const ObserverId observer = watch(manager, id(62));  // the middle of all
    CHECK(ticked(manager, observer).size() == 27);
    CHECK(manager.is_relevant(observer, id(62 + 25)));
    CHECK_FALSE(manager.is_relevant(observer, id(62 + 50)));
    CHECK(manager.move(id(62), {25, 25, 35}) == Status::ok);  // up, and nothing else
    manager.tick();
    CHECK(manager.is_relevant(observer, id(62 + 50)));
    CHECK_FALSE(manager.is_relevant(observer, id(62 - 25)));
}

TEST_CASE(
    "interest: hexagons are seven, also far away from the middle of the world: an observer that is "
    "nowhere sees none (M15)") {
    Kernel hexagons = step(Combine::add, KernelType::hexagons);
    hexagons.cell_size = {10, 0, 0};
    const float row = 15, column = 10 * std::sqrt(3.0F);
    for (const float far : {0.0F, 700.0F, -700.0F}) {  // hexagons away: 12 km
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

TEST_CASE("interest: hexagons of places that are too far to be numbered are their last ones") {
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

TEST_CASE("interest: hexagons with a depth are columns of it: height counts (M15)") {
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
    add(3, 31);  // two above
    add(4, 12);  // two below
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
}

TEST_CASE(
    "interest: of a match is whoever has the same number, and none is the match of nobody: a "
    "change is told in the old match and in the new one (M16)") {
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
    rekey(manager, 5, 1);  // and begins again
    CHECK(ticked(manager, observers[5]) == Set{5});
    Rules near;  // asked lane by lane
    near.nodes = {node("near, of my match", {within(Combine::add, 10), same(Combine::require, 0)})};
    CHECK(manager.set_rules(near) == "");
    manager.tick();
    CHECK(seen(manager, observers[0]).empty());
    CHECK(seen(manager, observers[4]) == Set{3, 4});
}

TEST_CASE(
    "interest: who has no team at all is seen by everybody, who has an empty one by nobody, and "
    "who is shown to all by all (M17)") {
    InterestManager manager = make({node("no team", {}, Members::unbound),
                                    node("team", {same(Combine::add, 0)}, Members::bound)});
    const std::array team{NodeId{1}};
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

TEST_CASE(
    "interest: scenes are instances, not names: whoever goes to another is told of in both, and "
    "may have to be near as well (M18 M19)") {
    InterestManager scenes = make(std::vector{node("scene", {same(Combine::add, 0)})});
    InterestManager both =
        make(std::vector{node("scene", {within(Combine::add, 10), same(Combine::require, 0)})});
    // Scenes 1 and 2 are the same dungeon, made twice.
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
    rekey(both, 2, 2);  // near, not there
    put(both, 3, 60);   // there, and near now
    CHECK(tick_news(both, near) == News{{3}, {2}});
    rekey(both, 0, 2);  // the observer goes after it
    CHECK(ticked(both, near) == Set{0, 1, 2});
}

TEST_CASE(
    "interest: spawns and despawns are noted, and looked at in the tick, never before "
    "(M20)") {
    const auto scheme = std::make_shared<ListedNode>(true);
    NodeDef own = own_node("own", scheme);
    own.dormant = true;  // asked only about what is noted
    InterestManager manager = make(std::vector{own});
    const ObserverId observer = watch(manager);
    manager.tick();
    scheme->asked = 0;
    scheme->pairs = {{observer, id(0)}, {observer, id(1)}};
    spawn(manager, 0, 50);
    spawn(manager, 1, 50);
    CHECK(scheme->asked == 0);
    CHECK_FALSE(manager.is_relevant(observer, id(0)));
    CHECK(tick_news(manager, observer) == News{{0, 1}, {}});
    CHECK(scheme->asked == 2);
    CHECK(manager.despawn(id(0)) == Status::ok);
    CHECK(scheme->asked == 2);
    CHECK(tick_news(manager, observer) == News{{}, {0}});
    CHECK(scheme->asked == 2);  // not for those who stay
    CHECK(tick_news(manager, observer) == News{});
    CHECK(scheme->asked == 2);
}

TEST_CASE(
    "interest: behind a wall is not seen, in a bush is not seen from outside, and both are the "
    "business of one test (M28 M38)") {
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
    put(manager, 0, 28);  // into the bush, where the other one is
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 3, 4});
    put(manager, 0, 70);  // behind the wall
    CHECK(ticked(manager, observer) == Set{0});
    // The wall falls: no entity moved, but who looks again every tick finds out.
    world->wall_stands = false;
    for (int i = 0; i < 3; ++i) manager.tick();
    CHECK(seen(manager, observer) == Set{0, 1, 2, 4});
}

TEST_CASE(
    "interest: whoever runs towards a corner is told of who is behind it a ping early "
    "(M28)") {
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
    CHECK(ticks_to_see(true) == 7);    // at 64: five ticks of a tenth of a second before
}

TEST_CASE(
    "interest: a team sees what is near any of its members: rooms show who is in them and in the "
    "next (M28)") {
    // The eyes of a team are areas that follow its members.
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
    // A room is a key; through a door one belongs to two.
    const std::array<Key, 2> in_hall{Key{0}, Key{7}}, in_crypt{Key{0}, Key{8}};
    EntityDef bat;
    bat.position = {99, 99, 0};
    bat.keys = in_hall;
    spawn(manager, 3, bat);
    bat.keys = in_crypt;
    spawn(manager, 4, bat);
    CHECK(manager.set_key(id(0), KeyId{1}, Key{7}) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1, 3});
    CHECK(manager.add_key(observer, KeyId{1}, Key{8}) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{4}, {}});
    CHECK(manager.remove_key(observer, KeyId{1}, Key{8}) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {4}});
}

TEST_CASE(
    "interest: what one manager remembered is not known to the next with the same rules "
    "(M29)") {
    const auto scheme = std::make_shared<ListedNode>(false);
    Rules def = def_of({node("near", {within(Combine::add, 10, 10)}), own_node("own", scheme)});
    for (int run = 0; run < 2; ++run) {
        InterestManager manager = make(def);
        spawn(manager, 0, 50);
        spawn(manager, 1, 65);  // between enter and leave: out, unless it had been in
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

TEST_CASE("interest: a radius is turned on the running server, and tried before that (M30)") {
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
        CHECK(manager.events().empty());  // trying changes nothing
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

TEST_CASE(
    "interest: a scheme that knows what changed says so pair by pair, and is asked nothing "
    "(M31)") {
    for (const bool by_entity : {false, true}) {
        const auto scheme = std::make_shared<ListedNode>(by_entity);
        NodeDef own = own_node("own", scheme);
        own.dormant = true;
        InterestManager manager = make({own, node("near", {within(Combine::add, 10)})});
        for (std::uint32_t i = 0; i < 50; ++i) spawn(manager, i, 90, 90);
        const ObserverId observer = watch(manager), other = watch(manager);
        manager.tick();
        const int asked = scheme->asked;
        const auto pair = [&](std::uint32_t index, bool value) {
            return manager.set_node_pair(NodeId{0}, observer, id(index), value);
        };
        for (std::uint32_t i = 0; i < 50; i += 5) {
            CHECK(pair(i, true) == Status::ok);
            CHECK(pair(i, true) == Status::ok);  // twice is once
        }
        manager.tick();
        CHECK(manager.events().size() == 10);
        CHECK(seen(manager, other).empty());
        CHECK(pair(5, false) == Status::ok);
        CHECK(pair(10, false) == Status::ok);
        CHECK(pair(10, true) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {5}});
        CHECK(scheme->asked == asked);
        CHECK(manager.set_node_pair(NodeId{1}, observer, id(0), true) == Status::bad_argument);
        CHECK(pair(77, true) == Status::stale_id);
    }
}

TEST_CASE(
    "interest: a player sees itself, what is forced and what is in range, from the first tick on "
    "and later (M33)") {
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

TEST_CASE(
    "interest: a scheme may list the observers of an entity: the library finds out who is new "
    "(M34)") {
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
    std::size_t told = 0;
    for (int tick = 0; tick < 50; ++tick) {
        by_entity->pairs.clear();
        for (int i = 0; i < 20; ++i)  // some of them twice
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
        told += one.events().size();
    }
    CHECK(told > 500);
}

TEST_CASE("interest: a range of 1.234 is 1.234 (M35)") {
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

TEST_CASE(
    "interest: without rules everything is told to everybody: the profile of this scheme is an "
    "exact distance, for observers with an entity (M37)") {
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

TEST_CASE(
    "interest: conditions of a kind hold for all of it: an entity adds to them, or has its own "
    "instead, and is judged anew when asked: by entity, observer or node (X5)") {
    const auto secret = std::make_shared<bool>(false);
    const auto hidden = make_pair_kernel({.name = "hidden", .reach = 1'000},
                                         [secret](const Pair&) noexcept { return *secret; });
    Rules def = def_of({node("near", {within(Combine::add, 10)}, Members::bound),
                        node("hidden", {own_kernel(Combine::add, hidden)}, Members::bound)});
    KindRules kind;
    kind.nodes = {NodeId{0}};
    def.kinds = {kind};
    InterestManager manager = make(def);
    const std::array own{NodeId{1}};
    EntityDef one;
    one.kind = KindId{0};
    one.position = {55, 50, 0};
    spawn(manager, 1, one);  // the kind's
    one.nodes = own;
    spawn(manager, 2, one);  // and its own
    one.replaces_kind_nodes = true;
    spawn(manager, 3, one);  // its own instead
    one.nodes = {};
    spawn(manager, 4, one);  // none at all: the default node's, and there is none
    spawn(manager, 0, 50);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{1, 2});
    for (int way = 0; way < 3; ++way) {
        *secret = way % 2 == 0;
        const Status asked = way == 0   ? manager.recheck(id(3))
                             : way == 1 ? manager.recheck(observer)
                                        : manager.recheck(NodeId{1});
        CHECK(asked == Status::ok);
        CHECK(ticked(manager, observer) == (*secret ? Set{1, 2, 3} : Set{1, 2}));
    }
}

TEST_CASE(
    "interest: a stay holds what nodes showed, not what is hidden: an entity's own range can be "
    "set and reset: beyond the bounds is found all the same: a child brings its parents (X10)") {
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
    CHECK(tick_news(manager, observer) == News{{}, {2}});  // at once
    CHECK(manager.explain(observer, id(1)).held);
    int stayed = 1;
    while (manager.tick(), manager.is_relevant(observer, id(1))) REQUIRE(++stayed < 10);
    CHECK(stayed >= 4);
    CHECK(stayed <= 5);
    CHECK(manager.set_range(id(1), 40) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.set_range(id(1), 0) == Status::ok);  // the rule's again
    for (int i = 0; i < 6; ++i) manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    put(manager, 0, -5'000);
    put(manager, 1, -5'006);
    CHECK(ticked(manager, observer) == Set{0, 1});
    // A child that is owned brings its parent, wherever that is.
    spawn(manager, 5, 50);
    spawn(manager, 6, 50);
    CHECK(manager.attach(id(6), id(5)) == Status::ok);
    CHECK(manager.set_owner(id(6), observer) == Status::ok);
    manager.tick();
    REQUIRE(news(manager, observer).in == Set{5, 6});
    CHECK(manager.events(observer)[0].entity == id(5));  // parents first
}

}  // namespace purview::test::lines
