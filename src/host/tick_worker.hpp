// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// From gather to encode a tick goes through the sessions, on one thread or several, and no session
// knows of another. What a thread needs for that besides the session, and what it wrote.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "host/outbox.hpp"
#include "purview/rpc.hpp"
#include "purview/rules.hpp"
#include "replication/encode_cache.hpp"
#include "replication/snapshot_writer.hpp"

namespace purview {

/// Room to work in for ServerData::decide_audiences.
struct AudienceScratch {
    std::vector<std::uint64_t> again;  ///< lanes that are asked about, by mask
    std::vector<LocalId> lanes;
    std::vector<std::uint32_t> indices;  ///< [lanes] of their entities
    std::vector<std::uint32_t> told;     ///< [lanes]
    std::vector<std::uint32_t> asked;    ///< positions in lanes
    std::vector<EntityId> entities;      ///< [asked]
    std::vector<std::uint8_t> answer;    ///< [asked]
};

/// For ServerData::set_paces.
struct PaceScratch {
    std::vector<LocalId> lanes;
    std::vector<EntityId> entities;
    std::vector<float> strength;
    std::vector<NodeSettings> settings;
};

/// Few enough for the nearest caches, and enough that the clock is not what the stages wait for.
inline constexpr std::size_t sessions_at_a_time = 8;

struct TickWorker {
    explicit TickWorker(const FieldStore& fields) : cache(fields) {}

    EncodeCache cache;
    std::array<SnapshotPlan, sessions_at_a_time> plans;
    AudienceScratch audience;
    PaceScratch pace;
    Outbox out;
    std::vector<RpcLateCull> late;  ///< of this tick
    // Of this tick, until they are added to those of the server.
    std::uint64_t calls_written = 0;
    std::uint64_t split_updates = 0;
    std::uint64_t limited_updates = 0;
    std::uint32_t gather_us = 0;
    std::uint32_t prioritise_us = 0;
    std::uint32_t encode_us = 0;
};

/// Groups of sessions that one worker did in a row.
struct TickChunk {
    TickWorker* worker = nullptr;
    std::size_t first_datagram = 0, end_datagram = 0;  ///< in its outbox
    std::size_t first_late = 0, end_late = 0;          ///< in `late`
};

}  // namespace purview
