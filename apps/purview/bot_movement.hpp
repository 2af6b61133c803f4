// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How bots move, which decides what is hard about them: alone, in flocks, all to one place, or in
// jumps. A bot knows of the world what its client holds.
#pragma once

#include <optional>

#include "core/hash.hpp"
#include "purview/client.hpp"

namespace purview::app {

enum class Movement : std::uint8_t {
    roam,     ///< everybody somewhere, in turns of some seconds
    flock,    ///< a leader in twenty roams, the others stay around it
    hotspot,  ///< everybody around the middle of the world
    teleport  ///< to a random place, again and again; where the server allows it
};

/// Bots of one flock, the first of them its leader.
inline constexpr std::size_t flock_size = 20;

class BotLegs {
  public:
    BotLegs(Movement movement, std::uint64_t seed) : movement_(movement), random_(seed) {}
    /// Once in a while a command. `leader`: of the flock, itself for the leader.
    void turn(Client& client, const BotLegs& leader, Micros now);

  private:
    void locate(const Client& client);
    void find_bounds(const Client& client);
    void roam(Client& client);
    void go(Client& client, Vec3 goal);
    void jump(Client& client, Vec3 to);
    Vec3 around(Vec3 center, float radius);

    Movement movement_;
    SplitMix random_;
    Micros next_turn_ = 0;
    bool gathered_ = false;         ///< has jumped to where the others are
    GhostId own_ = no_ghost;        ///< the ghost that is ours
    std::optional<Vec3> position_;  ///< of it; nothing: not known yet
    std::optional<Vec3> min_;       ///< of places, as the schema has them
    Vec3 max_;
};

}  // namespace purview::app
