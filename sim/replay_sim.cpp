// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replay_sim.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>

#include "core/internal_access.hpp"
#include "net/thread_pool.hpp"
#include "record/replay.hpp"

namespace purview::test {

namespace {

constexpr const char* program_name = "purview_sim";

int refuse(const std::string& path, const std::string& why) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), why.c_str());
    return 2;
}

}  // namespace

std::uint32_t budget_of(std::uint64_t seed) {
    return std::array{300U, 1'200U, 4'800U}[seed % 3];
}

void switch_all_on(SmallWorld& world) {
    constexpr std::uint32_t calls_per_tick = 4;
    world.make_calls(calls_per_tick);
    world.send_mail();
    world.game.ticks_between_rules = 200;
    const std::uint32_t usual = world.def.budget_bytes_per_tick;
    world.game.budgets = {std::max(300U, usual / 2), usual * 2};
    world.game.marks_per_tick = 1;
    world.game.owner_chance = 0.4F;
}

record::Beginning beginning_of(const SmallWorld& world, std::uint64_t seed) {
    record::Beginning beginning;
    beginning.program = program_name;
    beginning.schema_hash = world.schema.schema.hash();
    beginning.tick_hz = static_cast<std::uint16_t>(world.def.tick_hz);
    beginning.secret = world.def.secret;
    beginning.world_name = world.def.world_name;
    beginning.options["seed"] = std::to_string(seed);
    return beginning;
}

int replay_sim(const std::string& path, unsigned threads) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return refuse(path, "cannot be read");
    record::Reader reader(file);
    const auto beginning = reader.begin();
    if (!beginning) return refuse(path, reader.problem());
    const auto option = beginning->options.find("seed");
    const std::string seed_text = option == beginning->options.end() ? "" : option->second;
    std::uint64_t seed = 0;
    const char* seed_end = seed_text.data() + seed_text.size();
    if (beginning->program != program_name ||
        std::from_chars(seed_text.data(), seed_end, seed).ptr != seed_end || seed_text.empty())
        return refuse(path, "not a recording of the simulator");
    SmallWorld world(seed, {}, budget_of(seed), sim_scale);
    switch_all_on(world);  // calls and commands of the clients come from the file
    if (beginning->schema_hash != world.schema.schema.hash() ||
        beginning->secret != world.def.secret)
        return refuse(path, "recorded with another schema or secret");
    ThreadPool pool(threads);
    if (threads > 1) {
        internal(*world.server).tap = nullptr;  // a replication observer needs packets one by one
        world.server->set_executor(pool.executor());
    }
    const auto result = record::replay(reader, *world.server, [&](std::string_view note) {
        if (note != freeze_note) return std::string("an unknown note");
        world.game.frozen = true;
        return std::string();
    });
    if (result.outcome == record::ReplayResult::Outcome::bad_file) return refuse(path, result.text);
    std::printf(
        "%llu ticks, %llu datagrams received, %llu sent and %llu states compared, state %016llx\n",
        static_cast<unsigned long long>(result.ticks),
        static_cast<unsigned long long>(result.received),
        static_cast<unsigned long long>(result.sent),
        static_cast<unsigned long long>(result.states),
        static_cast<unsigned long long>(result.last_state));
    if (result.outcome == record::ReplayResult::Outcome::same) return 0;
    std::fprintf(stderr, "%s: %s\n", path.c_str(), result.text.c_str());
    return 3;
}

}  // namespace purview::test
