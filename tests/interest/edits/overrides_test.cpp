// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/overrides.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/observer_ids.hpp"
#include "purview/status.hpp"
#include "support/interest_parts.hpp"

namespace purview::test::overrides_test {

namespace {

struct Counted {
    std::uint32_t shown = 0;
    std::uint32_t no_window = 0;
    std::uint32_t cuts = 0;
    std::uint32_t member_allows = 0;
    std::uint32_t owned = 0;
    std::uint32_t blind = 0;
};

/// Recounts what the overrides of all members, general and per observer, add to their cull groups.
Counted check_counts(const InterestParts& parts, const RandomEdits& edits) {
    const InterestStores& stores = parts.stores;
    const Columns& columns = stores.facts_table.columns;
    Counted total;
    for (const EntityId unit : edits.units()) {
        std::uint32_t cuts = 0, shows = 0;
        std::map<std::uint32_t, PairEntry> expected;  // by observer
        for (const EntityId member : stores.groups.members_of(unit)) {
            if (const MemberMarks* marks = stores.groups.marks_of(member)) {
                cuts += marks->cuts() ? 1 : 0;
                shows += marks->shows() ? 1 : 0;
            }
            for (std::uint32_t o = 0; o < stores.observers.size(); ++o) {
                const PairEntry* pair = stores.pairs.find(o, member);
                if (pair == nullptr) continue;
                cuts += pair->deny ? 1 : 0;
                if (pair->allow) ++expected[o].member_allows;
                REQUIRE(pair->owned + pair->owned_blind + pair->member_allows == 0);
            }
        }
        parts.lookup.for_each_member(unit, true, [&](EntityId entity) {
            const ObserverId owner = parts.lookup.owner_of(entity);
            if (owner == ObserverId::none) return;
            PairEntry& pair = expected[index_of(owner)];
            ++(stores.ownership.is_blind(entity) ? pair.owned_blind : pair.owned);
        });
        bool is_denied = false;
        for (std::uint32_t o = 0; o < stores.observers.size(); ++o) {
            const PairEntry* pair = stores.pairs.find(o, unit);
            const PairEntry found = pair == nullptr ? PairEntry{} : *pair;
            REQUIRE((pair == nullptr || !pair->is_empty()));
            REQUIRE(found.member_allows == expected[o].member_allows);
            REQUIRE(found.owned == expected[o].owned);
            REQUIRE(found.owned_blind == expected[o].owned_blind);
            is_denied |= found.deny;
            total.member_allows += found.member_allows;
            total.owned += found.owned;
            total.blind += found.owned_blind;
        }
        const bool hidden =
            parts.flag(columns.force_hidden, unit) || parts.flag(columns.explicit_only, unit);
        REQUIRE(stores.groups.has_cuts(unit) == (cuts > 0));
        REQUIRE(parts.flag(columns.shown_by_members, unit) == (shows > 0));
        REQUIRE(parts.flag(columns.special, unit) == is_denied);
        REQUIRE(parts.flag(columns.no_window, unit) == hidden);
        total.cuts += cuts;
        total.no_window += hidden ? 1 : 0;
        for (const std::uint32_t column :
             {columns.shown, columns.global_mode, columns.shown_by_members})
            total.shown += parts.flag(column, unit) ? 1 : 0;
    }
    REQUIRE(stores.counts.shown == total.shown);
    REQUIRE(stores.counts.no_window == total.no_window);
    return total;
}

}  // namespace

TEST_CASE("overrides: counts of cull groups equal a recount over all members") {
    Counted seen;
    std::uint32_t hidden_by_root = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        InterestParts parts(random_rules());
        RandomEdits edits(parts, seed);
        for (int step = 0; step < 400; ++step) {
            CAPTURE(step);
            edits.edit();
            if (step % 16 == 0) parts.tick();
            const Counted now = check_counts(parts, edits);
            seen.cuts += now.cuts;
            seen.member_allows += now.member_allows;
            seen.owned += now.owned;
            seen.blind += now.blind;
            seen.shown += now.shown;
        }
        hidden_by_root += edits.statuses[Status::hidden_by_root];
    }
    CHECK(std::min({seen.cuts, seen.member_allows, seen.owned, seen.blind, seen.shown}) > 500);
    CHECK(hidden_by_root > 0);
}

