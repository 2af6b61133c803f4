// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Members with a relative position turn with their parent. The server is compared with a matrix
// model, clients are compared with the server, and idle members cost no bytes.
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>

#include "core/internal_access.hpp"
#include "core/rotation.hpp"
#include "protocol/quantize.hpp"
#include "protocol/schema_access.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct Hull {
    float yaw = 0;  ///< radians
    std::uint16_t speed = 0;
};
struct Wheel {
    std::uint8_t yaw = 0;  ///< 256 units per turn
};
struct Head {
    Rotation turn;
};

constexpr double hull_step = 0.01;
constexpr double wheel_step = 2 * std::numbers::pi / 256;

/// Ships carry cars, which turn about one axis, and pods, which turn freely. All of them carry
/// passengers. A raft has no orientation. Only ships are never relative.
struct FleetSchema {
    explicit FleetSchema(bool turns = true) {
        position = schema.component<Position>("place");
        for (unsigned axis = 0; axis < 3; ++axis) {
            FieldDef field;
            field.name = std::string(1, static_cast<char>('x' + axis));
            field.type = FieldType::quantized;
            field.offset_bytes = static_cast<std::uint16_t>(axis * sizeof(float));
            field.size_bytes = sizeof(float);
            field.min = axis == 2 ? -2000 : 0;
            field.max = field.min + 4000;
            field.step = 0.01;
            SchemaAccess::add_field(schema, position.id, field);
        }
        schema.set_position(position.id);
        hull = schema.component<Hull>("hull")
                   .quantized("yaw", &Hull::yaw, {-4, 4, hull_step})
                   .integer("speed", &Hull::speed, 0, 100);
        wheel = schema.component<Wheel>("wheel").integer("yaw", &Wheel::yaw, 0, 255);
        head = schema.component<Head>("head").rotation("turn", &Head::turn);
        ship = schema.kind("ship", {position.id, hull.id});
        car = schema.kind("car", {position.id, wheel.id});
        pod = schema.kind("pod", {position.id, head.id});
        man = schema.kind("man", {position.id});
        raft = schema.kind("raft", {position.id});
        for (const KindId kind : {car, pod, man, raft})
            schema.edit_kind(kind).relative_position = true;
        if (turns) {
            schema.set_orientation(ship, hull.id, "yaw");
            schema.set_orientation(car, wheel.id, "yaw", 256, TurnAxis::z);
            schema.set_orientation(pod, head.id, "turn");
        }
        REQUIRE(schema.problem().empty());
    }
    Schema schema;
    Component<Position> position;
    Component<Hull> hull;
    Component<Wheel> wheel;
    Component<Head> head;
    KindId ship{}, car{}, pod{}, man{}, raft{};
};

// -- the model: matrices, and the quantized value of each field --------------------------------

using Matrix = std::array<std::array<double, 3>, 3>;

