// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "carts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "small_game.hpp"

namespace purview::test {

namespace {

constexpr std::uint16_t steps_end = 1'000;

EntityId spawn(World& world, KindId kind, Vec3 at) {
    const EntityId made = world.spawn({.kind = kind, .position = at});
    if (made == EntityId::none) std::abort();
    return made;
}

}  // namespace

void CartStep::step(GroupState& group, const GroupInput& command) {
    for (std::size_t m = 0; m < group.size(); ++m) {
        Gait* gait = group.edit(m, schema_->gait);
        const Reins* reins = command.part(m, schema_->reins);
        if (gait == nullptr || reins == nullptr) continue;
        gait->speed += (reins->pull - gait->speed) / 4;
        gait->course += reins->turn;
        if (std::abs(gait->course) > 3) gait->course = 0;
        gait->steps = static_cast<std::uint16_t>((gait->steps + (slips_ ? 2U : 1U)) % steps_end);
    }
    slips_ = false;
}

// -- game side -----------------------------------------------------------------------------------

void Carts::populate(World& world, std::uint32_t count) {
    constexpr float side_m = SmallGame::side_m;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Vec3 at{random_.between(0, side_m), random_.between(0, side_m), 0};
        all.push_back(spawn(world, schema_->cart, at));
        all.push_back(spawn(world, schema_->mule, {}));
        if (world.attach(all.back(), all[all.size() - 2]) != Status::ok) std::abort();
    }
}

void Carts::note_commands(const World& world) {
    after_commands_.clear();
    for (const EntityId entity : all) after_commands_[entity] = *world.get(entity, schema_->gait);
}

void Carts::live(Server& server) {
    World& world = server.world();
    const auto count = static_cast<std::uint32_t>(all.size() / 2);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EntityId& entity = all[i];
        if (random_.chance(0.005F)) {
            pushes += world.owner_of(entity) != ObserverId::none ? 1 : 0;
            world.edit(entity, schema_->gait)->speed = random_.between(-1, 1);
        }
        if (i % 2 == 0) {
            const Gait& gait = *world.get(entity, schema_->gait);
            Vec3 at = world.position_of(entity);
            at.x = std::clamp(at.x + gait.speed, 0.0F, SmallGame::side_m);
            at.y = std::clamp(at.y + gait.speed * gait.course, 0.0F, SmallGame::side_m);
            (void)world.move(entity, at);
            continue;
        }
        if (random_.chance(0.004F)) {
            const EntityId cart = all[random_.below(count) * 2];
            const bool is_hitched = world.parent_of(entity) != EntityId::none;
            if ((is_hitched ? world.detach(entity) : world.attach(entity, cart)) != Status::ok)
                std::abort();
        }
        if (random_.chance(0.004F)) {
            cuts += world.group_parent_of(entity) != EntityId::none ? 1 : 0;
            if (world.set_group_enabled(entity, !world.is_group_enabled(entity)) != Status::ok)
                std::abort();
        }
        if (random_.chance(0.004F) &&
            server.set_in_input(entity, !server.is_in_input(entity)) != Status::ok)
            std::abort();
        if (!random_.chance(0.001F)) continue;
        (void)world.despawn(entity);
        entity = spawn(world, schema_->mule, {});
    }
}

EntityId Carts::any_free(const World& world) {
    if (all.empty()) return EntityId::none;
    const std::size_t first = random_.below(static_cast<std::uint32_t>(all.size() / 2)) * 2;
    for (std::size_t i = 0; i < all.size(); i += 2) {
        const EntityId cart = all[(first + i) % all.size()];
        if (world.owner_of(cart) == ObserverId::none) return cart;
    }
    return EntityId::none;
}

const Gait* Carts::after_commands(EntityId entity) const {
    const auto found = after_commands_.find(entity);
    return found == after_commands_.end() ? nullptr : &found->second;
}

// -- client side ---------------------------------------------------------------------------------

CartDriver::CartDriver(Client& client, const SmallSchema& schema, std::uint64_t seed)
    : step(schema),
      prediction(begin(client, schema, step)),
      client_(&client),
      schema_(&schema),
      random_(seed),
      is_silent_when_idle_(random_.chance(0.25F)) {}

Prediction CartDriver::begin(Client& client, const SmallSchema& schema, CartStep& step) {
    PredictionDef def;
    def.schema = &schema.schema;
    def.step = &step;
    auto made = Prediction::create(client, def);
    if (!made) std::abort();
    return std::move(made).value();
}

void CartDriver::list_own() {
    own_.clear();
    client_->for_each([&](GhostId ghost) {
        if (!client_->is_owned(ghost)) return;
        const KindId kind = client_->kind_of(ghost);
        if (kind == schema_->cart || kind == schema_->mule) own_.push_back(ghost);
    });
}

void CartDriver::tick(Micros now, bool is_idle) {
    constexpr std::uint32_t list_every = 8;
    if (ticks_++ % list_every == 0) list_own();
    if (!is_idle && random_.chance(0.003F)) silent_until_ = ticks_ + 5 + random_.below(30);
    if (is_idle ? is_silent_when_idle_ : ticks_ < silent_until_) return;
    if (!is_idle && random_.chance(0.001F)) {
        forgotten_corrections_ += prediction.stats().corrections;
        prediction = begin(*client_, *schema_, step);
    }
    for (unsigned due = prediction.ticks_due(now); due > 0; --due) {
        for (const GhostId ghost : own_) {
            if (is_idle || random_.chance(0.2F)) continue;
            // Refused if the ghost is no longer owned by this client.
            (void)prediction.set_part(ghost, schema_->reins,
                                      Reins{random_.between(-1, 1), random_.between(-0.2F, 0.2F)});
        }
        if (random_.chance(0.004F)) step.slip();
        (void)prediction.run_tick();
    }
}

}  // namespace purview::test
