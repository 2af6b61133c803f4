// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A bot that gets on the nearest free cart, drives it in curves, and shoots at what moves, at the
// place where it sees it. It knows of the world what its client holds.
#pragma once

#include <map>
#include <memory>

#include "bot_report.hpp"
#include "core/hash.hpp"
#include "pilot.hpp"

namespace purview::app {

class BotDriver {
  public:
    /// `ground`: null, or of the map; not owned.
    BotDriver(std::uint64_t seed, const vale::Ground* ground) : random_(seed), ground_(ground) {}
    /// Some twenty times a second, after what has arrived was received.
    void turn(Client& client, Micros now);
    const DriverCounts& counts() const noexcept { return counts_; }

  private:
    void walk_to_cart(Client& client, Micros now, vale::Controls& controls);
    void drive(Client& client, Micros now, vale::Controls& controls);
    void listen(Client& client);
    GhostId nearest_free_cart(const Client& client, Vec3 from) const;

    struct Seen {
        Vec3 position;
        Micros at = 0;
    };
    SplitMix random_;
    const vale::Ground* ground_;
    std::unique_ptr<vale::Pilot> pilot_;
    std::map<GhostId, Seen> seen_;  ///< where those were that we may shoot at
    Micros next_call_ = 0;          ///< for a cart
    Micros next_curve_ = 0;
    float steering_ = 0;
    DriverCounts counts_;
};

}  // namespace purview::app
