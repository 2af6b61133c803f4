// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A grid of static nodes: 100 x 100 inner nodes. A client receives all entities of the node that it
// is in.
//
// Note: the class below is the whole scheme. No distances are computed. A move
// within a cell costs one call and changes nothing. For nine cells at once, use the neighborhood
// kernel (phaser_cells).
#include <cmath>

#include "example.hpp"
#include "purview/extend/node.hpp"

using namespace purview;
using namespace example;

class StaticGrid final : public Dispatcher {
  public:
    static CellId cell_of(Vec3 at) {
        return static_cast<CellId>(std::floor(at.y / 10) * 100 + std::floor(at.x / 10));
    }
    void cells_of(const DispatchedEntity& it, std::vector<CellId>& out) const override {
        if (it.has_position) out.push_back(cell_of(it.position));
    }
    void cover(const DispatchedObserver& it, std::vector<CellId>& out) const override {
        for (const Vec3 position : it.positions) out.push_back(cell_of(position));
    }
};

int main() {
    Rules rules;
    rules.max = {1000, 1000, 0};
    rules.node("grid of static nodes").dispatcher = std::make_shared<StaticGrid>();
    InterestManager manager(rules);
    const Names names{"alice", "near", "next door"};
    const EntityId alice = manager.spawn({.position = {503, 503, 0}});
    const EntityId near = manager.spawn({.position = {509, 509, 0}});
    manager.spawn({.position = {510, 503, 0}});  // a border belongs to one cell only
    const ObserverId observer = manager.add_observer({.viewpoint = alice});

    manager.tick();
    names.expect_seen(manager, observer, "in the same cell", "alice near");
    manager.move(near, {501, 501, 0});
    manager.tick();
    expect(manager.events().empty(), "a move within the cell changes nothing");
    manager.move(alice, {511, 503, 0});
    manager.tick();
    names.expect_seen(manager, observer, "one step into the next", "alice next door");
    manager.move(near, {999, 0, 0});
    manager.move(alice, {998, 1, 0});
    manager.tick();
    names.expect_seen(manager, observer, "both at the other end of the map", "alice near");
}
