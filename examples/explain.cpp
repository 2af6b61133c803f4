// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Why does he not see it? The code that decides gives the whole path to its answer, and each
// single change that would turn it.
//
// Notice: numbers come from the kernels themselves; a suggestion is true (one of them is made
// here); an entity without a place is unknown to a distance; one whose last node was removed has
// no node. A running server is asked with `purview explain`.
#include "example.hpp"

using namespace purview;
using namespace example;

Explanation print(const InterestManager& manager, ObserverId observer, EntityId entity,
                  const char* question) {
    Explanation why = manager.explain(observer, entity);
    std::printf("%s\n%s\n", question, why.text().c_str());
    expect(why.relevant == manager.is_relevant(observer, entity), "explain and the tick agree");
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
    const EntityId rumour = manager.spawn({.has_position = false});
    const EntityId spell = manager.spawn({.has_position = false, .nodes = {&spells, 1}});
    const ObserverId observer = manager.add_observer({.viewpoint = alice});
    manager.tick();

    const Explanation why = print(manager, observer, thief, "Why does alice not see the thief?");
    expect(why.stage == Stage::no_node, "no node says yes");
    bool is_suggested = false;
    for (const WhatIf& change : why.single)
        is_suggested |= change.type == WhatIfType::flag && change.flag == cloaked && !change.value;
    expect(is_suggested, "taking the cloak away would show him");
    manager.set_flag(thief, cloaked, false);
    manager.tick();
    expect(print(manager, observer, thief, "And without the cloak?").relevant, "so it does");

    const Explanation nowhere =
        print(manager, observer, rumour, "Why does she not hear the rumour?");
    expect(nowhere.nodes[0].steps[0].unknown, "a distance to nowhere is unknown");

    print(manager, observer, spell, "Why does she know of the spell?");
    expect(manager.unbind(spell, spells) == Status::orphaned, "its last node");
    manager.tick();
    const Explanation orphan = print(manager, observer, spell, "And without its node?");
    expect(!orphan.relevant && orphan.stage == Stage::no_node, "nobody knows of an orphan");
}
