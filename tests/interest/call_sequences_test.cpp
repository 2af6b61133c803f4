// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What random worlds seldom do, or never: numbers and orders of calls at the edge of what is
// allowed.
#include <algorithm>
#include <array>
#include <limits>

#include "interest/interest_data.hpp"
#include "interest/relations/minimum_relevance.hpp"
#include "interest/windows/scan.hpp"
#include "purview/sight.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

InterestRules with_stay(const InterestManager& manager, std::uint32_t ticks) {
    InterestRules rules = manager.rules();
    rules.min_stay_ticks = ticks;
    return rules;
}

NodeDesc subtracting(std::string name, std::vector<StepDesc> steps) {
    NodeDesc subtracts = node(std::move(name), std::move(steps));
    subtracts.combine = StepOp::subtract;
    return subtracts;
}

/// Kind 0 counts by the bounds of its group; an observer at 100 rests, and movers wake him.
InterestDef pushed_def() {
    InterestDef def = def_of({node("near", {within(StepOp::add, 60)})});
    def.rules.bounds_max = {400, 400, 0};
    def.rules.cell_m = 10;
    def.rules.group_bounds_max_m = 100;
    def.window_update = WindowUpdate::push;
    def.kinds.resize(1);
    def.kinds[0].by_bounds = true;
    return def;
}
EntityDef of_kind0(float x) {
    EntityDef def;
    def.place = {x, 50, 0};
    def.kind = KindId{0};
    return def;
}

/// Remembers as many planes as it is told to, and reaches as far.
class Planes final : public InterestKernel {
  public:
    Planes(unsigned planes, float reach_m) : planes_(planes), reach_m_(reach_m) {}
    void test(const Question& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < q.blocks.size(); ++i) out[i] = q.slots.occupied()[q.blocks[i]];
    }
    std::string describe(const Question&, unsigned) const override { return "planes"; }
    unsigned planes() const noexcept override { return planes_; }
    bool remembers() const noexcept override { return planes_ > 0; }
    float reach_m() const noexcept override { return reach_m_; }

  private:
    unsigned planes_;
    float reach_m_;
};

/// Says yes to all who share a key.
class ByKey final : public InterestKernel {
  public:
    explicit ByKey(KeyDomain domain) : domain_(domain) {}
    void test(const Question& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < q.blocks.size(); ++i) out[i] = q.slots.occupied()[q.blocks[i]];
    }
    std::string describe(const Question&, unsigned) const override { return "by key"; }
    DependsOn depends_on() const noexcept override { return DependsOn::key; }
    KeyDomain domain() const noexcept override { return domain_; }
    bool test_entity(const Slots&, Slot) const noexcept override { return true; }

  private:
    KeyDomain domain_;
};

/// Nothing is in the way, until it stands.
class LateWall final : public SightTest {
  public:
    void test(ObserverId, std::span<const SightQuery>,
              std::span<std::uint8_t> visible) const noexcept override {
        std::fill(visible.begin(), visible.end(), static_cast<std::uint8_t>(stands ? 0 : 1));
    }
    bool stands = false;
};

}  // namespace

TEST_CASE("interest: a shorter stay counts for those who are there as well") {
    InterestDef def = def_of({node("near", {within(StepOp::add, 10)})});
    def.rules.min_stay_ticks = 1'000;
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    const ObserverId observer = watch(manager, id(0));
    for (int i = 0; i < 10; ++i) manager.tick();
    CHECK(manager.set_rules(with_stay(manager, 20)) == Status::ok);
    spawn(manager, 2, 55);
    manager.tick();
    put(manager, 1, 90);
    put(manager, 2, 90);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    for (int i = 0; i < 9; ++i) manager.tick();
    CHECK(seen(manager, observer) == Set{0, 2});  // twenty ticks after it came
    for (int i = 0; i < 12; ++i) manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    // None at all: who is held, goes; whoever is hidden, is not held.
    put(manager, 1, 55);
    manager.tick();
    put(manager, 1, 90);
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.set_rules(with_stay(manager, 0)) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    CHECK(manager.set_rules(with_stay(manager, 50)) == Status::ok);
    put(manager, 1, 55);
    manager.tick();
    put(manager, 1, 90);
    for (int i = 0; i < 40; ++i) CHECK(ticked(manager, observer) == Set{0, 1});
}

