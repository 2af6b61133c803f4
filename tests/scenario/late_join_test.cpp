// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Clients join one after another while everything changes, with every payload mode of a node. A
// client with a complete view has all entities that existed when it became ready.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "net.hpp"

namespace purview::test::late_join {

namespace {

/// Walkers are in a node of cells with this payload mode, things in a node by distance.
ServerDef cells_and_things(const TagSchema& schema, Payload mode) {
    ServerDef def = schema.def;
    NodeDef cells;
    cells.name = "cells";
    cells.members = Members::bound;
    cells.add(purview::cells(40, 40));
    cells.payload = mode;
    NodeDef near;
    near.name = "near";
    near.members = Members::unbound;
    near.add(within(80).leave_at(90));
    def.rules.nodes = {cells, near};
    def.rules.kinds[index_of(schema.walker)].nodes = {id_at<NodeId>(0)};
    return def;
}

/// Entities that spawn, despawn, move, change, and change their parents and owners.
class Crowd {
  public:
    Crowd(Net& net, const TagSchema& schema, std::uint64_t seed)
        : net_(&net), schema_(&schema), random_(seed) {}
    void change() {
        World& world = net_->world();
        for (std::uint32_t n = random_.below(8); n > 0 && all.size() < 150; --n) add();
        for (std::uint32_t n = random_.below(7); n > 0 && all.size() > 60; --n) {
            std::swap(all[random_.below(static_cast<std::uint32_t>(all.size()))], all.back());
            CHECK(world.despawn(all.back()) == Status::ok);
            all.pop_back();
        }
        for (const EntityId one : all) {
            if (random_.chance(0.3F)) CHECK(world.move(one, any_position()) == Status::ok);
            if (random_.chance(0.3F)) net_->edit(one, random_.below(100'000));
            if (random_.chance(0.02F)) (void)world.detach(one);
            if (world.kind_of(one) == schema_->walker) continue;
            if (random_.chance(0.03F)) (void)world.attach(one, any_thing());
            if (random_.chance(0.02F) && net_->joined_count > 0) {
                const std::uint32_t index =
                    random_.below(static_cast<std::uint32_t>(net_->peers.size()));
                CHECK(world.set_owner(one, net_->observer(index)) == Status::ok);
                if (world.kind_of(one) == schema_->thing)
                    world.edit(one, schema_->purse)->coins = 9;
            }
        }
    }
    void add() {
        static constexpr int kinds = 4;
        const std::uint32_t kind = random_.below(kinds);
        all.push_back(net_->spawn(kind == 0   ? schema_->thing
                                  : kind == 1 ? schema_->rider
                                              : schema_->walker,
                                  any_position()));
    }
    Vec3 any_position() { return {random_.between(-100, 100), random_.between(-100, 100), 0}; }

    std::vector<EntityId> all;

  private:
    EntityId any_thing() {
        for (int i = 0; i < 20; ++i) {
            const EntityId one = all[random_.below(static_cast<std::uint32_t>(all.size()))];
            if (net_->world().kind_of(one) != schema_->walker) return one;
        }
        return EntityId::none;
    }
    Net* net_;
    const TagSchema* schema_;
    SplitMix random_;
};

}  // namespace

TEST_CASE("scenario: a client that joins while everything changes receives everything" *
          doctest::test_suite("M4 M21 M22")) {
    const TagSchema schema;
    for (const Payload mode : {Payload::per_observer, Payload::update_many, Payload::read_many}) {
        for (const float loss : {0.0F, 0.25F}) {
            CAPTURE(static_cast<int>(mode));
            CAPTURE(loss);
            ServerDef def = cells_and_things(schema, mode);
            def.budget_bytes_per_tick = 1'500;
            Net net(schema, 0, def, {loss, 0.03F, 0, 20'000, loss > 0 ? 50'000U : 0}, 11);
            Crowd crowd(net, schema, 5);
            for (int i = 0; i < 100; ++i) crowd.add();
            net.when_joined = [&](Server& server, std::uint32_t client) {
                CHECK(server.visibility().set_area(net.observer(client), 0,
                                                   Area::at(crowd.any_position())) == Status::ok);
            };
            for (std::uint32_t c = 0; c < 8; ++c) {
                (void)net.connect();
                for (std::uint32_t t = 0; t < 5 + 7 * c; ++t) {
                    crowd.change();
                    net.step();
                }
            }
            for (int t = 0; t < 100 && net.joined_count < 8; ++t) {
                crowd.change();
                net.step();
            }
            REQUIRE(net.joined_count == 8);
            for (int t = 0; t < 60; ++t) {
                crowd.change();
                net.step();
                if (loss > 0 || t < 40) continue;
                // Without loss no client falls behind, although the budget is small.
                for (const auto& peer : net.peers) CHECK(peer->client.is_view_complete());
            }
            CHECK(net.settle() == "");
            std::size_t held = 0;
            for (std::uint32_t c = 0; c < 8; ++c) {
                CHECK(net.client(c).is_view_complete());
                held += net.held(c).size();
            }
            CHECK(held > 8 * 10);
            net.check_streams();
        }
    }
}

TEST_CASE("scenario: at a tiny budget and loss a complete view has all initial entities" *
          doctest::test_suite("M21 M22")) {
    const TagSchema schema;
    for (const std::uint32_t budget : {160U, 300U, 1'000U}) {
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            CAPTURE(budget);
            CAPTURE(seed);
            ServerDef def = cells_and_things(schema, Payload::per_observer);
            def.budget_bytes_per_tick = budget;
            Net net(schema, 0, def, {0.3F, 0.05F, 0, 30'000, 50'000}, seed);
            Crowd crowd(net, schema, seed);
            for (int i = 0; i < 120; ++i) crowd.add();
            net.step(3);
            net.when_joined = [&](Server& server, std::uint32_t client) {
                CHECK(server.visibility().set_area(net.observer(client), 0, Area::at({})) ==
                      Status::ok);
            };
            (void)net.connect();
            std::set<std::uint32_t> beginning;
            std::uint32_t ticks = 0, complete_after = 0;
            std::set<std::uint32_t> ever_held;
            while (complete_after == 0 && ++ticks < 3'000) {
                if (ticks % 4 == 0) crowd.change();
                const bool was_joined = net.joined_count > 0;
                net.step();
                if (net.joined_count == 0) continue;
                // The relevant set of the tick in which it becomes ready.
                const std::set<std::uint32_t> now = net.relevant_tags();
                if (!was_joined) beginning = now;
                std::erase_if(beginning, [&](std::uint32_t tag) { return now.count(tag) == 0; });
                for (const auto& [tag, ghost] : net.held()) ever_held.insert(tag);
                if (net.client().is_view_complete()) complete_after = ticks;
            }
            REQUIRE(complete_after > 0);
            // Each entity that stayed relevant was held once. A returning entity is new.
            CHECK(beginning.size() > 5);
            for (const std::uint32_t tag : beginning) {
                CAPTURE(tag);
                CHECK(ever_held.count(tag) == 1);
            }
            if (budget == 160) CHECK(complete_after > 20);  // it did not fit into a few ticks
            CHECK(net.settle(2'000) == "");
            CHECK(net.client().is_view_complete());  // later changes do not reset it
            net.check_streams();
        }
    }
}

TEST_CASE("scenario: in an unchanged world a view is complete only with all entities" *
          doctest::test_suite("M21")) {
    const TagSchema schema;
    for (const float loss : {0.0F, 0.3F}) {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            CAPTURE(loss);
            CAPTURE(seed);
            ServerDef def = cells_and_things(schema, Payload::per_observer);
            def.budget_bytes_per_tick = 150;
            Net net(schema, 0, def, {loss, 0, 0, 20'000, loss > 0 ? 50'000U : 0}, seed);
            Crowd crowd(net, schema, seed);
            for (int i = 0; i < 100; ++i) crowd.add();
            net.when_joined = [&](Server& server, std::uint32_t client) {
                CHECK(server.visibility().set_area(net.observer(client), 0, Area::at({})) ==
                      Status::ok);
            };
            (void)net.connect();
            std::uint32_t ticks = 0, early = 0;
            while (!net.client().is_view_complete() && ++ticks < 3'000) {
                net.step();
                if (net.client().is_view_complete()) early += net.difference() == "" ? 0 : 1;
            }
            REQUIRE(net.client().is_view_complete());
            CHECK(early == 0);
            CHECK(net.held().size() > 30);
            CHECK(ticks > 10);
        }
    }
}

}  // namespace purview::test::late_join
