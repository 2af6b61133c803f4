// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <array>
#include <iterator>
#include <map>
#include <set>

#include "core/bitset.hpp"
#include "core/flat_map.hpp"
#include "core/gather_bits.hpp"
#include "core/id_pool.hpp"
#include "core/observer_ids.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview::test {

TEST_CASE("core: ids count from 1, none is 0, and their indices count from 0") {
    static_assert(KindId{} == KindId::none && FlagId{} == FlagId::none && NodeId{} == NodeId::none);
    static_assert(id_at<KindId>(0) == KindId{1});
    static_assert(index_of(id_at<KindId>(7)) == 7);
    static_assert(id_at<FlagId>(254) == FlagId{255});
    static_assert(id_at<FlagId>(255) == FlagId::none);  // the type cannot hold it
    static_assert(id_at<KindId>(0xffff) == KindId::none);
    // The index of `none` fails every bounds check.
    static_assert(index_of(ComponentId::none) == 0xffffffffU);
    static_assert(index_of(make_entity_id(3, 9)) == 3 && index_of(make_observer_id(4, 9)) == 4);
    static_assert(index_of(Key{5}) == 5);
}

TEST_CASE("core: a flat map equals std::map during 100,000 random operations") {
    SplitMix random(7);
    FlatMap<std::uint32_t, std::uint32_t> map;
    std::map<std::uint32_t, std::uint32_t> twin;
    for (int i = 0; i < 100'000; ++i) {
        const std::uint32_t key = random.below(3000);
        switch (random.below(3)) {
            case 0:
                map[key] = twin[key] = random.below(1000);
                break;
            case 1:
                REQUIRE(map.erase(key) == (twin.erase(key) == 1));
                break;
            default: {
                const std::uint32_t* found = map.find(key);
                REQUIRE((found != nullptr) == (twin.count(key) == 1));
                if (found != nullptr) REQUIRE(*found == twin[key]);
            }
        }
        REQUIRE(map.size() == twin.size());
    }
    for (const auto& [key, value] : twin) REQUIRE(*map.find(key) == value);
    map.clear();
    CHECK(map.size() == 0);
    CHECK(map.find(twin.begin()->first) == nullptr);
}

TEST_CASE("core: a released index is reused after recycle() with another generation") {
    IdPool pool(3);
    const auto a = pool.acquire();
    const auto b = pool.acquire();
    const auto old = pool.generation(a);
    pool.release(a);
    CHECK_FALSE(pool.is_live(a));
    const auto c = pool.acquire();
    CHECK(c != a);
    const auto d = pool.acquire();  // a released index does not count against the capacity
    CHECK(d != a);
    CHECK(pool.acquire() == IdPool::no_index);
    pool.recycle();
    CHECK(pool.acquire() == IdPool::no_index);
    pool.release(d);
    CHECK(pool.acquire() == a);
    CHECK(pool.generation(a) == old + 1);
    CHECK_FALSE(pool.is_live(a, old));
    CHECK(pool.is_live(b));
}

TEST_CASE("core: caller-chosen and pool-chosen indices never collide") {
    constexpr std::uint32_t capacity = 12;
    SplitMix random(8);
    IdPool pool(capacity);
    std::map<std::uint32_t, std::uint32_t> alive;  // index: generation
    std::map<std::uint32_t, std::uint32_t> last;   // highest generation that an index had
    std::set<std::uint32_t> idle;
    std::uint32_t named = 0, assigned = 0;
    for (int step = 0; step < 20'000; ++step) {
        const std::uint32_t index = random.below(capacity + 2);
        if (random.chance(0.4F)) {
            const std::uint32_t generation = last[index] + random.below(3);
            const bool is_free = index < capacity && generation > last[index] &&
                                 alive.count(index) == 0 && idle.count(index) == 0;
            REQUIRE(pool.is_free(index, generation) == is_free);
            const bool made = pool.acquire_as(index, generation);
            REQUIRE(made == (is_free && alive.size() < capacity));
            if (!made) continue;
            ++named;
            alive[index] = last[index] = generation;
        } else if (random.chance(0.4F)) {
            const std::uint32_t own = pool.acquire();
            if (own == IdPool::no_index) {
                REQUIRE((alive.size() == capacity || idle.size() > capacity));
                continue;
            }
            ++assigned;
            REQUIRE(alive.count(own) == 0);
            REQUIRE(idle.count(own) == 0);
            REQUIRE(pool.generation(own) > last[own]);
            alive[own] = last[own] = pool.generation(own);
        } else if (!alive.empty() && random.chance(0.8F)) {
            const auto gone =
                std::next(alive.begin(), random.below(static_cast<std::uint32_t>(alive.size())));
            pool.release(gone->first);
            idle.insert(gone->first);
            alive.erase(gone);
        } else {
            pool.recycle();
            idle.clear();
        }
        REQUIRE(pool.live_count() == alive.size());
        for (std::uint32_t i = 0; i < pool.index_end(); ++i)
            REQUIRE(pool.is_live(i) == (alive.count(i) == 1));
    }
    CHECK(named > 500);
    CHECK(assigned > 500);
}

