// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Carts that their owners drive, some with a mule, which may have an owner of its own. How they go
// is predicted, and told to whoever drives them by corrections alone (AudienceType::unpredicted);
// where they come is up to the game. A mule may be out of its cart's group for a while, or take no
// input. Clients predict wrongly now and then, say nothing for a while, or forget what they
// predicted; and the game changes how a cart goes while it is driven.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/hash.hpp"
#include "purview/client.hpp"
#include "purview/prediction.hpp"
#include "purview/server.hpp"

namespace purview::test {

struct SmallSchema;

/// Of a cart or a mule.
struct Gait {
    float speed = 0;  ///< metres in a tick
    float course = 0;
    std::uint16_t steps = 0;  ///< counts on, and begins again

    friend bool operator==(const Gait&, const Gait&) = default;
};
/// What is said to it.
struct Reins {
    float pull = 0;
    float turn = 0;
};

/// The rule of both sides. Without reins it goes on as it did.
class CartStep final : public GroupStep {
  public:
    explicit CartStep(const SmallSchema& schema) : schema_(&schema) {}
    void step(GroupState& group, const GroupInput& command) override;
    /// The next step is a wrong one.
    void slip() noexcept { slips_ = true; }

  private:
    const SmallSchema* schema_;
    bool slips_ = false;
};

/// As the game knows them.
class Carts {
  public:
    Carts(const SmallSchema& schema, std::uint64_t seed)
        : step(schema), schema_(&schema), random_(seed) {}
    void populate(World& world, std::uint32_t count);
    /// When all commands of a tick have been taken, and nothing else has happened.
    void note_commands(const World& world);
    /// One tick.
    void live(Server& server);
    /// A cart that nobody owns, or none.
    EntityId any_free(const World& world);
    /// As it was noted; null: it is none of them, or new.
    const Gait* after_commands(EntityId entity) const;

    CartStep step;
    std::vector<EntityId> all;  ///< carts and mules in turn
    std::uint64_t pushes = 0;   ///< of something that somebody owns
    std::uint64_t cuts = 0;     ///< of mules out of the groups that they were in

  private:
    const SmallSchema* schema_;
    SplitMix random_;
    std::map<EntityId, Gait> after_commands_;
};

/// As a client drives what it owns of them.
class CartDriver {
  public:
    CartDriver(Client& client, const SmallSchema& schema, std::uint64_t seed);
    /// What is due. `rests`: without reins, and some say nothing any more.
    void tick(Micros now, bool rests);
    /// In a world at rest.
    bool is_silent() const noexcept { return is_silent_at_rest_; }

    std::uint64_t corrections() const noexcept {
        return forgotten_corrections_ + prediction.stats().corrections;
    }

    CartStep step;
    Prediction prediction;

  private:
    static Prediction begin(Client& client, const SmallSchema& schema, CartStep& step);
    void list_own();
    Client* client_;
    const SmallSchema* schema_;
    SplitMix random_;
    std::uint32_t ticks_ = 0;
    std::uint32_t silent_until_ = 0;
    bool is_silent_at_rest_;
    std::vector<GhostId> own_;  ///< when it was looked at last
    std::uint64_t forgotten_corrections_ = 0;
};

}  // namespace purview::test
