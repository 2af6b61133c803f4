// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "client/correction_codec.hpp"
#include "client/prediction_data.hpp"
#include "core/internal_access.hpp"
#include "protocol/group_order.hpp"
#include "protocol/input_codec.hpp"
#include "protocol/quantize.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

Vec3 plus(Vec3 a, Vec3 b, float times) noexcept {
    return {a.x + b.x * times, a.y + b.y * times, a.z + b.z * times};
}
float length_of(Vec3 v) noexcept {
    return std::sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
}

}  // namespace

PredictionData::PredictionData(ClientData& made_client, const PredictionDef& made_def)
    : client(&made_client),
      def(made_def),
      past(*made_def.schema),
      commands(20, made_def.buffer_target),
      view(20, made_def.view_delay_ticks),
      schema_hash_(made_def.schema->hash()) {
    past.go_on_from(client->inputs.outbox.newest());
}

bool PredictionData::is_in_world() const {
    return client->state == ClientState::joined && client->replica.has_value() &&
           client->is_own(*def.schema, schema_hash_);
}

bool PredictionData::is_ready() const {
    return is_in_world() && !def.schema->inputs().empty();
}

// -- groups -------------------------------------------------------------------------------------

bool PredictionData::is_input_off(LocalId ghost) const noexcept {
    PURVIEW_ASSERT(client->replica->ghosts.is_held(ghost));
    const Order order = order_of(ghost);
    if (order.is_corrected) return order.is_input_off;
    return !def.schema->kinds()[index_of(client->replica->ghosts.kind(ghost))].starts_in_input;
}

std::span<const LocalId> PredictionData::children_of(LocalId ghost) const noexcept {
    PURVIEW_ASSERT(child_ids_.size() == children_.size());
    const auto [first, end] =
        std::equal_range(children_.begin(), children_.end(), Child{ghost},
                         [](const Child& a, const Child& b) { return a.parent < b.parent; });
    return std::span(child_ids_)
        .subspan(static_cast<std::size_t>(first - children_.begin()),
                 static_cast<std::size_t>(end - first));
}

/// Adds the group if it belongs to this pass. The pass `with_input` adds groups with an owned
/// member that accepts input; the other pass adds groups that are only predicted.
void PredictionData::add_group(LocalId root, bool with_input) {
    struct Tree {
        const PredictionData& its;
        std::span<const LocalId> children(LocalId member) const noexcept {
            return its.children_of(member);
        }
        bool is_inner_root(LocalId member) const noexcept {
            return its.def.schema->kinds()[index_of(its.client->replica->ghosts.kind(member))]
                .is_inner_root;
        }
        bool is_member(LocalId) const noexcept { return true; }
    };
    Group group{root, static_cast<std::uint32_t>(members_.size()), 0};
    append_group(root, Tree{*this}, def.order, members_);
    PURVIEW_ASSERT(members_[group.first] == root);
    group.count = static_cast<std::uint32_t>(members_.size()) - group.first;
    bool takes_input = false, is_predicted = false;
    for (auto member = members_.begin() + group.first; member != members_.end(); ++member) {
        if (!client->replica->ghosts.owned(*member)) continue;
        const KindId kind = client->replica->ghosts.kind(*member);
        takes_input |= !def.schema->kinds()[index_of(kind)].inputs.empty();
        is_predicted |= !past.layout().parts(kind).empty();
    }
    const bool is_wanted = takes_input ? with_input : is_predicted && !with_input;
    if (is_wanted && groups_.size() < limits::input_groups) {
        groups_.push_back(group);
    } else {
        members_.resize(group.first);
    }
}

