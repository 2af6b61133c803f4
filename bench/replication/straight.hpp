// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Encoders to compare ours with: the one that everybody writes first, and one that does not even
// remember. Both use the same bit writer and the same field widths as ours; neither seals packets.
#pragma once

#include <cstdint>
#include <vector>

#include "core/hash.hpp"
#include "purview/world.hpp"
#include "replication/check.hpp"
#include "replication/report.hpp"
#include "world/world_data.hpp"

namespace purview::bench {

/// An entity, as the world has it in this tick.
struct Listed {
    Vec3 position;
    EntityId entity;
    KindId kind;
};

/// The same job as ours, straight on: for each observer, look at every entity; quantise whatever is
/// near, and compare it with what this observer has acknowledged; write what differs, all of its
/// fields, by how near it is and how long it has waited, until the budget is spent. Nothing is
/// shared between observers, nothing found by an index, nothing left out by a mask. What is lost is
/// told again; who goes out of range, leaves.
class StraightEncoder {
  public:
    struct Def {
        float range = 0;
        std::uint32_t budget_bytes = 0;  ///< for one observer and tick
        std::uint32_t ack_ticks = 1;     ///< from a packet to the news of it
        float loss = 0;                  ///< of packets
    };
    StraightEncoder(const Schema& schema, const Def& def);

    /// One tick for all observers, who stand on these entities: the same ones in every call. The
    /// bytes are those of all, with a sequence number and the tick before each observer's. What has
    /// changed it does not ask.
    EncodeCost encode(const World& world, const std::vector<EntityId>& observers,
                      const std::vector<bool>* changed = nullptr);
    /// Encodes the world as it stands until nothing is left to tell. Pairs should then be near and
    /// told as they are, or far and gone.
    Checked check_at_rest(const World& world, const std::vector<EntityId>& observers);

  private:
    /// One observer's knowledge of one entity.
    struct Ghost {
        std::uint32_t told = 0;     ///< tick of the packet that is under way; 0: none is
        std::uint32_t changed = 0;  ///< tick since which it waits; 0: it does not
        bool has = false;           ///< acknowledged
        bool leaves = false;        ///< what is under way is its leave
    };
    struct Candidate {
        EntityId entity;
        float priority;
        bool leaves;
        std::uint32_t values;  ///< where they begin
    };
    struct Packet {
        std::uint32_t tick = 0;
        std::vector<std::uint32_t> items;  ///< entity indices
    };
    struct Observer {
        std::vector<Ghost> ghosts;         ///< by entity index
        std::vector<std::uint32_t> acked;  ///< [entities][words]
        std::vector<std::uint32_t> sent;   ///< the same of what is under way
        std::vector<Packet> packets;       ///< ring of those under way, by tick
    };
    void hear(Observer& observer);
    void look(const World& world, Observer& observer, Vec3 from);
    std::size_t write(const World& world, Observer& observer);

    const Schema* schema_;
    Def def_;
    std::vector<Listed> list_;  ///< all entities
    std::size_t words_ = 0;     ///< most fields of a kind
    std::uint32_t tick_ = 0;
    std::vector<Observer> observers_;
    std::vector<Candidate> candidates_;
    std::vector<std::uint32_t> values_;  ///< quantised, of candidates
    std::vector<std::byte> out_;
    SplitMix random_;
};

/// Lists what has changed, once for all; for each observer, writes all fields of whatever on the
/// list is near. No budget, no ghosts: whoever comes near learns nothing of what rests, and what is
/// lost stays lost.
class BlindEncoder {
  public:
    BlindEncoder(const Schema& schema, float range);

    /// As StraightEncoder::encode. `changed`: by entity index; null: everything is listed in every
    /// tick.
    EncodeCost encode(const World& world, const std::vector<EntityId>& observers,
                      const std::vector<bool>* changed);

  private:
    const Schema* schema_;
    float range_m_;
    std::vector<Listed> list_;
    std::vector<std::byte> out_;
};

}  // namespace purview::bench
