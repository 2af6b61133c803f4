// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A game that lets everybody in, and does nothing.
#pragma once

#include "purview/server.hpp"

namespace purview::test {

class IdleGame final : public Game {
  public:
    bool joined(Server&, ObserverId, const JoinRequest&) override { return true; }
    void left(Server&, ObserverId) override {}
    void command(Server&, ObserverId, std::span<const std::byte>) override {}
    void simulate(Server&, Tick) override {}
};

}  // namespace purview::test
