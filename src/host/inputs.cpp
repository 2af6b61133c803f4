// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Commands for groups on the server: taken from packets into queues, one a tick from the queues to
// the game, and back to their client what came of them, where it had predicted something else.
#include <algorithm>
#include <cstring>

#include "core/hash.hpp"
#include "core/mutate.hpp"
#include "host/server_data.hpp"
#include "link/messages.hpp"
#include "replication/rpc_args.hpp"
#include "wire/quantise.hpp"

namespace purview {

namespace {

constexpr std::size_t correction_bytes_max = message_bytes_max;
/// A view may be ahead of what is acknowledged: of a snapshot on its way, or extrapolated.
constexpr Tick view_ahead_ticks_max = 4;

/// An owner with whom the server has not agreed for so long does not predict the group any more.
Tick predicted_ticks_max(std::uint32_t tick_hz) noexcept {
    return std::max<Tick>(4, tick_hz / 2);
}

/// What the client was told of the group last, or null.
SessionInputs::Told* told_of(SessionInputs& inputs, EntityId root) noexcept {
    const auto of_it = [&](const SessionInputs::Told& one) { return one.root == root; };
    const auto found = std::find_if(inputs.told.begin(), inputs.told.end(), of_it);
    return found == inputs.told.end() ? nullptr : &*found;
}

/// Of a member that the client has been told of, or no_local_id: until then its id may still become
/// another's. One whose copy was kept does not count until it is told to go on: he has it only if
/// the news that it left was lost.
LocalId sent_lane(const Session& session, EntityId member) noexcept {
    const LocalId lane = session.ghosts.find(member);
    return lane != no_local_id && session.ghosts.was_sent(lane) ? lane : no_local_id;
}

/// The number with these low bits that is nearest to a known one.
std::uint32_t complete(std::uint16_t low, std::uint32_t near) noexcept {
    const auto distance = static_cast<std::int16_t>(low - static_cast<std::uint16_t>(near));
    return near + static_cast<std::uint32_t>(distance);
}

}  // namespace

// -- the way in ---------------------------------------------------------------------------------

/// What the client names, as it meant it when the packet arrived.
EntityId ServerData::resolve_named(const Session& session, LocalId ghost) const noexcept {
    const bool is_known = ghost < session.ghosts.lane_end() && session.ghosts.is_held(ghost) &&
                          session.ghosts.is_live(ghost);
    return is_known ? session.ghosts.entity(ghost) : EntityId::none;
}

double ServerData::bounded_view(const Session& session, std::uint32_t view_low) {
    // The number with these low bits that is nearest to now; all in sixteenths.
    const std::uint32_t near = tick_number * 16;
    constexpr unsigned above = 32 - view_bits;
    const auto distance = static_cast<std::int32_t>((view_low - near) << above) >> above;
    const double claimed = tick_number + distance / 16.0;
    const Tick seen = session.newest_delivered_tick;
    const double newest = std::min(seen + view_ahead_ticks_max, tick_number);
    const double oldest = static_cast<double>(seen) - def.rewind.behind_ticks_max;
    const double view = std::clamp(claimed, std::max(0.0, oldest), std::max({0.0, oldest, newest}));
    if (view != claimed) ++rewind.counters.cut;
    return PURVIEW_GUARD_OR(view_bounds, view, std::max(0.0, claimed));
}

void ServerData::take_inputs(Session& session) {
    InputPacket& packet = inputs.packet;
    if (!body_.has_inputs || session.state != Session::State::joined) return;
    if (session.inputs == nullptr) session.inputs = std::make_unique<SessionInputs>();
    InputQueue& queue = session.inputs->queue;
    const CommandTick newest = complete(packet.newest, queue.newest());
    for (std::size_t f = 0; f < packet.count; ++f) {
        InputFrame& frame = packet.frames[f];
        const auto behind = static_cast<std::uint32_t>(packet.count - 1 - f);
        if (newest <= behind) continue;  // before the first one
        frame.tick = newest - behind;
        if (queue.is_new(frame.tick)) {
            frame.view_tick = bounded_view(session, frame.view_low);
            for (InputGroup& group : frame.groups)
                group.entity = resolve_named(session, group.root);
            for (InputPart& part : frame.parts) part.entity = resolve_named(session, part.ghost);
        }
        (void)queue.push(frame, def.input, inputs.counters);
    }
}

// -- one tick -----------------------------------------------------------------------------------

void ServerData::run_inputs(Server& server, Session& session) {
    if (session.inputs == nullptr) return;
    InputQueue& queue = session.inputs->queue;
    queue.begin_tick();
    while (InputFrame* frame = queue.take(def.input, inputs.counters)) {
        inputs.wrong.clear();
        for (std::size_t g = 0; g < frame->groups.size(); ++g) {
            const InputGroup& group = frame->groups[g];
            const bool is_first = std::none_of(
                frame->groups.begin(), frame->groups.begin() + static_cast<std::ptrdiff_t>(g),
                [&](const InputGroup& other) { return other.entity == group.entity; });
            if (!PURVIEW_GUARD(command_group_once, group.entity == EntityId::none || is_first)) {
                ++inputs.counters.named_twice;
                continue;
            }
            run_group(server, session, *frame, group, queue.consumed());
            if (session.state != Session::State::joined) return;
        }
        if (!inputs.wrong.empty()) send_correction(session, queue.consumed());
    }
}

/// The members of a group with their components in the world. False: the client has no say in it.
bool ServerData::bind_group(const Session& session, const InputGroups::Group& group) {
    const std::size_t stride = inputs.layout.stride();
    inputs.members.clear();
    inputs.components.assign(group.members.size() * stride, nullptr);
    inputs.parts.assign(group.members.size(), {});
    inputs.places.resize(group.members.size());
    bool owns_any = false;
    for (std::size_t m = 0; m < group.members.size(); ++m) {
        const std::uint32_t index = index_of(group.members[m]);
        const bool owned = world.data().owner_at(index) == session.observer;
        owns_any |= owned && session.ghosts.find(group.members[m]) != no_local_id;
        inputs.members.push_back({world.data().kind_at(index), group.parents[m], owned,
                                  static_cast<std::uint64_t>(group.members[m])});
        inputs.places[m].parent = EntityId::none;
        for (const PredictedPart& part : inputs.layout.parts(inputs.members[m].kind)) {
            inputs.components[m * stride + part.rank] =
                part.is_place && copy_local_place(index, part, inputs.places[m])
                    ? inputs.places[m].data.data()
                    : world.data().component_at(index, part.component);
        }
    }
    return owns_any;
}

/// As it is told, where that is as seen from its parent. False: it is not.
bool ServerData::copy_local_place(std::uint32_t index, const PredictedPart& part,
                                  ServerInputs::LocalPlace& place) {
    if (!world.data().is_relative(index)) return false;
    place.parent = world.data().parent_at(index);
    place.before = world.data().local_place_now(index);
    std::memcpy(place.data.data(), world.data().component_at(index, part.component),
                part.def->size_bytes);
    std::memcpy(place.data.data(), &place.before, sizeof place.before);
    return true;
}

/// What the step made of it. Whoever it has not moved goes on with its parent.
std::uint64_t ServerData::settle_local_place(std::uint32_t index, const PredictedPart& part,
                                             ServerInputs::LocalPlace& place,
                                             std::uint64_t digest) {
    WorldData& data = world.data();
    // The game may have moved it, or put it below another, in the world itself.
    if (data.parent_at(index) != place.parent || data.local_place_now(index) != place.before)
        (void)copy_local_place(index, part, place);
    digest = settle_part(part, true, place.data.data(), digest);
    Vec3 local;
    std::memcpy(&local, place.data.data(), sizeof local);
    std::byte* const its = data.component_at(index, part.component);
    const std::byte* const rest = place.data.data() + sizeof local;
    const std::size_t rest_bytes = part.def->size_bytes - sizeof local;
    if (local == place.before && std::memcmp(its + sizeof local, rest, rest_bytes) == 0)
        return digest;
    std::memcpy(its + sizeof local, rest, rest_bytes);
    (void)data.set_local_place(data.at_index(index), local);
    return digest;
}

/// A part that the client may say goes to its member; every other one is refused and counted, and
/// the rest of the command holds (O17).
void ServerData::bind_part(const Session& session, const InputGroup& group, const InputPart& part,
                           std::span<const std::uint32_t> words, std::byte* room) {
    InputCounters& counters = inputs.counters;
    if (part.entity == EntityId::none || !world.is_alive(part.entity)) {
        ++counters.unknown_ghost;
        return;
    }
    const std::uint32_t index = index_of(part.entity);
    if (!PURVIEW_GUARD(part_group, world.data().root_at(index) == group.entity)) {
        ++counters.not_in_group;
        return;
    }
    if (!PURVIEW_GUARD(part_owner, world.data().owner_at(index) == session.observer)) {
        ++counters.not_owned;
        return;
    }
    if (!PURVIEW_GUARD(part_switch, inputs.groups.is_in_input(part.entity))) {
        ++counters.switched_off;
        return;
    }
    const std::size_t position = inputs.groups.position(part.entity);
    const bool takes_it = world.data().kind_def_at(index).input == part.input;
    if (position >= inputs.parts.size() || !PURVIEW_GUARD(part_input, takes_it) ||
        inputs.parts[position].data != nullptr) {
        ++counters.wrong_input;
        return;
    }
    const ComponentDef& input = def.schema->inputs()[index_of(part.input)];
    struct_of_words(input, words.data() + part.words_at, room);
    inputs.parts[position] = {part.input, room};
    ++counters.parts;
}

void ServerData::run_group(Server& server, Session& session, const InputFrame& frame,
                           const InputGroup& command, CommandTick tick) {
    InputCounters& counters = inputs.counters;
    if (command.entity == EntityId::none || !world.is_alive(command.entity)) {
        ++counters.unknown_ghost;
        return;
    }
    if (!PURVIEW_GUARD(command_root, world.root_of(command.entity) == command.entity)) {
        ++counters.not_a_root;
        return;
    }
    if (!bind_group(session, inputs.groups.group_of(command.entity, counters))) {
        ++counters.not_owned;
        return;
    }
    constexpr std::size_t blocks_of_part =
        (Schema::component_bytes_max + PredictedLayout::align_bytes - 1) /
        PredictedLayout::align_bytes;
    inputs.part_data.resize(std::max(inputs.part_data.size(), command.parts * blocks_of_part));
    for (std::uint32_t p = 0; p < command.parts; ++p) {
        bind_part(session, command, frame.parts[command.parts_at + p], frame.words,
                  inputs.part_data[p * blocks_of_part].bytes.data());
    }
    GroupState state(inputs.members, inputs.components, inputs.layout.rank(),
                     inputs.layout.stride(), true);
    ++counters.groups;
    game_->input(server, session.observer, state,
                 GroupCommand(tick, frame.view_tick, false, inputs.parts));
    const std::uint16_t digest = settle_group(session, tick);
    if (!frame.has_digests || session.inputs == nullptr) return;
    SessionInputs& its = *session.inputs;
    // What it commanded before it heard of the last correction says nothing new.
    if (frame.corrections != its.corrections) return;
    SessionInputs::Told* const told = told_of(its, command.entity);
    const bool knows =
        told != nullptr && told->membership == known_membership(session, command.entity);
    if (told != nullptr && !knows) told->agreed = 0;
    if (knows && digest == command.digest) {
        told->agreed = tick_number;
        told->is_predicted = true;
        return;
    }
    inputs.wrong.push_back(command.entity);
}

/// What a correction says of who is in the group, as far as this client may know: that somebody
/// hidden came or went must not show in whether it is sent. 0: there is no such group any more.
std::uint64_t ServerData::known_membership(const Session& session, EntityId root) {
    if (!world.is_alive(root) || world.root_of(root) != root) return 0;
    std::uint64_t hash = 0;
    for (const EntityId member : inputs.groups.group_of(root, inputs.counters).members) {
        const LocalId lane = sent_lane(session, member);
        if (!PURVIEW_GUARD(hidden_members, lane != no_local_id)) continue;
        const bool owned = world.data().owner_at(index_of(member)) == session.observer;
        const bool in_input = inputs.groups.is_in_input(member);
        hash =
            combine64(hash, (std::uint64_t{lane} << 2) | (owned ? 2U : 0U) | (in_input ? 1U : 0U));
        hash = combine64(hash, static_cast<std::uint64_t>(member));
    }
    return hash;
}

/// Cuts what was stepped to what the wire says, so that the client can come to the same.
std::uint16_t ServerData::settle_group(const Session& session, CommandTick tick) {
    std::uint64_t digest = tick;
    for (std::size_t m = 0; m < inputs.members.size(); ++m) {
        const GroupMember& member = inputs.members[m];
        const auto entity = EntityId{member.name};
        if (!member.is_owned || !world.is_alive(entity)) continue;
        const bool counts = sent_lane(session, entity) != no_local_id;
        if (counts) digest = settle_kind(member.kind, digest);
        const std::uint32_t index = index_of(entity);
        for (const PredictedPart& part : inputs.layout.parts(member.kind)) {
            std::uint64_t after = digest;
            if (part.is_place && world.data().is_relative(index)) {
                after = settle_local_place(index, part, inputs.places[m], digest);
            } else {
                after = settle_part(part, false, world.data().component_at(index, part.component),
                                    digest);
                world.data().mark_dirty(index, part.component);
            }
            if (counts) digest = after;
        }
    }
    return static_cast<std::uint16_t>(digest);
}

bool ServerData::is_predicted_now(const SessionInputs::Told& told) const noexcept {
    return told.agreed != 0 && tick_number - told.agreed <= predicted_ticks_max(def.tick_hz);
}

/// So the owner needs no updates of what he predicts (AudienceType::unpredicted).
bool ServerData::does_predict(const Session& session, std::uint32_t index) const noexcept {
    if (session.inputs == nullptr) return false;
    const LocalId lane = session.ghosts.find_at(index);
    if (lane == no_local_id || !session.ghosts.is_held(lane) || session.ghosts.is_away(lane))
        return false;
    const SessionInputs::Told* const told = told_of(*session.inputs, world.data().root_at(index));
    return told != nullptr && is_predicted_now(*told);
}

/// Of more groups than are remembered the one of which least was heard lately makes room.
void ServerData::note_membership(Session& session, EntityId root) {
    SessionInputs::Told* its = told_of(*session.inputs, root);
    if (its == nullptr) {
        const auto heard = [&](const SessionInputs::Told& one) {
            const bool is_known = sent_lane(session, one.root) != no_local_id;
            return is_known ? std::max(one.told, one.agreed) : 0;
        };
        auto& told = session.inputs->told;
        its = &*std::min_element(told.begin(), told.end(), [&](const auto& one, const auto& other) {
            return heard(one) < heard(other);
        });
        if (has_unpredicted_ && its->is_predicted && world.is_alive(its->root)) {
            world.data().for_each_in_group(
                index_of(its->root), [&](EntityId member) { note_owner_or_key(index_of(member)); });
        }
        *its = {root};
    }
    const std::uint64_t membership = known_membership(session, root);
    // Whoever predicted it until now goes on from what a correction says.
    const bool goes_on = its->is_predicted && its->agreed != 0 && its->membership == membership;
    *its = {root, membership, tick_number, goes_on ? tick_number : 0, its->is_predicted};
}

/// All members that the client has been told of, in the order of input; of those that it owns the
/// whole predicted state (O18). Values are those that the wire can say: they were just cut to it.
void ServerData::send_correction(Session& session, CommandTick tick) {
    inputs.message.resize(correction_bytes_max);
    BitWriter out(inputs.message);
    out.u8(static_cast<std::uint8_t>(ServerMessage::correction));
    out.u16(static_cast<std::uint16_t>(tick));
    out.varint(inputs.wrong.size());
    for (const EntityId root : inputs.wrong) {
        const LocalId root_lane = sent_lane(session, root);
        const bool is_whole = world.is_alive(root) && world.root_of(root) == root;
        out.boolean(is_whole && root_lane != no_local_id);
        if (!is_whole || root_lane == no_local_id) continue;
        const InputGroups::Group& group = inputs.groups.group_of(root, inputs.counters);
        const auto lane_of = [&](EntityId member) { return sent_lane(session, member); };
        out.varint(static_cast<std::uint64_t>(
            std::count_if(group.members.begin(), group.members.end(),
                          [&](EntityId member) { return lane_of(member) != no_local_id; })));
        for (const EntityId member : group.members) {
            if (lane_of(member) == no_local_id) continue;
            const std::uint32_t index = index_of(member);
            const KindId kind = world.data().kind_at(index);
            out.varint(lane_of(member));
            out.bits(index_of(kind), kind_bits(*def.schema));
            out.boolean(inputs.groups.is_in_input(member));
            const bool owned = world.data().owner_at(index) == session.observer;
            out.boolean(owned);
            if (!owned) continue;
            const bool in_frame = world.data().is_relative(index);
            if (world.data().kind_def_at(index).relative_place) {
                const LocalId parent =
                    in_frame ? lane_of(world.data().parent_at(index)) : no_local_id;
                // Itself: as seen from one of whom the client has not been told.
                const LocalId frame = parent == no_local_id ? lane_of(member) : parent;
                out.varint(in_frame ? frame + 1 : 0);
            }
            ServerInputs::LocalPlace local;
            for (const PredictedPart& part : inputs.layout.parts(kind)) {
                const std::byte* its = world.data().component_at(index, part.component);
                if (part.is_place && copy_local_place(index, part, local)) its = local.data.data();
                inputs.words.resize(part.words);
                words_of_part(part, its, in_frame, inputs.words.data());
                write_words(*part.def, inputs.words.data(), out);
            }
        }
    }
    if (!out.ok()) {
        ++inputs.counters.corrections_too_large;
        return;
    }
    if (out.bytes_written() + stream_bytes_kept > session.stream_out.room() ||
        session.stream_out.send(out.written()) != Status::ok) {
        return;
    }
    for (const EntityId root : inputs.wrong) note_membership(session, root);
    ++session.inputs->corrections;
    ++inputs.counters.corrections;
}

// -- the way back -------------------------------------------------------------------------------

void ServerData::write_input_state(const Session& session, BitWriter& out) {
    if (session.inputs == nullptr || !session.inputs->queue.is_active()) return;
    const InputQueue& queue = session.inputs->queue;
    out.boolean(true);
    out.u16(static_cast<std::uint16_t>(queue.consumed()));
    out.bits(std::min<std::uint32_t>(queue.waiting(), 31), 5);
    out.boolean(queue.is_starved());
}

std::uint64_t ServerData::input_state_bits(const Session& session) noexcept {
    return session.inputs != nullptr && session.inputs->queue.is_active() ? input_state_bits_max
                                                                          : 0;
}

}  // namespace purview
