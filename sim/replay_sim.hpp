// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Recordings of the simulator: only its server is lived again, from what reached it.
#pragma once

#include <string>
#include <string_view>

#include "record/recording.hpp"
#include "small_game.hpp"

namespace purview::test {

inline constexpr SmallScale sim_scale{1'200, 800, 20, 150};
inline constexpr std::uint32_t sim_calls_per_tick = 4;
/// The rules change so often.
inline constexpr std::uint32_t sim_ticks_between_rules = 200;
/// Said when the world comes to rest.
inline constexpr std::string_view freeze_note = "freeze";

/// Some seeds are short of bytes.
std::uint32_t budget_of(std::uint64_t seed);
record::Beginning beginning_of(const SmallWorld& world, std::uint64_t seed);
/// Exit code: 0 the same, 2 a bad file, 3 something differs.
int replay_sim(const std::string& path);

}  // namespace purview::test
