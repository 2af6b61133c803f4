// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A game that accepts every client and does nothing.
#pragma once

#include "purview/server.hpp"

namespace purview::test {

class IdleGame final : public Game {
  public:
    std::optional<EntityId> on_join(Server&, ObserverId, const JoinRequest&) override {
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}
};

}  // namespace purview::test
