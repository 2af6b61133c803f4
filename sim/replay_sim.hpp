// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Recordings of the simulator. A replay runs only the server, with the recorded input.
#pragma once

#include <string>
#include <string_view>

#include "record/recording.hpp"
#include "small_game.hpp"

namespace purview::test {

/// Enables all optional content of a small world.
inline constexpr SmallScale sim_scale{1'200, 800, 20, 150, 60, 40, true, true, true};
/// Enables everything that the game and its clients can do: calls, rule changes, forced marks,
/// owner changes, messages and commands.
void switch_all_on(SmallWorld& world);
/// Note in a recording: the world becomes idle.
inline constexpr std::string_view freeze_note = "freeze";

/// Byte budget of a seed; small for some seeds.
std::uint32_t budget_of(std::uint64_t seed);
record::Beginning beginning_of(const SmallWorld& world, std::uint64_t seed);
/// Returns the exit code: 0 identical, 2 a bad file, 3 a difference.
/// `threads`: threads for visibility and packet encoding.
int replay_sim(const std::string& path, unsigned threads);

}  // namespace purview::test
