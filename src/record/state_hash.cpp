// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "record/state_hash.hpp"

#include <span>

#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "server/server_data.hpp"

namespace purview::record {

namespace {

/// Hashes only the fields; the bytes between them are undefined.
std::uint64_t hash_of_entity(const WorldData& world, std::uint32_t index, std::uint64_t hash) {
    hash = combine64(hash, static_cast<std::uint64_t>(world.entities.at_index(index)));
    hash = combine64(hash, static_cast<std::uint64_t>(world.groups.parent_at(index)));
    hash = combine64(hash, static_cast<std::uint64_t>(world.entities.owner_at(index)));
    const KindDef& kind = world.entities.kind_def_at(index);
    hash = combine64(hash, index_of(world.entities.kind_at(index)));
    for (const ComponentId component : kind.components) {
        const std::byte* data = world.components.component_at(index, component);
        for (const FieldDef& field :
             world.entities.schema().components()[index_of(component)].fields) {
            hash = hash_bytes({data + field.offset_bytes, field.size_bytes}, hash);
        }
    }
    return hash;
}

/// Hashes the number of calls in flight, and the calls that wait to be written.
std::uint64_t hash_of_calls(const Session& session, std::uint64_t hash) {
    hash = combine64(hash, session.calls_out.size());
    session.calls_out.for_each_waiting([&](const OutgoingRpc& call) {
        hash = combine64(hash, static_cast<std::uint64_t>(call.call));
        hash = combine64(hash, std::uint64_t{index_of(call.rpc)} << 32 | call.ghost);
        hash = combine64(hash, static_cast<std::uint64_t>(call.target));
        hash = combine64(hash, std::uint64_t{call.number} << 32 | call.sequence);
        hash = hash_bytes(std::as_bytes(std::span(call.words)), hash);
    });
    return combine64(hash, session.misuse.calls_refused);
}

std::uint64_t hash_of_session(const ServerData& server, const Session& session,
                              std::uint64_t hash) {
    hash = combine64(hash, session.connection_id);
    hash = combine64(hash, static_cast<std::uint64_t>(session.observer));
    hash = combine64(hash, static_cast<std::uint64_t>(session.state));
    if (session.observer == ObserverId::none) return hash;
    std::uint64_t relevant = 0;  // a sum, because the set has no order
    server.manager.for_each_relevant(session.observer, [&](EntityId entity) {
        relevant += mix64(static_cast<std::uint64_t>(entity));
    });
    hash = combine64(hash, relevant);
    const GhostTable& ghosts = session.ghosts;
    for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
        const std::uint64_t life =
            (ghosts.slots().is_live(slot) ? 1U : 0U) | (ghosts.slots().is_held(slot) ? 2U : 0U) |
            (ghosts.sends().is_away(slot) ? 4U : 0U) |
            (static_cast<std::uint64_t>(ghosts.retained().policy(slot)) << 3) |
            (std::uint64_t{ghosts.sends().baseline(slot)} << 8) |
            (static_cast<std::uint64_t>(ghosts.slots().enter_reason(slot)) << 40);
        const std::uint64_t allowed =
            ghosts.audience().allowed(slot) | std::uint64_t{ghosts.audience().gained(slot)} << 32;
        hash = combine64(hash, static_cast<std::uint64_t>(ghosts.slots().entity(slot)));
        hash = combine64(hash, life);
        hash = combine64(hash, allowed);
    }
    return hash_of_calls(session, hash);
}

/// Hashes the calls that are queued until their entities become relevant.
std::uint64_t hash_of_held(const RpcRouter& calls, std::uint64_t hash) {
    hash = combine64(hash, calls.next_call());
    for (const HeldCall& held : calls.held()) {
        hash = combine64(hash, static_cast<std::uint64_t>(held.wanted.call));
        hash = combine64(hash, held.ends);
        for (const ObserverId observer : held.observers)
            hash = combine64(hash, static_cast<std::uint64_t>(observer));
    }
    return hash;
}

}  // namespace

std::uint64_t state_hash(const Server& server) {
    const ServerData& data = internal(server);
    const WorldData& world = internal(data.world);
    std::uint64_t hash = data.time.tick;
    for (std::uint32_t index = 0; index < world.entities.index_end(); ++index) {
        if (world.entities.at_index(index) != EntityId::none)
            hash = hash_of_entity(world, index, hash);
    }
    for (const auto& session : data.sessions) hash = hash_of_session(data, *session, hash);
    return hash_of_held(data.calls, hash);
}

}  // namespace purview::record
