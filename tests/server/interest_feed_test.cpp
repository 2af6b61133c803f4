// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Changes of group membership between two ticks: only the final state matters, not the steps that
// led to it.
#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "support/sanitized.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct PortSchema {
    PortSchema() {
        position = add_position(schema, 0, 400);
        boat = schema.kind("boat", {position.id});
        pilot = schema.kind("pilot", {position.id});
        REQUIRE(schema.problem().empty());
    }
    /// Relevance depends on the past: by the leave margin, and by `minimum_relevance_ticks` if it
    /// is not 0.
    ServerDef def(std::uint32_t minimum_relevance_ticks) const {
        ServerDef def;
        def.group_members_max = 64;
        def.group_depth_max = 32;
        def.rules.max = {400, 400, 0};
        def.rules.minimum_relevance_ticks = minimum_relevance_ticks;
        def.rules.range_classes = {20, 80};
        def.rules.node("near").add(within(40).leave_at(60)).members = Members::unbound;
        def.rules.node("harbour").add(within(15).leave_at(25)).members = Members::bound;
        def.rules.kinds.resize(2);
        def.rules.kinds[index_of(pilot)].culled_independently = true;
        def.rules.kinds[index_of(pilot)].keeps_ancestors = true;
        return def;
    }
    Schema schema;
    Component<Position> position;
    KindId boat{}, pilot{};
};

/// Boats and pilots in groups that change in every tick, and the view of three clients.
class Port {
  public:
    static constexpr std::uint32_t boats = 40;

    Port(std::uint64_t seed, bool has_detours)
        : has_detours_(has_detours),
          random_(seed),
          detours_(seed + 1),
          stage_(is_.schema, 3, is_.def(seed % 2 == 0 ? 0 : 6)) {
        for (std::uint32_t o = 0; o < 3; ++o) set_eye(o);
        for (std::uint32_t i = 0; i < boats; ++i) spawn();
        stage_.visibility();
    }

    /// Runs one tick. Returns events, explanations and packet hashes as text.
    std::string step() {
        for (EntityId& one : all_) {
            if (random_.chance(0.4F)) (void)world().move(one, somewhere(world().position_of(one)));
        }
        if (random_.chance(0.2F)) set_eye(random_.below(3));
        send_chat();
        replace_one();
        const std::map<EntityId, EntityId> before = parents_;
        for (std::uint32_t n = random_.below(3); n > 0; --n) change_parent();
        if (has_detours_) {
            for (std::uint32_t n = detours_.below(20); n > 0; --n) go_astray();
        }
        settle();
        stage_.step();
        return all_that_is_known();
    }
    std::uint64_t detours = 0;

