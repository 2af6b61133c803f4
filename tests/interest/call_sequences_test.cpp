// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Call sequences and numbers at the limits of what is allowed. Random worlds rarely produce them.
#include <algorithm>
#include <array>
#include <limits>

#include "interest/engine.hpp"
#include "interest/relations/minimum_relevance.hpp"
#include "interest/rules/interest_kernel.hpp"
#include "interest/windows/scan.hpp"
#include "purview/extend/kernel.hpp"
#include "support/line_support.hpp"
#include "support/make_manager.hpp"

namespace purview::test::lines {

namespace {

Rules with_stay(const InterestManager& manager, std::uint32_t ticks) {
    Rules rules = manager.rules();
    rules.minimum_relevance_ticks = ticks;
    return rules;
}

NodeDef subtracting(std::string name, std::vector<Kernel> steps) {
    NodeDef subtracts = node(std::move(name), std::move(steps));
    subtracts.combine = Combine::subtract;
    return subtracts;
}

/// Kind 0 uses the bounds of its group. Entities that move wake an idle observer at 100.
Rules pushed_def() {
    Rules def = def_of({node("near", {within(Combine::add, 60)})});
    def.max = {400, 400, 0};
    def.cell_size = 10;
    def.group_radius_max = 100;
    def.kinds.resize(1);
    def.kinds[0].uses_group_radius = true;
    return def;
}
EntityDef of_kind0(float x) {
    EntityDef def;
    def.position = {x, 50, 0};
    def.kind = id_at<KindId>(0);
    return def;
}

/// A kernel with a given number of memory planes and a given reach.
class Planes final : public InterestKernel {
  public:
    Planes(unsigned planes, float reach) : planes_(planes), reach_m_(reach) {}
    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < q.blocks.size(); ++i) out[i] = q.slots.occupied()[q.blocks[i]];
    }
    std::string describe(const KernelQuery&, unsigned) const override { return "planes"; }
    unsigned planes() const noexcept override { return planes_; }
    bool remembers() const noexcept override { return planes_ > 0; }
    float reach() const noexcept override { return reach_m_; }

  private:
    unsigned planes_;
    float reach_m_;
};

/// Matches every entity, and depends on a key.
class ByKey final : public InterestKernel {
  public:
    explicit ByKey(KeyId domain) : domain_(domain) {}
    void test(const KernelQuery& q, std::span<Mask> out, std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < q.blocks.size(); ++i) out[i] = q.slots.occupied()[q.blocks[i]];
    }
    std::string describe(const KernelQuery&, unsigned) const override { return "by key"; }
    DependsOn depends_on() const noexcept override { return DependsOn::key; }
    KeyId domain() const noexcept override { return domain_; }
    bool test_entity(const Slots&, Slot) const noexcept override { return true; }

  private:
    KeyId domain_;
};

/// Blocks no ray until `stands` is set.
class LateWall final : public RayTest {
  public:
    void test(ObserverId, std::span<const Ray>,
              std::span<std::uint8_t> visible) const noexcept override {
        std::fill(visible.begin(), visible.end(), static_cast<std::uint8_t>(stands ? 0 : 1));
    }
    bool stands = false;
};

}  // namespace

TEST_CASE("interest: a shorter minimum relevance time applies to relevant entities") {
    Rules def = def_of({node("near", {within(Combine::add, 10)})});
    def.minimum_relevance_ticks = 1'000;
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    const ObserverId observer = watch(manager, id(0));
    for (int i = 0; i < 10; ++i) manager.tick();
    CHECK(manager.set_rules(with_stay(manager, 20)) == "");
    spawn(manager, 2, 55);
    manager.tick();
    put(manager, 1, 90);
    put(manager, 2, 90);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    for (int i = 0; i < 9; ++i) manager.tick();
    CHECK(seen(manager, observer) == Set{0, 2});  // 1 leaves twenty ticks after it entered
    for (int i = 0; i < 12; ++i) manager.tick();
    CHECK(seen(manager, observer) == Set{0});
    // A time of 0 ends the hold with the next tick. A longer time holds again.
    put(manager, 1, 55);
    manager.tick();
    put(manager, 1, 90);
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.set_rules(with_stay(manager, 0)) == "");
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    CHECK(manager.set_rules(with_stay(manager, 50)) == "");
    put(manager, 1, 55);
    manager.tick();
    put(manager, 1, 90);
    for (int i = 0; i < 40; ++i) CHECK(ticked(manager, observer) == Set{0, 1});
}