/// Updates groups and members. Visits all ghosts, but only after a parent, owner or input order
/// changed.
void PredictionData::update_groups() {
    const ClientGhosts& ghosts = client->replica->ghosts;
    if (revision_known_ == client->replica->revision() && !order_changed_) return;
    revision_known_ = client->replica->revision();
    order_changed_ = false;
    for (auto& [ghost, order] : orders_) {
        const bool is_another =
            !ghosts.is_held(ghost) || (order.since != 0 && order.since != ghosts.since(ghost));
        order.is_corrected = order.is_corrected && !is_another;
    }
    children_.clear();
    child_ids_.clear();
    ghosts.for_each_held([&](LocalId ghost) {
        const unsigned depth = ghosts.depth_of(ghost);
        if (depth == 0 || depth >= limits::group_depth) return;
        children_.push_back({ghosts.parent(ghost), order_of(ghost).position, ghost});
    });
    std::sort(children_.begin(), children_.end(), [](const Child& a, const Child& b) {
        return std::tie(a.parent, a.position, a.ghost) < std::tie(b.parent, b.position, b.ghost);
    });
    for (const Child& child : children_) child_ids_.push_back(child.ghost);
    members_.clear();
    groups_.clear();
    for (const bool with_input : {true, false}) {
        ghosts.for_each_held([&](LocalId ghost) {
            if (ghosts.depth_of(ghost) == 0) add_group(ghost, with_input);
        });
    }
    rows_.clear();
    for (const LocalId member : members_)
        rows_.push_back({member, static_cast<std::uint32_t>(rows_.size())});
    std::sort(rows_.begin(), rows_.end(),
              [](const MemberRow& a, const MemberRow& b) { return a.ghost < b.ghost; });
    // Each member is in exactly one group, once.
    PURVIEW_ASSERT(
        std::adjacent_find(rows_.begin(), rows_.end(), [](const MemberRow& a, const MemberRow& b) {
            return a.ghost == b.ghost;
        }) == rows_.end());
}

std::span<const GhostId> PredictionData::input_order(LocalId root) {
    if (!is_in_world()) return {};
    update_groups();
    for (const Group& group : groups_) {
        if (group.root != root) continue;
        input_order_.clear();
        for (std::uint32_t m = 0; m < group.count; ++m)
            input_order_.push_back(ghost_id_of(members_[group.first + m]));
        return input_order_;
    }
    return {};
}

// -- corrections --------------------------------------------------------------------------------

/// Fraction of the step to the newest command at which members are drawn; 1 while the outbox is
/// full.
float PredictionData::part_of_tick(Micros at) const noexcept {
    return is_full_ ? 1 : static_cast<float>(commands.part(at));
}

Vec3 PredictionData::shown_position(LocalId member) const noexcept {
    Vec3 newer;
    if (!predicted_position(past.newest(), member, newer)) return {};
    const Vec3 older = position_before(member, newer);
    const auto part = part_of_tick(now);
    return plus(plus(older, older, -part), newer, part);
}

bool PredictionData::shown_turn(LocalId member, Micros at, Rotation& out) const noexcept {
    Rotation newest, older;
    if (!predicted_turn(past.newest(), member, newest)) return false;
    if (!has_pose_before(member) || !predicted_turn(past.newest() - 1, member, older))
        older = newest;
    out = slerp(older, newest, part_of_tick(at));
    return true;
}

/// Whether the frame before the newest has a pose of the ghost in the same coordinate frame.
bool PredictionData::has_pose_before(LocalId ghost) const noexcept {
    const PredictedMember* const member = newest_member(ghost);
    const PredictedFrame* const frame = past.frame(past.newest() - 1);
    const PredictedMember* const then = frame == nullptr ? nullptr : member_of(*frame, ghost);
    return member != nullptr && then != nullptr && then->has_frame_of(*member);
}

Vec3 PredictionData::position_before(LocalId ghost, Vec3 newest) const noexcept {
    Vec3 position = newest;
    if (has_pose_before(ghost)) (void)predicted_position(past.newest() - 1, ghost, position);
    return position;
}

/// Stores the input order of the newest correction. Drops the stored order of other ghosts that are
/// not held.
void PredictionData::store_orders() {
    std::erase_if(orders_,
                  [&](const auto& one) { return !client->replica->ghosts.is_held(one.first); });
    std::uint32_t position = 0;
    for (const CorrectedMember& member : correction_.members) {
        Order& order = orders_[member.ghost];
        order_changed_ |= order.position != position;
        const bool is_here = client->replica->ghosts.is_held(member.ghost);
        order = {position++, true, !member.is_in_input,
                 is_here ? client->replica->ghosts.since(member.ghost) : 0};
    }
}