  private:
    World& world() { return stage_.world(); }
    EntityId any(SplitMix& random) { return all_[random.below(boats)]; }
    Vec3 somewhere(Vec3 near) {
        const auto go = [&](float at) {
            return std::clamp(at + random_.between(-12, 12), 100.0F, 220.0F);
        };
        return {go(near.x), go(near.y), 0};
    }
    void set_eye(std::uint32_t o) {
        stage_.visibility().set_area(stage_.observers[o], 0, Area::at(somewhere({160, 160, 0})));
    }
    void spawn() {
        const KindId kind = random_.chance(0.3F) ? is_.pilot : is_.boat;
        all_.push_back(
            stage_.spawn(kind, {random_.between(100, 220), random_.between(100, 220), 0}));
    }
    void replace_one() {
        if (!random_.chance(0.2F)) return;
        const std::uint32_t at = random_.below(boats);
        const EntityId gone = all_[at];
        parents_.erase(gone);
        std::erase_if(parents_, [&](const auto& pair) { return pair.second == gone; });
        spawn();
        all_[at] = all_.back();
        all_.pop_back();
        gone_.push_back(gone);
    }
    void send_chat() {
        const EntityId one = any(random_);
        Visibility& interest = stage_.visibility();
        switch (random_.below(6)) {
            case 0:
                interest.set_range(one, random_.chance(0.5F) ? 80.0F : 0.0F);
                break;
            case 1: {
                const std::array<NodeId, 1> harbour{id_at<NodeId>(1)};
                interest.rebind(one, std::span(harbour).first(random_.below(2)));
                break;
            }
            case 2:
                interest.set_position_source(one,
                                             random_.chance(0.5F) ? any(random_) : EntityId::none);
                break;
            case 3:
                interest.deny(stage_.observers[random_.below(3)], one, random_.chance(0.3F));
                break;
            case 4:
                interest.allow(stage_.observers[random_.below(3)], one, random_.chance(0.3F));
                break;
            default:
                interest.set_hidden(one, random_.chance(0.2F));
                break;
        }
    }
    EntityId parent_of(EntityId one) const {
        const auto found = parents_.find(one);
        return found == parents_.end() ? EntityId::none : found->second;
    }
    void change_parent() {
        const EntityId one = any(random_), parent = any(random_);
        if (random_.chance(0.4F)) {
            parents_.erase(one);
            return;
        }
        for (EntityId above = parent; above != EntityId::none; above = parent_of(above)) {
            if (above == one) return;
        }
        parents_[one] = parent;
    }
    void go_astray() {
        const EntityId one = any(detours_);
        ++detours;
        switch (detours_.below(4)) {
            case 0:
                (void)world().detach(one);
                break;
            case 1:
                (void)world().set_group_enabled(one, false);
                break;
            default:
                (void)world().attach(one, any(detours_));
                break;
        }
    }
    /// Attaches all entities to the wanted parents, whatever the current ones are.
    void settle() {
        for (const EntityId gone : gone_) CHECK(world().despawn(gone) == Status::ok);
        gone_.clear();
        for (const EntityId one : all_) {
            if (world().parent_of(one) != parent_of(one)) (void)world().detach(one);
        }
        for (const EntityId one : all_) {
            CHECK(world().set_group_enabled(one, true) == Status::ok);
            if (parent_of(one) == EntityId::none) continue;
            CHECK(world().attach(one, parent_of(one)) == Status::ok);
        }
    }
    std::string all_that_is_known() {
        Visibility& interest = stage_.visibility();
        std::multiset<std::string> events;  // sorted: they come in the order of joins
        for (const InterestEvent& event : internal(interest).events()) {
            events.insert((event.enter ? "+" : "-") + std::to_string(index_of(event.entity)) +
                          " to " + std::to_string(index_of(event.observer)) + " by " +
                          std::to_string(static_cast<int>(event.reason)) + "\n");
        }
        std::string text;
        for (const std::string& event : events) text += event;
        for (std::uint32_t o = 0; o < 3; ++o) {
            for (const EntityId one : all_) {
                if (!interest.is_relevant(stage_.observers[o], one)) continue;
                text += std::to_string(o) + ":" + interest.explain(stage_.observers[o], one).text();
            }
            text += std::to_string(stage_.hash_to[o]) + "\n";
        }
        return text;
    }

    bool has_detours_;
    PortSchema is_;
    SplitMix random_;   ///< the same in both runs
    SplitMix detours_;  ///< only of the run with detours
    std::vector<EntityId> all_, gone_;
    std::map<EntityId, EntityId> parents_;  ///< the wanted ones
    Stage stage_;
};

}  // namespace

