// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The carts of the vale: each is a group of a cart, its turret, its riders and its driver. Shots
// are evaluated with lag compensation, in the world as the shooter displayed it.
#pragma once

#include <cstddef>
#include <vector>

#include "purview/server.hpp"
#include "vale_step.hpp"

namespace vale {

/// Range of a shot, and the distance from its line within which it hits.
inline constexpr float shot_range_m = 50;
inline constexpr float shot_radius_m = 0.4F;
/// Maximum distance at which a player can board a cart.
inline constexpr float board_range_m = 4;

struct ShotCounters {
    std::uint64_t shots = 0;
    std::uint64_t hits = 0;          ///< with lag compensation
    std::uint64_t hits_present = 0;  ///< without it, in the server's current world
};

class Carts {
  public:
    static constexpr std::uint32_t riders_count = 2;
    /// The cart, its turret, its riders.
    static constexpr std::uint32_t members_count = 2 + riders_count;

    Carts(const Setup& setup, const ValeSchema& schema) : schema_(&schema), step_(setup, schema) {}

    void add(purview::World& world, purview::Vec3 position, float heading);
    bool is_any_free(const purview::World& world, purview::Vec3 position, float range) const {
        return nearest_free(world, position, range) < carts_.size();
    }
    /// Boards the nearest free cart in range, or leaves the cart that the player drives.
    void board(purview::Server& server, purview::ObserverId observer, purview::EntityId player);
    /// Frees the cart of this driver. No effect on a player that drives none.
    void alight(purview::World& world, purview::ObserverId observer, purview::EntityId player);
    void on_input(purview::Server& server, purview::ObserverId observer, purview::GroupState& group,
                  const purview::GroupInput& command);
    /// Moves riders and undriven turrets to the position of their cart.
    void carry(purview::World& world);
    const ShotCounters& counters() const noexcept { return counters_; }
    std::uint32_t driven() const noexcept;

  private:
    struct Cart {
        purview::EntityId cart = purview::EntityId::none;
        purview::EntityId turret = purview::EntityId::none;
        std::vector<purview::EntityId> riders;
        purview::ObserverId driver = purview::ObserverId::none;
    };
    /// Returns the index of the nearest free cart, or the number of carts if none is within `range`
    /// meters.
    std::size_t nearest_free(const purview::World& world, purview::Vec3 position,
                             float range) const;
    void set_driver(purview::World& world, Cart& cart, purview::ObserverId driver);
    void shoot(purview::Server& server, purview::ObserverId observer, purview::EntityId cart,
               purview::Vec3 target, double view_tick);
    bool hits_present(purview::Server& server, purview::ObserverId observer, purview::EntityId cart,
                      purview::Vec3 from, purview::Vec3 to);

    const ValeSchema* schema_;
    ValeStep step_;
    std::vector<Cart> carts_;
    ShotCounters counters_;
    std::vector<purview::PastHit> hits_;       ///< scratch
    std::vector<purview::EntityId> in_range_;  ///< scratch
};

}  // namespace vale
