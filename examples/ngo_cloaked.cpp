// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The third sample of Unity's RFC 0015: near, but not cloaked; and team mates.
//
// Note: steps apply in order. A team step after the cloak step shows cloaked team mates again. A
// cloak step at the end also hides team mates, and one at the beginning hides nothing. A changed
// flag takes effect in the next tick, without an update call.
#include "example.hpp"

using namespace purview;
using namespace example;

int main() {
    Rules rules;
    const FlagId cloaked = rules.flag("cloaked");
    const KeyId team = rules.key("team");
    rules.node("players").add(within(60)).subtract(cloaked);
    InterestManager manager(rules);
    const Names names{"alice", "mate", "foe", "far foe"};
    const Key red{1}, blue{2};
    const auto spawn = [&](float x, Key key, FlagSet flags) {
        return manager.spawn({.position = {x, 100}, .flags = flags, .keys = {&key, 1}});
    };
    const EntityId alice = spawn(100, red, {});
    spawn(110, red, {cloaked});
    const EntityId foe = spawn(120, blue, {cloaked});
    spawn(500, blue, {});
    const ObserverId observer = manager.add_observer({.viewpoint = alice});

    manager.tick();
    names.expect_seen(manager, observer, "near, not cloaked", "alice");
    NodeDef& players = rules.node("players");
    players.add(same(team));
    manager.set_rules(rules);
    manager.tick();
    names.expect_seen(manager, observer, "near, not cloaked, team", "alice mate");
    players.steps.clear();
    players.add(within(60)).add(same(team)).subtract(cloaked);
    manager.set_rules(rules);
    manager.tick();
    names.expect_seen(manager, observer, "near, team, not cloaked", "alice");
    players.steps.clear();
    players.subtract(cloaked).add(within(60));
    manager.set_rules(rules);
    manager.tick();
    names.expect_seen(manager, observer, "not cloaked, near: removes too early", "alice mate foe");

    players.steps.clear();
    players.add(within(60)).subtract(cloaked);
    manager.set_rules(rules);
    manager.set_flag(foe, cloaked, false);
    manager.tick();
    names.expect_seen(manager, observer, "near, not cloaked, foe uncloaks", "alice foe");
}
