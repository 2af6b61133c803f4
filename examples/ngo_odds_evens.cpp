// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The second sample of Unity's RFC 0015: storage of one's own. Odd clients know odd objects,
// even ones even objects, and nobody looks into the other bucket.
//
// Notice: the dispatcher below says which inner nodes hold an entity and which an observer looks
// into; the engine keeps the lists and finds the differences. When the number changes, the game
// says so with recheck, which is the RFC's UpdateObject.
#include <array>

#include "example.hpp"
#include "purview/node.hpp"

using namespace purview;
using namespace example;

std::array<std::uint32_t, 5> numbers{1, 2, 3, 4, 5};  // the game's own, by entity index

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
    names.expect_seen(manager, odd, "the odd client knows", "one three five");
    names.expect_seen(manager, even, "the even client knows", "two four");

    numbers[4] = 6;  // "five" is even from now on
    manager.recheck(entities[4]);
    manager.tick();
    names.expect_seen(manager, odd, "and with five renumbered to 6", "one three");
    names.expect_seen(manager, even, "the even client knows", "two four five");
    expect(manager.events().size() == 2, "one leave and one enter");
}
