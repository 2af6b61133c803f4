// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/reconcile.hpp"

#include <algorithm>
#include <cstring>

namespace purview {

std::uint32_t AlignedBytes::add(std::size_t bytes) {
    const auto offset = static_cast<std::uint32_t>(size_);
    size_ += (bytes + sizeof(Block) - 1) / sizeof(Block) * sizeof(Block);
    if (blocks_.size() * sizeof(Block) < size_) blocks_.resize(size_ / sizeof(Block));
    if (size_ > offset) std::memset(at(offset), 0, size_ - offset);
    return offset;
}

void PredictedFrame::clear() noexcept {
    groups.clear();
    members.clear();
    rows.clear();
    before.clear();
    after.clear();
    parts.clear();
}

std::size_t PredictedFrame::row_of(LocalId ghost) const noexcept {
    const auto found =
        std::lower_bound(rows.begin(), rows.end(), ghost,
                         [](const MemberRow& row, LocalId its) { return row.ghost < its; });
    if (found == rows.end() || found->ghost != ghost) return rows.size();
    PURVIEW_ASSERT(found->member < rows.size());
    return found->member;
}

const PredictedMember* PredictedFrame::find(LocalId ghost) const noexcept {
    const std::size_t row = row_of(ghost);
    PURVIEW_ASSERT(row >= members.size() || members[row].ghost == ghost);
    return row < members.size() ? &members[row] : nullptr;
}

const PredictedFrame* Reconciler::frame(InputNumber tick) const noexcept {
    const PredictedFrame& its = frames_[tick % frames_max];
    return tick != 0 && its.tick == tick ? &its : nullptr;
}

PredictedFrame* Reconciler::frame(InputNumber tick) noexcept {
    return const_cast<PredictedFrame*>(std::as_const(*this).frame(tick));
}

PredictedFrame& Reconciler::begin() {
    PredictedFrame& next = frames_[++newest_ % frames_max];
    PURVIEW_ASSERT(next.tick < newest_);  // the oldest frame is overwritten
    next.clear();
    next.tick = newest_;
    return next;
}

void Reconciler::bind(PredictedFrame& frame, const PredictedGroup& group, AlignedBytes& data) {
    PURVIEW_ASSERT(group.first + group.count <= frame.members.size());
    const std::size_t stride = layout_.stride();
    members_.clear();
    const std::size_t slots = layout_.input_slots();
    parts_.assign(group.count * slots, {});
    components_.assign(group.count * stride, nullptr);
    for (std::size_t m = 0; m < group.count; ++m) {
        const PredictedMember& member = frame.members[group.first + m];
        PURVIEW_ASSERT(member.parent == GroupMember::none || member.parent < m);
        members_.push_back({member.kind, member.parent, member.is_owned,
                            static_cast<std::uint64_t>(ghost_id_of(member.ghost))});
        for (const PredictedPart& part : layout_.parts(member.kind))
            components_[m * stride + part.rank] = data.at(member.data_at) + part.offset;
        const std::span<const InputId> inputs = layout_.inputs(member.kind);
        for (std::size_t s = 0; s < inputs.size(); ++s) {
            const std::uint32_t at = member.part_at[s];
            parts_[m * slots + s] = {inputs[s],
                                     at == PredictedMember::no_part ? nullptr : frame.parts.at(at)};
        }
    }
}

GroupState Reconciler::state_of(PredictedFrame& frame, const PredictedGroup& group) {
    bind(frame, group, frame.after);
    return GroupState(members_, components_, layout_.rank(), layout_.stride(), false);
}

void Reconciler::step(PredictedFrame& frame, GroupStep* step, bool is_replay) {
    frame.after.clear();
    if (frame.before.size() > 0) {
        (void)frame.after.add(frame.before.size());
        std::memcpy(frame.after.at(0), frame.before.at(0), frame.before.size());
    }
    PURVIEW_ASSERT(frame.after.size() == frame.before.size());
    for (PredictedGroup& group : frame.groups) {
        GroupState state = state_of(frame, group);
        if (step != nullptr)
            step->step(state, GroupInput(frame.tick, frame.view_tick, is_replay, parts_,
                                         layout_.input_slots()));
        std::uint64_t digest = frame.tick;
        for (std::size_t m = 0; m < group.count; ++m) {
            const PredictedMember& member = frame.members[group.first + m];
            if (!member.is_owned) continue;
            digest = settle_kind(member.kind, digest);
            for (const PredictedPart& part : layout_.parts(member.kind)) {
                digest = settle_part(part, member.frame != no_local_id,
                                     frame.after.at(member.data_at) + part.offset, digest);
            }
        }
        group.digest = static_cast<std::uint16_t>(digest);
    }
}

/// Replaces the predicted state of a tick with the server's. Returns whether they differed.
bool Reconciler::overwrite_state(PredictedFrame& frame, const Correction& correction) {
    bool differs = false;
    for (const CorrectedMember& its : correction.members) {
        const PredictedMember* member = frame.find(its.ghost);
        if (member == nullptr || !its.has_values || member->kind != its.kind || !member->is_owned)
            continue;
        if (correction.tick < member->first) continue;  // another ghost may have had this id
        const bool has_its_frame = its.frame == member->frame;
        for (const PredictedPart& part : layout_.parts(its.kind)) {
            if (part.is_pose() && !has_its_frame) continue;  // the new parent arrives later
            std::byte* predicted = frame.after.at(member->data_at) + part.offset;
            const std::byte* true_value = correction.data.at(its.data_at) + part.offset;
            if (std::memcmp(predicted, true_value, part.def->size_bytes) == 0) continue;
            differs = true;
            std::memcpy(predicted, true_value, part.def->size_bytes);
        }
    }
    return differs;
}

Reconciler::Outcome Reconciler::correct(const Correction& correction, GroupStep* step) {
    PURVIEW_ASSERT(correction.tick <= newest_);
    Outcome outcome;
    PredictedFrame* from = frame(correction.tick);
    outcome.is_remembered = from != nullptr;
    if (from == nullptr) from = frame(newest_);  // apply a late correction to the newest frame
    if (from == nullptr) return outcome;
    outcome.has_changed = overwrite_state(*from, correction);
    if (!outcome.has_changed) return outcome;
    for (InputNumber tick = from->tick + 1; tick <= newest_; ++tick) {
        PURVIEW_ASSERT(frame(tick) != nullptr && frame(tick - 1) != nullptr);  // frames have no gap
        PredictedFrame& next = *frame(tick);
        const PredictedFrame& before = *frame(tick - 1);
        for (const PredictedMember& member : next.members) {
            const PredictedMember* then = before.find(member.ghost);
            if (!member.is_owned || then == nullptr || !then->is_owned ||
                then->kind != member.kind || then->since != member.since)
                continue;
            const std::byte* start = before.after.at(then->data_at);
            for (const PredictedPart& part : layout_.parts(member.kind)) {
                if (part.is_pose() && !then->has_frame_of(member))
                    continue;  // keep the former pose
                std::copy_n(start + part.offset, part.def->size_bytes,
                            next.before.at(member.data_at) + part.offset);
            }
        }
        this->step(next, step, true);
        ++outcome.replayed;
    }
    return outcome;
}

}  // namespace purview
