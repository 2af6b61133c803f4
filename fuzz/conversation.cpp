// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Runs a script of ticks, losses, corruption, address changes and disconnects against a whole
// server with two clients. At all times, every client must have the state that it acknowledged, and
// calls must keep their guarantees.
//
// Each byte is one step: the low three bits select the action, the others the amount or the client.
#include <algorithm>
#include <cstdint>

#include "core/internal_access.hpp"
#include "require.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"
#include "target.hpp"

using namespace purview;
using namespace purview::test;

namespace {

constexpr std::size_t script_bytes_max = 200;
constexpr std::uint32_t ticks_max = 400;

void toggle(float& fault) {
    fault = fault > 0 ? 0.0F : 0.5F;
}

void check_guarantees(const SmallWorld& world) {
    const auto& mismatches = world.proof->mismatches();
    require(mismatches.empty(), mismatches.empty() ? "" : mismatches.front().c_str());
    const std::string& trouble = world.ledger->trouble();
    require(trouble.empty(), trouble.c_str());
    require(internal(*world.server).calls.counters().refused_ghost == 0,
            "a valid call was refused");
    require(world.largest_tick_bytes <= world.def.budget_bytes_per_tick, "over the budget");
    for (const auto& client : world.clients)
        require(client->client.stats().order_violations == 0, "a child entered before its parent");
}

}  // namespace

/// A script contains no packets, so it does not depend on the wire format.
std::vector<std::string> fresh_seeds() {
    return {};
}
const char* never_reached() {
    return nullptr;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::uint32_t budget = std::uint32_t{128} + data[0] * 8U;
    SmallScale scale{20, 30, 4};
    if (data[1] % 4 == 1) {  // a world with everything enabled is slow: one seed in four
        scale.herd = 6;
        scale.books = budget >= 300 ? 1 : 0;  // a page needs this budget
        scale.carts = 2;
        scale.node_settings = scale.send_limits = true;
    }
    SmallWorld world(data[1], {}, budget, scale);
    for (int i = 0; i < 2; ++i) world.add_client();
    world.make_calls(3);
    std::uint32_t ticks = 0;
    for (std::size_t i = 2; i < std::min(size, script_bytes_max) && ticks < ticks_max; ++i) {
        const unsigned amount = data[i] >> 3;
        SmallClient& client = *world.clients[amount % world.clients.size()];
        FaultyNetwork& network = amount % 4 < 2 ? *client.up : *client.down;
        switch (data[i] & 7U) {
            case 0:
                network.blackout = !network.blackout;
                break;
            case 1:
                toggle(network.faults.loss);
                break;
            case 2:
                toggle(network.faults.duplicate);
                break;
            case 3:
                toggle(network.faults.corrupt);
                break;
            case 4:
                network.faults.jitter_us = amount * 10'000;
                break;
            case 5:
                world.change_address(client);
                break;
            case 6:
                if (amount % 8 != 0) break;
                world.clients.erase(world.clients.begin());
                world.add_client(amount % 16 == 0 ? Role::player : Role::spectator);
                break;
            default:
                for (unsigned t = 0; t <= amount; ++t, ++ticks) world.step();
                check_guarantees(world);
                break;
        }
    }
    return 0;
}