TEST_CASE("interest: of pairs that begin anew for ever no more than two ends of a stay are kept") {
    MinimumRelevance stays;
    std::size_t most = 0;
    for (Tick tick = 1; tick <= 5'000; ++tick) {
        for (std::uint32_t i = 0; i < 20; ++i) {
            if (i != 7 || tick <= 4'000) stays.begin(3, make_entity_id(i, tick), tick, 10'000);
        }
        stays.expire(tick, [](std::uint32_t, EntityId) {});
        most = std::max(most, stays.ends());
    }
    CHECK(most < 200);
    // Those that are kept are the last ones.
    Set over;
    const auto note = [&](std::uint32_t, EntityId unit) { over.insert(index_of(unit)); };
    stays.expire(13'999, note);
    CHECK(over == Set{});
    stays.expire(14'999, note);
    CHECK(over == Set{7});
    stays.expire(15'000, note);
    CHECK(over.size() == 20);
    CHECK(stays.size() == 0);
    // Also where all of them are for ever.
    MinimumRelevance endless;
    for (Tick tick = 1; tick <= 1'000; ++tick) {
        endless.end(3, make_entity_id(1, 1));
        endless.begin(3, make_entity_id(1, 1), tick, 0xffffffffU);
    }
    CHECK(endless.ends() < 100);
}

TEST_CASE("interest: no stay holds whom a node that subtracts takes away by what he says himself") {
    InterestDef def =
        def_of({node("near", {within(StepOp::add, 10)}),
                subtracting("cloak", {flag(StepOp::add, 0), flag(StepOp::subtract, 1)})});
    def.rules.min_stay_ticks = 50;
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    spawn(manager, 2, 55);
    const ObserverId observer = watch(manager, id(0));
    const auto reason = [&] { return manager.events_of(observer)[0].reason; };
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    // Whom that node leaves alone is not hidden by it.
    CHECK(manager.set_flag(id(1), FlagId{1}, true) == Status::ok);
    put(manager, 1, 90);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.set_flag(id(1), FlagId{0}, true) == Status::ok);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.set_flag(id(1), FlagId{1}, false) == Status::ok);
    REQUIRE(tick_news(manager, observer) == News{{}, {1}});
    CHECK(reason() == Reason::hidden);
    CHECK(manager.set_flag(id(1), FlagId{0}, false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.set_flag(id(2), FlagId{0}, true) == Status::ok);
    REQUIRE(tick_news(manager, observer) == News{{}, {2}});
    CHECK(reason() == Reason::hidden);
}

TEST_CASE("interest: what hides and is taken back before the tick leaves a stay as it was") {
    enum class By : std::uint8_t { hide, mode, denial, denials };
    for (const By by : {By::hide, By::mode, By::denial, By::denials}) {
        InterestDef def = def_of({node("near", {within(StepOp::add, 10)})});
        def.rules.min_stay_ticks = 10;
        InterestManager manager = make(def);
        spawn(manager, 0, 50);
        spawn(manager, 1, 55);
        const ObserverId observer = watch(manager, id(0));
        const auto hide = [&](bool hidden) {
            const std::array edits{PairEdit{observer, id(1), hidden}};
            if (by == By::denial) return manager.deny(observer, id(1), hidden);
            if (by == By::denials) return manager.deny(edits);
            if (by == By::hide) return manager.force_hide(id(1), hidden);
            return manager.set_mode(id(1), hidden ? EntityMode::explicit_only : EntityMode::nodes);
        };
        CHECK(ticked(manager, observer) == Set{0, 1});
        put(manager, 1, 90);
        CHECK(tick_news(manager, observer) == News{});
        CHECK(hide(true) == Status::ok);
        CHECK(hide(false) == Status::ok);
        for (int tick = 2; tick < 10; ++tick) CHECK(tick_news(manager, observer) == News{});
        CHECK(tick_news(manager, observer) == News{{}, {1}});
        // A hide that stands at the tick ends it.
        put(manager, 1, 55);
        CHECK(tick_news(manager, observer) == News{{1}, {}});
        put(manager, 1, 90);
        CHECK(tick_news(manager, observer) == News{});
        CHECK(hide(true) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {1}});
        CHECK(hide(false) == Status::ok);
        CHECK(tick_news(manager, observer) == News{});
    }
}

TEST_CASE("interest: whose bounds grow wakes observers that rest as far away as bounds reach") {
    InterestManager manager = make(pushed_def());
    spawn(manager, 0, 100);
    for (std::uint32_t i = 1; i < 17; ++i) spawn(manager, i, of_kind0(251));
    const ObserverId observer = watch(manager, id(0));
    for (int tick = 0; tick < 4; ++tick) CHECK(ticked(manager, observer) == Set{0});
    spawn(manager, 17, of_kind0(252));  // another block of the cell
    CHECK(ticked(manager, observer) == Set{0});
    CHECK(manager.set_bounds(id(1), 100) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {}});
    CHECK(manager.set_bounds(id(17), 100) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{17}, {}});
}

