// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The client's past frames: for every tick that the server may still correct, the inputs and the
// state of the client's groups before and after the step. A correction replaces the state of one
// tick, and all later ticks are replayed. Each replay uses the inputs of its tick and the state
// that unpredicted members had on the client in that tick, never their current state.
//
// Must not know: the network.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protocol/local_id.hpp"
#include "protocol/predicted_layout.hpp"
#include "purview/group_input.hpp"
#include "purview/status.hpp"

namespace purview {

struct PredictedMember {
    LocalId ghost = no_local_id;
    KindId kind{};
    std::uint16_t parent = GroupMember::none;  ///< index in its group
    LocalId frame = no_local_id;               ///< its position is relative to this ghost
    Tick frame_since = 0;                      ///< enter tick of `frame`
    bool is_owned = false;
    Tick since = 0;             ///< its enter tick; the id may be reused later
    InputNumber first = 0;      ///< first tick of the unbroken run of frames that contain the ghost
    std::uint32_t data_at = 0;  ///< offset in before and after
    static constexpr std::uint32_t no_part = 0xffffffffU;
    /// By input of its kind: offset in PredictedFrame::parts, or no_part.
    std::array<std::uint32_t, Schema::inputs_of_kind_max> part_at = {no_part, no_part, no_part,
                                                                     no_part};

    bool has_frame_of(const PredictedMember& other) const noexcept {
        return frame == other.frame && frame_since == other.frame_since;
    }
};

struct PredictedGroup {
    LocalId root = no_local_id;
    std::uint32_t first = 0;  ///< index into members
    std::uint32_t count = 0;
    std::uint16_t digest = 0;
};

/// A byte buffer, aligned for every component.
class AlignedBytes {
  public:
    void clear() noexcept { size_ = 0; }
    std::size_t size() const noexcept { return size_; }
    /// Appends zeroed bytes; returns their offset.
    std::uint32_t add(std::size_t bytes);
    std::byte* at(std::uint32_t offset) noexcept {
        PURVIEW_ASSERT(offset <= size_);
        return reinterpret_cast<std::byte*>(blocks_.data()) + offset;
    }
    const std::byte* at(std::uint32_t offset) const noexcept {
        return const_cast<AlignedBytes*>(this)->at(offset);
    }

  private:
    struct alignas(PredictedLayout::align_bytes) Block {
        std::array<std::byte, PredictedLayout::align_bytes> bytes;
    };
    std::vector<Block> blocks_;
    std::size_t size_ = 0;
};

struct MemberRow {
    LocalId ghost = no_local_id;
    std::uint32_t member = 0;  ///< index into members
};

struct PredictedFrame {
    InputNumber tick = 0;  ///< 0: none
    double view_tick = 0;
    std::vector<PredictedGroup> groups;
    std::vector<PredictedMember> members;
    std::vector<MemberRow> rows;  ///< index of members by ghost
    AlignedBytes before;          ///< state at the start of the step
    AlignedBytes after;
    AlignedBytes parts;

    void clear() noexcept;
    /// Returns the index into members; rows.size() if no group of this tick contains the ghost.
    std::size_t row_of(LocalId ghost) const noexcept;
    /// Null if the ghost is in no group of this tick.
    const PredictedMember* find(LocalId ghost) const noexcept;
};

/// The server's state of one member in one tick.
struct CorrectedMember {
    LocalId ghost = no_local_id;
    KindId kind{};
    bool is_in_input = true;
    bool has_values = false;
    /// Ghost that the position is relative to; `ghost` itself if the client does not have that
    /// entity.
    LocalId frame = no_local_id;
    std::uint32_t data_at = 0;  ///< offset in Correction::data, with the layout of PredictedLayout
};

struct Correction {
    InputNumber tick = 0;
    std::vector<CorrectedMember> members;  ///< of all groups, in input order
    AlignedBytes data;
};

class Reconciler {
  public:
    /// More than one second at 60 Hz.
    static constexpr std::uint32_t frames_max = 96;

    explicit Reconciler(const Schema& schema) : layout_(schema) {}

    const PredictedLayout& layout() const noexcept { return layout_; }
    InputNumber newest() const noexcept { return newest_; }
    /// Null if the frame is not stored.
    const PredictedFrame* frame(InputNumber tick) const noexcept;
    PredictedFrame* frame(InputNumber tick) noexcept;
    /// Continues the numbering after `newest`. Call before the first frame.
    void go_on_from(InputNumber newest) noexcept { newest_ = newest; }
    /// Starts the frame of the next tick, empty; the caller fills groups, members, rows, parts and
    /// `before`.
    PredictedFrame& begin();
    /// Computes `after` of a frame from `before` and the input parts.
    void step(PredictedFrame& frame, GroupStep* step, bool is_replay);

    struct Outcome {
        bool is_remembered = false;  ///< the corrected tick is stored
        bool has_changed = false;    ///< the prediction differed, and all later frames are new
        std::uint32_t replayed = 0;
    };
    Outcome correct(const Correction& correction, GroupStep* step);

    GroupState state_of(PredictedFrame& frame, const PredictedGroup& group);

  private:
    void bind(PredictedFrame& frame, const PredictedGroup& group, AlignedBytes& data);
    bool overwrite_state(PredictedFrame& frame, const Correction& correction);

    PredictedLayout layout_;
    std::array<PredictedFrame, frames_max> frames_;
    InputNumber newest_ = 0;
    std::vector<GroupMember> members_;
    std::vector<std::byte*> components_;
    std::vector<GroupInput::Part> parts_;
};

}  // namespace purview
