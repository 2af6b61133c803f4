// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a client does about the time that the network takes: it gives commands ahead of the server
// and steps its own groups with them at once, goes back where the server knows better, and shows
// everything else a little late, as one moving picture. No clock and no threads of its own: the
// same code natively and as WebAssembly. docs/prediction.md
//
//     Prediction prediction = Prediction::create(client, {.schema = &schema, .step =
//     &step}).value();
//     ... every frame, after the client's receive:
//     for (unsigned n = prediction.ticks_due(now); n > 0; --n) {
//         prediction.set_part(vehicle, schema_drive, {throttle, steering});
//         prediction.run_tick();
//     }
//     ... 20 to 60 times a second: client.tick(now);
//     draw(prediction.position_of(ghost, now));
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "purview/client.hpp"
#include "purview/group_input.hpp"

namespace purview {

struct PredictionDef {
    /// The program's own, which must be what the server tells of its own: nothing is predicted
    /// otherwise. It does not change any more. Not owned.
    const Schema* schema = nullptr;
    /// Null: commands are sent, and nothing is predicted. Not owned.
    GroupStep* step = nullptr;
    InputOrder order = InputOrder::depth_first;  ///< as the server's
    /// Commands that wait at the server while all is well: as the server's.
    std::uint32_t waiting_target = 2;
    /// How far behind the newest snapshot everything else is shown: at least the ticks between
    /// two packets, and the jitter. It must also cover the ticks between two updates of what
    /// KindDef::rates, Replication::every_ticks, KindDef::limit or the budget let be told seldom:
    /// a longer silence is taken for a rest, at whose end it leaps. What is told with every tick
    /// is drawn between its last 16: 15 ticks behind at the most, and how far the server follows
    /// RewindSettings::behind_ticks_max says.
    float view_delay_ticks = 2;
    /// How far it moves on when nothing arrives.
    float extrapolate_ticks_max = 3;
    /// A correction is shown as a glide: half of it after this time. 0: at once.
    std::uint32_t error_half_life_ms = 80;
    /// A larger correction is shown as a jump.
    float error_max_m = 5;
    /// Differences up to this, in places, are no corrections to anybody: counted apart.
    float tolerance_m = 0.02F;
    /// Only for tests and measurements: state is not compared, corrections are not taken.
    bool ignores_corrections = false;
    /// Only for tests: members but the root are not put back by a correction (the RFC's bug 1).
    bool corrects_root_only = false;
};

struct PredictionStats {
    InputNumber newest_command = 0;
    InputNumber consumed = 0;         ///< the last that the server is known to have taken
    std::uint32_t waiting = 0;        ///< at the server, as it last said
    std::uint64_t starved = 0;        ///< times the server said that nothing was waiting
    double rate = 1;                  ///< of the clock: above 1 while too little waits
    std::uint64_t corrections = 0;    ///< that changed something
    std::uint64_t confirmations = 0;  ///< of the server, that changed nothing
    std::uint64_t invisible = 0;      ///< of the corrections: within tolerance_m, and turns no more
    std::uint64_t replayed_commands = 0;  ///< in all corrections
    float largest_error_m = 0;            ///< of the places of owned members, in all corrections
    float last_error_m = 0;               ///< in the last one
    std::uint64_t too_late = 0;           ///< corrections of commands that are no longer remembered
};

class PredictionData;  // src/host

/// For one client. One thread, the client's.
class Prediction {
  public:
    /// bad_configuration: no schema, or not sound. The client must outlive it, and not be
    /// assigned to.
    static Result<Prediction> create(Client& client, const PredictionDef& def);
    Prediction(Prediction&&) noexcept;
    Prediction& operator=(Prediction&&) noexcept;
    ~Prediction();

    /// Takes what has arrived: corrections, and how many commands wait at the server. Then how many
    /// command ticks are due; run that many. 0 before the client has joined, with another schema,
    /// or without inputs; view_tick and position_of go by the clock that this keeps in any case.
    /// After a long pause no more than an eighth of a second has, and 8 to 48 in any case: the rest
    /// of the time is given up.
    unsigned ticks_due(Micros now);
    /// The part of a member in the next command, in place of what was set for it. not_found: no
    /// such ghost; refused: not ours; bad_argument: it does not take this input; capacity.
    template <class T>
    Status set_part(GhostId member, Input<T> input, const T& part) {
        return set_part(member, input.id, std::as_bytes(std::span(&part, 1)));
    }
    Status set_part(GhostId member, InputId input, std::span<const std::byte> part);
    /// Gives the next command, with the parts set since the last one, to every group with a member
    /// of ours, steps the group, and hands the command to the client for sending. not_ready: no
    /// tick can be run now. capacity: the server has acknowledged nothing for too long. too_large:
    /// the parts do not fit into a command; nothing was given.
    Status run_tick();

    // -- own groups -----------------------------------------------------------------------------
    /// Owned by us, and predicted after the newest command.
    bool is_predicted(GhostId member) const noexcept;
    /// The value after the newest command: predicted, or, of others' members of our groups, as last
    /// heard (see is_predicted); null: in none of our groups. A place as a step sees it
    /// (GroupState): position_of is in the world.
    template <class T>
    const T* get(GhostId member, Component<T> component) const noexcept {
        return static_cast<const T*>(read(member, component.id, newest_command()));
    }
    /// After a command that is still remembered: the last 96, which are 1.6 s at
    /// 60 Hz (O41). Null also: it has come since.
    template <class T>
    const T* state_at(GhostId member, Component<T> component, InputNumber tick) const noexcept {
        return static_cast<const T*>(read(member, component.id, tick));
    }
    /// The whole group, as it was after that command, in the order of input. `root`: its root
    /// ghost. Empty: not known. Valid until the next call that is not const.
    GroupState state_at(GhostId root, InputNumber tick) noexcept;
    /// The members of the next command's group in the order of their input, root first: the order
    /// of the server as of the newest correction. `root`: its root ghost. Empty: no group that is
    /// predicted. Valid until the next call that is not const.
    std::span<const GhostId> input_order(GhostId root);
    const void* read(GhostId member, ComponentId component, InputNumber tick) const noexcept;
    InputNumber newest_command() const noexcept;

    // -- what to draw ---------------------------------------------------------------------------
    /// The server's tick at which to draw whatever is not predicted: render time.
    double view_tick(Micros now) const noexcept;
    /// Where to draw it: predicted, between the last two commands and gliding out of the last
    /// correction; or at view_tick, between two snapshots or a bounded way beyond the last one.
    /// What is relative to something predicted goes and turns with that.
    Vec3 position_of(GhostId ghost, Micros now) const noexcept;
    /// How it is turned there (Schema::set_orientation); a ghost without an orientation: not at
    /// all.
    Rotation orientation_of(GhostId ghost, Micros now) const noexcept;
    /// How far it is drawn from where it is predicted.
    Vec3 error_of(GhostId member) const noexcept;

    PredictionStats stats() const noexcept;

  private:
    explicit Prediction(std::unique_ptr<PredictionData> data) noexcept;
    std::unique_ptr<PredictionData> data_;
};

}  // namespace purview