TEST_CASE("interest: observers that rest know all blocks around them, whichever cells are larger") {
    InterestDef def = def_of({node("near", {within(StepOp::add, 100)})});
    def.rules.nodes[0].steps[0].kernel.range = RangeOf::entity;
    def.rules.bounds_max = {2'000, 2'000, 0};
    def.rules.range_classes_m = {5, 10};  // the second has the smaller cells
    def.window_update = WindowUpdate::push;
    InterestManager manager = make(def);
    InterestRules rules = manager.rules();
    rules.nodes = {node("near", {within(StepOp::add, 20)})};
    CHECK(manager.set_rules(rules) == Status::ok);
    EntityDef far;
    far.place = {532, 532, 0};
    far.range_m = 10;
    spawn(manager, 0, 500.5F, 500.5F);
    for (std::uint32_t i = 1; i < 17; ++i) spawn(manager, i, far);
    const ObserverId observer = watch(manager, id(0));
    for (int tick = 0; tick < 4; ++tick) CHECK(ticked(manager, observer) == Set{0});
    spawn(manager, 17, far);  // another block of the cell
    CHECK(ticked(manager, observer) == Set{0});
    put(manager, 0, 524, 524);
    CHECK(ticked(manager, observer).size() == 18);
}

TEST_CASE("interest: rules that ask nobody window by window look at no blocks") {
    InterestManager manager = make({node("near", {within(StepOp::add, 10)})});
    for (std::uint32_t i = 0; i < 16; ++i) spawn(manager, i, 50);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer).size() == 16);
    // The first step has no effect, though it remembers; the other one is shared in a row.
    InterestRules rules = manager.rules();
    rules.nodes = {node("flagged", {within(StepOp::require, 10, 5), flag(StepOp::add, 0)})};
    CHECK(manager.set_rules(rules) == Status::ok);
    manager.set_count_tested(true);
    CHECK(ticked(manager, observer) == Set{});
    CHECK(manager.set_flag(spawn(manager, 16, 50), FlagId{0}, true) == Status::ok);
    CHECK(ticked(manager, observer) == Set{16});  // in another block of the cell
    CHECK(manager.rescan(observer) == Status::ok);
    put(manager, 16, 90);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.counters().blocks_tested == 0);
}

TEST_CASE("interest: a key of an observer asks about the members of its room, and nobody else") {
    const auto pairs_asked = [](std::uint32_t in_lobby) {
        constexpr KeyDomain rooms{0}, teams{1};
        InterestData data(def_of({node("room", {same(StepOp::add, 0)})}));
        for (std::uint32_t i = 0; i < in_lobby; ++i) {
            CHECK(data.spawn(id(i), {}) == Status::ok);
            CHECK(data.set_key(id(i), rooms, Key{1}) == Status::ok);
        }
        const EntityId last = id(in_lobby - 1);
        CHECK(data.edit_more_keys(last, rooms, Key{2}, true) == Status::ok);
        const ObserverId observer = *data.add_observer();
        CHECK(data.set_main_entity(observer, id(0)) == Status::ok);
        CHECK(data.set_ready(observer, true) == Status::ok);
        CHECK(data.is_relevant(observer, last));
        const std::uint64_t before = data.pairs_asked;
        CHECK(data.edit_more_keys(id(0), rooms, Key{2}, true) == Status::ok);
        CHECK(data.edit_more_observer_keys(observer, rooms, Key{3}, true) == Status::ok);
        CHECK(data.set_key(id(0), teams, Key{7}) == Status::ok);
        CHECK(data.edit_more_keys(id(0), rooms, Key{2}, false) == Status::ok);
        CHECK(data.is_relevant(observer, last));
        return data.pairs_asked - before;
    };
    CHECK(pairs_asked(20) > 0);
    CHECK(pairs_asked(400) == pairs_asked(20));
}

