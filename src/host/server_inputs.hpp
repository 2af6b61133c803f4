// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Commands for groups as the server keeps them: the orders of groups, room to work in, and for each
// client its queue and what it was told of its groups.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "prediction/input_codec.hpp"
#include "prediction/input_groups.hpp"
#include "prediction/input_queue.hpp"
#include "prediction/predicted_layout.hpp"
#include "purview/group_input.hpp"

namespace purview {

/// Of one client that gives commands.
struct SessionInputs {
    InputQueue queue;
    std::uint8_t corrections = 0;  ///< sent; low bits
    /// Groups that it commanded last, and who it was told is in them, hashed.
    struct Told {
        EntityId root = EntityId::none;
        std::uint64_t membership = 0;
        Tick told = 0;    ///< when he was told
        Tick agreed = 0;  ///< the last in which the server came to the same since; 0: never yet
        bool is_predicted = false;  ///< he may not be told all of it, as he predicts it
    };
    std::array<Told, command_groups_max> told{};
};

struct ServerInputs {
    ServerInputs(const WorldData& world, const Schema& schema, InputOrder order)
        : groups(world, order), layout(schema) {}

    InputGroups groups;
    PredictedLayout layout;
    InputCounters counters;
    InputPacket packet;  ///< of the datagram that is being read

    // Room to work in for one group.
    struct alignas(PredictedLayout::align_bytes) Block {
        std::array<std::byte, PredictedLayout::align_bytes> bytes;
    };
    std::vector<GroupMember> members;
    std::vector<std::byte*> components;  ///< [members][layout.stride()]
    std::vector<GroupCommand::Part> parts;
    /// Places that are told as seen from a parent are stepped so, and in copies.
    struct alignas(PredictedLayout::align_bytes) LocalPlace {
        std::array<std::byte, Schema::component_bytes_max> data;
        Vec3 before;
        EntityId parent = EntityId::none;  ///< none: it is in the world, and stepped where it is
    };
    std::vector<LocalPlace> places;  ///< [members]
    std::vector<Block> part_data;
    std::vector<EntityId> wrong;  ///< roots whose client must be corrected
    std::vector<std::byte> message;
    std::vector<std::uint32_t> words;
};

}  // namespace purview