void PredictionData::apply_correction() {
    store_orders();
    struct Shown {
        LocalId member;
        Pose at;      ///< as drawn
        Pose newest;  ///< as predicted
    };
    std::vector<Shown> shown;
    for (const CorrectedMember& member : correction_.members) {
        Pose newest, at;
        if (!predicted_position(past.newest(), member.ghost, newest.position)) continue;
        const Pose error = error_of(member.ghost, now);
        at.position = plus(shown_position(member.ghost), error.position, 1);
        (void)predicted_turn(past.newest(), member.ghost, newest.turn);
        if (shown_turn(member.ghost, now, at.turn)) at.turn = composed(error.turn, at.turn);
        shown.push_back({member.ghost, at, newest});
    }
    const Reconciler::Outcome outcome = past.correct(correction_, def.step);
    if (!outcome.is_remembered) ++stats.too_late;
    if (!outcome.has_changed) {
        ++stats.confirmations;
        return;
    }
    ++stats.corrections;
    stats.replayed_inputs += outcome.replayed;
    for (InputNumber tick = client->inputs.outbox.consumed() + 1; tick <= past.newest(); ++tick) {
        InputFrame* sent = client->inputs.outbox.find(tick);
        const PredictedFrame* frame = past.frame(tick);
        if (sent == nullptr || frame == nullptr) continue;
        PURVIEW_ASSERT(sent->groups.size() <= frame->groups.size());
        for (std::size_t g = 0; g < sent->groups.size(); ++g)
            sent->groups[g].digest = frame->groups[g].digest;
    }
    stats.last_error_m = 0;
    double turned = 0;
    for (const Shown& before : shown) {
        Pose newest, error;
        if (!predicted_position(past.newest(), before.member, newest.position)) continue;
        stats.last_error_m = std::max(stats.last_error_m,
                                      length_of(plus(before.newest.position, newest.position, -1)));
        error.position = plus(before.at.position, shown_position(before.member), -1);
        if (Rotation turn; shown_turn(before.member, now, turn)) {
            error.turn = composed(before.at.turn, inverse(turn));
            (void)predicted_turn(past.newest(), before.member, newest.turn);
            turned = std::max(turned, angle_between(before.newest.turn, newest.turn));
        }
        if (length_of(error.position) <= def.error_max_m) {
            visual_errors_[before.member] = {client->replica->ghosts.since(before.member), error,
                                             now};
        } else {
            visual_errors_.erase(before.member);
        }
    }
    stats.largest_error_m = std::max(stats.largest_error_m, stats.last_error_m);
    // A rotation error counts as the displacement of a point at a distance of one meter.
    if (std::max<double>(stats.last_error_m, turned) <= def.tolerance_m) ++stats.invisible;
}

void PredictionData::take_corrections() {
    auto& messages = client->inputs.messages;
    for (; !messages.empty(); messages.pop_front()) {
        ++client->inputs.corrections;
        if (!read_correction(*def.schema, past.layout(), past.newest(), messages.front(),
                             correction_)) {
            ++client->stats.packets_malformed;
            continue;
        }
        apply_correction();
    }
}

// -- one tick -----------------------------------------------------------------------------------

unsigned PredictionData::ticks_due(Micros at) {
    now = at;
    if (!is_in_world()) return 0;
    if (!std::exchange(has_clocks_, true)) {
        commands = CommandClock(client->tick_hz, def.buffer_target);
        view = ViewClock(client->tick_hz, def.view_delay_ticks);
        client->inputs.has_digests = def.step != nullptr;
        client->replica->way_ticks_max = def.view_delay_ticks;
    }
    view.note_snapshot(client->newest_tick, client->newest_tick_at);
    view.advance(now);
    if (!is_ready()) return 0;
    if (client->inputs.reports != input_reports_) {
        input_reports_ = client->inputs.reports;
        commands.note_report(client->inputs.waiting, client->inputs.is_starved);
        stats.starved += client->inputs.is_starved ? 1 : 0;
    }
    take_corrections();
    due_ = commands.advance(now, view.server_pace());
    return due_;
}

