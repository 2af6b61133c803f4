// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Movement patterns of bots, which determine the load: spread out, in flocks, all near one
// position, or in jumps. A bot uses only the state of its client.
#pragma once

#include <optional>

#include "core/hash.hpp"
#include "purview/client.hpp"

namespace purview::app {

enum class Movement : std::uint8_t {
    roam,     ///< each bot walks on its own and changes direction every few seconds
    flock,    ///< one leader per 20 bots roams, the others stay near it
    hotspot,  ///< all bots gather around the center of the world
    teleport  ///< each bot jumps to random positions, if the server allows it
};

/// Number of bots in one flock; the first bot is its leader.
inline constexpr std::size_t flock_size = 20;

class BotWalker {
  public:
    BotWalker(Movement movement, std::uint64_t seed) : movement_(movement), random_(seed) {}
    /// Sends a movement command every few seconds. `leader`: the leader of the flock; the leader
    /// passes itself.
    void turn(Client& client, const BotWalker& leader, Micros now);

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
    bool gathered_ = false;         ///< has jumped to the gathering point
    GhostId own_ = GhostId::none;   ///< the ghost of this bot's own entity
    std::optional<Vec3> position_;  ///< position of `own_`; empty while unknown
    std::optional<Vec3> min_;       ///< position bounds, from the schema
    Vec3 max_;
};

}  // namespace purview::app
