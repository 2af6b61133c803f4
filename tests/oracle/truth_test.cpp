// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests of the oracle itself, with results computed by hand and without the engine.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "core/observer_ids.hpp"
#include "oracle/truth.hpp"
#include "oracle_twins.hpp"
#include "support/print_set.hpp"

namespace purview::test::oracle {

namespace {

using check::TruthArea;
using check::TruthDef;
using check::TruthEntity;
using check::TruthObserver;
using check::TruthOracle;
using check::TruthStage;
using Set = std::set<std::uint32_t>;

const ObserverId me = make_observer_id(0, 1);
const ObserverId other = make_observer_id(1, 1);

EntityId id(std::uint32_t index) {
    return make_entity_id(index, 1);
}

Kernel step(Combine op, KernelType type) {
    Kernel step;
    step.combine = op;
    step.type = type;
    return step;
}

Kernel step(Combine op, Kernel kernel) {
    kernel.combine = op;
    return kernel;
}

Kernel within(float enter, float leave, Combine op = Combine::add) {
    return step(op, purview::within(enter).leave_at(leave));
}

Kernel has_flag(std::uint8_t number, Combine op = Combine::add) {
    return step(op, Kernel(id_at<FlagId>(number)));
}

Kernel has_value(float min, float max, Combine op = Combine::add) {
    Kernel desc = step(op, KernelType::value);
    desc.value = id_at<ValueId>(0);
    desc.min = min;
    desc.max = max;
    return desc;
}

Kernel same_key(Combine op = Combine::add) {
    Kernel desc = step(op, KernelType::same_key);
    desc.key = id_at<KeyId>(0);
    return desc;
}

Kernel in_area(float margin) {
    Kernel desc = step(Combine::add, KernelType::area);
    desc.leave = margin;
    return desc;
}

NodeDef node(std::vector<Kernel> steps, std::string name = "node") {
    NodeDef desc;
    desc.name = std::move(name);
    desc.steps = std::move(steps);
    return desc;
}

Rules rules_of(std::vector<NodeDef> nodes, Axes axes = Axes::xy) {
    Rules rules;
    rules.axes = axes;
    rules.nodes = std::move(nodes);
    return rules;
}

/// Records for a test to change, with one ready observer without a viewpoint.
struct Scene {
    explicit Scene(Rules rules, TruthDef def = {}, std::uint32_t ticks_between_max = 1)
        : oracle(std::move(rules), ticks_between_max, std::move(def)) {
        observers.resize(1);
        observers[0].id = me;
        observers[0].ready = true;
    }
    TruthEntity& add(Vec3 position) {
        TruthEntity entity;
        entity.id = entity.root = id(static_cast<std::uint32_t>(entities.size()));
        entity.position = position;
        entities.push_back(entity);
        return entities.back();
    }
    TruthObserver& observer() { return observers[0]; }
    void look_from(Vec3 position) { observer().areas = {TruthArea(position)}; }
    void record() { oracle.record(++tick, entities, observers); }
    Set seen(ObserverId client = me) {
        Set indices;
        for (const EntityId entity : oracle.relevant(client)) indices.insert(index_of(entity));
        return indices;
    }
    /// Returns the relevant set of the next tick.
    Set see() {
        record();
        return seen();
    }

