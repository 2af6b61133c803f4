// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Fixed limits of the wire format, of the server and of clients. docs/limits.md has the reasons.
#pragma once

#include <cstddef>
#include <cstdint>

#include "purview/version.h"

namespace purview::limits {

/// @addtogroup api_common
/// @{

/// Version of PROTOCOL.md; changes with every incompatible change.
inline constexpr std::uint16_t protocol_version = 1;
/// Largest datagram. Fits the MTU of usual networks.
inline constexpr std::size_t datagram_bytes = 1200;

// -- joining and messages -------------------------------------------------------------------------
/// Longest JoinRequest::name.
inline constexpr std::size_t join_name_bytes = 32;
/// Longest JoinRequest::credential.
inline constexpr std::size_t credential_bytes = 512;
/// Longest ConnectKey::request.
inline constexpr std::size_t key_request_bytes = 1024;
/// Longest OpenedKey::user_data.
inline constexpr std::size_t user_data_bytes = 256;
/// Longest text of a refusal or a close (Admission::text, Server::close). A longer one is cut
/// before a UTF-8 character that does not fit.
inline constexpr std::size_t reason_text_bytes = 120;
/// Longest message of Server::send_message or Client::send_message.
inline constexpr std::size_t message_bytes = 65'534;
/// Clients that join in one tick. The others wait.
inline constexpr std::uint32_t joins_per_tick = 128;
/// Bytes of the received messages that the program has not taken (Client::next_message), plus
/// `message_overhead_bytes` for each. Beyond it the oldest are dropped.
inline constexpr std::size_t messages_received_bytes = 1U << 20;
/// What a message counts in addition to its bytes.
inline constexpr std::size_t message_overhead_bytes = 8;

// -- interest -------------------------------------------------------------------------------------
/// Upper bound of Rules::areas_max.
inline constexpr std::uint32_t areas_per_observer = 63;

/// Upper bound of SendInterval::every_ticks and Replication::every_ticks.
inline constexpr std::uint32_t send_interval_ticks = 10'000;

// -- groups ---------------------------------------------------------------------------------------
/// Upper bound of ServerDef::group_depth_max. A client follows this many parents.
inline constexpr unsigned group_depth = 64;

// -- inputs of one client -------------------------------------------------------------------------
/// Longest command of Client::send_command, and longest input.
inline constexpr std::size_t command_bytes = 200;
inline constexpr std::size_t input_groups = 8;      ///< groups of one owner in one input
inline constexpr std::size_t input_members = 64;    ///< members of all of these groups
inline constexpr std::size_t inputs_repeated = 32;  ///< inputs that one packet repeats
inline constexpr std::size_t inputs_buffered = 32;  ///< inputs that wait on the server

// -- remote calls ---------------------------------------------------------------------------------
/// RPCs of the game in one tick. More return Status::capacity.
inline constexpr std::size_t rpc_calls_per_tick = 4'096;
/// RPCs to one observer, or to the server, that are not sent or not acknowledged yet.
inline constexpr std::size_t rpc_pending_per_observer = 256;
/// RPCs that are queued until an entity becomes relevant, per entity and observer. RPCs about
/// hidden entities or for other observers therefore do not use up room.
inline constexpr std::size_t rpc_queued_per_entity = 8;
/// RPCs that are queued until an entity becomes relevant, in all.
inline constexpr std::size_t rpc_queued = 4'096;
/// RPCs in one packet.
inline constexpr std::size_t rpc_per_packet = 64;
/// Ordered RPCs of one sender that are not acknowledged yet.
inline constexpr std::uint32_t rpc_window = 64;
/// Time for which an RPC that arrived before its ghost waits on the client, in microseconds. Then
/// it is dropped.
inline constexpr std::uint64_t rpc_orphan_us = 5'000'000;
/// RPCs that wait on the client for their ghosts. Beyond it the oldest are dropped.
inline constexpr std::size_t rpc_orphans = 64;
/// Received RPCs that the program has not taken. Beyond it the oldest are dropped.
inline constexpr std::size_t rpc_received = 1'024;
/// Refused RPCs within `rpc_refused_window_s` seconds after which a session is closed. A correct
/// client causes none: an RPC about a ghost with a leave in flight does not count.
inline constexpr std::uint32_t rpc_refused = 32;
/// The time for `rpc_refused`, in seconds.
inline constexpr std::uint32_t rpc_refused_window_s = 10;

/// @}

}  // namespace purview::limits
