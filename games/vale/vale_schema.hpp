// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The content of the vale and its schema, for the server and for clients with prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace vale {

enum class Motion : std::uint8_t { rest, wander, herd, patrol };

struct KindSetup {
    std::string name;
    Motion motion = Motion::wander;
    float speed_mps = 1.5F;
    float idle_share = 0.3F;
    float cloaked_share = 0;
    float priority = 1;
    std::uint32_t cargo = 0;  ///< crates attached to each
    bool hidden = false;  ///< from all observers but its owner; set by the game, not by the rules
};

/// `count` entities inside a rectangle; moving kinds stay in or near it.
struct SpawnSetup {
    std::uint32_t kind = 0;  ///< into Setup::kinds
    purview::Vec3 min;
    purview::Vec3 max;
    std::uint32_t count = 1;
    std::uint32_t team = 0;  ///< 0: none
};

/// Tiles that cannot be walked on.
struct Ground {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    float tile_m = 1;
    std::vector<std::uint8_t> blocked;  ///< [height][width]; empty: nothing blocks
};

struct TrackSample {
    double seconds = 0;
    purview::Vec3 position;
    float facing = 0;
};

/// A person in a recorded crowd; exists from the first sample to the last.
struct Track {
    std::vector<TrackSample> samples;
};

struct Setup {
    purview::Vec3 min;
    purview::Vec3 max;
    std::uint64_t seed = 1;
    std::uint32_t tick_hz = 20;
    std::uint32_t teams = 8;
    float player_speed_mps = 6;
    float player_cloaked_share = 0;
    bool players_jump = false;  ///< for load tests: clients may teleport anywhere
    std::uint32_t carts = 0;    ///< drivable by players
    std::vector<KindSetup> kinds;
    std::vector<SpawnSetup> spawns;
    std::vector<SpawnSetup> starts;  ///< where players spawn; kind, count and team unused
    Ground ground;
    std::vector<Track> tracks;
    double trace_seconds = 0;  ///< length of the loop
};

/// False outside of the world and on blocked tiles.
bool is_free(const Setup& setup, purview::Vec3 at) noexcept;

/// Maximum speed of a player; also the range of the quantized walk input.
float walk_speed_max(const Setup& setup) noexcept;

struct Position {
    purview::Vec3 at;
};

struct Body {
    float facing = 0;  ///< radians, 0..2 pi
    std::uint8_t team = 0;
    bool cloaked = false;
    std::uint8_t hp = 100;
};

/// State of a cart.
struct Engine {
    float heading = 0;  ///< radians, 0..2 pi
    float speed_mps = 0;
};

/// State of the turret on a cart.
struct Gun {
    purview::Vec3 target;        ///< where it aims
    std::uint8_t cooldown = 0;   ///< ticks until it can fire
    std::uint16_t rounds = 500;  ///< remaining rounds
};

/// Inputs of a player: for its own entity, for the driven cart and for the turret of that cart.
struct WalkInput {
    float x_mps = 0;
    float y_mps = 0;
};
struct DriveInput {
    float throttle = 0;  ///< -1..1
    float steering = 0;  ///< -1..1, to the right
};
struct AimInput {
    purview::Vec3 target;  ///< a position in the world
    bool fires = false;
};

/// A shot, sent to every client that has the cart: start, end, whether it hit with lag
/// compensation, and whether it would have hit in the server's current world.
struct Shot {
    purview::Vec3 from;
    purview::Vec3 to;
    bool hits = false;
    bool hits_present = false;
};

/// Maximum members of a team, patrols included. Later players join without a team.
inline constexpr std::uint32_t team_members_max = 200;

/// Maximum of the quantized facing: 2 pi, rounded down.
inline constexpr double facing_max = 6.28;

/// The schema of a setup: the kinds `player`, `person`, `crate`, `cart`, `turret`, then the kinds
/// of the setup.
struct ValeSchema {
    explicit ValeSchema(const Setup& setup);
    purview::Schema schema;
    purview::Component<Position> position;
    purview::Component<Body> body;
    purview::Component<Engine> engine;
    purview::Component<Gun> gun;
    purview::Input<WalkInput> walk;
    purview::Input<DriveInput> drive;
    purview::Input<AimInput> aim;
    purview::Rpc<Shot> shot;
    purview::KindId player{};
    purview::KindId person{};
    purview::KindId crate{};
    purview::KindId cart{};
    purview::KindId turret{};
    std::vector<purview::KindId> kinds;
    purview::FlagId cloaked{};
    purview::KeyId team{};
    purview::ValueId hp{};
};

/// Reconstructs the parts of the setup that a received schema contains. A ValeSchema made from it
/// has the same hash. Returns nothing if the world is not a vale.
std::optional<Setup> setup_like(const purview::Schema& received);

}  // namespace vale
