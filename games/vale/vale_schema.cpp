// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "vale_schema.hpp"

#include <algorithm>
#include <cstddef>

namespace vale {

using purview::ComponentId;
using purview::FieldDef;
using purview::FieldType;
using purview::Schema;
using purview::Vec3;

namespace {

/// Positions up to this far outside of the world's bounds can be encoded.
constexpr double margin_m = 8;
constexpr double position_step_m = 0.01;
/// Number of built-in kinds, which precede those of the setup.
constexpr std::size_t own_kinds = 5;

/// Adds two coordinates with the range of the vale plus its margin.
template <class Builder, class T>
Builder& add_position(Builder& builder, const Setup& setup, Vec3 T::*member,
                      std::string_view x_name = "x", std::string_view y_name = "y") {
    return builder
        .quantized({x_name}, member,
                   {setup.min.x - margin_m, setup.max.x + margin_m, position_step_m})
        .quantized({"", y_name}, member,
                   {setup.min.y - margin_m, setup.max.y + margin_m, position_step_m});
}

}  // namespace

bool is_free(const Setup& setup, Vec3 at) noexcept {
    if (at.x < setup.min.x || at.y < setup.min.y || at.x > setup.max.x || at.y > setup.max.y)
        return false;
    const Ground& ground = setup.ground;
    if (ground.blocked.empty()) return true;
    const auto column =
        std::min(static_cast<std::uint32_t>(at.x / ground.tile_m), ground.width - 1);
    const auto row = std::min(static_cast<std::uint32_t>(at.y / ground.tile_m), ground.height - 1);
    return ground.blocked[std::size_t{row} * ground.width + column] == 0;
}

float walk_speed_max(const Setup& setup) noexcept {
    return std::max(0.1F, setup.player_speed_mps);
}

ValeSchema::ValeSchema(const Setup& setup) {
    auto its_position = schema.component<Position>("place");
    position = add_position(its_position, setup, &Position::at);
    schema.set_position(position.id);
    body =
        schema.component<Body>("body")
            .quantized("facing", &Body::facing, {0, facing_max, facing_max / 255})
            .integer("team", &Body::team, 0, static_cast<std::int64_t>(std::max(1U, setup.teams)))
            .boolean("cloaked", &Body::cloaked)
            .integer("hp", &Body::hp, 0, 100);
    engine = schema.component<Engine>("engine")
                 .quantized("heading", &Engine::heading, {0, 6.2832, 0.0002})
                 .quantized("speed_mps", &Engine::speed_mps, {-8, 24, 0.01});
    auto its_gun = schema.component<Gun>("gun");
    gun = add_position(its_gun, setup, &Gun::target)
              .integer("cooldown", &Gun::cooldown, 0, 20)
              .integer("rounds", &Gun::rounds, 0, 500);
    const double speed = walk_speed_max(setup);
    walk = schema.input<WalkInput>("walk")
               .quantized("x_mps", &WalkInput::x_mps, {-speed, speed, speed / 128})
               .quantized("y_mps", &WalkInput::y_mps, {-speed, speed, speed / 128});
    drive = schema.input<DriveInput>("drive")
                .quantized("throttle", &DriveInput::throttle, {-1, 1, 1.0 / 128})
                .quantized("steering", &DriveInput::steering, {-1, 1, 1.0 / 128});
    auto its_aim = schema.input<AimInput>("aim");
    aim = add_position(its_aim, setup, &AimInput::target).boolean("fires", &AimInput::fires);
    for (const ComponentId predicted : {position.id, engine.id, gun.id}) schema.predict(predicted);
    schema.rewind(position.id);
    player = schema.kind("player", {position.id, body.id}, 4);
    person = schema.kind("person", {position.id, body.id});
    crate = schema.kind("crate", {position.id});
    cart = schema.kind("cart", {position.id, engine.id}, 4);
    turret = schema.kind("turret", {position.id, gun.id}, 4);
    schema.edit_kind(player).is_inner_root = true;
    schema.edit_kind(player).teleport_distance =
        setup.player_speed_mps;  // the distance of one second, in one tick
    schema.take_input(player, walk.id);
    schema.take_input(cart, drive.id);
    schema.take_input(turret, aim.id);
    for (const KindSetup& kind : setup.kinds) {
        // A kind that never moves has no body: its position is sent once.
        kinds.push_back(kind.motion == Motion::rest
                            ? schema.kind(kind.name, {position.id}, kind.priority)
                            : schema.kind(kind.name, {position.id, body.id}, kind.priority));
    }
    cloaked = schema.flag("cloaked", body.id, "cloaked");
    team = schema.key("team", body.id, "team");
    hp = schema.value("hp", body.id, "hp");
    purview::RpcDesc desc;
    desc.delivery = purview::RpcDelivery::unreliable;
    auto its_shot = schema.rpc<Shot>("shot", desc);
    add_position(its_shot, setup, &Shot::from, "from_x", "from_y");
    shot = add_position(its_shot, setup, &Shot::to, "to_x", "to_y")
               .boolean("hits", &Shot::hits)
               .boolean("hits_present", &Shot::hits_present);
}

std::optional<Setup> setup_like(const Schema& received) {
    const auto position = received.find_component("place");
    const auto body = received.find_component("body");
    const auto walk = received.find_input("walk");
    if (position == ComponentId::none || body == ComponentId::none ||
        walk == purview::InputId::none || received.kinds().size() < own_kinds) {
        return {};
    }
    const auto& its_position = received.components()[index_of(position)].fields;
    const auto& its_body = received.components()[index_of(body)].fields;
    const auto& its_walk = received.inputs()[index_of(walk)].fields;
    if (its_position.size() != 2 || its_body.size() != 4 || its_walk.size() != 2) return {};
    Setup setup;
    setup.min = {static_cast<float>(its_position[0].min + margin_m),
                 static_cast<float>(its_position[1].min + margin_m), 0};
    setup.max = {static_cast<float>(its_position[0].max - margin_m),
                 static_cast<float>(its_position[1].max - margin_m), 0};
    setup.teams = static_cast<std::uint32_t>(its_body[1].max);
    setup.player_speed_mps = static_cast<float>(its_walk[0].max);
    for (std::size_t k = own_kinds; k < received.kinds().size(); ++k) {
        KindSetup kind;
        kind.name = received.kinds()[k].name;
        kind.motion = received.kinds()[k].components.size() == 1 ? Motion::rest : Motion::wander;
        setup.kinds.push_back(kind);
    }
    return setup;
}

}  // namespace vale
