// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The state behind purview::Prediction: groups as this client knows them, its past, its clocks, and
// how far it shows its members from where they are.
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
    Status set_part(GhostId member, InputId input, std::span<const std::byte> part);
    std::span<const LocalId> input_order(LocalId root);
    Status run_tick();
    bool is_in_world() const;  ///< joined, and in the world of the schema
    bool is_ready() const;     ///< and takes input
    /// The ghost that has this id now, if it was of our groups in that frame.
    const PredictedMember* find_in(const PredictedFrame& frame, GhostId ghost) const noexcept;
    /// Null: not predicted.
    const PredictedMember* newest_member(GhostId member) const noexcept;
    const PredictedMember* member_of(const PredictedFrame& frame, GhostId ghost) const noexcept;
    const std::byte* component_at(const PredictedFrame& frame, const PredictedMember& member,
                                  ComponentId component) const noexcept;
    bool predicted_position(InputNumber tick, GhostId member, Vec3& out) const noexcept;
    /// `below`: of those that are asked for because somebody below is.
    Pose pose_of(GhostId ghost, Micros now, unsigned below = 0) const noexcept;
    /// What is left of a corrected error: `position` is added to where it is predicted, `turn`
    /// comes behind the predicted turn.
    Pose error_of(GhostId member, Micros now) const noexcept;

    ClientData* client;
    PredictionDef def;
    Reconciler past;
    PredictionStats stats;
    CommandClock commands;
    ViewClock view;
    Micros now = 0;

  private:
    struct Part {
        GhostId member = no_ghost;
        InputId input = InputId::none;
        RpcWords words{};
    };
    struct Group {
        LocalId root = no_local_id;
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };
    struct Glide {
        Tick since = 0;  ///< the member came: another ghost may have its id later
        Pose error;
        Micros from = 0;
    };

    /// Of a member, as the server last had it.
    struct Order {
        std::uint32_t position = ~0U;  ///< in the order of input
        bool is_replicated = false;    ///< whether it takes input; until then, as its kind starts
        bool is_off = false;           ///< takes no input now
        Tick since = 0;                ///< it came; 0: it was not here yet
    };
    struct Child {
        LocalId parent = no_local_id;
        std::uint32_t position = ~0U;
        LocalId ghost = no_local_id;
    };

    void know_groups();
    void add_group(LocalId root, bool with_input);
    Order order_of(LocalId ghost) const noexcept {
        const auto found = orders_.find(ghost);
        return found == orders_.end() ? Order{} : found->second;
    }
    bool is_off(LocalId ghost) const noexcept;
    std::span<const LocalId> children_of(LocalId ghost) const noexcept;
    void take_corrections();
    void learn_orders();
    void apply_correction();
    float part_of_tick(Micros at) const noexcept;
    Vec3 shown_position(GhostId member) const noexcept;
    /// As drawn, without what is left of an error. False: no turn of it is predicted, and `out` is
    /// as it was.
    bool shown_turn(GhostId member, Micros at, Rotation& out) const noexcept;
    bool has_pose_before(GhostId ghost) const noexcept;
    Vec3 position_before(GhostId ghost, Vec3 newest) const noexcept;
    bool is_it(LocalId ghost, Tick since) const noexcept {
        return client->ghosts->is_held(ghost) && client->ghosts->since(ghost) == since;
    }
    bool has_frame(const PredictedMember& member) const noexcept {
        return member.frame == no_local_id || is_it(member.frame, member.frame_since);
    }
    Pose pose_in(const PredictedFrame& frame, LocalId ghost, unsigned below = 0) const noexcept;
    void change_frame(const PredictedFrame& before, const PredictedMember& member,
                      std::byte* data) const noexcept;
    bool predicted_turn(InputNumber tick, GhostId member, Rotation& out) const noexcept;
    Pose viewed_pose(GhostId ghost, Micros now) const noexcept;
    void sample(LocalId ghost, KindId kind, std::byte* out) const noexcept;
    void fill(PredictedFrame& frame, const InputFrame& input);
    void say(InputFrame& input);

    std::uint64_t schema_hash_;  ///< of def.schema
    bool has_clocks_ = false;    ///< at the server's rate
    std::uint32_t revision_known_ = ~0U;
    bool order_changed_ = false;
    std::vector<LocalId> members_;  ///< of all own groups, in the order of input
    std::vector<MemberRow> rows_;   ///< of members_, by ghost
    std::vector<Group> groups_;
    std::vector<Child> children_;     ///< by parent, place and ghost; scratch of know_groups
    std::vector<LocalId> child_ids_;  ///< the ghosts of children_
    std::map<LocalId, Order> orders_;
    std::vector<Part> parts_;  ///< for the next command
    InputFrame next_;          ///< scratch
    Correction correction_;
    FlatMap<GhostId, Glide> glides_;
    std::uint64_t heard_ = 0;
    unsigned due_ = 0;
    bool is_full_ = false;  ///< the last command that was due had no room
};

}  // namespace purview
