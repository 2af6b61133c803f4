// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The second sample of Unity's RFC 0015: custom storage. Odd clients see odd objects, even clients
// see even objects, and the other bucket is never evaluated.
//
// Note: the dispatcher below returns the inner nodes that contain an entity and those that an
// observer sees. The engine stores the lists and finds the differences. When the number changes,
// the game calls recheck, which is the RFC's UpdateObject.
#include <array>

#include "example.hpp"
#include "purview/extend/node.hpp"

using namespace purview;
using namespace example;

std::array<std::uint32_t, 5> numbers{1, 2, 3, 4, 5};  // the game's own data, by entity index

class OddsEvens final : public Dispatcher {
  public:
    void cells_of(const DispatchedEntity& it, std::vector<CellId>& out) const override {
        out.push_back(numbers[index_of(it.entity)] % 2);
    }
    void cover(const DispatchedObserver& it, std::vector<CellId>& out) const override {
        if (it.main != EntityId::none) out.push_back(numbers[index_of(it.main)] % 2);
    }
    bool reads_positions() const noexcept override { return false; }
};

int main() {
    Rules rules;
    rules.node("odds and evens").dispatcher = std::make_shared<OddsEvens>();
    InterestManager manager(rules);
    const Names names{"one", "two", "three", "four", "five"};
    std::array<EntityId, 5> entities{};
    for (EntityId& entity : entities) entity = manager.spawn({.has_position = false});
    const ObserverId odd = manager.add_observer({.viewpoint = entities[0]});
    const ObserverId even = manager.add_observer({.viewpoint = entities[1]});

    manager.tick();
    names.expect_seen(manager, odd, "the odd client", "one three five");
    names.expect_seen(manager, even, "the even client", "two four");

    numbers[4] = 6;  // "five" is now even
    manager.recheck(entities[4]);
    manager.tick();
    names.expect_seen(manager, odd, "the odd client, five renumbered to 6", "one three");
    names.expect_seen(manager, even, "the even client", "two four five");
    expect(manager.events().size() == 2, "one leave and one enter");
}
