// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/group_bounds.hpp"

#include <algorithm>

#include "purview/status.hpp"

namespace purview {

namespace {

constexpr float no_member = -1;
constexpr std::size_t leaves_first = 8;  // enough for a vehicle with its crew

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
    PURVIEW_ASSERT(spheres_[at].root == EntityId::none && spheres_[at].members == 0);
    spheres_[at].root = root;
    spheres_[at].reported_m = 0;
    sphere_at_[index_of(root)] = at;
    return at;
}

void GroupBounds::list(std::uint32_t at) {
    if (spheres_[at].is_listed) return;
    spheres_[at].is_listed = true;
    listed_.push_back(at);
}

/// Doubles the number of leaves and keeps the old ones first.
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
    PURVIEW_ASSERT(leaf < sphere.largest.size() / 2);
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
    PURVIEW_ASSERT(spheres_[seat.sphere].root == root);
    write(spheres_[seat.sphere], seat.leaf, distance_m);
    list(seat.sphere);
}

void GroupBounds::remove(std::uint32_t index) {
    if (index >= seats_.size() || seats_[index].sphere == none) return;
    const Seat seat = seats_[index];
    seats_[index] = {};
    Sphere& sphere = spheres_[seat.sphere];
    PURVIEW_ASSERT(sphere.root != EntityId::none && sphere.members > 0);
    write(sphere, seat.leaf, no_member);
    sphere.free.push_back(seat.leaf);
    --sphere.members;
    list(seat.sphere);
}

void GroupBounds::report_again(EntityId root) {
    const std::uint32_t* found = sphere_at_.find(index_of(root));
    if (found == nullptr || spheres_[*found].root != root) return;
    spheres_[*found].reported_m = no_member;
    list(*found);
}

float GroupBounds::radius(EntityId root) const noexcept {
    const std::uint32_t* found = sphere_at_.find(index_of(root));
    if (found == nullptr || spheres_[*found].root != root) return 0;
    PURVIEW_ASSERT(!spheres_[*found].largest.empty());  // it had a member at some time
    return std::max(spheres_[*found].largest[1], 0.0F);
}

void GroupBounds::take_changes(std::vector<Change>& out) {
    for (const std::uint32_t at : listed_) {
        Sphere& sphere = spheres_[at];
        PURVIEW_ASSERT(sphere.is_listed && sphere.root != EntityId::none);
        sphere.is_listed = false;
        const float now = std::max(sphere.largest[1], 0.0F);
        if (now != sphere.reported_m) out.push_back({sphere.root, now});
        sphere.reported_m = now;
        if (sphere.members > 0) continue;
        const std::uint32_t* found = sphere_at_.find(index_of(sphere.root));
        if (found != nullptr && *found == at) sphere_at_.erase(index_of(sphere.root));
        sphere.root = EntityId::none;
        free_spheres_.push_back(at);
    }
    listed_.clear();
}

void GroupBounds::validate() const {
    std::size_t members = 0, seated = 0, unused = 0, listed = 0;
    for (const Sphere& sphere : spheres_) {
        const std::size_t leaves = sphere.largest.size() / 2;
        members += sphere.members;
        unused += sphere.root == EntityId::none ? 1 : 0;
        listed += sphere.is_listed ? 1 : 0;
        PURVIEW_ASSERT(sphere.free.size() + sphere.members == leaves);
        // take_changes frees a group without members.
        PURVIEW_ASSERT(sphere.members > 0 || sphere.is_listed || sphere.root == EntityId::none);
        for (std::size_t i = 1; i < leaves; ++i) {
            PURVIEW_ASSERT(!(sphere.largest[i] < sphere.largest[2 * i]));
            PURVIEW_ASSERT(!(sphere.largest[i] < sphere.largest[2 * i + 1]));
        }
    }
    for (const Seat& seat : seats_) {
        if (seat.sphere == none) continue;
        ++seated;
        PURVIEW_ASSERT(seat.sphere < spheres_.size());
        PURVIEW_ASSERT(seat.leaf < spheres_[seat.sphere].largest.size() / 2);
    }
    PURVIEW_ASSERT(members == seated);
    PURVIEW_ASSERT(unused == free_spheres_.size());
    PURVIEW_ASSERT(listed == listed_.size());
    (void)unused;
    (void)listed;
}

}  // namespace purview
