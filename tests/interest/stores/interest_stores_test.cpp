// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/stores/interest_stores.hpp"

#include <doctest/doctest.h>

#include <set>

#include "support/interest_parts.hpp"

namespace purview::test::interest_stores_test {

TEST_CASE("interest stores: layers exist for each range class, for bounds and for abstract") {
    for (const std::size_t classes : {0U, 1U, 3U}) {
        for (const bool has_bounds : {false, true}) {
            Rules rules = random_rules();
            for (std::size_t i = 0; i < classes; ++i)
                rules.range_classes.push_back(10.0F * static_cast<float>(i + 1));
            if (has_bounds) rules.group_radius_max = 15;
            const InterestStores stores(rules, LogSink::none(), WindowUpdate::pull);
            const std::size_t in_classes = std::max<std::size_t>(classes, 1);
            CHECK(stores.table.layers().size() == in_classes + (has_bounds ? 2 : 1));
            CHECK(stores.layers.abstract + 1 == stores.table.layers().size());
            CHECK(stores.layers.bounds == (has_bounds ? in_classes : ~0U));
            CHECK(stores.window_update == WindowUpdate::pull);
            CHECK(stores.workers.size() == 1);
            CHECK(stores.tick == 0);
        }
    }
}

TEST_CASE("interest stores: an explicit cell size is used, and a derived one is above 0") {
    Rules rules = random_rules();
    const InterestStores derived(rules, LogSink::none(), WindowUpdate::automatic);
    CHECK(derived.table.layers()[0].cell_size > 0);
    rules.cell_size = 12.5F;
    const InterestStores given(rules, LogSink::none(), WindowUpdate::automatic);
    CHECK(given.table.layers()[0].cell_size == 12.5F);
}

TEST_CASE("interest stores: caller columns come first, and all flag columns differ") {
    const InterestStores stores(random_rules(), LogSink::none(), WindowUpdate::automatic);
    const Columns& columns = stores.facts_table.columns;
    CHECK(columns.flags == 3);
    CHECK(columns.keys == 2);
    CHECK(columns.values == 1);
    const std::set<std::uint32_t> flags{
        columns.force_hidden, columns.explicit_only,    columns.no_window, columns.shown,
        columns.global_mode,  columns.shown_by_members, columns.open,      columns.special,
        columns.watched,      columns.more_keys,        columns.bounded,   columns.changed,
        columns.in_rows};
    CHECK(flags.size() == 13);
    CHECK(*flags.begin() == columns.flags);
    CHECK(columns.range != columns.bounds);
    CHECK(columns.range >= columns.values);
}

TEST_CASE("interest stores: the axes of the rules decide whether a third axis is used") {
    for (const Axes axes : {Axes::xy, Axes::xz, Axes::xyz}) {
        Rules rules = random_rules();
        rules.axes = axes;
        rules.max = {100, 100, 100};
        const InterestStores stores(rules, LogSink::none(), WindowUpdate::automatic);
        CHECK(stores.table.is_three_d() == (axes == Axes::xyz));
        CHECK(stores.facts_table.axes == axes);
    }
}

TEST_CASE("interest stores: a copy has equal state and shares none of it") {
    InterestParts parts(random_rules());
    RandomEdits edits(parts, 12);
    for (int tick = 0; tick < 20; ++tick) {
        edits.edit_all(10);
        parts.tick();
    }
    InterestStores copy(parts.stores);
    // Visible block sets are copied into the memory of the copy, as in the engine.
    for (Observer& observer : copy.observers)
        observer.window.repack(copy.workers.front().scratch.arena);
    copy.validate();
    CHECK(copy.tick == parts.stores.tick);
    CHECK(copy.pairs.size() == parts.stores.pairs.size());
    CHECK(copy.counts.shown == parts.stores.counts.shown);
    const std::vector<EntityId> units = edits.units();
    std::vector<Vec3> before;
    for (const EntityId unit : units)
        before.push_back(copy.table.position(copy.table.slot_of(unit)));
    // The copy does not change while the original continues.
    const Tick tick = copy.tick;
    for (int t = 0; t < 20; ++t) {
        edits.edit_all(10);
        parts.tick();
    }
    copy.validate();
    CHECK(copy.tick == tick);
    for (std::size_t i = 0; i < units.size(); ++i) {
        REQUIRE(copy.table.slot_of(units[i]) != no_slot);
        CHECK(copy.table.position(copy.table.slot_of(units[i])) == before[i]);
    }
}

TEST_CASE("interest stores: a count that does not fit the columns fails an assertion") {
#if !defined(NDEBUG) || defined(PURVIEW_ASSERTS)
    constexpr int expected = 1;
#else
    constexpr int expected = 0;
#endif
    static int failures;
    InterestParts parts(random_rules());
    parts.spawn(0, 50);
    const AssertHandler old = set_assert_handler([](const char*, const char*, int) { ++failures; });
    for (std::uint32_t UnitCounts::*count :
         {&UnitCounts::shown, &UnitCounts::open, &UnitCounts::no_window, &UnitCounts::bounded}) {
        failures = 0;
        parts.stores.validate();
        CHECK(failures == 0);
        ++(parts.stores.counts.*count);
        parts.stores.validate();
        CHECK(failures == expected);
        --(parts.stores.counts.*count);
    }
    set_assert_handler(old);
}

}  // namespace purview::test::interest_stores_test