TEST_CASE("interest: restarted minimum relevance times do not accumulate") {
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
    // The last start counts: 7 ends at tick 14,000, the others at 15,000.
    Set over;
    const auto note = [&](std::uint32_t, EntityId unit) { over.insert(index_of(unit)); };
    stays.expire(13'999, note);
    CHECK(over == Set{});
    stays.expire(14'999, note);
    CHECK(over == Set{7});
    stays.expire(15'000, note);
    CHECK(over.size() == 20);
    CHECK(stays.size() == 0);
    // Also with times that never end.
    MinimumRelevance endless;
    for (Tick tick = 1; tick <= 1'000; ++tick) {
        endless.end(3, make_entity_id(1, 1));
        endless.begin(3, make_entity_id(1, 1), tick, 0xffffffffU);
    }
    CHECK(endless.ends() < 100);
}

TEST_CASE("interest: a subtracting node ends the minimum relevance time of an entity") {
    Rules def = def_of({node("near", {within(Combine::add, 10)}),
                        subtracting("cloak", {flag(Combine::add, 0), flag(Combine::subtract, 1)})});
    def.minimum_relevance_ticks = 50;
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    spawn(manager, 2, 55);
    const ObserverId observer = watch(manager, id(0));
    const auto reason = [&] { return manager.events(observer)[0].reason; };
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    // Flag 1 excludes the entity from the subtracting node, so it stays relevant.
    CHECK(manager.set_flag(id(1), id_at<FlagId>(1), true) == Status::ok);
    put(manager, 1, 90);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.set_flag(id(1), id_at<FlagId>(0), true) == Status::ok);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.set_flag(id(1), id_at<FlagId>(1), false) == Status::ok);
    REQUIRE(tick_news(manager, observer) == News{{}, {1}});
    CHECK(reason() == Reason::hidden);
    CHECK(manager.set_flag(id(1), id_at<FlagId>(0), false) == Status::ok);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(manager.set_flag(id(2), id_at<FlagId>(0), true) == Status::ok);
    REQUIRE(tick_news(manager, observer) == News{{}, {2}});
    CHECK(reason() == Reason::hidden);
}

TEST_CASE("interest: a hide reverted before the tick keeps the minimum relevance time") {
    enum class By : std::uint8_t { hide, mode, denial, denials };
    for (const By by : {By::hide, By::mode, By::denial, By::denials}) {
        Rules def = def_of({node("near", {within(Combine::add, 10)})});
        def.minimum_relevance_ticks = 10;
        InterestManager manager = make(def);
        spawn(manager, 0, 50);
        spawn(manager, 1, 55);
        const ObserverId observer = watch(manager, id(0));
        const auto hide = [&](bool hidden) {
            const std::array edits{PairEdit{observer, id(1), hidden}};
            if (by == By::denial) return manager.deny(observer, id(1), hidden);
            if (by == By::denials) return manager.deny(edits);
            if (by == By::hide) return manager.set_hidden(id(1), hidden);
            return manager.set_mode(id(1), hidden ? EntityMode::explicit_only : EntityMode::nodes);
        };
        CHECK(ticked(manager, observer) == Set{0, 1});
        put(manager, 1, 90);
        CHECK(tick_news(manager, observer) == News{});
        CHECK(hide(true) == Status::ok);
        CHECK(hide(false) == Status::ok);
        for (int tick = 2; tick < 10; ++tick) CHECK(tick_news(manager, observer) == News{});
        CHECK(tick_news(manager, observer) == News{{}, {1}});
        // A hide that is still set at the tick ends it.
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

TEST_CASE("interest: growing bounds wake idle observers within their reach") {
    InterestManager manager = make_manager(pushed_def(), WindowUpdate::push);
    spawn(manager, 0, 100);
    for (std::uint32_t i = 1; i < 17; ++i) spawn(manager, i, of_kind0(251));
    const ObserverId observer = watch(manager, id(0));
    for (int tick = 0; tick < 4; ++tick) CHECK(ticked(manager, observer) == Set{0});
    spawn(manager, 17, of_kind0(252));  // another block of the cell
    CHECK(ticked(manager, observer) == Set{0});
    CHECK(manager.set_group_radius(id(1), 100) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{1}, {}});
    CHECK(manager.set_group_radius(id(17), 100) == Status::ok);
    CHECK(tick_news(manager, observer) == News{{17}, {}});
}

TEST_CASE("interest: idle observers notice new blocks in layers of any cell size") {
    Rules def = def_of({node("near", {within(Combine::add, 100)})});
    def.nodes[0].steps[0].range = RangeFrom::entity;
    def.max = {2'000, 2'000, 0};
    def.range_classes = {5, 10};  // the second has the smaller cells
    InterestManager manager = make_manager(def, WindowUpdate::push);
    Rules rules = manager.rules();
    rules.nodes = {node("near", {within(Combine::add, 20)})};
    CHECK(manager.set_rules(rules) == "");
    EntityDef far;
    far.position = {532, 532, 0};
    far.range = 10;
    spawn(manager, 0, 500.5F, 500.5F);
    for (std::uint32_t i = 1; i < 17; ++i) spawn(manager, i, far);
    const ObserverId observer = watch(manager, id(0));
    for (int tick = 0; tick < 4; ++tick) CHECK(ticked(manager, observer) == Set{0});
    spawn(manager, 17, far);  // another block of the cell
    CHECK(ticked(manager, observer) == Set{0});
    put(manager, 0, 524, 524);
    CHECK(ticked(manager, observer).size() == 18);
}

TEST_CASE("interest: rules without effective spatial steps test no blocks") {
    InterestManager manager = make({node("near", {within(Combine::add, 10)})});
    for (std::uint32_t i = 0; i < 16; ++i) spawn(manager, i, 50);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer).size() == 16);
    // The first step has no effect although it has hysteresis. The second one uses shared interest
    // groups.
    Rules rules = manager.rules();
    rules.nodes = {node("flagged", {within(Combine::require, 10, 5), flag(Combine::add, 0)})};
    CHECK(manager.set_rules(rules) == "");
    internal(manager).windows.set_count_tested(true);
    CHECK(ticked(manager, observer) == Set{});
    CHECK(manager.set_flag(spawn(manager, 16, 50), id_at<FlagId>(0), true) == Status::ok);
    CHECK(ticked(manager, observer) == Set{16});  // in another block of the cell
    CHECK(manager.recheck(observer) == Status::ok);
    put(manager, 16, 90);
    CHECK(tick_news(manager, observer) == News{});
    CHECK(internal(manager).counters().blocks_tested == 0);
}

