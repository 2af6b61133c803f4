// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A scheme in Mirror's form: for one entity, who may know it? Here a quest item, which is known
// to those who have its quest; everything else is a matter of distance.
//
// Notice: the node names observers, the engine finds out what changed, and there is no second
// function for the moment of joining that could answer otherwise. It is dormant: nobody asks it
// until the game says that an answer may have changed (recheck of one entity, rescan_node of
// all).
#include <map>

#include "example.hpp"
#include "purview/node.hpp"

using namespace purview;
using namespace example;

class QuestItems final : public InterestNode {
  public:
    bool is_entity_centric() const noexcept override { return true; }
    void observers_for(const InterestManager&, EntityId entity,
                       std::vector<ObserverId>& out) override {
        ++asked;
        for (auto [it, end] = questers.equal_range(entity); it != end; ++it)
            out.push_back(it->second);
    }
    std::multimap<EntityId, ObserverId> questers;  // the game's own
    int asked = 0;
};

int main() {
    const auto quests = std::make_shared<QuestItems>();
    InterestDef def;
    def.rules.nodes.push_back({.name = "near",
                               .type = NodeType::grid,
                               .steps = {add(within(40, 44))},
                               .members = NodeMembers::unbound});
    def.rules.nodes.push_back({.name = "quest items",
                               .type = NodeType::custom,
                               .steps = {},
                               .members = NodeMembers::bound,
                               .refresh = {.type = RefreshType::dormant},
                               .custom = quests});
    InterestManager manager = create(def);
    const EntityId alice = make_entity_id(0, 1), bob = make_entity_id(1, 1),
                   grail = make_entity_id(2, 1);
    const NodeId quest_items{1};
    const Names names{"alice", "bob", "grail"};
    must(manager.spawn(alice, {.place = {100, 100, 0}}));
    must(manager.spawn(bob, {.place = {110, 100, 0}}));
    must(manager.spawn(grail, {.place = {105, 100, 0}, .nodes = {&quest_items, 1}}));
    const ObserverId alices = join(manager, alice), bobs = join(manager, bob);

    manager.tick();
    names.expect_seen(manager, alices, "without the quest", "alice bob");
    quests->questers.emplace(grail, alices);
    must(manager.recheck(grail));
    manager.tick();
    names.expect_seen(manager, alices, "alice takes the quest", "alice bob grail");
    names.expect_seen(manager, bobs, "bob sees nothing of it", "alice bob");

    const int asked = quests->asked;
    for (int tick = 0; tick < 100; ++tick) manager.tick();
    expect(quests->asked == asked, "nobody asks while nothing changed");
    quests->questers.clear();
    must(manager.rescan_node(quest_items));
    manager.tick();
    names.expect_seen(manager, alices, "the quest is over", "alice bob");
}