TEST_CASE("server: a membership undone before the tick removes nothing from a client") {
    for (const std::uint32_t minimum_relevance_ticks : {0U, 20U}) {
        for (int how = 0; how < 6; ++how) {
            CAPTURE(minimum_relevance_ticks);
            CAPTURE(how);
            PortSchema setup;
            Stage stage(setup.schema, 1, setup.def(minimum_relevance_ticks));
            World& world = stage.world();
            REQUIRE(stage.visibility().set_area(stage.observers[0], 0, Area::at({100, 100, 0})) ==
                    Status::ok);
            const EntityId boat = stage.spawn(setup.boat, {120, 100, 0});
            const EntityId crew = stage.spawn(setup.boat, {120, 100, 0});
            const EntityId other = stage.spawn(setup.boat, {150, 100, 0});
            REQUIRE(world.attach(crew, boat) == Status::ok);
            stage.step(3);
            // Either within the leave margin, or outside of it and within the minimum relevance
            // time.
            const float x = minimum_relevance_ticks == 0 ? 150 : 200;
            REQUIRE(world.move(boat, {x, 100, 0}) == Status::ok);
            stage.step();
            REQUIRE(stage.visibility().is_relevant(stage.observers[0], boat));
            switch (how) {
                case 0:
                    REQUIRE(world.attach(boat, other) == Status::ok);
                    REQUIRE(world.detach(boat) == Status::ok);
                    break;
                case 1:
                    REQUIRE(world.attach(boat, other) == Status::ok);
                    REQUIRE(world.set_group_enabled(boat, false) == Status::ok);
                    REQUIRE(world.detach(boat) == Status::ok);
                    REQUIRE(world.set_group_enabled(boat, true) == Status::ok);
                    break;
                case 2: {
                    const EntityId brief = stage.spawn(setup.boat, {150, 100, 0});
                    REQUIRE(world.attach(boat, brief) == Status::ok);
                    REQUIRE(world.despawn(brief) == Status::ok);
                    break;
                }
                case 3: {  // below an entity that then despawns
                    REQUIRE(world.attach(boat, other) == Status::ok);
                    REQUIRE(world.despawn(other) == Status::ok);
                    break;
                }
                case 4:  // below its own crew, and above it again
                    REQUIRE(world.detach(crew) == Status::ok);
                    REQUIRE(world.attach(boat, crew) == Status::ok);
                    REQUIRE(world.detach(boat) == Status::ok);
                    REQUIRE(world.attach(crew, boat) == Status::ok);
                    break;
                case 5: {  // a new member is attached meanwhile
                    REQUIRE(world.attach(boat, other) == Status::ok);
                    REQUIRE(world.attach(stage.spawn(setup.boat), crew) == Status::ok);
                    REQUIRE(world.detach(boat) == Status::ok);
                    break;
                }
                default:
                    break;
            }
            stage.step(2);
            CHECK(stage.visibility().is_relevant(stage.observers[0], boat));
            CHECK(stage.visibility().is_relevant(stage.observers[0], crew));
            CHECK(stage.ghost(0, boat) != GhostId::none);
        }
    }
}

TEST_CASE("server: the steps by which groups reach their state within a tick do not matter") {
    std::uint64_t detours = 0;
    constexpr std::uint64_t seeds = unless_sanitized<std::uint64_t>(12, 2);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        Port straight(seed, false), astray(seed, true);
        for (int tick = 0; tick < 150; ++tick) {
            CAPTURE(tick);
            const std::string one = straight.step(), other = astray.step();
            REQUIRE(one == other);
        }
        detours += astray.detours;
    }
    CHECK(detours > seeds * 800);
}

TEST_CASE("server: descendants follow a member into and out of an independently culled one") {
    PortSchema setup;
    for (const bool has_split_below : {false, true}) {
        CAPTURE(has_split_below);
        Stage stage(setup.schema, 1, setup.def(0));
        REQUIRE(stage.visibility().set_area(stage.observers[0], 0, Area::at({200, 200, 0})) ==
                Status::ok);
        const auto spawn = [&](KindId kind) { return stage.spawn(kind, {200, 200, 0}); };
        const EntityId ship = spawn(setup.boat), cabin = spawn(setup.pilot),
                       chest = spawn(setup.boat),
                       coin = spawn(has_split_below ? setup.pilot : setup.boat);
        REQUIRE(stage.world().attach(cabin, ship) == Status::ok);
        REQUIRE(stage.world().attach(chest, ship) == Status::ok);
        REQUIRE(stage.world().attach(coin, chest) == Status::ok);
        REQUIRE(stage.visibility().set_hidden(cabin, true) == Status::ok);
        for (const bool is_hidden : {false, true, false}) {
            REQUIRE(stage.world().attach(chest, is_hidden ? cabin : ship) == Status::ok);
            stage.step(6);
            for (const EntityId one : {chest, coin}) {
                CHECK(stage.visibility().is_relevant(stage.observers[0], one) == !is_hidden);
                CHECK((stage.ghost(0, one) == GhostId::none) == is_hidden);
            }
        }
    }
}

}  // namespace purview::test