TEST_CASE("interest: in a window the overflow of all cells ascends, and each block is found") {
    BlockTable table(false);
    table.add_layer({0, 0, 0}, {100, 100, 0}, 20);
    (void)table.add_unplaced_layer();
    EntityFacts facts;
    facts.columns = Columns::add_to(table, 0, 0, 0);
    // In turn into two cells near the observer, one that he sees in part, and one out of sight.
    for (std::uint32_t i = 0; i < 4'000; ++i)
        table.insert(id(i), 0, {i % 2 == 0 ? 10.0F : 30.0F, i % 4 < 3 ? 30.0F : 10.0F, 0});
    for (std::uint32_t i = 4'000; i < 5'000; ++i)
        table.insert(id(i), 0, {i % 2 == 0 ? 70.0F : 95.0F, 30, 0});
    InterestRules rules;
    rules.nodes = {node("near", {within(StepOp::add, 45)})};
    const Program program = compile(rules, {}, [](std::span<const NodeId>) { return 0U; });
    const Vec3 place{25, 25, 0};
    ScanInput input{.table = table, .facts = facts, .program = program};
    input.views = {std::span(&place, 1), 0, 1};
    input.nodes = program.nodes;
    Window window;
    ScanScratch scratch;
    scan(input, window, scratch);
    const auto blocks = window.blocks();
    REQUIRE(blocks.size() > 200);
    CHECK(blocks.size() < table.block_end());
    const auto is_base = [&](BlockIndex block) { return block < table.cell_end(); };
    for (const bool inside : {true, false}) {
        std::vector<BlockIndex> overflow(blocks.begin(), blocks.end());
        const auto end = overflow.begin() + static_cast<std::ptrdiff_t>(window.inside_count());
        overflow.erase(inside ? end : overflow.begin(), inside ? overflow.end() : end);
        std::erase_if(overflow, is_base);
        CHECK(std::is_sorted(overflow.begin(), overflow.end()));
    }
    for (BlockIndex block = 0; block < table.block_end(); ++block) {
        const auto at = std::find(blocks.begin(), blocks.end(), block) - blocks.begin();
        REQUIRE(window.find(block, table.cell_end()) == static_cast<std::size_t>(at));
    }
}

TEST_CASE(
    "interest: who stands where his observer looked from already is looked from as what he "
    "is") {
    StepDesc from_main = within(StepOp::add, 30), from_owned = within(StepOp::add, 10);
    from_main.kernel.from = LookFrom::main;
    from_owned.kernel.from = LookFrom::owned;
    for (const bool by_area : {false, true}) {
        InterestDef def = def_of({node("near", {from_main, from_owned})});
        def.rules.cell_m = 5;
        InterestManager manager = make(def);
        const EntityId eyes = spawn(manager, 0, 50);
        spawn(manager, 1, 75);
        const ObserverId observer = watch(manager);
        if (by_area) {
            CHECK(manager.set_area(observer, 0, {50, 50, 0}) == Status::ok);
        } else {
            CHECK(manager.set_owner(eyes, observer) == Status::ok);
        }
        CHECK(ticked(manager, observer).count(1) == 0);
        CHECK(manager.set_main_entity(observer, eyes) == Status::ok);
        if (by_area) CHECK(manager.remove_area(observer, 0) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
}

TEST_CASE("interest: whoever was a member in between stands as he left, whatever was said before") {
    InterestDef def = def_of({node("near", {within(StepOp::add, 10)})});
    def.rules.nodes[0].steps[0].kernel.range = RangeOf::entity;
    def.rules.bounds_max = {1'000, 1'000, 0};
    def.rules.range_classes_m = {25, 400};
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    const EntityId root = spawn(manager, 1, 900), member = spawn(manager, 2, 900);
    EntityDef nowhere;
    nowhere.placed = false;
    const EntityId other = spawn(manager, 3, nowhere), hidden = spawn(manager, 4, nowhere);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0});
    CHECK(manager.set_range(member, 20) == Status::ok);
    CHECK(manager.join_unit(member, root) == Status::ok);
    EntityDef out;
    out.place = {350, 50, 0};
    out.range_m = 400;
    CHECK(manager.leave_unit(member, out) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 2});
    // One that had no place, stood for one that has, and has its own now.
    CHECK(manager.set_place_override(hidden, root) == Status::ok);
    manager.tick();
    CHECK(manager.set_place_override(hidden, EntityId::none) == Status::ok);
    CHECK(manager.join_unit(hidden, other) == Status::ok);
    CHECK(manager.leave_unit(hidden, out) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 2, 4});
}

TEST_CASE("interest: whoever stood for one without a place is moved as soon as he does not") {
    for (const bool by_override : {false, true}) {
        InterestManager manager = make({node("near", {within(StepOp::add, 10)})});
        spawn(manager, 0, 50);
        const EntityId one = spawn(manager, 1, 90);
        EntityDef nowhere;
        nowhere.placed = false;
        const EntityId other = spawn(manager, 2, nowhere), near = spawn(manager, 3, 55);
        const ObserverId observer = watch(manager, id(0));
        CHECK(manager.set_place_override(one, other) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0, 3});
        CHECK(manager.set_place_override(one, EntityId::none) == Status::ok);
        if (by_override) {
            CHECK(manager.set_place_override(one, near) == Status::ok);
        } else {
            put(manager, 1, 55);
        }
        CHECK(ticked(manager, observer) == Set{0, 1, 3});
    }
}

TEST_CASE("interest: whoever has no place is moved nowhere") {
    InterestManager manager = make({node("near", {within(StepOp::add, 10)})});
    spawn(manager, 0, 50);
    const EntityId near = spawn(manager, 1, 55);
    EntityDef nowhere;
    nowhere.placed = false;
    const EntityId other = spawn(manager, 2, nowhere);
    const ObserverId observer = watch(manager, id(0));
    put(manager, 2, 55);
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.set_place_override(other, near) == Status::ok);
    put(manager, 2, 55);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    CHECK(manager.set_place_override(other, EntityId::none) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1});
}

TEST_CASE("interest: an observer is told nothing of what his number's last owner was told") {
    InterestManager manager = make({node("all", {})});
    spawn(manager, 0, 50);
    const ObserverId first = watch(manager);
    CHECK(ticked(manager, first) == Set{0});
    CHECK(manager.remove_observer(first) == Status::ok);
    manager.tick();
    CHECK(manager.events().size() == 1);
    const ObserverId second = *manager.add_observer();
    REQUIRE(index_of(second) == index_of(first));
    CHECK(manager.events_of(second).empty());
}

