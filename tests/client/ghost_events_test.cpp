// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Compares the change events of a client with all readable values of its ghosts before and after.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "small_game.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct Seen {
    bool owned = false;
    std::map<std::uint32_t, std::vector<std::string>> components;  ///< replicated flag, then values
};

std::string exact(double value) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.17g ", value);
    return text;
}

std::string as_text(const Client& client, GhostId ghost, ComponentId component, std::size_t f) {
    switch (client.schema()->components()[index_of(component)].fields[f].type) {
        case FieldType::text:
            return client.text_of(ghost, component, f);
        case FieldType::reference:
            return std::to_string(index_of(client.reference_of(ghost, component, f)));
        case FieldType::rotation: {
            const Rotation its = client.rotation_of(ghost, component, f);
            return exact(its.x) + exact(its.y) + exact(its.z) + exact(its.w);
        }
        default:
            return exact(client.value_of(ghost, component, f));
    }
}

std::map<GhostId, Seen> look(const Client& client) {
    std::map<GhostId, Seen> all;
    client.for_each([&](GhostId ghost) {
        Seen& seen = all[ghost];
        seen.owned = client.is_owned(ghost);
        for (const ComponentId component :
             client.schema()->kinds()[index_of(client.kind_of(ghost))].components) {
            const ComponentDef& def = client.schema()->components()[index_of(component)];
            if (def.fields.empty()) continue;
            std::vector<std::string> its{client.is_replicated(ghost, component) ? "replicated"
                                                                                : "not replicated"};
            for (std::size_t f = 0; f < def.fields.size(); ++f)
                its.push_back(as_text(client, ghost, component, f));
            seen.components[index_of(component)] = std::move(its);
        }
    });
    return all;
}

/// Brute-force model. A ghost that entered has changed in every replicated component, a ghost that
/// resumed in every component.
std::map<GhostId, ClientEvent> changes_between(const std::map<GhostId, Seen>& before,
                                               const std::map<GhostId, Seen>& after,
                                               const Client& client) {
    std::map<GhostId, Change> came;
    for (const ClientEvent& event : client.events())
        if (event.is_enter()) came[event.ghost] = event.change;
    std::map<GhostId, ClientEvent> all;
    for (const auto& [ghost, now] : after) {
        const auto enter = came.find(ghost);
        const auto then = before.find(ghost);
        const bool is_new = enter != came.end();
        if (!is_new) REQUIRE(then != before.end());
        ClientEvent change{ghost, {}};
        change.owner_changed = is_new || now.owned != then->second.owned;
        for (const auto& [component, its] : now.components) {
            const bool differs =
                is_new ? enter->second == Change::resumed || its.front() == "replicated"
                       : its != then->second.components.at(component);
            if (differs) change.components |= 1U << component;
        }
        if (change.components != 0 || change.owner_changed) all.emplace(ghost, change);
    }
    return all;
}

bool is_within(const ClientEvent& part, const ClientEvent& whole) {
    return (part.components & ~whole.components) == 0 &&
           (!part.owner_changed || whole.owner_changed);
}

struct Counts {
    std::uint64_t changes = 0, owners = 0, resumed = 0, over = 0;
    std::string wrong;
};

/// Runs the world. `clears`: the probability that the program reads and clears the events after a
/// datagram.
Counts run(float clears) {
    constexpr SmallScale everything{200, 100, 10, 60, 20, 10, true, true};
    SmallWorld world(9, {0.1F, 0.02F, 0, 20'000, 30'000}, 1'200, everything);
    world.game.marks_per_tick = 1;
    world.game.owner_chance = 0.4F;
    for (int i = 0; i < 4; ++i) world.add_client();
    std::map<std::uint64_t, std::map<GhostId, Seen>> known;  // by nonce
    SplitMix random(1);
    Counts counts;
    world.received = [&](SmallClient& c) {
        if (c.client.schema() == nullptr || !counts.wrong.empty()) return;
        const auto changes = changes_of(c.client);
        for (const auto& [ghost, change] : changes) {
            if (!c.client.is_held(ghost)) counts.wrong = "a ghost that is not held has changed";
        }
        if (!random.chance(clears)) return;
        std::map<GhostId, Seen> now = look(c.client);
        auto expected = changes_between(known[c.nonce], now, c.client);
        for (const ClientEvent& event : c.client.events())
            counts.resumed += event.change == Change::resumed ? 1 : 0;
        for (const auto& [ghost, change] : changes) {
            ++counts.changes;
            counts.owners += change.owner_changed ? 1 : 0;
            const ClientEvent its = expected.contains(ghost) ? expected[ghost] : ClientEvent{};
            expected.erase(ghost);
            if (!is_within(its, change)) counts.wrong = "a component is missing";
            if (!is_within(change, its)) ++counts.over;
        }
        if (!expected.empty()) counts.wrong = "a ghost is missing";
        known[c.nonce] = std::move(now);
        c.client.clear_events();
        if (!c.client.events().empty()) counts.wrong = "events remain after clear_events";
    };
    for (int i = 0; i < 400; ++i) world.step();
    return counts;
}

}  // namespace

TEST_CASE("client: change events equal the actual differences on a faulty network") {
    const Counts each = run(1);
    CHECK(each.wrong == "");
    CHECK(each.over == 0);
    CHECK(each.changes > 20'000);
    CHECK(each.owners > 500);
    CHECK(each.resumed > 200);
    // Without a read in between, values that changed and changed back are reported as well.
    const Counts rare = run(0.3F);
    CHECK(rare.wrong == "");
    CHECK(rare.over > 0);
    CHECK(rare.over < rare.changes / 10);
    CHECK(rare.changes > 10'000);
}

TEST_CASE("client: a resumed ghost reports components that it lost while retained") {
    struct Bag {
        std::uint8_t gold = 0;
    };
    Schema schema;
    const Component<Bag> bag = schema.component<Bag>("bag").integer("gold", &Bag::gold, 0, 100);
    schema.audience(bag.id, {AudienceType::owner});
    const KindId kind = schema.kind("porter", {bag.id});
    schema.edit_kind(kind).leave = Retention::freeze;
    ServerDef def;
    def.rules.kinds.resize(1);
    def.rules.kinds[0].mode = EntityMode::explicit_only;
    Stage stage(schema, 1, def);
    const EntityId porter = stage.spawn(kind);
    stage.world().edit(porter, bag)->gold = 77;
    CHECK(stage.world().set_owner(porter, stage.observers[0]) == Status::ok);
    CHECK(stage.visibility().allow(stage.observers[0], porter, true) == Status::ok);
    stage.step(6);
    Client& client = stage.client();
    REQUIRE(client.value_of(GhostId{1}, bag.id, 0) == 77);
    client.clear_events();
    CHECK(stage.visibility().allow(stage.observers[0], porter, false) == Status::ok);
    CHECK(stage.world().set_owner(porter, ObserverId::none) == Status::ok);
    stage.step(6);
    REQUIRE_FALSE(client.is_held(GhostId{1}));
    CHECK(changes_of(client).empty());
    CHECK(stage.visibility().allow(stage.observers[0], porter, true) == Status::ok);
    stage.step(6);
    REQUIRE(client.is_held(GhostId{1}));
    CHECK(client.value_of(GhostId{1}, bag.id, 0) == 0);
    REQUIRE(changes_of(client).size() == 1);
    CHECK(changes_of(client).begin()->second.has(bag.id));
    CHECK_FALSE(changes_of(client).begin()->second.has(ComponentId::none));
}

}  // namespace purview::test
