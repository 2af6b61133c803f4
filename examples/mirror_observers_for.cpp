// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A scheme in Mirror's form: for one entity, who may know it? Here a quest item, which is known
// to those who have its quest; everything else is a matter of distance.
//
// Notice: the node names observers, the engine finds out what changed, and there is no second
// function for the moment of joining that could answer otherwise. It is dormant: nobody asks it
// until the game says that an answer may have changed (recheck of one entity, recheck of the
// node).
#include <map>

#include "example.hpp"
#include "purview/node.hpp"

using namespace purview;
using namespace example;

class QuestItems final : public CustomNode {
  public:
    bool is_entity_centric() const noexcept override { return true; }
    void observers_for(const Visibility&, EntityId entity, std::vector<ObserverId>& out) override {
        ++asked;
        for (auto [it, end] = questers.equal_range(entity); it != end; ++it)
            out.push_back(it->second);
    }
    std::multimap<EntityId, ObserverId> questers;  // the game's own
    int asked = 0;
};

int main() {
    const auto quests = std::make_shared<QuestItems>();
    Rules rules;
    rules.node("near").add(within(40).leave_at(44)).members = Members::unbound;
    NodeDef& node = rules.node("quest items");
    node.members = Members::bound;
    node.dormant = true;
    node.custom = quests;
    const NodeId quest_items = rules.node_id("quest items");
    InterestManager manager(rules);
    const Names names{"alice", "bob", "grail"};
    const EntityId alice = manager.spawn({.position = {100, 100, 0}});
    const EntityId bob = manager.spawn({.position = {110, 100, 0}});
    const EntityId grail = manager.spawn({.position = {105, 100}, .nodes = {&quest_items, 1}});
    const ObserverId alices = manager.add_observer({.viewpoint = alice}),
                     bobs = manager.add_observer({.viewpoint = bob});

    manager.tick();
    names.expect_seen(manager, alices, "without the quest", "alice bob");
    quests->questers.emplace(grail, alices);
    manager.recheck(grail);
    manager.tick();
    names.expect_seen(manager, alices, "alice takes the quest", "alice bob grail");
    names.expect_seen(manager, bobs, "bob sees nothing of it", "alice bob");

    const int asked = quests->asked;
    for (int tick = 0; tick < 100; ++tick) manager.tick();
    expect(quests->asked == asked, "nobody asks while nothing changed");
    quests->questers.clear();
    manager.recheck(quest_items);
    manager.tick();
    names.expect_seen(manager, alices, "the quest is over", "alice bob");
}