TEST_CASE("interest: a node that subtracts hides at once, however seldom nodes are asked (N22)") {
    NodeDesc cloak = node("cloak", {flag(StepOp::add, 0)});
    cloak.combine = StepOp::subtract;
    cloak.refresh = {RefreshType::every, 10, 0, false};
    InterestManager manager = make({node("near", {within(StepOp::add, 10)}), cloak});
    spawn(manager, 0, 50);
    for (std::uint32_t i = 1; i < 12; ++i) spawn(manager, i, 55);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer).size() == 12);
    for (std::uint32_t i = 1; i < 12; ++i) {  // in any tick
        CHECK(manager.set_flag(id(i), FlagId{0}, true) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {i}});
    }
}

TEST_CASE("interest: where leaves wait, what a step takes away does not (N22)") {
    NodeDesc near = node("near", {within(StepOp::add, 10), same(StepOp::subtract, 0)});
    near.refresh = {RefreshType::every, 10, 0, true};
    InterestManager manager = make({near});
    spawn(manager, 0, 50);
    for (std::uint32_t i = 1; i < 12; ++i) spawn(manager, i, 55);
    CHECK(manager.set_key(id(0), KeyDomain{0}, Key{7}) == Status::ok);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer).size() == 11);  // all but itself: its key is its own
    for (std::uint32_t i = 1; i < 12; ++i) {
        CHECK(manager.set_key(id(i), KeyDomain{0}, Key{7}) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {i}});
    }
    put(manager, 0, 52);
    CHECK(tick_news(manager, observer) == News{});
}

TEST_CASE("interest: where leaves wait, what is taken away and given again stays (N22)") {
    for (const bool remembers : {false, true}) {
        NodeDesc near = node("near", {same(StepOp::subtract, 0), within(StepOp::add, 40),
                                      same(StepOp::subtract, 0), within(StepOp::add, 3)});
        near.refresh = {RefreshType::every, 10, 0, true};
        if (remembers) near.steps.back().kernel.leave_m = 4;
        InterestManager manager = make({near});
        spawn(manager, 0, 50);
        CHECK(manager.set_key(id(0), KeyDomain{0}, Key{7}) == Status::ok);
        for (std::uint32_t i = 1; i < 5; ++i) spawn(manager, i, i == 1 ? 52 : 60);
        for (const std::uint32_t mate : {1U, 2U})
            CHECK(manager.set_key(id(mate), KeyDomain{0}, Key{7}) == Status::ok);
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{0, 1, 3, 4});
        for (int tick = 0; tick < 25; ++tick) {
            put(manager, 3,
                60.0F + static_cast<float>(tick) * 0.01F);  // there is something to look at
            CHECK(tick_news(manager, observer) == News{});
        }
        CHECK(manager.set_key(id(4), KeyDomain{0}, Key{7}) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {4}});
    }
}

TEST_CASE(
    "interest: where leaves wait, no answer of a line of sight outlives its grace time (N22)") {
    const auto wall = std::make_shared<LateWall>();
    NodeDesc near = node("near", {within(StepOp::add, 40), require(in_sight(wall))});
    near.steps.back().kernel.sight_def = {.tests_per_tick = 1, .grace_ticks = 20};
    near.refresh = {RefreshType::every, 10, 0, true};
    InterestManager manager = make({near});
    for (std::uint32_t i = 0; i < 3; ++i) spawn(manager, i, 50.0F + static_cast<float>(i));
    std::vector<ObserverId> observers;  // each has its own ticks
    for (int i = 0; i < 10; ++i) observers.push_back(watch(manager, id(0)));
    for (int tick = 0; tick < 40; ++tick) manager.tick();
    for (const ObserverId observer : observers) CHECK(seen(manager, observer) == Set{0, 1, 2});
    wall->stands = true;
    for (int tick = 0; tick < 20; ++tick) manager.tick();
    for (const ObserverId observer : observers) CHECK(seen(manager, observer) == Set{});
}

TEST_CASE("interest: of a node that waits, explain and settings say what it said last (N22)") {
    for (const bool is_lazy : {false, true}) {
        NodeDesc near = node("near", {same(StepOp::add, 0), within(StepOp::add, 10)});
        near.refresh = {RefreshType::every, 16, 0, is_lazy};
        near.settings = {.every_ticks = 3, .leave = LeavePolicy::freeze};
        InterestManager manager = make({near});
        for (std::uint32_t i = 0; i < 4; ++i) spawn(manager, i, i % 2 == 0 ? 50 : 90);
        for (const std::uint32_t mate : {0U, 3U})
            CHECK(manager.set_key(id(mate), KeyDomain{0}, Key{7}) == Status::ok);
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{0, 2, 3});
        put(manager, 1, 55);
        put(manager, 2, 61);
        for (int tick = 0; tick < 8; ++tick) {
            const Set known = ticked(manager, observer);
            CHECK(known == (is_lazy ? Set{0, 2, 3} : Set{0, 3}));
            for (std::uint32_t i = 0; i < 4; ++i) {
                CAPTURE(i);
                const bool is_known = known.count(i) != 0;
                const Explanation why = manager.explain(observer, id(i));
                CHECK(why.relevant == is_known);
                CHECK(why.nodes[0].result == is_known);
                CHECK(why.settings.settings.every_ticks == (is_known ? 3 : 1));
                const bool turns_by_itself = i == 1 || (i == 2 && is_lazy);
                CHECK(why.single.empty() == turns_by_itself);
                NodeSettings asked;
                float strength = 0;
                const EntityId entity = id(i);
                manager.strength(observer, {&entity, 1}, {&strength, 1}, {&asked, 1});
                CHECK(asked.leave == (is_known ? LeavePolicy::freeze : LeavePolicy::despawn));
                CHECK(asked.every_ticks == (is_known ? 3 : 1));
                CHECK((strength > 0) == is_known);
            }
        }
    }
}

