// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/send_rates.hpp"

#include <doctest/doctest.h>

#include <array>

namespace purview::test {

TEST_CASE("send rates: weight and policy of a slot end with its ghost") {
    SlotBlocks blocks(2);
    SendRates rates(blocks);
    rates.grow(2, 2);
    CHECK(rates.weight(65) == 1);
    CHECK(rates.policy(65) == SendRates::default_policy);
    rates.set_weight(65, 4);
    rates.set_policy(65, {3, Retention::freeze});
    CHECK(rates.with_policy(1) == 2);
    CHECK(rates.policy(65).every_ticks == 3);
    CHECK(rates.priority(65, 10, 9, false) == 8);
    rates.set_policy(65, SendRates::default_policy);
    CHECK(!rates.has_policy(65));
    rates.set_policy(65, {2, Retention::despawn});
    rates.begin(65);
    CHECK(rates.weight(65) == 1);
    CHECK(rates.policy(65).every_ticks == 1);
}

TEST_CASE("send rates: the priorities of a word equal those of its slots") {
    SlotBlocks blocks(1);
    SendRates rates(blocks);
    rates.grow(1, 1);
    std::array<Tick, 64> since{};
    for (LocalId slot = 0; slot < 64; ++slot) {
        since[slot] = 100 - slot;
        rates.set_weight(slot, 1 + static_cast<float>(slot % 5));
    }
    std::array<float, 64> out{};
    const std::uint64_t idle = 0xf0f0;
    const std::uint64_t enough = rates.priorities(0, 120, since, idle, 90, out);
    for (LocalId slot = 0; slot < 64; ++slot) {
        const bool is_idle = (idle >> slot & 1U) != 0;
        CHECK(out[slot] == rates.priority(slot, 120, since[slot], is_idle));
        CHECK((enough >> slot & 1U) == (out[slot] >= 90 ? 1U : 0U));
    }
}

}  // namespace purview::test