    TruthOracle oracle;
    std::vector<TruthEntity> entities;
    std::vector<TruthObserver> observers;
    Tick tick = 0;
};

}  // namespace

TEST_CASE("oracle: distance uses the active axes and includes its border") {
    const auto sees = [](Axes axes, Vec3 position) {
        Scene scene(rules_of({node({within(5, 5)})}, axes));
        scene.add(position);
        scene.look_from({10, 10, 10});
        return !scene.see().empty();
    };
    CHECK(sees(Axes::xy, {13, 14, 99}));
    CHECK_FALSE(sees(Axes::xy, {13, 14.001F, 10}));
    CHECK(sees(Axes::xz, {13, 99, 14}));
    CHECK_FALSE(sees(Axes::xz, {13, 10, 14.001F}));
    CHECK(sees(Axes::xyz, {10, 13, 14}));
    CHECK_FALSE(sees(Axes::xyz, {13, 14, 11}));
}

TEST_CASE("oracle: an entity within the enter radius stays up to the leave radius") {
    for (const std::uint32_t evaluated_every : {1U, 3U}) {
        Scene scene(rules_of({node({within(10, 12)})}), {}, evaluated_every);
        scene.add({0, 0, 0});
        scene.look_from({0, 0, 0});
        const auto at = [&](float x) {
            scene.entities[0].position.x = x;
            scene.record();
            return scene.tick % evaluated_every != 0 || !scene.seen().empty();
        };
        for (int i = 0; i < 3; ++i) CHECK(at(9));
        for (int i = 0; i < 3; ++i) CHECK(at(12));
        CHECK(at(9));
        CHECK(at(11));
        CHECK(at(11.5F));
        scene.entities[0].position.x = 13;
        for (int i = 0; i < 3; ++i) scene.record();
        CHECK(scene.seen().empty());
        scene.entities[0].position.x = 11;
        for (int i = 0; i < 3; ++i) scene.record();
        CHECK(scene.seen().empty());
    }
}

TEST_CASE("oracle: the state of an area between queries is computed afterward") {
    Scene scene(rules_of({node({in_area(5)})}), {}, 4);
    scene.add({0, 0, 0});
    scene.observer().areas = {TruthArea(Area::sphere({0, 0, 0}, 10), 0, 0)};
    scene.record();
    scene.entities[0].position.x = 14;
    scene.record();
    scene.record();
    CHECK(scene.see() == Set{0});
    scene.entities[0].position.x = 16;
    scene.record();
    scene.entities[0].position.x = 14;
    CHECK(scene.see().empty());
}

TEST_CASE("oracle: hysteresis ends when an observer is not ready or an entity joins a group") {
    Scene scene(rules_of({node({within(10, 20)})}));
    scene.add({5, 0, 0});
    scene.add({100, 0, 0});
    scene.look_from({0, 0, 0});
    CHECK(scene.see() == Set{0});
    scene.entities[0].position.x = 15;
    CHECK(scene.see() == Set{0});
    scene.observer().times_ready = 1;
    CHECK(scene.see().empty());
    scene.entities[0].position.x = 5;
    CHECK(scene.see() == Set{0});
    scene.entities[0].root = id(1);
    ++scene.entities[0].joins;
    CHECK(scene.see().empty());
    scene.entities[0].root = id(0);
    scene.entities[0].position.x = 15;
    CHECK(scene.see().empty());
}

TEST_CASE("oracle: an own range replaces the rule's range and keeps the margin") {
    Kernel by_entity = within(10, 12);
    by_entity.range = RangeFrom::entity;
    Kernel by_observer = within(10, 12);
    by_observer.range = RangeFrom::observer;
    Scene scene(rules_of({node({by_entity})}));
    scene.add({20, 0, 0}).range = 20;
    scene.add({20, 0, 0});
    scene.look_from({0, 0, 0});
    CHECK(scene.see() == Set{0});
    scene.entities[0].position.x = 22;
    CHECK(scene.see() == Set{0});
    scene.entities[0].position.x = 22.01F;
    CHECK(scene.see().empty());
    Scene far(rules_of({node({by_observer})}));
    far.add({20, 0, 0});
    far.look_from({0, 0, 0});
    CHECK(far.see().empty());
    far.observer().range = 20;
    CHECK(far.see() == Set{0});
}

TEST_CASE("oracle: the positions of an observer depend on the kernel's viewpoints") {
    const auto seen_from = [](Viewpoints from) {
        Kernel near = within(1, 1);
        near.view_from = from;
        Scene scene(rules_of({node({near})}));
        for (const float x : {0.0F, 10.0F, 20.0F, 30.0F, 40.0F}) scene.add({x, 0, 0});
        scene.observer().main = id(0);
        scene.entities[1].owner = me;
        scene.entities[3].root = id(2);  // a member: the position of its group counts
        scene.entities[3].owner = me;
        scene.look_from({40, 0, 0});
        Set set = scene.see();
        for (const std::uint32_t owned : {1U, 2U, 3U}) {
            // Owned entities are always relevant, so they are left out.
            set.erase(owned);
        }
        return set;
    };
    CHECK(seen_from(Viewpoints::entity_and_points) == Set{0, 4});
    CHECK(seen_from(Viewpoints::entity) == Set{0});
    CHECK(seen_from(Viewpoints::points) == Set{4});
    CHECK(seen_from(Viewpoints::owned) == Set{0});
    Kernel near = within(1, 1);
    near.view_from = Viewpoints::owned;
    Scene scene(rules_of({node({near})}));
    scene.add({0, 0, 0}).owner = me;
    scene.add({0.5F, 0, 0});
    CHECK(scene.see() == Set{0, 1});
    scene.entities[0].has_position = false;
    CHECK(scene.see() == Set{0});
}

TEST_CASE("oracle: an unknown result adds nothing, fails require and subtracts") {
    const auto sees = [](std::vector<Kernel> steps, bool has_position) {
        Scene scene(rules_of({node(std::move(steps))}));
        scene.add({100, 0, 0}).has_position = has_position;
        scene.entities[0].flags = 1;
        scene.look_from({0, 0, 0});
        return !scene.see().empty();
    };
    CHECK(sees({has_flag(0), within(5, 5, Combine::subtract)}, true));
    CHECK_FALSE(sees({has_flag(0), within(5, 5, Combine::subtract)}, false));
    CHECK_FALSE(sees({has_flag(0), within(500, 500, Combine::require)}, false));
    CHECK_FALSE(sees({within(500, 500)}, false));
    CHECK(sees({has_flag(0), within(5, 5)}, false));
    CHECK_FALSE(sees({has_flag(0), step(Combine::subtract, KernelType::area)}, true));  // no area
}

TEST_CASE("oracle: steps and nodes apply in order, and disabled nodes are ignored") {
    const auto sees = [](std::vector<NodeDef> nodes) {
        Scene scene(rules_of(std::move(nodes)));
        scene.add({0, 0, 0}).flags = 0b01;
        return !scene.see().empty();
    };
    CHECK(sees({node({has_flag(0)})}));
    CHECK_FALSE(sees({node({has_flag(0), has_flag(0, Combine::subtract)})}));
    CHECK(sees({node({has_flag(0, Combine::subtract), has_flag(0)})}));
    CHECK_FALSE(sees({node({has_flag(0), has_flag(1, Combine::require)})}));
    CHECK(sees({node({has_flag(1)}), node({})}));
    NodeDef takes = node({has_flag(0)});
    takes.combine = Combine::subtract;
    NodeDef needs = node({has_flag(1)});
    needs.combine = Combine::require;
    CHECK_FALSE(sees({node({}), takes}));
    CHECK(sees({takes, node({})}));
    CHECK_FALSE(sees({node({}), needs}));
    needs.enabled = false;
    CHECK(sees({node({}), needs}));
}

TEST_CASE("oracle: a subtract takes from its own node only (N17)") {
    Scene scene(rules_of({node({has_flag(0)}), node({has_flag(0, Combine::subtract)})}));
    scene.add({0, 0, 0}).flags = 1;
    CHECK(scene.see() == Set{0});
}

TEST_CASE("oracle: members, orphans and the default node follow their bindings") {
    NodeDef bound = node({}, "bound");
    bound.members = Members::bound;
    NodeDef unbound = node({}, "unbound");
    unbound.members = Members::unbound;
    KindRules plain;
    KindRules of_first;
    of_first.nodes = {id_at<NodeId>(0)};
    KindRules never;
    never.needs_node = true;
    const std::vector<KindRules> kinds{plain, of_first, never};
    TruthEntity entity;
    const auto kind_seen_by = [&](std::uint16_t kind, const std::vector<NodeDef>& nodes) {
        entity = {};
        entity.kind = id_at<KindId>(kind);
        check::bind_new(entity, kinds, {}, false);
        Scene scene(rules_of(nodes), TruthDef{kinds, false, InterestLevel::full});
        scene.add({}).nodes = entity.nodes;
        scene.entities[0].orphaned = entity.orphaned;
        scene.entities[0].kind = entity.kind;
        return !scene.see().empty();
    };
    CHECK_FALSE(kind_seen_by(0, {bound}));
    CHECK(kind_seen_by(0, {unbound}));
    CHECK(kind_seen_by(0, {}));
    CHECK(kind_seen_by(1, {bound}));
    CHECK_FALSE(kind_seen_by(1, {unbound}));
    CHECK_FALSE(kind_seen_by(1, {}));
    CHECK_FALSE(kind_seen_by(2, {unbound}));
    CHECK_FALSE(kind_seen_by(2, {}));
    CHECK(entity.orphaned);
    check::bind(entity, id_at<NodeId>(0));
    check::bind(entity, id_at<NodeId>(0));
    CHECK_FALSE(entity.orphaned);
    CHECK(entity.nodes.size() == 1);
    CHECK(check::unbind(entity, id_at<NodeId>(0)));
    CHECK(entity.orphaned);
    CHECK_FALSE(check::unbind(entity, id_at<NodeId>(0)));
    check::bind_default(entity);
    CHECK_FALSE(entity.orphaned);
    check::bind_exactly(entity, {});
    CHECK(entity.orphaned);
}

TEST_CASE("oracle: the first stage that applies decides") {
    KindRules shy;
    shy.owner_sees = false;
    Scene scene(rules_of({node({has_flag(0)})}), TruthDef{{shy}, false, InterestLevel::full});
    TruthEntity& entity = scene.add({});
    const auto decided = [&](TruthStage stage, bool relevant) {
        scene.record();
        const check::Verdict& verdict = scene.oracle.verdicts(me)[0];
        CHECK(verdict.stage == stage);
        CHECK(verdict.relevant == relevant);
    };
    decided(TruthStage::no_node, false);
    entity.flags = 1;
    decided(TruthStage::node, true);
    scene.oracle.set_level(InterestLevel::replication);
    decided(TruthStage::sees_everything, true);
    entity.mode = EntityMode::explicit_only;
    decided(TruthStage::explicit_only, false);
    scene.observer().allowed = {id(0)};
    decided(TruthStage::allowed, true);
    entity.mode = EntityMode::nodes;
    scene.observer().allowed.clear();
    entity.mode = EntityMode::explicit_only;
    decided(TruthStage::explicit_only, false);
    entity.mode = EntityMode::global;
    decided(TruthStage::shown_to_all, true);
    entity.force_hidden = true;
    decided(TruthStage::force_hidden, false);
    entity.owner = me;
    decided(TruthStage::owned, true);
    entity.kind = id_at<KindId>(0);
    decided(TruthStage::force_hidden, false);
    entity.kind = KindId::none;
    scene.observer().denied = {id(0)};
    decided(TruthStage::denied, false);
    scene.observer().ready = false;
    CHECK(scene.see().empty());
}

TEST_CASE("oracle: readiness may require a living viewpoint") {
    Scene scene(rules_of({}), TruthDef{{}, true, InterestLevel::full});
    scene.add({});
    CHECK(scene.see().empty());
    scene.observer().main = id(0);
    CHECK(scene.see() == Set{0});
    scene.observer().main = make_entity_id(0, 2);
    CHECK(scene.see().empty());
}

TEST_CASE("oracle: column keys and extra keys match, and no key matches nothing") {
    Scene scene(rules_of({node({same_key()})}));
    scene.add({}).keys[0] = Key{3};
    scene.add({}).more_keys = {{id_at<KeyId>(0), Key{4}}, {id_at<KeyId>(1), Key{9}}};
    scene.add({});
    CHECK(scene.see().empty());
    scene.observer().own_keys[0] = Key{3};
    CHECK(scene.see() == Set{0});
    scene.observer().more_keys = {{id_at<KeyId>(0), Key{4}}};
    CHECK(scene.see() == Set{0, 1});
    // The main entity's key counts instead of the observer's own, and so do its extra keys.
    scene.add({}).more_keys = {{id_at<KeyId>(0), Key{3}}};
    scene.observer().main = id(3);
    scene.observer().own_keys[0] = Key{4};
    scene.observer().more_keys.clear();
    CHECK(scene.see() == Set{0, 3});
    scene.observer().main = EntityId::none;
    CHECK(scene.see() == Set{1});
}

TEST_CASE("oracle: value bounds are inclusive") {
    Scene scene(rules_of({node({has_value(2, 4)})}));
    for (const float value : {1.9F, 2.0F, 4.0F, 4.1F}) scene.add({}).values[0] = value;
    CHECK(scene.see() == Set{1, 2});
}

TEST_CASE("oracle: the owner kernel matches regardless of owner_sees") {
    KindRules shy;
    shy.owner_sees = false;
    Scene scene(rules_of({node({step(Combine::add, KernelType::owner)})}),
                TruthDef{{shy}, false, InterestLevel::full});
    scene.add({}).kind = id_at<KindId>(0);
    scene.add({});
    scene.entities[0].owner = me;
    CHECK(scene.see() == Set{0});
    CHECK(scene.oracle.verdicts(me)[0].stage == TruthStage::node);
}

TEST_CASE("oracle: shapes include their border, and the margin extends them once inside") {
    const auto sees = [](const Area& area, std::vector<Vec3> path, Axes axes = Axes::xyz) {
        Scene scene(rules_of({node({in_area(2)})}, axes));
        scene.add({});
        scene.observer().areas = {TruthArea(area, 0, 0)};
        bool seen = false;
        for (const Vec3 position : path) {
            scene.entities[0].position = position;
            seen = !scene.see().empty();
        }
        return seen;
    };
    const Area ball = Area::sphere({0, 0, 0}, 5);
    CHECK(sees(ball, {{3, 4, 0}}));
    CHECK_FALSE(sees(ball, {{3, 4, 0.1F}}));
    CHECK(sees(ball, {{3, 4, 0}, {7, 0, 0}}));
    CHECK_FALSE(sees(ball, {{7, 0, 0}}));
    CHECK_FALSE(sees(ball, {{3, 4, 0}, {8, 0, 0}, {7, 0, 0}}));
    const Area box = Area::box({10, 10, 10}, {1, 2, 3});
    CHECK(sees(box, {{11, 12, 13}}));
    CHECK_FALSE(sees(box, {{11.1F, 12, 13}}));
    CHECK(sees(box, {{10, 10, 10}, {13, 14, 15}}));
    CHECK_FALSE(sees(box, {{10, 10, 10}, {13.1F, 10, 10}}));
    CHECK(sees(box, {{11, 12, 99}}, Axes::xy));
    // 45 degrees around x, 10 m long.
    const Area cone = Area::cone({0, 0, 0}, {4, 0, 0}, 45, 10);
    CHECK(sees(cone, {{5, 4.9F, 0}}));
    CHECK_FALSE(sees(cone, {{5, 5.1F, 0}}));
    CHECK_FALSE(sees(cone, {{-1, 0, 0}}));
    CHECK_FALSE(sees(cone, {{10.1F, 0, 0}}));
    CHECK(sees(cone, {{5, 0, 0}, {11.9F, 0, 0}}));
    CHECK(sees(cone, {{5, 0, 0}, {5, 7.7F, 0}}));  // 1.9 m beside: 2.7 / sqrt(2)
    CHECK_FALSE(sees(cone, {{5, 0, 0}, {5, 8, 0}}));
    CHECK(sees(cone, {{5, 0, 0}, {-1.9F, 0, 0}}));  // from the tip
    CHECK_FALSE(sees(cone, {{5, 0, 0}, {-2.1F, 0, 0}}));
    CHECK(sees(cone, {{5, 0, 0}, {7.2F, 9, 0}}));  // 1.9 m from the rim
    CHECK_FALSE(sees(cone, {{5, 0, 0}, {7.3F, 9.4F, 0}}));
}

TEST_CASE("oracle: an area follows its entity and ends with it or after its ticks") {
    Scene scene(rules_of({node({in_area(0)})}));
    scene.add({50, 0, 0});
    scene.add({60, 0, 0});
    scene.observer().areas = {
        TruthArea(Area::sphere({10, 0, 0}, 1).following(id(0)).lasting(2), 0, 1)};
    CHECK(scene.see() == Set{1});
    scene.entities[0].position.x = 70;
    scene.entities[1].position.x = 80;
    CHECK(scene.see() == Set{1});
    CHECK(scene.see().empty());  // the third tick
    scene.observer().areas = {TruthArea(Area::sphere({10, 0, 0}, 1).following(id(0)), 0, 1)};
    CHECK(scene.see() == Set{1});
    scene.entities[0].has_position = false;
    CHECK(scene.see().empty());
    scene.entities[0].has_position = true;
    scene.entities[0].id = make_entity_id(0, 2);
    scene.entities[0].root = scene.entities[0].id;
    CHECK(scene.see().empty());
}

TEST_CASE("oracle: cells start at the bounds, also below zero, and rings are whole cells") {
    Kernel cells = step(Combine::add, KernelType::cells);
    cells.cell_size = {10, 20, 0};
    const auto sees = [&](Vec3 from, Vec3 to, Axes axes = Axes::xy) {
        Rules rules = rules_of({node({cells})}, axes);
        rules.min = {5, 5, 5};
        Scene scene(rules);
        scene.add(to);
        scene.look_from(from);
        return !scene.see().empty();
    };
    CHECK(sees({5, 5, 0}, {24.99F, 5, 0}));
    CHECK_FALSE(sees({5, 5, 0}, {25, 5, 0}));
    CHECK(sees({5, 5, 0}, {-5, 5, 0}));
    CHECK_FALSE(sees({5, 5, 0}, {-5.01F, 5, 0}));
    CHECK(sees({5, 5, 0}, {5, 44.9F, 0}));
    CHECK_FALSE(sees({5, 5, 0}, {5, 45, 0}));
    CHECK(sees({5, 0, 5}, {5, 99, 44.9F}, Axes::xz));
    CHECK_FALSE(sees({5, 0, 5}, {5, 0, 45}, Axes::xz));
    CHECK(sees({5, 5, 5}, {5, 5, 99}, Axes::xyz));
    cells.cell_size.z = 30;
    CHECK_FALSE(sees({5, 5, 5}, {5, 5, 99}, Axes::xyz));
    CHECK(sees({5, 5, 5}, {5, 5, 64}, Axes::xyz));
    CHECK(sees({5, 5, 5}, {5, 5, 99}, Axes::xy));
}

TEST_CASE("oracle: a hexagon has six neighbors, and eighteen within two rings") {
    const float side = 10;
    for (const unsigned rings : {0U, 1U, 2U}) {
        Kernel cells = step(Combine::add, KernelType::hexagons);
        cells.cell_size.x = side;
        cells.rings = static_cast<std::uint16_t>(rings);
        Scene scene(rules_of({node({cells})}));
        // The centers of many cells, in axial coordinates of hexagons with a corner along y.
        for (int q = -4; q <= 4; ++q) {
            for (int r = -4; r <= 4; ++r) {
                const float x =
                    side * 1.7320508F * (static_cast<float>(q) + static_cast<float>(r) / 2);
                scene.add({x, side * 1.5F * static_cast<float>(r), 0});
            }
        }
        scene.look_from({1, 1, 0});
        CHECK(scene.see().size() == 1U + 3U * rings * (rings + 1U));
    }
}

namespace {

/// Blocks all rays across x = 50.
class Wall final : public RayTest {
  public:
    void test(ObserverId, std::span<const Ray> queries,
              std::span<std::uint8_t> visible) const noexcept override {
        for (std::size_t i = 0; i < queries.size(); ++i)
            visible[i] = (queries[i].from.x < 50) == (queries[i].to.x < 50) ? 1 : 0;
    }
};

}  // namespace

TEST_CASE("oracle: line of sight applies within its radius and to predicted positions") {
    Kernel sight = step(Combine::add, KernelType::line_of_sight);
    sight.rays = std::make_shared<Wall>();
    sight.enter = 30;
    Scene scene(rules_of({node({sight})}));
    scene.add({40, 0, 0});
    scene.add({45, 0, 0});
    scene.add({55, 0, 0});
    scene.add({5, 0, 0});
    scene.observer().main = id(0);
    CHECK(scene.see() == Set{0, 1});
    sight.predicts_sight = true;
    scene.oracle.set_rules(rules_of({node({sight})}));
    scene.entities[2].velocity = {-10, 0, 0};
    scene.observer().lookahead_s = 0.4F;
    CHECK(scene.see() == Set{0, 1});
    scene.observer().lookahead_s = 0.6F;
    CHECK(scene.see() == Set{0, 1, 2});
    scene.entities[0].velocity = {-10, 0, 0};
    scene.entities[2].velocity = {0, 0, 0};
    CHECK(scene.see() == Set{0, 1});
    scene.entities[0].velocity = {20, 0, 0};
    CHECK(scene.see() == Set{0, 1, 2});
}

TEST_CASE("oracle: a position source applies along its chain and ends with its entity") {
    Scene scene(rules_of({node({within(5, 5)})}));
    scene.add({100, 0, 0});
    scene.add({200, 0, 0});
    scene.add({0, 0, 0});
    scene.look_from({0, 0, 0});
    scene.entities[0].stands_at = id(1);
    scene.entities[1].stands_at = id(2);
    CHECK(scene.see() == Set{0, 1, 2});
    scene.entities[2].has_position = false;
    CHECK(scene.see().empty());
    scene.entities[2].id = EntityId::none;
    scene.entities[1].position.x = 3;
    CHECK(scene.see() == Set{0, 1});
    scene.entities[1].root = id(0);  // a member of 0 has the position of 0
    scene.entities[0].stands_at = EntityId::none;
    CHECK(scene.see().empty());
}

TEST_CASE("oracle: an entity of dormant nodes only has its last updated position") {
    NodeDef dormant = node({within(5, 5)}, "dormant");
    dormant.dormant = true;
    dormant.members = Members::bound;
    NodeDef exact = node({within(1, 1)}, "exact");
    exact.members = Members::bound;
    Scene scene(rules_of({dormant, exact}));
    scene.add({0, 0, 0}).nodes = {id_at<NodeId>(0)};
    scene.add({0, 0, 0}).nodes = {id_at<NodeId>(0), id_at<NodeId>(1)};
    scene.look_from({0, 0, 0});
    CHECK(scene.see() == Set{0, 1});
    for (TruthEntity& entity : scene.entities) entity.position.x = 50;
    CHECK(scene.see() == Set{0});
    const auto update = [&] { scene.entities[0].received_position = scene.entities[0].position; };
    update();
    CHECK(scene.see().empty());
    scene.entities[0].position.x = 0;
    CHECK(scene.see().empty());
    update();
    scene.entities[0].position.x = 70;
    CHECK(scene.see() == Set{0});
}

TEST_CASE("oracle: nodes start a minimum relevance time, and a hide ends it") {
    Rules rules = rules_of({node({within(5, 5), has_flag(0, Combine::subtract)})});
    rules.minimum_relevance_ticks = 3;
    Scene scene(rules);
    TruthEntity& entity = scene.add({0, 0, 0});
    scene.look_from({0, 0, 0});
    const auto sees_at = [&](float x) {
        entity.position.x = x;
        return !scene.see().empty();
    };
    CHECK(sees_at(0));
    CHECK(sees_at(50));
    CHECK(sees_at(50));
    CHECK_FALSE(sees_at(50));
    CHECK(sees_at(0));
    CHECK(sees_at(0));
    CHECK(sees_at(0));
    CHECK(sees_at(0));
    CHECK_FALSE(sees_at(50));  // the time started with the enter
    CHECK(sees_at(0));
    entity.flags = 1;
    CHECK_FALSE(sees_at(50));
    entity.flags = 0;
    CHECK_FALSE(sees_at(50));
    CHECK(sees_at(0));
    entity.force_hidden = true;
    CHECK_FALSE(sees_at(0));
    entity.force_hidden = false;
    CHECK_FALSE(sees_at(50));
    scene.observer().allowed = {id(0)};
    CHECK(sees_at(50));
    scene.observer().allowed.clear();
    CHECK_FALSE(sees_at(50));  // no node matched it
}

TEST_CASE("oracle: a subtracting node hides by its steps that depend on the entity alone") {
    NodeDef cloak = node({has_flag(0), has_flag(1, Combine::subtract)}, "cloak");
    cloak.combine = Combine::subtract;
    Rules rules = rules_of({node({within(5, 5)}), cloak});
    rules.minimum_relevance_ticks = 9;
    Scene scene(rules);
    TruthEntity& entity = scene.add({0, 0, 0});
    scene.look_from({0, 0, 0});
    CHECK(scene.see() == Set{0});
    entity.position.x = 50;
    for (const unsigned flags : {0U, 2U, 3U}) {
        entity.flags = static_cast<std::uint16_t>(flags);
        CHECK(scene.see() == Set{0});
    }
    entity.flags = 1;
    CHECK(scene.see() == Set{});
    entity.flags = 0;
    CHECK(scene.see() == Set{});
}

TEST_CASE("oracle: a kernel that new rules do not change keeps its hysteresis") {
    const auto sees_after = [](std::vector<NodeDef> nodes) {
        Scene scene(rules_of({node({within(10, 20), has_flag(0)}, "a")}));
        scene.add({5, 0, 0});
        scene.look_from({0, 0, 0});
        CHECK(scene.see() == Set{0});
        scene.entities[0].position.x = 15;
        CHECK(scene.see() == Set{0});
        scene.oracle.set_rules(rules_of(std::move(nodes)));
        return !scene.see().empty();
    };
    CHECK(sees_after({node({within(10, 20)}, "a")}));
    CHECK(sees_after({node({has_flag(1)}, "b"), node({within(10, 20)}, "a")}));
    CHECK_FALSE(sees_after({node({within(11, 20)}, "a")}));
    CHECK_FALSE(sees_after({node({within(10, 20)}, "b")}));
    CHECK_FALSE(sees_after({node({has_flag(0), within(10, 20)}, "a")}));
}

TEST_CASE("oracle: a dispatcher matches entities in a shared cell, then its steps apply") {
    SplitMix random(3);
    TwinSpace space;
    std::shared_ptr<const Dispatcher> odd_even;
    while (odd_even == nullptr) {
        auto made = random_dispatcher(random, space);
        if (made->name() == "odd and even") odd_even = made;
    }
    NodeDef desc = node({});
    desc.dispatcher = odd_even;
    Scene scene(rules_of({desc}));
    for (int i = 0; i < 4; ++i) scene.add({});
    scene.entities[2].flags = 1;
    CHECK(scene.see() == Set{0, 2});
    scene.observers.push_back(scene.observers[0]);
    scene.observers[1].id = other;
    scene.record();
    CHECK(scene.seen(other) == Set{1, 3});
    desc.steps = {has_flag(0, Combine::subtract)};
    scene.oracle.set_rules(rules_of({desc}));
    CHECK(scene.see() == Set{0});
    // Nothing outside of the bucket, although 1 and 3 are near as well.
    desc.steps = {within(1000, 1000)};
    scene.oracle.set_rules(rules_of({desc}));
    scene.look_from({0, 0, 0});
    CHECK(scene.see() == Set{0, 2});
    desc.steps = {has_flag(0)};
    scene.oracle.set_rules(rules_of({desc}));
    CHECK(scene.see() == Set{2});
}

TEST_CASE("oracle: an inner node of a dispatcher has its own steps") {
    struct Halves final : Dispatcher {
        void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
            out.push_back(index_of(entity.entity) % 2);
        }
        void cover(const DispatchedObserver&, std::vector<CellId>& out) const override {
            out = {0, 1};
        }
        std::size_t steps_of(CellId cell) const noexcept override {
            return cell == 0 ? 0 : no_steps;
        }
    };
    NodeDef desc = node({});
    desc.dispatcher = std::make_shared<Halves>();
    desc.inner = {{has_flag(0)}};
    Scene scene(rules_of({desc}));
    for (int i = 0; i < 4; ++i) scene.add({});
    scene.entities[2].flags = 1;
    CHECK(scene.see() == Set{1, 2, 3});
    desc.inner = {{has_flag(0, Combine::subtract)}};
    scene.oracle.set_rules(rules_of({desc}));
    CHECK(scene.see() == Set{0, 1, 3});
}

