// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What each client may have been told of in each tick, held against what it decodes: the ghosts
// that a packet made or updated, shown or not yet, whatever the server believes that it wrote.
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
    /// be told of; that it is relevant is for others to check.
    void note_tick(const Server& server);
    /// After every datagram that reached the client with this nonce.
    void arrived(Client& client, std::uint64_t nonce);

    const std::string& trouble() const noexcept { return trouble_; }
    /// Ghosts that packets named so far.
    std::uint64_t named() const noexcept { return named_; }

  private:
    struct Permitted {
        Tick tick = 0;
        std::vector<bool> lanes;  ///< [local id]
    };
    struct Line {
        std::deque<Permitted> ticks;  ///< ascending
        std::uint32_t packet = 0;     ///< the last that was looked at
    };

    std::unordered_map<std::uint64_t, Line> lines_;  ///< by nonce
    std::string trouble_;
    std::uint64_t named_ = 0;
};

}  // namespace purview::test
