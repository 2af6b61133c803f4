// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The state behind purview::Prediction: the groups of this client, its past frames, its clocks, and
// the remaining visual error of each member.
#pragma once

#include <map>
#include <vector>

#include "client/client_data.hpp"
#include "client/clocks.hpp"
#include "client/reconcile.hpp"
#include "core/flat_map.hpp"
#include "purview/prediction.hpp"

namespace purview {

class PredictionData {
  public:
    PredictionData(ClientData& made_client, const PredictionDef& made_def);
    ~PredictionData() { client->inputs.has_digests = false; }
    PredictionData(const PredictionData&) = delete;
    PredictionData& operator=(const PredictionData&) = delete;

    unsigned ticks_due(Micros now);
    Status set_part(LocalId member, InputId input, std::span<const std::byte> part);
    std::span<const GhostId> input_order(LocalId root);
    Status run_tick();
    bool is_in_world() const;  ///< joined, and the server uses the same schema
    bool is_ready() const;     ///< is_in_world(), and the schema has inputs
    /// The member of that frame, or null if the id belonged to another ghost then.
    const PredictedMember* find_in(const PredictedFrame& frame, LocalId ghost) const noexcept;
    /// Null if the ghost is not predicted.
    const PredictedMember* newest_member(LocalId member) const noexcept;
    const PredictedMember* member_of(const PredictedFrame& frame, LocalId ghost) const noexcept;
    const std::byte* component_at(const PredictedFrame& frame, const PredictedMember& member,
                                  ComponentId component) const noexcept;
    bool predicted_position(InputNumber tick, LocalId member, Vec3& out) const noexcept;
    /// `below`: depth of the recursion from a child.
    Pose pose_of(LocalId ghost, Micros now, unsigned below = 0) const noexcept;
    /// Remaining part of a corrected error: `position` is added to the predicted position, `turn`
    /// is applied after the predicted orientation.
    Pose error_of(LocalId member, Micros now) const noexcept;

    ClientData* client;
    PredictionDef def;
    Reconciler past;
    PredictionStats stats;
    CommandClock commands;
    ViewClock view;
    Micros now = 0;

  private:
    struct Part {
        LocalId member = no_local_id;
        InputId input = InputId::none;
        RpcWords words{};
    };
    struct Group {
        LocalId root = no_local_id;
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };
    struct VisualError {
        Tick since = 0;  ///< enter tick of the member; the id may be reused later
        Pose error;
        Micros from = 0;
    };

    /// State of a member in the server's last correction.
    struct Order {
        std::uint32_t position = ~0U;  ///< in input order
        /// The correction contained the member; else the default of its kind applies.
        bool is_corrected = false;
        bool is_input_off = false;  ///< the member takes no input now
        Tick since = 0;             ///< its enter tick; 0: not held at that time
    };
    struct Child {
        LocalId parent = no_local_id;
        std::uint32_t position = ~0U;
        LocalId ghost = no_local_id;
    };

    void update_groups();
    void add_group(LocalId root, bool with_input);
    Order order_of(LocalId ghost) const noexcept {
        const auto found = orders_.find(ghost);
        return found == orders_.end() ? Order{} : found->second;
    }
    bool is_input_off(LocalId ghost) const noexcept;
    std::span<const LocalId> children_of(LocalId ghost) const noexcept;
    void take_corrections();
    void store_orders();
    void apply_correction();
    float part_of_tick(Micros at) const noexcept;
    Vec3 shown_position(LocalId member) const noexcept;
    /// The drawn orientation, without the remaining error. Returns false and leaves `out` unchanged
    /// if none is predicted.
    bool shown_turn(LocalId member, Micros at, Rotation& out) const noexcept;
    bool has_pose_before(LocalId ghost) const noexcept;
    Vec3 position_before(LocalId ghost, Vec3 newest) const noexcept;
    bool is_it(LocalId ghost, Tick since) const noexcept {
        return client->replica->ghosts.is_held(ghost) &&
               client->replica->ghosts.since(ghost) == since;
    }
    bool has_frame(const PredictedMember& member) const noexcept {
        return member.frame == no_local_id || is_it(member.frame, member.frame_since);
    }
    Pose pose_in(const PredictedFrame& frame, LocalId ghost, unsigned below = 0) const noexcept;
    void change_frame(const PredictedFrame& before, const PredictedMember& member,
                      std::byte* data) const noexcept;
    bool predicted_turn(InputNumber tick, LocalId member, Rotation& out) const noexcept;
    Pose viewed_pose(LocalId ghost, Micros now) const noexcept;
    void sample(LocalId ghost, KindId kind, std::byte* out) const noexcept;
    void fill(PredictedFrame& frame, const InputFrame& input);
    void build_input(InputFrame& input);

    std::uint64_t schema_hash_;  ///< of def.schema
    bool has_clocks_ = false;    ///< clocks run at the server's rate
    std::uint32_t revision_known_ = ~0U;
    bool order_changed_ = false;
    std::vector<LocalId> members_;      ///< of all owned groups, in input order
    std::vector<GhostId> input_order_;  ///< result of input_order()
    std::vector<MemberRow> rows_;       ///< index of members_ by ghost
    std::vector<Group> groups_;
    std::vector<Child> children_;     ///< by parent, position and ghost; scratch of update_groups
    std::vector<LocalId> child_ids_;  ///< the ghosts of children_
    std::map<LocalId, Order> orders_;
    std::vector<Part> parts_;  ///< for the next command
    InputFrame next_;          ///< scratch
    Correction correction_;
    FlatMap<LocalId, VisualError> visual_errors_;
    std::uint64_t input_reports_ = 0;
    unsigned due_ = 0;
    bool is_full_ = false;  ///< the last due command had no room
};

}  // namespace purview
