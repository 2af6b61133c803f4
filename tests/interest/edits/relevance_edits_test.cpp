// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/relevance_edits.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "support/interest_parts.hpp"

namespace purview::test::relevance_edits_test {

namespace {

using Pairs = std::set<std::pair<ObserverId, EntityId>>;

Pairs visible_pairs(const InterestParts& parts, const RandomEdits& edits) {
    Pairs out;
    for (const ObserverId observer : edits.live()) {
        for (const EntityId entity : edits.known()) {
            if (parts.relevance.is_visible(index_of(observer), entity))
                out.emplace(observer, entity);
        }
    }
    return out;
}

/// Enters minus leaves that are not canceled, by observer and entity.
std::map<std::pair<std::uint32_t, EntityId>, int> net_changes(InterestParts& parts) {
    parts.stores.changes.settle(parts.stores.observers.size());
    std::map<std::pair<std::uint32_t, EntityId>, int> out;
    for (const ExplicitChange& change : parts.stores.changes) {
        if (!change.canceled) out[{change.observer, change.entity}] += change.enter ? 1 : -1;
    }
    return out;
}

}  // namespace

TEST_CASE("relevance edits: logged changes equal the change of relevance") {
    // Without independently culled members, which are updated with the tick.
    std::size_t enters = 0, leaves = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        InterestParts parts(random_rules());
        RandomEdits edits(parts, seed, false);
        for (int tick = 0; tick < 40; ++tick) {
            parts.tick();
            const Pairs before = visible_pairs(parts, edits);
            for (int edit = 0; edit < 6; ++edit) {
                edits.edit();
                const Pairs now = visible_pairs(parts, edits);
                const auto changes = net_changes(parts);
                // Removed entities and observers are not compared.
                for (const ObserverId observer : edits.live()) {
                    for (const EntityId entity : edits.known()) {
                        const std::pair pair(observer, entity);
                        const int expected = static_cast<int>(now.contains(pair)) -
                                             static_cast<int>(before.contains(pair));
                        const auto found = changes.find({index_of(observer), entity});
                        REQUIRE((found == changes.end() ? 0 : found->second) == expected);
                        enters += expected > 0 ? 1 : 0;
                        leaves += expected < 0 ? 1 : 0;
                    }
                }
            }
        }
    }
    CHECK(enters > 1'000);
    CHECK(leaves > 1'000);
}

TEST_CASE("relevance edits: an edit without effect or a reverted one leaves no change") {
    InterestParts parts(random_rules());
    const EntityId one = parts.spawn(0, 50);
    const ObserverId observer = parts.watch();
    parts.tick();
    const std::uint32_t o = index_of(observer);
    parts.edits.edit_unit(one, [] {});
    parts.edits.edit_groups({one}, [] {});
    parts.edits.edit_group_of(o, one, [] {});
    parts.edits.edit_observer(o, [] {});
    CHECK(parts.stores.changes.empty());
    REQUIRE(parts.overrides.show_to_all(one, true) == Status::ok);
    CHECK(net_changes(parts)[{o, one}] == 1);
    REQUIRE(parts.overrides.show_to_all(one, false) == Status::ok);
    CHECK(net_changes(parts).empty());
    // Cancels one change of the opposite direction. There is no second one to cancel.
    REQUIRE(parts.overrides.show_to_all(one, true) == Status::ok);
    CHECK_FALSE(parts.edits.cancel_change(o, one, true));
    CHECK(parts.edits.cancel_change(o, one, false));
    CHECK_FALSE(parts.edits.cancel_change(o, one, false));
}

TEST_CASE("relevance edits: spatial relevance is no change of explicit relevance") {
    InterestParts parts(random_rules());
    const EntityId viewpoint = parts.spawn(0, 50), one = parts.spawn(1, 55);
    const ObserverId observer = parts.watch(viewpoint);
    REQUIRE(parts.observers.set_observer_range(observer, 20) == Status::ok);
    parts.tick();
    REQUIRE(parts.explicit_relevance.in_window(index_of(observer), one));
    REQUIRE(parts.overrides.show_to_all(one, true) == Status::ok);
    CHECK(parts.stores.changes.empty());
    CHECK(parts.edits.explicit_outside_windows()[index_of(observer)].empty());
    // It leaves the visible block set while it is shown to all: no event.
    REQUIRE(parts.positions.move(one, {95, 95, 0}) == Status::ok);
    parts.tick();
    CHECK(parts.stores.events.all().empty());
    CHECK(parts.edits.explicit_outside_windows()[index_of(observer)] == std::vector{one});
    const auto before = parts.edits.explicit_outside_windows();
    parts.edits.report_difference(before);
    CHECK(parts.stores.changes.empty());
}

namespace {

/// An entity near a viewpoint, with a minimum relevance time of ten ticks.
struct Held {
    Held() {
        REQUIRE(parts.observers.set_observer_range(observer, 20) == Status::ok);
        parts.tick();
        parts.tick();
        REQUIRE(parts.positions.move(one, {55, 50, 0}) == Status::ok);
        parts.tick();
        entered = parts.stores.tick;
        REQUIRE(is_relevant());
        REQUIRE(parts.positions.move(one, {95, 95, 0}) == Status::ok);
        parts.tick();
    }
    static Rules rules() {
        Rules rules = random_rules();
        rules.minimum_relevance_ticks = 10;
        return rules;
    }
    bool is_relevant() const { return parts.relevance.is_visible(index_of(observer), one); }
    InterestParts parts{rules()};
    EntityId viewpoint = parts.spawn(0, 50), one = parts.spawn(1, 95);
    ObserverId observer = parts.watch(viewpoint);
    Tick entered = 0;
};

}  // namespace

TEST_CASE("relevance edits: an entity out of range is held for the minimum relevance time") {
    Held held;
    while (held.parts.stores.tick < held.entered + 9) {
        CHECK(held.is_relevant());
        held.parts.tick();
    }
    CHECK(held.is_relevant());
    held.parts.tick();
    CHECK_FALSE(held.is_relevant());
    CHECK(held.parts.stores.events.all().size() == 1);
    CHECK(held.parts.stores.minimum_relevance.size() == 0);
}

TEST_CASE("relevance edits: a hide or denial at the tick ends the minimum relevance time") {
    for (const bool by_denial : {false, true}) {
        const auto hide = [&](Held& held, bool value) {
            Overrides& overrides = held.parts.overrides;
            return by_denial ? overrides.edit_pair(held.observer, held.one, PairMark::deny, value)
                             : overrides.force_hide(held.one, value);
        };
        Held taken_back;
        CHECK(hide(taken_back, true) == Status::ok);
        CHECK(hide(taken_back, false) == Status::ok);
        taken_back.parts.tick();
        CHECK(taken_back.is_relevant());
        Held hidden;
        CHECK(hide(hidden, true) == Status::ok);
        hidden.parts.tick();
        CHECK_FALSE(hidden.is_relevant());
        CHECK(hide(hidden, false) == Status::ok);
        hidden.parts.tick();
        CHECK_FALSE(hidden.is_relevant());
    }
}

}  // namespace purview::test::relevance_edits_test
