// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/ghost_poses.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "protocol/quantize.hpp"
#include "purview/limits.hpp"

namespace purview {

Vec3 GhostPoses::decode_position(LocalId ghost) const noexcept {
    Vec3 position;
    const auto& fields = ghosts_.layout(ghosts_.kind(ghost)).fields;
    const bool is_relative = ghosts_.frame_of(ghost) != no_local_id;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const FieldDef& field = *fields[f].def;
        if (fields[f].component != ghosts_.schema().position() || !is_coordinate(field)) continue;
        const float value = coordinate_of_word(field, *ghosts_.words_of(ghost, f), is_relative);
        std::memcpy(reinterpret_cast<std::byte*>(&position) + field.offset_bytes, &value,
                    sizeof value);
    }
    return position;
}

Pose GhostPoses::decode_pose(LocalId ghost) const noexcept {
    Pose pose{decode_position(ghost), {}};
    const OrientationDef& turn = ghosts_.orientation(ghosts_.kind(ghost));
    if (!ghosts_.has_turns() || turn.component == ComponentId::none) return pose;
    const std::uint32_t* words = ghosts_.find_words(ghost, turn.component, turn.field);
    const FieldDef& field =
        ghosts_.schema().components()[index_of(turn.component)].fields[turn.field];
    if (words != nullptr) pose.turn = orientation_of_words(turn, field, words);
    return pose;
}

bool GhostPoses::has_pose(const KindField& field, KindId kind) const noexcept {
    if (field.component == ghosts_.schema().position()) return true;
    const OrientationDef& turn = ghosts_.orientation(kind);
    return ghosts_.has_turns() && field.component == turn.component && field.field == turn.field;
}

void GhostPoses::push_sample(LocalId which, Tick tick, const Pose& pose) noexcept {
    ClientGhost& ghost = ghosts_[which];
    std::copy_backward(ghost.sample, ghost.sample + samples_max - 1, ghost.sample + samples_max);
    if (ghosts_.has_turns()) {
        Rotation* turns = ghosts_.turns(which);
        std::copy_backward(turns, turns + samples_max - 1, turns + samples_max);
    }
    ghost.sample[0].tick = tick;
    ghost.samples =
        static_cast<std::uint8_t>(std::min<std::size_t>(ghost.samples + 1U, samples_max));
    set_sample(which, 0, pose);
}

void GhostPoses::set_sample(LocalId ghost, std::size_t i, const Pose& pose) noexcept {
    PURVIEW_ASSERT(i < ghosts_[ghost].samples);
    ghosts_[ghost].sample[i].position = pose.position;
    if (ghosts_.has_turns()) ghosts_.turns(ghost)[i] = pose.turn;
}

void GhostPoses::note(LocalId which, Tick tick, Tick stood_until) {
    ClientGhost& ghost = ghosts_[which];
    if (ghost.samples > 0 && ghost.sample[0].tick < stood_until && stood_until < tick)
        push_sample(which, stood_until, sample(which, 0));
    if (ghost.samples > 0 && ghost.sample[0].tick == tick) {
        set_sample(which, 0, decode_pose(which));
    } else {
        push_sample(which, tick, decode_pose(which));
    }
}

void GhostPoses::set_parent(LocalId ghost, LocalId parent, Tick tick) {
    ClientGhost& its = ghosts_[ghost];
    PURVIEW_ASSERT(its.held && parent != ghost);
    if (its.parent == parent) return;
    if (!ghosts_.schema().kinds()[index_of(its.kind)].relative_position) {
        its.parent = parent;
        return;
    }
    its.reframed = true;
    // The ghost did not move in the old frame until the tick before.
    if (its.samples > 0 && its.sample[0].tick + 1 < tick)
        push_sample(ghost, tick - 1, sample(ghost, 0));
    std::array<Pose, samples_max> world;
    for (std::size_t i = 0; i < its.samples; ++i) world[i] = pose_at(ghost, its.sample[i].tick);
    its.parent = parent;
    const LocalId frame = ghosts_.frame_of(ghost);
    for (std::size_t i = 0; i < its.samples; ++i) {
        set_sample(ghost, i,
                   frame == no_local_id ? world[i]
                                        : as_seen_from(pose_at(frame, its.sample[i].tick), world[i],
                                                       ghosts_.has_orientation(ghost)));
    }
}

Vec3 GhostPoses::position_at(LocalId ghost, double tick) const noexcept {
    return pose_at(ghost, tick).position;
}

Pose GhostPoses::pose_at(LocalId ghost, double tick) const noexcept {
    // The limit bounds the depth even if the server is incorrect.
    std::array<LocalId, limits::group_depth> below;
    std::size_t depth = 0;
    for (LocalId frame = ghosts_.frame_of(ghost);
         frame != no_local_id && depth < limits::group_depth; frame = ghosts_.frame_of(ghost)) {
        below[depth++] = ghost;
        ghost = frame;
    }
    Pose pose = received_pose_at(ghost, tick);
    while (depth > 0) {
        ghost = below[--depth];
        pose =
            positioned_within(pose, received_pose_at(ghost, tick), ghosts_.has_orientation(ghost));
    }
    return pose;
}

Pose GhostPoses::received_pose_at(LocalId ghost, double tick) const noexcept {
    const ClientGhost& g = ghosts_[ghost];
    if (g.samples == 0) return {};
    for (std::size_t i = 0; i < g.samples; ++i) {
        const Pose from = sample(ghost, i);
        if (tick < g.sample[i].tick && i + 1U < g.samples) continue;
        if (i == 0 || tick <= g.sample[i].tick || did_jump(ghost, i - 1)) return from;
        const Pose to = sample(ghost, i - 1);
        const double part = (tick - g.sample[i].tick) / (g.sample[i - 1].tick - g.sample[i].tick);
        const auto t = static_cast<float>(part);
        return {{from.position.x + (to.position.x - from.position.x) * t,
                 from.position.y + (to.position.y - from.position.y) * t,
                 from.position.z + (to.position.z - from.position.z) * t},
                slerp(from.turn, to.turn, part)};
    }
    return {};
}

bool GhostPoses::did_jump(LocalId ghost, std::size_t to) const noexcept {
    const float teleport_distance =
        ghosts_.schema().kinds()[index_of(ghosts_[ghost].kind)].teleport_distance;
    const ClientGhost& g = ghosts_[ghost];
    if (teleport_distance == 0 || to + 1U >= g.samples) return false;
    const double ticks = g.sample[to].tick - g.sample[to + 1].tick;
    return is_jump(sample(ghost, to + 1).position, sample(ghost, to).position,
                   teleport_distance * ticks);
}

Vec3 GhostPoses::received_velocity(LocalId ghost) const noexcept {
    const ClientGhost& g = ghosts_[ghost];
    if (g.samples < 2 || g.sample[0].tick < g.updated) return {};
    std::size_t i = 1;
    const Vec3 to = g.sample[0].position, from = g.sample[i].position;
    // Excludes idle time during which only the orientation changed.
    constexpr std::size_t turns_max = 8;
    while (i + 1U < std::min<std::size_t>(g.samples, turns_max) && g.sample[i + 1].position == from)
        ++i;
    const auto ticks = static_cast<float>(g.sample[0].tick - g.sample[i].tick);
    return {(to.x - from.x) / ticks, (to.y - from.y) / ticks, (to.z - from.z) / ticks};
}

}  // namespace purview
