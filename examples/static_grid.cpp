// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A grid of static nodes: 100 x 100 inner nodes, each of which gives all that it holds, and a
// client is given the one in which it stands.
//
// Notice: the whole scheme is the dozen lines of the class. Nothing measures a distance. Moves
// within a cell cost one call and change nothing. For nine cells at once there is the
// neighbourhood kernel (phaser_cells).
#include <cmath>

#include "example.hpp"
#include "purview/node.hpp"

using namespace purview;
using namespace example;

class StaticGrid final : public InterestDispatcher {
  public:
    static CellId cell_of(Vec3 at) {
        return static_cast<CellId>(std::floor(at.y / 10) * 100 + std::floor(at.x / 10));
    }
    void cells_of(const DispatchedEntity& it, std::vector<CellId>& out) const override {
        if (it.placed) out.push_back(cell_of(it.place));
    }
    void cover(const DispatchedObserver& it, std::vector<CellId>& out) const override {
        for (const Vec3 place : it.places) out.push_back(cell_of(place));
    }
};

int main() {
    InterestDef def;
    def.rules.bounds_max = {1000, 1000, 0};
    def.rules.nodes.push_back({.name = "grid of static nodes",
                               .type = NodeType::dispatcher,
                               .steps = {},
                               .dispatcher = std::make_shared<StaticGrid>()});
    InterestManager manager = create(def);
    const EntityId alice = make_entity_id(0, 1), near = make_entity_id(1, 1),
                   next_door = make_entity_id(2, 1);
    const Names names{"alice", "near", "next door"};
    must(manager.spawn(alice, {.place = {503, 503, 0}}));
    must(manager.spawn(near, {.place = {509, 509, 0}}));
    must(manager.spawn(next_door, {.place = {510, 503, 0}}));  // a border belongs to one cell
    const ObserverId observer = join(manager, alice);

    manager.tick();
    names.expect_seen(manager, observer, "in her cell", "alice near");
    must(manager.move(near, {501, 501, 0}));
    manager.tick();
    expect(manager.events().empty(), "a move within the cell changes nothing");
    must(manager.move(alice, {511, 503, 0}));
    manager.tick();
    names.expect_seen(manager, observer, "one step into the next", "alice next door");
    must(manager.move(near, {999, 0, 0}));
    must(manager.move(alice, {998, 1, 0}));
    manager.tick();
    names.expect_seen(manager, observer, "both at the other end of the map", "alice near");
}
