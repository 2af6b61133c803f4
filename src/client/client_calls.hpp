// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The client's side of RPCs. A call of the server is delivered after the changes of the packet that
// contains it, and never before the enter of its ghost. A pending call to the server about a ghost
// that has left is dropped.
//
// Owns the calls in both directions and the arguments of the last delivered call.
//
// Must not know: the connection, the admission of clients.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/replica.hpp"
#include "protocol/rpc_inbox.hpp"
#include "protocol/rpc_outbox.hpp"
#include "purview/client.hpp"

namespace purview {

class ClientCalls {
  public:
    ClientCalls(const std::optional<Replica>& replica, ClientStats& stats) noexcept
        : replica_(replica), stats_(stats) {}

    // -- from the server -------------------------------------------------------------------------
    bool read(BitReader& in);
    /// Call when the packet that was read last has been applied.
    void accept(bool has_snapshot, Micros now);
    /// Releases calls that have waited long enough.
    void release(Micros now);
    /// Takes the next call. `own` is the program's schema if it matches the server's, else null.
    bool next(const Schema* own, ReceivedRpc& out);

    // -- to the server --------------------------------------------------------------------------
    /// Errors: not_found, refused, bad_argument, capacity; see Client::call.
    Status call(Role role, RpcId rpc, LocalId ghost, const RpcWords& words);
    /// Queues a call without any check. Returns false if too many are pending.
    bool add(RpcId rpc, LocalId ghost, const RpcWords& words);
    /// Chooses the calls of the next packet and returns their bits.
    std::uint64_t choose();
    void write(std::uint32_t sequence, BitWriter& out);
    void resolve(std::uint32_t sequence, bool delivered) {
        calls_out_.resolve(sequence, delivered);
    }

  private:
    const std::optional<Replica>& replica_;
    ClientStats& stats_;
    RpcOutbox calls_out_;
    RpcInbox calls_in_;
    // The arguments of the last delivered call.
    std::array<FieldValue, Schema::fields_max> values_;
    std::array<std::string, Schema::fields_max> texts_;
    std::vector<std::byte> arguments_;
};

}  // namespace purview
