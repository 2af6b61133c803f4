// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The client side of walking, driving and shooting, for the web page and for bots. Detects a vale
// world by the received schema, sends inputs and predicts their results.
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
    purview::Vec3 target;  ///< where the gun aims
    bool fires = false;
};

class Pilot {
  public:
    /// Returns null if the client has not joined or its world is not a vale. The client must
    /// outlive the pilot.
    static std::unique_ptr<Pilot> create(purview::Client& client, bool predicts);
    /// Sets the blocked tiles, which a game gets from its own map data. Without them the prediction
    /// ignores walls and is corrected.
    void set_ground(Ground ground) { setup_.ground = std::move(ground); }

    /// Sends the inputs that are due, all with these controls; returns their number.
    unsigned turn(const Controls& controls, purview::Micros now);
    /// Finds the ghosts of this player. Call after every receive.
    void find_own();

    purview::GhostId player() const noexcept { return player_; }
    /// The driven cart; GhostId::none on foot.
    purview::GhostId cart() const noexcept { return cart_; }
    purview::GhostId turret() const noexcept { return turret_; }
    /// Returns null on foot.
    const Engine* engine() const noexcept;
    const Gun* gun() const noexcept;
    /// Position at which to draw a ghost. Ghosts attached to a predicted ghost are drawn with it.
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
    purview::GhostId player_ = purview::GhostId::none;
    purview::GhostId cart_ = purview::GhostId::none;
    purview::GhostId turret_ = purview::GhostId::none;
};

}  // namespace vale
