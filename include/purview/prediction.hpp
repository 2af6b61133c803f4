// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Client-side prediction, reconciliation and interpolation. The client sends inputs ahead of the
/// server and steps its own groups with them at once. When the server's result differs, it corrects
/// them and replays later inputs. Everything else is interpolated and drawn with a small delay. No
/// clock and no threads: the same code runs natively and as WebAssembly. docs/prediction.md
///
///     PredictionDef def{.schema = &schema, .step = &step};
///     Prediction prediction = Prediction::create(client, def).value();
///     // every frame, after the client's receive:
///     for (unsigned n = prediction.ticks_due(now); n > 0; --n) {
///         prediction.set_part(vehicle, drive, {throttle, steering});
///         prediction.run_tick();
///     }
///     // 20 to 60 times per second: client.tick(now);
///     draw(prediction.position_of(ghost, now));
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "purview/client.hpp"
#include "purview/group_input.hpp"

namespace purview {

/// @addtogroup api_prediction
/// @{

/// The configuration of a prediction.
struct PredictionDef {
    /// The program's own schema. If the server's schema differs, nothing is predicted. Not owned;
    /// must not change any more.
    const Schema* schema = nullptr;
    /// The step of the game. null: inputs are sent, and nothing is predicted. Not owned.
    GroupStep* step = nullptr;
    InputOrder order = InputOrder::depth_first;  ///< as InputSettings::order of the server
    /// As InputSettings::buffer_target of the server; at least 1.
    std::uint32_t buffer_target = 2;
    /// Interpolation delay: ticks behind the newest snapshot at which everything else is drawn; 0
    /// or more. Set it to at least the ticks between two updates plus the jitter. Updates are less
    /// frequent with KindDef::intervals, Replication::every_ticks, KindDef::limit_per_tick or a
    /// small budget. An entity without an update for longer than this is drawn idle, and then
    /// jumps. With an update in every tick, at most 15. RewindSettings::rewind_ticks_max limits how
    /// far the server follows.
    float view_delay_ticks = 2;
    /// Maximum ticks of extrapolation when no packets arrive; 0 or more.
    float extrapolate_ticks_max = 3;
    /// Correction smoothing half-life: time in which a drawn error is halved. 0: no smoothing.
    std::uint32_t error_half_life_ms = 80;
    /// Largest correction that is smoothed, in meters.
    float error_max_m = 5;
    /// Corrections of at most this many meters are counted as PredictionStats::invisible.
    float tolerance_m = 0.02F;
};

/// Statistics of a prediction.
struct PredictionStats {
    /// Number of the newest input.
    InputNumber newest_input = 0;
    /// The last input that the server is known to have processed.
    InputNumber consumed = 0;
    /// Inputs buffered on the server, as last reported.
    std::uint32_t waiting = 0;
    /// Input starvation: reports of the server that no input was buffered.
    std::uint64_t starved = 0;
    /// Rate of the input clock; above 1 while too few inputs are buffered.
    double rate = 1;
    /// Corrections that changed something.
    std::uint64_t corrections = 0;
    /// Corrections that changed nothing.
    std::uint64_t confirmations = 0;
    /// Corrections within tolerance_m; a turn counts as the distance it moves a point 1 m away.
    std::uint64_t invisible = 0;
    std::uint64_t replayed_inputs = 0;  ///< in all corrections
    /// Largest position error of owned members in all corrections.
    float largest_error_m = 0;
    float last_error_m = 0;  ///< largest one in the last correction
    /// Corrections of inputs that are not in the history any more.
    std::uint64_t too_late = 0;
};

class PredictionData;  // src/client

/// The prediction of one client. One thread, that of the client.
class Prediction {
  public:
    /// Creates a prediction. The client must outlive it and not be assigned to. Errors:
    /// bad_configuration (no schema, an unsound one, or a setting out of range).
    static Result<Prediction> create(Client& client, const PredictionDef& def);
    /// Moves a prediction. The other one can then only be destroyed or assigned to.
    Prediction(Prediction&&) noexcept;
    /// Moves a prediction over this one.
    Prediction& operator=(Prediction&&) noexcept;
    /// Ends the prediction. The client continues.
    ~Prediction();