TEST_CASE("interest: a key change of an observer evaluates only entities with that key") {
    const auto pairs_queried = [](std::uint32_t in_lobby) {
        constexpr KeyId rooms = id_at<KeyId>(0), teams = id_at<KeyId>(1);
        InterestEngine data(def_of({node("room", {same(Combine::add, 0)})}), {});
        for (std::uint32_t i = 0; i < in_lobby; ++i) {
            CHECK(data.entities.spawn(id(i), {}) == Status::ok);
            CHECK(data.attributes.set_key(id(i), rooms, Key{1}) == Status::ok);
        }
        const EntityId last = id(in_lobby - 1);
        CHECK(data.attributes.edit_more_keys(last, rooms, Key{2}, true) == Status::ok);
        const ObserverId observer = *data.observers.add_observer();
        CHECK(data.observers.set_viewpoint(observer, id(0)) == Status::ok);
        CHECK(data.observers.set_ready(observer, true) == Status::ok);
        CHECK(data.answers.is_relevant(observer, last));
        const std::uint64_t before = data.pairs_queried();
        CHECK(data.attributes.edit_more_keys(id(0), rooms, Key{2}, true) == Status::ok);
        CHECK(data.observers.edit_more_observer_keys(observer, rooms, Key{3}, true) == Status::ok);
        CHECK(data.attributes.set_key(id(0), teams, Key{7}) == Status::ok);
        CHECK(data.attributes.edit_more_keys(id(0), rooms, Key{2}, false) == Status::ok);
        CHECK(data.answers.is_relevant(observer, last));
        return data.pairs_queried() - before;
    };
    CHECK(pairs_queried(20) > 0);
    CHECK(pairs_queried(400) == pairs_queried(20));
}

