// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Fixed bounds of the wire format, of the server and of clients. docs/limits.md has the reasons.
#pragma once

#include <cstddef>
#include <cstdint>

namespace purview::limits {

/// Changes with every incompatible change of PROTOCOL.md.
inline constexpr std::uint16_t protocol_version = 11;
/// No datagram is larger. It fits the path of any usual network.
inline constexpr std::size_t datagram_bytes = 1200;

// -- joining and messages -------------------------------------------------------------------------
inline constexpr std::size_t join_name_bytes = 32;
inline constexpr std::size_t credential_bytes = 512;
/// The text of a refusal or a close (Admission::text, Server::close). A longer one is cut before a
/// UTF-8 character that does not fit.
inline constexpr std::size_t reason_text_bytes = 120;
/// One message of Server::send_message or Client::send_message.
inline constexpr std::size_t message_bytes = 65'534;
inline constexpr std::uint32_t joins_per_tick = 128;
/// Messages that a client has received and its program has not taken, plus `message_overhead_bytes`
/// for each. Beyond it the oldest are dropped.
inline constexpr std::size_t messages_received_bytes = 1U << 20;
inline constexpr std::size_t message_overhead_bytes = 8;

// -- interest -------------------------------------------------------------------------------------
inline constexpr std::uint32_t areas_per_observer = 63;

// -- groups ---------------------------------------------------------------------------------------
/// The most that ServerDef::group_depth_max may be. A client follows this many parents.
inline constexpr unsigned group_depth = 64;

// -- inputs of one client -------------------------------------------------------------------------
inline constexpr std::size_t command_bytes = 200;
inline constexpr std::size_t input_groups = 8;      ///< groups of one owner in one input
inline constexpr std::size_t input_members = 64;    ///< members of all of these groups
inline constexpr std::size_t inputs_repeated = 32;  ///< inputs that one packet repeats
inline constexpr std::size_t inputs_buffered = 32;  ///< inputs that wait on the server

// -- remote calls ---------------------------------------------------------------------------------
/// Calls of a game in one tick. More return Status::capacity.
inline constexpr std::size_t rpc_calls_per_tick = 4'096;
/// Calls to one observer, or to the server, that are not sent or not acknowledged yet.
inline constexpr std::size_t rpc_pending_per_observer = 256;
/// Calls that are queued until an entity is relevant: for one entity and observer, and in all. So
/// neither calls about hidden entities nor the queues of others change what an observer receives.
inline constexpr std::size_t rpc_queued_per_entity = 8;
inline constexpr std::size_t rpc_queued = 4'096;
inline constexpr std::size_t rpc_per_packet = 64;
/// Ordered calls of one sender that are not acknowledged yet.
inline constexpr std::uint32_t rpc_window = 64;
/// A call that arrived before its ghost waits this long on the client, and this many of them wait.
/// Then it is dropped.
inline constexpr std::uint64_t rpc_orphan_us = 5'000'000;
inline constexpr std::size_t rpc_orphans = 64;
/// Calls that a client has received and its program has not taken. Beyond it the oldest are
/// dropped.
inline constexpr std::size_t rpc_received = 1'024;
/// Refused calls after which a session is closed, within `rpc_refused_window_s` seconds (O32). A
/// correct client makes none: a call about a ghost that is about to leave does not count.
inline constexpr std::uint32_t rpc_refused = 32;
inline constexpr std::uint32_t rpc_refused_window_s = 10;

}  // namespace purview::limits
