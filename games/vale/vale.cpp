// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "vale.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace vale {

using purview::EntityId;
using purview::KindId;
using purview::ObserverId;
using purview::Status;
using purview::Vec3;
using purview::World;

namespace {

/// Players start with a free cart within this distance, if possible.
constexpr float cart_in_sight_m = 40;
constexpr int starts_tried = 16;

std::uint32_t number(ObserverId id) {
    return static_cast<std::uint32_t>(id);
}

float distance(Vec3 a, Vec3 b) {
    return std::hypot(a.x - b.x, a.y - b.y);
}

}  // namespace

std::uint64_t entities_at_start(const Setup& setup) noexcept {
    std::uint64_t count = 0;
    for (const SpawnSetup& spawn : setup.spawns)
        count += spawn.count * (std::uint64_t{1} + setup.kinds[spawn.kind].cargo);
    if (!setup.tracks.empty()) return count + setup.tracks.size();
    return count + std::uint64_t{setup.carts} * Carts::members_count;
}

Vale::Vale(const Setup& setup, const ValeSchema& schema)
    : setup_(&setup),
      schema_(&schema),
      carts_(setup, schema),
      random_(setup.seed * 0x9E3779B97F4A7C15ULL + 1),
      tick_seconds_(1.0F / static_cast<float>(setup.tick_hz)),
      team_sizes_(setup.teams + 1, 0) {}

/// xorshift64*; the upper 24 bits give 0 <= result < 1.
float Vale::unit() noexcept {
    random_ ^= random_ >> 12;
    random_ ^= random_ << 25;
    random_ ^= random_ >> 27;
    return static_cast<float>((random_ * 0x2545F4914F6CDD1DULL) >> 40) * 0x1p-24F;
}

// -- ground -------------------------------------------------------------------------------------

Vec3 Vale::free_position(Vec3 min, Vec3 max) noexcept {
    Vec3 at;
    for (int attempt = 0; attempt < 64; ++attempt) {
        at = {between(min.x, max.x), between(min.y, max.y), 0};
        if (is_free(at)) break;
    }
    return at;
}

/// Returns a start position for a player, preferably near a free cart.
Vec3 Vale::start_position(const World& world) noexcept {
    const SpawnSetup anywhere{0, setup_->min, setup_->max};
    const auto count = static_cast<float>(setup_->starts.size());
    Vec3 start;
    for (int attempt = 0; attempt < starts_tried; ++attempt) {
        const SpawnSetup& area = setup_->starts.empty()
                                     ? anywhere
                                     : setup_->starts[static_cast<std::size_t>(unit() * count)];
        start = free_position(area.min, area.max);
        if (setup_->carts == 0 || carts_.is_any_free(world, start, cart_in_sight_m)) break;
    }
    return start;
}

/// Moves as far as the ground allows, sliding along walls, and turns in that direction.
void Vale::step(World& world, EntityId entity, float dx, float dy) {
    const Vec3 from = world.position_of(entity);
    Vec3 to{from.x + dx, from.y + dy, from.z};
    if (!is_free(to)) {
        const Vec3 along_x{to.x, from.y, from.z};
        const Vec3 along_y{from.x, to.y, from.z};
        if (is_free(along_x)) {
            to = along_x;
        } else if (is_free(along_y)) {
            to = along_y;
        } else {
            return;
        }
    }
    (void)world.move(entity, to);
    for (const EntityId child : world.children_of(entity)) (void)world.move(child, to);
    if (Body* body = world.edit(entity, schema_->body)) {
        body->facing = wrap_angle(std::atan2(to.y - from.y, to.x - from.x));
    }
}

// -- population ---------------------------------------------------------------------------------

EntityId Vale::spawn_one(World& world, const SpawnSetup& spawn) {
    const KindSetup& kind = setup_->kinds[spawn.kind];
    const EntityId made = world.spawn(
        {.kind = schema_->kinds[spawn.kind], .position = free_position(spawn.min, spawn.max)});
    if (made == EntityId::none) return made;
    if (Body* body = world.edit(made, schema_->body)) {
        body->hp = 100;
        if (spawn.team < team_sizes_.size() && team_sizes_[spawn.team] < team_members_max) {
            body->team = static_cast<std::uint8_t>(spawn.team);
            ++team_sizes_[spawn.team];
        }
        body->cloaked = chance(kind.cloaked_share);
    }
    for (std::uint32_t c = 0; c < kind.cargo; ++c) {
        const EntityId crate =
            world.spawn({.kind = schema_->crate, .position = world.position_of(made)});
        if (crate != EntityId::none) (void)world.attach(crate, made);
    }
    if (kind.hidden) hide_.push_back(made);
    return made;
}

