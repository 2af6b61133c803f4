// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What each client may have been told of in each tick, held against what it decodes: every local id
// in a packet, of whoever comes, changes or leaves, of parents, references and rosters, and every
// component with a field in it, whatever the server believes that it wrote.
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
    /// After every tick of the server, before anything of it arrives. Whoever is relevant then may
    /// be told of, by the components that are told then; that they are is for others to check.
    void note_tick(const Server& server);
    /// After every datagram that reached the client with this nonce.
    void arrived(Client& client, std::uint64_t nonce);

    const std::string& trouble() const noexcept { return trouble_; }
    /// Local ids in packets so far, by how they were named.
    struct Counts {
        std::uint64_t bodies = 0, leaves = 0, parents = 0, references = 0, rosters = 0;
        /// Of these bodies, those of which something is not told.
        std::uint64_t partial = 0;
    };
    const Counts& named() const noexcept { return named_; }

  private:
    struct Permitted {
        Tick tick = 0;
        std::vector<bool> lanes;          ///< [local id]
        std::vector<std::uint32_t> told;  ///< [local id], parts (KindLayout)
    };
    struct Line {
        std::deque<Permitted> ticks;  ///< ascending
        std::vector<bool> ever;       ///< [local id], of these and all before
        std::uint32_t packet = 0;     ///< the last that was looked at
    };

    std::unordered_map<std::uint64_t, Line> lines_;  ///< by nonce
    std::string trouble_;
    Counts named_;
};

}  // namespace purview::test