TEST_CASE("core: an id is never reused, an index without generations left is replaced") {
    IdPool pool(1, 3);
    std::vector<std::uint32_t> indices, generations;
    for (int i = 0; i < 5; ++i) {
        const std::uint32_t index = pool.acquire();
        CHECK(pool.acquire() == IdPool::no_index);
        indices.push_back(index);
        generations.push_back(pool.generation(index));
        pool.release(index);
        pool.recycle();
    }
    CHECK(indices == std::vector<std::uint32_t>{0, 0, 0, 1, 1});
    CHECK(generations == std::vector<std::uint32_t>{1, 2, 3, 1, 2});
    IdPool few(1, 1, 3);  // at most three indices
    for (std::uint32_t i = 0; i < 4; ++i) {
        CHECK(few.acquire() == (i < 3 ? i : IdPool::no_index));
        if (i < 3) few.release(i);
        few.recycle();
    }
}

TEST_CASE("core: the oldest released index is reused first") {
    IdPool pool(8);
    for (int i = 0; i < 4; ++i) (void)pool.acquire();
    pool.release(2);
    pool.recycle();
    pool.release(0);
    pool.recycle();
    CHECK(pool.acquire() == 2);
    CHECK(pool.acquire() == 0);
    CHECK(pool.acquire() == 4);
}

TEST_CASE("core: bits beyond the size of a bitset are zero after it shrinks") {
    Bitset bits(130);
    for (std::size_t i = 0; i < 130; ++i) bits.set(i);
    bits.resize(70);
    CHECK(bits.count() == 70);
    bits.resize(130);
    CHECK(bits.count() == 70);
    std::size_t visited = 0;
    bits.for_each([&](std::size_t i) { visited += i; });
    CHECK(visited == 69 * 70 / 2);
}

TEST_CASE("core: list_bits returns the same bits as for_each") {
    SplitMix random(12);
    std::vector<std::uint32_t> visited, listed;
    for (int round = 0; round < 300; ++round) {
        Bitset bits(random.below(1000));
        const float chance = random.between(0, 1);
        for (std::size_t i = 0; i < bits.size(); ++i) bits.assign(i, random.chance(chance));
        visited.clear();
        bits.for_each([&](std::size_t i) { visited.push_back(static_cast<std::uint32_t>(i)); });
        listed.assign(visited.size() + 2, 0xffffffff);
        std::uint32_t* end = listed.data();
        for (std::size_t w = 0; w < bits.words().size(); ++w)
            end = list_bits(bits.words()[w], static_cast<std::uint32_t>(w * bits_per_word), end);
        CHECK(listed.back() == 0xffffffff);  // not written
        listed.resize(static_cast<std::size_t>(end - listed.data()));
        REQUIRE(listed == visited);
    }
}

TEST_CASE("core: gather_bits returns the same 64 bits as single tests") {
    SplitMix random(11);
    for (int round = 0; round < 500; ++round) {
        Bitset row(1 + random.below(5000));
        for (std::size_t i = 0; i < row.size(); ++i) row.assign(i, random.chance(0.4F));
        std::array<std::uint32_t, 64> indices{};
        for (std::uint32_t& index : indices)
            index = random.below(static_cast<std::uint32_t>(row.size()));
        std::uint64_t expected = 0;
        for (std::size_t i = 0; i < indices.size(); ++i)
            expected |= std::uint64_t{row.test(indices[i])} << i;
        REQUIRE(gather_bits(row.words(), indices) == expected);
    }
}

TEST_CASE("core: a failed assertion calls the handler and returns if the handler does") {
    static int failures;
    failures = 0;
    const AssertHandler old = set_assert_handler([](const char*, const char*, int) { ++failures; });
    detail::assert_failed("x", "y", 1);
    CHECK(failures == 1);
    const Result<int> result(Status::ok);  // asserted: a result without a value has an error
    set_assert_handler(old);
#if !defined(NDEBUG) || defined(PURVIEW_ASSERTS)
    CHECK(failures == 2);
#endif
    CHECK_FALSE(result.has_value());
    CHECK(result.error() == Status::bad_argument);
}

}  // namespace purview::test