void Vale::populate(World& world) {
    for (std::uint32_t s = 0; s < setup_->spawns.size(); ++s) {
        const SpawnSetup& spawn = setup_->spawns[s];
        const KindSetup& kind = setup_->kinds[spawn.kind];
        Group group;
        group.spawn = s;
        group.center = free_position(spawn.min, spawn.max);
        group.heading = between(0, 2 * pi);
        groups_.push_back(group);
        for (std::uint32_t i = 0; i < spawn.count; ++i) {
            const EntityId entity = spawn_one(world, spawn);
            if (entity == EntityId::none || kind.motion == Motion::rest) continue;
            Mover mover;
            mover.entity = entity;
            mover.group = static_cast<std::uint32_t>(groups_.size() - 1);
            mover.heading = between(0, 2 * pi);
            mover.along = static_cast<float>(i) * 4;
            mover.aside = between(-3, 3);
            movers_.push_back(mover);
        }
    }
    for (std::uint32_t c = 0; c < setup_->carts && setup_->tracks.empty(); ++c) {
        const SpawnSetup world_area{0, setup_->min, setup_->max};
        const SpawnSetup& area =
            setup_->starts.empty() ? world_area : setup_->starts[c % setup_->starts.size()];
        const float heading = between(0, 2 * pi);
        carts_.add(world, free_position(area.min, area.max), heading);
    }
    people_.assign(setup_->tracks.size(), EntityId::none);
    track_at_.assign(setup_->tracks.size(), 0);
    track_taken_.assign(setup_->tracks.size(), 0);
}

std::uint8_t Vale::pick_team() noexcept {
    std::uint32_t best = 0;
    for (std::uint32_t team = 1; team < team_sizes_.size(); ++team) {
        if (team_sizes_[team] >= team_members_max) continue;
        if (best == 0 || team_sizes_[team] < team_sizes_[best]) best = team;
    }
    return static_cast<std::uint8_t>(best);
}

// -- movement -----------------------------------------------------------------------------------

void Vale::move_group(Group& group) noexcept {
    const SpawnSetup& spawn = setup_->spawns[group.spawn];
    group.heading = wrap_angle(group.heading + between(-0.1F, 0.1F));
    const float stride = setup_->kinds[spawn.kind].speed_mps * 0.5F * tick_seconds_;
    Vec3 to{group.center.x + std::cos(group.heading) * stride,
            group.center.y + std::sin(group.heading) * stride, 0};
    const bool inside = to.x >= spawn.min.x && to.x <= spawn.max.x && to.y >= spawn.min.y &&
                        to.y <= spawn.max.y && is_free(to);
    if (inside) {
        group.center = to;
    } else {
        group.heading += pi / 2;
    }
}

/// Moves randomly, and returns to the center of its herd if it is too far away.
void Vale::move_herd(World& world, Mover& mover) {
    const KindSetup& kind = kind_of(mover);
    if (chance(0.03F)) mover.resting = chance(kind.idle_share);
    if (mover.resting) return;
    const Vec3 center = groups_[mover.group].center;
    const Vec3 at = world.position_of(mover.entity);
    const float away = distance(at, center);
    if (away > 25) {
        mover.heading = std::atan2(center.y - at.y, center.x - at.x) + between(-0.3F, 0.3F);
    } else {
        mover.heading = wrap_angle(mover.heading + between(-0.25F, 0.25F));
    }
    const float stride = kind.speed_mps * tick_seconds_ * (away > 25 ? 1.0F : 0.4F);
    step(world, mover.entity, std::cos(mover.heading) * stride, std::sin(mover.heading) * stride);
}

