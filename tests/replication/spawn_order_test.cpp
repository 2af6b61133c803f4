// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Lists that are updated incrementally from a change log, compared with rebuilt lists.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/change_log.hpp"
#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "purview/world.hpp"
#include "replication/spawn_order.hpp"

namespace purview {

namespace {

std::vector<std::uint32_t> noted_since(const ChangeLog& log, ChangeLog::Version version) {
    std::vector<std::uint32_t> noted;
    log.for_each_since(version, [&](std::uint32_t what) { noted.push_back(what); });
    return noted;
}

}  // namespace

TEST_CASE("change log: the last 32 notes are available at any time, older ones are not") {
    SplitMix random(5);
    for (const ChangeLog::Version first : {ChangeLog::Version{1}, ChangeLog::Version{7} << 32}) {
        ChangeLog log;
        log.begin(first);
        CHECK(log.version() == first);
        CHECK(!log.remembers(ChangeLog::unknown));
        CHECK(!log.remembers(first - 1));
        CHECK(!log.remembers(first + 1));
        std::vector<std::uint32_t> all;
        for (int round = 0; round < 200; ++round) {
            const std::uint32_t notes = random.below(40);
            for (std::uint32_t i = 0; i < notes; ++i) {
                all.push_back(random.below(1'000));
                log.note(all.back());
            }
            REQUIRE(log.version() == first + all.size());
            for (std::size_t back = 0; back <= std::min<std::size_t>(all.size(), 40); ++back) {
                const ChangeLog::Version since = log.version() - back;
                REQUIRE(log.remembers(since) == (back <= ChangeLog::size_max));
                if (back > ChangeLog::size_max) continue;
                REQUIRE(noted_since(log, since) ==
                        std::vector<std::uint32_t>(all.end() - static_cast<int>(back), all.end()));
            }
        }
    }
    ChangeLog log;
    log.note(3);
    const ChangeLog::Version before = log.version();
    log.begin(ChangeLog::Version{1} << 32);
    CHECK(!log.remembers(before));
    CHECK(noted_since(log, log.version()).empty());
}

TEST_CASE("spawn order: an incrementally updated list equals a rebuilt list") {
    Schema schema;
    const KindId kind = schema.kind("one", {});
    WorldDef def;
    def.schema = &schema;
    std::size_t queried_again = 0, made_anew = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SplitMix random(seed);
        World world = std::move(World::create(def)).value();
        std::vector<EntityId> alive;
        std::set<EntityId> in;  ///< entities that belong in the list
        std::vector<std::uint32_t> list;
        ChangeLog log;
        ChangeLog::Version known = ChangeLog::unknown;
        const auto belongs = [&](std::uint32_t index) {
            return in.count(internal(world).entities.at_index(index)) > 0;
        };
        for (int round = 0; round < 200; ++round) {
            const std::uint32_t edits = random.below(4) == 0 ? random.below(90) : random.below(6);
            for (std::uint32_t e = 0; e < edits; ++e) {
                if (alive.empty() || random.below(3) == 0) {
                    alive.push_back(world.spawn({.kind = kind}));
                    continue;
                }
                const std::size_t which = random.below(static_cast<std::uint32_t>(alive.size()));
                const EntityId entity = alive[which];
                const bool goes = random.below(3) == 0;
                if (goes ? in.erase(entity) > 0 : in.erase(entity) == 0) {
                    if (!goes) in.insert(entity);
                    log.note(index_of(entity));
                } else if (!goes) {
                    log.note(index_of(entity));
                }
                if (!goes) continue;
                REQUIRE(world.despawn(entity) == Status::ok);
                alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(which));
            }
            internal(world).clear_changes();  // from now on freed indices are reused
            if (random.below(3) == 0) continue;
            std::vector<std::uint32_t> anew;
            for (const EntityId entity : in) anew.push_back(index_of(entity));
            std::sort(anew.begin(), anew.end(), [&](std::uint32_t a, std::uint32_t b) {
                return internal(world).entities.spawn_number_at(a) <
                       internal(world).entities.spawn_number_at(b);
            });
            if (log.remembers(known)) {
                std::vector<std::uint32_t> receiver = noted_since(log, known);
                std::sort(receiver.begin(), receiver.end());
                receiver.erase(std::unique(receiver.begin(), receiver.end()), receiver.end());
                const std::vector<std::uint32_t> before = list;
                const bool differs = update_members(
                    list, receiver, internal(world), [](std::uint32_t one) { return one; },
                    [&](std::uint32_t index, std::uint32_t& one) {
                        one = index;
                        return belongs(index);
                    });
                if (list != before) REQUIRE(differs);
                ++queried_again;
            } else {
                list = anew;
                ++made_anew;
            }
            known = log.version();
            REQUIRE(list == anew);
        }
    }
    CHECK(queried_again > 2'000);
    CHECK(made_anew > 200);
}

}  // namespace purview