TEST_CASE("interest: of nodes with one name each keeps what it remembers while rules change") {
    for (const char* name : {"", "both"}) {
        CAPTURE(name);
        NodeDesc off = node(name, {within(StepOp::add, 10, 20)}, Members::bound);
        const NodeDesc on = off;
        off.enabled = false;
        InterestManager manager = make({off, on});
        spawn(manager, 0, 50);
        spawn(manager, 1, bound_to(55, {node1}));
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{1});
        put(manager, 1, 75);
        CHECK(ticked(manager, observer) == Set{1});
        InterestRules rules = manager.rules();
        rules.nodes[0].enabled = true;
        CHECK(manager.set_rules(rules) == Status::ok);
        CHECK(ticked(manager, observer) == Set{1});
    }
}

TEST_CASE("interest: a trial refuses the rules that would be refused, and no others (N39)") {
    InterestManager manager = make({node("near", {within(StepOp::add, 10)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 70);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0});
    // Of bounds, cells and classes those count that are there.
    InterestRules shared;
    shared.nodes = {node("shared", {cells(0.05F, 0.05F)})};
    shared.nodes[0].mode = NodeMode::update_many;
    shared.bounds_max = {10, 10, 10};
    CHECK(problem_of(shared).empty());
    CHECK_FALSE(manager.try_rules(shared).problem.empty());
    CHECK(manager.set_rules(shared) == Status::bad_configuration);
    InterestRules wider;
    wider.nodes = {node("near", {within(StepOp::add, 30)})};
    wider.bounds_max = {};
    wider.cell_m = -1;
    wider.range_classes_m = {3, 2};
    CHECK_FALSE(problem_of(wider).empty());
    const RuleTrial trial = manager.try_rules(wider);
    CHECK(trial.gains.size() == 1);
    CHECK(trial.observers_asked == 1);
    CHECK(trial.observers_left_out == 0);
    CHECK(manager.set_rules(wider) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1});
}

TEST_CASE("interest: a dry run asks no more observers than a bound of pairs has room for") {
    for (const bool is_open : {false, true}) {
        InterestManager manager = make({node("near", {within(StepOp::add, 1)})});
        for (std::uint32_t i = 0; i < 50; ++i) spawn(manager, i, static_cast<float>(i) * 2);
        std::vector<ObserverId> observers;
        for (std::uint32_t i = 0; i < 50; ++i) observers.push_back(watch(manager, id(i)));
        manager.tick();
        const auto tried = [&](float radius_m, std::size_t pairs_max) {
            InterestRules rules = manager.rules();
            rules.nodes = {is_open && radius_m > 50
                               ? node("all", {})
                               : node("near", {within(StepOp::add, radius_m)})};
            return manager.try_rules(rules, pairs_max);
        };
        CAPTURE(is_open);
        const RuleTrial whole = tried(500, ~std::size_t{0});
        CHECK(whole.observers_asked == 50);
        CHECK(whole.gains.size() == 50 * 49);
        // All that each may gain: as many as are sure to be within the bound.
        const RuleTrial dear = tried(500, 500);
        CHECK(dear.observers_asked == 9);
        CHECK(dear.observers_left_out == 41);
        CHECK(dear.gains.size() == 9 * 49);
        CHECK(dear.gains.front().observer == observers.front());
        CHECK(tried(500, 1).observers_asked == 1);
        // What changes little is asked of everybody.
        const RuleTrial cheap = tried(2, 500);
        CHECK(cheap.observers_asked == 50);
        CHECK(cheap.gains.size() == 2 * 49);
        CHECK(manager.rules().nodes.front().steps.size() == 1);
        CHECK(ticked(manager, observers[3]) == Set{3});
    }
}

TEST_CASE("interest: where leaves wait, whoever else goes hurries none of them") {
    NodeDesc near = node("near", {within(StepOp::add, 10)});
    near.refresh = {RefreshType::every, 10, 0, true};
    InterestDef def = def_of({near});
    def.rules.cell_m = 2;
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    spawn(manager, 1, 41);
    spawn(manager, 2, 59);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    put(manager, 0, 58);
    CHECK(tick_news(manager, observer) == News{});
    put(manager, 2, 55);  // out of a cell that he looked at
    for (int tick = 3; tick < 10; ++tick) CHECK(tick_news(manager, observer) == News{});
    CHECK(tick_news(manager, observer) == News{{}, {1}});
}

