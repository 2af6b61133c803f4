// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Packets that several workers write. tests/sim/threads_test.py compares whole recordings with real
// threads.
#include <doctest/doctest.h>

#include <string>

#include "small_game.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

/// Runs all tasks on this thread, the last one first, as if the others were slower.
Executor last_first(std::uint32_t workers) {
    Executor executor;
    executor.workers = workers;
    executor.run = [](void*, std::uint32_t count, void (*task)(void*, std::uint32_t), void* of) {
        while (count > 0) task(of, --count);
    };
    return executor;
}

struct Outcome {
    std::string sent;  ///< client number and bytes of all datagrams, in send order
    std::vector<RpcLateCull> late;
};

/// Forty observers, more changes than fit, and unreliable RPCs without room. The server gets
/// `executor_at(tick)` before each tick.
template <class ExecutorAt>
Outcome run_crowd(ExecutorAt&& executor_at) {
    const SmallSchema schema;
    ServerDef def;
    def.rules = small_rules(schema);
    def.budget_bytes_per_tick = 200;
    def.sessions_per_host_max = 100;
    Stage stage(schema.schema, 40, def);
    std::vector<EntityId> herd;
    for (std::uint32_t i = 0; i < 80; ++i)
        herd.push_back(stage.spawn(schema.animal, {10 + static_cast<float>(i), 10, 0}));
    for (const ObserverId observer : stage.observers) {
        const EntityId player = stage.spawn(schema.player, {40, 12, 0});
        CHECK(stage.visibility().set_viewpoint(observer, player) == Status::ok);
    }
    Outcome all;
    SplitMix random(5);
    for (Tick tick = 0; tick < 60; ++tick) {
        stage.server->set_executor(executor_at(tick));
        for (const EntityId one : herd) {
            if (random.below(3) == 0)
                stage.world().edit(one, schema.body)->hp =
                    static_cast<std::uint16_t>(random.below(1'000));
            if (random.below(12) != 0) continue;
            const Rpc<Ping> ping = schema.ping(RpcDelivery::unreliable, RpcPolicy::cull);
            CHECK(stage.server->call({.entity = one}, ping, Ping{0, tick}));
        }
        stage.keep_all = &all.sent;
        stage.step();
        for (const RpcLateCull& late : stage.server->rpc_late_culls()) all.late.push_back(late);
    }
    return all;
}

bool are_same(const RpcLateCull& a, const RpcLateCull& b) {
    return a.call == b.call && a.culled.observer == b.culled.observer &&
           a.culled.reason == b.culled.reason;
}

}  // namespace

TEST_CASE("server: several workers write the same packets as one, in the same order") {
    const Outcome alone = run_crowd([](Tick) { return Executor{}; });
    const Outcome several = run_crowd([](Tick) { return last_first(3); });
    const Outcome changing =
        run_crowd([](Tick tick) { return tick % 7 == 0 ? Executor{} : last_first(1 + tick % 5); });
    CHECK(alone.sent.size() > 50'000);
    CHECK(alone.late.size() > 100);
    for (const Outcome* other : {&several, &changing}) {
        CHECK((other->sent == alone.sent));
        CHECK(std::equal(other->late.begin(), other->late.end(), alone.late.begin(),
                         alone.late.end(), are_same));
    }
}

}  // namespace purview::test