    /// @name Inputs
    /// @{

    /// Applies what has arrived: corrections, and the number of buffered inputs. Returns the number
    /// of inputs that are due: call run_tick that often. After a long pause this is at most an
    /// eighth of a second, but at least 8 and at most 48; the rest of the time is skipped. Returns
    /// 0 before the client has joined, with another schema, or without inputs. Call it even then,
    /// because it also advances the clock of view_tick and position_of.
    unsigned ticks_due(Micros now);
    /// Sets the part of a member in the next input, and replaces one that was set before. Errors:
    /// not_ready (as for ticks_due), not_found (no such ghost), refused (not owned, or takes no
    /// input now), bad_argument (not an input of its kind), capacity (limits::input_groups,
    /// limits::input_members).
    template <class T>
    Status set_part(GhostId member, Input<T> input, const T& part) {
        return set_part(member, input.id, std::as_bytes(std::span(&part, 1)));
    }
    /// Sets a part from the bytes of its struct; as above.
    Status set_part(GhostId member, InputId input, std::span<const std::byte> part);
    /// Creates the next input from the parts set since the last one, for every group with a member
    /// of this client. Steps these groups, and passes the input to the client to send it. Errors:
    /// not_ready (none is due), capacity (64 inputs are not acknowledged), too_large
    /// (limits::command_bytes; the parts are discarded).
    Status run_tick();
    /// @}

    /// @name Own groups
    /// @{

    /// Returns whether the ghost is owned by this client, and predicted after the newest input.
    bool is_predicted(GhostId member) const noexcept;
    /// Returns a component after the newest input: predicted, or for members of other owners as
    /// last received (see is_predicted). null: the ghost is in none of this client's groups. A
    /// position has the form that a step receives (GroupState); position_of returns world
    /// positions.
    template <class T>
    const T* get(GhostId member, Component<T> component) const noexcept {
        return static_cast<const T*>(read(member, component.id, newest_input()));
    }
    /// Returns a component after an earlier input; the history has the last 96, which is 1.6 s at
    /// 60 Hz. null also if the ghost entered after that input.
    template <class T>
    const T* state_at(GhostId member, Component<T> component, InputNumber tick) const noexcept {
        return static_cast<const T*>(read(member, component.id, tick));
    }
    /// Returns a whole group after an earlier input, in input order. `root`: its root ghost. Empty:
    /// not in the history. Valid until the next call that is not const.
    GroupState state_at(GhostId root, InputNumber tick) noexcept;
    /// Returns the members of a group in input order, root first, as in the newest correction.
    /// `root`: its root ghost. Empty: not a predicted group. Valid until the next call that is not
    /// const.
    std::span<const GhostId> input_order(GhostId root);
    /// Returns a component after an input; null as for state_at. For get and state_at.
    const void* read(GhostId member, ComponentId component, InputNumber tick) const noexcept;
    /// Returns the number of the newest input.
    InputNumber newest_input() const noexcept;
    /// @}

    /// @name What to draw
    /// @{

    /// Returns the server's tick at which to draw what is not predicted (render time).
    double view_tick(Micros now) const noexcept;
    /// Returns the position to draw. Predicted: between the last two inputs, with the smoothed
    /// error of the last correction. Otherwise: at view_tick, interpolated between two snapshots or
    /// extrapolated for a limited time. A ghost relative to a predicted parent moves and turns with
    /// it. {0, 0, 0}: no such ghost.
    Vec3 position_of(GhostId ghost, Micros now) const noexcept;
    /// Returns the orientation to draw (Schema::set_orientation); no rotation for a ghost without
    /// an orientation.
    Rotation orientation_of(GhostId ghost, Micros now) const noexcept;
    /// Returns the offset of the drawn position from the predicted one, as of the last ticks_due().
    Vec3 error_of(GhostId member) const noexcept;
    /// @}

    /// Returns the statistics.
    PredictionStats stats() const noexcept;

  private:
    explicit Prediction(std::unique_ptr<PredictionData> data) noexcept;
    std::unique_ptr<PredictionData> data_;
};

/// @}

}  // namespace purview
