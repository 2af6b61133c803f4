// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Encoders for comparison: the usual first implementation, and a simpler one without state. Both
// use Purview's bit writer and field widths. Neither adds header checksums.
#pragma once

#include <cstdint>
#include <vector>

#include "core/hash.hpp"
#include "purview/world.hpp"
#include "replication/check.hpp"
#include "replication/report.hpp"
#include "world/world_data.hpp"

namespace purview::bench {

/// An entity with its current state.
struct Listed {
    Vec3 position;
    EntityId entity;
    KindId kind;
};

/// The same task as Purview's, in the straightforward way. For each observer, it visits every
/// entity, quantizes those in range and compares them with what this observer has acknowledged. It
/// writes all fields of those that differ, ordered by distance and waiting time, until the budget
/// is used. Nothing is shared between observers; there is no index and no field mask. Lost packets
/// are resent, and entities out of range leave.
class StraightEncoder {
  public:
    struct Def {
        float range = 0;
        std::uint32_t budget_bytes = 0;  ///< per observer and tick
        std::uint32_t ack_ticks = 1;     ///< delay from a packet to its delivery status
        float loss = 0;                  ///< of packets
    };
    StraightEncoder(const Schema& schema, const Def& def);

    /// Encodes one tick for all observers, which are at these entities (the same ones in every
    /// call). Returns the bytes of all observers, each with a sequence number and the tick. Does
    /// not use `changed`.
    EncodeCost encode(const World& world, const std::vector<EntityId>& observers,
                      const std::vector<bool>* changed = nullptr);
    /// Encodes the unchanged world until nothing is pending. Afterwards, pairs must be in range and
    /// up to date, or out of range and removed.
    Checked check_idle(const World& world, const std::vector<EntityId>& observers);

  private:
    /// State of one entity at one observer.
    struct Ghost {
        std::uint32_t in_flight_tick = 0;  ///< of the packet in flight; 0: none
        std::uint32_t changed = 0;         ///< tick since which it is pending; 0: not pending
        bool has = false;                  ///< acknowledged
        bool leaves = false;               ///< the packet in flight contains its leave
    };
    struct Candidate {
        EntityId entity;
        float priority;
        bool leaves;
        std::uint32_t values;  ///< index of its first value
    };
    struct Packet {
        std::uint32_t tick = 0;
        std::vector<std::uint32_t> items;  ///< entity indices
    };
    struct Observer {
        std::vector<Ghost> ghosts;         ///< by entity index
        std::vector<std::uint32_t> acked;  ///< [entities][words]
        std::vector<std::uint32_t> sent;   ///< the same for data in flight
        std::vector<Packet> packets;       ///< ring buffer of packets in flight, by tick
    };
    void take_data(Observer& observer);
    void find_candidates(const World& world, Observer& observer, Vec3 from);
    std::size_t write(const World& world, Observer& observer);

    const Schema* schema_;
    Def def_;
    std::vector<Listed> list_;  ///< all entities
    std::size_t words_ = 0;     ///< maximum number of fields of a kind
    std::uint32_t tick_ = 0;
    std::vector<Observer> observers_;
    std::vector<Candidate> candidates_;
    std::vector<std::uint32_t> values_;  ///< quantized values of the candidates
    std::vector<std::byte> out_;
    SplitMix random_;
};

/// Lists the changed entities once for all observers. For each observer, writes all fields of the
/// listed entities that are in range. No budget and no ghosts: an entity that comes into range is
/// not sent until it changes, and lost data is not resent.
class BlindEncoder {
  public:
    BlindEncoder(const Schema& schema, float range);

    /// As StraightEncoder::encode. `changed`: by entity index; null: all entities are listed in
    /// every tick.
    EncodeCost encode(const World& world, const std::vector<EntityId>& observers,
                      const std::vector<bool>* changed);

  private:
    const Schema* schema_;
    float range_m_;
    std::vector<Listed> list_;
    std::vector<std::byte> out_;
};

}  // namespace purview::bench
