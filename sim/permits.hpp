// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Records what each client may receive in each tick and compares it with what the client decodes.
// Checks every local id in a packet (bodies, leaves, parents, references, member maps) and every
// component with a field in it. Does not depend on what the server intended to write.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "purview/client.hpp"
#include "purview/server.hpp"

namespace purview::test {

class Permits {
  public:
    /// Call after every server tick, before any of its packets arrive. The client may then receive
    /// the entities that are relevant now, with the components that are allowed now. Whether the
    /// relevant set is correct is checked elsewhere.
    void note_tick(const Server& server);
    /// Call after every datagram that reached the client with this nonce.
    void arrived(Client& client, std::uint64_t nonce);

    const std::string& trouble() const noexcept { return trouble_; }
    /// Local ids in packets so far, by the part of the packet that contained them.
    struct Counts {
        std::uint64_t bodies = 0, leaves = 0, parents = 0, references = 0, member_maps = 0;
        /// Bodies of ghosts for which at least one component is not allowed.
        std::uint64_t partial = 0;
    };
    const Counts& named() const noexcept { return named_; }

  private:
    struct Permitted {
        Tick tick = 0;
        std::vector<bool> slots;             ///< [local id]
        std::vector<std::uint32_t> allowed;  ///< [local id], allowed parts (KindLayout)
    };
    struct Connection {
        std::deque<Permitted> ticks;  ///< ascending
        std::vector<bool> ever;       ///< [local id], relevant in these or any earlier tick
        std::uint32_t packet = 0;     ///< the last packet that was checked
    };

    std::unordered_map<std::uint64_t, Connection> connections_;  ///< by nonce
    std::string trouble_;
    Counts named_;
};

}  // namespace purview::test
