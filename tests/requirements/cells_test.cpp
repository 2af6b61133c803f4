// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Neighborhoods of cells: borders, crossings, jumps, edges of the map, queries.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <random>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "protocol/cells.hpp"
#include "purview/cells.hpp"
#include "purview/presets.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

constexpr float width = 34, height = 20;

/// The Phaser preset with 12 x 8 cells and one ring.
struct Map {
    CellGrid grid{{0, 0, 0}, width, height, 12, 8};
    InterestManager manager = made();
    ObserverId observer{};

    static InterestManager made() {
        Rules def = preset(Preset::phaser);
        def.max = {12 * width, 8 * height, 0};
        return make(def);
    }
    void stand(float x, float y) {
        spawn(manager, 0, x, y);
        observer = watch(manager, id(0));
    }
    Vec3 middle(std::uint32_t cell) const {
        const Vec3 low = grid.min_of(cell), high = grid.max_of(cell);
        return {(low.x + high.x) / 2, (low.y + high.y) / 2, 0};
    }
    /// Spawns an entity in the middle of every cell. The entity of cell c has the index 1 + c.
    void fill() {
        for (std::uint32_t c = 0; c < grid.count(); ++c)
            spawn(manager, 1 + c, middle(c).x, middle(c).y);
    }
    /// Returns the entities of `cell` and the cells around it, and the observer's own entity.
    Set around(std::uint32_t cell) const {
        std::vector<std::uint32_t> cells;
        grid.neighborhood(cell, 1, cells);
        Set out{0};
        for (const std::uint32_t c : cells) out.insert(1 + c);
        return out;
    }
    void go(std::uint32_t cell) {
        const Vec3 to = middle(cell);
        put(manager, 0, to.x + 3, to.y + 3);
        manager.tick();
    }
};

Set minus(const Set& a, const Set& b) {
    Set out;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
    return out;
}

}  // namespace

TEST_CASE("interest: entities one cell away are relevant, those two cells away are not (P2)") {
    Map map;
    map.stand(200, 90);
    std::mt19937 random(1);
    std::uniform_real_distribution<float> x(width, 11 * width), y(height, 7 * height);
    for (std::uint32_t i = 1; i < 60; ++i) spawn(map.manager, i, x(random), y(random));
    int near = 0, far = 0;
    for (int tick = 0; tick < 200; ++tick) {
        const Vec3 mine{x(random), y(random), 0};
        put(map.manager, 0, mine.x, mine.y);
        map.manager.tick();
        for (std::uint32_t i = 1; i < 60; ++i) {
            const Vec3 its = map.manager.entity(id(i)).position();
            const float dx = std::fabs(its.x - mine.x), dy = std::fabs(its.y - mine.y);
            const bool known = map.manager.is_relevant(map.observer, id(i));
            if (dx <= width && dy <= height) {
                ++near;
                REQUIRE(known);
            }
            if (dx >= 2 * width || dy >= 2 * height) {
                ++far;
                REQUIRE_FALSE(known);
            }
        }
    }
    CHECK(near > 100);
    CHECK(far > 100);
}

TEST_CASE("interest: cells next to the origin behave like all other cells (P2 P22)") {
    Rules def = preset(Preset::phaser);
    def.min = {-5 * width, -4 * height, 0};
    def.max = {5 * width, 4 * height, 0};
    InterestManager manager = make(def);
    // The observer's neighborhood lies below zero, begins at zero, or contains zero.
    for (const float cells : {-2.5F, 1.5F, 0.5F}) {
        spawn(manager, 0, cells * width, cells * height);
        const ObserverId observer = watch(manager, id(0));
        for (std::uint32_t i = 1; i <= 4; ++i) {
            const float x = (i % 2 == 0 ? -0.01F : 0.01F);
            spawn(manager, i, x, i <= 2 ? -0.01F : 0.01F);
        }
        // Hundreds of scans: code that steps from float to float would not end here.
        for (int i = 0; i < 400; ++i) {
            put(manager, 0, cells * width + 0.01F * static_cast<float>(i % 2), cells * height);
            manager.tick();
        }
        Set expected{0};
        for (std::uint32_t i = 1; i <= 4; ++i) {
            const Vec3 its = manager.entity(id(i)).position();
            const float x = std::floor(its.x / width), y = std::floor(its.y / height);
            if (std::fabs(x - std::floor(cells)) <= 1 && std::fabs(y - std::floor(cells)) <= 1)
                expected.insert(i);
        }
        CHECK(seen(manager, observer) == expected);
        for (std::uint32_t i = 0; i <= 4; ++i) REQUIRE(manager.despawn(id(i)) == Status::ok);
        manager.tick();
    }
}

