// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/relevance/relevance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "support/interest_parts.hpp"

namespace purview::test::relevance_test {

namespace {

/// Relevance of an entity in a group without independently culled members, computed from overrides
/// and visible block sets.
bool plain_relevance(const InterestParts& parts, ObserverId id, EntityId entity) {
    const InterestStores& stores = parts.stores;
    const std::uint32_t o = index_of(id);
    if (!stores.observers[o].ready) return false;
    const EntityId unit = parts.lookup.unit_of(entity);
    std::vector<EntityId> group;
    parts.lookup.for_each_member(unit, true, [&](EntityId one) { group.push_back(one); });
    const auto has = [&](EntityId one, PairMark mark) {
        const PairEntry* pair = stores.pairs.find(o, one);
        return pair != nullptr && pair->has(mark);
    };
    const auto owns = [&](EntityId one) {
        return parts.lookup.owner_of(one) == id && !stores.ownership.is_blind(one);
    };
    const auto shows = [&](EntityId one) {
        if (has(one, PairMark::allow)) return true;
        const Columns& columns = stores.facts_table.columns;
        if (one == unit)
            return parts.flag(columns.shown, one) || parts.flag(columns.global_mode, one);
        const MemberMarks* marks = stores.groups.marks_of(one);
        return marks != nullptr && marks->shows();
    };
    const auto any = [&](EntityId top, const auto& matches) {
        return std::any_of(group.begin(), group.end(), [&](EntityId one) {
            return parts.lookup.is_under(one, top) && matches(one);
        });
    };
    // Each entity from the root down to this one may hide it.
    for (EntityId one = entity; one != EntityId::none; one = parts.lookup.parent_of(one)) {
        if (has(one, PairMark::deny)) return false;
        bool is_hidden = false, is_explicit = false;
        if (one == unit) {
            is_hidden = parts.flag(stores.facts_table.columns.force_hidden, one);
            is_explicit = parts.flag(stores.facts_table.columns.explicit_only, one);
        } else if (const MemberMarks* marks = stores.groups.marks_of(one)) {
            is_hidden = marks->force_hidden;
            is_explicit = marks->mode == EntityMode::explicit_only;
        }
        // Owning the root shows the whole group.
        const bool is_owned = owns(unit) || any(one, owns);
        if (is_hidden && !is_owned) return false;
        if (is_explicit && !is_owned && !any(one, shows)) return false;
    }
    if (any(unit, owns) || any(unit, shows)) return true;
    if (stores.observers[o].sees_everything) return true;
    return parts.explicit_relevance.in_window(o, unit) ||
           parts.explicit_relevance.in_rows(o, unit) ||
           parts.flag(stores.facts_table.columns.open, unit);
}

}  // namespace

TEST_CASE("relevance: visible entities equal a plain evaluation of overrides and nodes") {
    std::size_t visible = 0, cut = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        InterestParts parts(random_rules());
        RandomEdits edits(parts, seed, false);
        for (int step = 0; step < 200; ++step) {
            edits.edit();
            // Until the tick, block sets still have bits of cull groups that were hidden since.
            parts.tick();
            for (const ObserverId id : edits.live()) {
                for (const EntityId entity : edits.known()) {
                    CAPTURE(index_of(entity));
                    const bool found = parts.relevance.is_visible(index_of(id), entity);
                    REQUIRE(found == plain_relevance(parts, id, entity));
                    visible += found ? 1 : 0;
                    const EntityId unit = parts.lookup.unit_of(entity);
                    cut += !found && parts.relevance.is_visible(index_of(id), unit) ? 1 : 0;
                }
            }
        }
    }
    CHECK(visible > 5'000);
    CHECK(cut > 1'000);
}

TEST_CASE("relevance: the relevant set has each visible entity once, also between ticks") {
    std::size_t mixed_kinds = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        InterestParts parts(random_rules());
        RandomEdits edits(parts, seed);
        for (int step = 0; step < 200; ++step) {
            edits.edit();
            if (step % 5 == 0) parts.tick();
            for (const ObserverId id : edits.live()) {
                std::vector<EntityId> expected;
                for (const EntityId entity : edits.known()) {
                    if (parts.relevance.is_visible(index_of(id), entity))
                        expected.push_back(entity);
                    mixed_kinds +=
                        parts.lookup.is_split_group(parts.lookup.unit_of(entity)) ? 1 : 0;
                }
                std::sort(expected.begin(), expected.end());
                REQUIRE(parts.relevant(id) == expected);
            }
        }
    }
    CHECK(mixed_kinds > 1'000);
}

TEST_CASE("relevance: an observer that is not ready loses all group members at once") {
    for (const bool is_removed : {false, true}) {
        InterestParts parts(random_rules());
        EntityDef split;
        split.kind = id_at<KindId>(3);
        const EntityId root = parts.spawn(0, 50), member = parts.spawn(1, split);
        parts.attach(member, root);
        const ObserverId observer = parts.watch();
        REQUIRE(parts.overrides.show_to_all(member, true) == Status::ok);
        parts.tick();
        CHECK(parts.relevant(observer) == std::vector{root, member});
        REQUIRE((is_removed ? parts.observers.remove_observer(observer)
                            : parts.observers.set_ready(observer, false)) == Status::ok);
        std::vector<ObserverId> observers;
        for (const EntityId entity : {root, member}) {
            CHECK_FALSE(parts.relevance.is_visible(index_of(observer), entity));
            CHECK_FALSE(parts.answers.is_relevant(observer, entity));
            parts.answers.observers_of(entity, observers);
        }
        CHECK(observers.empty());
        CHECK(parts.relevant(observer).empty());
    }
}

TEST_CASE("relevance: a hidden member hides its subtree and is reported as the cause") {
    InterestParts parts(random_rules());
    const EntityId root = parts.spawn(0, 50), upper = parts.spawn(1, 50);
    const EntityId lower = parts.spawn(2, 50), beside = parts.spawn(3, 50);
    parts.attach(upper, root);
    parts.attach(lower, upper);
    parts.attach(beside, root);
    const ObserverId observer = parts.watch();
    const std::uint32_t o = index_of(observer);
    REQUIRE(parts.overrides.show_to_all(root, true) == Status::ok);
    REQUIRE(parts.overrides.force_hide(lower, true) == Status::ok);
    CHECK(parts.relevance.cut_by(o, root, lower) == lower);
    REQUIRE(parts.overrides.edit_pair(observer, upper, PairMark::deny, true) == Status::ok);
    CHECK(parts.relevance.cut_by(o, root, lower) == upper);  // the topmost
    CHECK(parts.relevance.cut_of(o, root, upper) == Stage::denied);
    CHECK(parts.relevance.cut_of(o, root, lower) == Stage::force_hidden);
    CHECK(parts.relevance.cut_of(o, root, beside) == Stage::node);
    CHECK_FALSE(parts.relevance.is_cut(o, root, beside));
    std::vector<EntityId> visible;
    parts.relevance.for_each_visible(o, root, true, [&](EntityId e) { visible.push_back(e); });
    CHECK(visible == std::vector{root, beside});
    visible.clear();
    parts.relevance.for_each_visible(o, root, false, [&](EntityId e) { visible.push_back(e); });
    CHECK(visible == std::vector{beside, root});
}

TEST_CASE("relevance: the reason of a change is the rule that decides") {
    InterestParts parts(random_rules());
    const EntityId viewpoint = parts.spawn(0, 50), one = parts.spawn(1, 55);
    const ObserverId observer = parts.watch(viewpoint);
    const std::uint32_t o = index_of(observer);
    REQUIRE(parts.observers.set_observer_range(observer, 20) == Status::ok);
    const auto reason = [&](bool enter) { return parts.relevance.reason_of(o, one, enter); };
    CHECK(reason(true) == Reason::spawned);
    parts.tick();
    CHECK(reason(true) == Reason::entered);
    CHECK(reason(false) == Reason::left);
    REQUIRE(parts.overrides.edit_pair(observer, one, PairMark::allow, true) == Status::ok);
    CHECK(reason(true) == Reason::forced);
    REQUIRE(parts.overrides.set_owner(one, observer) == Status::ok);
    CHECK(reason(true) == Reason::owned);
    REQUIRE(parts.overrides.edit_pair(observer, one, PairMark::deny, true) == Status::ok);
    CHECK(reason(false) == Reason::hidden);
    REQUIRE(parts.overrides.edit_pair(observer, one, PairMark::deny, false) == Status::ok);
    REQUIRE(parts.overrides.edit_pair(observer, one, PairMark::allow, false) == Status::ok);
    REQUIRE(parts.overrides.set_owner(one, ObserverId::none) == Status::ok);
    CHECK(reason(false) == Reason::left);
    REQUIRE(parts.attributes.set_flag(one, id_at<FlagId>(1), true) == Status::ok);  // subtracted
    CHECK(reason(false) == Reason::hidden);
    REQUIRE(parts.entities.despawn(one) == Status::ok);
    CHECK(reason(false) == Reason::despawned);
    REQUIRE(parts.observers.remove_observer(observer) == Status::ok);
    CHECK(reason(false) == Reason::disconnected);
}

TEST_CASE("relevance: the cull groups of a group are gathered parents first") {
    InterestParts parts(random_rules());
    EntityDef split;
    split.kind = id_at<KindId>(3);
    const EntityId root = parts.spawn(0, 50), member = parts.spawn(1, 50);
    const EntityId upper = parts.spawn(2, split), lower = parts.spawn(3, split);
    parts.attach(member, root);
    parts.attach(upper, member);
    parts.attach(lower, upper);
    std::vector<SplitGroupUnit> group;
    parts.relevance.gather_split_group(root, group);
    REQUIRE(group.size() == 3);
    CHECK(group[0].unit == root);
    CHECK(group[1].unit == upper);
    CHECK(group[1].parent == member);
    CHECK(group[1].above == 0);
    CHECK(group[2].unit == lower);
    CHECK(group[2].parent == upper);
    CHECK(group[2].above == 1);
}

}  // namespace purview::test::relevance_test