TEST_CASE("overrides: an entity keeps its overrides inside a group and after leaving it") {
    InterestParts parts(random_rules());
    SplitMix random(9);
    struct Expected {
        bool hidden = false, shown = false;
        EntityMode mode = EntityMode::nodes;
        std::set<ObserverId> allowed, denied;
    };
    std::array<EntityId, 6> entities{};
    std::map<EntityId, Expected> plain;
    for (std::uint32_t i = 0; i < entities.size(); ++i) entities[i] = parts.spawn(i, 50);
    const std::array observers{parts.watch(), parts.watch()};
    int checked_members = 0;
    for (int step = 0; step < 2'000; ++step) {
        const EntityId one = entities[random.below(6)];
        const EntityId other = entities[random.below(6)];
        const ObserverId observer = observers[random.below(2)];
        const bool value = random.chance(0.5F);
        Expected& wanted = plain[one];
        switch (random.below(7)) {
            case 0:
                (void)parts.overrides.force_hide(one, value);
                wanted.hidden = value;
                break;
            case 1:
                (void)parts.overrides.show_to_all(one, value);
                wanted.shown = value;
                break;
            case 2:
                wanted.mode = static_cast<EntityMode>(random.below(3));
                REQUIRE(parts.overrides.set_mode(one, wanted.mode) == Status::ok);
                break;
            case 3:
                (void)parts.overrides.edit_pair(observer, one, PairMark::allow, value);
                value ? void(wanted.allowed.insert(observer))
                      : void(wanted.allowed.erase(observer));
                break;
            case 4:
                (void)parts.overrides.edit_pair(observer, one, PairMark::deny, value);
                value ? void(wanted.denied.insert(observer)) : void(wanted.denied.erase(observer));
                break;
            case 5:
                (void)parts.groups.join_unit(one, parts.lookup.top_of(other), other);
                break;
            default:
                (void)parts.groups.leave_unit(one, {.position = {50, 50, 0}}, false);
                break;
        }
        const Columns& columns = parts.stores.facts_table.columns;
        for (const EntityId entity : entities) {
            const Expected& its = plain[entity];
            MemberMarks found;
            if (parts.lookup.is_member(entity)) {
                if (const MemberMarks* marks = parts.stores.groups.marks_of(entity)) found = *marks;
                ++checked_members;
            } else {
                found.force_hidden = parts.flag(columns.force_hidden, entity);
                found.shown = parts.flag(columns.shown, entity);
                found.mode = parts.flag(columns.global_mode, entity)     ? EntityMode::global
                             : parts.flag(columns.explicit_only, entity) ? EntityMode::explicit_only
                                                                         : EntityMode::nodes;
            }
            REQUIRE(found.force_hidden == its.hidden);
            REQUIRE(found.shown == its.shown);
            REQUIRE(found.mode == its.mode);
            for (const ObserverId o : observers) {
                const PairEntry* pair = parts.stores.pairs.find(index_of(o), entity);
                REQUIRE((pair != nullptr && pair->allow) == its.allowed.contains(o));
                REQUIRE((pair != nullptr && pair->deny) == its.denied.contains(o));
            }
        }
    }
    CHECK(checked_members > 1'000);
}

TEST_CASE("overrides: unknown ids are refused; a list of overrides returns the first error") {
    InterestParts parts(random_rules());
    const EntityId one = parts.spawn(0, 50), gone = make_entity_id(7, 1);
    const ObserverId observer = parts.watch(), unknown = make_observer_id(5, 1);
    Overrides& overrides = parts.overrides;
    CHECK(overrides.force_hide(gone, true) == Status::stale_id);
    CHECK(overrides.show_to_all(gone, true) == Status::stale_id);
    CHECK(overrides.set_mode(gone, EntityMode::global) == Status::stale_id);
    CHECK(overrides.set_owner(gone, observer) == Status::stale_id);
    CHECK(overrides.set_owner(one, unknown) == Status::stale_id);
    CHECK(overrides.edit_pair(unknown, one, PairMark::allow, true) == Status::stale_id);
    CHECK(overrides.edit_pair(observer, gone, PairMark::deny, true) == Status::stale_id);
    const std::array edits{PairEdit{observer, gone, true}, PairEdit{observer, one, true}};
    CHECK(overrides.edit_pairs(edits, PairMark::deny) == Status::stale_id);
    CHECK(parts.stores.pairs.size() == 1);
    CHECK(parts.answers.is_denied(observer, one));
}

TEST_CASE("overrides: removing the overrides of an observer clears the group counts") {
    InterestParts parts(random_rules());
    const EntityId root = parts.spawn(0, 50), member = parts.spawn(1, 50);
    parts.attach(member, root);
    const ObserverId observer = parts.watch();
    REQUIRE(parts.overrides.edit_pair(observer, member, PairMark::deny, true) == Status::ok);
    REQUIRE(parts.overrides.edit_pair(observer, member, PairMark::allow, true) == Status::ok);
    REQUIRE(parts.overrides.edit_pair(observer, root, PairMark::deny, true) == Status::ok);
    CHECK(parts.stores.groups.has_cuts(root));
    CHECK(parts.flag(parts.stores.facts_table.columns.special, root));
    parts.overrides.forget_pairs(index_of(observer));
    CHECK(parts.stores.pairs.size() == 0);
    CHECK_FALSE(parts.stores.groups.has_cuts(root));
    CHECK_FALSE(parts.flag(parts.stores.facts_table.columns.special, root));
}

TEST_CASE("overrides: an orphan keeps the hides and denials of its former ancestors") {
    InterestParts parts(random_rules());
    const EntityId root = parts.spawn(0, 50), middle = parts.spawn(1, 50), low = parts.spawn(2, 50);
    parts.attach(middle, root);
    parts.attach(low, middle);
    const ObserverId observer = parts.watch(), other = parts.watch();
    REQUIRE(parts.overrides.force_hide(middle, true) == Status::ok);
    REQUIRE(parts.overrides.edit_pair(observer, root, PairMark::deny, true) == Status::ok);
    REQUIRE(parts.groups.leave_unit(low, {.position = {50, 50, 0}}, true) == Status::ok);
    CHECK(parts.flag(parts.stores.facts_table.columns.force_hidden, low));
    CHECK(parts.answers.is_denied(observer, low));
    CHECK_FALSE(parts.answers.is_denied(other, low));
    CHECK_FALSE(parts.flag(parts.stores.facts_table.columns.explicit_only, low));
}

}  // namespace purview::test::overrides_test
