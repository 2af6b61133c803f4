// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Why is an entity not relevant? The evaluation code returns the complete path to its result, and
// each single change that would reverse it.
//
// Note: the numbers come from the kernels themselves. A suggested change works (one is applied
// here). An entity without a position never matches a distance. An entity that is unbound from its
// last node is not relevant. Use `purview explain` for a running server.
#include "example.hpp"

using namespace purview;
using namespace example;

Explanation print(const InterestManager& manager, ObserverId observer, EntityId entity,
                  const char* question) {
    Explanation why = manager.explain(observer, entity);
    std::printf("%s\n%s\n", question, why.text().c_str());
    expect(why.relevant == manager.is_relevant(observer, entity),
           "explain and the tick give the same result");
    return why;
}

int main() {
    Rules rules;
    const FlagId cloaked = rules.flag("cloaked");
    const KeyId team = rules.key("team");
    NodeDef& near = rules.node("near, not cloaked, or same team");
    near.add(within(60).leave_at(66)).subtract(cloaked).add(same(team));
    near.members = Members::unbound;
    rules.node("spells").members = Members::bound;
    const NodeId spells = rules.node_id("spells");
    InterestManager manager(rules);
    const Key red{1}, blue{2};
    const EntityId alice = manager.spawn({.position = {100, 100, 0}, .keys = {&red, 1}});
    const EntityId thief =
        manager.spawn({.position = {130, 140}, .flags = {cloaked}, .keys = {&blue, 1}});
    const EntityId rumor = manager.spawn({.has_position = false});
    const EntityId spell = manager.spawn({.has_position = false, .nodes = {&spells, 1}});
    const ObserverId observer = manager.add_observer({.viewpoint = alice});
    manager.tick();

    const Explanation why =
        print(manager, observer, thief, "Why is the thief not relevant to alice?");
    expect(why.stage == Stage::no_node, "no node matches");
    bool is_suggested = false;
    for (const WhatIf& change : why.single)
        is_suggested |= change.type == WhatIfType::flag && change.flag == cloaked && !change.value;
    expect(is_suggested, "the suggested changes include clearing the cloak");
    manager.set_flag(thief, cloaked, false);
    manager.tick();
    expect(print(manager, observer, thief, "The same without the cloak").relevant,
           "without the cloak it is relevant");

    const Explanation nowhere =
        print(manager, observer, rumor, "Why is the rumor not relevant to alice?");
    expect(nowhere.nodes[0].steps[0].unknown,
           "the distance to an entity without a position is unknown");

    print(manager, observer, spell, "Why is the spell relevant to alice?");
    expect(manager.unbind(spell, spells) == Status::orphaned, "it was its last node");
    manager.tick();
    const Explanation orphan = print(manager, observer, spell, "The same without its node");
    expect(!orphan.relevant && orphan.stage == Stage::no_node,
           "an entity without a node is not relevant");
}