void Vale::move_wanderer(World& world, Mover& mover) {
    const KindSetup& kind = kind_of(mover);
    if (chance(0.05F)) mover.resting = chance(kind.idle_share);
    if (mover.resting) return;
    const SpawnSetup& spawn = setup_->spawns[groups_[mover.group].spawn];
    const Vec3 at = world.position_of(mover.entity);
    if (at.x < spawn.min.x || at.x > spawn.max.x || at.y < spawn.min.y || at.y > spawn.max.y) {
        const Vec3 middle{(spawn.min.x + spawn.max.x) / 2, (spawn.min.y + spawn.max.y) / 2, 0};
        mover.heading = std::atan2(middle.y - at.y, middle.x - at.x);
    }
    mover.heading = wrap_angle(mover.heading + between(-0.4F, 0.4F));
    const float stride = kind.speed_mps * tick_seconds_;
    step(world, mover.entity, std::cos(mover.heading) * stride, std::sin(mover.heading) * stride);
}

/// Walks around the rectangle of its spawn area, with pauses.
void Vale::move_patrol(World& world, Mover& mover) {
    const KindSetup& kind = kind_of(mover);
    if (chance(0.02F)) mover.resting = chance(kind.idle_share);
    if (kind.cloaked_share > 0 && chance(0.002F)) {
        Body* body = world.edit(mover.entity, schema_->body);
        body->cloaked = chance(kind.cloaked_share);
    }
    if (mover.resting) return;
    const SpawnSetup& spawn = setup_->spawns[groups_[mover.group].spawn];
    const float width = std::max(1.0F, spawn.max.x - spawn.min.x);
    const float height = std::max(1.0F, spawn.max.y - spawn.min.y);
    mover.along = std::fmod(mover.along + kind.speed_mps * tick_seconds_, 2 * (width + height));
    float along = mover.along;
    Vec3 goal;
    if (along < width) {
        goal = {spawn.min.x + along, spawn.min.y + mover.aside, 0};
    } else if ((along -= width) < height) {
        goal = {spawn.max.x + mover.aside, spawn.min.y + along, 0};
    } else if ((along -= height) < width) {
        goal = {spawn.max.x - along, spawn.max.y + mover.aside, 0};
    } else {
        goal = {spawn.min.x + mover.aside, spawn.max.y - (along - width), 0};
    }
    const Vec3 at = world.position_of(mover.entity);
    const float away = distance(at, goal);
    if (away < 0.01F) return;
    const float stride = std::min(away, 2 * kind.speed_mps * tick_seconds_);
    step(world, mover.entity, (goal.x - at.x) / away * stride, (goal.y - at.y) / away * stride);
}

void Vale::move_movers(World& world) {
    for (Group& group : groups_) {
        if (setup_->kinds[setup_->spawns[group.spawn].kind].motion == Motion::herd)
            move_group(group);
    }
    for (Mover& mover : movers_) {
        switch (kind_of(mover).motion) {
            case Motion::herd:
                move_herd(world, mover);
                break;
            case Motion::wander:
                move_wanderer(world, mover);
                break;
            case Motion::patrol:
                move_patrol(world, mover);
                break;
            case Motion::rest:
                break;
        }
    }
}

// -- guests -------------------------------------------------------------------------------------

std::optional<purview::EntityId> Vale::on_join(purview::Server& server, ObserverId observer,
                                               const purview::JoinRequest& request) {
    Guest guest;
    guest.spectates = request.role == purview::Role::spectator;
    if (!setup_->tracks.empty()) {
        guests_[number(observer)] = guest;
        ride(server, observer, guests_[number(observer)]);
        return purview::EntityId::none;
    }
    if (guest.spectates) {
        guest.camera = free_position(setup_->min, setup_->max);
        (void)server.visibility().set_area(observer, 0, purview::Area::at(guest.camera));
        guests_[number(observer)] = guest;
        return purview::EntityId::none;
    }
    const Vec3 start = start_position(server.world());
    const EntityId player =
        server.world().spawn({.kind = schema_->player, .position = start, .owner = observer});
    if (player == EntityId::none) return std::nullopt;
    Body* body = server.world().edit(player, schema_->body);
    body->hp = 100;
    body->team = pick_team();
    ++team_sizes_[body->team];
    body->cloaked = chance(setup_->player_cloaked_share);
    guest.entity = player;
    guests_[number(observer)] = guest;
    return player;
}

void Vale::on_leave(purview::Server& server, ObserverId observer) {
    const auto found = guests_.find(number(observer));
    if (found == guests_.end()) return;
    if (found->second.rides) {
        track_taken_[found->second.track] = 0;
    } else if (found->second.entity != EntityId::none) {
        const Body* body = server.world().get(found->second.entity, schema_->body);
        if (body != nullptr) --team_sizes_[body->team];
        carts_.alight(server.world(), observer, found->second.entity);
        (void)server.world().despawn(found->second.entity);
    }
    guests_.erase(found);
}

