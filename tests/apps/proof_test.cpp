// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "proof.hpp"

#include <doctest/doctest.h>

#include "purview/extend/kernel.hpp"
#include "support/shared_world.hpp"

namespace purview::app {

namespace {

class OpenGround final : public RayTest {
  public:
    void test(ObserverId, std::span<const Ray>,
              std::span<std::uint8_t> visible) const noexcept override {
        std::fill(visible.begin(), visible.end(), std::uint8_t{1});
    }
};

/// A world with checks of relevant sets every 15 ticks only, and its rules.
struct SparseWorld {
    SparseWorld() : world(def()), rules(world.server->rules()) {}
    static test::CellWorldDef def() {
        test::CellWorldDef def;
        def.truth_every_ticks = 15;
        return def;
    }
    void use(const Rules& used) { REQUIRE(world.server->set_rules(used) == ""); }
    ProofCounters counters() const { return world.proof->counters(); }
    /// Checks that more than `more_than` relevant sets were compared, and that all were right.
    void check_followed(std::uint64_t more_than) const {
        CHECK(counters().truth_checked > more_than);
        CHECK(counters().truth_mismatches == 0);
        CHECK(world.proof->unchecked().empty());
    }

    test::CellWorld world;
    Rules rules;
};

}  // namespace

TEST_CASE("proof: checked digests are counted per client, none without digests") {
    test::CellWorldDef def;
    def.clients = 3;
    def.without_digests = 1;
    test::CellWorld world(def);
    world.step(60);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < def.clients; ++i) {
        const std::uint64_t digests = world.proof->digests_checked_of(world.session(i).nonce);
        CHECK((digests > 30) == (i >= def.without_digests));
        sum += digests;
    }
    CHECK(sum == world.proof->counters().digests_checked);
    CHECK(world.proof->digests_checked_of(1) == 0);
    CHECK(world.proof->counters().digest_mismatches == 0);
}

TEST_CASE("proof: minimum relevance time is checked from the start or from a later tick") {
    for (const std::uint32_t before : {0U, 60U}) {
        CAPTURE(before);
        SparseWorld rare;
        rare.world.step(before);
        rare.rules.minimum_relevance_ticks = 40;
        rare.use(rare.rules);
        rare.world.step(150);
        rare.check_followed(500);
    }
}

TEST_CASE("proof: for dormant nodes the check uses initial positions and ignores moves") {
    SparseWorld rare;
    rare.rules.nodes[0].dormant = true;
    rare.use(rare.rules);
    (void)rare.world.server->visibility();  // processes all edits so far
    rare.world.proof->check_tick();
    rare.world.step(150);
    rare.check_followed(30);
}

TEST_CASE("proof: checks of relevant sets end with a reason if the oracle cannot know them") {
    SparseWorld rare;
    const Rules followed = rare.rules;
    NodeDef& node = rare.rules.nodes[0];
    std::string why;
    SUBCASE("a node that is evaluated every 10 ticks") {
        node.every_ticks = 10;
        why = "node 'cells' is not evaluated in every tick";
    }
    SUBCASE("possibly more line-of-sight tests than the budget") {
        node.require(in_sight(std::make_shared<OpenGround>(), 4));
        why = "node 'cells' tests 4 lines of sight per tick, but there are 124 entities";
    }
    rare.world.step(60);
    const std::uint64_t checked = rare.counters().truth_checked;
    CHECK(checked > 0);
    for (const Rules& rules : {rare.rules, followed}) {  // checks do not resume
        rare.use(rules);
        rare.world.step(60);
        CHECK(rare.world.proof->unchecked() == why);
        CHECK(rare.counters().truth_checked == checked);
        CHECK(rare.counters().truth_mismatches == 0);
    }
    CHECK(rare.counters().digests_checked > 300);
    CHECK(rare.counters().digest_mismatches == 0);
}

TEST_CASE("proof: disabled nodes, and line of sight within its budget, are still checked") {
    SparseWorld rare;
    NodeDef& node = rare.rules.nodes[0];
    SUBCASE("a disabled node that is evaluated every 10 ticks") {
        rare.rules.nodes.push_back(node);
        rare.rules.nodes.back().name = "off";
        rare.rules.nodes.back().enabled = false;
        rare.rules.nodes.back().every_ticks = 10;
    }
    SUBCASE("line-of-sight budget for all entities") {
        node.require(in_sight(std::make_shared<OpenGround>(), 200));
    }
    rare.use(rare.rules);
    rare.world.step(100);
    rare.check_followed(20);
}

}  // namespace purview::app