TEST_CASE("interest: overflow blocks of a block set ascend, and each block is found") {
    BlockTable table(false);
    table.add_layer({0, 0, 0}, {100, 100, 0}, 20);
    (void)table.add_abstract_layer();
    EntityFacts facts;
    facts.columns = Columns::add_to(table, 0, 0, 0);
    // Alternates between cells near the observer. The last thousand go into a cell partly in range
    // and one out of range.
    for (std::uint32_t i = 0; i < 4'000; ++i)
        table.insert(id(i), 0, {i % 2 == 0 ? 10.0F : 30.0F, i % 4 < 3 ? 30.0F : 10.0F, 0});
    for (std::uint32_t i = 4'000; i < 5'000; ++i)
        table.insert(id(i), 0, {i % 2 == 0 ? 70.0F : 95.0F, 30, 0});
    Rules rules;
    rules.nodes = {node("near", {within(Combine::add, 45)})};
    const Program program = compile(rules, {}, [](std::span<const NodeId>) { return 0U; });
    const Vec3 position{25, 25, 0};
    ScanInput input{.table = table, .facts = facts, .program = program};
    input.views = {std::span(&position, 1), 0, 1};
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

TEST_CASE("interest: a new viewpoint counts even at a position that was viewed already") {
    Kernel from_main = within(Combine::add, 30), from_owned = within(Combine::add, 10);
    from_main.view_from = Viewpoints::entity;
    from_owned.view_from = Viewpoints::owned;
    for (const bool by_area : {false, true}) {
        Rules def = def_of({node("near", {from_main, from_owned})});
        def.cell_size = 5;
        InterestManager manager = make(def);
        const EntityId eyes = spawn(manager, 0, 50);
        spawn(manager, 1, 75);
        const ObserverId observer = watch(manager);
        if (by_area) {
            CHECK(manager.set_area(observer, 0, Area::at({50, 50, 0})) == Status::ok);
        } else {
            CHECK(manager.set_owner(eyes, observer) == Status::ok);
        }
        CHECK(ticked(manager, observer).count(1) == 0);
        CHECK(manager.set_viewpoint(observer, eyes) == Status::ok);
        if (by_area) CHECK(manager.remove_area(observer, 0) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0, 1});
    }
}

TEST_CASE("interest: a detached member has the position and range of its definition") {
    Rules def = def_of({node("near", {within(Combine::add, 10)})});
    def.nodes[0].steps[0].range = RangeFrom::entity;
    def.max = {1'000, 1'000, 0};
    def.range_classes = {25, 400};
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    const EntityId root = spawn(manager, 1, 900), member = spawn(manager, 2, 900);
    EntityDef nowhere;
    nowhere.has_position = false;
    const EntityId other = spawn(manager, 3, nowhere), hidden = spawn(manager, 4, nowhere);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0});
    CHECK(manager.set_range(member, 20) == Status::ok);
    CHECK(manager.attach(member, root) == Status::ok);
    EntityDef out;
    out.position = {350, 50, 0};
    out.range = 400;
    CHECK(manager.detach(member, out) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 2});
    // An abstract entity that had a position source now has a position of its own.
    CHECK(manager.set_position_source(hidden, root) == Status::ok);
    manager.tick();
    CHECK(manager.set_position_source(hidden, EntityId::none) == Status::ok);
    CHECK(manager.attach(hidden, other) == Status::ok);
    CHECK(manager.detach(hidden, out) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 2, 4});
}

TEST_CASE("interest: an entity can move again once its abstract source is removed") {
    for (const bool by_override : {false, true}) {
        InterestManager manager = make({node("near", {within(Combine::add, 10)})});
        spawn(manager, 0, 50);
        const EntityId one = spawn(manager, 1, 90);
        EntityDef nowhere;
        nowhere.has_position = false;
        const EntityId other = spawn(manager, 2, nowhere), near = spawn(manager, 3, 55);
        const ObserverId observer = watch(manager, id(0));
        CHECK(manager.set_position_source(one, other) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0, 3});
        CHECK(manager.set_position_source(one, EntityId::none) == Status::ok);
        if (by_override) {
            CHECK(manager.set_position_source(one, near) == Status::ok);
        } else {
            put(manager, 1, 55);
        }
        CHECK(ticked(manager, observer) == Set{0, 1, 3});
    }
}

TEST_CASE("interest: an abstract entity ignores moves") {
    InterestManager manager = make({node("near", {within(Combine::add, 10)})});
    spawn(manager, 0, 50);
    const EntityId near = spawn(manager, 1, 55);
    EntityDef nowhere;
    nowhere.has_position = false;
    const EntityId other = spawn(manager, 2, nowhere);
    const ObserverId observer = watch(manager, id(0));
    put(manager, 2, 55);
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.set_position_source(other, near) == Status::ok);
    put(manager, 2, 55);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    CHECK(manager.set_position_source(other, EntityId::none) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1});
}

TEST_CASE("interest: an observer at a reused index has no events of the former one") {
    InterestManager manager = make({node("all", {})});
    spawn(manager, 0, 50);
    const ObserverId first = watch(manager);
    CHECK(ticked(manager, first) == Set{0});
    CHECK(manager.remove_observer(first) == Status::ok);
    manager.tick();
    CHECK(manager.events().size() == 1);
    const ObserverId second = manager.add_observer({.is_ready = false});
    REQUIRE(index_of(second) == index_of(first));
    CHECK(manager.events(second).empty());
}

