// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Bounds of groups: of each root the radius of a sphere around it that holds all its members. A
// tournament over the members' distances: who comes, goes or moves within a group costs a few
// comparisons, and nobody else is looked at. Must not know: places and relations; it is told
// distances.
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

    /// The entity is a member of this group, so far from its root; of no other from now on.
    void set(std::uint32_t index, EntityId root, float distance_m);
    /// Of none.
    void remove(std::uint32_t index);
    /// Tell it again, whether it changed or not.
    void tell(EntityId root);
    /// Largest distance of a member; 0: it has none.
    float radius(EntityId root) const noexcept;

    /// Appends those that are not as they were told last.
    void take_changes(std::vector<Change>& out);

    void validate() const;

  private:
    static constexpr std::uint32_t none = 0xffffffffU;
    struct Sphere {
        EntityId root = EntityId::none;
        float told_m = 0;
        bool is_listed = false;
        std::uint32_t members = 0;
        std::vector<float> largest;  ///< [2 n]: of both below it; leaves from n on, free ones -1
        std::vector<std::uint32_t> free;  ///< leaves
    };
    struct Seat {
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
