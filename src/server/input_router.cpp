// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/input_router.hpp"

#include <algorithm>
#include <cstring>

#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "core/mutate.hpp"
#include "link/messages.hpp"
#include "protocol/quantize.hpp"
#include "protocol/rpc_args.hpp"
#include "world/world_data.hpp"

namespace purview {

namespace {

constexpr std::size_t correction_bytes_max = message_bytes_max;
/// A client's view may be this far ahead of the acknowledged tick: a snapshot in flight, or
/// extrapolation.
constexpr Tick view_ahead_ticks_max = 4;

/// Returns the local id of a member that was sent to the client, else no_local_id, because an id
/// that was never sent may be reassigned. A resumed ghost counts only after its resume was sent.
LocalId sent_slot(const Session& session, EntityId member) noexcept {
    const LocalId slot = session.ghosts.slots().find(member);
    return slot != no_local_id && session.ghosts.sends().was_sent(slot) ? slot : no_local_id;
}

/// Returns the number with these low 16 bits that is nearest to `near`.
std::uint32_t complete(std::uint16_t low, std::uint32_t near) noexcept {
    const auto distance = static_cast<std::int16_t>(low - static_cast<std::uint16_t>(near));
    return near + static_cast<std::uint32_t>(distance);
}

}  // namespace

// -- receiving ----------------------------------------------------------------------------------

/// Resolves a local id to the entity that it meant when the packet arrived.
EntityId InputRouter::resolve(const Session& session, LocalId ghost) const noexcept {
    const bool is_known = ghost < session.ghosts.slots().end() &&
                          session.ghosts.slots().is_held(ghost) &&
                          session.ghosts.slots().is_live(ghost);
    return is_known ? session.ghosts.slots().entity(ghost) : EntityId::none;
}

double InputRouter::bounded_view(const Session& session, std::uint32_t view_low) {
    // The tick with these low bits that is nearest to the current one, in sixteenths of a tick.
    const std::uint32_t near = time_.tick * 16;
    constexpr unsigned above = 32 - view_bits;
    const auto distance = static_cast<std::int32_t>((view_low - near) << above) >> above;
    const double claimed = time_.tick + distance / 16.0;
    const Tick seen = session.arrival.delivered_tick;
    const double newest = std::min(seen + view_ahead_ticks_max, time_.tick);
    const double oldest = static_cast<double>(seen) - def_.rewind.rewind_ticks_max;
    const double view = std::clamp(claimed, std::max(0.0, oldest), std::max({0.0, oldest, newest}));
    if (view != claimed) ++rewind_counters_.cut;
    return PURVIEW_GUARD_OR(view_bounds, view, std::max(0.0, claimed));
}

void InputRouter::take(Session& session) {
    InputPacket& packet = packet_;
    PURVIEW_ASSERT(session.state == Session::State::joined);
    PURVIEW_ASSERT(packet.count <= packet.frames.size());
    if (session.inputs == nullptr) session.inputs = std::make_unique<SessionInputs>();
    InputQueue& queue = session.inputs->queue;
    const InputNumber newest = complete(packet.newest, queue.newest());
    for (std::size_t f = 0; f < packet.count; ++f) {
        InputFrame& frame = packet.frames[f];
        const auto behind = static_cast<std::uint32_t>(packet.count - 1 - f);
        if (newest <= behind) continue;  // before the first input
        frame.tick = newest - behind;
        if (queue.is_new(frame.tick)) {
            frame.view_tick = bounded_view(session, frame.view_low);
            for (InputGroup& group : frame.groups) group.entity = resolve(session, group.root);
            for (InputPart& part : frame.parts) part.entity = resolve(session, part.ghost);
        }
        (void)queue.push(frame, def_.input, counters_);
    }
}

// -- one tick -----------------------------------------------------------------------------------

void InputRouter::run(Server& server, Session& session) {
    if (session.inputs == nullptr) return;
    InputQueue& queue = session.inputs->queue;
    queue.begin_tick();
    while (InputFrame* frame = queue.take(def_.input, counters_)) {
        wrong_.clear();
        for (std::size_t g = 0; g < frame->groups.size(); ++g) {
            const InputGroup& group = frame->groups[g];
            const bool is_first = std::none_of(
                frame->groups.begin(), frame->groups.begin() + static_cast<std::ptrdiff_t>(g),
                [&](const InputGroup& other) { return other.entity == group.entity; });
            if (!PURVIEW_GUARD(command_group_once, group.entity == EntityId::none || is_first)) {
                ++counters_.named_twice;
                continue;
            }
            run_group(server, session, *frame, group, queue.consumed());
            if (session.state != Session::State::joined) return;
        }
        if (!wrong_.empty()) send_correction(session, queue.consumed());
    }
}

/// Collects the members of a group and their components in the world. Returns false if the client
/// owns no member that is relevant to it.
bool InputRouter::bind_group(const Session& session, const InputGroups::Group& group) {
    PURVIEW_ASSERT(group.parents.size() == group.members.size());
    const std::size_t stride = layout_.stride();
    members_.clear();
    components_.assign(group.members.size() * stride, nullptr);
    const std::size_t slots = layout_.input_slots();
    parts_.assign(group.members.size() * slots, {});
    positions_.resize(group.members.size());
    bool owns_any = false;
    for (std::size_t m = 0; m < group.members.size(); ++m) {
        const std::uint32_t index = index_of(group.members[m]);
        const bool owned = internal(world_).entities.owner_at(index) == session.observer;
        owns_any |= owned && session.ghosts.slots().find(group.members[m]) != no_local_id;
        members_.push_back({internal(world_).entities.kind_at(index), group.parents[m], owned,
                            static_cast<std::uint64_t>(group.members[m])});
        const auto taken = layout_.inputs(members_[m].kind);
        for (std::size_t s = 0; s < taken.size(); ++s) parts_[m * slots + s].input = taken[s];
        positions_[m].parent = EntityId::none;
        for (const PredictedPart& part : layout_.parts(members_[m].kind)) {
            components_[m * stride + part.rank] =
                part.is_position && copy_local_position(index, part, positions_[m])
                    ? positions_[m].data.data()
                    : internal(world_).components.component_at(index, part.component);
        }
    }
    return owns_any;
}

/// Copies a position that is sent relative to its parent. Returns false if it is not relative.
bool InputRouter::copy_local_position(std::uint32_t index, const PredictedPart& part,
                                      LocalPosition& position) {
    constexpr std::size_t position_bytes = sizeof(LocalPosition::before);
    PURVIEW_ASSERT(part.is_position && part.def->size_bytes >= position_bytes);
    if (!internal(world_).positions.is_relative(index)) return false;
    position.parent = internal(world_).groups.parent_at(index);
    position.before = internal(world_).positions.local_position_now(index);
    std::memcpy(position.data.data(),
                internal(world_).components.component_at(index, part.component),
                part.def->size_bytes);
    std::memcpy(position.data.data(), &position.before, sizeof position.before);
    return true;
}

/// Applies the relative position after the step. A member that the step did not move follows its
/// parent.
std::uint64_t InputRouter::settle_local_position(std::uint32_t index, const PredictedPart& part,
                                                 LocalPosition& position, std::uint64_t digest) {
    WorldData& data = internal(world_);
    PURVIEW_ASSERT(data.positions.is_relative(index));
    // The game may have moved the entity in the world, or changed its parent.
    if (data.groups.parent_at(index) != position.parent ||
        data.positions.local_position_now(index) != position.before)
        (void)copy_local_position(index, part, position);
    digest = settle_part(part, true, position.data.data(), digest);
    Vec3 local;
    std::memcpy(&local, position.data.data(), sizeof local);
    std::byte* const its = data.components.component_at(index, part.component);
    const std::byte* const rest = position.data.data() + sizeof local;
    const std::size_t remaining_bytes = part.def->size_bytes - sizeof local;
    if (local == position.before && std::memcmp(its + sizeof local, rest, remaining_bytes) == 0)
        return digest;
    std::memcpy(its + sizeof local, rest, remaining_bytes);
    (void)data.positions.set_local_position(data.entities.at_index(index), local);
    return digest;
}

/// Passes a valid part to its member. An invalid part is refused and counted; the rest of the input
/// stays valid (O17).
void InputRouter::bind_part(const Session& session, const InputGroup& group, const InputPart& part,
                            std::span<const std::uint32_t> words, std::byte* room) {
    InputCounters& counters = counters_;
    if (part.entity == EntityId::none || !world_.is_alive(part.entity)) {
        ++counters.unknown_ghost;
        return;
    }
    const std::uint32_t index = index_of(part.entity);
    if (!PURVIEW_GUARD(part_group, internal(world_).groups.root_at(index) == group.entity)) {
        ++counters.not_in_group;
        return;
    }
    if (!PURVIEW_GUARD(part_owner, internal(world_).entities.owner_at(index) == session.observer)) {
        ++counters.not_owned;
        return;
    }
    if (!PURVIEW_GUARD(part_switch, groups_.is_in_input(part.entity))) {
        ++counters.switched_off;
        return;
    }
    const std::size_t slots = layout_.input_slots();
    const std::size_t position = groups_.position(part.entity);
    const KindDef& kind = internal(world_).entities.kind_def_at(index);
    std::size_t slot = input_slot(kind, part.input);
    const bool takes_it = slot < kind.inputs.size();
    if (!PURVIEW_GUARD(part_input, takes_it)) {
        ++counters.wrong_input;
        return;
    }
    if (!takes_it) slot = 0;  // only in test builds without the guard
    if (position >= members_.size() || parts_[position * slots + slot].data != nullptr) {
        ++counters.wrong_input;
        return;
    }
    const ComponentDef& input = def_.schema->inputs()[index_of(part.input)];
    struct_of_words(input, words.data() + part.words_at, room);
    parts_[position * slots + slot] = {part.input, room};
    ++counters.parts;
}

void InputRouter::run_group(Server& server, Session& session, const InputFrame& frame,
                            const InputGroup& command, InputNumber tick) {
    InputCounters& counters = counters_;
    if (command.entity == EntityId::none || !world_.is_alive(command.entity)) {
        ++counters.unknown_ghost;
        return;
    }
    if (!PURVIEW_GUARD(command_root, world_.root_of(command.entity) == command.entity)) {
        ++counters.not_a_root;
        return;
    }
    if (!bind_group(session, groups_.group_of(command.entity, counters))) {
        ++counters.not_owned;
        return;
    }
    PURVIEW_ASSERT(command.parts_at + std::size_t{command.parts} <= frame.parts.size());
    constexpr std::size_t blocks_of_part =
        (Schema::component_bytes_max + PredictedLayout::align_bytes - 1) /
        PredictedLayout::align_bytes;
    part_data_.resize(std::max(part_data_.size(), command.parts * blocks_of_part));
    for (std::uint32_t p = 0; p < command.parts; ++p) {
        bind_part(session, command, frame.parts[command.parts_at + p], frame.words,
                  part_data_[p * blocks_of_part].bytes.data());
    }
    GroupState state(members_, components_, layout_.rank(), layout_.stride(), true);
    ++counters.groups;
    game_.on_input(server, session.observer, state,
                   GroupInput(tick, frame.view_tick, false, parts_, layout_.input_slots()));
    const std::uint16_t digest = settle_group(session, tick);
    if (!frame.has_digests || session.inputs == nullptr) return;
    SessionInputs& its = *session.inputs;
    // Inputs from before the client received the last correction carry no new information.
    if (frame.corrections != its.corrections) return;
    SessionInputs::KnownGroup* const known = its.find(command.entity);
    const bool is_current =
        known != nullptr && known->membership == known_membership(session, command.entity);
    if (known != nullptr && !is_current) known->agreed = 0;
    if (is_current && digest == command.digest) {
        known->agreed = time_.tick;
        known->is_predicted = true;
        return;
    }
    wrong_.push_back(command.entity);
}

/// Hash of the group members that were sent to this client, as a correction contains them. Hidden
/// members must not affect whether a correction is sent. Returns 0 if the group no longer exists.
std::uint64_t InputRouter::known_membership(const Session& session, EntityId root) {
    if (!world_.is_alive(root) || world_.root_of(root) != root) return 0;
    std::uint64_t hash = 0;
    for (const EntityId member : groups_.group_of(root, counters_).members) {
        const LocalId slot = sent_slot(session, member);
        if (!PURVIEW_GUARD(hidden_members, slot != no_local_id)) continue;
        const bool owned = internal(world_).entities.owner_at(index_of(member)) == session.observer;
        const bool in_input = groups_.is_in_input(member);
        hash =
            combine64(hash, (std::uint64_t{slot} << 2) | (owned ? 2U : 0U) | (in_input ? 1U : 0U));
        hash = combine64(hash, static_cast<std::uint64_t>(member));
    }
    return hash;
}

/// Quantizes the stepped state, so that the client can compute the same values.
std::uint16_t InputRouter::settle_group(const Session& session, InputNumber tick) {
    PURVIEW_ASSERT(positions_.size() == members_.size());
    std::uint64_t digest = tick;
    for (std::size_t m = 0; m < members_.size(); ++m) {
        const GroupMember& member = members_[m];
        const auto entity = EntityId{member.name};
        if (!member.is_owned || !world_.is_alive(entity)) continue;
        const bool counts = sent_slot(session, entity) != no_local_id;
        if (counts) digest = settle_kind(member.kind, digest);
        const std::uint32_t index = index_of(entity);
        for (const PredictedPart& part : layout_.parts(member.kind)) {
            std::uint64_t after = digest;
            if (part.is_position && internal(world_).positions.is_relative(index)) {
                after = settle_local_position(index, part, positions_[m], digest);
            } else {
                after = settle_part(part, false,
                                    internal(world_).components.component_at(index, part.component),
                                    digest);
                internal(world_).components.mark_dirty(index, part.component);
            }
            if (counts) digest = after;
        }
    }
    return static_cast<std::uint16_t>(digest);
}

/// Updates what the client knows of the group. If the table is full, replaces the least recently
/// updated group.
void InputRouter::note_membership(Session& session, EntityId root) {
    SessionInputs::KnownGroup* its = session.inputs->find(root);
    if (its == nullptr) {
        const auto updated = [&](const SessionInputs::KnownGroup& one) {
            const bool is_known = sent_slot(session, one.root) != no_local_id;
            return is_known ? std::max(one.sent, one.agreed) : 0;
        };
        auto& known = session.inputs->known;
        its = &*std::min_element(
            known.begin(), known.end(),
            [&](const auto& one, const auto& other) { return updated(one) < updated(other); });
        if (audiences_.has_unpredicted() && its->is_predicted && world_.is_alive(its->root)) {
            internal(world_).groups.for_each_in_group(index_of(its->root), [&](EntityId member) {
                audiences_.note_changed(index_of(member));
            });
        }
        *its = {root};
    }
    const std::uint64_t membership = known_membership(session, root);
    // A client that predicted the group continues from the correction.
    const bool goes_on = its->is_predicted && its->agreed != 0 && its->membership == membership;
    *its = {root, membership, time_.tick, goes_on ? time_.tick : 0, its->is_predicted};
}

/// Sends a correction for the groups in wrong_: the members that the client has, in input order,
/// with the whole predicted state of those that it owns. The values are already quantized.
void InputRouter::send_correction(Session& session, InputNumber tick) {
    PURVIEW_ASSERT(session.inputs != nullptr && !wrong_.empty());
    message_.resize(correction_bytes_max);
    BitWriter out(message_);
    out.u8(static_cast<std::uint8_t>(ServerMessage::correction));
    out.u16(static_cast<std::uint16_t>(tick));
    out.varint(wrong_.size());
    for (const EntityId root : wrong_) {
        const LocalId root_slot = sent_slot(session, root);
        const bool is_whole = world_.is_alive(root) && world_.root_of(root) == root;
        out.boolean(is_whole && root_slot != no_local_id);
        if (!is_whole || root_slot == no_local_id) continue;
        const InputGroups::Group& group = groups_.group_of(root, counters_);
        const auto slot_of = [&](EntityId member) { return sent_slot(session, member); };
        out.varint(static_cast<std::uint64_t>(
            std::count_if(group.members.begin(), group.members.end(),
                          [&](EntityId member) { return slot_of(member) != no_local_id; })));
        for (const EntityId member : group.members) {
            if (slot_of(member) == no_local_id) continue;
            const std::uint32_t index = index_of(member);
            const KindId kind = internal(world_).entities.kind_at(index);
            out.varint(slot_of(member));
            out.bits(index_of(kind), kind_bits(*def_.schema));
            out.boolean(groups_.is_in_input(member));
            const bool owned = internal(world_).entities.owner_at(index) == session.observer;
            out.boolean(owned);
            if (!owned) continue;
            const bool in_frame = internal(world_).positions.is_relative(index);
            if (internal(world_).entities.kind_def_at(index).relative_position) {
                const LocalId parent =
                    in_frame ? slot_of(internal(world_).groups.parent_at(index)) : no_local_id;
                // The member's own id as frame means that the position is relative to an entity
                // that the client does not have.
                const LocalId frame = parent == no_local_id ? slot_of(member) : parent;
                out.varint(in_frame ? frame + 1 : 0);
            }
            LocalPosition local;
            for (const PredictedPart& part : layout_.parts(kind)) {
                const std::byte* its =
                    internal(world_).components.component_at(index, part.component);
                if (part.is_position && copy_local_position(index, part, local))
                    its = local.data.data();
                words_.resize(part.words);
                words_of_part(part, its, in_frame, words_.data());
                write_words(*part.def, words_.data(), out);
            }
        }
    }
    if (!out.ok()) {
        ++counters_.corrections_too_large;
        return;
    }
    if (out.bytes_written() + stream_bytes_kept > session.stream_out.room() ||
        session.stream_out.send(out.written()) != Status::ok) {
        return;
    }
    for (const EntityId root : wrong_) note_membership(session, root);
    ++session.inputs->corrections;
    ++counters_.corrections;
}

// -- sending ------------------------------------------------------------------------------------

void InputRouter::write_state(const Session& session, BitWriter& out) {
    if (session.inputs == nullptr || !session.inputs->queue.is_active()) return;
    const InputQueue& queue = session.inputs->queue;
    const std::size_t begun = out.bits_written();
    out.boolean(true);
    out.u16(static_cast<std::uint16_t>(queue.consumed()));
    out.bits(std::min<std::uint32_t>(queue.waiting(), 31), 5);
    out.boolean(queue.is_starved());
    PURVIEW_ASSERT(!out.ok() || out.bits_written() - begun == state_bits(session));
}

std::uint64_t InputRouter::state_bits(const Session& session) noexcept {
    return session.inputs != nullptr && session.inputs->queue.is_active() ? input_state_bits_max
                                                                          : 0;
}

}  // namespace purview
