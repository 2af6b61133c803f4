// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The client's past: for every command tick that the server may still correct, the commands and the
// state of all its groups, before and after. A correction puts one tick right, and all later ones
// are stepped again from there: each with its own commands, and with what it saw of members that
// are not predicted. So nothing of the present gets into the past (O18, the RFC's first bug). Must
// not know: the network.
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
    LocalId frame = no_local_id;               ///< its place is as seen from there
    Tick frame_since = 0;                      ///< as `since`, of that
    bool is_owned = false;
    Tick since = 0;             ///< it came: another ghost may have its id later
    InputNumber first = 0;      ///< of its ticks, without a gap up to this one
    std::uint32_t data_at = 0;  ///< in before and after
    static constexpr std::uint32_t no_part = 0xffffffffU;
    /// By input of its kind: in PredictedFrame::parts, or no_part.
    std::array<std::uint32_t, Schema::inputs_of_kind_max> part_at = {no_part, no_part, no_part,
                                                                     no_part};

    bool has_frame_of(const PredictedMember& other) const noexcept {
        return frame == other.frame && frame_since == other.frame_since;
    }
};

struct PredictedGroup {
    LocalId root = no_local_id;
    std::uint32_t first = 0;  ///< into members
    std::uint32_t count = 0;
    std::uint16_t digest = 0;
};

/// Bytes at addresses that every component may stand at.
class AlignedBytes {
  public:
    void clear() noexcept { size_ = 0; }
    std::size_t size() const noexcept { return size_; }
    /// Zeroed; returns where they begin.
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
    std::uint32_t member = 0;  ///< in members
};

struct PredictedFrame {
    InputNumber tick = 0;  ///< 0: none
    double view_tick = 0;
    std::vector<PredictedGroup> groups;
    std::vector<PredictedMember> members;
    std::vector<MemberRow> rows;  ///< of all members, by ghost
    AlignedBytes before;          ///< state that the step began with
    AlignedBytes after;
    AlignedBytes parts;

    void clear() noexcept;
    /// By `rows`; rows.size(): not in any group of this tick.
    std::size_t row_of(LocalId ghost) const noexcept;
    /// Null: not in any group of this tick.
    const PredictedMember* find(LocalId ghost) const noexcept;
};

/// What the server says of one member in one tick.
struct CorrectedMember {
    LocalId ghost = no_local_id;
    KindId kind{};
    bool is_in_input = true;
    bool has_values = false;
    LocalId frame = no_local_id;  ///< its place is as seen from there; itself: from a stranger
    std::uint32_t data_at = 0;    ///< in Correction::data, as PredictedLayout has it
};

struct Correction {
    InputNumber tick = 0;
    std::vector<CorrectedMember> members;  ///< of all groups, in the order of input
    AlignedBytes data;
};

class Reconciler {
  public:
    /// More than a second at 60 Hz.
    static constexpr std::uint32_t frames_max = 96;

    explicit Reconciler(const Schema& schema) : layout_(schema) {}

    const PredictedLayout& layout() const noexcept { return layout_; }
    InputNumber newest() const noexcept { return newest_; }
    /// Null: not remembered (any more).
    const PredictedFrame* frame(InputNumber tick) const noexcept;
    PredictedFrame* frame(InputNumber tick) noexcept;
    /// Commands up to this one are another's; before the first of its own.
    void go_on_from(InputNumber newest) noexcept { newest_ = newest; }
    /// The next tick's, empty: to be filled with groups, members, rows, parts and `before`.
    PredictedFrame& begin();
    /// Steps a frame's groups: from before and the parts to after.
    void step(PredictedFrame& frame, GroupStep* step, bool is_replay);

    struct Outcome {
        bool is_remembered = false;  ///< the tick that it speaks of
        bool has_changed = false;    ///< something was not as predicted, and all later is new
        std::uint32_t replayed = 0;
    };
    /// `root_only`: a test's: only roots are put right.
    Outcome correct(const Correction& correction, GroupStep* step, bool root_only);

    GroupState state_of(PredictedFrame& frame, const PredictedGroup& group);

  private:
    void bind(PredictedFrame& frame, const PredictedGroup& group, AlignedBytes& data);
    bool put_right(PredictedFrame& frame, const Correction& correction, bool root_only);

    PredictedLayout layout_;
    std::array<PredictedFrame, frames_max> frames_;
    InputNumber newest_ = 0;
    std::vector<GroupMember> members_;
    std::vector<std::byte*> components_;
    std::vector<GroupInput::Part> parts_;
};

}  // namespace purview
