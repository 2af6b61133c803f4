// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The third sample of Unity's RFC 0015: near, but not cloaked; and team mates.
//
// Notice: steps count in the order in which they are written. Team after the cloak shows a
// cloaked team mate again, the cloak at the end hides him, too, and a cloak at the beginning
// hides nobody. A flag counts from the next tick on, without an update call.
#include "example.hpp"

using namespace purview;
using namespace example;

constexpr KeyDomain team{0};
constexpr FlagId cloaked{0};
constexpr EntityId alice = make_entity_id(0, 1), mate = make_entity_id(1, 1),
                   foe = make_entity_id(2, 1), far_foe = make_entity_id(3, 1);

const StepDesc near = add(within(60));
const StepDesc not_cloaked = subtract(flagged(cloaked));
const StepDesc mates = add(same(team));

InterestRules in_order(std::vector<StepDesc> steps) {
    InterestRules rules;
    rules.nodes.push_back({.name = "players", .type = NodeType::grid, .steps = std::move(steps)});
    return rules;
}

int main() {
    InterestDef def;
    def.flag_count = 1;
    def.key_count = 1;
    def.rules = in_order({near, not_cloaked});
    InterestManager manager = create(def);
    const Names names{"alice", "mate", "foe", "far foe"};
    const Key red{1}, blue{2};
    const auto spawn = [&](EntityId entity, float x, Key key, bool is_cloaked) {
        const auto flags = static_cast<std::uint16_t>(is_cloaked ? 1 : 0);
        must(manager.spawn(entity, {.place = {x, 100, 0}, .flags = flags, .keys = {&key, 1}}));
    };
    spawn(alice, 100, red, false);
    spawn(mate, 110, red, true);
    spawn(foe, 120, blue, true);
    spawn(far_foe, 500, blue, false);
    const ObserverId observer = join(manager, alice);

    manager.tick();
    names.expect_seen(manager, observer, "near, not cloaked", "alice");
    must(manager.set_rules(in_order({near, not_cloaked, mates})));
    manager.tick();
    names.expect_seen(manager, observer, "near, not cloaked, team", "alice mate");
    must(manager.set_rules(in_order({near, mates, not_cloaked})));
    manager.tick();
    names.expect_seen(manager, observer, "near, team, not cloaked", "alice");
    must(manager.set_rules(in_order({not_cloaked, near})));
    manager.tick();
    names.expect_seen(manager, observer, "not cloaked, near: removes too early", "alice mate foe");

    must(manager.set_rules(in_order({near, not_cloaked})));
    must(manager.set_flag(foe, cloaked, false));
    manager.tick();
    names.expect_seen(manager, observer, "near, not cloaked, foe uncloaks", "alice foe");
}
