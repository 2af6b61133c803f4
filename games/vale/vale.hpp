// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The game of the demo: walking players, wandering herds, patrols, wagons with crates, static trees
// and items; or a replayed recording of a crowd. It uses only the public headers, as any game
// would.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "carts.hpp"
#include "purview/server.hpp"
#include "vale_schema.hpp"

namespace vale {

/// Commands of a client: one byte of type, then
///   walk {i8 x, i8 y}: direction and speed, 127 = full; go {f32 x, f32 y}: walk there and stop;
///   cloak {u8 on}; jump {f32 x, f32 y}: teleport, if Setup allows it;
///   board {}: board the nearest free cart, or leave the current one.
/// Anything else is ignored and counted. Clients with prediction walk and drive by inputs instead.
enum class CommandType : std::uint8_t { walk = 1, go = 2, cloak = 3, jump = 4, board = 5 };

/// The viewpoint and areas of an observer; used by checks of the server.
struct View {
    purview::EntityId main = purview::EntityId::none;
    std::vector<purview::Vec3> areas;
};

/// Number of entities at the start without players: includes cargo, carts and all people of a
/// recorded crowd.
std::uint64_t entities_at_start(const Setup& setup) noexcept;

class Vale final : public purview::Game {
  public:
    /// Both must outlive the game.
    Vale(const Setup& setup, const ValeSchema& schema);

    /// Populates the empty world.
    void populate(purview::World& world);

    std::optional<purview::EntityId> on_join(purview::Server& server, purview::ObserverId observer,
                                             const purview::JoinRequest& request) override;
    void on_leave(purview::Server& server, purview::ObserverId observer) override;
    void on_command(purview::Server& server, purview::ObserverId observer,
                    std::span<const std::byte> data) override;
    void on_input(purview::Server& server, purview::ObserverId observer, purview::GroupState& group,
                  const purview::GroupInput& command) override;
    void on_tick(purview::Server& server, purview::Tick tick) override;

    std::optional<View> view_of(purview::ObserverId observer) const;
    bool is_hidden(purview::KindId kind) const noexcept;
    std::uint64_t bad_commands() const noexcept { return bad_commands_; }
    std::uint32_t people_present() const noexcept { return people_present_; }
    const Carts& carts() const noexcept { return carts_; }

  private:
    struct Guest {  ///< a joined client
        /// Its player; in a recorded crowd, the person that it controls.
        purview::EntityId entity = purview::EntityId::none;
        bool spectates = false;
        bool rides = false;  ///< has a person of a recorded crowd
        float walk_x = 0;
        float walk_y = 0;
        std::optional<purview::Vec3> goal;
        purview::Vec3 camera;
        std::uint32_t track = no_track;  ///< the person it rides or follows
    };
    struct Group {
        std::uint32_t spawn = 0;
        purview::Vec3 center;
        float heading = 0;
    };
    struct Mover {
        purview::EntityId entity;
        std::uint32_t group = 0;
        float heading = 0;
        float along = 0;  ///< patrols: meters along their route
        float aside = 0;
        bool resting = false;
    };
    static constexpr std::uint32_t no_track = 0xffffffffU;

    float unit() noexcept;
    float between(float low, float high) noexcept { return low + (high - low) * unit(); }
    bool chance(float probability) noexcept { return unit() < probability; }
    bool is_free(purview::Vec3 at) const noexcept { return vale::is_free(*setup_, at); }
    purview::Vec3 free_position(purview::Vec3 min, purview::Vec3 max) noexcept;
    purview::Vec3 start_position(const purview::World& world) noexcept;
    /// Returns the smallest team, or 0 if all teams are full.
    std::uint8_t pick_team() noexcept;
    void step(purview::World& world, purview::EntityId entity, float dx, float dy);
    purview::EntityId spawn_one(purview::World& world, const SpawnSetup& spawn);
    void move_movers(purview::World& world);
    void move_group(Group& group) noexcept;
    void move_herd(purview::World& world, Mover& mover);
    void move_patrol(purview::World& world, Mover& mover);
    void move_wanderer(purview::World& world, Mover& mover);
    void move_guests(purview::Server& server);
    void replay(purview::Server& server, double seconds);
    std::uint32_t find_person(bool free) noexcept;
    void ride(purview::Server& server, purview::ObserverId observer, Guest& guest);
    const KindSetup& kind_of(const Mover& mover) const noexcept {
        return setup_->kinds[setup_->spawns[groups_[mover.group].spawn].kind];
    }

    const Setup* setup_;
    const ValeSchema* schema_;
    Carts carts_;
    std::uint64_t random_;
    float tick_seconds_;
    std::vector<std::uint32_t> team_sizes_;  ///< [teams + 1]; counts patrols and players
    std::vector<Group> groups_;
    std::vector<Mover> movers_;
    std::vector<purview::EntityId> hide_;    ///< spawned entities to hide in the next tick
    std::map<std::uint32_t, Guest> guests_;  ///< by observer
    std::vector<purview::EntityId> people_;  ///< by track; none while absent
    std::vector<std::size_t> track_at_;      ///< by track: the sample before the current time
    std::vector<std::uint8_t> track_taken_;  ///< by track: a player rides it
    std::uint32_t people_present_ = 0;
    double trace_clock_ = 0;
    std::uint64_t bad_commands_ = 0;
};

}  // namespace vale
