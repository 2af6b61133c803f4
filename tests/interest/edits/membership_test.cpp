// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/membership.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "purview/extend/node.hpp"
#include "support/interest_parts.hpp"

namespace purview::test::membership_test {

namespace {

bool is_member_of(const InterestParts& parts, std::size_t node, EntityId unit) {
    return parts.stores.facts_table.bindings.is_member(
        id_at<NodeId>(node), parts.stores.rules.nodes[node].members, unit);
}

/// Compares member columns, shared interest groups (rows) and the open flag of a cull group with
/// its bindings, keys and flags.
void check_unit(const InterestParts& parts, EntityId unit) {
    const InterestStores& stores = parts.stores;
    for (std::size_t n = 0; n < stores.rules.nodes.size(); ++n) {
        const std::uint32_t column = stores.member_columns.of(id_at<NodeId>(n));
        if (column == no_column) continue;
        bool expected = false;  // equal nodes share a column
        for (std::size_t m = 0; m < stores.rules.nodes.size(); ++m) {
            if (stores.member_columns.of(id_at<NodeId>(m)) == column)
                expected |= is_member_of(parts, m, unit);
        }
        REQUIRE(parts.flag(column, unit) == expected);
    }
    const Columns& columns = stores.facts_table.columns;
    REQUIRE(parts.flag(columns.open, unit) == is_member_of(parts, 2, unit));

    // Node 1 shares a key of domain 0 and subtracts flag 0.
    std::set<std::uint64_t> expected;
    if (is_member_of(parts, 1, unit)) {
        if (parts.lookup.key_of(unit, id_at<KeyId>(0)) != Key::none)
            expected.insert(index_of(parts.lookup.key_of(unit, id_at<KeyId>(0))));
        for (const DomainKey& more : stores.facts_table.more_keys.of(index_of(unit))) {
            if (more.domain == id_at<KeyId>(0)) expected.insert(index_of(more.key));
        }
    }
    REQUIRE(stores.rows.size() == 1);
    std::set<std::uint64_t> found;
    for (const RowStore::Membership at : stores.rows[0].memberships(unit)) {
        REQUIRE(found.insert(stores.rows[0].row(at.row).key).second);
        REQUIRE(stores.rows[0].is_live(at) == !parts.lookup.has_flag(unit, id_at<FlagId>(0)));
    }
    REQUIRE(found == expected);
    REQUIRE(parts.flag(columns.in_rows, unit) == !expected.empty());
}

}  // namespace

TEST_CASE("membership: columns and shared groups equal a recomputation after random edits") {
    std::size_t in_rows = 0, open = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        InterestParts parts(random_rules());
        RandomEdits edits(parts, seed);
        for (int step = 0; step < 300; ++step) {
            edits.edit();
            if (step % 10 == 0) parts.tick();
            for (const EntityId entity : edits.known()) {
                if (parts.lookup.is_member(entity)) {
                    REQUIRE(parts.stores.rows[0].memberships(entity).empty());
                    continue;
                }
                check_unit(parts, entity);
                REQUIRE(parts.membership.is_in_its_rows(entity));
                in_rows += parts.stores.rows[0].memberships(entity).empty() ? 0 : 1;
                open += parts.flag(parts.stores.facts_table.columns.open, entity) ? 1 : 0;
            }
        }
    }
    CHECK(in_rows > 1'000);
    CHECK(open > 200);
}

TEST_CASE("membership: a cull group is dormant while all of its enabled nodes are") {
    Rules rules = random_rules();
    rules.nodes.clear();
    for (const char* name : {"a", "b", "c"}) {
        NodeDef& node = rules.node(name).add(within(30));
        node.members = Members::bound;
        node.dormant = rules.nodes.size() < 3;
    }
    rules.kinds.clear();
    InterestParts parts(rules);
    const EntityId one = parts.spawn(0, 10);
    SplitMix random(4);
    int dormant = 0;
    for (int step = 0; step < 300; ++step) {
        std::vector<NodeId> nodes;
        for (std::uint16_t n = 0; n < 3; ++n) {
            if (random.chance(0.5F)) nodes.push_back(id_at<NodeId>(n));
        }
        (void)parts.nodes.set_nodes(one, nodes);
        const bool expected = !nodes.empty() && std::find(nodes.begin(), nodes.end(),
                                                          id_at<NodeId>(2)) == nodes.end();
        REQUIRE(parts.stores.dormant.contains(one) == expected);
        dormant += expected ? 1 : 0;
        // The table has the position of the last update.
        const Vec3 before = parts.stores.table.position(parts.slot(one));
        const Vec3 next{random.between(0, 100), 50, 0};
        REQUIRE(parts.positions.move(one, next) == Status::ok);
        REQUIRE(parts.stores.table.position(parts.slot(one)) == (expected ? before : next));
        if (random.chance(0.3F)) {
            REQUIRE(parts.nodes.update(one) == Status::ok);
            REQUIRE(parts.stores.table.position(parts.slot(one)) == next);
        }
        parts.tick();
    }
    CHECK(dormant > 50);
}

namespace {

/// Inner nodes of 10 m along x.
class Stripes final : public Dispatcher {
  public:
    static CellId of(Vec3 at) { return static_cast<CellId>(at.x / 10); }
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        out.push_back(of(entity.position));
    }
    void cover(const DispatchedObserver& observer, std::vector<CellId>& out) const override {
        for (const Vec3 at : observer.positions) out.push_back(of(at));
    }
};

}  // namespace

TEST_CASE("membership: shared groups by position change in the tick after a move") {
    Rules rules;
    rules.max = {100, 100, 0};
    rules.node("stripes").dispatcher = std::make_shared<Stripes>();
    InterestParts parts(rules);
    REQUIRE(parts.stores.rows.size() == 1);
    const RowStore& rows = parts.stores.rows[0];
    const EntityId one = parts.spawn(0, 5), other = parts.spawn(1, 15);
    const ObserverId observer = parts.watch(other);
    const auto row_of_one = [&] {
        const auto at = rows.memberships(one);
        REQUIRE(at.size() == 1);
        return rows.row(at[0].row).key;
    };
    parts.tick();
    CHECK(row_of_one() == 0);
    CHECK(parts.relevant(observer) == std::vector{other});
    REQUIRE(parts.positions.move(one, {19, 50, 0}) == Status::ok);
    CHECK(row_of_one() == 0);
    CHECK_FALSE(parts.membership.is_in_its_rows(one));
    parts.tick();
    CHECK(row_of_one() == 1);
    CHECK(parts.membership.is_in_its_rows(one));
    CHECK(parts.relevant(observer) == std::vector{one, other});
    CHECK(parts.stores.cell_movers.empty());
    // Moved within a stripe: nothing changes.
    REQUIRE(parts.positions.move(one, {11, 50, 0}) == Status::ok);
    CHECK(parts.membership.is_in_its_rows(one));
    // A despawned cull group is not looked up.
    REQUIRE(parts.entities.despawn(one) == Status::ok);
    parts.tick();
    CHECK(parts.relevant(observer) == std::vector{other});
}

}  // namespace purview::test::membership_test