TEST_CASE("interest: a neighborhood has nine cells, six at an edge, four in a corner (P3)") {
    Map map;
    map.fill();
    map.stand(1, 1);
    for (const auto& [cell, cells] :
         {std::pair{0U, 4U}, {11U, 4U}, {84U, 4U}, {95U, 4U}, {5U, 6U}, {12U, 6U}, {41U, 9U}}) {
        map.go(cell);
        CHECK(seen(map.manager, map.observer) == map.around(cell));
        CHECK(seen(map.manager, map.observer).size() == 1 + cells);
    }
    spawn(map.manager, 200, 2 * width - 0.25F, 30);
    put(map.manager, 0, 2 * width, 30);  // 0.25 m away, in another cell
    map.manager.tick();
    CHECK(map.grid.cell_of({2 * width - 0.25F, 30, 0}) != map.grid.cell_of({2 * width, 30, 0}));
    CHECK(map.manager.is_relevant(map.observer, id(200)));
    const ObserverId other = watch(map.manager, id(200));
    map.manager.tick();
    CHECK(map.manager.is_relevant(other, id(0)));
}

TEST_CASE("interest: entities on a tile are found by kind and by cell (P9 P28)") {
    Rules def = preset(Preset::phaser);
    def.max = {12 * width, 8 * height, 0};
    def.kinds.resize(2);
    InterestManager manager = make(def);
    const auto add = [&](std::uint32_t index, float x, float y, std::uint16_t kind) {
        EntityDef one;
        one.position = {x, y, 0};
        one.kind = id_at<KindId>(kind);
        spawn(manager, index, one);
    };
    add(0, 40, 25, 0);
    add(1, 40, 25, 1);
    add(2, 41, 25, 1);
    add(3, 300, 25, 1);
    const auto found = [&](Vec3 low, Vec3 high, KindId kind = KindId::none) {
        std::vector<EntityId> out;
        manager.entities_in(low, high, out, kind);
        Set indices;
        for (const EntityId one : out) indices.insert(index_of(one));
        CHECK(indices.size() == out.size());
        return indices;
    };
    manager.tick();
    CHECK(found({40, 25, 0}, {40, 25, 0}) == Set{0, 1});  // one point
    CHECK(found({40, 25, 0}, {40, 25, 0}, id_at<KindId>(1)) == Set{1});
    CHECK(found({39, 20, 0}, {41, 25, 0}, id_at<KindId>(1)) == Set{1, 2});  // borders included
    CHECK(found({39, 20, 0}, {40.9F, 25, 0}, id_at<KindId>(1)) == Set{1});
    CHECK(found({42, 0, 0}, {299, 160, 0}).empty());
    const CellGrid grid{{0, 0, 0}, width, height, 12, 8};
    const std::uint32_t cell = grid.cell_of(manager.entity(id(2)).position());
    CHECK(cell == 13);
    const Vec3 last{std::nextafter(grid.max_of(cell).x, 0.0F),
                    std::nextafter(grid.max_of(cell).y, 0.0F), 0};
    CHECK(found(grid.min_of(cell), last) == Set{0, 1, 2});  // entities of a cell
    put(manager, 2, 300, 25);
    CHECK(manager.despawn(id(0)) == Status::ok);
    manager.tick();
    CHECK(found(grid.min_of(cell), last) == Set{1});
    CHECK(found({300, 25, 0}, {300, 25, 0}) == Set{2, 3});
}

