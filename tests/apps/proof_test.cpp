// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "proof.hpp"

#include <doctest/doctest.h>

#include "purview/sight.hpp"
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

/// A world that is asked about now and then only, and its rules.
struct SeldomWorld {
    SeldomWorld() : world(def()), rules(world.server->rules()) {}
    static test::CellWorldDef def() {
        test::CellWorldDef def;
        def.truth_every_ticks = 15;
        return def;
    }
    void use(const Rules& used) { REQUIRE(world.server->set_rules(used) == ""); }
    ProofCounters counters() const { return world.proof->counters(); }
    /// Relevant sets were checked, more of them than that, and all of them were right.
    void check_followed(std::uint64_t more_than) const {
        CHECK(counters().truth_checked > more_than);
        CHECK(counters().truth_mismatches == 0);
        CHECK(world.proof->unchecked().empty());
    }

    test::CellWorld world;
    Rules rules;
};

}  // namespace

TEST_CASE(
    "proof: what was checked is counted by client, and nothing of one that sends no digests") {
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

TEST_CASE("proof: minimum stays are followed, from the start and from a later tick on") {
    for (const std::uint32_t before : {0U, 60U}) {
        CAPTURE(before);
        SeldomWorld seldom;
        seldom.world.step(before);
        seldom.rules.minimum_relevance_ticks = 40;
        seldom.use(seldom.rules);
        seldom.world.step(150);
        seldom.check_followed(500);
    }
}

TEST_CASE(
    "proof: of dormant nodes it knows where everybody began, and that moves are not heard of") {
    SeldomWorld seldom;
    seldom.rules.nodes[0].dormant = true;
    seldom.use(seldom.rules);
    (void)seldom.world.server->visibility();  // hears of all
    seldom.world.proof->check_tick();
    seldom.world.step(150);
    seldom.check_followed(30);
}

TEST_CASE(
    "proof: relevant sets that the oracle cannot know are not checked any more, with reason") {
    SeldomWorld seldom;
    const Rules followed = seldom.rules;
    NodeDef& node = seldom.rules.nodes[0];
    std::string why;
    SUBCASE("a node that waits") {
        node.every_ticks = 10;
        why = "node 'cells' is asked in some ticks only";
    }
    SUBCASE("lines of sight that may be more than their budget") {
        node.require(in_sight(std::make_shared<OpenGround>(), 4));
        why = "node 'cells' tests 4 lines of sight a tick, and 124 entities are there";
    }
    seldom.world.step(60);
    const std::uint64_t checked = seldom.counters().truth_checked;
    CHECK(checked > 0);
    for (const Rules& rules : {seldom.rules, followed}) {  // and not again, either
        seldom.use(rules);
        seldom.world.step(60);
        CHECK(seldom.world.proof->unchecked() == why);
        CHECK(seldom.counters().truth_checked == checked);
        CHECK(seldom.counters().truth_mismatches == 0);
    }
    CHECK(seldom.counters().digests_checked > 300);
    CHECK(seldom.counters().digest_mismatches == 0);
}

TEST_CASE("proof: what the oracle can know is checked: nodes that are off, and sight of all") {
    SeldomWorld seldom;
    NodeDef& node = seldom.rules.nodes[0];
    SUBCASE("a node that waits, and is off") {
        seldom.rules.nodes.push_back(node);
        seldom.rules.nodes.back().name = "off";
        seldom.rules.nodes.back().enabled = false;
        seldom.rules.nodes.back().every_ticks = 10;
    }
    SUBCASE("lines of sight with budget for everybody") {
        node.require(in_sight(std::make_shared<OpenGround>(), 200));
    }
    seldom.use(seldom.rules);
    seldom.world.step(100);
    seldom.check_followed(20);
}

}  // namespace purview::app
