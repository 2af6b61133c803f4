// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Measures the cost of a group change in the world and in interest, and the bytes that relative
// positions save.
#include <algorithm>
#include <cmath>

#include "common/machine.hpp"
#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "groups/plain_schema.hpp"
#include "groups/scenes.hpp"
#include "purview/interest.hpp"
#include "replication/stage.hpp"
#include "server/server_data.hpp"
#include "world/world_data.hpp"

namespace purview::bench {

namespace {

World world_of(const PlainSchema& schema, std::uint16_t members_max, std::uint16_t depth_max) {
    WorldDef def;
    def.schema = &schema.schema;
    def.group_members_max = members_max;
    def.group_depth_max = depth_max;
    return std::move(World::create(def)).value();
}

void end_tick(World& world) {
    internal(world).settle();
    (void)internal(world).summary.track();
    internal(world).clear_changes();
}

}  // namespace

// -- rebuild: a root with 15 members in a chain ---------------------------------------------------

void scene_rebuild(GroupsReport& report, const GroupsOptions& options) {
    const int rounds = options.quick ? 2'000 : 20'000;
    const PlainSchema schema(false);
    World world = world_of(schema, 16, 15);
    std::vector<EntityId> chain;
    for (int i = 0; i < 16; ++i) {
        chain.push_back(world.spawn({.kind = schema.thing}));
        if (i > 0) (void)world.attach(chain.back(), chain[chain.size() - 2]);
    }
    end_tick(world);
    struct Case {
        const char* name;
        std::size_t at;  ///< 0: no change
    };
    for (const Case& one :
         {Case{"nothing", 0}, Case{"last", 15}, Case{"middle", 8}, Case{"first", 1}}) {
        const std::uint64_t before = internal(world).relation_work.visited;
        const Stopwatch watch;
        for (int round = 0; round < rounds; ++round) {
            if (one.at > 0) {
                (void)world.detach(chain[one.at]);
                (void)world.attach(chain[one.at], chain[one.at - 1]);
            }
            end_tick(world);
        }
        const double us = watch.ms() * 1000 / rounds;
        const double visited =
            static_cast<double>(internal(world).relation_work.visited - before) / rounds;
        // Removed and added: twice the members from there on.
        const double affected = one.at == 0 ? 0 : 2.0 * static_cast<double>(16 - one.at);
        report.add("rebuild", one.name, {{"us", us}, {"visited", visited}, {"affected", affected}});
        report.count_at_most(
            std::string("rebuild: members visited beyond those affected, ") + one.name,
            visited - affected, 0, 0);
    }
}

// -- membership: 5 % of all entities change their group in a tick ---------------------------------

namespace {

struct Membership {
    /// Per change: world, interest input and interest tick, minus a tick without changes.
    double us = 0;
    std::size_t wrong = 0;  ///< pairs that differ from brute force at the end
};

Membership change_members(std::uint32_t groups, int ticks) {
    constexpr std::uint32_t size = 8, observer_count = 32;
    constexpr float reach = 40;
    const PlainSchema schema(false);
    World world = world_of(schema, 64, 8);
    Rules def;
    const float side = 16.0F * std::sqrt(static_cast<float>(groups));
    def.max = {side, side, 0};
    NodeDef node;
    node.name = "near";
    node.add(within(reach));
    def.nodes = {node};
    InterestManager interest(def);
    SplitMix random(7);
    const auto position = [&] { return Vec3{random.between(0, side), random.between(0, side), 0}; };
    std::vector<EntityId> roots, members;
    for (std::uint32_t g = 0; g < groups; ++g) {
        roots.push_back(world.spawn({.kind = schema.thing, .position = position()}));
        for (std::uint32_t m = 1; m < size; ++m) {
            members.push_back(
                world.spawn({.kind = schema.thing, .position = world.position_of(roots.back())}));
            (void)world.attach(members.back(), roots.back());
        }
    }
    struct Observer {
        ObserverId id;
        Vec3 position;
    };
    std::vector<Observer> observers;
    for (std::uint32_t o = 0; o < observer_count; ++o) {
        observers.push_back({interest.add_observer({.is_ready = false}), position()});
        interest.set_area(observers[o].id, 0, Area::at(observers[o].position));
        (void)interest.set_ready(observers[o].id, true);
    }
    const auto track = [&] {  // same as InterestFeed::track_op
        WorldData& data = internal(world);
        data.settle();
        for (const WorldOp& op : data.summary.track()) {
            EntityDef entity;
            entity.position = data.components.position_at(index_of(op.entity));
            if (op.type == WorldOp::Type::spawn) {
                entity.id = op.entity;
                interest.spawn(entity);
            } else if (op.root == op.entity) {
                (void)interest.detach(op.entity, entity);
            } else {
                internal(interest).groups.join_unit(op.entity, op.root, op.parent);
            }
        }
        data.clear_changes();
        interest.tick();
    };
    track();
    track();
    const std::uint32_t changes = groups * size / 20;
    double busy = 0, idle = 0;
    std::uint64_t done = 0;
    for (int tick = 0; tick < ticks; ++tick) {
        const Stopwatch rest;
        track();
        idle += rest.ms();
        const Stopwatch work;
        for (std::uint32_t i = 0; i < changes; ++i) {
            const EntityId member =
                members[random.below(static_cast<std::uint32_t>(members.size()))];
            const EntityId root = roots[random.below(groups)];
            done += world.attach(member, root) == Status::ok ? 1 : 0;
        }
        track();
        busy += work.ms();
    }
    Membership result{(busy - idle) * 1000 / static_cast<double>(done)};
    for (const Observer& observer : observers) {
        const auto evaluate = [&](EntityId entity) {  // all members are at the root's position
            const Vec3 at = world.position_of(world.root_of(entity));
            const float dx = at.x - observer.position.x, dy = at.y - observer.position.y;
            const bool is_near = dx * dx + dy * dy <= reach * reach;
            result.wrong += interest.is_relevant(observer.id, entity) != is_near ? 1 : 0;
        };
        std::for_each(roots.begin(), roots.end(), evaluate);
        std::for_each(members.begin(), members.end(), evaluate);
    }
    return result;
}

}  // namespace

void scene_membership(GroupsReport& report, const GroupsOptions& options) {
    const int rounds = options.quick ? 3 : 7;
    std::vector<double> few, many, ratios;
    std::size_t wrong = 0;
    for (int round = 0; round < rounds; ++round) {
        const Membership of_few = change_members(100, 400), of_many = change_members(10'000, 4);
        few.push_back(of_few.us);
        many.push_back(of_many.us);
        wrong += of_few.wrong + of_many.wrong;
        ratios.push_back(many.back() / few.back());
    }
    report.add("membership", "100 groups of 8", {{"us_per_change", median(few)}});
    report.add("membership", "10,000 groups of 8", {{"us_per_change", median(many)}});
    report.at_most("membership: cost per change, 10,000 groups over 100", median(ratios), 1.5, 1.2);
    report.count_at_most("membership: relevant members that differ from brute force",
                         static_cast<double>(wrong), 0, 0);
}

// -- passenger: 200 idle passengers on a moving ship --------------------------------------------

namespace {

/// Counts ships and passengers with a wrong position at the client, after everything has arrived.
std::uint32_t count_misplaced(Stage& stage) {
    // One step of the ship's position and one of its passenger's.
    constexpr float off_max_m = 0.02F;
    stage.set_frozen(true);
    for (int i = 0; i < 20; ++i) (void)stage.step();
    const World& world = stage.server().world();
    const GhostTable& ghosts = internal(stage.server()).sessions.find(stage.observer(0))->ghosts;
    const Client& client = stage.watcher(0);
    std::uint32_t right = 0;
    for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
        if (!ghosts.slots().is_live(slot) || !client.is_held(ghost_id_of(slot))) continue;
        const Vec3 at = world.position_of(ghosts.slots().entity(slot));
        const Vec3 shown = client.position_of(ghost_id_of(slot), client.newest_tick());
        right += std::hypot(shown.x - at.x, shown.y - at.y) <= off_max_m ? 1 : 0;
    }
    return world.entity_count() - right;
}

struct Voyage {
    double bytes = -1;  ///< per observer and tick; -1: the view did not settle
    std::uint32_t misplaced = 0;
};

Voyage sail(bool relative, std::uint32_t ticks) {
    constexpr std::uint32_t passengers = 200, observers = 100;
    const PlainSchema schema(relative);
    EntityId ship = EntityId::none;
    std::vector<EntityId> crew;
    StageDef def;
    def.server.schema = &schema.schema;
    def.server.group_members_max = passengers + 1;
    def.server.budget_bytes_per_tick = 100'000;
    def.clients = observers;
    def.watchers = 1;
    Script script;
    script.populate = [&](World& world) {
        ship = world.spawn({.kind = schema.thing, .position = {100, 100, 0}});
        for (std::uint32_t i = 0; i < passengers; ++i) {
            const auto row = static_cast<float>(i % 20), rank = static_cast<float>(i / 20);
            crew.push_back(
                world.spawn({.kind = schema.passenger, .position = {101 + row, 101 + rank, 0}}));
            (void)world.attach(crew.back(), ship);
        }
    };
    script.joined = [](Server&, ObserverId, std::uint32_t) {};
    script.simulate = [&](Server& server, Tick tick) {
        World& world = server.world();
        const auto t = static_cast<float>(tick % 10'000);
        const Vec3 at{100 + t * 0.3F, 100 + t * 0.1F, 0};
        const Vec3 was = world.position_of(ship);
        (void)world.move(ship, at);
        if (relative) return;
        for (const EntityId one : crew) {  // without relative positions, the game moves them
            const Vec3 position = world.position_of(one);
            (void)world.move(one, {position.x + at.x - was.x, position.y + at.y - was.y, 0});
        }
    };
    script.notify = [](Server&, Tick) {};
    Stage stage(def, script);
    if (!stage.join()) return {};
    for (int i = 0; i < 20; ++i) (void)stage.step();
    std::uint64_t bytes = 0;
    for (std::uint32_t tick = 0; tick < ticks; ++tick) bytes += stage.step().bytes;
    return {static_cast<double>(bytes) / ticks / observers, count_misplaced(stage)};
}

}  // namespace

void scene_passenger(GroupsReport& report, const GroupsOptions& options) {
    const std::uint32_t ticks = options.quick ? 50 : 200;
    const Voyage with = sail(true, ticks), without = sail(false, ticks);
    report.add("passenger", "relative positions", {{"bytes_per_observer", with.bytes}});
    report.add("passenger", "absolute positions", {{"bytes_per_observer", without.bytes}});
    if (with.bytes < 0 || without.bytes <= 0) {
        report.could_not_run("passenger: joined", "the view did not settle");
        return;
    }
    report.count_at_most("passenger: bytes with relative positions over those without",
                         with.bytes / without.bytes, 0.05, 0.05);
    report.count_at_most("passenger: positions that differ at a client",
                         with.misplaced + without.misplaced, 0, 0);
}

}  // namespace purview::bench
