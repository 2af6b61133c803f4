// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a client says has changed, beside everything that can be read of its ghosts before and
// after.
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
    std::map<std::uint32_t, std::vector<std::string>> components;  ///< as far as they are told
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
            return std::to_string(client.reference_of(ghost, component, f));
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
    for (GhostId ghost = 0; ghost < client.ghost_end(); ++ghost) {
        if (!client.is_held(ghost)) continue;
        Seen& seen = all[ghost];
        seen.owned = client.is_owned(ghost);
        for (const ComponentId component :
             client.schema()->kinds()[index_of(client.kind_of(ghost))].components) {
            const ComponentDef& def = client.schema()->components()[index_of(component)];
            if (def.fields.empty()) continue;
            std::vector<std::string> its{client.is_replicated(ghost, component) ? "told"
                                                                                : "not told"};
            for (std::size_t f = 0; f < def.fields.size(); ++f)
                its.push_back(as_text(client, ghost, component, f));
            seen.components[index_of(component)] = std::move(its);
        }
    }
    return all;
}

/// By brute force. Whoever came has changed in all that he is told, whoever came back in all there
/// is.
std::map<GhostId, ClientChange> changes_between(const std::map<GhostId, Seen>& before,
                                                const std::map<GhostId, Seen>& after,
                                                const Client& client) {
    std::map<GhostId, Change> came;
    for (const ClientEvent& event : client.events())
        if (event.is_enter()) came[event.ghost] = event.copy;
    std::map<GhostId, ClientChange> all;
    for (const auto& [ghost, now] : after) {
        const auto enter = came.find(ghost);
        const auto then = before.find(ghost);
        const bool is_new = enter != came.end();
        if (!is_new) REQUIRE(then != before.end());
        ClientChange change{ghost};
        change.owner_changed = is_new || now.owned != then->second.owned;
        for (const auto& [component, its] : now.components) {
            const bool differs = is_new ? enter->second == Change::resumed || its.front() == "told"
                                        : its != then->second.components.at(component);
            if (differs) change.components |= 1U << component;
        }
        if (change.components != 0 || change.owner_changed) all.emplace(ghost, change);
    }
    return all;
}

bool is_within(const ClientChange& part, const ClientChange& whole) {
    return (part.components & ~whole.components) == 0 &&
           (!part.owner_changed || whole.owner_changed);
}

struct Counts {
    std::uint64_t changes = 0, owners = 0, resumed = 0, over = 0;
    std::string wrong;
};

/// `clears`: the chance that the program reads, after a datagram.
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
        std::set<GhostId> listed;
        for (const ClientChange& change : c.client.changes()) {
            if (!c.client.is_held(change.ghost) || !listed.insert(change.ghost).second)
                counts.wrong = "what is not there has changed, or something twice";
        }
        if (!random.chance(clears)) return;
        std::map<GhostId, Seen> now = look(c.client);
        auto expected = changes_between(known[c.nonce], now, c.client);
        for (const ClientEvent& event : c.client.events())
            counts.resumed += event.copy == Change::resumed ? 1 : 0;
        for (const ClientChange& change : c.client.changes()) {
            ++counts.changes;
            counts.owners += change.owner_changed ? 1 : 0;
            const ClientChange its =
                expected.contains(change.ghost) ? expected[change.ghost] : ClientChange{};
            expected.erase(change.ghost);
            if (!is_within(its, change)) counts.wrong = "a component is missing";
            if (!is_within(change, its)) ++counts.over;
        }
        if (!expected.empty()) counts.wrong = "a ghost is missing";
        known[c.nonce] = std::move(now);
        c.client.clear_events();
        if (!c.client.changes().empty()) counts.wrong = "something stays";
    };
    for (int i = 0; i < 400; ++i) world.step();
    return counts;
}

}  // namespace

TEST_CASE("client: what has changed is what differs, after every datagram, on a bad line") {
    const Counts each = run(1);
    CHECK(each.wrong == "");
    CHECK(each.over == 0);
    CHECK(each.changes > 20'000);
    CHECK(each.owners > 500);
    CHECK(each.resumed > 200);
    // What changed and changed back in between is listed, too.
    const Counts seldom = run(0.3F);
    CHECK(seldom.wrong == "");
    CHECK(seldom.over > 0);
    CHECK(seldom.over < seldom.changes / 10);
    CHECK(seldom.changes > 10'000);
}

TEST_CASE("client: what a copy lost while it was away has changed when it comes back") {
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
    REQUIRE(client.value_of(0, bag.id, 0) == 77);
    client.clear_events();
    CHECK(stage.visibility().allow(stage.observers[0], porter, false) == Status::ok);
    CHECK(stage.world().set_owner(porter, ObserverId::none) == Status::ok);
    stage.step(6);
    REQUIRE_FALSE(client.is_held(0));
    CHECK(client.changes().empty());
    CHECK(stage.visibility().allow(stage.observers[0], porter, true) == Status::ok);
    stage.step(6);
    REQUIRE(client.is_held(0));
    CHECK(client.value_of(0, bag.id, 0) == 0);
    REQUIRE(client.changes().size() == 1);
    CHECK(client.changes()[0].has(bag.id));
    CHECK_FALSE(client.changes()[0].has(ComponentId::none));
}

}  // namespace purview::test