namespace {

/// Decodes a command {type, f32 x, f32 y}. The numbers are untrusted.
std::optional<Vec3> position_in(std::span<const std::byte> data) {
    Vec3 position;
    if (data.size() != 9) return {};
    std::memcpy(&position.x, data.data() + 1, 4);
    std::memcpy(&position.y, data.data() + 5, 4);
    if (!std::isfinite(position.x) || !std::isfinite(position.y)) return {};
    return position;
}

}  // namespace

void Vale::on_command(purview::Server& server, ObserverId observer,
                      std::span<const std::byte> data) {
    const auto found = guests_.find(number(observer));
    if (found == guests_.end() || data.empty()) {
        ++bad_commands_;
        return;
    }
    Guest& guest = found->second;
    switch (static_cast<CommandType>(data[0])) {
        case CommandType::walk:
            if (data.size() == 3) {
                guest.walk_x = static_cast<float>(static_cast<std::int8_t>(data[1])) / 127;
                guest.walk_y = static_cast<float>(static_cast<std::int8_t>(data[2])) / 127;
                guest.goal.reset();
                return;
            }
            break;
        case CommandType::go:
            if (const auto goal = position_in(data)) {
                guest.goal = *goal;
                return;
            }
            break;
        case CommandType::jump:
            if (const auto to = position_in(data);
                to && setup_->players_jump && !guest.rides && !guest.spectates) {
                const Vec3 from = server.world().position_of(guest.entity);
                step(server.world(), guest.entity, to->x - from.x, to->y - from.y);
                guest.goal.reset();
                return;
            }
            break;
        case CommandType::cloak:
            if (data.size() == 2 && !guest.rides) {
                Body* body = server.world().edit(guest.entity, schema_->body);
                if (body != nullptr) body->cloaked = data[1] != std::byte{0};
                return;
            }
            break;
        case CommandType::board:
            if (data.size() == 1 && !guest.rides && !guest.spectates) {
                guest.walk_x = guest.walk_y = 0;
                guest.goal.reset();
                carts_.board(server, observer, guest.entity);
                return;
            }
            break;
    }
    ++bad_commands_;
}

void Vale::on_input(purview::Server& server, ObserverId observer, purview::GroupState& group,
                    const purview::GroupInput& command) {
    // Walking by input cancels walking by command.
    if (const auto guest = guests_.find(number(observer)); guest != guests_.end()) {
        if (group.entity(0) == guest->second.entity && command.part(0, schema_->walk) != nullptr) {
            guest->second.walk_x = guest->second.walk_y = 0;
            guest->second.goal.reset();
        }
    }
    carts_.on_input(server, observer, group, command);
}

void Vale::move_guests(purview::Server& server) {
    World& world = server.world();
    for (auto& [observer, guest] : guests_) {
        if (!setup_->tracks.empty()) ride(server, ObserverId{observer}, guest);
        if (!setup_->tracks.empty() || guest.spectates) continue;
        if (world.parent_of(guest.entity) != EntityId::none) continue;  // it sits on a cart
        const float stride = setup_->player_speed_mps * tick_seconds_;
        float dx = guest.walk_x;
        float dy = guest.walk_y;
        const float speed = std::hypot(dx, dy);
        float length = stride * std::min(1.0F, speed);
        if (guest.goal) {
            const Vec3 at = world.position_of(guest.entity);
            dx = guest.goal->x - at.x;
            dy = guest.goal->y - at.y;
            const float away = std::hypot(dx, dy);
            length = std::min(stride, away);
            if (away < 0.05F) {
                guest.goal.reset();
                guest.walk_x = guest.walk_y = 0;
                continue;
            }
        }
        const float norm = std::hypot(dx, dy);
        if (norm > 0) step(world, guest.entity, dx / norm * length, dy / norm * length);
    }
}

// -- a recorded crowd ---------------------------------------------------------------------------

