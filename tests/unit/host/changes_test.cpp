// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a client says has changed, beside everything that can be read of its ghosts before and
// after.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "small_game.hpp"
#include "stage.hpp"

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
            std::vector<std::string> its{client.is_told(ghost, component) ? "told" : "not told"};
            for (std::size_t f = 0; f < def.fields.size(); ++f)
                its.push_back(as_text(client, ghost, component, f));
            seen.components[index_of(component)] = std::move(its);
        }
    }
    return all;
}

/// By brute force. Whoever came has changed in all that he is told.
std::map<GhostId, ClientChange> changes_between(const std::map<GhostId, Seen>& before,
                                                const std::map<GhostId, Seen>& after,
                                                const Client& client) {
    std::vector<GhostId> came;
    for (const ClientEvent& event : client.events())
        if (event.is_enter()) came.push_back(event.ghost);
    std::map<GhostId, ClientChange> all;
    for (const auto& [ghost, now] : after) {
        const bool is_new = std::find(came.begin(), came.end(), ghost) != came.end();
        ClientChange change{ghost};
        const auto then = before.find(ghost);
        change.owner = is_new || now.owned != then->second.owned;
        for (const auto& [component, its] : now.components) {
            const bool differs =
                is_new ? its.front() == "told" : its != then->second.components.at(component);
            if (differs) change.components |= 1U << component;
        }
        if (change.components != 0 || change.owner) all.emplace(ghost, change);
    }
    return all;
}

}  // namespace

TEST_CASE("client: what has changed is what differs, after every datagram, on a bad line") {
    constexpr SmallScale everything{200, 100, 10, 60, 20, 10, true, true};
    SmallWorld world(9, {0.1F, 0.02F, 0, 20'000, 30'000}, 1'200, everything);
    world.game.marks_per_tick = 1;
    world.game.owner_chance = 0.4F;
    for (int i = 0; i < 4; ++i) world.add_client();
    std::map<std::uint64_t, std::map<GhostId, Seen>> known;  // by nonce
    std::uint64_t changes = 0, owners = 0, untold = 0;
    std::string wrong;
    world.received = [&](SmallClient& c) {
        if (c.client.schema() == nullptr) return;
        std::map<GhostId, Seen> now = look(c.client);
        const auto expected = changes_between(known[c.nonce], now, c.client);
        for (const ClientChange& change : c.client.changes()) {
            ++changes;
            owners += change.owner ? 1 : 0;
            const auto its = expected.find(change.ghost);
            if (!wrong.empty()) continue;
            if (its == expected.end()) {
                wrong = "nothing of ghost " + std::to_string(change.ghost) +
                        " differs: " + std::to_string(change.components);
            } else if (its->second.components != change.components ||
                       its->second.owner != change.owner) {
                wrong = "ghost " + std::to_string(change.ghost) + ": " +
                        std::to_string(change.components) + " and not " +
                        std::to_string(its->second.components);
            }
        }
        if (wrong.empty() && expected.size() != c.client.changes().size())
            wrong = "something changed and is not in the list";
        known[c.nonce] = std::move(now);
        c.client.clear_events();
        untold += c.client.changes().size();
    };
    for (int i = 0; i < 400 && wrong.empty(); ++i) world.step();
    CHECK(wrong == "");
    CHECK(untold == 0);
    CHECK(changes > 20'000);
    CHECK(owners > 500);
}

}  // namespace purview::test
