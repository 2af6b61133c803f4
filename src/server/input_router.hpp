// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Routes client inputs from packets to the queue of their session, and once per tick from the queue
// to the game, by entity group. Sends a correction if the client predicted another state.
//
// Owns the group order and the memory in which one group is bound, stepped and compared. That
// memory is valid from bind_group to the end of run_group, for one group at a time.
//
// Invalid data from the network is counted and dropped.
//
// Must not know: packets beyond their inputs, other sessions, relevance.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/internal_access.hpp"
#include "protocol/input_codec.hpp"
#include "protocol/predicted_layout.hpp"
#include "purview/group_input.hpp"
#include "purview/world.hpp"
#include "server/audience_filter.hpp"
#include "server/input_groups.hpp"
#include "server/server_counters.hpp"
#include "server/server_time.hpp"
#include "server/session.hpp"

namespace purview {

class InputRouter {
  public:
    /// `rewind` counts view ticks that are clamped to what the client can have displayed.
    InputRouter(const ServerDef& def, const ServerTime& time, World& world, Game& game,
                AudienceFilter& audiences, RewindCounters& rewind)
        : def_(def),
          time_(time),
          world_(world),
          game_(game),
          audiences_(audiences),
          rewind_counters_(rewind),
          groups_(internal(world), def.input.order),
          layout_(*def.schema) {}

    // Stage `receive`, for each packet.
    /// Reads the inputs of a packet and changes nothing else. Returns false if they are malformed.
    bool read(BitReader& in) { return read_inputs(*def_.schema, in, packet_); }
    /// Queues the inputs that were read last for their session, which must have joined.
    void take(Session& session);
    // Stage `receive`, in the tick.
    /// Passes the inputs of this tick to the game, which may close the session.
    void run(Server& server, Session& session);

    // Stage `encode`: the input state of the session in its packets.
    static void write_state(const Session& session, BitWriter& out);
    static std::uint64_t state_bits(const Session& session) noexcept;

    /// Call when the edit log of the world has been read and is about to be cleared.
    void end_tick() { groups_.end_tick(); }

    /// Members of the group of a live root, in input order. Valid until the next call.
    std::span<const EntityId> members_of(EntityId root) {
        return groups_.group_of(root, counters_).members;
    }
    /// `entity` must be alive.
    void set_in_input(EntityId entity, bool on) { groups_.set_in_input(entity, on); }
    bool is_in_input(EntityId entity) const noexcept { return groups_.is_in_input(entity); }
    const InputCounters& counters() const noexcept { return counters_; }

  private:
    /// A position that is sent relative to a parent. It is copied, and stepped in the parent's
    /// frame.
    struct alignas(PredictedLayout::align_bytes) LocalPosition {
        std::array<std::byte, Schema::component_bytes_max> data;
        Vec3 before;
        /// None: the position is not relative and is stepped in place.
        EntityId parent = EntityId::none;
    };
    struct alignas(PredictedLayout::align_bytes) Block {
        std::array<std::byte, PredictedLayout::align_bytes> bytes;
    };

    EntityId resolve(const Session& session, LocalId ghost) const noexcept;
    double bounded_view(const Session& session, std::uint32_t view_low);
    void run_group(Server& server, Session& session, const InputFrame& frame,
                   const InputGroup& command, InputNumber tick);
    bool bind_group(const Session& session, const InputGroups::Group& group);
    bool copy_local_position(std::uint32_t index, const PredictedPart& part,
                             LocalPosition& position);
    std::uint64_t settle_local_position(std::uint32_t index, const PredictedPart& part,
                                        LocalPosition& position, std::uint64_t digest);
    void bind_part(const Session& session, const InputGroup& group, const InputPart& part,
                   std::span<const std::uint32_t> words, std::byte* room);
    std::uint16_t settle_group(const Session& session, InputNumber tick);
    std::uint64_t known_membership(const Session& session, EntityId root);
    void note_membership(Session& session, EntityId root);
    void send_correction(Session& session, InputNumber tick);

    const ServerDef& def_;
    const ServerTime& time_;
    World& world_;
    Game& game_;
    AudienceFilter& audiences_;
    RewindCounters& rewind_counters_;
    InputGroups groups_;
    PredictedLayout layout_;
    InputCounters counters_;
    InputPacket packet_;  ///< of the datagram that is being read

    // The group that is being stepped.
    std::vector<GroupMember> members_;
    std::vector<std::byte*> components_;  ///< [members][layout.stride()]
    std::vector<GroupInput::Part> parts_;
    std::vector<LocalPosition> positions_;  ///< [members]
    std::vector<Block> part_data_;
    // The session that is being processed.
    std::vector<EntityId> wrong_;  ///< roots that need a correction
    std::vector<std::byte> message_;
    std::vector<std::uint32_t> words_;
};

}  // namespace purview