Matrix matrix(double x, double y, double z, double w) {
    return {{{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
             {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
             {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}}};
}
Matrix about_z(double radians) {
    const double c = std::cos(radians), s = std::sin(radians);
    return {{{c, -s, 0}, {s, c, 0}, {0, 0, 1}}};
}
Matrix product(const Matrix& a, const Matrix& b) {
    Matrix out{};
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c)
            for (int k = 0; k < 3; ++k) out[r][c] += a[r][k] * b[k][c];
    return out;
}
std::array<double, 3> applied(const Matrix& m, Vec3 v) {
    std::array<double, 3> out{};
    for (int r = 0; r < 3; ++r) out[r] = m[r][0] * v.x + m[r][1] * v.y + m[r][2] * v.z;
    return out;
}

double distance(Vec3 a, Vec3 b) {
    return std::hypot(a.x - b.x, a.y - b.y, a.z - b.z);
}

/// The value as clients receive it.
template <class T>
T replicated(const Schema& schema, Component<T> component, T value) {
    const ComponentDef& def = schema.components()[index_of(component.id)];
    auto* data = reinterpret_cast<std::byte*>(&value);
    for (const FieldDef& field : def.fields) dequantize(field, quantize(field, data), data);
    return value;
}

/// Whether the position is relative, derived from the relations and not from the tested code.
bool is_relative(const FleetSchema& setup, const World& world, EntityId entity) {
    return world.kind_of(entity) != setup.ship && world.group_parent_of(entity) != EntityId::none;
}

Matrix frame_of(const FleetSchema& setup, const World& world, EntityId entity) {
    Matrix own = about_z(0);
    const KindId kind = world.kind_of(entity);
    if (kind == setup.ship) {
        own = about_z(replicated(setup.schema, setup.hull, *world.get(entity, setup.hull)).yaw);
    } else if (kind == setup.car) {
        own = about_z(world.get(entity, setup.wheel)->yaw * wheel_step);
    } else if (kind == setup.pod) {
        const Rotation q =
            replicated(setup.schema, setup.head, *world.get(entity, setup.head)).turn;
        own = matrix(q.x, q.y, q.z, q.w);
    } else {
        return own;
    }
    if (!is_relative(setup, world, entity)) return own;
    return product(frame_of(setup, world, world.group_parent_of(entity)), own);
}

Vec3 position_by_model(const FleetSchema& setup, const World& world, EntityId entity) {
    if (!is_relative(setup, world, entity)) return world.position_of(entity);
    const EntityId parent = world.group_parent_of(entity);
    const Vec3 above = position_by_model(setup, world, parent);
    const auto off = applied(frame_of(setup, world, parent), world.local_position_of(entity));
    return {static_cast<float>(above.x + off[0]), static_cast<float>(above.y + off[1]),
            static_cast<float>(above.z + off[2])};
}

/// Makes random edits of a fleet and records the entities that they concern.
class Fleet {
  public:
    Fleet(const FleetSchema& setup, World& world, std::uint64_t seed)
        : is_(&setup), world_(&world), random_(seed) {}

    void populate() {
        const KindId kinds[] = {is_->ship, is_->ship, is_->car, is_->car, is_->car, is_->pod,
                                is_->pod,  is_->man,  is_->man, is_->man, is_->man, is_->raft};
        for (const KindId kind : kinds) {
            all.push_back(world_->spawn({.kind = kind, .position = somewhere()}));
            REQUIRE(all.back() != EntityId::none);
        }
    }
    /// Makes one edit. Returns true if it changed a relation, which must not move any entity.
    bool edit() {
        written.clear();
        const EntityId one = all[random_.below(static_cast<std::uint32_t>(all.size()))];
        const EntityId other = all[random_.below(static_cast<std::uint32_t>(all.size()))];
        switch (random_.below(8)) {
            case 0:
            case 1:
                moved = one;
                return world_->attach(one, other) == Status::ok;
            case 2:
                moved = one;
                return world_->detach(one) == Status::ok;
            case 3:
                moved = one;
                return world_->set_group_enabled(one, random_.chance(0.7F)) == Status::ok;
            case 4:
                REQUIRE(world_->move(one, somewhere()) == Status::ok);
                written.insert(one);
                return false;
            case 5:
                if (world_->set_local_position(
                        one, {random_.between(-40, 40), random_.between(-5, 5), 0}) == Status::ok)
                    written.insert(one);
                return false;
            default:
                turn(one);
                return false;
        }
    }
    void turn(EntityId one) {
        if (auto* hull = world_->edit(one, is_->hull); hull != nullptr)
            hull->yaw = random_.between(-3.9F, 3.9F);
        if (auto* wheel = world_->edit(one, is_->wheel); wheel != nullptr)
            wheel->yaw = static_cast<std::uint8_t>(random_.below(256));
        if (auto* head = world_->edit(one, is_->head); head != nullptr)
            head->turn = {random_.between(-1, 1), random_.between(-1, 1), random_.between(-1, 1),
                          random_.between(-1, 1)};
    }

    std::vector<EntityId> all;
    std::set<EntityId> written;  ///< moved directly
    EntityId moved = EntityId::none;

  private:
    Vec3 somewhere() { return {random_.between(1900, 2100), random_.between(1900, 2100), 0}; }
    const FleetSchema* is_;
    World* world_;
    SplitMix random_;
};

/// Whether the entity or a parent above it can be tilted. Below a tilted parent, a member with an
/// angle as its orientation loses or gains the tilt.
bool can_tilt(const FleetSchema& setup, const World& world, EntityId entity) {
    for (; entity != EntityId::none; entity = world.parent_of(entity)) {
        if (world.kind_of(entity) == setup.pod) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("world: carried positions are known at once and equal those at the tick end") {
    for (const bool turns : {true, false}) {
        CAPTURE(turns);
        const FleetSchema setup(turns);
        WorldDef def;
        def.schema = &setup.schema;
        World world = std::move(World::create(def)).value();
        SplitMix random(41);
        std::vector<EntityId> all;
        const auto somewhere = [&](float far) {
            return Vec3{random.between(0, far), random.between(0, far), random.between(0, far)};
        };
        for (const KindId kind :
             {setup.ship, setup.car, setup.pod, setup.man, setup.raft, setup.man})
            for (int i = 0; i < 4; ++i)
                all.push_back(world.spawn({.kind = kind, .position = somewhere(1'000)}));
        const auto any = [&] { return all[random.below(static_cast<std::uint32_t>(all.size()))]; };
        const auto turn = [&](EntityId one) {
            if (Hull* hull = world.edit(one, setup.hull)) hull->yaw = random.between(-3, 3);
            if (Wheel* wheel = world.edit(one, setup.wheel))
                wheel->yaw = static_cast<std::uint8_t>(random.below(256));
        };
        int taken_along = 0;
        for (int tick = 0; tick < 400; ++tick) {
            for (std::uint32_t edits = random.below(6); edits > 0; --edits) {
                const EntityId one = any();
                switch (random.below(6)) {
                    case 0:
                    case 1:
                        CHECK(world.move(one, somewhere(1'000)) == Status::ok);
                        break;
                    case 2:
                        (void)world.set_local_position(one, somewhere(20));
                        break;
                    case 3:
                        turn(one);
                        break;
                    case 4:
                        (void)world.attach(one, any());
                        break;
                    case 5:
                        if (random.chance(0.5F)) (void)world.detach(one);
                        break;
                }
            }
            std::vector<Vec3> positions, columns;
            std::vector<Rotation> turned;
            for (const EntityId one : all) {
                positions.push_back(world.position_of(one));
                columns.push_back(world.get(one, setup.position)->at);
                turned.push_back(world.orientation_of(one));
            }
            internal(world).settle();
            (void)internal(world).summary.track();
            for (std::size_t i = 0; i < all.size(); ++i) {
                const Vec3 there = world.get(all[i], setup.position)->at;
                taken_along += distance(there, columns[i]) > 1 ? 1 : 0;
                CHECK(distance(there, positions[i]) < 1e-3);  // float precision
                CHECK(distance(world.position_of(all[i]), there) < 1e-3);
                CHECK(angle_between(world.orientation_of(all[i]), turned[i]) < 1e-6);
            }
            internal(world).clear_changes();
            for (std::size_t i = 0; i < all.size(); ++i)
                CHECK(distance(world.position_of(all[i]), positions[i]) < 1e-3);
        }
        CHECK(taken_along > 100);
    }
}

TEST_CASE("world: relative positions turn with their parent, as in a matrix model (O4)") {
    const FleetSchema setup;
    std::uint64_t carried = 0, relations = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        WorldDef def;
        def.schema = &setup.schema;
        World world = std::move(World::create(def)).value();
        Fleet fleet(setup, world, seed);
        fleet.populate();
        const auto tick = [&] {
            internal(world).settle();
            (void)internal(world).summary.track();
            internal(world).clear_changes();
        };
        tick();
        for (int step = 0; step < 150; ++step) {
            std::map<EntityId, Vec3> positions, locals;
            for (const EntityId one : fleet.all) {
                positions[one] = world.position_of(one);
                locals[one] = world.local_position_of(one);
            }
            std::map<EntityId, EntityId> parents;
            for (const EntityId one : fleet.all) parents[one] = world.group_parent_of(one);
            std::set<EntityId> tilted;
            for (const EntityId one : fleet.all) {
                if (can_tilt(setup, world, one)) tilted.insert(one);
            }
            const bool is_relation = fleet.edit();
            if (is_relation) {
                ++relations;
                CHECK(distance(world.position_of(fleet.moved), positions[fleet.moved]) < 1e-3);
            }
            tick();
            for (const EntityId one : fleet.all) {
                CHECK(distance(world.position_of(one), position_by_model(setup, world, one)) <
                      5e-3);
                const bool is_still = fleet.written.count(one) == 0 &&
                                      parents[one] == world.group_parent_of(one) &&
                                      is_relative(setup, world, one);
                if (is_still) {
                    CHECK(world.local_position_of(one) == locals[one]);  // no updates
                    carried += world.position_of(one) == positions[one] ? 0 : 1;
                }
                if (!is_relation || tilted.count(fleet.moved) + tilted.count(one) != 0 ||
                    can_tilt(setup, world, one))
                    continue;
                // No entity jumps: an angle that is rewritten for a new parent is off by at most
                // half a step.
                double bound = 1e-3;
                for (EntityId above = one; above != EntityId::none;
                     above = world.group_parent_of(above)) {
                    if (above == fleet.moved || world.parent_of(above) == fleet.moved)
                        bound += distance(positions[one], positions[above]) * wheel_step / 2;
                }
                CHECK(distance(world.position_of(one), positions[one]) <= bound);
            }
        }
    }
    CHECK(carried > 1000);
    CHECK(relations > 1000);
}

TEST_CASE("world: the error of a passenger is at most half a step of the angle (O4)") {
    const FleetSchema setup;
    WorldDef def;
    def.schema = &setup.schema;
    World world = std::move(World::create(def)).value();
    const auto tick = [&] {
        internal(world).settle();
        (void)internal(world).summary.track();
        internal(world).clear_changes();
    };
    const EntityId ship = world.spawn({.kind = setup.ship, .position = {2000, 2000, 0}});
    const EntityId man =
        world.spawn({.kind = setup.man, .position = {2080, 2060, 0}});  // 100 m from its mast
    REQUIRE(world.attach(man, ship) == Status::ok);
    tick();
    double largest = 0, furthest = 0;
    for (int step = 0; step < 3000; ++step) {
        const double yaw = -3.9 + step * 0.0026;
        world.edit(ship, setup.hull)->yaw = static_cast<float>(yaw);
        tick();
        const auto exact = applied(about_z(yaw), {80, 60, 0});
        const Vec3 position = world.position_of(man);
        const double off = std::hypot(position.x - 2000 - exact[0], position.y - 2000 - exact[1]);
        largest = std::max(largest, off);
        furthest = std::max(furthest, distance(position, {2080, 2060, 0}));
    }
    CHECK(largest <= 100 * hull_step / 2 + 1e-3);
    CHECK(largest > 0.4);   // the bound is tight
    CHECK(furthest > 190);  // it went all the way around
    // An angle that is not a number turns no entity.
    world.edit(ship, setup.hull)->yaw = std::nanf("");
    tick();
    CHECK(std::isfinite(world.position_of(man).x));
}

TEST_CASE("world: attach and detach keep orientations and rewrite the relative field (O4)") {
    const FleetSchema setup;
    WorldDef def;
    def.schema = &setup.schema;
    World world = std::move(World::create(def)).value();
    const EntityId ship = world.spawn({.kind = setup.ship, .position = {2000, 2000, 0}});
    const EntityId car = world.spawn({.kind = setup.car, .position = {2050, 2000, 0}});
    const EntityId man = world.spawn({.kind = setup.man, .position = {2052, 2000, 0}});
    REQUIRE(world.attach(man, car) == Status::ok);
    world.edit(ship, setup.hull)->yaw = static_cast<float>(std::numbers::pi / 2);
    world.edit(car, setup.wheel)->yaw = 32;
    internal(world).settle();
    const Vec3 before = world.position_of(man);
    REQUIRE(world.attach(car, ship) == Status::ok);
    CHECK(world.get(car, setup.wheel)->yaw == 256 + 32 - 64);
    internal(world).settle();
    CHECK(distance(world.position_of(man), before) <= 2 * wheel_step / 2 + 1e-3);
    const Vec3 local = world.local_position_of(car);
    CHECK(std::abs(local.x) < 0.3);  // to starboard, off by half a step of the ship's angle
    CHECK(std::abs(local.y + 50) < 0.3);
    // The ship keeps turning: the car and the man in it turn with it.
    world.edit(ship, setup.hull)->yaw = static_cast<float>(std::numbers::pi);
    internal(world).settle();
    CHECK(distance(world.position_of(car), {2000, 2050, 0}) < 0.5);
    REQUIRE(world.detach(car) == Status::ok);
    CHECK(std::abs(world.get(car, setup.wheel)->yaw - (32 + 64)) <= 1);
    CHECK(distance(world.position_of(car), {2000, 2050, 0}) < 0.5);
    const Rotation turned = world.orientation_of(car);
    CHECK(std::abs(2 * std::atan2(turned.z, turned.w) - 96 * wheel_step) < 1.1 * wheel_step);
}

TEST_CASE("world: an invalid orientation is refused") {
    const auto problem = [](auto&& injected_fault) {
        FleetSchema setup;
        injected_fault(setup);
        return setup.schema.problem();
    };
    CHECK(problem([](FleetSchema&) {}).empty());
    CHECK_FALSE(problem([](FleetSchema& setup) {
                    setup.schema.set_orientation(setup.man, setup.head.id, "turn");
                }).empty());
    CHECK_FALSE(problem([](FleetSchema& setup) {
                    setup.schema.set_orientation(setup.pod, setup.head.id, "neck");
                }).empty());
    CHECK_FALSE(problem([](FleetSchema& setup) {
                    setup.schema.set_orientation(setup.car, setup.wheel.id, "yaw", 0, TurnAxis::z);
                }).empty());
    CHECK_FALSE(problem([](FleetSchema& setup) {
                    setup.schema.audience(setup.wheel.id, {AudienceType::owner});
                }).empty());
}

TEST_CASE("replication: an idle passenger on a turning ship costs no bytes (O4 O33)") {
    const auto bytes = [](bool has_passengers, bool turns) {
        const FleetSchema setup(turns);
        Stage stage(setup.schema, 1);
        World& world = stage.world();
        const EntityId ship = stage.spawn(setup.ship, {2000, 2000, 0});
        std::vector<EntityId> aboard;
        if (has_passengers) {
            const EntityId car = stage.spawn(setup.car, {2030, 2000, 0});
            const EntityId pod = stage.spawn(setup.pod, {2030, 2002, 0});
            aboard = {stage.spawn(setup.man, {2010, 2003, 0}), car, pod,
                      stage.spawn(setup.man, {2031, 2000, 0})};
            REQUIRE(world.attach(aboard[0], ship) == Status::ok);
            REQUIRE(world.attach(car, ship) == Status::ok);
            REQUIRE(world.attach(pod, car) == Status::ok);
            REQUIRE(world.attach(aboard[3], pod) == Status::ok);
        }
        stage.step(10);
        stage.bytes_to[0] = 0;
        std::map<EntityId, Vec3> first;
        for (const EntityId one : aboard) first[one] = world.position_of(one);
        for (int t = 0; t < 60; ++t) {
            world.edit(ship, setup.hull)->yaw += 0.03F;
            REQUIRE(world.move(ship, {2000 + static_cast<float>(t), 2000, 0}) == Status::ok);
            stage.step();
            for (const EntityId one : aboard) {
                const Vec3 on_client =
                    stage.client().position_of(stage.ghost(0, one), stage.client().newest_tick());
                if (turns) CHECK(distance(on_client, world.position_of(one)) < 0.05);
            }
        }
        if (turns) {
            for (const EntityId one : aboard)
                CHECK(distance(first[one], world.position_of(one)) > 20);
        }
        return stage.bytes_to[0];
    };
    CHECK(bytes(true, true) == bytes(false, true));
}

TEST_CASE("replication: turning members are on clients where the server has them (O4 O33)") {
    const FleetSchema setup;
    std::uint64_t compared = 0, turned = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        Stage stage(setup.schema, 1);
        const bool loses = seed % 3 == 0;
        if (loses) stage.loss = 0.3F;
        Fleet fleet(setup, stage.world(), seed);
        fleet.populate();
        stage.step(6);
        const auto compare = [&](double bound) {
            for (const EntityId one : fleet.all) {
                const GhostId ghost = stage.ghost(0, one);
                if (ghost == GhostId::none) continue;
                const Vec3 there = stage.client().position_of(ghost, stage.client().newest_tick());
                CHECK(distance(there, stage.world().position_of(one)) < bound);
                const Rotation a = stage.world().orientation_of(one);
                const Rotation b =
                    stage.client().orientation_of(ghost, stage.client().newest_tick());
                CHECK(std::abs(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w) > 0.99999F);
                turned += a == Rotation{} ? 0 : 1;
                ++compared;
            }
        };
        for (int step = 0; step < 120; ++step) {
            (void)fleet.edit();
            stage.step();
            // The bound is half a position step per generation. The angle adds nothing, because
            // both sides use the replicated angle.
            if (!loses) compare(0.05);
            if (!loses || step % 40 != 39) continue;
            stage.loss = 0;
            stage.step(12);
            compare(0.05);
            stage.loss = 0.3F;
        }
    }
    CHECK(compared > 5000);
    CHECK(turned > 1000);
}

TEST_CASE("replication: between two ticks a passenger moves on an arc around the ship") {
    const FleetSchema setup;
    Stage stage(setup.schema, 1);
    World& world = stage.world();
    const EntityId ship = stage.spawn(setup.ship, {2000, 2000, 0});
    const EntityId man = stage.spawn(setup.man, {2100, 2000, 0});
    REQUIRE(world.attach(man, ship) == Status::ok);
    stage.step(6);
    for (int t = 0; t < 40; ++t) {
        float& yaw = world.edit(ship, setup.hull)->yaw;
        yaw = yaw + 0.2F > 3.9F ? yaw + 0.2F - static_cast<float>(2 * std::numbers::pi)
                                : yaw + 0.2F;  // the angle wraps around: no spin back
        stage.step();
        if (t == 0) continue;  // no update was sent before
        const double newest = stage.client().newest_tick();
        for (const double part : {0.25, 0.5, 0.75}) {
            const Vec3 at = stage.client().position_of(stage.ghost(0, man), newest - part);
            CHECK(std::abs(std::hypot(at.x - 2000, at.y - 2000) - 100) < 0.05);
            const Vec3 now = stage.client().position_of(stage.ghost(0, man), newest);
            CHECK(std::abs(distance(at, now) - 2 * 100 * std::sin(0.1 * part)) < 1.2);
        }
    }
}

}  // namespace purview::test