TEST_CASE("oracle: the score is 1 at the center, 0.5 at the leave radius, and combines") {
    const auto score = [](std::vector<NodeDef> nodes, float x) {
        Scene scene(rules_of(std::move(nodes)));
        scene.add({x, 0, 0}).flags = 1;
        scene.look_from({0, 0, 0});
        scene.record();
        return scene.oracle.verdicts(me)[0].score;
    };
    CHECK(score({node({within(10, 20)})}, 0) == doctest::Approx(1));
    CHECK(score({node({within(10, 20)})}, 10) == doctest::Approx(0.75));
    CHECK(score({node({within(10, 20)})}, 11) == 0);
    CHECK(score({node({within(10, 20), has_flag(0)})}, 10) == doctest::Approx(1));
    CHECK(score({node({has_flag(0), within(10, 20, Combine::require)})}, 10) ==
          doctest::Approx(0.75));
    CHECK(score({node({within(10, 20), has_flag(1, Combine::subtract)})}, 10) ==
          doctest::Approx(0.75));
    CHECK(score({node({within(10, 20)}), node({within(10, 10)})}, 10) == doctest::Approx(0.75));
    NodeDef needs = node({within(10, 10)});
    needs.combine = Combine::require;
    CHECK(score({node({within(10, 20)}), needs}, 10) == doctest::Approx(0.5));
    CHECK(score({}, 10) == 1);
}

}  // namespace purview::test::oracle
