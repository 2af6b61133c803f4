// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "pilot.hpp"

namespace vale {

using purview::Client;
using purview::GhostId;
using purview::KindId;
using purview::Micros;
using purview::Vec3;

Pilot::Pilot(Client& client, const Setup& setup)
    : client_(&client), setup_(setup), schema_(setup_), step_(setup_, schema_) {}

std::unique_ptr<Pilot> Pilot::create(Client& client, bool predicts) {
    const purview::Schema* received = client.schema();
    if (client.state() != purview::ClientState::joined || received == nullptr) return nullptr;
    std::optional<Setup> setup = setup_like(*received);
    if (!setup) return nullptr;
    setup->tick_hz = client.tick_hz();
    std::unique_ptr<Pilot> pilot(new Pilot(client, *setup));
    if (pilot->schema_.schema.hash() != received->hash()) return nullptr;
    purview::PredictionDef def;
    def.schema = &pilot->schema_.schema;
    def.step = predicts ? &pilot->step_ : nullptr;
    auto made = purview::Prediction::create(client, def);
    if (!made) return nullptr;
    pilot->prediction_ = std::make_unique<purview::Prediction>(std::move(made).value());
    return pilot;
}

void Pilot::find_own() {
    const auto is_ours = [&](GhostId ghost, KindId kind) {
        return ghost != GhostId::none && client_->is_held(ghost) && client_->is_owned(ghost) &&
               client_->kind_of(ghost) == kind;
    };
    if (is_ours(player_, schema_.player) &&
        (cart_ == GhostId::none
             ? client_->parent_of(player_) == GhostId::none
             : is_ours(cart_, schema_.cart) && is_ours(turret_, schema_.turret))) {
        return;
    }
    player_ = cart_ = turret_ = GhostId::none;
    client_->for_each([&](GhostId ghost) {
        if (is_ours(ghost, schema_.player)) player_ = ghost;
        if (is_ours(ghost, schema_.cart)) cart_ = ghost;
        if (is_ours(ghost, schema_.turret)) turret_ = ghost;
    });
}

unsigned Pilot::turn(const Controls& controls, Micros now) {
    find_own();
    const unsigned due = prediction_->ticks_due(now);
    for (unsigned n = 0; n < due; ++n) {
        if (cart_ != GhostId::none) {
            const DriveInput drive{controls.throttle, controls.steering};
            (void)prediction_->set_part(cart_, schema_.drive, drive);
            const AimInput aim{controls.target, controls.fires};
            (void)prediction_->set_part(turret_, schema_.aim, aim);
        } else if (player_ != GhostId::none) {
            const float speed = walk_speed_max(setup_);
            const WalkInput walk{controls.walk_x * speed, controls.walk_y * speed};
            (void)prediction_->set_part(player_, schema_.walk, walk);
        }
        (void)prediction_->run_tick();
    }
    return due;
}

const Engine* Pilot::engine() const noexcept {
    return cart_ == GhostId::none ? nullptr : prediction_->get(cart_, schema_.engine);
}

const Gun* Pilot::gun() const noexcept {
    return turret_ == GhostId::none ? nullptr : prediction_->get(turret_, schema_.gun);
}

Vec3 Pilot::position_of(GhostId ghost, Micros now) const noexcept {
    const GhostId parent = client_->parent_of(ghost);
    if (parent != GhostId::none && prediction_->is_predicted(parent) &&
        !prediction_->is_predicted(ghost)) {
        return prediction_->position_of(parent, now);
    }
    return prediction_->position_of(ghost, now);
}

}  // namespace vale
