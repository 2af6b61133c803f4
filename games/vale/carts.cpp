// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "carts.hpp"

#include <algorithm>
#include <cmath>

namespace vale {

using purview::EntityId;
using purview::GroupInput;
using purview::GroupState;
using purview::ObserverId;
using purview::Server;
using purview::Vec3;
using purview::World;

namespace {

constexpr int damage = 10;

/// Squared distance from a point to a line segment.
float square_to(Vec3 at, Vec3 from, Vec3 to) noexcept {
    const float dx = to.x - from.x, dy = to.y - from.y;
    const float along = ((at.x - from.x) * dx + (at.y - from.y) * dy) / (dx * dx + dy * dy);
    const float t = std::clamp(along, 0.0F, 1.0F);
    const float x = from.x + t * dx - at.x, y = from.y + t * dy - at.y;
    return x * x + y * y;
}

}  // namespace

void Carts::add(World& world, Vec3 position, float heading) {
    const EntityId cart = world.spawn({.kind = schema_->cart, .position = position});
    const EntityId turret = world.spawn({.kind = schema_->turret, .position = position});
    if (cart == EntityId::none || turret == EntityId::none) return;
    world.edit(cart, schema_->engine)->heading = wrap_angle(heading);
    world.edit(turret, schema_->gun)->rounds = 500;
    (void)world.attach(turret, cart);
    Cart made{cart, turret, {}, ObserverId::none};
    for (std::uint32_t r = 0; r < riders_count; ++r) {
        const EntityId rider = world.spawn({.kind = schema_->person, .position = position});
        if (rider == EntityId::none) continue;
        world.edit(rider, schema_->body)->hp = 100;
        (void)world.attach(rider, cart);
        made.riders.push_back(rider);
    }
    carts_.push_back(std::move(made));
}

void Carts::set_driver(World& world, Cart& cart, ObserverId driver) {
    cart.driver = driver;
    (void)world.set_owner(cart.cart, driver);
    (void)world.set_owner(cart.turret, driver);
}

std::size_t Carts::nearest_free(const World& world, Vec3 position, float range) const {
    std::size_t nearest = carts_.size();
    for (std::size_t c = 0; c < carts_.size(); ++c) {
        const Vec3 at = world.position_of(carts_[c].cart);
        const float away = std::hypot(at.x - position.x, at.y - position.y);
        if (carts_[c].driver != ObserverId::none || away > range) continue;
        nearest = c;
        range = away;
    }
    return nearest;
}

void Carts::board(Server& server, ObserverId observer, EntityId player) {
    World& world = server.world();
    if (world.parent_of(player) != EntityId::none) return alight(world, observer, player);
    const std::size_t nearest = nearest_free(world, world.position_of(player), board_range_m);
    if (nearest == carts_.size()) return;
    Cart& cart = carts_[nearest];
    if (world.attach(player, cart.cart) != purview::Status::ok) return;
    (void)world.move(player, world.position_of(cart.cart));
    set_driver(world, cart, observer);
}

void Carts::alight(World& world, ObserverId observer, EntityId player) {
    for (Cart& cart : carts_) {
        if (cart.driver != observer) continue;
        set_driver(world, cart, ObserverId::none);
        world.edit(cart.cart, schema_->engine)->speed_mps = 0;
    }
    (void)world.detach(player);
}

void Carts::on_input(Server& server, ObserverId observer, GroupState& group,
                     const GroupInput& command) {
    step_.step(group, command);
    for (std::size_t member = 1; member < group.size(); ++member) {
        if (!group.is_owned(member) || !step_.has_fired(group, command, member)) continue;
        shoot(server, observer, group.entity(0), group.get(member, schema_->gun)->target,
              command.view_tick());
    }
}

bool Carts::hits_present(Server& server, ObserverId observer, EntityId cart, Vec3 from, Vec3 to) {
    in_range_.clear();
    const Vec3 low{std::min(from.x, to.x) - shot_radius_m, std::min(from.y, to.y) - shot_radius_m,
                   0};
    const Vec3 high{std::max(from.x, to.x) + shot_radius_m, std::max(from.y, to.y) + shot_radius_m,
                    0};
    server.visibility().entities_in(low, high, in_range_);
    const World& world = server.world();
    return std::any_of(in_range_.begin(), in_range_.end(), [&](EntityId entity) {
        return world.is_alive(entity) && world.get(entity, schema_->body) != nullptr &&
               world.root_of(entity) != cart && server.visibility().is_relevant(observer, entity) &&
               square_to(world.position_of(entity), from, to) <= shot_radius_m * shot_radius_m;
    });
}

/// Evaluates the shot twice: in the world as the shooter displayed it, which decides the hit, and
/// in the current world.
void Carts::shoot(Server& server, ObserverId observer, EntityId cart, Vec3 target,
                  double view_tick) {
    World& world = server.world();
    Shot shot;
    shot.from = world.position_of(cart);
    const float x = target.x - shot.from.x, y = target.y - shot.from.y;
    const float away = std::hypot(x, y);
    if (away < shot_radius_m) return;
    const float share = shot_range_m / away;
    shot.to = {shot.from.x + x * share, shot.from.y + y * share, 0};
    shot.hits_present = hits_present(server, observer, cart, shot.from, shot.to);
    if (const auto view = server.rewind(observer, view_tick)) {
        hits_.clear();
        (void)view->find_along(shot.from, shot.to, shot_radius_m, hits_);
        for (const purview::PastHit& hit : hits_) {
            if (hit.root == cart || !world.is_alive(hit.entity)) continue;
            Body* body = world.edit(hit.entity, schema_->body);
            if (body == nullptr) continue;  // trees and the like do not stop a shot
            body->hp = body->hp > damage ? static_cast<std::uint8_t>(body->hp - damage)
                                         : std::uint8_t{100};
            shot.hits = true;
            shot.to = hit.position;
            break;
        }
    }
    ++counters_.shots;
    counters_.hits += shot.hits ? 1 : 0;
    counters_.hits_present += shot.hits_present ? 1 : 0;
    (void)server.call({.entity = cart}, schema_->shot, shot);
}

void Carts::carry(World& world) {
    for (const Cart& cart : carts_) {
        const Vec3 at = world.position_of(cart.cart);
        if (cart.driver == ObserverId::none && world.position_of(cart.turret) != at)
            (void)world.move(cart.turret, at);
        for (const EntityId rider : cart.riders) {
            if (world.position_of(rider) != at) (void)world.move(rider, at);
        }
    }
}

std::uint32_t Carts::driven() const noexcept {
    return static_cast<std::uint32_t>(
        std::count_if(carts_.begin(), carts_.end(),
                      [](const Cart& cart) { return cart.driver != ObserverId::none; }));
}

}  // namespace vale
