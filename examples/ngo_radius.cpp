// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The first sample of Unity's RFC 0015: a radius kernel, a node with it, and a prefab that is bound
// to the node; with a second kernel for team mates over the same stored entities.
//
// Note: a node is data. Both kernels share its storage. An entity exactly at the radius matches.
// An entity without a bound node belongs to the default node. The radius can change while the
// server runs. A custom kernel is one lambda.
#include "example.hpp"
#include "purview/extend/kernel.hpp"

using namespace purview;
using namespace example;

/// A custom kernel in the RFC's style: one client, one object, yes or no.
Kernel radius_of_my_own(float meters) {
    return make_pair_kernel({.name = "my radius", .reach = meters},
                            [meters](Vec3 a, Vec3 b) noexcept {
                                const float dx = a.x - b.x, dy = a.y - b.y;
                                return dx * dx + dy * dy <= meters * meters;
                            });
}

Rules with(const Kernel& near, Rules rules) {
    NodeDef& node = rules.node("near or same team");
    node.steps.clear();
    node.add(near).add(same(rules.key("team")));
    return rules;
}

int main() {
    Rules rules;
    const KindId soldier = rules.kind("soldier");
    rules = with(within(50), rules);
    rules.node("near or same team").members = Members::bound;
    rules.node("default").members = Members::unbound;
    const NodeId near = rules.node_id("near or same team");
    rules.for_kind(soldier).nodes = {near};  // for every soldier, from its spawn on
    InterestManager manager(rules);
    const Names names{"alice", "border", "beyond", "mate", "sun"};

    const Key red{1}, blue{2};
    const auto spawn = [&](Vec3 position, Key key) {
        return manager.spawn({.kind = soldier, .position = position, .keys = {&key, 1}});
    };
    const EntityId alice = spawn({100, 100}, red);
    spawn({150, 100}, blue);  // at 50 m: still inside
    const EntityId beyond = spawn({100, 151}, blue);
    spawn({900, 900}, red);
    manager.spawn({.position = {512, 512}});  // without a kind: uses the default node
    const ObserverId observer = manager.add_observer({.viewpoint = alice});

    manager.tick();
    names.expect_seen(manager, observer, "within 50 m, or of the team", "alice border mate sun");

    manager.set_rules(with(within(51), rules));
    manager.tick();
    names.expect_seen(manager, observer, "within 51 m", "alice border beyond mate sun");
    expect(manager.events().size() == 1, "only the difference is reported");

    manager.set_rules(with(radius_of_my_own(51), rules));
    manager.tick();
    names.expect_seen(manager, observer, "the same with a custom kernel",
                      "alice border beyond mate sun");
    expect(manager.events().empty(), "another kernel with the same result: no event");

    expect(manager.unbind(beyond, near) == Status::orphaned, "it was its last node");
    manager.tick();
    names.expect_seen(manager, observer, "without a node: not relevant", "alice border mate sun");
    manager.bind_default(beyond);
    manager.tick();
    names.expect_seen(manager, observer, "back in the default node",
                      "alice border beyond mate sun");
}
