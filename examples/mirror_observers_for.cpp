// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A scheme in Mirror's form: a function returns the observers of one entity. Here a quest item is
// relevant to observers with its quest; everything else depends on distance.
//
// Note: the node returns observers and the engine finds the changes. There is no second function
// for joining observers that could give a different result. The node is dormant: it is evaluated
// only when the game reports that its result may have changed (recheck of one entity, or of the
// node).
#include <map>

#include "example.hpp"
#include "purview/extend/node.hpp"

using namespace purview;
using namespace example;

class QuestItems final : public CustomNode {
  public:
    bool is_entity_centric() const noexcept override { return true; }
    void observers_for(const Visibility&, EntityId entity, std::vector<ObserverId>& out) override {
        ++queried;
        for (auto [it, end] = questers.equal_range(entity); it != end; ++it)
            out.push_back(it->second);
    }
    std::multimap<EntityId, ObserverId> questers;  // the game's own data
    int queried = 0;
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
    names.expect_seen(manager, bobs, "it is not relevant to bob", "alice bob");

    const int queried = quests->queried;
    for (int tick = 0; tick < 100; ++tick) manager.tick();
    expect(quests->queried == queried, "a dormant node is not evaluated without a recheck");
    quests->questers.clear();
    manager.recheck(quest_items);
    manager.tick();
    names.expect_seen(manager, alices, "the quest is over", "alice bob");
}
