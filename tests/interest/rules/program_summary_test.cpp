// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/program_summary.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "interest/rules/member_columns.hpp"
#include "support/line_support.hpp"

namespace purview::test::lines {

namespace {

class EvenAndOdd final : public Dispatcher {
  public:
    explicit EvenAndOdd(bool reads_positions) : reads_positions_(reads_positions) {}
    void cells_of(const DispatchedEntity& entity, std::vector<CellId>& out) const override {
        out.push_back(index_of(entity.entity) % 2);
    }
    void cover(const DispatchedObserver&, std::vector<CellId>& out) const override {
        out.push_back(0);
    }
    bool reads_positions() const noexcept override { return reads_positions_; }

  private:
    bool reads_positions_;
};

ProgramSummary summary_of(std::vector<NodeDef> nodes) {
    const Rules def = def_of(std::move(nodes));
    const auto no_columns = [](std::span<const NodeId>) { return 0U; };
    return {def, compile(def, {}, no_columns)};
}

NodeDef waiting_node(NodeDef node, bool is_lazy) {
    node.every_ticks = 4;
    node.lazy_leave = is_lazy;
    return node;
}

}  // namespace

TEST_CASE("program summary: shared groups, cells and waiting nodes are detected") {
    const ProgramSummary near = summary_of({node("near", {within(Combine::add, 10)})});
    CHECK_FALSE(near.has_shared_rows);
    CHECK_FALSE(near.has_pulled_rows);
    CHECK_FALSE(near.has_cells);
    CHECK_FALSE(near.has_moving_cells);
    CHECK_FALSE(near.has_waiting);
    CHECK_FALSE(near.has_lazy);
    CHECK(near.sources_of_node == std::vector<std::vector<std::uint32_t>>{{}});
    CHECK_FALSE(near.open_nodes.test(0));

    const ProgramSummary team =
        summary_of({node("all", {}), node("team", {same(Combine::add, 0)})});
    CHECK(team.has_shared_rows);
    CHECK_FALSE(team.has_cells);
    CHECK(team.sources_of_node == std::vector<std::vector<std::uint32_t>>{{}, {0}});
    CHECK(team.open_nodes.test(0));
    CHECK_FALSE(team.open_nodes.test(1));

    const ProgramSummary still = summary_of({dispatched("d", std::make_shared<EvenAndOdd>(false))});
    CHECK(still.has_cells);
    CHECK_FALSE(still.has_moving_cells);
    const ProgramSummary moving = summary_of({dispatched("d", std::make_shared<EvenAndOdd>(true))});
    CHECK(moving.has_cells);
    CHECK(moving.has_moving_cells);

    const ProgramSummary waiting =
        summary_of({waiting_node(node("n", {within(Combine::add, 10)}), false)});
    CHECK(waiting.has_waiting);
    CHECK_FALSE(waiting.has_lazy);
    CHECK(summary_of({waiting_node(node("n", {within(Combine::add, 10)}), true)}).has_lazy);
}

TEST_CASE("program summary: only subtracted attributes of an entity may hide it") {
    const auto hides = [](std::vector<Kernel> steps, Combine combine = Combine::add) {
        NodeDef one = node("n", std::move(steps));
        one.combine = combine;
        return summary_of({node("near", {within(Combine::add, 9)}), one}).has_hiding_flags;
    };
    CHECK_FALSE(hides({within(Combine::add, 10)}));
    CHECK_FALSE(hides({within(Combine::add, 10), flag(Combine::add, 1)}));
    CHECK(hides({within(Combine::add, 10), flag(Combine::subtract, 1)}));
    CHECK_FALSE(hides({within(Combine::add, 10), within(Combine::subtract, 5)}));
    CHECK(hides({flag(Combine::add, 1)}, Combine::subtract));
    CHECK_FALSE(hides({within(Combine::add, 10)}, Combine::subtract));
}

TEST_CASE("program summary: nodes for bound entities only are not unbound nodes") {
    const ProgramSummary summary = summary_of(
        {node("a", {within(Combine::add, 1)}), node("b", {within(Combine::add, 1)}, Members::bound),
         node("c", {within(Combine::add, 1)}, Members::unbound)});
    CHECK(summary.unbound_nodes == std::vector<NodeId>{node0, node2});
}

TEST_CASE("member columns: nodes share a column until a reset, then it is reused") {
    BlockTable table(false);
    table.add_abstract_layer();
    MemberColumns columns;
    columns.reset(table, 3);
    CHECK(columns.of(node0) == no_column);
    const std::uint32_t shared = columns.acquire(table, std::vector{node0, node2});
    const std::uint32_t alone = columns.acquire(table, std::vector{node1});
    CHECK(shared != alone);
    CHECK(columns.of(node0) == shared);
    CHECK(columns.of(node2) == shared);
    CHECK(columns.of(node1) == alone);
    CHECK(columns.of(id_at<NodeId>(9)) == no_column);
    columns.reset(table, 2);
    CHECK(columns.of(node1) == no_column);
    std::vector<std::uint32_t> again{columns.acquire(table, std::vector{node0}),
                                     columns.acquire(table, std::vector{node1})};
    std::sort(again.begin(), again.end());
    std::vector<std::uint32_t> before{shared, alone};
    std::sort(before.begin(), before.end());
    CHECK(again == before);
}

}  // namespace purview::test::lines
