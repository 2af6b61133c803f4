// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Ghost poses by tick: samples as received, relative to a parent or in the world, and interpolation
// between them.
//
// Invariants: the samples of a ghost are newest first, at most samples_max, and all in its current
// frame; a change of the frame converts them, so that no world pose jumps.
//
// Must not know: packets, events, how a value is encoded beyond its field.
#pragma once

#include "client/ghosts.hpp"

namespace purview {

class GhostPoses {
  public:
    static constexpr std::size_t samples_max = ClientGhost::samples_max;

    explicit GhostPoses(ClientGhosts& ghosts) noexcept : ghosts_(ghosts) {}

    /// The ghost's world position at a possibly fractional tick, clamped to the known samples.
    Vec3 position_at(LocalId ghost, double tick) const noexcept;
    /// The same with the orientation; identity if the kind has none.
    Pose pose_at(LocalId ghost, double tick) const noexcept;
    /// The pose as received: relative to frame_of, or in the world.
    Pose received_pose_at(LocalId ghost, double tick) const noexcept;
    /// Whether the move to a sample, by default the newest one, was a jump
    /// (KindDef::teleport_distance).
    bool did_jump(LocalId ghost, std::size_t to_sample = 0) const noexcept;
    /// Velocity, in meters per tick, of the move in the newest update, in the frame of the samples.
    /// Idle time before the update counts as part of the move, because updates may be rare.
    Vec3 received_velocity(LocalId ghost) const noexcept;
    /// The last received position.
    Vec3 decode_position(LocalId ghost) const noexcept;
    /// Whether the field is part of the position or orientation.
    bool has_pose(const KindField& field, KindId kind) const noexcept;

    /// Records a sample with the current values. The ghost did not move from its newest sample
    /// until `stood_until`; the time after that is interpolated.
    void note(LocalId ghost, Tick tick, Tick stood_until);
    /// Changes the parent, and converts the samples to the new frame.
    void set_parent(LocalId ghost, LocalId parent, Tick tick);

  private:
    void push_sample(LocalId ghost, Tick tick, const Pose& pose) noexcept;
    Pose sample(LocalId ghost, std::size_t i) const noexcept {
        PURVIEW_ASSERT(i < ghosts_[ghost].samples);
        return {ghosts_[ghost].sample[i].position,
                ghosts_.has_turns() ? ghosts_.turns(ghost)[i] : Rotation{}};
    }
    void set_sample(LocalId ghost, std::size_t i, const Pose& pose) noexcept;
    Pose decode_pose(LocalId ghost) const noexcept;

    ClientGhosts& ghosts_;
};

}  // namespace purview