Status PredictionData::set_part(LocalId member, InputId input, std::span<const std::byte> part) {
    if (!is_ready()) return Status::not_ready;
    if (index_of(input) >= def.schema->inputs().size() ||
        part.size() != def.schema->inputs()[index_of(input)].size_bytes)
        return Status::bad_argument;
    if (!client->replica->ghosts.is_held(member)) return Status::not_found;
    update_groups();
    if (!client->replica->ghosts.owned(member) || is_input_off(member)) return Status::refused;
    const KindDef& kind = def.schema->kinds()[index_of(client->replica->ghosts.kind(member))];
    if (input_slot(kind, input) == kind.inputs.size()) return Status::bad_argument;
    if (std::find(members_.begin(), members_.end(), member) == members_.end())
        return Status::capacity;
    auto found = std::find_if(parts_.begin(), parts_.end(), [&](const Part& its) {
        return its.member == member && its.input == input;
    });
    if (found == parts_.end()) {
        if (parts_.size() >= limits::input_members) return Status::capacity;
        found = parts_.insert(parts_.end(), Part{member, input, {}});
    }
    words_of_struct(def.schema->inputs()[index_of(input)], part.data(), found->words.data());
    return Status::ok;
}

/// Builds the input: every owned group, with the parts that were set, in input order.
void PredictionData::build_input(InputFrame& input) {
    input.clear();
    input.view_tick = view.tick(now);
    for (const Group& group : groups_) {
        InputGroup command;
        command.root = group.root;
        command.parts_at = static_cast<std::uint32_t>(input.parts.size());
        for (std::uint32_t m = 0; m < group.count; ++m) {
            const LocalId member = members_[group.first + m];
            if (!client->replica->ghosts.owned(member)) continue;
            const KindDef& kind =
                def.schema->kinds()[index_of(client->replica->ghosts.kind(member))];
            for (const InputId wanted : kind.inputs) {
                const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& its) {
                    return its.member == member && its.input == wanted;
                });
                if (part == parts_.end()) continue;
                input.parts.push_back({member, wanted,
                                       static_cast<std::uint32_t>(input.words.size()),
                                       EntityId::none});
                const auto count = word_count(def.schema->inputs()[index_of(wanted)]);
                input.words.insert(input.words.end(), part->words.begin(),
                                   part->words.begin() + count);
            }
        }
        command.parts = static_cast<std::uint32_t>(input.parts.size()) - command.parts_at;
        input.groups.push_back(command);
    }
}

/// Reads the state as received: a relative position stays relative to its parent.
void PredictionData::sample(LocalId ghost, KindId kind, std::byte* out) const noexcept {
    const bool in_frame = client->replica->ghosts.frame_of(ghost) != no_local_id;
    for (const PredictedPart& part : past.layout().parts(kind)) {
        const std::uint32_t* words = client->replica->ghosts.find_words(ghost, part.component, 0);
        if (words != nullptr) part_of_words(part, words, in_frame, out + part.offset);
    }
}

/// The world pose at the end of a frame: the predicted pose, or the received pose if none is
/// predicted or the predicted one is relative to a ghost that has left.
Pose PredictionData::pose_in(const PredictedFrame& frame, LocalId ghost,
                             unsigned below) const noexcept {
    const ClientGhosts& ghosts = client->replica->ghosts;
    if (!ghosts.is_held(ghost) || below == limits::group_depth) return {};
    Pose pose = client->replica->poses.received_pose_at(ghost, client->newest_tick);
    LocalId above = ghosts.frame_of(ghost);
    const PredictedMember* member = member_of(frame, ghost);
    if (member != nullptr && has_frame(*member)) {
        above = member->frame;
        (void)predicted_position(frame.tick, ghost, pose.position);
        (void)predicted_turn(frame.tick, ghost, pose.turn);
    }
    return above == no_local_id ? pose
                                : positioned_within(pose_in(frame, above, below + 1), pose,
                                                    ghosts.has_orientation(ghost));
}

