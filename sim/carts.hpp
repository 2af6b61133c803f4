// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Carts that their owners drive, some with a mule that may have its own owner. The gait (speed,
// course, steps) is predicted; the driver receives it only as corrections
// (AudienceType::unpredicted). Positions are controlled by the game. A mule may temporarily leave
// its cart's group or take no input. Clients sometimes predict wrongly, pause their input, or
// discard their prediction. The game sometimes changes the gait of a driven cart.
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

/// Predicted state of a cart or a mule.
struct Gait {
    float speed = 0;  ///< meters per tick
    float course = 0;
    std::uint16_t steps = 0;  ///< step counter, wraps around

    friend bool operator==(const Gait&, const Gait&) = default;
};
/// Input for a cart or a mule.
struct Reins {
    float pull = 0;
    float turn = 0;
};

/// The step function of both sides. Without input the gait is unchanged.
class CartStep final : public GroupStep {
  public:
    explicit CartStep(const SmallSchema& schema) : schema_(&schema) {}
    void step(GroupState& group, const GroupInput& command) override;
    /// Makes the next step wrong, as a misprediction.
    void slip() noexcept { slips_ = true; }

  private:
    const SmallSchema* schema_;
    bool slips_ = false;
};

/// The game's side of the carts.
class Carts {
  public:
    Carts(const SmallSchema& schema, std::uint64_t seed)
        : step(schema), schema_(&schema), random_(seed) {}
    void populate(World& world, std::uint32_t count);
    /// Stores the gaits. Call after all inputs of a tick were applied, before anything else
    /// happens.
    void note_commands(const World& world);
    /// Advances the carts by one tick.
    void live(Server& server);
    /// Returns a cart without owner, or EntityId::none.
    EntityId any_free(const World& world);
    /// Returns the stored gait; null for an entity that is new or not a cart or mule.
    const Gait* after_commands(EntityId entity) const;

    CartStep step;
    std::vector<EntityId> all;  ///< carts and mules, alternating
    std::uint64_t pushes = 0;   ///< gait changes of owned entities
    std::uint64_t cuts = 0;     ///< mules taken out of their groups

  private:
    const SmallSchema* schema_;
    SplitMix random_;
    std::map<EntityId, Gait> after_commands_;
};

/// A client's side: drives the carts and mules that it owns.
class CartDriver {
  public:
    CartDriver(Client& client, const SmallSchema& schema, std::uint64_t seed);
    /// Runs the due ticks. `is_idle`: sends no reins, and some drivers stop sending input entirely.
    void tick(Micros now, bool is_idle);
    /// True if this driver sends no input while the world is idle.
    bool is_silent() const noexcept { return is_silent_when_idle_; }

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
    bool is_silent_when_idle_;
    std::vector<GhostId> own_;  ///< as of the last update of the list
    std::uint64_t forgotten_corrections_ = 0;
};

}  // namespace purview::test
