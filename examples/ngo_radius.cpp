// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The first sample of Unity's RFC 0015: a radius kernel, a node with it, and a prefab that is
// bound to the node; with a second kernel for team mates over the same stored entities.
//
// Notice: a node is data. Both kernels share its storage, the border belongs to the radius,
// whoever is bound to no node belongs to the default node, the radius changes while the server
// runs, and a kernel of your own is one lambda.
#include "example.hpp"
#include "purview/kernel.hpp"

using namespace purview;
using namespace example;

/// What one would write in the RFC's style: one client, one object, yes or no.
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
    rules.for_kind(soldier).nodes = {near};  // every soldier, from its spawn on
    InterestManager manager(rules);
    const Names names{"alice", "border", "beyond", "mate", "sun"};

    const Key red{1}, blue{2};
    const auto spawn = [&](Vec3 position, Key key) {
        return manager.spawn({.kind = soldier, .position = position, .keys = {&key, 1}});
    };
    const EntityId alice = spawn({100, 100}, red);
    spawn({150, 100}, blue);  // 50 m: still inside
    const EntityId beyond = spawn({100, 151}, blue);
    spawn({900, 900}, red);
    manager.spawn({.position = {512, 512}});  // of no kind: the default node's
    const ObserverId observer = manager.add_observer({.viewpoint = alice});

    manager.tick();
    names.expect_seen(manager, observer, "within 50 m, or of the team", "alice border mate sun");

    manager.set_rules(with(within(51), rules));
    manager.tick();
    names.expect_seen(manager, observer, "within 51 m", "alice border beyond mate sun");
    expect(manager.events().size() == 1, "only the difference is told");

    manager.set_rules(with(radius_of_my_own(51), rules));
    manager.tick();
    names.expect_seen(manager, observer, "the same, by a kernel of one's own",
                      "alice border beyond mate sun");
    expect(manager.events().empty(), "nobody hears of another kernel with the same answer");

    expect(manager.unbind(beyond, near) == Status::orphaned, "its last node");
    manager.tick();
    names.expect_seen(manager, observer, "without a node: relevant to nobody",
                      "alice border mate sun");
    manager.bind_default(beyond);
    manager.tick();
    names.expect_seen(manager, observer, "back in the default node",
                      "alice border beyond mate sun");
}
