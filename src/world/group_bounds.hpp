// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Bounds of groups: the radius of a sphere around each root that contains all members. A tournament
// tree over the distances of the members is updated in O(log members) when a member joins, leaves
// or moves; no other member is visited.
//
// Invariants: a member is in at most one group; the next take_changes frees a group without
// members.
//
// Must not depend on positions and relations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "purview/types.hpp"

namespace purview {

class GroupBounds {
  public:
    struct Change {
        EntityId root;
        float radius;
    };

    /// Makes the entity a member of this group only, at this distance from the root.
    void set(std::uint32_t index, EntityId root, float distance_m);
    /// Removes the entity from its group.
    void remove(std::uint32_t index);
    /// Includes the group in the next changes even if its radius did not change.
    void report_again(EntityId root);
    /// Largest distance of a member; 0 if there is none.
    float radius(EntityId root) const noexcept;

    /// Appends the groups with a radius that differs from the last reported one.
    void take_changes(std::vector<Change>& out);

    void validate() const;

  private:
    static constexpr std::uint32_t none = 0xffffffffU;
    struct Sphere {
        EntityId root = EntityId::none;
        float reported_m = 0;
        bool is_listed = false;
        std::uint32_t members = 0;
        std::vector<float> largest;  ///< [2 n]: tournament tree; leaves from n on, free ones -1
        std::vector<std::uint32_t> free;  ///< leaves
    };
    struct Seat {  ///< where the distance of a member is stored
        std::uint32_t sphere = none;
        std::uint32_t leaf = 0;
    };

    std::uint32_t sphere_of(EntityId root);
    void list(std::uint32_t sphere);
    void write(Sphere& sphere, std::uint32_t leaf, float distance_m) noexcept;
    static void grow(Sphere& sphere);

    std::vector<Sphere> spheres_;
    std::vector<std::uint32_t> free_spheres_;
    FlatMap<std::uint32_t, std::uint32_t> sphere_at_;  ///< by index of the root
    std::vector<Seat> seats_;                          ///< by entity index
    std::vector<std::uint32_t> listed_;
};

}  // namespace purview