/// Converts the pose of a member with a new parent, so that its world pose (pose_in) stays the
/// same.
void PredictionData::change_frame(const PredictedFrame& before, const PredictedMember& member,
                                  std::byte* data) const noexcept {
    const OrientationDef& turn = def.schema->kinds()[index_of(member.kind)].orientation;
    Pose pose = pose_in(before, member.ghost);
    if (member.frame != no_local_id) {
        pose = as_seen_from(pose_in(before, member.frame), pose,
                            client->replica->ghosts.has_orientation(member.ghost));
    }
    for (const PredictedPart& part : past.layout().parts(member.kind)) {
        std::byte* const its = data + part.offset;
        if (part.is_position) std::memcpy(its, &pose.position, sizeof pose.position);
        if (part.is_turn)
            (void)keep_orientation_in(turn, part.def->fields[turn.field], pose.turn, its);
    }
}

void PredictionData::fill(PredictedFrame& frame, const InputFrame& input) {
    const ClientGhosts& ghosts = client->replica->ghosts;
    const PredictedFrame* last = past.frame(frame.tick - 1);
    frame.view_tick = input.view_tick;
    frame.rows = rows_;
    for (const Group& group : groups_) {
        const auto first = static_cast<std::uint32_t>(frame.members.size());
        frame.groups.push_back({group.root, first, group.count, 0});
        for (std::uint32_t m = 0; m < group.count; ++m) {
            const LocalId ghost = members_[group.first + m];
            PURVIEW_ASSERT(ghosts.is_held(ghost));
            PredictedMember member;
            member.ghost = ghost;
            member.kind = ghosts.kind(ghost);
            member.is_owned = ghosts.owned(ghost);
            member.frame = ghosts.frame_of(ghost);
            if (member.frame != no_local_id) member.frame_since = ghosts.since(member.frame);
            member.since = ghosts.since(ghost);
            // Parents come before their children.
            const std::size_t above = frame.row_of(ghosts.parent(ghost));
            if (above >= first && above < frame.members.size())
                member.parent = static_cast<std::uint16_t>(above - first);
            member.data_at = frame.before.add(past.layout().bytes(member.kind));
            const PredictedMember* before = last == nullptr ? nullptr : last->find(ghost);
            if (before != nullptr && (before->kind != member.kind || before->since != member.since))
                before = nullptr;  // another ghost that had this id
            member.first = before == nullptr ? frame.tick : before->first;
            if (member.is_owned && before != nullptr && before->is_owned) {
                std::byte* data = frame.before.at(member.data_at);
                std::copy_n(last->after.at(before->data_at), past.layout().bytes(member.kind),
                            data);
                if (!member.has_frame_of(*before)) change_frame(*last, member, data);
            } else {
                sample(ghost, member.kind, frame.before.at(member.data_at));
            }
            frame.members.push_back(member);
        }
    }
    PURVIEW_ASSERT(frame.members.size() == frame.rows.size());
    for (const InputPart& part : input.parts) {
        PURVIEW_ASSERT(frame.find(part.ghost) != nullptr);
        const ComponentDef& its = def.schema->inputs()[index_of(part.input)];
        PredictedMember& member = frame.members[frame.row_of(part.ghost)];
        const std::uint32_t at = frame.parts.add(its.size_bytes);
        member.part_at[input_slot(def.schema->kinds()[index_of(member.kind)], part.input)] = at;
        struct_of_words(its, input.words.data() + part.words_at, frame.parts.at(at));
    }
}

Status PredictionData::run_tick() {
    if (due_ == 0 || !is_ready()) return Status::not_ready;
    InputOutbox& outbox = client->inputs.outbox;
    is_full_ = !outbox.has_room();
    if (is_full_) return Status::capacity;
    update_groups();
    build_input(next_);
    if (command_bits(*def.schema, next_) > limits::command_bytes * 8) {
        parts_.clear();
        return Status::too_large;
    }
    --due_;
    PredictedFrame& frame = past.begin();
    fill(frame, next_);
    PURVIEW_ASSERT(next_.groups.size() == frame.groups.size());
    past.step(frame, def.step, false);
    for (std::size_t g = 0; g < next_.groups.size(); ++g)
        next_.groups[g].digest = frame.groups[g].digest;
    next_.tick = frame.tick;
    next_.has_digests = def.step != nullptr;
    std::swap(*outbox.add(frame.tick), next_);
    parts_.clear();
    return Status::ok;
}