TEST_CASE("interest: two who stand for each other's places through a group are back at their own") {
    for (const bool first : {false, true}) {
        InterestManager manager = make({node("near", {within(StepOp::add, 10)})});
        const EntityId a = spawn(manager, 0, 50), b = spawn(manager, 1, 80);
        const EntityId member = spawn(manager, 2, 20);
        const ObserverId observer = watch(manager, spawn(manager, 3, 50));
        const auto stand = [&](EntityId entity, EntityId other) {
            CHECK(manager.set_place_override(entity, other) == Status::ok);
        };
        if (first) stand(b, member);
        stand(a, b);
        if (!first) stand(b, member);
        CHECK(ticked(manager, observer) == Set{3});
        CHECK(manager.join_unit(member, a) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0, 2, 3});  // b is at 80 again
        put(manager, 3, 80);
        CHECK(ticked(manager, observer) == Set{1, 3});
    }
}

TEST_CASE(
    "interest: kernels count with all that they remember, and reach no farther than numbers") {
    const auto with = [](std::size_t steps, unsigned planes, float reach_m) {
        NodeDesc custom = node("custom", {});
        custom.type = NodeType::grid;
        for (std::size_t i = 0; i < steps; ++i)
            custom.steps.push_back(own_kernel(i == 0 ? StepOp::add : StepOp::require,
                                              std::make_shared<Planes>(planes, reach_m)));
        return InterestManager::create(def_of({custom}));
    };
    CHECK(with(7, 4, 10));
    CHECK(with(8, 4, 10).error() == Status::bad_configuration);
    CHECK(with(32, 0, 10));
    for (const float reach_m :
         {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        CHECK(with(1, 0, reach_m).error() == Status::bad_configuration);
    }
}

TEST_CASE("interest: no step reaches farther than a float can say") {
    const auto is_sound = [](KernelDesc kernel, float widen_m) {
        InterestDef def = def_of({node("far", {add(std::move(kernel))})});
        def.rules.nodes[0].refresh = {RefreshType::every, 2, widen_m, false};
        return problem_of(def.rules).empty();
    };
    CHECK(is_sound(hexagons(1e17F), 0));
    CHECK_FALSE(is_sound(hexagons(1e18F), 0));
    CHECK_FALSE(is_sound(hexagons(1e17F, 60'000), 0));
    CHECK(is_sound(purview::within(10), 4e17F));
    CHECK_FALSE(is_sound(purview::within(10), 3e18F));
    CHECK_FALSE(is_sound(purview::within(9e17F), 9e17F));
    CHECK(is_sound(in_area(10), 9e17F));
    CHECK_FALSE(is_sound(in_area(9e17F), 9e17F));
}

TEST_CASE("interest: a kernel that depends on a key names one that is there") {
    const auto made = [](KeyDomain domain) {
        const auto kernel = std::make_shared<ByKey>(domain);
        return InterestManager::create(def_of({node("keyed", {own_kernel(StepOp::add, kernel)})}));
    };
    CHECK(made(KeyDomain{1}));
    for (const KeyDomain none : {KeyDomain{2}, KeyDomain::none}) {
        const auto refused = made(none);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == Status::bad_configuration);
    }
}

TEST_CASE("interest: a group that closes a circle of places leaves everybody at his own (F12)") {
    InterestManager manager = make({node("near", {within(StepOp::add, 10)})});
    const EntityId root = spawn(manager, 0, 50), member = spawn(manager, 1, 80);
    const ObserverId observer = watch(manager, spawn(manager, 2, 50));
    CHECK(manager.set_place_override(root, member) == Status::ok);
    CHECK(ticked(manager, observer) == Set{2});
    CHECK(manager.join_unit(member, root) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    put(manager, 0, 20);
    CHECK(ticked(manager, observer) == Set{2});
    put(manager, 0, 52);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
}

TEST_CASE("interest: whoever is hung elsewhere in his group takes those below him along") {
    InterestManager manager = make({node("all", {})});
    const EntityId root = spawn(manager, 0, 50), a = spawn(manager, 1, 50),
                   b = spawn(manager, 2, 50), c = spawn(manager, 3, 50);
    CHECK(manager.join_unit(a, root) == Status::ok);
    CHECK(manager.join_unit(b, root, a) == Status::ok);
    CHECK(manager.join_unit(c, root) == Status::ok);
    CHECK(manager.join_unit(a, root, c) == Status::ok);
    const ObserverId observer = watch(manager);
    manager.tick();
    std::vector<EntityId> order;
    for (const RelevanceEvent& event : manager.events_of(observer)) order.push_back(event.entity);
    CHECK(order == std::vector<EntityId>{root, c, a, b});
}

TEST_CASE("interest: who is gone is not relevant before the tick that tells it (N50)") {
    InterestManager manager = make({node("near", {within(StepOp::add, 10)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.despawn(id(1)) == Status::ok);
    CHECK(seen(manager, observer) == Set{0});
    CHECK(manager.relevant_count(observer) == 1);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    CHECK(manager.despawn(id(0)) == Status::ok);
    CHECK(manager.set_ready(observer, false) == Status::ok);  // all that he has leaves
    CHECK(tick_news(manager, observer) == News{{}, {0}});
}

TEST_CASE("interest: whoever gets the index of one who is gone, in the same tick, is another") {
    InterestDef def = def_of({node("near", {within(StepOp::add, 10)})});
    def.count_observers = true;
    InterestManager manager = make(def);
    const EntityId eyes = spawn(manager, 0, 50);
    const EntityId old = make_entity_id(5, 1), young = make_entity_id(5, 2);
    EntityDef near, far;
    near.place = {55, 50, 0};
    far.place = {90, 50, 0};
    CHECK(manager.spawn(old, near) == Status::ok);
    const ObserverId observer = watch(manager, eyes);
    manager.tick();
    CHECK(manager.despawn(old) == Status::ok);
    CHECK(manager.spawn(young, far) == Status::ok);
    const EntityId member = spawn(manager, 6, 90);
    CHECK(manager.join_unit(member, young) == Status::ok);
    manager.tick();
    REQUIRE(manager.events_of(observer).size() == 1);
    CHECK(manager.events_of(observer)[0].entity == old);
    CHECK_FALSE(manager.events_of(observer)[0].enter);
    CHECK(manager.observer_count(member) == 0);
    // One loses the old one while another gets the new one: it has its first observer.
    (void)watch(manager, spawn(manager, 7, 90));
    manager.tick();
    CHECK(manager.observer_count(young) == 1);
    CHECK(manager.despawn(member) == Status::ok);
    CHECK(manager.despawn(young) == Status::ok);
    const EntityId last = make_entity_id(5, 3);
    CHECK(manager.spawn(last, near) == Status::ok);
    manager.tick();
    CHECK(manager.observer_count(last) == 1);
    bool is_first = false;
    for (const ObserverEdge& edge : manager.edges()) is_first |= edge.entity == last && edge.first;
    CHECK(is_first);
    CHECK(seen(manager, observer) == Set{0, 5});
}

TEST_CASE("interest: what comes and goes between ticks is not told, whoever had its index before") {
    InterestManager manager = make({node("near", {within(StepOp::add, 10)})});
    const ObserverId observer = watch(manager, spawn(manager, 0, 50));
    const EntityId old = make_entity_id(5, 1), young = make_entity_id(5, 2);
    EntityDef near, far;
    near.place = {55, 50, 0};
    far.place = {90, 50, 0};
    CHECK(manager.spawn(old, near) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 5});
    CHECK(manager.despawn(old) == Status::ok);
    CHECK(manager.spawn(young, far) == Status::ok);
    CHECK(manager.allow(observer, young, true) == Status::ok);
    CHECK(manager.set_ready(observer, false) == Status::ok);
    manager.tick();
    std::set<EntityId> told;
    for (const RelevanceEvent& event : manager.events_of(observer)) {
        CHECK_FALSE(event.enter);
        told.insert(event.entity);
    }
    CHECK(manager.events_of(observer).size() == 2);
    CHECK(told == std::set<EntityId>{id(0), old});
}

TEST_CASE("interest: whoever has come into a box since the last tick is in it") {
    InterestDef def = def_of({node("near", {within(StepOp::add, 10)})});
    def.rules.cell_m = 10;
    InterestManager manager = make(def);
    spawn(manager, 0, 12);
    spawn(manager, 1, 55);
    manager.tick();
    const auto in_box = [&] {
        std::vector<EntityId> out;
        manager.entities_in({40, 40, 0}, {60, 60, 0}, out);
        Set indices;
        for (const EntityId entity : out) indices.insert(index_of(entity));
        CHECK(indices.size() == out.size());
        return indices;
    };
    CHECK(in_box() == Set{1});
    put(manager, 0, 30);
    put(manager, 0, 52);
    CHECK(in_box() == Set{0, 1});
    put(manager, 1, 80);
    CHECK(in_box() == Set{0});
    manager.tick();
    CHECK(in_box() == Set{0});
}

TEST_CASE("interest: ids that nobody has are stale, also where there are groups") {
    InterestManager manager = make({node("all", {})});
    CHECK(manager.join_unit(spawn(manager, 1, 50), spawn(manager, 0, 50)) == Status::ok);
    const EntityId nobody{~std::uint64_t{0}};
    CHECK(manager.move(nobody, {1, 1, 1}) == Status::stale_id);
    CHECK(manager.despawn(nobody) == Status::stale_id);
    CHECK(manager.join_unit(nobody, id(0)) == Status::stale_id);
    CHECK_FALSE(manager.is_relevant(watch(manager), nobody));
}

}  // namespace purview::test::lines
