// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A bot that boards the nearest free cart, drives it in curves and shoots at moving targets at
// their displayed positions. It uses only the state of its client.
#pragma once

#include <map>
#include <memory>

#include "bot_report.hpp"
#include "core/hash.hpp"
#include "pilot.hpp"

namespace purview::app {

class BotDriver {
  public:
    /// `ground`: the map's ground, or null; not owned.
    BotDriver(std::uint64_t seed, const vale::Ground* ground) : random_(seed), ground_(ground) {}
    /// Updates the bot. Call it about 20 times per second, after the client has received its
    /// packets.
    void turn(Client& client, Micros now);
    const DriverCounts& counts() const noexcept { return counts_; }

  private:
    void walk_to_cart(Client& client, Micros now, vale::Controls& controls);
    void drive(Client& client, Micros now, vale::Controls& controls);
    void take_rpcs(Client& client);
    GhostId nearest_free_cart(const Client& client, Vec3 from) const;

    struct Seen {
        Vec3 position;
        Micros at = 0;
    };
    SplitMix random_;
    const vale::Ground* ground_;
    std::unique_ptr<vale::Pilot> pilot_;
    std::map<GhostId, Seen> seen_;  ///< last seen positions of possible targets
    Micros next_call_ = 0;          ///< earliest time of the next request for a cart
    Micros next_curve_ = 0;
    float steering_ = 0;
    DriverCounts counts_;
};

}  // namespace purview::app