/// Returns a present person, searching from a random one. `free`: only one that no player controls.
std::uint32_t Vale::find_person(bool free) noexcept {
    const auto first = static_cast<std::size_t>(unit() * static_cast<float>(people_.size()));
    for (std::size_t i = 0; i < people_.size(); ++i) {
        const std::size_t track = (first + i) % people_.size();
        if (people_[track] != EntityId::none && !(free && track_taken_[track] != 0)) {
            return static_cast<std::uint32_t>(track);
        }
    }
    return no_track;
}

/// Assigns a person to a player. Without a free person, or for a spectator, the camera follows a
/// person instead.
void Vale::ride(purview::Server& server, ObserverId observer, Guest& guest) {
    // When the trace restarts, the track has a new entity.
    const bool rides = guest.rides && people_[guest.track] == guest.entity;
    if (!guest.spectates && !rides) {
        if (guest.rides) track_taken_[guest.track] = 0;
        const std::uint32_t free = find_person(true);
        guest.rides = free != no_track;
        if (guest.rides) {
            guest.track = free;
            track_taken_[free] = 1;
            guest.entity = people_[free];
            (void)server.visibility().remove_area(observer, 0);
        } else {
            guest.entity = EntityId::none;
        }
        (void)server.visibility().set_viewpoint(observer, guest.entity);
    }
    if (guest.rides) return;
    if (guest.track == no_track || people_[guest.track] == EntityId::none)
        guest.track = find_person(false);
    if (guest.track != no_track) guest.camera = server.world().position_of(people_[guest.track]);
    (void)server.visibility().set_area(observer, 0, purview::Area::at(guest.camera));
}

void Vale::replay(purview::Server& server, double seconds) {
    World& world = server.world();
    const bool again = seconds < trace_clock_;
    trace_clock_ = seconds;
    people_present_ = 0;
    for (std::size_t t = 0; t < setup_->tracks.size(); ++t) {
        const auto& samples = setup_->tracks[t].samples;
        if (again) track_at_[t] = 0;
        const bool present =
            seconds >= samples.front().seconds && seconds <= samples.back().seconds;
        if ((!present || again) && people_[t] != EntityId::none) {
            (void)world.despawn(people_[t]);
            people_[t] = EntityId::none;
        }
        if (!present) continue;
        std::size_t& at = track_at_[t];
        while (at + 2 < samples.size() && samples[at + 1].seconds <= seconds) ++at;
        const TrackSample& from = samples[at];
        const TrackSample& to = samples[std::min(at + 1, samples.size() - 1)];
        const double span = to.seconds - from.seconds;
        const auto share = static_cast<float>(
            span > 0 ? std::clamp((seconds - from.seconds) / span, 0.0, 1.0) : 0);
        const Vec3 position{from.position.x + (to.position.x - from.position.x) * share,
                            from.position.y + (to.position.y - from.position.y) * share,
                            from.position.z + (to.position.z - from.position.z) * share};
        if (people_[t] == EntityId::none) {
            const EntityId made = world.spawn({.kind = schema_->person, .position = position});
            if (made == EntityId::none) continue;
            people_[t] = made;
            world.edit(made, schema_->body)->hp = 100;
        }
        ++people_present_;
        if (world.position_of(people_[t]) == position) continue;
        (void)world.move(people_[t], position);
        world.edit(people_[t], schema_->body)->facing = wrap_angle(from.facing);
    }
}

// -- the tick -----------------------------------------------------------------------------------

void Vale::on_tick(purview::Server& server, purview::Tick tick) {
    if (!setup_->tracks.empty()) {
        const double length = setup_->trace_seconds + 1;  // one second between two rounds
        replay(server, std::fmod(tick * static_cast<double>(tick_seconds_), length));
    }
    for (const EntityId entity : hide_) (void)server.visibility().set_hidden(entity, true);
    hide_.clear();
    move_movers(server.world());
    move_guests(server);
    carts_.carry(server.world());
}

bool Vale::is_hidden(KindId kind) const noexcept {
    for (std::size_t k = 0; k < schema_->kinds.size(); ++k) {
        if (schema_->kinds[k] == kind) return setup_->kinds[k].hidden;
    }
    return false;
}

std::optional<View> Vale::view_of(ObserverId observer) const {
    const auto found = guests_.find(number(observer));
    if (found == guests_.end()) return {};
    View view;
    const Guest& guest = found->second;
    view.main = guest.entity;
    if (guest.spectates || (!setup_->tracks.empty() && !guest.rides))
        view.areas.push_back(guest.camera);
    return view;
}

}  // namespace vale
