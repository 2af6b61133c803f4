// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Shows, hides and owner changes within one tick, in any order of calls.
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "net.hpp"

namespace purview::test::show_and_hide {

namespace {

/// A way to show an entity to the first client, or to hide it.
struct ShowCall {
    const char* name;
    bool is_explicit;  ///< uses a kind that is relevant only to allowed observers
    std::function<Status(Net&, EntityId, bool)> set;
};

std::vector<ShowCall> show_calls() {
    return {{"allow", true,
             [](Net& net, EntityId entity, bool shown) {
                 return net.visibility().allow(net.observer(), entity, shown);
             }},
            {"deny", false,
             [](Net& net, EntityId entity, bool shown) {
                 return net.visibility().deny(net.observer(), entity, !shown);
             }},
            {"force hide", false,
             [](Net& net, EntityId entity, bool shown) {
                 return net.visibility().set_hidden(entity, !shown);
             }},
            {"show to all", true, [](Net& net, EntityId entity, bool shown) {
                 return net.visibility().show_to_all(entity, shown);
             }}};
}

/// Returns the visible entities as bits: bit 0 is the first, bit 1 the second.
unsigned shown_of(Net& net, const std::array<EntityId, 2>& entities) {
    unsigned bits = 0;
    for (unsigned e = 0; e < 2; ++e)
        bits |= net.ghost(0, entities[e]) != GhostId::none ? 1U << e : 0U;
    return bits;
}

}  // namespace

TEST_CASE("scenario: two entities are shown and hidden in one tick, in every order" *
          doctest::test_suite("N34 N35 N37")) {
    const TagSchema schema;
    for (const ShowCall& show_call : show_calls()) {
        CAPTURE(show_call.name);
        Net net(schema, 1, schema.def);
        const KindId kind = show_call.is_explicit ? schema.named : schema.thing;
        const std::array<EntityId, 2> entities{net.spawn(kind, {1, 1, 0}),
                                               net.spawn(kind, {2, 2, 0})};
        // Up to four calls in one tick, with two bits each: which entity, and shown or hidden.
        for (unsigned before = 0; before < 4; ++before) {
            for (unsigned length = 1; length <= 4; ++length) {
                for (unsigned calls = 0; calls < 1U << 2 * length; ++calls) {
                    CAPTURE(before);
                    CAPTURE(length);
                    CAPTURE(calls);
                    for (unsigned e = 0; e < 2; ++e)
                        REQUIRE(show_call.set(net, entities[e], (before >> e & 1U) != 0) ==
                                Status::ok);
                    net.step(2);
                    REQUIRE(shown_of(net, entities) == before);
                    (void)net.take_news();
                    unsigned after = before;
                    for (unsigned i = 0; i < length; ++i) {
                        const unsigned call = calls >> 2 * i & 3U, e = call & 1U;
                        const bool shown = (call & 2U) != 0;
                        REQUIRE(show_call.set(net, entities[e], shown) == Status::ok);
                        after = shown ? after | 1U << e : after & ~(1U << e);
                    }
                    net.step(2);
                    REQUIRE(shown_of(net, entities) == after);
                    // Each entity that changed has one event, and others have none.
                    const auto news = net.take_news();
                    const unsigned changed = before ^ after;
                    REQUIRE(news.size() == (changed & 1U) + (changed >> 1U));
                }
            }
        }
        CHECK(net.difference() == "");
        net.check_streams();
        CHECK(net.peers[0]->duplicate_ghosts == 0);
    }
}

TEST_CASE("scenario: shows and hides in one tick are correct on a network with faults" *
          doctest::test_suite("N37")) {
    const TagSchema schema;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        const Faults faults{0.25F, 0.05F, 0, 40'000, 80'000};
        Net net(schema, 2, schema.def, faults, seed);
        const ShowCall show_call = show_calls()[seed % 4];
        const KindId kind = show_call.is_explicit ? schema.named : schema.thing;
        const std::array<EntityId, 2> entities{net.spawn(kind, {1, 1, 0}),
                                               net.spawn(kind, {2, 2, 0})};
        SplitMix random(seed);
        for (int round = 0; round < 120; ++round) {
            for (std::uint32_t calls = random.below(5); calls > 0; --calls) {
                const EntityId one = entities[random.below(2)];
                REQUIRE(show_call.set(net, one, random.chance(0.5F)) == Status::ok);
                if (random.chance(0.3F)) net.edit(one, random.below(1'000));
            }
            net.step(1 + random.below(4));
        }
        CHECK(net.settle() == "");
        net.check_streams();
    }
}

TEST_CASE("scenario: an owner change in the tick of a show is in the first packet" *
          doctest::test_suite("N37 F23")) {
    const TagSchema schema;
    // Owners before and after: 0 none, 1 the client, 2 another client.
    for (const Faults& faults : {Faults{}, Faults{0.3F, 0.05F, 0, 20'000, 60'000}}) {
        const bool is_perfect = faults.loss == 0;
        Net net(schema, 2, schema.def, faults, is_perfect ? 1 : 7);
        for (unsigned before = 0; before < 3; ++before) {
            for (unsigned after = 0; after < 3; ++after) {
                for (const bool owner_first : {false, true}) {
                    for (const bool hidden_first : {false, true}) {
                        CAPTURE(is_perfect);
                        CAPTURE(before);
                        CAPTURE(after);
                        CAPTURE(owner_first);
                        CAPTURE(hidden_first);
                        const auto owner = [&](unsigned index) {
                            return index == 0 ? ObserverId::none : net.observer(index - 1);
                        };
                        const EntityId entity = net.spawn(schema.named, {3, 3, 0});
                        CHECK(net.world().set_owner(entity, owner(before)) == Status::ok);
                        net.world().edit(entity, schema.purse)->coins = 77;
                        // An owner receives the entity without allow, so a deny is what hides it
                        // here.
                        CHECK(net.visibility().deny(net.observer(0), entity, true) == Status::ok);
                        if (hidden_first) {
                            CHECK(net.settle() == "");
                            CHECK(net.ghost(0, entity) == GhostId::none);
                        }
                        (void)net.take_news();
                        const auto give = [&] {
                            CHECK(net.world().set_owner(entity, owner(after)) == Status::ok);
                        };
                        if (owner_first) give();
                        CHECK(net.visibility().deny(net.observer(0), entity, false) == Status::ok);
                        CHECK(net.visibility().allow(net.observer(0), entity, true) == Status::ok);
                        if (!owner_first) give();
                        if (is_perfect) {
                            net.step();
                            const GhostId ghost = net.ghost(0, entity);
                            REQUIRE(ghost != GhostId::none);
                            CHECK(net.client().is_owned(ghost) == (after == 1));
                            CHECK(net.client().value_of(ghost, schema.purse.id, 0) ==
                                  (after == 1 ? 77 : 0));
                            CHECK(net.take_news().size() == 1);
                        }
                        CHECK(net.settle() == "");
                        // Owner changes of existing ghosts are applied too.
                        CHECK(net.world().set_owner(entity, owner(before)) == Status::ok);
                        CHECK(net.settle() == "");
                        CHECK(net.world().despawn(entity) == Status::ok);
                        net.step();
                    }
                }
            }
        }
        CHECK(net.settle() == "");
        net.check_streams();
    }
}

}  // namespace purview::test::show_and_hide