TEST_CASE("interest: a subtracting node hides at once at any evaluation interval (N22)") {
    NodeDef cloak = node("cloak", {flag(Combine::add, 0)});
    cloak.combine = Combine::subtract;
    cloak.every_ticks = 10;
    InterestManager manager = make({node("near", {within(Combine::add, 10)}), cloak});
    spawn(manager, 0, 50);
    for (std::uint32_t i = 1; i < 12; ++i) spawn(manager, i, 55);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer).size() == 12);
    for (std::uint32_t i = 1; i < 12; ++i) {  // in any tick
        CHECK(manager.set_flag(id(i), id_at<FlagId>(0), true) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {i}});
    }
}

TEST_CASE("interest: with lazy leaves, a subtracting step takes effect at once (N22)") {
    NodeDef near = node("near", {within(Combine::add, 10), same(Combine::subtract, 0)});
    near.every_ticks = 10;
    near.lazy_leave = true;
    InterestManager manager = make({near});
    spawn(manager, 0, 50);
    for (std::uint32_t i = 1; i < 12; ++i) spawn(manager, i, 55);
    CHECK(manager.set_key(id(0), id_at<KeyId>(0), Key{7}) == Status::ok);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer).size() == 11);  // not itself: it shares its own key
    for (std::uint32_t i = 1; i < 12; ++i) {
        CHECK(manager.set_key(id(i), id_at<KeyId>(0), Key{7}) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {i}});
    }
    put(manager, 0, 52);
    CHECK(tick_news(manager, observer) == News{});
}

TEST_CASE("interest: with lazy leaves, an entity that a later step adds again stays (N22)") {
    for (const bool remembers : {false, true}) {
        NodeDef near = node("near", {same(Combine::subtract, 0), within(Combine::add, 40),
                                     same(Combine::subtract, 0), within(Combine::add, 3)});
        near.every_ticks = 10;
        near.lazy_leave = true;
        if (remembers) near.steps.back().leave = 4;
        InterestManager manager = make({near});
        spawn(manager, 0, 50);
        CHECK(manager.set_key(id(0), id_at<KeyId>(0), Key{7}) == Status::ok);
        for (std::uint32_t i = 1; i < 5; ++i) spawn(manager, i, i == 1 ? 52 : 60);
        for (const std::uint32_t mate : {1U, 2U})
            CHECK(manager.set_key(id(mate), id_at<KeyId>(0), Key{7}) == Status::ok);
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{0, 1, 3, 4});
        for (int tick = 0; tick < 25; ++tick) {
            put(manager, 3,
                60.0F + static_cast<float>(tick) * 0.01F);  // causes a scan
            CHECK(tick_news(manager, observer) == News{});
        }
        CHECK(manager.set_key(id(4), id_at<KeyId>(0), Key{7}) == Status::ok);
        CHECK(tick_news(manager, observer) == News{{}, {4}});
    }
}

TEST_CASE("interest: with lazy leaves, line of sight ends within ray_valid_ticks (N22)") {
    const auto wall = std::make_shared<LateWall>();
    NodeDef near = node("near", {within(Combine::add, 40), require(in_sight(wall))});
    near.steps.back().ray_entities_per_tick = 1;
    near.steps.back().ray_valid_ticks = 20;
    near.every_ticks = 10;
    near.lazy_leave = true;
    InterestManager manager = make({near});
    for (std::uint32_t i = 0; i < 3; ++i) spawn(manager, i, 50.0F + static_cast<float>(i));
    std::vector<ObserverId> observers;  // each is evaluated in its own ticks
    for (int i = 0; i < 10; ++i) observers.push_back(watch(manager, id(0)));
    for (int tick = 0; tick < 40; ++tick) manager.tick();
    for (const ObserverId observer : observers) CHECK(seen(manager, observer) == Set{0, 1, 2});
    wall->stands = true;
    for (int tick = 0; tick < 20; ++tick) manager.tick();
    for (const ObserverId observer : observers) CHECK(seen(manager, observer) == Set{});
}

TEST_CASE("interest: explain and settings use the last result of a waiting node (N22)") {
    for (const bool is_lazy : {false, true}) {
        NodeDef near = node("near", {same(Combine::add, 0), within(Combine::add, 10)});
        near.every_ticks = 16;
        near.lazy_leave = is_lazy;
        near.replication = {.every_ticks = 3, .leave = Retention::freeze};
        InterestManager manager = make({near});
        for (std::uint32_t i = 0; i < 4; ++i) spawn(manager, i, i % 2 == 0 ? 50 : 90);
        for (const std::uint32_t mate : {0U, 3U})
            CHECK(manager.set_key(id(mate), id_at<KeyId>(0), Key{7}) == Status::ok);
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
                const bool changes_by_itself = i == 1 || (i == 2 && is_lazy);
                CHECK(why.single.empty() == changes_by_itself);
                Replication settings;
                float score = 0;
                const EntityId entity = id(i);
                internal(manager).answers.score(observer, {&entity, 1}, {&score, 1},
                                                {&settings, 1});
                CHECK(settings.leave == (is_known ? Retention::freeze : Retention::despawn));
                CHECK(settings.every_ticks == (is_known ? 3 : 1));
                CHECK((score > 0) == is_known);
            }
        }
    }
}

