// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups in the world: membership, ownership, change events and cost.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/internal_access.hpp"
#include "small_game.hpp"
#include "world/world_data.hpp"

namespace purview::test {

namespace {

/// Crates can be members of groups. Trees are plain entities, which cannot.
struct Grove {
    explicit Grove(std::uint16_t members_max = 16, std::uint16_t depth_max = 15) {
        small.schema.edit_kind(small.tree).in_groups = false;
        WorldDef def;
        def.schema = &small.schema;
        def.group_members_max = members_max;
        def.group_depth_max = depth_max;
        made.push_back(std::move(World::create(def)).value());
    }
    World& world() { return made.front(); }
    EntityId crate() { return world().spawn({.kind = small.crate}); }
    EntityId tree() { return world().spawn({.kind = small.tree}); }
    void tick() {
        internal(world()).settle();
        (void)internal(world()).summary.track();
        internal(world()).clear_changes();
    }
    SmallSchema small;
    std::vector<World> made;
};

/// A hierarchy: its attaches and detaches in order, and the expected roots after each of both.
struct Build {
    const char* name;
    std::vector<std::pair<int, int>> attach;      ///< child, parent
    std::vector<std::pair<int, int>> roots;       ///< entity, root
    std::vector<int> detach;                      ///< after the attaches
    std::vector<std::pair<int, int>> roots_then;  ///< entity, root
};

}  // namespace

TEST_CASE("world: a schema without positions has no relative positions") {
    Schema schema;
    const Component<Vec3> tag = schema.component<Vec3>("tag").real("x", &Vec3::x);
    const KindId kind = schema.kind("thing", {tag.id});
    schema.edit_kind(kind).relative_position = true;
    WorldDef def;
    def.schema = &schema;
    World world = std::move(World::create(def)).value();
    const EntityId above = world.spawn({.kind = kind}), below = world.spawn({.kind = kind});
    CHECK(world.attach(below, above) == Status::ok);
    CHECK(world.parent_of(below) == above);
    CHECK(world.detach(below) == Status::ok);
    CHECK(world.parent_of(below) == EntityId::none);
}

TEST_CASE("world: groups of any shape attach and detach like those of O3DE (O4 O7 O8 O36)") {
    const std::vector<Build> builds{
        {"simple", {{2, 1}, {3, 1}}, {{1, 1}, {2, 1}, {3, 1}}, {2}, {{2, 2}, {3, 1}}},
        {"deep", {{2, 1}, {3, 2}, {4, 3}, {5, 4}}, {{5, 1}, {3, 1}}, {3}, {{2, 1}, {5, 3}}},
        {"branched",
         {{2, 1}, {3, 2}, {4, 2}, {5, 1}, {6, 5}, {7, 5}},
         {{4, 1}, {7, 1}},
         {5},
         {{4, 1}, {6, 5}, {7, 5}}},
        {"from the bottom up", {{3, 2}, {4, 3}, {2, 1}}, {{4, 1}}, {2}, {{4, 2}, {1, 1}}},
        {"hierarchy of hierarchy",
         {{2, 1}, {4, 3}, {5, 4}, {3, 2}},
         {{3, 1}, {5, 1}},
         {3},
         {{4, 3}, {5, 3}, {2, 1}}},
        {"mixed",
         {{2, 1}, {4, 3}, {6, 5}, {3, 1}, {5, 2}},
         {{4, 1}, {6, 1}},
         {3, 5},
         {{4, 3}, {6, 5}, {2, 1}}},
        {"three roots",
         {{2, 1}, {4, 3}, {6, 5}, {3, 2}, {5, 4}},
         {{6, 1}},
         {3},
         {{6, 3}, {5, 3}, {2, 1}}},
        {"to another parent",
         {{2, 1}, {3, 2}, {5, 4}, {2, 5}},
         {{3, 4}, {1, 1}},
         {2},
         {{3, 2}, {5, 4}}},
    };
    for (const Build& build : builds) {
        CAPTURE(build.name);
        Grove grove;
        std::vector<EntityId> e{EntityId::none};
        for (int i = 1; i <= 8; ++i) e.push_back(grove.crate());
        const auto at = [&](int i) { return e[static_cast<std::size_t>(i)]; };
        const auto check = [&](const std::vector<std::pair<int, int>>& roots) {
            for (const auto& [entity, root] : roots)
                CHECK(grove.world().root_of(at(entity)) == at(root));
        };
        for (const auto& [child, parent] : build.attach)
            CHECK(grove.world().attach(at(child), at(parent)) == Status::ok);
        check(build.roots);
        for (const int child : build.detach) CHECK(grove.world().detach(at(child)) == Status::ok);
        check(build.roots_then);
    }
}

TEST_CASE("world: a plain parent or child separates the groups around it (O9 O5 O4)") {
    Grove grove;
    World& world = grove.world();
    const EntityId a = grove.crate(), b = grove.crate(), c = grove.crate(), plain = grove.tree();
    CHECK(world.attach(plain, a) == Status::ok);
    CHECK(world.attach(b, plain) == Status::ok);
    CHECK(world.attach(c, b) == Status::ok);
    CHECK(world.parent_of(b) == plain);
    CHECK(world.group_parent_of(b) == EntityId::none);
    CHECK(world.root_of(plain) == plain);
    CHECK(world.root_of(b) == b);
    CHECK(world.root_of(c) == b);
    CHECK(world.attach(a, c) == Status::would_cycle);  // plain parents count as well
    // Plain entities may be nested deeper than a group.
    std::vector<EntityId> chain{plain};
    for (int i = 0; i < 100; ++i) {
        chain.push_back(grove.tree());
        CHECK(world.attach(chain.back(), chain[chain.size() - 2]) == Status::ok);
    }
    CHECK(world.root_of(chain.back()) == chain.back());
}

TEST_CASE("world: a disabled member keeps its parent but leaves its group (O5 O13 O43)") {
    Grove grove(4, 2);
    World& world = grove.world();
    const EntityId a = grove.crate(), b = grove.crate(), c = grove.crate(), d = grove.crate();
    CHECK(world.attach(b, a) == Status::ok);
    CHECK(world.attach(c, b) == Status::ok);
    CHECK(world.attach(d, a) == Status::ok);
    CHECK(world.set_group_enabled(b, false) == Status::ok);
    CHECK_FALSE(world.is_group_enabled(b));
    CHECK(world.parent_of(b) == a);
    CHECK(world.parent_of(c) == b);
    CHECK(world.root_of(b) == b);
    CHECK(world.root_of(c) == c);
    CHECK(world.root_of(d) == a);
    // Another member took its place in the group: enabling it again is refused without effect.
    const EntityId e = grove.crate(), f = grove.crate();
    CHECK(world.attach(e, a) == Status::ok);
    CHECK(world.set_group_enabled(b, true) == Status::too_large);  // five members with c
    CHECK(world.root_of(b) == b);
    CHECK(world.detach(e) == Status::ok);
    CHECK(world.attach(f, c) == Status::ok);
    const EntityId deep = grove.crate();
    CHECK(world.detach(d) == Status::ok);
    CHECK(world.set_group_enabled(b, true) == Status::too_deep);  // a > b > c > f
    CHECK(world.detach(f) == Status::ok);
    CHECK(world.set_group_enabled(b, true) == Status::ok);
    CHECK(world.root_of(c) == a);
    CHECK(world.attach(deep, c) == Status::too_deep);
    // Disabling a root disbands its group.
    CHECK(world.set_group_enabled(a, false) == Status::ok);
    CHECK(world.root_of(b) == b);
    CHECK(world.root_of(c) == b);
    CHECK(world.set_group_enabled(a, true) == Status::ok);
    CHECK(world.root_of(c) == a);
    CHECK(world.set_group_enabled(EntityId::none, true) == Status::stale_id);
}

TEST_CASE("world: passengers keep their owner, mounted parts inherit that of the root (O11)") {
    const ObserverId alice{1}, bob{2}, carol{3};
    Grove grove;
    World& world = grove.world();
    const EntityId tank = grove.crate(), turret = grove.crate(), barrel = grove.crate(),
                   player = grove.crate(), hat = grove.crate();
    CHECK(world.set_owner(player, bob) == Status::ok);
    CHECK(world.attach(hat, player) == Status::ok);
    CHECK(world.owner_of(hat) == bob);  // it has no owner of its own
    CHECK(world.attach(barrel, turret) == Status::ok);
    CHECK(world.attach(turret, tank) == Status::ok);
    CHECK(world.attach(player, tank) == Status::ok);
    CHECK(world.owner_of(turret) == ObserverId::none);
    CHECK(world.set_owner(tank, alice) == Status::ok);  // a player drives
    CHECK(world.owner_of(turret) == alice);
    CHECK(world.owner_of(barrel) == alice);
    CHECK(world.owner_of(player) == bob);
    CHECK(world.owner_of(hat) == bob);
    CHECK(world.detach(turret) == Status::ok);
    CHECK(world.owner_of(turret) == ObserverId::none);  // as before
    CHECK(world.owner_of(barrel) == ObserverId::none);
    CHECK(world.detach(player) == Status::ok);
    CHECK(world.owner_of(player) == bob);
    // With explicit owner policies.
    CHECK(world.attach(player, tank, OwnerPolicy::inherit) == Status::ok);
    CHECK(world.owner_of(player) == alice);
    CHECK(world.owner_of(hat) == alice);
    CHECK(world.attach(turret, tank, OwnerPolicy::keep) == Status::ok);
    CHECK(world.owner_of(turret) == ObserverId::none);
    CHECK(world.set_group_enabled(player, false) == Status::ok);
    CHECK(world.owner_of(player) == bob);
    CHECK(world.set_group_enabled(player, true) == Status::ok);
    CHECK(world.owner_of(player) == alice);
    CHECK(world.set_owner(player, carol) == Status::ok);  // its own owner again
    CHECK(world.owner_of(player) == carol);
    CHECK(world.detach(player) == Status::ok);
    CHECK(world.owner_of(player) == carol);
}

TEST_CASE("world: a subtree attaches or detaches with one event per member (O39 O42 O7)") {
    Grove grove;
    World& world = grove.world();
    const EntityId ship = grove.crate(), cart = grove.crate(), box = grove.crate(),
                   lid = grove.crate();
    CHECK(world.attach(box, cart) == Status::ok);
    CHECK(world.attach(lid, box) == Status::ok);
    grove.tick();
    CHECK(world.group_events().size() == 2);
    CHECK(world.attach(cart, ship) == Status::ok);
    grove.tick();
    REQUIRE(world.group_events().size() == 3);
    const std::vector<EntityId> moved{cart, box, lid};
    for (std::size_t i = 0; i < 3; ++i) {
        const GroupEvent& event = world.group_events()[i];
        CHECK(event.entity == moved[i]);
        CHECK(event.old_root == cart);
        CHECK(event.new_root == ship);
    }
    CHECK(world.group_events()[0].old_parent == EntityId::none);
    CHECK(world.group_events()[0].new_parent == ship);
    CHECK(world.group_events()[2].old_parent == box);
    CHECK(world.group_events()[2].new_parent == box);
    // Edits that cancel out within a tick cause no event. Several edits cause one.
    CHECK(world.detach(cart) == Status::ok);
    CHECK(world.attach(cart, ship) == Status::ok);
    grove.tick();
    CHECK(world.group_events().empty());
    CHECK(world.detach(box) == Status::ok);
    CHECK(world.attach(box, ship) == Status::ok);
    grove.tick();
    REQUIRE(world.group_events().size() == 1);  // its root did not change
    CHECK(world.group_events()[0].old_parent == cart);
    CHECK(world.group_events()[0].new_parent == ship);
    // A root despawns.
    CHECK(world.despawn(ship) == Status::ok);
    grove.tick();
    std::map<EntityId, EntityId> root_now;
    for (const GroupEvent& event : world.group_events()) root_now[event.entity] = event.new_root;
    CHECK(root_now == std::map<EntityId, EntityId>{{cart, cart}, {box, box}, {lid, box}});
    CHECK(world.despawn(lid) == Status::ok);
    grove.tick();
    REQUIRE(world.group_events().size() == 1);
    CHECK(world.group_events()[0].new_root == EntityId::none);
    grove.tick();
    CHECK(world.group_events().empty());
}

TEST_CASE("world: only changes of relations visit members, and only those concerned (O14)") {
    Grove grove(64, 64);
    World& world = grove.world();
    WorldData& data = internal(world);
    std::vector<EntityId> chain{grove.crate()};
    for (int i = 0; i < 15; ++i) {
        chain.push_back(grove.crate());
        CHECK(world.attach(chain.back(), chain[chain.size() - 2]) == Status::ok);
    }
    grove.tick();
    const auto work = [&](auto&& change) {
        const RelationWork before = data.relation_work;
        change();
        return RelationWork{data.relation_work.visited - before.visited,
                            data.relation_work.steps_up - before.steps_up};
    };
    const auto rest = work([&] {
        for (int t = 0; t < 5; ++t) {
            for (const EntityId one : chain) {
                (void)world.move(one, {1, 2, static_cast<float>(t)});
                (void)world.root_of(one);
                (void)world.parent_of(one);
            }
            grove.tick();
        }
    });
    CHECK(rest.visited == 0);
    CHECK(rest.steps_up == 0);
    for (const std::size_t at : {15U, 8U, 1U}) {
        CHECK(work([&] { CHECK(world.detach(chain[at]) == Status::ok); }).visited == 16 - at);
        CHECK(work([&] { CHECK(world.attach(chain[at], chain[at - 1]) == Status::ok); }).visited ==
              16 - at);
    }
}

TEST_CASE("world: groups that merge at once are counted completely (O6)") {
    Grove grove(40'000, 2);
    World& world = grove.world();
    const EntityId top = grove.crate();
    CHECK(world.set_group_enabled(top, false) == Status::ok);
    for (int group = 0; group < 2; ++group) {
        const EntityId root = grove.crate();
        for (int i = 1; i < 33'000; ++i) REQUIRE(world.attach(grove.crate(), root) == Status::ok);
        CHECK(world.attach(root, top) == Status::ok);
    }
    CHECK(world.set_group_enabled(top, true) == Status::too_large);  // 66,001, or 465 in 16 bits
    CHECK(!world.is_group_enabled(top));
}

TEST_CASE("world: an attach that is not possible is refused with its own status (O6)") {
    Grove grove(4, 2);
    World& world = grove.world();
    const EntityId a = grove.crate(), b = grove.crate(), gone = grove.crate();
    CHECK(world.despawn(gone) == Status::ok);
    CHECK(world.attach(a, gone) == Status::stale_id);
    CHECK(world.attach(gone, a) == Status::stale_id);
    CHECK(world.attach(a, EntityId::none) == Status::stale_id);
    CHECK(world.attach(a, make_entity_id(4'000'000, 1)) == Status::stale_id);
    CHECK(world.attach(a, a) == Status::would_cycle);
    CHECK(world.detach(a) == Status::not_found);
    CHECK(world.attach(b, a) == Status::ok);
    CHECK(world.attach(a, b) == Status::would_cycle);
    CHECK(world.attach(b, a) == Status::ok);  // it is already attached there
    grove.tick();
    CHECK(world.group_events().size() == 1);
    CHECK(world.set_local_position(a, {1, 0, 0}) == Status::bad_argument);
}

TEST_CASE("world: random group edits match a simple model (O5 O7 O10 O11 O39 O42)") {
    struct Model {
        EntityId parent = EntityId::none;
        bool enabled = true;
        bool plain = false;
        bool inherits = false;
        ObserverId own{};
    };
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        SplitMix random(seed);
        Grove grove(12, 5);
        World& world = grove.world();
        std::map<EntityId, Model> model;
        std::map<EntityId, std::vector<EntityId>> children;
        const auto linked = [&](EntityId e) {
            const Model& m = model[e];
            if (m.parent == EntityId::none || !m.enabled || m.plain) return false;
            const Model& p = model[m.parent];
            return p.enabled && !p.plain;
        };
        const auto root = [&](EntityId e) {
            while (linked(e)) e = model[e].parent;
            return e;
        };
        const auto owner = [&](EntityId e) {
            while (model[e].inherits && linked(e)) e = model[e].parent;
            return model[e].own;
        };
        const auto fits = [&] {  // the limits, computed from scratch
            std::map<EntityId, unsigned> count;
            for (const auto& [e, m] : model) {
                unsigned depth = 0;
                for (EntityId at = e; linked(at); at = model[at].parent) ++depth;
                if (depth > 5) return Status::too_deep;
                if (++count[root(e)] > 12) return Status::too_large;
            }
            return Status::ok;
        };
        struct Was {
            EntityId root, parent;
        };
        std::map<EntityId, Was> before;
        for (int tick = 0; tick < 60; ++tick) {
            before.clear();
            for (const auto& [e, m] : model) before[e] = {root(e), m.parent};
            for (int edit = 0; edit < 12; ++edit) {
                const auto pick = [&] {
                    auto at = model.begin();
                    std::advance(at, random.below(static_cast<std::uint32_t>(model.size())));
                    return at->first;
                };
                if (random.chance(0.2F)) internal(world).settle(true);  // a query in between
                const std::uint32_t what = model.size() < 4 ? 0 : random.below(12);
                if (what < 2 && model.size() < 50) {
                    const bool plain = random.chance(0.15F);
                    const EntityId e = plain ? grove.tree() : grove.crate();
                    model[e].plain = plain;
                    before[e] = {e, EntityId::none};
                } else if (what == 2) {
                    const EntityId e = pick();
                    CHECK(world.despawn(e) == Status::ok);
                    for (const EntityId c : children[e]) model[c].parent = EntityId::none;
                    if (model[e].parent != EntityId::none) std::erase(children[model[e].parent], e);
                    children.erase(e);
                    model.erase(e);
                } else if (what == 3) {
                    const EntityId e = pick();
                    const bool has = model[e].parent != EntityId::none;
                    CHECK(world.detach(e) == (has ? Status::ok : Status::not_found));
                    if (has) std::erase(children[model[e].parent], e);
                    model[e].parent = EntityId::none;
                } else if (what == 4) {
                    const EntityId e = pick();
                    const bool enabled = random.chance(0.6F);
                    const bool was = model[e].enabled;
                    model[e].enabled = enabled;
                    const Status should = was == enabled ? Status::ok : fits();
                    if (should != Status::ok) model[e].enabled = was;
                    const Status got = world.set_group_enabled(e, enabled);
                    CHECK((got == Status::ok) == (should == Status::ok));
                } else if (what == 5) {
                    const EntityId e = pick();
                    model[e].own = ObserverId{random.below(3)};
                    model[e].inherits = false;
                    CHECK(world.set_owner(e, model[e].own) == Status::ok);
                } else {
                    const EntityId e = pick(), p = pick();
                    const auto policy = static_cast<OwnerPolicy>(random.below(3));
                    const auto m_before = model;
                    EntityId up = p;
                    while (up != EntityId::none && up != e) up = model[up].parent;
                    Status should = Status::ok;
                    const bool same = model[e].parent == p;
                    if (!same && up == e) {
                        should = Status::would_cycle;
                    } else if (!same) {
                        model[e].parent = p;
                        model[e].inherits =
                            policy == OwnerPolicy::inherit ||
                            (policy == OwnerPolicy::automatic && model[e].own == ObserverId{});
                        should = fits();
                        if (should != Status::ok) model = m_before;
                    }
                    const Status got = world.attach(e, p, policy);
                    CHECK((got == Status::ok) == (should == Status::ok));
                    if (should == Status::would_cycle) CHECK(got == should);
                    if (!same && should == Status::ok) {
                        if (m_before.at(e).parent != EntityId::none)
                            std::erase(children[m_before.at(e).parent], e);
                        children[p].push_back(e);
                    }
                }
            }
            for (const auto& [e, m] : model) {
                CHECK(world.parent_of(e) == m.parent);
                CHECK(world.root_of(e) == root(e));
                CHECK(world.owner_of(e) == owner(e));
                const auto list = world.children_of(e);
                CHECK(std::equal(list.begin(), list.end(), children[e].begin(), children[e].end()));
            }
            grove.tick();
            std::map<EntityId, GroupEvent> reported;
            for (const GroupEvent& event : world.group_events()) {
                CHECK(reported.count(event.entity) == 0);  // once
                reported.emplace(event.entity, event);
            }
            for (const auto& [e, was] : before) {
                const bool lives = model.count(e) != 0;
                const EntityId now_root = lives ? root(e) : EntityId::none;
                const EntityId now_parent = lives ? model[e].parent : EntityId::none;
                const bool was_alone = was.root == e && was.parent == EntityId::none;
                const bool differs =
                    lives ? now_root != was.root || now_parent != was.parent : !was_alone;
                CHECK((reported.count(e) != 0) == differs);
                if (!differs || reported.count(e) == 0) continue;
                CHECK(reported.at(e).old_root == was.root);
                CHECK(reported.at(e).old_parent == was.parent);
                CHECK(reported.at(e).new_root == now_root);
                CHECK(reported.at(e).new_parent == now_parent);
            }
        }
    }
}

TEST_CASE("world: a relative position follows its parent, and a new parent moves no entity") {
    Grove grove;
    grove.small.schema.edit_kind(grove.small.animal).relative_position = true;
    WorldDef def;
    def.schema = &grove.small.schema;
    World world = std::move(World::create(def)).value();
    const auto tick = [&] {
        internal(world).settle();
        (void)internal(world).summary.track();
        internal(world).clear_changes();
    };
    const EntityId ship = world.spawn({.kind = grove.small.wagon, .position = {100, 100, 0}});
    const EntityId man = world.spawn({.kind = grove.small.animal, .position = {103, 101, 0}});
    const EntityId bird = world.spawn({.kind = grove.small.animal, .position = {104, 101, 0}});
    CHECK(world.local_position_of(man) == Vec3{103, 101, 0});
    CHECK(world.attach(man, ship) == Status::ok);
    CHECK(world.attach(bird, man) == Status::ok);
    CHECK(world.position_of(man) == Vec3{103, 101, 0});
    CHECK(world.local_position_of(man) == Vec3{3, 1, 0});
    tick();
    CHECK(world.move(ship, {200, 100, 0}) == Status::ok);
    tick();
    CHECK(world.position_of(man) == Vec3{203, 101, 0});
    CHECK(world.position_of(bird) == Vec3{204, 101, 0});
    CHECK(world.set_local_position(man, {0, 2, 0}) == Status::ok);
    CHECK(world.position_of(man) == Vec3{200, 102, 0});
    CHECK(world.move(ship, {210, 100, 0}) == Status::ok);
    tick();
    CHECK(world.position_of(man) == Vec3{210, 102, 0});
    CHECK(world.position_of(bird) == Vec3{211, 102, 0});
    CHECK(world.move(man, {211, 100, 0}) == Status::ok);  // in world coordinates
    tick();
    CHECK(world.local_position_of(man) == Vec3{1, 0, 0});
    // The ship moves and `man` detaches in the same tick: it stays where the ship took it.
    CHECK(world.move(ship, {220, 100, 0}) == Status::ok);
    CHECK(world.detach(man) == Status::ok);
    tick();
    CHECK(world.position_of(man) == Vec3{221, 100, 0});
    CHECK(world.position_of(bird) == Vec3{222, 100, 0});
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(world.set_local_position(bird, {nan, 0, 0}) == Status::bad_position);
    CHECK(world.set_local_position(man, {1, 0, 0}) == Status::bad_argument);
}

TEST_CASE("world: a summary of group edits is minimal and ordered by dependencies") {
    Grove grove(64, 32);
    World& world = grove.world();
    WorldData& data = internal(world);
    SplitMix random(9);
    struct Seat {
        EntityId root, parent;
        bool operator==(const Seat&) const = default;
    };
    std::map<EntityId, Seat>
        seats;  // what a reader of the summaries knows; a root has itself as root, and no parent
    std::vector<EntityId> all;
    std::uint64_t undone = 0, joins = 0, leaves = 0;
    for (int track = 0; track < 3'000; ++track) {
        std::set<EntityId> touched;
        for (std::uint32_t n = random.below(12); n > 0; --n) {
            const auto any = [&] {
                return all[random.below(static_cast<std::uint32_t>(all.size()))];
            };
            if (all.size() < 4 || (all.size() < 24 && random.chance(0.2F))) {
                all.push_back(random.chance(0.9F) ? grove.crate() : grove.tree());
                continue;
            }
            const EntityId one = any();
            touched.insert(one);
            switch (random.below(6)) {
                case 0:
                    CHECK(world.set_group_enabled(one, random.chance(0.5F)) == Status::ok);
                    break;
                case 1:
                    (void)world.detach(one);
                    break;
                case 2: {  // to another parent and back
                    const EntityId before = world.parent_of(one);
                    (void)world.attach(one, any());
                    if (before == EntityId::none) (void)world.detach(one);
                    if (before != EntityId::none) (void)world.attach(one, before);
                    break;
                }
                case 3:
                    if (random.chance(0.6F)) break;
                    CHECK(world.despawn(one) == Status::ok);
                    std::erase(all, one);
                    break;
                default:
                    (void)world.attach(one, any());
                    break;
            }
        }
        data.settle();
        enum class Part { coming, leaving, joining, rest } part = Part::coming;
        const auto is_in = [&](Part now) {
            CHECK(now >= part);
            part = now;
        };
        std::set<EntityId> moved;
        for (const WorldOp& op : data.summary.track()) {
            if (op.type == WorldOp::Type::spawn) {
                is_in(Part::coming);
                seats[op.entity] = {op.entity, EntityId::none};
            } else if (op.type == WorldOp::Type::root && op.root == op.entity) {
                is_in(Part::leaving);
                CHECK(seats.at(op.entity).parent != EntityId::none);
                seats.at(op.entity) = {op.entity, EntityId::none};
                CHECK(moved.insert(op.entity).second);
                ++leaves;
            } else if (op.type == WorldOp::Type::root) {
                is_in(Part::joining);
                CHECK(seats.at(op.parent).root == op.root);
                const bool is_elsewhere = seats.at(op.entity) != Seat{op.root, op.parent};
                CHECK((is_elsewhere || moved.contains(op.parent)));  // or moves with its parent
                seats.at(op.entity) = {op.root, op.parent};
                CHECK(moved.insert(op.entity).second);
                ++joins;
            } else {
                is_in(Part::rest);
                if (op.type != WorldOp::Type::despawn) continue;
                for (const auto& [entity, seat] : seats) CHECK(seat.parent != op.entity);
                seats.erase(op.entity);
            }
        }
        REQUIRE(seats.size() == all.size());
        for (const EntityId one : all) {
            REQUIRE(seats.at(one) ==
                    Seat{world.root_of(one), data.groups.group_parent_at(index_of(one))});
            undone += touched.contains(one) && !moved.contains(one) ? 1 : 0;
        }
        if (random.chance(0.5F)) data.clear_changes();
    }
    CHECK(joins > 1'000);
    CHECK(leaves > 500);
    CHECK(undone > 500);
}

}  // namespace purview::test