TEST_CASE("interest: a new entity is announced to its whole neighborhood only (P10)") {
    Map map;
    std::vector<ObserverId> observers;
    for (std::uint32_t c = 0; c < map.grid.count(); ++c) {
        spawn(map.manager, 1 + c, map.middle(c).x, map.middle(c).y);
        observers.push_back(watch(map.manager, id(1 + c)));
    }
    map.manager.tick();
    constexpr std::uint32_t home = 41;
    spawn(map.manager, 500, map.middle(home).x + 5, map.middle(home).y);
    map.manager.tick();
    CHECK(map.manager.events().size() == 9);
    for (std::uint32_t c = 0; c < map.grid.count(); ++c) {
        const News expected{are_adjacent(map.grid, c, home) ? Set{500} : Set{}, {}};
        CHECK(news(map.manager, observers[c]) == expected);
    }
}

TEST_CASE("interest: a move within a cell updates the position without events (P11)") {
    Map map;
    map.fill();
    map.stand(0, 0);
    map.go(41);
    const Vec3 low = map.grid.min_of(41), high = map.grid.max_of(41);
    for (const Vec3 to : {low, Vec3{std::nextafter(high.x, 0.0F), low.y, 0},
                          Vec3{low.x, std::nextafter(high.y, 0.0F), 0}, map.middle(41)}) {
        put(map.manager, 0, to.x, to.y);
        put(map.manager, 1 + 41, to.x, to.y);
        map.manager.tick();
        CHECK(map.manager.events().empty());
        CHECK(map.manager.entity(id(1 + 41)).position() == to);
    }
    put(map.manager, 0, high.x, low.y);  // across the border
    map.manager.tick();
    CHECK_FALSE(map.manager.events().empty());
}

TEST_CASE("interest: a crossing reports the difference of two neighborhoods once (P12 P21)") {
    Map map;
    map.fill();
    map.stand(0, 0);
    map.go(0);
    std::uint32_t from = 0;
    // Steps to neighboring cells, then jumps over many cells. Each tick includes a detour to a far
    // cell.
    for (const std::uint32_t to : {1U, 13U, 26U, 27U, 14U, 41U, 95U, 0U, 84U, 50U, 51U, 11U, 12U}) {
        put(map.manager, 0, 11.5F * width, 7.5F * height);
        map.go(to);
        const Set before = map.around(from), after = map.around(to);
        CHECK(news(map.manager, map.observer) == News{minus(after, before), minus(before, after)});
        CHECK(seen(map.manager, map.observer) == after);
        from = to;
    }
}

TEST_CASE("interest: jumps of an entity over many cells are exact for all observers (P21)") {
    Map map;
    std::vector<ObserverId> observers;
    for (std::uint32_t c = 0; c < map.grid.count(); c += 5) {
        spawn(map.manager, 1 + c, map.middle(c).x, map.middle(c).y);
        observers.push_back(watch(map.manager, id(1 + c)));
    }
    spawn(map.manager, 500, 1, 1);
    map.manager.tick();
    std::mt19937 random(9);
    std::uint32_t from = 0;
    for (int tick = 0; tick < 100; ++tick) {
        const std::uint32_t to = static_cast<std::uint32_t>(random() % 96);
        put(map.manager, 500, map.middle(to).x, map.middle(to).y);
        map.manager.tick();
        for (std::size_t o = 0; o < observers.size(); ++o) {
            const auto home = static_cast<std::uint32_t>(o * 5);
            const bool was = are_adjacent(map.grid, home, from),
                       is = are_adjacent(map.grid, home, to);
            const News expected{is && !was ? Set{500} : Set{}, was && !is ? Set{500} : Set{}};
            REQUIRE(news(map.manager, observers[o]) == expected);
        }
        from = to;
    }
}

