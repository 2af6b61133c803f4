// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A player's side of walking, driving and shooting: it knows by the schema that arrives whether a
// world is a vale, gives commands, and predicts. For the page and for bots.
#pragma once

#include <memory>
#include <utility>

#include "purview/client.hpp"
#include "purview/prediction.hpp"
#include "vale_step.hpp"

namespace vale {

struct Controls {
    float walk_x = 0;  ///< a direction of length 0 to 1
    float walk_y = 0;
    float throttle = 0;
    float steering = 0;
    purview::Vec3 target;  ///< where the gun points
    bool fires = false;
};

class Pilot {
  public:
    /// Null: the client has not joined, or its world is not a vale. It must outlive the pilot.
    static std::unique_ptr<Pilot> create(purview::Client& client, bool predicts);
    /// What cannot be driven on, from the map that a game has beside its client; without it walls
    /// are found out by corrections.
    void set_ground(Ground ground) { setup_.ground = std::move(ground); }

    /// Gives the commands that are due, all with these controls; returns how many.
    unsigned turn(const Controls& controls, purview::Micros now);
    /// Which ghosts are ours; after every receive.
    void find_own();

    purview::GhostId player() const noexcept { return player_; }
    /// That we drive; no_ghost on foot.
    purview::GhostId cart() const noexcept { return cart_; }
    purview::GhostId turret() const noexcept { return turret_; }
    /// Null on foot.
    const Engine* engine() const noexcept;
    const Gun* gun() const noexcept;
    /// Where to draw a ghost; whatever sits on what we predict is there with it.
    purview::Vec3 position_of(purview::GhostId ghost, purview::Micros now) const noexcept;

    const ValeSchema& schema() const noexcept { return schema_; }
    const Setup& setup() const noexcept { return setup_; }
    purview::Prediction& prediction() noexcept { return *prediction_; }
    const purview::Prediction& prediction() const noexcept { return *prediction_; }

  private:
    Pilot(purview::Client& client, const Setup& setup);

    purview::Client* client_;
    Setup setup_;
    ValeSchema schema_;
    ValeStep step_;
    std::unique_ptr<purview::Prediction> prediction_;
    purview::GhostId player_ = purview::no_ghost;
    purview::GhostId cart_ = purview::no_ghost;
    purview::GhostId turret_ = purview::no_ghost;
};

}  // namespace vale
