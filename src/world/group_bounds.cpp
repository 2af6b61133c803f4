// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/group_bounds.hpp"

#include <algorithm>

namespace purview {

namespace {

constexpr float no_member = -1;
constexpr std::size_t leaves_first = 8;  // a vehicle with its crew

}  // namespace

std::uint32_t GroupBounds::sphere_of(EntityId root) {
    if (const std::uint32_t* found = sphere_at_.find(index_of(root)); found != nullptr) {
        if (spheres_[*found].root == root) return *found;
    }
    if (free_spheres_.empty()) {
        free_spheres_.push_back(static_cast<std::uint32_t>(spheres_.size()));
        spheres_.emplace_back();
    }
    const std::uint32_t at = free_spheres_.back();
    free_spheres_.pop_back();
    spheres_[at].root = root;
    spheres_[at].told_m = 0;
    sphere_at_[index_of(root)] = at;
    return at;
}

void GroupBounds::list(std::uint32_t at) {
    if (spheres_[at].is_listed) return;
    spheres_[at].is_listed = true;
    listed_.push_back(at);
}

/// Twice as many leaves, the old ones first.
void GroupBounds::grow(Sphere& sphere) {
    const std::size_t had = sphere.largest.size() / 2;
    const std::size_t has = had == 0 ? leaves_first : had * 2;
    std::vector<float> grown(has * 2, no_member);
    std::copy_n(sphere.largest.begin() + static_cast<std::ptrdiff_t>(had), had,
                grown.begin() + static_cast<std::ptrdiff_t>(has));
    for (std::size_t i = has; i-- > 1;) grown[i] = std::max(grown[2 * i], grown[2 * i + 1]);
    sphere.largest = std::move(grown);
    for (std::size_t leaf = has; leaf-- > had;)
        sphere.free.push_back(static_cast<std::uint32_t>(leaf));
}

void GroupBounds::write(Sphere& sphere, std::uint32_t leaf, float distance_m) noexcept {
    std::size_t at = sphere.largest.size() / 2 + leaf;
    sphere.largest[at] = distance_m;
    for (at /= 2; at > 0; at /= 2) {
        const float now = std::max(sphere.largest[2 * at], sphere.largest[2 * at + 1]);
        if (now == sphere.largest[at]) break;
        sphere.largest[at] = now;
    }
}

void GroupBounds::set(std::uint32_t index, EntityId root, float distance_m) {
    if (seats_.size() <= index) seats_.resize(index + 1 + index / 8);
    if (seats_[index].sphere != none && spheres_[seats_[index].sphere].root != root) remove(index);
    Seat& seat = seats_[index];
    if (seat.sphere == none) {
        seat.sphere = sphere_of(root);
        Sphere& sphere = spheres_[seat.sphere];
        if (sphere.free.empty()) grow(sphere);
        seat.leaf = sphere.free.back();
        sphere.free.pop_back();
        ++sphere.members;
    }
    write(spheres_[seat.sphere], seat.leaf, distance_m);
    list(seat.sphere);
}

void GroupBounds::remove(std::uint32_t index) {
    if (index >= seats_.size() || seats_[index].sphere == none) return;
    const Seat seat = seats_[index];
    seats_[index] = {};
    Sphere& sphere = spheres_[seat.sphere];
    write(sphere, seat.leaf, no_member);
    sphere.free.push_back(seat.leaf);
    --sphere.members;
    list(seat.sphere);
}

void GroupBounds::tell(EntityId root) {
    const std::uint32_t* found = sphere_at_.find(index_of(root));
    if (found == nullptr || spheres_[*found].root != root) return;
    spheres_[*found].told_m = no_member;
    list(*found);
}

float GroupBounds::radius(EntityId root) const noexcept {
    const std::uint32_t* found = sphere_at_.find(index_of(root));
    if (found == nullptr || spheres_[*found].root != root) return 0;
    return std::max(spheres_[*found].largest[1], 0.0F);
}

void GroupBounds::take_changes(std::vector<Change>& out) {
    for (const std::uint32_t at : listed_) {
        Sphere& sphere = spheres_[at];
        sphere.is_listed = false;
        const float now = std::max(sphere.largest[1], 0.0F);
        if (now != sphere.told_m) out.push_back({sphere.root, now});
        sphere.told_m = now;
        if (sphere.members > 0) continue;
        const std::uint32_t* found = sphere_at_.find(index_of(sphere.root));
        if (found != nullptr && *found == at) sphere_at_.erase(index_of(sphere.root));
        sphere.root = EntityId::none;
        free_spheres_.push_back(at);
    }
    listed_.clear();
}

}  // namespace purview
