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

constexpr KeyDomain team{0};
constexpr KindId soldier{0};
constexpr EntityId alice = make_entity_id(0, 1), border = make_entity_id(1, 1),
                   beyond = make_entity_id(2, 1), mate = make_entity_id(3, 1),
                   sun = make_entity_id(4, 1);

KernelDesc radius(float metres) {
    return {.type = KernelType::distance, .enter_m = metres, .leave_m = metres};
}

/// What one would write in the RFC's style: one client, one object, yes or no.
KernelDesc radius_of_my_own(float metres) {
    return ask(make_pair_kernel({.name = "my radius", .reach_m = metres},
                                [metres](Vec3 a, Vec3 b) noexcept {
                                    const float dx = a.x - b.x, dy = a.y - b.y;
                                    return dx * dx + dy * dy <= metres * metres;
                                }));
}

InterestRules rules(const KernelDesc& near) {
    InterestRules rules;
    rules.nodes.push_back({.name = "near or same team",
                           .type = NodeType::grid,
                           .steps = {add(near), add(same(team))},
                           .members = NodeMembers::bound});
    rules.nodes.push_back({.name = "default", .steps = {}, .members = NodeMembers::unbound});
    return rules;
}

int main() {
    InterestDef def;
    def.key_count = 1;
    def.rules = rules(radius(50));
    def.kinds.push_back({.nodes = {NodeId{0}}});  // every soldier, from its spawn on
    InterestManager manager = create(def);
    const Names names{"alice", "border", "beyond", "mate", "sun"};

    const Key red{1}, blue{2};
    const auto spawn = [&](EntityId entity, Vec3 place, Key key) {
        must(manager.spawn(entity, {.place = place, .keys = {&key, 1}, .kind = soldier}));
    };
    spawn(alice, {100, 100, 0}, red);
    spawn(border, {150, 100, 0}, blue);  // 50 m: still inside
    spawn(beyond, {100, 151, 0}, blue);
    spawn(mate, {900, 900, 0}, red);
    must(manager.spawn(sun, {.place = {512, 512, 0}}));  // of no kind: the default node's
    const ObserverId observer = join(manager, alice);

    manager.tick();
    names.expect_seen(manager, observer, "within 50 m, or of the team", "alice border mate sun");

    must(manager.set_rules(rules(radius(51))));
    manager.tick();
    names.expect_seen(manager, observer, "within 51 m", "alice border beyond mate sun");
    expect(manager.events().size() == 1, "only the difference is told");

    must(manager.set_rules(rules(radius_of_my_own(51))));
    manager.tick();
    names.expect_seen(manager, observer, "the same, by a kernel of one's own",
                      "alice border beyond mate sun");
    expect(manager.events().empty(), "nobody hears of another kernel with the same answer");

    expect(manager.remove_node(beyond, NodeId{0}) == Status::orphaned, "its last node");
    manager.tick();
    names.expect_seen(manager, observer, "without a node: relevant to nobody",
                      "alice border mate sun");
    must(manager.add_default_node(beyond));
    manager.tick();
    names.expect_seen(manager, observer, "back in the default node",
                      "alice border beyond mate sun");
}