// -- queries -------------------------------------------------------------------------------------

const PredictedMember* PredictionData::newest_member(LocalId ghost) const noexcept {
    const PredictedFrame* frame = past.frame(past.newest());
    return frame == nullptr || def.step == nullptr ? nullptr : member_of(*frame, ghost);
}

const PredictedMember* PredictionData::find_in(const PredictedFrame& frame,
                                               LocalId ghost) const noexcept {
    const PredictedMember* member = frame.find(ghost);
    return member != nullptr && is_it(ghost, member->since) ? member : nullptr;
}

/// Like find_in, but null if the client did not own the ghost in that frame.
const PredictedMember* PredictionData::member_of(const PredictedFrame& frame,
                                                 LocalId ghost) const noexcept {
    const PredictedMember* member = find_in(frame, ghost);
    return member != nullptr && member->is_owned ? member : nullptr;
}

const std::byte* PredictionData::component_at(const PredictedFrame& frame,
                                              const PredictedMember& member,
                                              ComponentId component) const noexcept {
    for (const PredictedPart& part : past.layout().parts(member.kind)) {
        if (part.component == component) return frame.after.at(member.data_at) + part.offset;
    }
    return nullptr;
}

bool PredictionData::predicted_position(InputNumber tick, LocalId ghost, Vec3& out) const noexcept {
    const PredictedFrame* frame = past.frame(tick);
    const PredictedMember* member = frame == nullptr ? nullptr : member_of(*frame, ghost);
    if (member == nullptr || def.schema->position() == ComponentId::none) return false;
    const std::byte* position = component_at(*frame, *member, def.schema->position());
    if (position == nullptr) return false;
    std::copy_n(position, sizeof out, reinterpret_cast<std::byte*>(&out));
    return true;
}

Pose PredictionData::error_of(LocalId member, Micros at) const noexcept {
    if (member == no_local_id || def.error_half_life_ms == 0) return {};
    const VisualError* visual = visual_errors_.find(member);
    if (visual == nullptr || !is_it(member, visual->since)) return {};
    const double lives = static_cast<double>(at > visual->from ? at - visual->from : 0) /
                         (def.error_half_life_ms * 1000.0);
    const double left = std::exp2(-lives);
    return {plus({}, visual->error.position, static_cast<float>(left)),
            slerp({}, visual->error.turn, left)};
}

bool PredictionData::predicted_turn(InputNumber tick, LocalId ghost, Rotation& out) const noexcept {
    const PredictedFrame* frame = past.frame(tick);
    const PredictedMember* member = frame == nullptr ? nullptr : member_of(*frame, ghost);
    if (member == nullptr) return false;
    const OrientationDef& turn = def.schema->kinds()[index_of(member->kind)].orientation;
    if (turn.component == ComponentId::none) return false;
    const std::byte* data = component_at(*frame, *member, turn.component);
    if (data == nullptr) return false;
    const ComponentDef& owner = def.schema->components()[index_of(turn.component)];
    out = orientation_in(turn, owner.fields[turn.field], data);
    return true;
}

/// The pose of a ghost that is not predicted, as received: relative to its frame, or in the world.
Pose PredictionData::viewed_pose(LocalId ghost, Micros at) const noexcept {
    const ClientGhosts& ghosts = client->replica->ghosts;
    const double tick = view.tick(at);
    const Tick updated = ghosts.updated(ghost);
    Pose pose = client->replica->poses.received_pose_at(ghost, tick);
    // Extrapolates only ghosts that moved until the newest snapshot, and nothing after packets
    // without a snapshot (is_quiet).
    if (tick <= client->newest_tick || updated + 1 < client->newest_tick) return pose;
    if (client->is_quiet || client->replica->poses.did_jump(ghost)) return pose;
    const double on = std::min<double>(tick - updated, def.extrapolate_ticks_max);
    pose.position = plus(pose.position, client->replica->poses.received_velocity(ghost),
                         static_cast<float>(on));
    return pose;
}

