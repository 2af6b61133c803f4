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

/// Everything that a small world can have.
inline constexpr SmallScale sim_scale{1'200, 800, 20, 150, 60, 40, true, true, true};
/// And everything that its game and its clients can do: calls, other rules, marks by hand, other
/// owners, messages and commands.
void switch_all_on(SmallWorld& world);
/// Said when the world comes to rest.
inline constexpr std::string_view freeze_note = "freeze";

/// Some seeds are short of bytes.
std::uint32_t budget_of(std::uint64_t seed);
record::Beginning beginning_of(const SmallWorld& world, std::uint64_t seed);
/// Exit code: 0 the same, 2 a bad file, 3 something differs.
/// `threads`: that work on windows and packets.
int replay_sim(const std::string& path, unsigned threads);

}  // namespace purview::test