TEST_CASE("interest: nodes with equal names keep their own hysteresis when rules change") {
    for (const char* name : {"", "both"}) {
        CAPTURE(name);
        NodeDef off = node(name, {within(Combine::add, 10, 20)}, Members::bound);
        const NodeDef on = off;
        off.enabled = false;
        InterestManager manager = make({off, on});
        spawn(manager, 0, 50);
        spawn(manager, 1, bound_to(55, {node1}));
        const ObserverId observer = watch(manager, id(0));
        CHECK(ticked(manager, observer) == Set{1});
        put(manager, 1, 75);
        CHECK(ticked(manager, observer) == Set{1});
        Rules rules = manager.rules();
        rules.nodes[0].enabled = true;
        CHECK(manager.set_rules(rules) == "");
        CHECK(ticked(manager, observer) == Set{1});
    }
}

TEST_CASE("interest: try_rules refuses exactly the rules that set_rules refuses (N39)") {
    InterestManager manager = make({node("near", {within(Combine::add, 10)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 70);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0});
    // The bounds, cells and range classes of the engine apply.
    Rules shared;
    shared.nodes = {node("shared", {cells(0.05F, 0.05F)})};
    shared.nodes[0].payload = Payload::update_many;
    shared.max = {10, 10, 10};
    CHECK(problem_of(shared).empty());
    CHECK_FALSE(manager.try_rules(shared).problem.empty());
    CHECK(manager.set_rules(shared) != "");
    Rules wider;
    wider.nodes = {node("near", {within(Combine::add, 30)})};
    wider.cell_size = 7;
    CHECK(manager.try_rules(wider).problem.find("cell_size is fixed") != std::string::npos);
    CHECK(manager.set_rules(wider).find("cell_size is fixed") != std::string::npos);
    wider.cell_size = 0;
    const RuleTrial trial = manager.try_rules(wider);
    CHECK(trial.gains.size() == 1);
    CHECK(trial.observers_evaluated == 1);
    CHECK(trial.observers_skipped == 0);
    CHECK(manager.set_rules(wider) == "");
    CHECK(ticked(manager, observer) == Set{0, 1});
}

TEST_CASE("interest: a trial evaluates only as many observers as its pair limit allows") {
    for (const bool is_open : {false, true}) {
        InterestManager manager = make({node("near", {within(Combine::add, 1)})});
        for (std::uint32_t i = 0; i < 50; ++i) spawn(manager, i, static_cast<float>(i) * 2);
        std::vector<ObserverId> observers;
        for (std::uint32_t i = 0; i < 50; ++i) observers.push_back(watch(manager, id(i)));
        manager.tick();
        const auto tried = [&](float radius, std::size_t pairs_max) {
            Rules rules = manager.rules();
            rules.nodes = {is_open && radius > 50 ? node("all", {})
                                                  : node("near", {within(Combine::add, radius)})};
            return manager.try_rules(rules, pairs_max);
        };
        CAPTURE(is_open);
        const RuleTrial whole = tried(500, ~std::size_t{0});
        CHECK(whole.observers_evaluated == 50);
        CHECK(whole.gains.size() == 50 * 49);
        // Each may gain all entities: only the observers that are sure to fit are evaluated.
        const RuleTrial expensive = tried(500, 500);
        CHECK(expensive.observers_evaluated == 9);
        CHECK(expensive.observers_skipped == 41);
        CHECK(expensive.gains.size() == 9 * 49);
        CHECK(expensive.gains.front().observer == observers.front());
        CHECK(tried(500, 1).observers_evaluated == 1);
        // A small change is evaluated for all observers.
        const RuleTrial cheap = tried(2, 500);
        CHECK(cheap.observers_evaluated == 50);
        CHECK(cheap.gains.size() == 2 * 49);
        CHECK(manager.rules().nodes.front().steps.size() == 1);
        CHECK(ticked(manager, observers[3]) == Set{3});
    }
}

TEST_CASE("interest: with lazy leaves, moves of other entities cause no early leave") {
    NodeDef near = node("near", {within(Combine::add, 10)});
    near.every_ticks = 10;
    near.lazy_leave = true;
    Rules def = def_of({near});
    def.cell_size = 2;
    InterestManager manager = make(def);
    spawn(manager, 0, 50);
    spawn(manager, 1, 41);
    spawn(manager, 2, 59);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    put(manager, 0, 58);
    CHECK(tick_news(manager, observer) == News{});
    put(manager, 2, 55);  // out of a cell in the visible block set
    for (int tick = 3; tick < 10; ++tick) CHECK(tick_news(manager, observer) == News{});
    CHECK(tick_news(manager, observer) == News{{}, {1}});
}

TEST_CASE("interest: a longer position source cycle through a group is ignored") {
    for (const bool first : {false, true}) {
        InterestManager manager = make({node("near", {within(Combine::add, 10)})});
        const EntityId a = spawn(manager, 0, 50), b = spawn(manager, 1, 80);
        const EntityId member = spawn(manager, 2, 20);
        const ObserverId observer = watch(manager, spawn(manager, 3, 50));
        const auto stand = [&](EntityId entity, EntityId other) {
            CHECK(manager.set_position_source(entity, other) == Status::ok);
        };
        if (first) stand(b, member);
        stand(a, b);
        if (!first) stand(b, member);
        CHECK(ticked(manager, observer) == Set{3});
        CHECK(manager.attach(member, a) == Status::ok);
        CHECK(ticked(manager, observer) == Set{0, 2, 3});  // b is at 80 again
        put(manager, 3, 80);
        CHECK(ticked(manager, observer) == Set{1, 3});
    }
}

TEST_CASE("interest: too many memory planes or an invalid kernel reach are refused") {
    const auto is_sound = [](std::size_t steps, unsigned planes, float reach) {
        NodeDef custom = node("custom", {});
        for (std::size_t i = 0; i < steps; ++i)
            custom.steps.push_back(own_kernel(i == 0 ? Combine::add : Combine::require,
                                              std::make_shared<Planes>(planes, reach)));
        const Rules def = def_of({custom});
        if (!problem_of(def).empty()) return false;
        make(def);
        return true;
    };
    CHECK(is_sound(7, 4, 10));
    CHECK_FALSE(is_sound(8, 4, 10));
    CHECK(is_sound(32, 0, 10));
    for (const float reach :
         {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_FALSE(is_sound(1, 0, reach));
    }
}

TEST_CASE("interest: a step with a reach beyond the range of a float is refused") {
    const auto is_sound = [](Kernel kernel, float widen) {
        Rules def = def_of({node("far", {add(std::move(kernel))})});
        def.nodes[0].every_ticks = 2;
        def.nodes[0].widen = widen;
        return problem_of(def).empty();
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

TEST_CASE("interest: a kernel that depends on an undeclared key domain is refused") {
    const auto rules_with = [](KeyId domain) {
        const auto kernel = std::make_shared<ByKey>(domain);
        return def_of({node("keyed", {own_kernel(Combine::add, kernel)})});
    };
    make(rules_with(id_at<KeyId>(1)));
    for (const KeyId none : {id_at<KeyId>(2), KeyId::none})
        CHECK(problem_of(rules_with(none)) != "");
}

TEST_CASE("interest: a position source cycle through a group is ignored (F12)") {
    InterestManager manager = make({node("near", {within(Combine::add, 10)})});
    const EntityId root = spawn(manager, 0, 50), member = spawn(manager, 1, 80);
    const ObserverId observer = watch(manager, spawn(manager, 2, 50));
    CHECK(manager.set_position_source(root, member) == Status::ok);
    CHECK(ticked(manager, observer) == Set{2});
    CHECK(manager.attach(member, root) == Status::ok);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
    put(manager, 0, 20);
    CHECK(ticked(manager, observer) == Set{2});
    put(manager, 0, 52);
    CHECK(ticked(manager, observer) == Set{0, 1, 2});
}

TEST_CASE("interest: a member that moves within its group keeps its children") {
    InterestManager manager = make({node("all", {})});
    const EntityId root = spawn(manager, 0, 50), a = spawn(manager, 1, 50),
                   b = spawn(manager, 2, 50), c = spawn(manager, 3, 50);
    CHECK(manager.attach(a, root) == Status::ok);
    CHECK(manager.attach(b, a) == Status::ok);
    CHECK(manager.attach(c, root) == Status::ok);
    CHECK(manager.attach(a, c) == Status::ok);
    const ObserverId observer = watch(manager);
    manager.tick();
    std::vector<EntityId> order;
    for (const InterestEvent& event : manager.events(observer)) order.push_back(event.entity);
    CHECK(order == std::vector<EntityId>{root, c, a, b});
}

TEST_CASE("interest: a despawned entity is not relevant even before the next tick (N50)") {
    InterestManager manager = make({node("near", {within(Combine::add, 10)})});
    spawn(manager, 0, 50);
    spawn(manager, 1, 55);
    const ObserverId observer = watch(manager, id(0));
    CHECK(ticked(manager, observer) == Set{0, 1});
    CHECK(manager.despawn(id(1)) == Status::ok);
    CHECK(seen(manager, observer) == Set{0});
    CHECK(relevant_count(internal(manager), observer) == 1);
    CHECK(tick_news(manager, observer) == News{{}, {1}});
    CHECK(manager.despawn(id(0)) == Status::ok);
    CHECK(manager.set_ready(observer, false) == Status::ok);  // all its entities leave
    CHECK(tick_news(manager, observer) == News{{}, {0}});
}

TEST_CASE("interest: an entity that reuses an index in the same tick is a new entity") {
    Rules def = def_of({node("near", {within(Combine::add, 10)})});
    def.count_observers = true;
    InterestManager manager = make(def);
    const EntityId eyes = spawn(manager, 0, 50);
    const EntityId old = make_entity_id(5, 1), young = make_entity_id(5, 2);
    EntityDef near, far;
    near.id = old;
    near.position = {55, 50, 0};
    far.id = young;
    far.position = {90, 50, 0};
    CHECK(manager.spawn(near) == old);
    const ObserverId observer = watch(manager, eyes);
    manager.tick();
    CHECK(manager.despawn(old) == Status::ok);
    CHECK(manager.spawn(far) == young);
    const EntityId member = spawn(manager, 6, 90);
    CHECK(manager.attach(member, young) == Status::ok);
    manager.tick();
    REQUIRE(manager.events(observer).size() == 1);
    CHECK(manager.events(observer)[0].entity == old);
    CHECK_FALSE(manager.events(observer)[0].enter);
    CHECK(manager.observer_count(member) == 0);
    // One observer loses the old entity while another gains the new one at its index: the new one
    // is newly observed.
    watch(manager, spawn(manager, 7, 90));
    manager.tick();
    CHECK(manager.observer_count(young) == 1);
    CHECK(manager.despawn(member) == Status::ok);
    CHECK(manager.despawn(young) == Status::ok);
    const EntityId last = make_entity_id(5, 3);
    near.id = last;
    CHECK(manager.spawn(near) == last);
    manager.tick();
    CHECK(manager.observer_count(last) == 1);
    const auto first = manager.newly_observed();
    CHECK(std::find(first.begin(), first.end(), last) != first.end());
    CHECK(seen(manager, observer) == Set{0, 5});
}

TEST_CASE("interest: an entity that is relevant only between two ticks has no event") {
    InterestManager manager = make({node("near", {within(Combine::add, 10)})});
    const ObserverId observer = watch(manager, spawn(manager, 0, 50));
    const EntityId old = make_entity_id(5, 1), young = make_entity_id(5, 2);
    EntityDef near, far;
    near.id = old;
    near.position = {55, 50, 0};
    far.id = young;
    far.position = {90, 50, 0};
    CHECK(manager.spawn(near) == old);
    CHECK(ticked(manager, observer) == Set{0, 5});
    CHECK(manager.despawn(old) == Status::ok);
    CHECK(manager.spawn(far) == young);
    CHECK(manager.allow(observer, young, true) == Status::ok);
    CHECK(manager.set_ready(observer, false) == Status::ok);
    manager.tick();
    std::set<EntityId> reported;
    for (const InterestEvent& event : manager.events(observer)) {
        CHECK_FALSE(event.enter);
        reported.insert(event.entity);
    }
    CHECK(manager.events(observer).size() == 2);
    CHECK(reported == std::set<EntityId>{id(0), old});
}

TEST_CASE("interest: a box query includes moves since the last tick") {
    Rules def = def_of({node("near", {within(Combine::add, 10)})});
    def.cell_size = 10;
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

TEST_CASE("interest: ids that were never assigned are stale") {
    InterestManager manager = make({node("all", {})});
    CHECK(manager.attach(spawn(manager, 1, 50), spawn(manager, 0, 50)) == Status::ok);
    const EntityId unknown{~std::uint64_t{0}};
    CHECK(manager.move(unknown, {1, 1, 1}) == Status::stale_id);
    CHECK(manager.despawn(unknown) == Status::stale_id);
    CHECK(manager.attach(unknown, id(0)) == Status::stale_id);
    CHECK_FALSE(manager.is_relevant(watch(manager), unknown));
}

}  // namespace purview::test::lines