/// A ghost relative to a predicted ghost follows the drawn pose of that ghost, not the last
/// received one.
Pose PredictionData::pose_of(LocalId ghost, Micros at, unsigned below) const noexcept {
    if (!client->has_values(ghost)) return {};
    const ClientGhosts& ghosts = client->replica->ghosts;
    const PredictedMember* const member = newest_member(ghost);
    Pose pose = viewed_pose(ghost, at);
    LocalId frame = ghosts.frame_of(ghost);
    if (member != nullptr && has_frame(*member)) {
        const auto part = part_of_tick(at);
        const Pose error = error_of(ghost, at);
        if (shown_turn(ghost, at, pose.turn)) pose.turn = composed(error.turn, pose.turn);
        Vec3 newer;
        if (predicted_position(past.newest(), ghost, newer)) {
            frame = member->frame;
            const Vec3 older = position_before(ghost, newer);
            pose.position = plus(plus(plus(older, older, -part), newer, part), error.position, 1);
        }
    }
    if (frame == no_local_id || below == limits::group_depth) return pose;
    return positioned_within(pose_of(frame, at, below + 1), pose, ghosts.has_orientation(ghost));
}

// -- the public class ---------------------------------------------------------------------------

Prediction::Prediction(std::unique_ptr<PredictionData> data) noexcept : data_(std::move(data)) {}
Prediction::Prediction(Prediction&&) noexcept = default;
Prediction& Prediction::operator=(Prediction&&) noexcept = default;
Prediction::~Prediction() = default;

Result<Prediction> Prediction::create(Client& client, const PredictionDef& def) {
    if (def.schema == nullptr || !def.schema->problem().empty() || def.buffer_target == 0 ||
        !(def.view_delay_ticks >= 0) || !(def.extrapolate_ticks_max >= 0)) {
        return Status::bad_configuration;
    }
    return Prediction(std::make_unique<PredictionData>(internal(client), def));
}

unsigned Prediction::ticks_due(Micros now) {
    return data_->ticks_due(now);
}
Status Prediction::set_part(GhostId member, InputId input, std::span<const std::byte> part) {
    return data_->set_part(local_id_of(member), input, part);
}
Status Prediction::run_tick() {
    return data_->run_tick();
}
bool Prediction::is_predicted(GhostId member) const noexcept {
    return data_->newest_member(local_id_of(member)) != nullptr;
}
std::span<const GhostId> Prediction::input_order(GhostId root) {
    return data_->input_order(local_id_of(root));
}
const void* Prediction::read(GhostId member, ComponentId component,
                             InputNumber tick) const noexcept {
    const PredictedFrame* frame = data_->past.frame(tick);
    const PredictedMember* its =
        frame == nullptr ? nullptr : data_->find_in(*frame, local_id_of(member));
    return its == nullptr ? nullptr : data_->component_at(*frame, *its, component);
}
GroupState Prediction::state_at(GhostId root, InputNumber tick) noexcept {
    PredictedFrame* frame = data_->past.frame(tick);
    if (frame == nullptr) return {};
    for (const PredictedGroup& group : frame->groups) {
        if (group.root == local_id_of(root) && data_->find_in(*frame, group.root) != nullptr)
            return data_->past.state_of(*frame, group);
    }
    return {};
}
InputNumber Prediction::newest_input() const noexcept {
    return data_->past.newest();
}
double Prediction::view_tick(Micros now) const noexcept {
    return data_->view.tick(now);
}
Vec3 Prediction::position_of(GhostId ghost, Micros now) const noexcept {
    return data_->pose_of(local_id_of(ghost), now).position;
}
Rotation Prediction::orientation_of(GhostId ghost, Micros now) const noexcept {
    return data_->pose_of(local_id_of(ghost), now).turn;
}
Vec3 Prediction::error_of(GhostId member) const noexcept {
    return data_->error_of(local_id_of(member), data_->now).position;
}
PredictionStats Prediction::stats() const noexcept {
    PredictionStats stats = data_->stats;
    stats.newest_input = data_->past.newest();
    stats.consumed = data_->client->inputs.outbox.consumed();
    stats.waiting = data_->client->inputs.waiting;
    stats.rate = data_->commands.rate();
    return stats;
}

}  // namespace purview
