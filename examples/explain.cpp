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

constexpr FlagId cloaked{0};
constexpr KeyDomain team{0};

Explanation print(const InterestManager& manager, ObserverId observer, EntityId entity,
                  const char* question) {
    Explanation why = manager.explain(observer, entity);
    std::printf("%s\n%s\n", question, why.text().c_str());
    expect(why.relevant == manager.is_relevant(observer, entity), "explain and the tick agree");
    return why;
}

int main() {
    InterestDef def;
    def.flag_count = 1;
    def.flag_names = {"cloaked"};
    def.key_count = 1;
    def.key_names = {"team"};
    def.rules.nodes.push_back(
        {.name = "near, not cloaked, or same team",
         .type = NodeType::grid,
         .steps = {add(within(60, 66)), subtract(flagged(cloaked)), add(same(team))},
         .members = NodeMembers::unbound});
    def.rules.nodes.push_back({.name = "spells",
                               .type = NodeType::everything,
                               .steps = {},
                               .members = NodeMembers::bound});
    InterestManager manager = create(def);
    constexpr EntityId alice = make_entity_id(0, 1), thief = make_entity_id(1, 1),
                       rumour = make_entity_id(2, 1), spell = make_entity_id(3, 1);
    const NodeId spells{1};
    const Key red{1}, blue{2};
    must(manager.spawn(alice, {.place = {100, 100, 0}, .keys = {&red, 1}}));
    must(manager.spawn(thief, {.place = {130, 140, 0}, .flags = 1, .keys = {&blue, 1}}));
    must(manager.spawn(rumour, {.place = {}, .placed = false}));
    must(manager.spawn(spell, {.place = {}, .placed = false, .nodes = {&spells, 1}}));
    const ObserverId observer = join(manager, alice);
    manager.tick();

    const Explanation why = print(manager, observer, thief, "Why does alice not see the thief?");
    expect(why.stage == Stage::no_node, "no node says yes");
    bool is_suggested = false;
    for (const Change& change : why.single)
        is_suggested |= change.type == ChangeType::flag && change.flag == cloaked && !change.value;
    expect(is_suggested, "taking the cloak away would show him");
    must(manager.set_flag(thief, cloaked, false));
    manager.tick();
    expect(print(manager, observer, thief, "And without the cloak?").relevant, "so it does");

    const Explanation nowhere =
        print(manager, observer, rumour, "Why does she not hear the rumour?");
    expect(nowhere.nodes[0].steps[0].unknown, "a distance to nowhere is unknown");

    print(manager, observer, spell, "Why does she know of the spell?");
    expect(manager.remove_node(spell, spells) == Status::orphaned, "its last node");
    manager.tick();
    const Explanation orphan = print(manager, observer, spell, "And without its node?");
    expect(!orphan.relevant && orphan.stage == Stage::no_node, "nobody knows of an orphan");
}