TEST_CASE("interest: very large numbers of rings and cells are handled (P22)") {
    const CellGrid grid{{0, 0, 0}, 5, 4, 4, 3};
    for (const std::uint32_t rings : {4U, 0xfffffff0U, 0xffffffffU}) {
        std::vector<std::uint32_t> out;
        grid.neighborhood(11, rings, out);
        CHECK(out.size() == 12);
    }
    const CellGrid large{{0, 0, 0}, 1, 1, 1'000'000, 1'000'000};
    CHECK(large.count() == 0xffffffffU);
    CHECK(large.cell_of({999'999, 4'293, 0}) == 4'293'999'999U);
    CHECK(large.cell_of({967'295, 4'294, 0}) == CellGrid::no_cell);
    CHECK(large.cell_of({0, 5'000, 0}) == CellGrid::no_cell);
    std::vector<std::uint32_t> out;
    large.neighborhood(4'294'967'294U, 1, out);
    CHECK(out.size() == 5);
    CHECK_FALSE(are_adjacent(large, CellGrid::no_cell, 4'294'967'294U));
}

TEST_CASE("interest: neighbors at map edges are exact, and each point has one cell (P22)") {
    const CellGrid grid{{-10, -10, 0}, 5, 4, 4, 3};
    CHECK(grid.cell_of({-10, -10, 0}) == 0);
    CHECK(grid.cell_of({-5, -10, 0}) == 1);  // a border belongs to the cell that begins there
    CHECK(grid.cell_of({std::nextafter(-5.0F, -9.0F), -10, 0}) == 0);
    CHECK(grid.cell_of({0, 0, 0}) == 10);  // below zero: floor, not truncation
    CHECK(grid.cell_of({-0.5F, -0.5F, 0}) == 9);
    CHECK(grid.cell_of({-10.5F, -9, 0}) == CellGrid::no_cell);
    CHECK(grid.cell_of({10, -9, 0}) == CellGrid::no_cell);
    // The definition: all cells at most one column and one row away. Rows do not wrap around.
    for (std::uint32_t cell = 0; cell < grid.count(); ++cell) {
        std::vector<std::uint32_t> out;
        grid.neighborhood(cell, 1, out);
        Set expected;
        for (int dy = -1; dy <= 1; ++dy) {
            for (int dx = -1; dx <= 1; ++dx) {
                const int x = static_cast<int>(cell % 4) + dx, y = static_cast<int>(cell / 4) + dy;
                if (x >= 0 && x < 4 && y >= 0 && y < 3)
                    expected.insert(static_cast<std::uint32_t>(y * 4 + x));
            }
        }
        CHECK(Set(out.begin(), out.end()) == expected);
        CHECK(out.size() == expected.size());
        for (std::uint32_t other = 0; other < grid.count(); ++other)
            CHECK(are_adjacent(grid, cell, other) == (expected.count(other) == 1));
    }
    // The kernel numbers cells in the same way, also below zero and outside the bounds.
    InterestManager manager = make(std::vector{node("cells", {cells(5, 4)})});
    spawn(manager, 0, -0.5F, 2);  // cell -1
    spawn(manager, 1, -9.9F, 2);  // cell -2
    spawn(manager, 2, -10, 2);    // cell -2 begins there
    spawn(manager, 3, -10.1F, 2);
    spawn(manager, 4, 4.9F, 2);  // cell 0
    spawn(manager, 5, 5, 2);     // cell 1
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1, 2, 4});
}

TEST_CASE("interest: neighborhoods can be circles or hexagons (P23)") {
    Kernel hexagons = step(Combine::add, KernelType::hexagons);
    hexagons.cell_size = {10, 0, 0};
    InterestManager manager = make({node("round", {within(Combine::add, 30)}, Members::bound),
                                    node("hexagons", {hexagons}, Members::bound)});
    const float row = 15, column = 10 * std::sqrt(3.0F);  // centers of hexagons of side 10
    EntityDef def;
    const auto add = [&](std::uint32_t index, float x, float y, std::uint16_t node) {
        const NodeId own = id_at<NodeId>(node);
        def.position = {x, y, 0};
        def.nodes = std::span(&own, 1);
        spawn(manager, index, def);
    };
    add(0, 0, 0, 1);
    Set six;
    std::uint32_t index = 1;
    for (const auto& [x, y] : {std::pair{column, 0.0F},
                               {-column, 0.0F},
                               {column / 2, row},
                               {-column / 2, row},
                               {column / 2, -row},
                               {-column / 2, -row}}) {
        add(index, x, y, 1);
        six.insert(index++);
    }
    add(20, 2 * column, 0, 1);  // the second ring
    add(21, 0, 2 * row, 1);
    add(22, 1.5F * column, row, 1);
    add(30, 18, 24, 0);  // exactly 30 m away: in the circle
    add(31, 22, 22, 0);  // in the square around the circle, not in the circle
    const ObserverId observer = watch(manager, id(0));
    six.insert({0, 30});
    CHECK(ticked(manager, observer) == six);
}

TEST_CASE("interest: the observers of an event position are found without an area (P23)") {
    InterestManager manager = make(std::vector{node("near", {within(Combine::add, 10)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 65);
    const ObserverId one = watch(manager, id(0)), two = watch(manager, id(1));
    const ObserverId unready = manager.add_observer({.is_ready = false});
    CHECK(manager.set_viewpoint(unready, id(0)) == Status::ok);
    manager.tick();
    const auto covering = [&](float x) {
        std::vector<ObserverId> out;
        manager.observers_covering({x, 50, 0}, out);
        return out;
    };
    CHECK(covering(45) == std::vector{one});
    CHECK(covering(57) == std::vector{one, two});
    CHECK(covering(60) == std::vector{one, two});  // at the border of the first range
    CHECK(covering(61) == std::vector{two});
    CHECK(covering(90).empty());
}

TEST_CASE("interest: only requiring nodes limit the observers of a position") {
    const auto covers = [](std::vector<NodeDef> nodes, float x) {
        InterestManager manager = make(std::move(nodes));
        spawn(manager, 0, 20);
        const ObserverId one = watch(manager, id(0));
        manager.tick();
        std::vector<ObserverId> out;
        manager.observers_covering({x, 50, 0}, out);
        return out == std::vector{one};
    };
    const auto joined = [](NodeDef made, Combine combine) {
        made.combine = combine;
        return made;
    };
    const NodeDef narrow = node("narrow", {within(Combine::add, 10)});
    const NodeDef wide = node("wide", {within(Combine::add, 60)});
    for (const NodeDef& one : {narrow, wide}) {
        CHECK(covers({one}, 25));
        CHECK(covers({one}, 60) == (one.name == "wide"));
    }
    // A subtracting node adds no observer. It also removes none, because there is no entity to
    // test.
    CHECK_FALSE(covers({narrow, joined(wide, Combine::subtract)}, 60));
    CHECK(covers({narrow, joined(wide, Combine::subtract)}, 25));
    CHECK_FALSE(covers({wide, joined(narrow, Combine::require)}, 60));
    CHECK(covers({wide, joined(narrow, Combine::require)}, 25));
    CHECK(covers({joined(narrow, Combine::require), wide}, 60));  // nodes apply in order
    // A requiring node that does not read positions excludes no observer.
    CHECK(covers({wide, joined(node("team", {same(Combine::add, 0)}), Combine::require)}, 60));
}

TEST_CASE("interest: a batch of event positions is evaluated one by one (P23 P25)") {
    for (const Axes axes : {Axes::xy, Axes::xz, Axes::xyz}) {
        CAPTURE(static_cast<int>(axes));
        Rules def = def_of({node("near", {within(Combine::add, 10)}), node("area", {in_area()})});
        def.axes = axes;
        def.max = {100, 100, 100};
        InterestManager manager = make(def);
        std::mt19937 random(5);
        const auto between = [&](float low, float high) {
            return std::uniform_real_distribution<float>(low, high)(random);
        };
        const auto anywhere = [&](float low, float high) {
            Vec3 at{between(low, high), between(low, high), between(low, high)};
            if (axes == Axes::xy) at.z = 0;
            if (axes == Axes::xz) at.y = 0;
            return at;
        };
        struct Watcher {
            ObserverId id;
            std::vector<Vec3> positions;
            std::optional<Vec3> sphere;
        };
        std::vector<Watcher> watchers;
        for (std::uint32_t i = 0; i < 40; ++i) {
            EntityDef entity;
            entity.position = anywhere(0, 100);
            spawn(manager, i, entity);
            Watcher one{watch(manager, id(i)), {entity.position}, {}};
            if (i % 3 == 0) {
                one.positions.push_back(anywhere(0, 100));
                CHECK(manager.set_area(one.id, 1, Area::at(one.positions[1])) == Status::ok);
            }
            if (i % 5 == 0) {
                one.sphere = anywhere(0, 100);
                CHECK(manager.set_area(one.id, 2, Area::sphere(*one.sphere, 25)) == Status::ok);
            }
            watchers.push_back(one);
        }
        manager.tick();
        std::vector<Vec3> positions;
        for (int i = 0; i < 70; ++i) positions.push_back(anywhere(-20, 120));
        positions[33].x = std::numeric_limits<float>::quiet_NaN();
        std::vector<Covering> expected, covering;
        for (std::uint32_t p = 0; p < positions.size(); ++p) {
            const auto is_within = [&](Vec3 from, float meters) {
                const float dx = from.x - positions[p].x, dy = from.y - positions[p].y,
                            dz = from.z - positions[p].z;
                return dx * dx + dy * dy + dz * dz <= meters * meters;
            };
            for (const Watcher& one : watchers) {
                const bool covers = std::any_of(one.positions.begin(), one.positions.end(),
                                                [&](Vec3 from) { return is_within(from, 10); }) ||
                                    (one.sphere && is_within(*one.sphere, 25));
                if (covers) expected.push_back({p, one.id});
            }
        }
        internal(manager).answers.observers_covering(positions, covering);
        CHECK(covering == expected);
        CHECK(covering.size() > 10);
        covering.clear();
        internal(manager).answers.observers_covering(std::span<const Vec3>{}, covering);
        CHECK(covering.empty());
    }
}

TEST_CASE("interest: kernels without a reach cover event positions at any distance (P25)") {
    // In three dimensions a hexagon without a depth is a column without an end.
    Kernel hexagon;
    hexagon.type = KernelType::hexagons;
    hexagon.cell_size = {10, 10, 0};
    Rules def = def_of({node("columns", {hexagon}), node("near", {within(Combine::add, 5)})});
    def.axes = Axes::xyz;
    def.max = {100, 100, 1000};
    InterestManager manager = make(def);
    EntityDef low;
    low.position = {50, 50, 10};
    spawn(manager, 0, low);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    const std::array positions{Vec3{50, 50, 900}, Vec3{95, 50, 10}};
    std::vector<Covering> covering;
    internal(manager).answers.observers_covering(positions, covering);
    CHECK(covering == std::vector{Covering{0, observer}});
}

TEST_CASE("interest: the send interval and the evaluation interval are independent (P24)") {
    NodeDef slow = node("slow", {within(Combine::add, 10)});
    slow.replication.every_ticks = 6;
    InterestManager manager = make(std::vector{slow});
    spawn(manager, 0, 50);
    spawn(manager, 1, 90);
    const ObserverId observer = watch(manager, id(0));
    manager.tick();
    CHECK(internal(manager).explainer.settings(observer, id(0)).every_ticks == 6);
    for (int i = 0; i < 12; ++i) {  // enters and leaves do not wait for the send interval
        put(manager, 1, i % 2 == 0 ? 55 : 90);
        CHECK(ticked(manager, observer) == (i % 2 == 0 ? Set{0, 1} : Set{0}));
    }
    slow.replication.every_ticks = 1;
    slow.every_ticks = 6;
    slow.lazy_leave = true;
    Rules def = def_of({slow});
    CHECK(manager.set_rules(def) == "");
    manager.tick();
    CHECK(internal(manager).explainer.settings(observer, id(0)).every_ticks == 1);
    // Now the node is evaluated every sixth tick, however often positions change.
    put(manager, 1, 62);
    Set seen = ticked(manager, observer);
    std::vector<int> changed;
    for (int i = 0; i < 30; ++i) {
        put(manager, 1, i / 6 % 2 == 0 ? 55 : 62);
        Set now = ticked(manager, observer);
        if (now != seen) changed.push_back(i);
        seen = std::move(now);
    }
    REQUIRE(changed.size() >= 4);
    for (std::size_t i = 1; i < changed.size(); ++i) CHECK(changed[i] - changed[i - 1] == 6);
}

TEST_CASE("interest: leaving cell 0 is a crossing like any other (P26)") {
    Map map;
    map.fill();
    map.stand(1, 1);
    map.manager.tick();
    CHECK(map.grid.cell_of(map.manager.entity(id(0)).position()) == 0);
    CHECK(seen(map.manager, map.observer) == Set{0, 1, 2, 13, 14});
    map.go(1);
    CHECK(news(map.manager, map.observer) == News{{3, 15}, {}});  // only the new cells
    map.go(0);
    CHECK(news(map.manager, map.observer) == News{{}, {3, 15}});
    // Another entity moves away and back, seen from the corner.
    spawn(map.manager, 500, 1, 1);
    map.manager.tick();
    put(map.manager, 500, width + 1, 1);
    CHECK(tick_news(map.manager, map.observer) == News{});
    put(map.manager, 500, 2 * width, 1);
    CHECK(tick_news(map.manager, map.observer) == News{{}, {500}});
    put(map.manager, 500, 1, 1);
    CHECK(tick_news(map.manager, map.observer) == News{{500}, {}});
}

TEST_CASE("interest: with view-sized cells an entity is relevant before it is in view (P27)") {
    Map map;
    map.stand(200, 80);
    constexpr std::uint32_t n = 80;
    std::mt19937 random(4);
    std::uniform_real_distribution<float> x(0, 12 * width), y(0, 8 * height), turn(-6, 6);
    std::vector<Vec3> at(n, Vec3{200, 80, 0});
    for (std::uint32_t i = 1; i < n; ++i) {
        at[i] = {x(random), y(random), 0};
        spawn(map.manager, i, at[i].x, at[i].y);
    }
    map.manager.tick();
    int came = 0;
    for (int tick = 0; tick < 400; ++tick) {
        for (std::uint32_t i = 0; i < n; ++i) {
            at[i].x = std::clamp(at[i].x + turn(random), 0.0F, 12 * width - 1);
            at[i].y = std::clamp(at[i].y + turn(random), 0.0F, 8 * height - 1);
            put(map.manager, i, at[i].x, at[i].y);
        }
        map.manager.tick();
        for (const std::uint32_t i : news(map.manager, map.observer).in) {
            ++came;
            const bool in_view = std::fabs(at[i].x - at[0].x) <= width / 2 &&
                                 std::fabs(at[i].y - at[0].y) <= height / 2;
            REQUIRE_FALSE(in_view);
        }
    }
    CHECK(came > 100);
}

}  // namespace purview::test::lines
